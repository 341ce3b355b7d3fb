"""The smallest lead of one LM over another that simulated studies detect."""

import numpy as np
import pandas as pd
import pytest
import yaml

from loaded import untracked
from project import TINY, copy_project, snakemake
from recency.evaluations.power import figure as figure_power
from recency.evaluations.power import simulate as simulate_power
from recency.simulation import studies, study_scores
from recency.simulation.studies import Settings

POWER = {
    "subjects": [12, 30],
    "sentences": [16],
    "seeds": [1, 2],
    "responses": 1,
    "closeness": {"a": 0.95, "b": 0.6},
    "readers": {"words": 6, "slope": 40, "slope_sd": 0.3},
    "repeats": 2,
    "draws": 20,
}
OVER = """
power: {two_lms: {subjects: [8], sentences: [8], seeds: [1, 2], responses: 1, repeats: 2, draws: 20, readers: {words: 4}}}
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    out = tmp_path_factory.mktemp("power") / "sizes.csv"
    simulate_power.main(out, **POWER)
    return pd.read_csv(out)


@pytest.mark.merge
def test_more_subjects_detect_smaller_leads(table):
    assert list(table) == simulate_power.COLUMNS and len(table) == 4
    one = table[table.seeds == 1].set_index("subjects")
    assert one.detectable_per_1000[30] < one.detectable_per_1000[12]
    assert one.lead[30] > one.lead[12] and one.lead[30] > 0
    assert (one.n == 3 / 4 * 16 * 6 * one.index).all()
    assert ((table.chance_low <= table.chance) & (table.chance <= table.chance_high)).all()


@pytest.mark.merge
def test_units_agree(table):
    for name in ("lead", "detectable"):
        assert table[f"{name}_per_1000"].to_numpy() == pytest.approx(
            table[name] / table.n * 1000, rel=1e-4
        )
        assert table[f"{name}_relative"].to_numpy() == pytest.approx(
            table[name] / table.delta_loglik_b.where(table.delta_loglik_b > 0),
            rel=1e-4,
            nan_ok=True,
        )


def test_four_of_five_studies_detect_the_lead_that_is_called_detectable():
    """Raised by its distance from the mean, a simulated lead is above 0 in exactly so many."""
    random = np.random.default_rng(1)
    leads, halves = random.normal(10, 4, 41), random.uniform(5, 12, 41)
    found = [
        {"lead": lead, "low": lead - half, "high": lead + half, "se": half / 2}
        | {"delta_loglik_b": 20.0, "n": 500}
        for lead, half in zip(leads, halves, strict=True)
    ]
    row = simulate_power.summary(found)
    raised = leads - leads.mean() + row["detectable"]
    assert (raised - halves > -1e-9).sum() == 33  # the 33rd of 41 lies on the border
    assert row["lead"] == pytest.approx(leads.mean())
    assert row["chance"] == pytest.approx((leads > halves).mean())
    assert row["lead_per_1000"] == pytest.approx(leads.mean() * 2)
    assert row["lead_relative"] == pytest.approx(leads.mean() / 20)


@pytest.mark.merge
def test_a_study_is_scored_by_the_crossed_bootstrap():
    settings = Settings(subjects=8, sentences=9, words=4, seeds=2, responses=1)
    found = simulate_power.leads(settings, {"a": 0.9, "b": 0.5}, [1, 2], 3, 7, 30)
    random = np.random.default_rng([7, 8, 9, 3])
    response = studies.simulate(settings, {"a": 0.9, "b": 0.5}, random)[0]
    kept = study_scores.partition(8, 9) != 3

    def scored(lm, seed):
        each = study_scores.observations(response, lm, seed, slice(None), slice(None), kept)
        cells = each.cells(study_scores.FULL)
        return study_scores.crossed_scores(cells, 30, (7, "3.0"))[0].sum()

    assert found[0]["lead"] == pytest.approx(scored("a", 0) - scored("b", 0))
    both = sum(scored("a", s) - scored("b", s) for s in range(2)) / 2
    assert found[1]["lead"] == pytest.approx(both)
    assert found[0]["n"] == kept.sum() * 4


@pytest.mark.merge
def test_the_last_line_says_what_would_be_detected(tmp_path, capsys, table):
    lines = list(simulate_power.sentences_of(table, "power"))
    last = table.iloc[-1]
    assert len(lines) == 4
    assert lines[-1].startswith(
        "power: 30 subjects, 16 sentences, 1 response, 2 seeds: 80 % of such studies detect a "
        f"lead of {last.detectable:.1f} nats ({last.detectable_per_1000:.2f} per 1,000"
    )


def test_figure_shows_every_size(table, tmp_path):
    files = [tmp_path / f"power{suffix}" for suffix in (".csv", ".pdf", ".svg", ".png")]
    table.to_csv(tmp_path / "sizes.csv", index=False)
    figure_power.main(tmp_path / "sizes.csv", files)
    assert all(len(path.read_bytes()) > 100 for path in files)
    assert len(pd.read_csv(files[0])) == 4


@pytest.mark.merge
def test_the_simulation_runs_as_a_target(tmp_path):
    folder = copy_project(tmp_path / "study")
    (folder / "over.yaml").write_text(yaml.safe_dump(yaml.safe_load(OVER)))
    run = snakemake(folder, "power", configs=[*TINY, "over.yaml"])
    assert run.returncode == 0, run.stdout + run.stderr
    results = folder / "results" / "tiny" / "cores"
    assert len(pd.read_csv(results / "power" / "two_lms.sizes.csv")) == 2
    log = (results / "logs" / "simulate_power" / "two_lms.log").read_text().splitlines()
    assert log[-1].startswith("power, two_lms: 8 subjects, 8 sentences, 1 response, 2 seeds: 80 %")
    assert (results / "power" / "two_lms.svg").exists()
    assert untracked(folder) == []
