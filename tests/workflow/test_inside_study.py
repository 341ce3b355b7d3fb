"""Measures of a network's inside in a whole study: columns, predictors, comparisons and figures."""

import numpy as np
import pandas as pd
import pytest
import yaml

from project import TINY, copy_project, snakemake

pytestmark = [pytest.mark.apart, pytest.mark.merge]
ASKED = ["attention_entropy_l1_h2", "attention_last_2", "layer_surprisal_l0", "state_change"]
ASKED += ["ngram_explained", "ngram_remainder"]
DESIGN = {
    "formula": (
        "time_ms ~ length + surprisal + attention_entropy_l1_h2 + previous_attention_last_2 + "
        "log(state_change) + previous_ngram_remainder + (1 | subject)"
    ),
    "of_interest": ["attention_entropy_l1_h2", "log(state_change)"],
    "base": "all",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}
OF_LMS = {"measures": ASKED, "ngram_lm": "two"}
CONFIG = {
    "lms": {
        "Pythia": OF_LMS,
        "ALiBi-mix-TI": OF_LMS,
        "two": {"label": "2-gram", "ngram": {"corpus": "simulated", "order": 2}},
    },
    "designs": {"inside": DESIGN},
    "experiments": {
        "inside": {
            "title": "Inside",
            "lms": ["Pythia", "ALiBi-mix-TI"],
            "baseline": "Pythia",
            "compare": [["ALiBi-mix-TI", "Pythia"]],
            "responses": {"inside": ["simulated_spr.SPR"]},
        }
    },
}


def test_they_are_predictors_of_a_study(tmp_path):
    folder = copy_project(tmp_path / "project")
    (folder / "mine.yaml").write_text(yaml.safe_dump(CONFIG))
    run = snakemake(folder, "inside", configs=[*TINY, "mine.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    results = folder / "results" / "tiny" / "cores"
    for lm in ("Pythia", "ALiBi-mix-TI"):
        table = pd.read_parquet(results / "surprisal" / lm / "simulated_spr.parquet")
        named = ["attention_entropy_l1_h2_bits", "attention_last_2", "layer_surprisal_l0_bits"]
        named += ["state_change", "ngram_explained_bits", "ngram_remainder_bits"]
        assert list(table.columns[-6:]) == named and np.isfinite(table[named]).all(axis=None)
        both = table["ngram_explained_bits"] + table["ngram_remainder_bits"]
        np.testing.assert_allclose(both, table["surprisal_bits"], rtol=1e-9)
    where = results / "experiments" / "inside"
    rows = pd.read_csv(where / "delta_loglik.csv")
    assert np.isfinite(rows["delta_loglik"]).all() and len(rows) == 2
    assert (where / "figure_delta_loglik.svg").stat().st_size > 200
