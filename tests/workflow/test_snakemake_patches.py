"""Private names of Snakemake: where they occur, and what the replaced ones protect."""

import ast
import re
import subprocess
import sys
import sysconfig
import venv
from types import SimpleNamespace

import pytest

from project import (
    ROOT,
    SOURCES,
    TINY,
    copy_project,
    environment,
    plan,
    planned,
    snakemake,
    sources,
)
from recency.workflow.engine import snakemake_patches
from recency.workflow.engine.faults import ConfigError

SNAKEFILE = """
import os
import sys

sys.path[:0] = "SRC".split(os.pathsep)
from recency.workflow.engine import snakemake_patches

snakemake_patches.record_finished_jobs_only()
if workflow.is_main_process:
    with open("main", "w") as file:
        file.write(str(os.getpid()))

rule all:
    input: "c"

rule a:
    output: "a"
    params: config["first"]
    shell: "echo {params} > {output}"

rule b:
    input: "a"
    output: "b"
    params: config["second"]
    shell: "cat {input} > {output}; echo {params} >> {output}; test ! -e fail || ENDING"

rule c:
    input: "b"
    output: "c"
    shell: "cat {input} > {output}"
"""


@pytest.mark.merge
@pytest.mark.parametrize("ending", ["exit 1", "{{ kill -9 $(cat main); sleep 1; }}"])
@pytest.mark.parametrize("changed", ["first", "second"])
def test_what_follows_from_a_job_that_failed_is_made_anew(tmp_path, changed, ending):
    """Its input or its parameters had changed; its outputs of before are gone."""
    text = SNAKEFILE.replace("ENDING", ending).replace("SRC", SOURCES)
    (tmp_path / "Snakefile").write_text(text)

    def run(**config):
        config = {"first": 1, "second": 1} | config
        words = ["--config", *(f"{name}={value}" for name, value in config.items())]
        words += ["--nolock", "--rerun-incomplete", "--rerun-triggers", "mtime", "params", "input"]
        return snakemake(tmp_path, *words)

    assert run().returncode == 0 and (tmp_path / "c").read_text() == "1\n1\n"
    (tmp_path / "fail").touch()
    assert run(**{changed: 2}).returncode
    (tmp_path / "fail").unlink()
    done = run(**{changed: 2})
    assert done.returncode == 0, done.stdout
    expected = "2\n1\n" if changed == "first" else "1\n2\n"
    assert (tmp_path / "c").read_text() == expected, done.stdout
    assert "Nothing to be done" in run(**{changed: 2}).stdout


@pytest.mark.parametrize("version", ["9.19.0", "8.30.0", "10.0.0", "10.0.0rc1"])
def test_other_versions_stop_a_run_at_the_start(version):
    with pytest.raises(
        ConfigError, match=rf">=9.20,<10, and this is {re.escape(version)}: pip install"
    ):
        snakemake_patches.require_version(version)


@pytest.mark.parametrize("version", ["9.20.0", "9.27.1", "9.30.0.dev1"])
def test_supported_versions_pass(version):
    snakemake_patches.require_version(version)


def test_a_missing_name_is_one_line_that_says_what_depends_on_it():
    calls = [
        lambda: snakemake_patches.opened_workflow(SimpleNamespace()),
        lambda: snakemake_patches.build_dag(SimpleNamespace(), ["all"]),
        lambda: snakemake_patches.set_handlers(SimpleNamespace(), None, None, None),
    ]
    for call in calls:
        with pytest.raises(
            ConfigError, match=r"has no SimpleNamespace\._\w+, without which .*pip install"
        ):
            call()


def test_a_missing_name_of_a_protecting_patch_stops_the_run(monkeypatch):
    from snakemake.persistence import PersistenceBase

    monkeypatch.delattr(PersistenceBase, "_unmark_incomplete")
    with pytest.raises(ConfigError, match="results could be stale"):
        snakemake_patches.record_finished_jobs_only.__wrapped__()


def test_private_names_of_snakemake_occur_in_one_file():
    """An attribute that begins with _ of another object than self, in what handles Snakemake's objects."""
    found = set()
    for path in [
        *(ROOT / "src/recency/workflow").rglob("*.py"),
        *(ROOT / "workflow").rglob("*.py"),
    ]:
        for node in ast.walk(ast.parse(path.read_text())):
            private = isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr)
            if private and getattr(node.value, "id", "self") not in ("self", "cls", "node"):
                found.add(path.name)
    rules = [
        ROOT / "Snakefile",
        *(ROOT / "rules").glob("*.smk"),
        *(ROOT / "workflow").glob("*.smk"),
    ]
    found |= {path.name for path in rules if re.search(r"\w\._[a-z]", path.read_text())}
    assert found == {"snakemake_patches.py"}


@pytest.fixture(scope="module")
def oldest(tmp_path_factory):
    """Return a Python with the oldest supported Snakemake, and all else as here."""
    folder, version = tmp_path_factory.mktemp("oldest"), f"{snakemake_patches.VERSIONS[0]}.0"
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "rest.pth").write_text(sysconfig.get_path("purelib") + "\n")
    words = ["install", "--quiet", "--no-deps", "--target", site, f"snakemake=={version}"]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    return folder / "bin" / "python"


@pytest.mark.merge
def test_the_oldest_version_makes_the_same_bytes(oldest, finished, tmp_path):
    folder = copy_project(tmp_path / "study")
    (folder / "src" / "sitecustomize.py").unlink()  # it would have jobs of the tests' own Snakemake

    def run(*words):
        words = [oldest, "-m", *words, "--configfile", *TINY, "--cores", "2"]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        variables = environment() | {"PYTHONPATH": sources(folder)}
        done = subprocess.run(words, cwd=folder, env=variables, check=False, **streams)
        assert done.returncode == 0, done.stdout[-3000:]
        return done.stdout

    assert run("snakemake", "--version").strip() == f"{snakemake_patches.VERSIONS[0]}.0"
    wanted = [
        "results/tiny/cores/observations/simulated_spr.SPR/fit.parquet",
        "results/tiny/cores/surprisal/simulated/simulated_spr.parquet",
    ]
    run("snakemake", wanted[0])
    run("snakemake", "--executor", "recency", wanted[1])
    for path in wanted:
        assert (folder / path).read_bytes() == (finished / path).read_bytes()
    assert (
        planned(run("snakemake", "-n"))["train"]
        == planned(plan(folder, configs=TINY).stdout)["train"]
    )
    assert "of unknown time" in run("recency", "targets") or "estimated" in run(
        "recency", "targets"
    )
