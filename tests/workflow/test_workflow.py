"""One run of the workflow from text to report: what reruns, how it looks, and killed midway."""

import hashlib
import html
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from project import ROOT, TINY, command, copy_project, environment, load, plan, planned, snakemake

pytestmark = pytest.mark.apart


def test_whole_run(finished):
    results = finished / "results" / "tiny" / "cores"
    where = results / "experiments" / "simulated"
    names = ["figure_delta_loglik", "figure_delta_loglik_by_response", "figure_perplexity"]
    for name in (*names, "figure_attention_by_distance"):
        for ending in ("pdf", "svg", "png", "csv"):
            assert (where / f"{name}.{ending}").stat().st_size > 200
    rows = (where / "delta_loglik.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 2
    assert "permutation tests" in (where / "table_significance.html").read_text()
    assert (where / "recovery.simulated_spr.SPR.csv").exists()
    summary = (results / "summary.txt").read_text()
    told = json.loads((where / "verdict.json").read_text())
    assert " ".join(summary.split()).startswith(told["verdict"]) and "simulated" in summary
    assert {row["lm"] for row in told["ranking"]} == {"Pythia", "dVM-I", "ALiBi-mix-TI"}
    assert sum(row["over_baseline"] is None for row in told["ranking"]) == 1
    assert all(row["over_baseline"]["p"] for row in told["ranking"] if row["over_baseline"])
    assert load(*TINY)["scales"]["cores"]["note"] in " ".join(summary.split())


def test_nothing_is_done_twice_even_if_all_code_is_touched(study):
    for path in (*study.rglob("*.py"), *study.rglob("*.R"), *study.rglob("*.smk")):
        path.touch()
    run = plan(study, configs=TINY)
    assert "Nothing to be done" in run.stdout, run.stdout[-3000:]


def test_a_changed_bias_reruns_what_uses_it(study):
    file = study / "src" / "recency" / "attention" / "biases" / "exponential.py"
    file.write_bytes(file.read_bytes() + b"\nCHANGED = True\n")
    run = plan(study, configs=TINY)
    jobs = planned(run.stdout)
    # dVM-I alone has this form: it is put on at inference, so nothing is trained.
    assert "train" not in jobs and jobs["surprisal"] == 2
    assert set(re.findall(r"lm=([\w-]+)", run.stdout)) == {"dVM-I"}


def test_report(study):
    run = snakemake(study, "--report", "report.html", configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    page = (study / "report.html").read_text()
    assert len(page) > 100_000
    for text in (
        "figure_delta_loglik.svg",
        "table_observations.html",
        "recovery",
        "Figure 3 of Clark et al. (2025): \\u0394LogLik of each LM",
        "Simulated readers: which bias do their reading times show?",
    ):
        assert text in page


BROWSERS = (
    "chromium", "chromium-browser", "chromium-headless-shell", "google-chrome",
    "google-chrome-stable", "microsoft-edge",
)  # fmt: skip


@pytest.fixture
def browser():
    """Return a browser that can open the report, or skip."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser on the path to open the report in: {', '.join(BROWSERS)}")
    return found


def walked(browser, report, folder):
    """Open a report in a headless browser, go through it and return what was shown of each entry."""
    page = report.read_text(encoding="utf-8")
    body, end = page.rsplit("</body>", 1)
    walk = (ROOT / "tests" / "walk_report.js").read_text()
    copy = folder / "walked.html"
    copy.write_text(f"{body}<script>{walk}</script></body>{end}", encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1600,1000"]
    options += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=120000"]
    run = subprocess.run(
        [browser, *options, "--dump-dom", copy.as_uri()], capture_output=True, check=False
    )
    found = re.search(r'<pre id="shown">(.*?)</pre>', run.stdout.decode(), re.DOTALL)
    assert found, f"{browser} ended with {run.returncode}: {run.stderr.decode()[-2000:]}"
    return json.loads(html.unescape(found[1]))


def test_every_figure_and_table_shows_in_the_report(browser, study, tmp_path):
    run = snakemake(study, "--report", "report.html", configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    shown = walked(browser, study / "report.html", tmp_path)
    assert [entry["error"] for entry in shown if "error" in entry] == []
    # All of the results that the rules flag, and none but those.
    results = study / "results" / "tiny" / "cores"
    made = [*results.glob("experiments/*/*.svg"), *results.rglob("*.html")]
    made = {str(path.relative_to(study)) for path in made}
    assert {entry["path"] for entry in shown} == made and len(made) == len(shown) >= 11
    for entry in shown:
        assert entry["width"] > 300, entry["path"]
        if entry["path"].endswith(".svg"):
            assert entry["kind"] == "img" and entry["natural"] > 300, entry["path"]
            assert entry["colours"] > 10, entry["path"]
        else:
            assert entry["kind"] == "iframe" and entry["rows"] > 1, entry["path"]
            assert entry["height"] > 300, entry["path"]
        if "/datasets/" in entry["path"]:
            assert len(entry["figures"]) == 1 and entry["figures"][0] > 300, entry["path"]
        assert len(entry["caption"]) > 200 and "{{" not in entry["caption"], entry["path"]
    (figure,) = (entry for entry in shown if entry["path"].endswith("/figure_delta_loglik.svg"))
    assert figure["what"] == "Figure 3 of Clark et al. (2025): ΔLogLik of each LM"
    assert figure["category"] == load(*TINY)["experiments"]["simulated"]["title"]
    assert "Figure 3 of Clark et al. (2025)." in figure["caption"]


#: One fit, and all that it needs from the text on: every kind of job that takes long in a study.
FIT = "results/tiny/cores/regression/spr/simulated_spr.SPR/Pythia.full.json"


def digests(folder):
    """Return the digest of every result; logs and benchmarks tell of a run, not of a result."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file() and not {"logs", "benchmarks"} & set(path.parts) and path.name[0] != "."
    }


def killed_when(folder, reached):
    """Start a run and kill it with its jobs as soon as `reached()`; say whether it was killed."""
    run = subprocess.Popen(
        command("--nolock", FIT, configs=TINY),
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while run.poll() is None and not reached():
        time.sleep(0.02)
    if run.poll() is None:
        os.killpg(run.pid, signal.SIGKILL)
    return run.wait() == -signal.SIGKILL


def test_a_killed_run_ends_with_the_same_bytes(request, tmp_path):
    """Killed within a training, and before what follows from it is whole."""
    folder = copy_project(tmp_path / "killed")
    results = folder / "results" / "tiny" / "cores"
    for kind, begun in (
        ("a training", results / "lms" / ".Pythia.state.pt"),
        ("surprisal", results / "logs" / "surprisal" / "Pythia" / "simulated_spr.log"),
    ):
        assert killed_when(folder, begun.exists), f"the run was over before {kind} began"
        assert not (folder / FIT).exists()
    run = snakemake(folder, "--nolock", FIT, configs=TINY)
    assert run.returncode == 0, run.stdout[-6000:]
    # The uninterrupted run may still be at work on another worker until here.
    made, expected = digests(folder), digests(request.getfixturevalue("finished"))
    assert FIT in made and made == {path: expected.get(path) for path in made}
