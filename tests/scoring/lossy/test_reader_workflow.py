"""Contexts of readers by Snakemake, with both controls: one network, whole, seen, and by others."""

import numpy as np
import pandas as pd
import pytest
import yaml

import recency
from project import TINY, snakemake

pytestmark = pytest.mark.merge

FORMULA = (
    "time_ms ~ length + position + unigram + previous_fixated + words_since_fixation"
    " + context_tokens[Pythia] + context_tokens[Seen] + surprisal + previous_surprisal"
    " + (1 + surprisal | subject) + (1 | sentence)"
)
OTHERS = {"of": "another", "seed": 5}
MADE = {
    "run": ["readers"],
    "designs": {
        "scanpath": {
            "formula": FORMULA, "of_interest": ["surprisal", "previous_surprisal"], "base": "all",
            "engine": "cross_products", "response": "raw", "surprisal": "plain",
        },
    },
    "lms": {
        "Seen": {"weights": "Pythia", "reader": {}},
        "Others": {"weights": "Pythia", "reader": OTHERS},
    },
    "experiments": {
        "readers": {
            "title": "What readers had seen", "lms": ["Pythia", "Seen", "Others"],
            "baseline": "Pythia", "responses": {"scanpath": ["simulated_eye_tracking.FP"]},
            "compare": [["Seen", "Others"]],
        },
    },
}  # fmt: skip


def test_own_and_other_fixations_predict_reading_times(study):
    (study / "readers.yaml").write_text(yaml.safe_dump(MADE))
    run = snakemake(study, "--nocolor", configs=[*TINY, "readers.yaml"])
    assert run.returncode == 0, run.stdout[-4000:]
    results = study / "results/tiny/cores"
    dataset = results / "datasets/simulated_eye_tracking"
    words, fixations = (pd.read_parquet(dataset / f"{n}.parquet") for n in ("words", "fixations"))
    table = {
        lm: pd.read_parquet(results / f"surprisal/{lm}/simulated_eye_tracking.parquet")
        for lm in ("Seen", "Others")
    }
    opened = recency.load(results / "lms/Pythia")
    for lm, reader in (("Seen", {}), ("Others", OTHERS)):
        expected = recency.surprisal(words, opened, scanpath=fixations, reader=reader)
        np.testing.assert_allclose(table[lm].surprisal_bits, expected.surprisal_bits, atol=1e-4)
        assert table[lm].word_id.tolist() == expected.word_id.tolist()
    assert not np.allclose(table["Seen"].surprisal_bits, table["Others"].surprisal_bits, atol=0.01)
    delta = pd.read_csv(results / "experiments/readers/table_delta_loglik.csv").to_string()
    assert "Seen" in delta and "Others" in delta
