"""Names of checkpoints: a folder, a name on the Hub, and its revision and folder there."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import recency
from checkpoints import checkpoint
from project import SOURCES
from recency.errors import InputError
from recency.networks.hub import locate
from small_networks import TEXTS

#: Opens names in a process of its own that has a copy of some of the Hub, and no internet.
SCRIPT = """
import json, sys
import recency
found = {}
for name in sys.argv[2:]:
    try:
        table = recency.surprisal(json.loads(sys.argv[1]), name)
        found[name] = table["surprisal_bits"].tolist()
    except recency.InputError as error:
        found[name] = str(error)
print(json.dumps(found))
"""


@pytest.mark.parametrize(
    "name, found",
    [
        ("gpt2", ("gpt2", {})),
        ("owner/name-1.b", ("owner/name-1.b", {})),
        ("owner/name@step1000", ("owner/name", {"revision": "step1000"})),
        ("gpt2@refs/pr/1", ("gpt2", {"revision": "refs/pr/1"})),
        ("owner/name/a/b", ("owner/name", {"subfolder": "a/b"})),
        ("owner/name/a@v1", ("owner/name", {"subfolder": "a", "revision": "v1"})),
    ],
)
def test_names_on_the_hub(name, found):
    assert locate(name) == found


def test_a_folder_is_itself_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a@b", "a/b/c", "öäü (1)"):
        (tmp_path / name).mkdir(parents=True)
        assert locate(name) == (name, {})


@pytest.mark.parametrize(
    "name", ["/no/such/folder", "owner/name@", "@main", "a b", "../lm", "~/lm"]
)
def test_what_is_neither_is_refused(name):
    with pytest.raises(InputError, match="is no folder that is there, and no name on the Hub"):
        recency.load(name)


@pytest.mark.parametrize(
    "file, match",
    [
        ("lm.gguf", "cannot be read as GGUF .* download it again"),
        ("model.safetensors", "is a file; name the f"),
    ],
)
def test_a_file_is_no_checkpoint(tmp_path, file, match):
    (tmp_path / file).write_bytes(b"GGUF")
    with pytest.raises(InputError, match=match) as error:
        recency.load(tmp_path / file)
    assert "\n" not in str(error.value)


@pytest.mark.merge
def test_revisions_and_folders_of_the_hub(tmp_path):
    """One repository: two networks in its main revision, a third in step1000."""
    repository = tmp_path / "hub" / "models--owner--name"
    commits = {"main": "0" * 40, "step1000": "1" * 40}
    folders = {name: repository / "snapshots" / commit for name, commit in commits.items()}
    (repository / "refs").mkdir(parents=True)
    for name, commit in commits.items():
        (repository / "refs" / name).write_text(commit)
    here = {
        "owner/name": folders["main"],
        "owner/name/small": folders["main"] / "small",
        "owner/name@step1000": folders["step1000"],
    }
    for folder, texts in zip(here.values(), (TEXTS, TEXTS[:1], TEXTS[1:]), strict=True):
        checkpoint(folder, texts)
    wrong = ["owner/name@step2000", "owner/name/large"]
    paths = {"HF_HOME": str(tmp_path), "PYTHONPATH": SOURCES}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(TEXTS), *here, *wrong],
        env=os.environ | paths | {"HF_HUB_OFFLINE": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    expected = {name: recency.surprisal(TEXTS, folder) for name, folder in here.items()}
    for name, table in expected.items():
        np.testing.assert_allclose(found[name], table["surprisal_bits"], rtol=0, atol=1e-9)
    assert len({sum(found[name]) for name in here}) == len(here)
    for name in wrong:
        assert "could not be downloaded from the Hub" in found[name] and "\n" not in found[name]


def test_an_adapter_that_transformers_adds_is_refused(tmp_path, monkeypatch):
    """It does where PEFT is installed and a repository of the Hub has one beside its network."""
    checkpoint(tmp_path, TEXTS)
    recency.load(tmp_path)
    monkeypatch.setattr("transformers.GPT2LMHeadModel._hf_peft_config_loaded", True)
    with pytest.raises(InputError, match=r"is an adapter \(PEFT\)"):
        recency.load(tmp_path)
