"""The structural probe and attention maps by Snakemake: a tiny study with a treebank of its own."""

import csv

import numpy as np
import pandas as pd
import pytest

from loaded import untracked
from project import ROOT, TINY, copy_finished, load, plan, planned, snakemake
from random_trees import random_heads
from recency.workflow.plan.study import Study

pytestmark = pytest.mark.merge

PROBE = """
run: [probe]
treebanks:
  mine:
    label: Mine
    cite: Me (2026)
    licence: none
    train: {local: mine/train.conllu}
    dev: {local: mine/dev.conllu}
    test: {local: mine/test.conllu, supplied: "test.conllu of mine, from me"}
probe: {epochs: 2, batch: 4, relations: [nsubj, iobj]}
datasets:
  tagged:
    label: Tagged
    parser: table
    tagger: mine
    words: {table: &file {local: mine/times.csv}}
    responses: {table: *file}
    measures: {SPR: {filters: []}}
sentences: {dog: "the dog ran ."}
experiments:
  probe:
    title: Layers
    lms: [ALiBi-mix-TI]
    baseline: ALiBi-mix-TI
    probe: mine
    attention_maps: {sentence: dog, lms: [ALiBi-mix-TI], layers: 1}
targets:
  wm_figure4: {experiment: probe}
  wm_figure5: {experiment: probe}
"""
CONFIGS = [*TINY, "probe.yaml"]
WORDS = ["the", "dog", "ran."]


@pytest.fixture(scope="module")
def project(finished, tmp_path_factory):
    """Return the finished tiny study, with a treebank that it has not seen."""
    folder = copy_finished(finished, tmp_path_factory.mktemp("probe") / "project")
    (folder / "probe.yaml").write_text(PROBE)
    (folder / "mine").mkdir()
    times = [f"{who},a,1,{n},{word},300\n" for who in "ab" for n, word in enumerate(WORDS, 1)]
    header = "subject,item,sentence,position,word,SPR\n"
    (folder / "mine" / "times.csv").write_text(header + "".join(times))
    random = np.random.default_rng(6)
    for split, count in (("train", 12), ("dev", 4), ("test", 4)):
        lines = []
        for _ in range(count):
            for place, head in enumerate(random_heads(random.integers(2, 9), random), 1):
                relation = random.choice(["nsubj", "obj"]) if head else "root"
                word = random.choice(["dog", "cat", "ran", "the"])
                lines.append(f"{place}\t{word}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_\n")
            lines.append("\n")
        (folder / "mine" / f"{split}.conllu").write_text("".join(lines))
    return folder


def test_a_treebank_of_the_user_s_that_is_not_there_is_said(project):
    (project / "away.yaml").write_text("treebanks: {mine: {test: {local: mine/none.conllu}}}")
    summary = "results/tiny/cores/summary.txt"
    run = snakemake(project, "--nocolor", summary, configs=[*CONFIGS, "away.yaml"])
    reason = "Mine (treebanks) is not here: mine/none.conllu: test.conllu of mine, from me"
    assert run.returncode == 0 and f"not run: {reason}" in run.stdout, run.stdout[-3000:]
    assert reason in " ".join((project / summary).read_text().split())


def test_a_dataset_whose_treebank_is_not_there_is_not_run(monkeypatch):
    """Neither is one that has its words."""
    monkeypatch.chdir(ROOT)
    config = load()
    config["treebanks"]["ewt"]["train"] = {"local": "none.conllu", "supplied": "mine"}
    ucl = config["datasets"]["ucl_spr"]
    config["datasets"] |= {"tagged": ucl | {"tagger": "ewt"}, "also": ucl | {"words": {"dataset": "tagged"}}}  # fmt: skip
    responses = {"part_of_speech": ["tagged.SPR", "also.SPR", "ucl_spr.SPR"]}
    config["experiments"]["part_of_speech"]["responses"] = responses
    config["run"] = ["part_of_speech"]
    found = Study(config, ROOT, [], False)
    assert found.data_asked == [("probe", "ewt")]  # so that reports cite it
    absent = found.absent
    reason = "UD English EWT (treebanks) is not here: none.conllu: mine"
    assert absent["tagged"] == absent["also"] == reason and "ucl_spr" not in absent


def test_any_dataset_has_parts_of_speech_by_a_tagger(project):
    where = project / "results" / "tiny" / "cores"
    target = "results/tiny/cores/datasets/tagged/words.parquet"
    run = snakemake(project, "--nocolor", target, configs=CONFIGS)
    assert run.returncode == 0, run.stdout[-3000:]
    assert planned(run.stdout)["train_tagger"] == 1
    words = pd.read_parquet(where / "datasets" / "tagged" / "words.parquet")
    assert words.word.tolist() == WORDS
    assert words.pos.tolist() == ["other"] * 3  # the treebank calls every word X
    quality = pd.read_csv(where / "taggers" / "mine.csv").set_index("part_of_speech")
    assert quality.right["all"] == quality.words["all"] == quality.words["other"] > 8
    assert untracked(project) == []


def test_probe_and_maps_from_text_to_report(project):
    targets = ("--nocolor", "wm_figure4", "wm_figure5")
    run = snakemake(project, *targets, configs=CONFIGS)
    assert run.returncode == 0, run.stdout[-6000:]
    where = project / "results" / "tiny" / "cores" / "experiments" / "probe"
    for stem in ("figure_probe", "figure_attention_maps"):
        for ending in ("pdf", "svg", "png", "csv"):
            assert (where / f"{stem}.{ending}").stat().st_size > 200
    with open(where / "table_probe.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["relation"] == "all"]
    # Neighbours, then embeddings and one layer, trained and not.
    assert [row["layer"] for row in rows] == ["", "0", "1", "0", "1"]
    assert len({row["dev_loss"] for row in rows}) == 5
    page = (where / "table_probe.html").read_text()
    assert untracked(project) == []
    assert "adjacent words" in page and "ALiBi-mix-TI, untrained" in page

    run = snakemake(project, "--report", "report.html", *targets, configs=CONFIGS)
    assert run.returncode == 0, run.stdout[-3000:]
    page = (project / "report.html").read_text()
    for text in ("Figure 4 of the working-memory study", "Figure 5 of the working-memory study"):
        assert text in page
    assert "trained on Mine" in page and "table_probe.html" in page
    assert "Mine (treebanks), Me (2026); licence: none" in page

    # Neither the memory nor what a figure shows has a probe trained again.
    changes = "probe: {memory_gb: 1, relations: [obj]}\nsentences: {dog: a cat ran .}"
    (project / "more.yaml").write_text(changes)
    run = plan(project, *targets, configs=[*CONFIGS, "more.yaml"])
    jobs = planned(run.stdout)
    assert jobs["figure_probe"] == jobs["table_probe"] == 1 and jobs["attention_map"] == 1
    assert not {"structural_probe", "treebank", "train"} & jobs.keys()


def test_the_working_memory_study_plans_it(project):
    jobs = planned(plan(project, "wm_figure4", "wm_figure5").stdout)
    assert (jobs["structural_probe"], jobs["attention_map"], jobs["train"]) == (10, 2, 10)
