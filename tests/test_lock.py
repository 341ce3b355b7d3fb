"""The versions that set-up installs: pinned, with hashes, and those that pyproject.toml asks for."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def locked() -> dict[str, str]:
    """Return name → version of envs/requirements.lock."""
    lines = (ROOT / "envs/requirements.lock").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_lock_pins_every_package_to_one_version():
    for name, version in locked().items():
        assert re.fullmatch(r"[a-z0-9-]+", name), name
        assert re.fullmatch(r"[0-9][0-9a-z.]*", version), (name, version)
        assert not re.match(r"nvidia|cuda|triton", name), name


def test_all_but_pytorch_has_hashes():
    """Its builds for processors and for GPUs are of indexes of their own."""
    text = (ROOT / "setup/hashes.txt").read_text().replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    assert {line[0] for line in lines} == {
        f"{name}=={version}" for name, version in locked().items() if name != "torch"
    }
    for _, *hashes in lines:
        assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in hashes)


def test_lock_has_what_pyproject_asks_for():
    lock = locked()
    for requirement in runpy.run_path(str(ROOT / "setup" / "lock.py"))["direct"](ROOT):
        assert requirement.specifier.contains(lock[requirement.name]), requirement


def test_the_library_asks_for_less_than_the_workflow():
    """Exact versions would keep it from being installed beside anything else; R is an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    core = [Requirement(line) for line in project["dependencies"]]
    for requirement in [
        *core,
        *(r for lines in extras.values() for r in map(Requirement, lines) if r.name != "recency"),
    ]:
        operators = {each.operator for each in requirement.specifier}
        assert ">=" in operators and "==" not in operators, requirement
    assert not {each.name for each in core} & {"rpy2", "snakemake", "optuna", "torch"}
    assert Requirement(extras["all"][0]).extras == {"lm", "lme4", "workflow", "gguf"}


#: Packages that one rule needs in its own environment, and that the lock does not have.
OPTIONAL = ("wordfreq",)


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda path: path.stem)
def test_conda_environments_agree_with_the_lock(path):
    dependencies = yaml.safe_load(path.read_text())["dependencies"]
    (packages,) = [entry["pip"] for entry in dependencies if isinstance(entry, dict)]
    versions = locked()
    for package in packages:
        name, version = package.split("==")
        if name.partition("[")[0] not in OPTIONAL:
            assert versions[name] == version, f"{path.name}: {package}"


def test_kenlm_source_is_pinned_by_checksum():
    script = (ROOT / "envs" / "kenlm.post-deploy.sh").read_text()
    assert re.search(r'^pin="kenlm==[\d.]+ --hash=sha256:[0-9a-f]{64}"$', script, re.MULTILINE)
    assert "--require-hashes" in script


def test_every_entry_of_an_environment_is_pinned_and_was_compared_with_its_recipe():
    table = (ROOT / "envs" / "README.md").read_text()
    rows = re.findall(
        r"^\| `([\w-]+)` \| ([\w.]+) \| conda-forge/[\w-]+-feedstock", table, re.MULTILINE
    )
    assert len(rows) == len(dict(rows))
    entries = set()
    for path in (ROOT / "envs").glob("*.yaml"):
        listed = yaml.safe_load(path.read_text())["dependencies"]
        entries |= {entry for entry in listed if isinstance(entry, str)}
    assert {f"{name}={version}" for name, version in rows} == entries
