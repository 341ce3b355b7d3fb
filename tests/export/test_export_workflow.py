"""`./run export_<lm>` of a finished study: the folder, and a card with the run's own numbers."""

import json

import pandas as pd
import pytest

import recency
from project import TINY, plan, planned, snakemake

pytestmark = [pytest.mark.apart, pytest.mark.merge]
RESULTS = "results/tiny/cores"


def test_lms_of_a_finished_study_are_exported(study):
    configs = [*TINY, "mine.yaml"]
    (study / "mine.yaml").write_text("export: {owner: me, licence: mit}\n")
    asked = ("export_ALiBi-mix-TI", "export_dVM-I")
    run = snakemake(study, "--keep-going", *asked, configs=configs)
    assert run.returncode == 0, run.stdout[-3000:]
    where = study / RESULTS / "exports"
    card = (where / "ALiBi-mix-TI" / "README.md").read_text()
    table = pd.read_csv(study / RESULTS / "experiments" / "simulated" / "delta_loglik.csv")
    for row in table[table.lm == "ALiBi-mix-TI"].itertuples():
        assert f"| {row.n:,} | {row.delta_loglik:.1f} |" in card
    assert "simulated stories" in card and "Form `linear`, slopes mix." in card
    assert "applied to a trained network" in (where / "dVM-I" / "README.md").read_text()
    texts = ["The dog saw the cat."]
    words = recency.surprisal(texts, recency.load(where / "ALiBi-mix-TI"))
    trained = recency.surprisal(texts, recency.load(study / RESULTS / "lms" / "ALiBi-mix-TI"))
    pd.testing.assert_frame_equal(words, trained)
    bias = json.loads((where / "dVM-I" / "config.json").read_text())["bias"]
    assert bias["form"] == "exponential"

    again = plan(study, "--keep-going", asked[0], configs=configs)
    assert "Nothing to be done" in again.stdout, again.stdout[-3000:]
    jobs = planned(plan(study, "--keep-going", "push_ALiBi-mix-TI", configs=configs).stdout)
    assert jobs["push"] == 1 and "export" not in jobs
    nobody = plan(study, "--keep-going", "push_ALiBi-mix-TI", configs=TINY)
    assert "the repository's owner on the Hub is missing" in nobody.stdout
