"""What a public host, the catalogue and containers are told is true of this folder."""

import importlib.util
import re
import shlex
import subprocess
import tomllib

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from project import ROOT

spec = importlib.util.spec_from_file_location("release", ROOT / "setup" / "release.py")
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)


def tracked():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a checkout of git")
    return set(listed.stdout.split("\n"))


def test_the_public_checks_are_those_of_this_folder():
    job = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["check"]
    assert [step["run"] for step in job["steps"] if "run" in step][-1] == ".ci/run"
    assert len(job["strategy"]["matrix"]["image"]) >= 2
    report = next(s["with"]["path"] for s in job["steps"] if "upload" in s.get("uses", ""))
    demo = yaml.safe_load((ROOT / "config/demo.yaml").read_text())
    assert report == f"results/{demo['study']}/{demo['scale']}/report.html"


def test_the_catalogue_finds_what_it_looks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["software-stack-deployment"]["conda"] is bool(list((ROOT / "envs").glob("*.yaml")))
    assert {"README.md", "LICENSE", "Snakefile"} <= tracked()


def test_what_the_image_copies_is_there_and_is_enough_for_the_set_up():
    text = (ROOT / "packaging" / "Dockerfile").read_text()
    copied = [
        word for line in re.findall(r"^COPY (.+)", text, re.MULTILINE) for word in line.split()[:-1]
    ]
    files = tracked()
    for name in copied:
        assert name == "." or name in files or any(each.startswith(f"{name}/") for each in files)
    used = set(
        re.findall(
            r"(?:(?:setup|envs)/[\w.-]+|pyproject\.toml)",
            (ROOT / "setup.sh").read_text(),
        )
    )
    project = (ROOT / "pyproject.toml").read_text()
    used |= set(re.findall(r'readme = "([^"]+)"', project))
    assert [name for name in used if not {name, name.split("/")[0]} & set(copied)] == []
    assert "envs/kenlm.post-deploy.sh" in used
    base = re.findall(
        r"^From: (.+)", (ROOT / "packaging" / "recency.def").read_text(), re.MULTILINE
    )
    assert base == re.findall(r"^FROM (.+)", text, re.MULTILINE)


def commands(path):
    """Return the commands of a workflow's jobs, each as its words."""
    workflow = yaml.safe_load(path.read_text())
    runs = [s["run"] for job in workflow["jobs"].values() for s in job["steps"] if "run" in s]
    lines = [line for run in runs for line in re.split(r"\n|&&", run) if line.strip()]
    return [shlex.split(line) for line in lines]


WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_and_scripts_that_exist(path):
    (phony,) = re.findall(r"^\.PHONY: (.+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert path.suffix == ".yml" and commands(path)
    for program, *words in commands(path):
        if program == "make":
            assert {word for word in words if "=" not in word} <= set(phony.split()), words
        elif program == "python":
            assert words[:2] == ["-m", "pip"] or (ROOT / words[0]).is_file(), words
        else:
            assert program == "apt-get" or (ROOT / program).is_file(), program


def test_the_core_is_tested_with_each_version_of_python():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: 3."
    declared = {f"3.{c.removeprefix(prefix)}" for c in project["classifiers"] if prefix in c}
    assert set(workflow["jobs"]["core"]["strategy"]["matrix"]["python"]) == declared
    versions = SpecifierSet(project["requires-python"])
    assert {
        f"3.{minor}" for minor in range(30) if f"3.{minor}.0" in versions
    } & declared == declared


def test_records_of_a_release_agree():
    assert release.problems() == []
    (wrong,) = [line for line in release.problems("v9.9.9") if "the tag is" in line]
    assert wrong.startswith("the tag is v9.9.9, not v")
    assert len(yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]) == 5


def test_nothing_that_is_made_here_goes_into_an_image():
    left_out = set((ROOT / "packaging" / "Dockerfile.dockerignore").read_text().split())
    assert left_out >= {".venv", ".tools", ".snakemake", "results", "data/downloads"}
    assert not [name for name in tracked() if name.split("/")[0] in left_out]
