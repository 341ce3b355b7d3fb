"""Experiments from table to figure: the YAML of docs/corpora.md and conditions.md, run as it stands there."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml

from item_tables import CONDITIONS, cells, means, rating, trials
from project import ROOT, copy_project, snakemake
from recency.reading import responses as responses_rule
from recency.reading import words as words_rule
from recency.workflow.config import checks, loading

pytestmark = pytest.mark.merge

ARPA = "\\data\\\nngram 1={n}\n\n\\1-grams:\n-3\t<unk>\n0\t<s>\n-1.5\t</s>\n{grams}\n\n\\end\\\n"
SECTION = (ROOT / "docs" / "corpora.md").read_text().partition("## Experiments: items")[2]
MEANS = re.search(r"```yaml\n(.*?)```", SECTION, re.DOTALL)[1]
TRIALS = re.search(r"```yaml\n(.*?)```", (ROOT / "docs" / "conditions.md").read_text(), re.DOTALL)[
    1
]


def test_ten_lines_read_216_items_in_three_conditions(tmp_path):
    assert len(MEANS.splitlines()) <= 10
    path = tmp_path / "cloze.csv"
    means(216)[["item", "condition", "sentence", "target", "rating"]].to_csv(path, index=False)
    entry = yaml.safe_load(MEANS)["datasets"]["cloze"]
    entry["words"]["table"]["local"] = entry["responses"]["table"]["local"] = str(path)
    config = loading.load(ROOT)
    config["datasets"]["cloze"] = entry
    checks.check(config, ROOT / "config.schema.yaml")
    common = {"files": {"table": path}, "parser": "table", "options": entry["options"]}
    made, out = tmp_path / "words.parquet", tmp_path / "responses.parquet"
    words_rule.main(out=made, measures=["Rating"], **common)
    responses_rule.main(words=made, measure="Rating", out=out, **common)
    words, found = pd.read_parquet(made), pd.read_parquet(out)
    assert words["item"].nunique() == 648 and words.groupby("item").size().eq(11).all()
    rows = found.merge(words, on="word_id")
    own = [rating(int(i), c) for i, c in zip(rows.stimulus, rows.condition)]
    assert rows.response.tolist() == own and set(rows.region) == {"critical"}


def table_of_surprisals(words):
    """Give each word as many bits as it has letters; critical ones 5, 10 or 15 more by condition."""
    bits = words.word.str.len() + np.where(
        words.region == "critical", 5.0 * (1 + words.condition.map(CONDITIONS.index)), 0
    )
    return pd.DataFrame({"word_id": words.word_id, "word": words.word, "bits": bits})


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = copy_project(tmp_path_factory.mktemp("items") / "project")
    frame = trials(24, 12)
    noise = np.random.default_rng(3).normal(0, 20, (2, len(frame)))
    frame["rt_critical"] = (frame.rt_critical + noise[0]).round()
    frame["rt_spill1"] = (frame.rt_spill1 - 800 + noise[1]).round()
    (folder / "data" / "mine").mkdir(parents=True)
    frame.to_csv(folder / "data" / "mine" / "trials.csv", index=False)
    overlay = yaml.safe_load(TRIALS)
    entry = overlay["datasets"]["trials"]
    made = folder / "words.parquet"
    words_rule.main(
        files={"table": folder / "data" / "mine" / "trials.csv"}, parser="table",
        options=entry["options"], out=made, measures=list(entry["measures"]),
    )  # fmt: skip
    words = pd.read_parquet(made)
    counts = words.word.value_counts()
    grams = "\n".join(f"{np.log10(n / len(words)):.4f}\t{w}" for w, n in counts.items())
    (folder / "kn.arpa").write_text(ARPA.format(n=len(counts) + 3, grams=grams))
    table_of_surprisals(words).to_csv(folder / "given.csv", index=False)
    given = {
        "table": {"local": "given.csv"},
        "columns": {"word_id": "word_id", "word": "word", "surprisal": "bits"},
    }
    lms = {
        "kn": {"ngram": {"file": {"local": "kn.arpa"}}},
        "given": {"surprisals": given | {"unit": "bits"}, "accept": ["surprisal"]},  # of no LM
    }
    overlay["experiments"]["by_condition"] |= {"lms": ["kn", "given"], "baseline": "kn"}
    overlay["designs"]["fillers"] = overlay["designs"]["by_condition"] | {
        "formula": "time_ms ~ surprisal + (1 | subject) + (1 | stimulus)"
    }
    overlay["experiments"]["by_item"] = {
        "title": "Effects by item", "lms": ["given"], "baseline": "given",
        "responses": {"fillers": ["trials.SPR"]},
        "conditions": {
            "dataset": "trials", "measure": "SPR", "fillers": "trials.SPR",
            "regions": ["critical"],
            "contrasts": {"c": {"high": "condition == 'low'", "low": "condition == 'high'"}},
        },
    }  # fmt: skip
    overlay |= {"study": "made", "run": ["by_condition"], "lms": lms}
    (folder / "made.yaml").write_text(yaml.safe_dump(overlay))
    targets = ["table_conditions.html", "figure_conditions.svg", "verdict.json"]
    targets = [f"results/made/paper/experiments/by_condition/{each}" for each in targets]
    products = (
        "figure_item_effects.svg",
        "figure_predicted_effects.svg",
        "table_predicted_effects.html",
    )
    targets += [f"results/made/paper/experiments/by_item/{each}" for each in products]
    targets.append("results/made/paper/datasets/trials/check.html")
    run = snakemake(folder, "--nocolor", *targets, configs=["made.yaml"])
    assert run.returncode == 0, run.stdout[-6000:]
    return folder / "results" / "made" / "paper", words, frame


def test_means_by_condition_are_those_of_the_table(results):
    folder, words, frame = results
    rows = pd.read_csv(folder / "experiments" / "by_condition" / "conditions.csv")
    parts = [
        pd.read_parquet(folder / "observations" / "trials.SPR" / f"{part}.parquet")
        for part in ("fit", "exploratory")
    ]
    observed = pd.concat(parts).merge(words, on="word_id")
    assert set(observed.region) == {"critical"} and len(observed) < len(frame)
    of_times = rows[rows.variable == "response"].set_index("condition")
    texts = observed.groupby(["condition", "stimulus"]).time_ms.mean().groupby("condition").mean()
    for condition, mean in texts.items():
        assert of_times["mean"][condition] == pytest.approx(mean)
    known = rows[rows.variable == "given"].set_index("condition")["mean"]
    assert known.to_dict() == pytest.approx({"high": 10, "medium": 16, "low": 22})
    page = (folder / "experiments" / "by_condition" / "table_conditions.html").read_text()
    assert "SPR (ms)" in page and "given (bits)" in page


def test_effects_of_a_coding_are_of_the_conditions_in_their_order(results):
    rows = pd.read_csv(results[0] / "experiments" / "by_condition" / "effects.csv")
    first, *others = CONDITIONS
    assert rows.contrast.tolist() == [f"{c} \N{MINUS SIGN} {first}" for c in others]
    means = pd.read_csv(results[0] / "experiments" / "by_condition" / "conditions.csv")
    paired = means[means.variable == "response"].set_index("condition").difference
    # Means over texts have other readers by condition, whose intercepts the model takes into account.
    assert rows.effect.tolist() == pytest.approx([paired[c] for c in others], abs=15)


def test_regressions_have_the_region_s_own_surprisal(results):
    folder, words, _ = results
    regression = folder / "regression" / "by_condition"
    assert (regression / "trials.SPR" / "given.full.json").exists()
    spill = pd.read_parquet(folder / "observations" / "trials.Spill" / "fit.parquet")
    rows = spill.merge(words, on="word_id")
    assert set(rows.region) == {"spillover_1"} and set(rows.word) == {"and"}
    experiment = folder / "experiments" / "by_condition"
    found = pd.read_csv(experiment / "delta_loglik.csv")
    assert set(found.measure) == {"SPR", "Spill"} and set(found.lm) == {"kn", "given"}
    assert set(found.endpoint) == {"crossed"} and set(found.by) == {"crossed_items"}
    intervals = pd.read_csv(experiment / "delta_loglik_intervals.csv")
    assert set(intervals.by) == {"crossed_items"}
    verdict = json.loads((experiment / "verdict.json").read_text())["verdict"]
    assert "unseen subjects and items" in verdict
    assert cells(24).shape[0] == words["item"].nunique()


def test_effects_of_items_are_predicted_by_the_fit_of_the_fillers(results):
    """Of the table of surprisals, whose critical words differ by 10 bits between the conditions."""
    folder = results[0]
    fit = json.loads((folder / "regression/fillers/trials.SPR/given.full.json").read_text())
    (slope,) = (e["estimate"] for e in fit["fixed"] if e["term"] == "surprisal")
    rows = pd.read_csv(folder / "experiments/by_item/effects.csv").set_index("source")
    bits = slope * 12 / fit["scaling"]["surprisal"]["sd"]  # and the low word is longer by 2
    assert rows.effect["given"] == pytest.approx(bits)
    assert rows.excess["given"] == pytest.approx(rows.effect["readers"] - bits)
    items = pd.read_csv(folder / "experiments/by_item/effects_by_item.csv")
    assert set(items.source) == {"readers", "readers_unpooled", "given"}
