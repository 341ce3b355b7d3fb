"""Which network and tokenizer a job opens."""

from pathlib import Path

from recency.workflow.network import opened_from


def test_a_network_trained_here_has_its_tokenizer_beside_it():
    folder = Path("results/demo/lms/ALiBi")
    files = [str(folder / name) for name in ("config.json", "model.safetensors")]
    found = opened_from(files, None)
    assert found == {
        "model": folder,
        "tokenizer": folder / "tokenizer.json",
        "allow_pickle": False,
    }


def test_a_checkpoint_brings_its_own_tokenizer():
    assert opened_from([], "gpt2", True) == {
        "model": "gpt2",
        "tokenizer": None,
        "allow_pickle": True,
    }
