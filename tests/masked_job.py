"""A training of a masked LM of seconds: its tokenizer, tokens and arguments."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recency.text import tokenizer, tokens

ARCHITECTURE = {
    "family": "roberta",
    "layers": 2,
    "heads": 2,
    "width": 16,
    "feed_forward": 32,
    "context": 24,
}
OFFSET = {"form": "linear_both"}
NONE = {"form": "none"}
RECIPE = {
    "objective": "masked",
    "steps": 30,
    "batch_sequences": 6,
    "sequence_length": 24,
    "micro_batch": 3,
    "order": "shuffled",
    "learning_rate": 1e-2,
    "minimum_learning_rate": 0,
    "warmup_steps": 3,
    "schedule": "linear",
    "betas": [0.9, 0.98],
    "epsilon": 1e-6,
    "weight_decay": 0.01,
    "clip": None,
    "precision": "fp32",
    "checkpoints": [],
    "device": "cpu",
}


@pytest.fixture(scope="session")
def masked_text(tmp_path_factory):
    """Make a tokenizer of kind `masked` and the tokens of made documents, of 3 to 40 words."""
    folder = tmp_path_factory.mktemp("masked")
    rng = np.random.default_rng(3)
    words = np.array(
        ["the", "a", "cat", "dog", "saw", "met", "old", "new", "and", "then", "he", "it"]
    )
    texts = [" ".join(rng.choice(words, rng.integers(3, 40))) + "." for _ in range(150)]
    pq.write_table(pa.table({"text": texts}), folder / "text.parquet")
    tokenizer.main(folder / "text.parquet", folder / "tokenizer.json", 290, kind="masked")
    tokens.main(
        folder / "text.parquet",
        folder / "tokenizer.json",
        folder / "tokens.bin",
        folder / "tokens.json",
    )
    return folder


@pytest.fixture
def masked_job(masked_text, tmp_path):
    """Arguments of train.main of a masked LM."""
    return {
        "tokens": masked_text / "tokens.bin",
        "info": masked_text / "tokens.json",
        "tokenizer": masked_text / "tokenizer.json",
        "out": tmp_path / "lm" / "config.json",
        "lm": "test",
        "architecture": ARCHITECTURE,
        "bias": NONE,
        "recipe": RECIPE,
        "seed": 1,
    }


def facts(folder):
    """Return what is known of the tokens."""
    return json.loads((folder / "tokens.json").read_text())
