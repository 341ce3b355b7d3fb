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
from project import ROOT, TINY, command, copy_project, environment, load, planned, snakemake


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a project folder in which the tiny study has been run."""
    folder = copy_project(tmp_path_factory.mktemp("finished"))
    run = snakemake(folder, configs=TINY)
    assert run.returncode == 0, run.stdout[-6000:]
    return folder


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
    assert "predicts best" in summary and "simulated" in summary
    assert load(*TINY)["scales"]["cores"]["note"] in " ".join(summary.split())


def test_nothing_is_done_twice(finished):
    run = snakemake(finished, "-n", configs=TINY)
    assert "Nothing to be done" in run.stdout, run.stdout[-3000:]


def test_touching_all_code_reruns_nothing(finished):
    for path in finished.rglob("*.py"):
        path.touch()
    run = snakemake(finished, "-n", configs=TINY)
    assert "Nothing to be done" in run.stdout, run.stdout[-3000:]


def test_a_changed_bias_reruns_what_uses_it(finished):
    file = finished / "src" / "recency" / "attention" / "biases" / "exponential.py"
    before = file.read_bytes()
    file.write_bytes(before + b"\nCHANGED = True\n")
    run = snakemake(finished, "-n", configs=TINY)
    file.write_bytes(before)
    jobs = planned(run.stdout)
    # dVM-I alone has this form: it is put on at inference, so nothing is trained.
    assert "train" not in jobs and jobs["surprisal"] == 2
    assert set(re.findall(r"lm=([\w-]+)", run.stdout)) == {"dVM-I"}


def test_report(finished):
    run = snakemake(finished, "--report", "report.html", configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    page = (finished / "report.html").read_text()
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


def walked(report, folder):
    """Open a report in a headless browser, go through it and return what was shown of each entry."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser on the path to open the report in: {', '.join(BROWSERS)}")
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


def test_every_figure_and_table_shows_in_the_report(finished, tmp_path):
    run = snakemake(finished, "--report", "report.html", configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    shown = walked(finished / "report.html", tmp_path)
    assert [entry["error"] for entry in shown if "error" in entry] == []
    # All of the results that the rules flag, and none but those.
    results = finished / "results" / "tiny" / "cores"
    made = [*results.glob("experiments/*/*.svg"), *results.rglob("*.html")]
    made = {str(path.relative_to(finished)) for path in made}
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


def digests(folder):
    """Return the digest of every result; logs and benchmarks tell of a run, not of a result."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file() and not {"logs", "benchmarks"} & set(path.parts) and path.name[0] != "."
    }


def test_a_killed_run_ends_with_the_same_bytes(finished, tmp_path):
    folder = copy_project(tmp_path)
    for seconds in (14, 22, 25):
        run = subprocess.Popen(
            command("--nolock", configs=TINY),
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(seconds)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    run = snakemake(folder, "--nolock", configs=TINY)
    assert run.returncode == 0, run.stdout[-6000:]
    assert digests(folder) == digests(finished)
