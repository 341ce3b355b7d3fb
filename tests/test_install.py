"""The package as `pip install .` makes it: complete, and usable away from the checkout, without R."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.merge

ROOT = Path(__file__).resolve().parents[1]

NOTEBOOK = """
import shutil, sys
assert shutil.which("R") is None and shutil.which("Rscript") is None
import recency
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

assert recency.__file__.startswith(sys.argv[1]), recency.__file__
tokenizer = ByteLevelBPETokenizer()
tokenizer.train_from_iterator(["the cat sat on the mat"], 300, 1, False, ["<|endoftext|>"])
config = GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=4, n_positions=32)
GPT2LMHeadModel(config).save_pretrained("gpt2")
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer, bos_token="<|endoftext|>")
fast.save_pretrained("gpt2")
model = recency.load("gpt2", recency.attention.bias("linear", slopes=0.5))
table = recency.surprisal(["the cat sat", "on the mat"], model)
assert len(table) == 6 and (table.surprisal_bits > 0).all()
assert "rpy2" not in sys.modules
"""


CORE = """
import importlib.abc, sys
from importlib.metadata import distribution
from packaging.requirements import Requirement

needs = [Requirement(line) for line in distribution("recency").requires]
core = {need.name for need in needs if need.marker is None}
assert core == {"crosslmm", "readingtimes", "numpy", "pandas", "pyarrow", "scipy"}, core
beyond = {need.name.replace("-", "_") for need in needs} - core - {"recency"} | {"yaml"}

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in beyond:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import numpy as np
import pandas as pd
import recency
from recency.command.main import main

assert recency.__file__.startswith(sys.argv[1]), recency.__file__
random = np.random.default_rng(0)
data = pd.DataFrame({"y": random.normal(size=300), "x": random.normal(size=300)})
data["reader"] = np.repeat(np.arange(10), 30)
fits = [recency.lmer(f"y ~ {x} + (1 | reader)", data, engine="search") for x in ("1", "x")]
assert len(recency.anova(*fits)) == 2
data.to_csv("data.csv", index=False)
assert main(["lmer", "data.csv", "y ~ x + (1 | reader)", "--engine", "search"]) == 0
assert main(["surprisal", "data.csv", "--model", "gpt2"]) == 2
try:
    recency.load("gpt2")
except ModuleNotFoundError as error:
    print(error, file=sys.stderr)
"""


def test_without_extras_it_fits_mixed_models_and_names_the_extra_of_the_rest(wheels, tmp_path):
    """The packages of all extras are there, and an importer hides them."""
    site = unpack(wheels, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", CORE, str(site)],
        cwd=tmp_path, env={"PATH": "", "PYTHONPATH": str(site)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "recency surprisal: needs " in done.stderr
    assert "recency.load needs the package torch: pip install 'recency[lm]'" in done.stderr


#: Package → its folder in the project.
PACKAGES = {"recency": "."} | {name: f"packages/{name}" for name in ("crosslmm", "readingtimes")}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Copy the files that distributions are built from, so that nothing is left in the checkout."""
    copy = tmp_path_factory.mktemp("build") / "copy"
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("src", "packages"):
        shutil.copytree(ROOT / name, copy / name, ignore=unwanted)
    for name in ("pyproject.toml", "MANIFEST.in", "LICENSE", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, copy)
    shutil.copy(ROOT / "CITATION.cff", copy)
    return copy


@pytest.fixture(scope="module")
def wheels(copy):
    """Build the wheel of each package: name → file."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    folders = [copy / folder for folder in PACKAGES.values()]
    subprocess.run([*command, "-w", copy.parent, *folders], check=True, capture_output=True)
    return {name: next(copy.parent.glob(f"{name}-*.whl")) for name in PACKAGES}


def unpack(wheels, folder):
    """Unpack all wheels into a folder; return it."""
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_wheel_has_every_file_of_its_package(wheels, package):
    source = ROOT / PACKAGES[package] / "src"
    walked = os.walk(source, followlinks=True)  # definitions of corpora are linked
    files = (Path(folder, name) for folder, _, names in walked for name in names)
    expected = {
        str(path.relative_to(source))
        for path in files
        if "__pycache__" not in path.parts and not any("egg-info" in part for part in path.parts)
    }
    with zipfile.ZipFile(wheels[package]) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == expected
    assert f"{package}/py.typed" in names


def test_the_wheel_is_small(wheels):
    assert wheels["recency"].stat().st_size < 13e6  # 1.5 MB of code, 10 MB of embedded networks
    assert wheels["crosslmm"].stat().st_size < 3e5


@pytest.mark.parametrize("package", PACKAGES)
def test_a_source_distribution_has_the_whole_package(copy, package):
    code = "from setuptools.build_meta import build_sdist; print(build_sdist('built'))"
    folder = copy / PACKAGES[package]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    with tarfile.open(folder / "built" / done.stdout.split()[-1]) as archive:
        names = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    assert {"pyproject.toml", "LICENSE", "README.md"} <= names
    source = {str(p.relative_to(folder)) for p in (folder / "src").rglob("*") if p.is_file()}
    generated = {name for name in source if "egg-info" in name or "__pycache__" in name}
    assert source - generated <= names


def test_the_wheel_installs_the_command(wheels):
    with zipfile.ZipFile(wheels["recency"]) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        points = archive.read(name).decode()
    assert "[console_scripts]\nrecency = recency.command.main:main" in points


def test_it_works_away_from_the_checkout_without_r(wheels, tmp_path):
    site = unpack(wheels, tmp_path)
    keep = {key: os.environ[key] for key in ("HOME", "LANG") if key in os.environ}
    environment = keep | {"PATH": str(tmp_path), "PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, str(site)],
        cwd=tmp_path,
        env=environment | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
