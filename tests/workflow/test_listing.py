"""`./run --list` and what it costs, names that are nearly targets, and `./run --help`."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
import yaml

from loaded import study_of
from project import ROOT, TINY, copy_project, environment, load, plan, planned, sources
from recency import stored_parts
from recency.errors import InputError
from recency.workflow.plan import cost_model, costs

pytestmark = pytest.mark.xdist_group("listing")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("project"))


def listed(folder, *arguments, configs=TINY):
    """Return name → line of `recency targets`, which is what `./run --list` runs."""
    run = subprocess.run(
        [sys.executable, "-m", "recency", "targets", *arguments, "--configfile", *configs],
        check=False,
        cwd=folder,
        env=environment() | {"PYTHONPATH": sources(folder)},
        text=True,
        capture_output=True,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    lines = run.stdout.splitlines()
    return lines[0], {line.split(" ")[0]: line for line in lines[1:] if line}


@pytest.fixture(scope="module")
def tiny(project):
    return listed(project, "--cores", "2", "--all")


def counted(line):
    """Return jobs, trainings and regressions of a line."""
    return [
        int(found[1].replace(",", "")) if (found := re.search(rf"([\d,]+) {what}", line)) else 0
        for what in ("jobs", "training", "regression")
    ]


@pytest.mark.merge
@pytest.mark.parametrize("name", ["simulated", "sensitivity"])
def test_a_target_costs_what_snakemake_plans(name, project, tiny):
    jobs = planned(plan(project, name, configs=TINY).stdout)
    whole = jobs["total"] - 1  # the target's own job makes nothing
    assert counted(tiny[1][name]) == [whole, jobs["train"], jobs["regression"]]
    assert name != "sensitivity" or jobs["regression"] > 24  # LMs, and a base


@pytest.mark.merge
def test_every_target_has_its_line_and_cost(tiny):
    head, of = tiny
    assert head == "study tiny, scale cores; remaining jobs, on 2 cores"
    config = load(*TINY)
    for target in costs.targets(config):
        if not target.kind:
            assert re.search(r"\d jobs?[:;]", of[target.name]), of[target.name]
            assert target.line in of[target.name]
    assert "no plan" not in "\n".join(of.values())
    assert re.search(r"estimated \d+ (s|min)$", of["simulated"])
    assert re.search(r"[\d.]+ (h|min), of which a GPU computes [\d.]+ (h|min)", of["wm_figure1"])
    assert re.search(r"estimated [\d.]+ h", of["search_dVM"])
    assert of["exp1"].endswith("(without Brown, GECO, Dundee: missing)")


@pytest.mark.merge
def test_the_short_list_has_the_costs_of_the_run_and_names_all_others(project):
    """It plans what `run` selects alone, which is what makes it quick."""
    head, of = listed(project, "--cores", "2")
    lines = [line for line in of.values() if line]
    assert head == "study tiny, scale cores; remaining jobs, on 2 cores"
    config = load(*TINY)
    for target in costs.targets(config):
        assert target.line[:60] in of[target.name] if not target.kind else target.kind in of
    run = subprocess.run(
        [sys.executable, "-m", "recency", "targets", "--configfile", *TINY],
        check=True, cwd=project, env=environment() | {"PYTHONPATH": sources(project)}, text=True,
        capture_output=True,
    ).stdout.splitlines()  # fmt: skip
    assert max(map(len, run)) <= 100 and len(lines) <= len(run)
    costed = [line for line in run if re.search(r"\d jobs?[:;]", line)]
    assert len(costed) == len({"all", *config["run"]})
    assert run.index(costed[0]) < 4  # what it selects comes first


@pytest.mark.merge
def test_all_of_them_and_the_internal_rules(project):
    _, of = listed(project, "--all", "--config", "run=[exp2]")
    printed = plan(project, "--list-rules", configs=TINY).stdout
    rules = set(re.findall(r"^\S+$", printed, re.MULTILINE))
    assert {"train", "export_provo", "push_Pythia", "simulated"} <= rules
    assert rules - of.keys() == set()
    assert "Train a language model on a token stream" in of["train"]
    assert re.search(r"\d+ jobs?[:;]", of["export_provo"])
    assert "what `run` selects: exp2" in of["all"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("simulatd", "did you mean 'simulated'?"),
        ("figur3", "did you mean 'figure3'?"),
        ("export_pythia", "did you mean 'export_Pythia'?"),
        ("xqz", "'xqz'; ./run --list"),
    ],
)
def test_a_name_that_is_nearly_a_target(name, meant):
    config = load(*TINY)
    known = {target.name for target in costs.targets(config)}
    with pytest.raises(InputError) as error:
        costs.require_known([name], config, known)
    assert meant in str(error.value) and len(str(error.value)) < 120


def test_files_and_rules_are_let_through(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README").touch()
    config = load(*TINY)
    costs.require_known(["results/x/y", "a.csv", "README", "train"], config, {"train"})


@pytest.mark.merge
def test_snakemake_stops_before_it_plans(project):
    wrong = plan(project, "simulatd", configs=TINY)
    assert wrong.returncode != 0 and "did you mean 'simulated'?" in wrong.stdout
    assert "MissingRule" not in wrong.stdout and "Building DAG" not in wrong.stdout
    file = plan(project, "results/tiny/cores/nothing.csv", configs=TINY)
    assert "MissingRuleException" in file.stdout


@pytest.mark.merge
def test_a_dataset_and_an_lm_of_one_name_are_refused(project):
    dataset = load(*TINY)["datasets"]["simulated_spr"]
    (project / "clash.yaml").write_text(yaml.safe_dump({"datasets": {"dVM-I": dataset}}))
    run = plan(project, configs=[*TINY, "clash.yaml"])
    assert run.returncode != 0
    assert "lms → dVM-I: a dataset is also called 'dVM-I'" in run.stdout


def job(rule, output=(), **wildcards):
    return SimpleNamespace(
        rule=SimpleNamespace(name=rule, output=[], script="x"),
        wildcards=SimpleNamespace(**wildcards),
        output=list(map(str, output)),
    )


def test_times_are_those_of_finished_jobs(tmp_path):
    study = study_of(load(*TINY))
    timing = costs.Timing(study, tmp_path, tmp_path)
    time = timing.job(job("train", lm="Pythia"))
    tokens, parameters = 40 * 4 * 64, 1 * 16 * (4 * 16 + 2 * 32) + 2 * 400 * 16
    assert timing.model.loads.training("Pythia") == 6 * parameters * tokens
    assert time.core == pytest.approx(cost_model.OPEN + 6 * parameters * tokens / 0.7e11)
    assert not time.measured and time.gpu == 0
    fits = tmp_path / "regression" / "spr"
    assert timing.part("regression", fits) == (None, False)
    path = tmp_path / "train" / "ALiBi-mix-TI.tsv"
    path.parent.mkdir()
    path.write_text("s\th:m:s\n40\t0\n")
    for name, seconds in {"simulated/a": 3, "simulated/b": 5, "other/b": 10}.items():
        path = fits / f"{name}.full.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        stored_parts.keep(stored_parts.Part(name, (path,), "key"), seconds)
    timing = costs.Timing(study, tmp_path, tmp_path)
    for lm in ("Pythia", "reader"):  # of the same size, and on one core
        assert timing.job(job("train", lm=lm)) == cost_model.Time(40, 0, 40, True)
    time = timing.job(job("train", lm="GPT-2"))  # on a GPU, where none has finished
    assert not time.measured and time.gpu == time.wall == time.core > 100
    assert timing.part("regression", fits / "simulated") == (4, True)
    assert timing.part("regression", fits / "new") == (6, False)


def test_a_cost_in_words():
    every = Counter(training=3, regression=1300, other=2)
    left = Counter(training=1, regression=1200)
    cost = costs.Cost(every, left, 7200.0, bytes=2_000_000_000)
    assert cost.line(2) == (
        "1,201 jobs: 1 of 3 trainings, 1,200 of 1,300 regressions, 2 GB to fetch; 60 min"
    )
    assert costs._format_count(2, "crossed bootstrap") == "2 crossed bootstraps"
    assert costs._format_count(2, "list of words") == "2 lists of words"
    assert costs.Cost(every).line(2) == "made (1,305 jobs: 3 trainings, 1,300 regressions)"
    cost = costs.Cost(every, left, 1e6, gpu_seconds=7200.0, measured=False)
    assert cost.line(1).endswith("; estimated 277.8 h, of which a GPU computes 2.0 h")
    # Cores do not divide what a GPU computes.
    cost = costs.Cost(every, left, 7200.0, gpu_seconds=7200.0)
    assert cost.line(16).endswith("; 2.0 h, of which a GPU computes 2.0 h")


@pytest.fixture
def clone(tmp_path):
    """Return a folder with the command alone, as a clone has it before `make setup`."""
    shutil.copy(ROOT / "run", tmp_path)
    return tmp_path


def run(folder, *arguments):
    bare = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(
        ["bash", "run", *arguments],
        check=False,
        cwd=folder,
        env=bare,
        text=True,
        capture_output=True,
    )


@pytest.mark.parametrize("asked", ["--help", "-h"])
def test_help_before_set_up(asked, clone):
    done = run(clone, asked)
    assert done.returncode == 0 and not done.stderr
    for word in (
        "--cores N",
        "--configfile",
        "--list",
        "describe",
        "make setup",
        "snakemake --help",
    ):
        assert word in done.stdout
    assert len(done.stdout.splitlines()) < 40 and "--slurm" not in done.stdout


def test_without_set_up_the_rest_says_so(clone):
    for arguments in (("--list",), ("exp1",)):
        done = run(clone, *arguments)
        assert done.returncode == 1 and "make setup" in done.stderr
