"""Another workflow has this one as a module: from a folder, or from a repository at a version."""

import subprocess
import sys

import pandas as pd
import pytest
import yaml

from project import ROOT, TINY, command, copy_project, environment, merged, plan, planned

SNAKEFILE = """
rule mine:
    input: "results/tiny/cores/datasets/simulated_spr/words.parquet"
    output: "mine.txt"
    script: "mine.py"

configfile: "mine.yaml"

module recency:
    snakefile: {}
    config: config

use rule * from recency
"""
SCRIPT = "open(snakemake.output[0], 'w').write('mine')"
WORDS = "results/tiny/cores/datasets/simulated_spr/words.parquet"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Return a repository of the project, as it is now."""
    folder = copy_project(tmp_path_factory.mktemp("module") / "repository")
    (folder / "src" / "sitecustomize.py").unlink()
    author = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        [*author, "commit", "-qm", "all"],
        ["tag", "v1"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def cloned_from_github(repository, cache, monkeypatch):
    """Put the repository into a user's cache, where Snakemake keeps its clones of GitHub."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    clone = cache / "snakemake/snakemake/source-cache/snakemake-git-cache/github.com/me/recency"
    subprocess.run(["git", "clone", "-q", "--bare", repository, clone], check=True)


@pytest.fixture(params=["a folder", "a repository", "GitHub"])
def user(request, repository, tmp_path, monkeypatch):
    """Return the folder of a workflow with a rule of its own and the project as a module."""
    source = {
        "a folder": f'"{repository}/Snakefile"',
        "a repository": f'"git+file://{repository}/Snakefile@main"',
        "GitHub": 'github("me/recency", path="workflow/Snakefile", tag="v1")',  # as snakedeploy does
    }
    if request.param == "GitHub":
        cloned_from_github(repository, tmp_path / "cache", monkeypatch)
    folder = tmp_path / "user"
    folder.mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE.format(source[request.param]))
    (folder / "mine.py").write_text(SCRIPT)
    config = {}
    for overlay in TINY:
        config = merged(config, yaml.safe_load((ROOT / overlay).read_text()))
    (folder / "mine.yaml").write_text(yaml.safe_dump(config))
    return folder


@pytest.mark.merge
def test_a_module_makes_what_the_project_does(user, finished):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    words = command("--nocolor", "mine")
    run = subprocess.run(words, cwd=user, env=environment(), check=False, **streams)
    assert run.returncode == 0, run.stdout[-3000:]
    assert (user / "mine.txt").read_text() == "mine"
    assert pd.read_parquet(user / WORDS).equals(pd.read_parquet(finished / WORDS))
    # Its runs begin and end as the project's own: guards, what is made, where it is.
    assert "To make: " in run.stdout and "In results/tiny/cores/: " in run.stdout
    assert not (user / "results" / "timings.txt").exists()
    assert planned(plan(user, "mine").stdout) == {}
    jobs = planned(plan(user).stdout)
    assert jobs["train"] == 3 and jobs["report_page"] == 1


@pytest.mark.merge
@pytest.mark.parametrize("user", ["a repository"], indirect=True)
def test_a_module_s_config_lies_over_the_project_s(user, repository):
    """A line is the project's own study but for it; a wrong one is refused."""
    (user / "mine.yaml").write_text("run: [exp1]\n")
    jobs = planned(plan(user).stdout)
    assert jobs == planned(plan(repository, "--config", "run=[exp1]").stdout) and "train" in jobs
    (user / "mine.yaml").write_text("scale: gpuu\n")
    run = plan(user)
    assert run.returncode == 1 and "scale: " in run.stdout and "'gpuu'" in run.stdout


@pytest.mark.merge
@pytest.mark.parametrize("user", ["a folder"], indirect=True)
def test_rules_keep_their_names(user):
    snakefile = user / "Snakefile"
    snakefile.write_text(snakefile.read_text().rstrip() + " as other_*\n")
    run = plan(user)
    assert run.returncode == 1 and "the rule words would be called other_words" in run.stdout


@pytest.mark.long
def test_snakedeploy_deploys_it(repository, tmp_path, monkeypatch):
    """It takes a folder below `github` for a repository there, and writes its module so."""
    (tmp_path / "github").mkdir()
    clone = tmp_path / "github" / "me" / "recency"
    subprocess.run(["git", "clone", "-q", repository, clone], check=True)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    tools = tmp_path / "venv" / "bin"
    subprocess.run([tools / "pip", "install", "--quiet", "snakedeploy"], check=True)
    deploy = [tools / "snakedeploy", "deploy-workflow", clone, tmp_path / "mine", "--tag", "v1"]
    subprocess.run(deploy, check=True)
    folder = tmp_path / "mine"
    assert (folder / "config" / "README.md").exists()
    assert (
        'github("me/recency", path="workflow/Snakefile", tag="v1")'
        in (folder / "workflow" / "Snakefile").read_text()
    )
    cloned_from_github(repository, tmp_path / "cache", monkeypatch)
    jobs = planned(plan(folder).stdout)
    assert jobs == planned(plan(repository, "--config", "run=[exp1]").stdout) and jobs["train"]
