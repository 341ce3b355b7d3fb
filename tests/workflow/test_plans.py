"""What the workflow plans, what it refuses before it starts, and who may read what."""

import re
import shutil

import pytest

from project import TINY, copy_project, plan, plan_once, planned, snakemake

pytestmark = pytest.mark.apart


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("project"))


def test_paper_plans_without_any_data():
    paper = plan_once()
    assert paper.returncode == 0, paper.stdout[-3000:]
    jobs = planned(paper.stdout)
    assert jobs["train"] == 10
    # 13 responses of 6 corpora, words once a corpus (UCL's two studies differ in spelling).
    assert (jobs["observations"], jobs["words"]) == (13, 7)
    # Every LM scores seven corpora; each response is fitted with each LM, over a base of the LM's own
    # and one that all share.
    assert made(paper.stdout, "surprisal", "parquet") >= 19 * 7
    assert made(paper.stdout, "regression", "json") == 13 * (2 * 19 + 1)


@pytest.mark.merge
def test_a_plan_writes_no_results(project):
    assert planned(plan(project, "table1").stdout)["total"] and not (project / "results").exists()


@pytest.mark.merge
def test_a_machine_without_a_gpu_is_told_so_before_anything_starts(project):
    """The paper's study stops at once; what trains nothing on a GPU runs."""
    run = snakemake(project, CUDA_VISIBLE_DEVICES="")
    assert run.returncode != 0 and "Traceback" not in run.stdout
    assert "study paper, scale paper: nothing was started" in run.stdout
    assert "a GPU, for 10 trainings" in run.stdout and "config/demo.yaml" in run.stdout
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
    # What it says to do, as it is printed: the config is accepted, and jobs start.
    hint = re.search(r"To start anyway: (.+)$", run.stdout, re.MULTILINE)[1].split()
    started = (text, "--forcerun", "simulate_text", *hint)
    run = snakemake(project, "--nocolor", *started, configs=configs, CUDA_VISIBLE_DEVICES="")
    assert run.returncode == 0 and "rule simulate_text" in run.stdout, run.stdout[-3000:]
    shutil.rmtree(project / "results")


@pytest.mark.merge
def test_the_paper_s_figures_and_tables_are_targets():
    """By number, with the LMs that each shows; none of them is left out of the whole study."""
    asked = [["table1"], ["figure2"], ["figure4"], ["controls"], ["table2", "figure3", "figure6"]]
    plans = {names[0]: plan_once(*names) for names in asked}
    for run in plans.values():
        assert run.returncode == 0, run.stdout[-3000:]
    trained = {name: planned(run.stdout).get("train", 0) for name, run in plans.items()}
    assert trained == {"table1": 0, "figure2": 1, "figure4": 9, "controls": 6, "table2": 10}
    everything = plan_once().stdout
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


@pytest.mark.merge
def test_open_study_has_the_paper_s_numbers():
    run = plan_once(configs=["config/open.yaml"])
    assert run.returncode == 0 and planned(run.stdout)["train"] == 4, run.stdout[-3000:]
    for file in ("exp1/figure_delta_loglik.svg", "exp2/figure_delta_loglik.svg"):
        assert f"results/open/cores/experiments/{file}" in run.stdout
    assert "experiments/exp3" not in run.stdout  # has LMs that the study does not train
    run = plan_once("figure4", configs=["config/open.yaml"])
    jobs = planned(run.stdout)
    assert (jobs["train"], jobs["observations"], jobs["figure_slopes"]) == (9, 7, 1)


