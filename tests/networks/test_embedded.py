"""The networks in the package: complete, small, and as exact as any other."""

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, GPTNeoXForCausalLM

import recency
from recency import config as configuration
from recency import embedded
from recency.command.main import main
from recency.scoring.lm_spec import LMSpec

TEXT = "The old man went down to the river, and the boat was gone."


@pytest.mark.parametrize("name", ["small-english", "small-english-alibi"])
def test_each_is_small_and_has_a_card(name):
    assert embedded.names() == ["small-english", "small-english-alibi"]
    folder = embedded.folder(name)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 6e6
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert name in card and "CC BY-NC-SA 3.0" in card


def test_surprisal_is_that_of_transformers():
    """The network without a bias, opened by transformers' own class and read token by token."""
    table = recency.surprisal([TEXT], "small-english")
    folder = embedded.folder("small-english")
    network = GPTNeoXForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = [0, *AutoTokenizer.from_pretrained(folder).encode(TEXT, add_special_tokens=False)]
    with torch.no_grad():
        logprobs = network(torch.tensor([ids])).logits[0].log_softmax(-1)
    bits = -logprobs[range(len(ids) - 1), ids[1:]].sum() / np.log(2)
    assert table.surprisal_bits.sum() == pytest.approx(float(bits), abs=1e-3)
    assert table.surprisal_bits.mean() < 9  # it has learned English: 13 bits by chance


def test_the_bias_is_in_force():
    biased = recency.load("small-english-alibi")
    assert biased.network.config.bias == {"form": "linear", "slopes": "mix"}
    assert not hasattr(recency.load("small-english").network.config, "bias")


def test_a_folder_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert embedded.folder("small-english") == embedded.FOLDER / "small-english"
    (tmp_path / "small-english").mkdir()
    assert embedded.folder("small-english") == "small-english"
    assert embedded.folder("gpt2") == "gpt2"


def test_the_command_says_that_it_is_small(tmp_path, capsys):
    (tmp_path / "text.txt").write_text(TEXT)
    assert main(["surprisal", str(tmp_path / "text.txt"), "--model", "small-english"]) == 0
    shown = capsys.readouterr()
    assert "small-english is a small network" in shown.err and shown.err.count("\n") == 1
    assert shown.out.count("\n") == 1 + len(TEXT.split())


def test_a_study_opens_it_as_a_checkpoint():
    config = {"lms": {"small": {"checkpoint": "small-english"}}}
    assert configuration.is_masked(config, "small") is False
    job = {"lm": {"name": "small", "checkpoint": "small-english"}}
    spec = LMSpec.of_job(job, threads=1)
    assert spec.files == [embedded.FOLDER / "small-english"]  # a changed file repeats the job
