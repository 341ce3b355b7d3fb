"""The tiny study in its rules' conda environments, from an environment that has Snakemake alone."""

import os
import re

import faulty
import stand_in_conda
from project import ROOT, TINY, copy_project

#: The page, and its row of what its own environment has.
REPORT = "results/tiny/cores/report.html"
VERSIONS = re.compile(r"<td[^>]*>Versions</td>.*?</tr>")
#: Built by set-up here; in an environment of conda's, from source.
KENLM = """#!/bin/sh
ln -s {bin}/lmplz {bin}/build_binary {bin}/query "$CONDA_PREFIX/bin"
"""


def started(folder, base, conda, *words):
    """Start Snakemake of an environment, with a conda and what the system has on the path."""
    path = [conda, base / "bin", "/usr/local/bin", "/usr/bin", "/bin"]
    known = {"HOME": os.environ.get("HOME", "/"), "PATH": ":".join(map(str, path))}
    words = ["-m", "snakemake", "--use-conda", "--cores", "2", "--configfile", *TINY, *words]
    return faulty.started(folder, base / "bin" / "python", *words, environment=known)


def test_each_job_in_its_environment(finished, tmp_path):
    """Of what the environment names and what Snakemake lends, to the bytes of a run that has all."""
    folder = copy_project(tmp_path / "study")
    (folder / "src" / "sitecustomize.py").unlink()  # each job in a Python of its own
    bin_ = ROOT / ".tools" / "kenlm" / "bin"
    (folder / "envs" / "kenlm.post-deploy.sh").write_text(KENLM.format(bin=bin_))
    conda = stand_in_conda.write(tmp_path / "conda")
    stand_in_conda.create(tmp_path / "base", ["snakemake", "pandas"])
    assert started(folder, tmp_path / "base", conda).wait() == 0, faulty.printed(folder)[-4000:]
    made, expected = faulty.digests(folder), faulty.digests(finished)
    assert made.pop(REPORT) and expected.pop(REPORT) and made == expected
    pages = [VERSIONS.sub("", (each / REPORT).read_text()) for each in (folder, finished)]
    assert pages[0] == pages[1]
    environments = list((folder / ".snakemake" / "conda").glob("*.yaml"))
    assert len(environments) == len({path.read_text() for path in environments}) > 4


def test_snakemake_without_pandas_is_told_what_it_lacks(tmp_path):
    folder = copy_project(tmp_path / "study")
    conda = stand_in_conda.write(tmp_path / "conda")
    stand_in_conda.create(tmp_path / "base", ["snakemake"])
    assert started(folder, tmp_path / "base", conda, "-n").wait()
    text = faulty.printed(folder)
    assert "pip install pandas" in text and "Traceback" not in text, text


def test_a_pin_that_there_is_not_ends_the_run(tmp_path):
    folder = copy_project(tmp_path / "study")
    file = folder / "envs" / "lm.yaml"
    file.write_text(file.read_text().replace("torch==", "torch==9"))
    conda = stand_in_conda.write(tmp_path / "conda")
    stand_in_conda.create(tmp_path / "base", ["snakemake", "pandas"])
    assert started(folder, tmp_path / "base", conda, "--conda-create-envs-only").wait()
    text = faulty.printed(folder)
    assert "envs/lm.yaml" in text and "torch==9" in text, text