@pytest.mark.merge
def test_open_study_plans_at_another_scale(project):
    run = plan(project, "--config", "scale=gpu", configs=["config/open.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    assert planned(run.stdout)["train"] == 4


def made(output, kind, ending):
    """Count the files of a kind that a dry run would make: how they are dealt out to jobs is another matter."""
    listed = "\n".join(re.findall(r"^    output: (.*)$", output, re.MULTILINE))
    return len(set(re.findall(rf"/{kind}/[^\s,]+{ending}", listed)))


@pytest.mark.merge
def test_studies_beyond_the_paper_plan(project):
    (project / "beyond.yaml").write_text("run: [maze, part_of_speech, devarda_marelli]")
    run = plan(project, configs=["config/open.yaml", "beyond.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    # 2 responses of 10 LMs and, with part of speech and without, 10 of 10, a base each, of one the base of
    # each LM too; 6 of GPT-2, without one.
    assert made(run.stdout, "regression", "json") == 2 * 11 + 10 + 2 * 10 * 11 + 6 * 3


@pytest.mark.merge
def test_whole_datasets_plan_without_partitions_unigrams_or_training(project):
    """De Varda & Marelli's figure: six corpora, GPT-2 with two biases and without, one search."""
    for arguments, more in (
        (["dvm_figure2"], set()),
        (["--config", "run=[devarda_marelli]"], {"bias_search", "check_dataset", "summary"}),
    ):
        run = plan(project, *arguments)
        assert run.returncode == 0, run.stdout[-3000:]
        jobs = planned(run.stdout)
        assert jobs["observations_whole"] == 6
        assert (
            made(run.stdout, "surprisal", "parquet") == made(run.stdout, "regression", "json") == 18
        )
        assert more == {"bias_search", "check_dataset", "summary"} & set(jobs)
        assert not {"observations", "estimate_ngrams", "train", "permutation"} & set(jobs)
        assert "held_out" not in run.stdout and "exploratory" not in run.stdout
    run = plan(project, "items", configs=["config/open.yaml"])
    jobs = planned(run.stdout)
    assert (jobs["train"], jobs["bias_search"]) == (2, 1)
    assert made(run.stdout, "regression", "json") == 15


def test_the_demo_downloads_nothing():
    """Nor are numbered tables made of datasets that its experiments do not have."""
    jobs = planned(plan_once(configs=["config/demo.yaml"]).stdout)
    assert jobs["train"] == 6 and not {"download", "table_word_length"} & jobs.keys()


@pytest.mark.merge
def test_held_out_partition_is_read_by_permutation_alone():
    """Walk the rules' inputs: observations makes held_out.parquet, only permutation takes it."""
    run = plan_once(configs=["config/demo.yaml"])
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
    trees: {local: none/trees.txt, supplied: "trees of mine, from me"}
    leaves: {local: none/leaves.txt, supplied: "leaves of mine, from me"}
experiments:
  heads: {title: Heads, lms: [Pythia], baseline: Pythia, dependencies: mine}
"""


@pytest.mark.merge
def test_an_experiment_without_its_trees_is_planned_and_not_run(project):
    (project / "heads.yaml").write_text(WITHOUT_TREES)
    configs = ["config/demo.yaml", "heads.yaml"]
    assert planned(plan(project, configs=configs).stdout)["attention_heads"] == 1
    run = snakemake(project, configs=configs)
    assert run.returncode == 0, run.stdout[-3000:]
    reason = "Mine (dependencies) is not here: none/trees.txt: trees of mine, from me"
    assert f"not run: {reason}" in run.stdout
    results = project / "results" / "demo" / "cores"
    assert reason in " ".join((results / "summary.txt").read_text().split())
    assert not (results / "experiments").exists()
    shutil.rmtree(project / "results")


def test_a_name_that_a_rule_has_is_refused(project):
    mine = "experiments: {train: {title: T, lms: [Pythia], baseline: Pythia, attention: ucl_spr}}\n"
    (project / "named.yaml").write_text(mine)
    run = plan(project, "table1", configs=["named.yaml"])
    said = "experiments → train: a rule of the workflow has this name too"
    assert run.returncode == 1 and said in run.stdout and "Snakefile" not in run.stdout


def test_a_mistake_is_refused_at_once(project):
    (project / "wrong.yaml").write_text("experiments: {exp1: {lms: [Pythia, ALiBi-mixx-TI]}}")
    run = plan(project, configs=["wrong.yaml"])
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


@pytest.mark.merge
@pytest.mark.parametrize("what", BROKEN)
def test_bad_input_is_refused_before_any_training(project, what):
    """A time that is no number, a missing column, an empty text: named at once, nothing trained."""
    lines, message = BROKEN[what]
    shutil.rmtree(project / "mine", ignore_errors=True)
    shutil.rmtree(project / "data" / "downloads", ignore_errors=True)
    (project / "mine").mkdir()
    (project / "mine" / "mine.csv").write_text("\n".join(lines) + "\n")
    text = "" if what == "text" else "The dog ran. The cat sat on the mat.\n" * 1000
    (project / "mine" / "mine.txt").write_text(text)
    (project / "mine.yaml").write_text(MINE)
    run = snakemake(project, configs=["config/demo.yaml", "mine.yaml"])
    assert run.returncode != 0
    assert re.search(r"(?m)^error: .*" + message, run.stdout), run.stdout[-3000:]
    assert not list(project.glob("results/mine/**/training.csv"))
    assert not list(project.glob("results/mine/**/train/*.log"))
