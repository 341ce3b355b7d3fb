"""Lossy contexts by Snakemake, as a user adds them: one network read in two ways, one trained so."""

import numpy as np
import pandas as pd
import pytest
import yaml

import recency
from project import TINY, snakemake

pytestmark = pytest.mark.merge

HALF = {"form": "exponential", "half_life": 2}
RATIONAL = {
    "form": "resource_rational", "features": ["distance", "frequency"], "budget": {"share": 0.4},
    "words": 10, "patterns": 4, "evaluations": 12,
}  # fmt: skip
LMS = ["Pythia", "Forgetful", "Rational", "Trained"]
MADE = {
    "run": ["lossy"],
    "recipes": {"forgetful": {"lossy": {"erasure": HALF, "segment": 8}}},
    "lms": {
        "Forgetful": {"weights": "Pythia", "lossy": {"erasure": HALF, "samples": 16, "tolerance": 3}},
        "Rational": {"weights": "Pythia", "lossy": {"erasure": RATIONAL, "samples": 8}},
        "Trained": {"recipe": "forgetful", "lossy": {"erasure": HALF, "samples": 8}},
    },
    "experiments": {
        "lossy": {
            "title": "Lossy contexts", "lms": LMS, "baseline": "Pythia",
            "responses": {"spr": ["simulated_spr.SPR"]},
        },
    },
}  # fmt: skip


def test_lossy_contexts_predict_reading_times(study):
    config = yaml.safe_load((study / "config/demo.yaml").read_text())
    tiny = yaml.safe_load((study / "tests/config.tiny.yaml").read_text())
    recipe = config["recipes"]["demo"] | tiny["recipes"]["demo"]
    MADE["recipes"]["forgetful"] |= recipe
    (study / "lossy.yaml").write_text(yaml.safe_dump(MADE))
    run = snakemake(study, "--nocolor", configs=[*TINY, "lossy.yaml"])
    assert run.returncode == 0, run.stdout[-4000:]
    results = study / "results/tiny/cores"
    tables = {lm: pd.read_parquet(results / f"surprisal/{lm}/simulated_spr.parquet") for lm in LMS}
    errors = {lm: t.surprisal_standard_error_bits for lm, t in tables.items() if lm != "Pythia"}
    assert all((column >= 0).all() and column.max() > 0 for column in errors.values())
    assert (errors["Forgetful"] > 3).mean() <= 0.05
    words = pd.read_parquet(results / "datasets/simulated_spr/words.parquet")
    first = words[words["item"] == words["item"].iloc[0]]
    opened = recency.load(results / "lms/Pythia")
    lossy = tables["Forgetful"].attrs["lossy"]
    assert lossy["erasure"] == HALF and lossy["samples"] == 16
    columns = ["surprisal_bits", "surprisal_standard_error_bits"]
    expected = recency.surprisal(first, opened, lossy=lossy)[columns]
    stored = tables["Forgetful"][tables["Forgetful"].word_id.isin(first.word_id)][columns]
    np.testing.assert_allclose(stored, expected, atol=1e-4)
    log = next((results / "logs/surprisal/Rational").glob("*.log")).read_text()
    assert "resource-rational retention for the budget" in log and "slopes tried" in log
    slopes = tables["Rational"].attrs["lossy"]["erasure"]["slopes"]
    assert list(slopes) == ["distance", "frequency"]
    curve, plain = (
        pd.read_csv(results / f"lms/{lm}/training.csv").loss_nats for lm in ("Trained", "Pythia")
    )
    assert curve.iloc[-1] < curve.iloc[0] and len(curve) == len(plain)
    assert abs(curve.iloc[0] - plain.iloc[0]) < 0.2 and (curve != plain).all()
    delta = pd.read_csv(results / "experiments/lossy/table_delta_loglik.csv").to_string()
    assert all(lm in delta for lm in LMS[1:])
