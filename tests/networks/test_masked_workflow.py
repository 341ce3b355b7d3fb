"""A masked LM by Snakemake, as a user adds one: tokenizer, training, surprisal, regression, report."""

import pandas as pd
import pytest
import yaml

import recency
from project import TINY, snakemake

pytestmark = pytest.mark.merge

MADE = {
    "run": ["masked"],
    "tokenizers": {"masked": {"corpus": "simulated", "vocabulary": 400, "kind": "masked"}},
    "architectures": {
        "encoder": {
            "family": "roberta", "layers": 1, "heads": 4, "width": 16, "feed_forward": 32,
            "context": 64, "positions": "none", "head": "clap", "dropout": 0.1,
        },
    },
    "recipes": {
        "masked": {
            "objective": "masked", "rows": "examples", "steps": 40, "batch_sequences": 4,
            "sequence_length": 64, "micro_batch": 4, "order": "shuffled", "learning_rate": 1e-2,
            "minimum_learning_rate": 0.0, "warmup_steps": 2, "schedule": "linear",
            "betas": [0.9, 0.98], "epsilon": 1e-6, "weight_decay": 0.01, "clip": None,
            "precision": "fp32", "checkpoints": [], "device": "cpu",
            "validation": {"tokens": 500, "every": 20},
        },
    },
    "lms": {
        "mine": {
            "architecture": "encoder", "bias": "ALiBi-offset", "tokenizer": "masked",
            "recipe": "masked", "scoring": {"future": "removed"},
        },
    },
    "experiments": {
        "masked": {
            "title": "A masked LM", "lms": ["Pythia", "mine"], "baseline": "Pythia",
            "responses": {"spr": ["simulated_spr.SPR"]},
        },
    },
}  # fmt: skip


def test_a_masked_lm_is_trained_and_predicts_reading_times(study):
    (study / "masked.yaml").write_text(yaml.safe_dump(MADE))
    run = snakemake(study, "--nocolor", configs=[*TINY, "masked.yaml"])
    assert run.returncode == 0, run.stdout[-4000:]
    results = study / "results/tiny/cores"
    log = (results / "logs/train/mine.log").read_text()
    assert "examples in" in log and "longer than 63 tokens, and cut" in log
    curve = pd.read_csv(results / "lms/mine/training.csv").validation_nats.dropna()
    assert curve.iloc[-1] < curve.iloc[0]
    table = pd.read_parquet(results / "surprisal/mine/simulated_spr.parquet")
    words = pd.read_parquet(results / "datasets/simulated_spr/words.parquet")
    first = words[words["item"] == words["item"].iloc[0]]
    own = recency.load(results / "lms/mine")
    expected = recency.surprisal(first, own, future="removed")["surprisal_bits"]
    found = table[table.word_id.isin(first.word_id)].surprisal_bits
    assert abs(found.to_numpy() - expected.to_numpy()).max() < 1e-4
    delta = pd.read_csv(results / "experiments/masked/table_delta_loglik.csv")
    assert "mine" in delta.to_string()
    assert "A masked LM" in (results / "report.html").read_text()
