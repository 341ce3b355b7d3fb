"""The tiny study in its rules' conda environments, from an environment that has Snakemake alone."""

import os
import re

import pytest

import faulty
import stand_in_conda
from project import ROOT, TINY, copy_project

pytestmark = pytest.mark.long

#: The page, and its row of what its own environment has.
REPORT = "results/tiny/cores/report.html"
RECORD = "results/tiny/cores/lineage/report.html.json"  # has the digest of the report
VERSIONS = re.compile(r"<td[^>]*>Versions</td>.*?</tr>")
#: Built by set-up here; in an environment of conda's, from source.
KENLM = """#!/bin/sh
ln -s {bin}/lmplz {bin}/build_binary {bin}/query "$CONDA_PREFIX/bin"
"""


def project(folder):
    """Copy the project, whose KenLM is the one that is here and whose jobs each have a Python of their own."""
    copy_project(folder)
    (folder / "src" / "sitecustomize.py").unlink()
    bin_ = ROOT / ".tools" / "kenlm" / "bin"
    (folder / "envs" / "kenlm.post-deploy.sh").write_text(KENLM.format(bin=bin_))
    return folder


def ended(folder, packages, *words):
    """Run Snakemake of an environment of packages, with a conda and what the system has; return how it ended."""
    base = folder.parent / "base"
    stand_in_conda.create(base, packages)
    conda = stand_in_conda.write(folder.parent / "conda")
    path = [conda, base / "bin", "/usr/local/bin", "/usr/bin", "/bin"]
    known = {"HOME": os.environ.get("HOME", "/"), "PATH": ":".join(map(str, path))}
    words = ["-m", "snakemake", "--use-conda", "--cores", "2", "--configfile", *TINY, *words]
    run = faulty.started(folder, base / "bin" / "python", *words, environment=known)
    return run.wait(), faulty.printed(folder)


def test_each_job_in_its_environment(finished, tmp_path):
    """Of what the environment names and what Snakemake lends, to the bytes of a run that has all."""
    folder = project(tmp_path / "study")
    code, text = ended(folder, ["snakemake", "pandas"])
    assert code == 0, text[-4000:]
    made, expected = faulty.digests(folder), faulty.digests(finished)
    for name in (REPORT, RECORD):
        assert made.pop(name) and expected.pop(name)
    assert made == expected
    pages = [VERSIONS.sub("", (each / REPORT).read_text()) for each in (folder, finished)]
    assert pages[0] == pages[1]
    environments = list((folder / ".snakemake" / "conda").glob("*.yaml"))
    assert len(environments) == len({path.read_text() for path in environments}) > 4


def test_snakemake_without_pandas_is_told_what_it_lacks(tmp_path):
    code, text = ended(project(tmp_path / "study"), ["snakemake"], "-n")
    assert code and "pip install pandas" in text and "Traceback" not in text, text


def test_a_pin_that_there_is_not_ends_the_run(tmp_path):
    folder = project(tmp_path / "study")
    file = folder / "envs" / "lm.yaml"
    file.write_text(file.read_text().replace("torch==", "torch==9"))
    code, text = ended(folder, ["snakemake", "pandas"], "--conda-create-envs-only")
    assert code and "envs/lm.yaml" in text and "torch==9" in text, text
