"""One run of the workflow from text to report: what reruns, how it looks, and killed midway."""

import html
import json
import os
import re
import signal
import subprocess
import time
from urllib.parse import unquote

import pandas as pd
import pytest

import faulty
import job_server
from browsing import browser, check_layout, walked  # noqa: F401, a fixture
from project import TINY, command, copy_project, environment, load, plan, planned, snakemake

pytestmark = pytest.mark.apart


def test_whole_run(finished):
    results = finished / "results" / "tiny" / "cores"
    where = results / "experiments" / "simulated"
    names = ["figure_delta_loglik", "figure_delta_loglik_by_response", "figure_perplexity"]
    names += ["figure_difference"]
    for name in (*names, "figure_attention_by_distance"):
        for ending in ("pdf", "svg", "png", "csv"):
            assert (where / f"{name}.{ending}").stat().st_size > 200
    rows = (where / "delta_loglik.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 2
    assert "permutation tests" in (where / "table_significance.html").read_text()
    assert (where / "recovery.simulated_spr.SPR.csv").exists()
    summary = (results / "summary.txt").read_text()
    told = json.loads((where / "verdict.json").read_text())
    flat = " ".join(summary.split())
    assert flat.startswith(" ".join(told["brief"])) and f"In full: {told['verdict']}" in flat
    assert "simulated" in told["brief"][-1]
    assert {row["lm"] for row in told["ranking"]} == {"Pythia", "dVM-I", "ALiBi-mix-TI"}
    assert sum(row["over_baseline"] is None for row in told["ranking"]) == 1
    assert all(row["over_baseline"]["p"] for row in told["ranking"] if row["over_baseline"])
    assert load(*TINY)["scales"]["cores"]["note"] in " ".join(summary.split())


def test_the_methods_section_has_the_run_s_numbers(finished):
    results = finished / "results" / "tiny" / "cores"
    text = (results / "experiments" / "simulated" / "methods.md").read_text()
    data, _, rest = text.partition("## Language models")
    for measure in ("SPR", "FP"):
        (folder,) = results.glob(f"observations/*.{measure}")
        kept = pd.read_csv(folder / "counts.csv").set_index("step").kept
        for step, count in kept.items():
            assert f"{count:,}" in data, (measure, step)
    lms = load(*TINY)["experiments"]["simulated"]["lms"]
    paths = [path for lm in lms for path in results.glob(f"regression/*/*/{lm}.full.json")]
    fits = [json.loads(path.read_text()) for path in paths]
    assert f"Of {len(fits)} fits, {sum(fit['singular'] for fit in fits)} are singular" in rest
    for fit in fits:
        assert f"`{fit['formula']}`" in rest or fit["note"]
        assert f"of {fit['n']['subjects']} subjects and {fit['n']['sentences']} sentences" in data
    told = json.loads((results / "experiments" / "simulated" / "verdict.json").read_text())
    assert all(row["label"] in rest for row in told["ranking"]) and len(told["ranking"]) == 3
    assert told["described"] in rest and f"all {len(told['pairs'])} pairs" in rest
    page = (results / "report.html").read_text()
    assert "Methods, for a paper" in page and "methods.tex" in page


@pytest.mark.merge
def test_nothing_is_done_twice_even_if_all_code_is_touched(study):
    for path in (*study.rglob("*.py"), *study.rglob("*.R"), *study.rglob("*.smk")):
        path.touch()
    run = plan(study, configs=TINY)
    assert "Nothing to be done" in run.stdout, run.stdout[-3000:]


@pytest.mark.merge
@pytest.mark.parametrize(
    ("file", "made"),
    [
        ("table_significance.csv", "table_significance"),
        ("figure_perplexity.png", "figure_perplexity"),
        ("permutation.csv", "permutation"),
        ("delta_loglik.csv", "delta_loglik"),
    ],
)
def test_a_deleted_table_or_figure_is_made_again(study, file, made):
    """Whichever of its formats, by the experiment's name and by no name."""
    (study / "results" / "tiny" / "cores" / "experiments" / "simulated" / file).unlink()
    for target in ([], ["simulated"]):
        jobs = planned(plan(study, *target, configs=TINY).stdout)
        assert made in " ".join(jobs), (target, jobs)
        assert not {"train", "surprisal"} & jobs.keys()


@pytest.mark.merge
def test_a_changed_bias_reruns_what_uses_it(study):
    file = study / "src" / "recency" / "attention" / "biases" / "exponential.py"
    file.write_bytes(file.read_bytes() + b"\nCHANGED = True\n")
    run = plan(study, configs=TINY)
    jobs = planned(run.stdout)
    # dVM-I alone has this form: it is put on at inference, so nothing is trained.
    assert "train" not in jobs and jobs["surprisal"] == 1
    assert set(re.findall(r"lm=([\w-]+)", run.stdout)) == {"dVM-I"}


@pytest.mark.merge
def test_snakemake_s_report(study):
    """A label of the config neither becomes HTML there nor has a file read."""
    secret = study / "secret.txt"
    secret.write_text("nobody reads this")
    label = json.dumps(
        f"x\n\n.. include:: {secret}\n\n.. raw:: html\n\n   <b id='hostile'>x</b>\n\n"
    )
    (study / "hostile.yaml").write_text(f"datasets: {{simulated_spr: {{cite: {label}}}}}\n")
    run = snakemake(study, "--report", "report.html", configs=[*TINY, "hostile.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    page = (study / "report.html").read_text()
    assert len(page) > 100_000 and "nobody reads this" not in page
    assert all(f"&quot;{each}&quot; directive disabled" in page for each in ("raw", "include"))
    for text in (
        "figure_delta_loglik.svg",
        "table_observations.html",
        "recovery",
        "Figure 3 of Clark et al. (2025): \\u0394LogLik of each LM",
        "Simulated readers: which bias do their reading times show?",
    ):
        assert text in page


def test_the_report_begins_with_the_answer(finished):
    results = finished / "results" / "tiny" / "cores"
    page = (results / "report.html").read_text()
    told = json.loads((results / "experiments" / "simulated" / "verdict.json").read_text())
    title = load(*TINY)["experiments"]["simulated"]["title"]
    order = [html.escape(told["brief"][0]), f"<h2>{html.escape(title)}"]
    places = [page.index(each) for each in (*order, "<h2>How it was made", "<h2>Not run")]
    assert places == sorted(places) and "{{" not in page
    # The linter's findings: of the tiny study's texts, and what the demo accepts.
    doubts = re.search(r"<details class='note warning'>.*?</details>", page)[0]
    assert "<summary>1 doubtful setting, 2 accepted</summary>" in doubts
    assert "3 items, fewer than 8" in doubts and "[single_training]" in doubts
    summary = (results / "summary.txt").read_text()
    assert (
        "Doubtful (docs/lint.md):\n- datasets → simulated_spr → simulate (and 1 more): 3" in summary
    )
    assert "Doubtful, accepted by the config:\n- designs → eye_tracking → formula: " in summary
    # Keys of the config are no labels, and no two corpora are labelled alike.
    text = re.sub(r"<[^>]*>", " ", page[page.index("<body>") :].replace(doubts, ""))
    assert "simulated_spr" not in text and "simulated_eye_tracking" not in text
    assert {"Simulated (SPR)", "Simulated (FP)"} <= set(re.findall(r"Simulated \(\w+\)", text))


def test_every_figure_and_table_shows_in_the_report(browser, finished, tmp_path):  # noqa: F811
    results = finished / "results" / "tiny" / "cores"
    shown = walked(browser, results / "report.html", tmp_path)
    check_layout(shown)
    # All of the experiment's figures and tables, each with its caption and its title above it.
    where = results / "experiments" / "simulated"
    made = {path for end in ("svg", "html") for path in where.glob(f"*.{end}")}
    made.remove(where / "explore.html")  # a page of its own
    seen = shown["wide"]
    assert len(seen["figures"]) + 1 == len(made) >= 9  # the first is in the answer alone
    for figure in seen["figures"]:
        assert len(figure["caption"]) > 100 and "{{" not in figure["caption"]
        assert figure["rows"] > 1 or (figure["colours"] > 10 and figure["width"] > 300)
    assert "Figure 3 of Clark et al. (2025): ΔLogLik of each LM" in seen["headings"]
    assert seen["headings"][-1] == "Not run"
    # What it links to is beside it.
    linked = [unquote(link) for link in seen["links"] if link.startswith("./")]
    assert "./datasets/simulated_spr/check.html" in linked
    assert all((results / link).exists() for link in linked)


ALONE = {job_server.NAME: ""}  # each job in a Python of its own, as the users' jobs are
#: One fit, and all that it needs from the text on: every kind of job that takes long in a study.
FIT = "results/tiny/cores/regression/spr/simulated_spr.SPR/Pythia.full.json"


def killed_when(folder, reached):
    """Start a run and kill it with its jobs as soon as `reached()`; say whether it was killed."""
    run = subprocess.Popen(
        command("--nolock", FIT, configs=TINY),
        cwd=folder,
        env=environment() | ALONE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while run.poll() is None and not reached():
        time.sleep(0.02)
    if run.poll() is None:
        os.killpg(run.pid, signal.SIGKILL)
    return run.wait() == -signal.SIGKILL


@pytest.mark.merge
def test_a_killed_run_ends_with_the_same_bytes(request, tmp_path):
    """Killed within a training, and before what follows from it is whole."""
    folder = copy_project(tmp_path / "killed")
    results = folder / "results" / "tiny" / "cores"
    for kind, begun in (
        ("a training", results / "lms" / ".Pythia.state.pt"),
        ("surprisal", results / "logs" / "surprisal" / "Pythia"),
    ):
        assert killed_when(folder, begun.exists), f"the run was over before {kind} began"
        assert not (folder / FIT).exists()
    run = snakemake(folder, "--nolock", FIT, configs=TINY)
    assert run.returncode == 0, run.stdout[-6000:]
    # The uninterrupted run may still be at work on another worker until here.
    made, expected = faulty.digests(folder), faulty.digests(request.getfixturevalue("finished"))
    assert FIT in made and made == {path: expected.get(path) for path in made}
