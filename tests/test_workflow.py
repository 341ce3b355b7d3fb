"""The workflow as a whole: its plans, what reruns, and one run from text to report, killed midway."""

import hashlib
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_configuration import load

ROOT = Path(__file__).resolve().parents[1]
TINY = ["config.demo.yaml", "tests/config.tiny.yaml"]


def copy_project(folder):
    """Copy what git would clone, so that a run touches nothing of the developer's."""
    for name in ("Snakefile", "rules", "workflow", "envs", "profiles", "tests", "data/published"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    shutil.copytree(ROOT / "data" / "sources", folder / "data" / "sources")
    for path in ROOT.glob("config*.yaml"):
        shutil.copy(path, folder)
    return folder


def environment():
    tools = [ROOT / ".venv" / "bin", ROOT / ".tools" / "bin", ROOT / ".tools" / "kenlm" / "bin"]
    path = ":".join([str(Path(sys.executable).parent), *map(str, tools), os.environ["PATH"]])
    return os.environ | {"PATH": path, "RPY2_CFFI_MODE": "ABI", "OPENBLAS_NUM_THREADS": "1"}


def command(*arguments, configs=()):
    overlays = ["--configfile", *configs] if configs else []
    return [sys.executable, "-m", "snakemake", "--cores", "2", *overlays, *arguments]


def snakemake(folder, *arguments, configs=(), **variables):
    return subprocess.run(
        command(*arguments, configs=configs),
        check=False,
        cwd=folder,
        env=environment() | variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def planned(output):
    """Return rule → number of jobs of a dry run."""
    table = output.split("Job stats:")[1].split("\n\n")[0] if "Job stats:" in output else ""
    return {name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a project folder in which the tiny study has been run."""
    folder = copy_project(tmp_path_factory.mktemp("finished"))
    run = snakemake(folder, configs=TINY)
    assert run.returncode == 0, run.stdout[-6000:]
    return folder


def test_paper_plans_without_any_data(project):
    run = snakemake(project, "-n")
    assert run.returncode == 0, run.stdout[-3000:]
    jobs = planned(run.stdout)
    assert jobs["train"] == 10
    # 13 responses of 6 corpora, words once a corpus (UCL's two studies differ in spelling).
    assert (jobs["observations"], jobs["words"]) == (13, 7)
    assert jobs["surprisal"] == 19 * 7
    # One full fit for each of the 19 LMs and one base for each response.
    assert jobs["regression"] == 19 * 13 + 13
    assert not (project / "results").exists()


def test_a_machine_without_a_gpu_is_told_so_before_anything_starts(project):
    """The paper's study stops at once; what trains nothing on a GPU runs."""
    run = snakemake(project, CUDA_VISIBLE_DEVICES="")
    assert run.returncode != 0 and "Traceback" not in run.stdout
    assert "study paper, scale paper: nothing was started" in run.stdout
    assert "a GPU, for 10 trainings" in run.stdout and "config.demo.yaml" in run.stdout
    assert not (project / "results").exists() and not (project / "data" / "downloads").exists()

    (project / "gpu.yaml").write_text("recipes: {demo: {device: cuda}}")
    configs = [*TINY, "gpu.yaml"]
    text = "results/tiny/cores/corpora/simulated/text.parquet"
    run = snakemake(project, "--nocolor", text, configs=configs, CUDA_VISIBLE_DEVICES="")
    assert run.returncode == 0, run.stdout[-3000:]
    arguments = ("--nocolor", "results/tiny/cores/lms/Pythia/model.safetensors")
    run = snakemake(project, *arguments, configs=configs, CUDA_VISIBLE_DEVICES="")
    assert "a GPU, for a training with `device: cuda` (Pythia)" in run.stdout
    assert "rule train_tokenizer" not in run.stdout
    shutil.rmtree(project / "results")


def test_the_paper_s_figures_and_tables_are_targets(project):
    """By number, with the LMs that each shows; none of them is left out of the whole study."""
    asked = [["table1"], ["figure2"], ["figure4"], ["controls"], ["table2", "figure3", "figure6"]]
    plans = {names[0]: snakemake(project, "-n", *names) for names in asked}
    for run in plans.values():
        assert run.returncode == 0, run.stdout[-3000:]
    trained = {name: planned(run.stdout).get("train", 0) for name, run in plans.items()}
    assert trained == {"table1": 0, "figure2": 1, "figure4": 9, "controls": 6, "table2": 10}
    everything = snakemake(project, "-n").stdout
    for name, files in {
        "table1": ["clark2025/table_observations.html"],
        "table2": [
            "clark2025/table_delta_loglik.html",
            "exp2/figure_delta_loglik.svg",
            "clark2025/figure_perplexity.svg",
        ],
        "figure2": ["exp1/figure_delta_loglik.svg"],
        "figure4": ["exp3/figure_slopes.svg", "exp3/figure_delta_loglik.svg"],
    }.items():
        for file in files:
            assert f"results/paper/paper/experiments/{file}" in plans[name].stdout
            assert f"results/paper/paper/experiments/{file}" in everything
    assert "experiments/controls" not in everything


def test_open_study_has_the_paper_s_numbers(project):
    run = snakemake(project, "-n", configs=["config.open.yaml"]).stdout
    for file in ("exp1/figure_delta_loglik.svg", "exp2/figure_delta_loglik.svg"):
        assert f"results/open/cores/experiments/{file}" in run
    assert "experiments/exp3" not in run  # has LMs that the study does not train
    run = snakemake(project, "-n", "figure4", configs=["config.open.yaml"])
    jobs = planned(run.stdout)
    assert (jobs["train"], jobs["observations"], jobs["figure_slopes"]) == (9, 7, 1)


def test_open_study_plans_at_both_scales(project):
    for scale, trained in (("cores", 4), ("gpu", 4)):
        run = snakemake(project, "-n", "--config", f"scale={scale}", configs=["config.open.yaml"])
        assert run.returncode == 0, run.stdout[-3000:]
        assert planned(run.stdout)["train"] == trained


def test_studies_beyond_the_paper_plan(project):
    (project / "beyond.yaml").write_text("run: [maze, part_of_speech, devarda_marelli]")
    run = snakemake(project, "-n", configs=["config.open.yaml", "beyond.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    # 2 + 1 responses: 5 LMs and a base each; 6 responses of GPT-2, without one.
    assert planned(run.stdout)["regression"] == 3 * 6 + 6 * 3


def test_whole_datasets_plan_without_partitions_unigrams_or_training(project):
    """De Varda & Marelli's figure: six corpora, GPT-2 with two biases and without, one search."""
    for arguments, more in (
        (["dvm_figure2"], set()),
        (["--config", "run=[devarda_marelli]"], {"bias_search", "check_dataset", "summary"}),
    ):
        run = snakemake(project, "-n", *arguments)
        assert run.returncode == 0, run.stdout[-3000:]
        jobs = planned(run.stdout)
        assert (jobs["observations_whole"], jobs["surprisal"], jobs["regression"]) == (6, 18, 18)
        assert more == {"bias_search", "check_dataset", "summary"} & set(jobs)
        assert not {"observations", "estimate_ngrams", "train", "permutation"} & set(jobs)
        assert "held_out" not in run.stdout and "exploratory" not in run.stdout
    run = snakemake(project, "-n", "items", configs=["config.open.yaml"])
    jobs = planned(run.stdout)
    assert (jobs["train"], jobs["regression"], jobs["bias_search"]) == (2, 15, 1)


def test_held_out_partition_is_read_by_permutation_alone(project):
    """Walk the rules' inputs: observations makes held_out.parquet, only permutation takes it."""
    run = snakemake(project, "-n", configs=["config.demo.yaml"])
    readers = set()
    for job in re.split(r"\n(?:local)?rule ", run.stdout)[1:]:
        name = job.split(":")[0]
        inputs = re.search(r"^    input: (.*)$", job, re.MULTILINE)
        if inputs and "held_out" in inputs.group(1):
            readers.add(name)
    assert readers == {"permutation"}


WITHOUT_TREES = """
run: [heads]
dependencies:
  mine:
    label: Mine
    dataset: simulated_spr
    trees: {local: none/trees.txt, placed: "trees of mine, from me"}
    leaves: {local: none/leaves.txt, placed: "leaves of mine, from me"}
experiments:
  heads: {title: Heads, lms: [Pythia], baseline: Pythia, dependencies: mine}
"""


def test_an_experiment_without_its_trees_is_planned_and_not_run(project):
    (project / "heads.yaml").write_text(WITHOUT_TREES)
    configs = ["config.demo.yaml", "heads.yaml"]
    assert planned(snakemake(project, "-n", configs=configs).stdout)["attention_heads"] == 1
    run = snakemake(project, configs=configs)
    assert run.returncode == 0, run.stdout[-3000:]
    reason = "Mine (dependencies) is not here: none/trees.txt: trees of mine, from me"
    assert f"not run: {reason}" in run.stdout
    results = project / "results" / "demo" / "cores"
    assert reason in " ".join((results / "summary.txt").read_text().split())
    assert not (results / "experiments").exists()
    shutil.rmtree(project / "results")


def test_a_mistake_is_refused_at_once(project):
    (project / "wrong.yaml").write_text("experiments: {exp1: {lms: [Pythia, ALiBi-mixx-TI]}}")
    run = snakemake(project, "-n", configs=["wrong.yaml"])
    assert run.returncode != 0
    assert "no lm is called 'ALiBi-mixx-TI'; did you mean 'ALiBi-mix-TI'?" in run.stdout
    assert "Traceback" not in run.stdout


MINE = """
study: mine
run: [mine]
scales: {cores: {corpus: mine, tokenizer: mine, unigram: mine}}
corpora: {mine: {files: ["mine/*.txt"], reader: plain}}
tokenizers: {mine: {corpus: mine, vocabulary: 300}}
unigrams: {mine: {corpus: mine, memory: 100M}}
datasets:
  mine:
    label: Mine
    parser: table
    options: {columns: {SPR: rt}}
    words: {table: {local: mine/mine.csv}}
    responses: {table: {local: mine/mine.csv}}
    measures: {SPR: {filters: [times]}}
    filters: {times: "100 < time_ms < 3000"}
experiments:
  mine: {title: Mine, lms: [Pythia], baseline: Pythia, responses: {spr: [mine.SPR]}}
"""
HEAD = "item,sentence,position,word,subject,rt"
BROKEN = {
    "time": ((HEAD, "a,1,1,The,s1,310", "a,1,2,dog,s1,fast"), r"mine\.csv.*line 3.*'fast'"),
    "column": (
        (HEAD.replace("position", "positon"), "a,1,1,The,s1,310"),
        r"mine\.csv.*position.*positon",
    ),
    "text": ((HEAD, "a,1,1,The,s1,310"), r"mine/mine\.txt.*(empty|no text)"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_bad_input_is_refused_before_any_training(project, what):
    """A time that is no number, a missing column, an empty text: named at once, nothing trained."""
    lines, message = BROKEN[what]
    shutil.rmtree(project / "mine", ignore_errors=True)
    shutil.rmtree(project / "data" / "downloads", ignore_errors=True)
    (project / "mine").mkdir()
    (project / "mine" / "mine.csv").write_text("\n".join(lines) + "\n")
    text = "" if what == "text" else "The dog ran. The cat sat on the mat.\n" * 200
    (project / "mine" / "mine.txt").write_text(text)
    (project / "mine.yaml").write_text(MINE)
    run = snakemake(project, configs=["config.demo.yaml", "mine.yaml"])
    assert run.returncode != 0
    assert re.search(r"(?m)^error: .*" + message, run.stdout), run.stdout[-3000:]
    assert not list(project.glob("results/mine/**/training.csv"))
    assert not list(project.glob("results/mine/**/train/*.log"))


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


def test_nothing_is_done_twice(finished):
    run = snakemake(finished, "-n", configs=TINY)
    assert "Nothing to be done" in run.stdout, run.stdout[-3000:]


def test_touching_all_code_reruns_nothing(finished):
    for path in finished.rglob("*.py"):
        path.touch()
    run = snakemake(finished, "-n", configs=TINY)
    assert "Nothing to be done" in run.stdout, run.stdout[-3000:]


def test_a_changed_bias_reruns_what_uses_it(finished):
    file = finished / "workflow" / "scripts" / "biases" / "exponential.py"
    before = file.read_bytes()
    file.write_bytes(before + b"\n# changed\n")
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
