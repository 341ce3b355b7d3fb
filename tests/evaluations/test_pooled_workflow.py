"""A study of two languages from one config, from text to the forest plot."""

import pandas as pd
import pytest

from project import TINY, copy_project, planned, snakemake

CONFIGS = [*TINY, "tests/config.two_languages.yaml"]


@pytest.mark.merge
def test_each_dataset_is_scored_by_the_lms_of_its_language(tmp_path):
    folder = copy_project(tmp_path / "project")
    done = snakemake(folder, "-n", "pooled", configs=CONFIGS)
    assert done.returncode == 0, done.stdout
    jobs = planned(done.stdout)
    assert jobs["train"] == 5  # two biases in two languages, and the readers
    assert jobs["surprisal_by_language"] == 6 and jobs["unigram_by_language"] == 3
    assert jobs["pooled_effects"] == 1 and jobs["figure_pooled"] == 1 and jobs["table_pooled"] == 1
    assert "surprisal/mix-en/simulated_is" not in done.stdout
    assert "surprisal/mix-is/simulated_spr" not in done.stdout


@pytest.mark.merge
def test_two_languages_are_pooled_from_one_config(tmp_path):
    folder = copy_project(tmp_path / "project")
    done = snakemake(folder, "pooled", configs=CONFIGS)
    assert done.returncode == 0, done.stdout
    results = folder / "results" / "two-languages" / "cores"
    for lm, unigram, dataset in [
        ("en", "simulated", "simulated_spr"),
        ("is", "simulated-is", "simulated_is"),
    ]:
        for role, member in [("mix", f"mix-{lm}"), ("by-language", unigram)]:
            one, other = (
                pd.read_parquet(results / "surprisal" / name / f"{dataset}.parquet")
                for name in (role, member)
            )
            pd.testing.assert_frame_equal(one, other)
    experiment = results / "experiments" / "pooled"
    pooled = pd.read_csv(experiment / "pooled.csv").set_index("language")
    assert pooled.k.to_dict() == {"en": 2, "is": 1, "all": 3}
    effects = pd.read_csv(experiment / "pooled_effects.csv")
    intervals = pd.read_csv(experiment / "delta_loglik_intervals.csv")
    paired = intervals[(intervals.kind == "baseline") & (intervals.dataset != "all")]
    paired = paired.set_index(["dataset", "measure"])
    for row in effects[effects.measure != "all"].itertuples():
        there = paired.loc[row.dataset, row.measure]
        assert row.total == pytest.approx(there.delta_loglik)
        assert row.total_se == pytest.approx(there.se)
    assert (experiment / "figure_pooled.svg").stat().st_size > 1000
    assert "Icelandic" in (experiment / "table_pooled.html").read_text(encoding="utf-8")
