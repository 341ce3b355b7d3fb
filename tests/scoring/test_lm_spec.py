"""Which network and tokenizer a job opens."""

from pathlib import Path

from recency.scoring.lm_spec import LMSpec

SETTINGS = {"name": "ALiBi", "checkpoint": None, "bias": None, "bos": True, "stride": 64}
SETTINGS |= {"scoring": {"precision": "fp32"}, "allow_pickle": True}


def test_a_network_trained_here_has_its_tokenizer_next_to_it():
    folder = Path("results/demo/lms/ALiBi")
    files = [str(folder / name) for name in ("config.json", "model.safetensors")]
    given = {"lm": SETTINGS, "model": files, "words": "w"}
    lm = LMSpec.of_job(given, 2)
    assert given == {"words": "w"}  # the rest is the function's
    assert (lm.model, lm.tokenizer, lm.allow_pickle) == (folder, folder / "tokenizer.json", False)
    assert (lm.name, lm.threads) == ("ALiBi", 2)
    assert lm.reading == {"bos": True, "stride": 64, "precision": "fp32"}
    assert lm.files[-1] == folder / "tokenizer.json" and "model" not in lm.settings


def test_a_checkpoint_brings_its_own_tokenizer(tmp_path):
    lm = LMSpec.of_job({"lm": SETTINGS | {"checkpoint": "gpt2"}, "model": []}, 1)
    assert (lm.model, lm.tokenizer, lm.allow_pickle) == ("gpt2", None, True)
    assert lm.files == [] and lm.settings["model"] == "gpt2"
    local = LMSpec.of_job({"lm": SETTINGS | {"checkpoint": str(tmp_path)}, "model": []}, 1)
    assert local.files == [tmp_path]


def test_an_n_gram_model_is_its_file():
    lm = LMSpec.of_job({"lm": {"name": "trigram", "bos": False}, "model": "m.arpa"}, 1)
    assert (lm.model, lm.bos, lm.tokenizer) == ("m.arpa", False, None)
