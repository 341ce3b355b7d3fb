"""What a public host, the catalogue and containers are told is true of this folder."""

import re
import subprocess

import pytest
import yaml
from project import ROOT


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
    demo = yaml.safe_load((ROOT / "config.demo.yaml").read_text())
    assert report == f"results/{demo['study']}/{demo['scale']}/report.html"


def test_the_catalogue_finds_what_it_looks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage["software-stack-deployment"]["conda"] is bool(list((ROOT / "envs").glob("*.yaml")))
    assert {"README.md", "LICENSE", "Snakefile"} <= tracked()


def test_what_the_image_copies_is_there_and_is_enough_for_the_set_up():
    text = (ROOT / "Dockerfile").read_text()
    copied = [
        word for line in re.findall(r"^COPY (.+)", text, re.MULTILINE) for word in line.split()[:-1]
    ]
    files = tracked()
    for name in copied:
        assert name == "." or name in files or any(each.startswith(f"{name}/") for each in files)
    used = set(
        re.findall(
            r"(?:(?:setup|envs)/[\w.-]+|requirements\.lock|pyproject\.toml)",
            (ROOT / "setup.sh").read_text(),
        )
    )
    project = (ROOT / "pyproject.toml").read_text()
    used |= set(re.findall(r'readme = "([^"]+)"', project))
    assert [name for name in used if not {name, name.split("/")[0]} & set(copied)] == []
    assert "envs/kenlm.post-deploy.sh" in used
    base = re.findall(r"^From: (.+)", (ROOT / "recency.def").read_text(), re.MULTILINE)
    assert base == re.findall(r"^FROM (.+)", text, re.MULTILINE)


def test_nothing_that_is_made_here_goes_into_an_image():
    left_out = set((ROOT / ".dockerignore").read_text().split())
    assert left_out >= {".venv", ".tools", ".snakemake", "results", "data/downloads"}
    assert not [name for name in tracked() if name.split("/")[0] in left_out]
