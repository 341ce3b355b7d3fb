"""What is planned for memories: in the open study, and for the Penn Treebank's tables."""

import pytest

from project import copy_project, plan, planned, snakemake

pytestmark = [pytest.mark.apart, pytest.mark.merge]
PTB = ("ptb_table1", "ptb_table2", "ptb_table3")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("project"))


def test_twelve_memories_and_four_transformers_from_three_seeds(project):
    made = plan(project, "memories", configs=["config/open.yaml"])
    assert made.returncode == 0, made.stdout[-3000:]
    jobs = planned(made.stdout)
    assert (jobs["train"], jobs["train_tokenizer"]) == (16 * 3, 1)
    assert jobs["surprisal"] == 16 * 3  # a job an LM


def test_a_text_that_is_not_placed_is_asked_for(project):
    text = "results/ptb/whole/corpora/ptb/text.parquet"
    run = snakemake(project, "--nocolor", text, configs=["config/ptb.yaml"], RECENCY_MIRROR="")
    assert run.returncode != 0
    said = "is not here. ptb.train.txt, ptb.valid.txt and ptb.test.txt of simple-examples.tgz"
    assert said in run.stdout and "put it at data/supplied/ptb/ptb.train.txt" in run.stdout


def test_tables_of_ltcb(project):
    """23 networks, and enwik9 that is asked for with its address and size."""
    text, settings = "results/ltcb/whole/corpora/ltcb/text.parquet", ["config/ltcb.yaml"]
    run = snakemake(project, "--nocolor", text, configs=settings, RECENCY_MIRROR="")
    assert run.returncode != 0
    said = "is not here: enwik9.zip of mattmahoney.net/dc/textdata.html (323 MB; 1 GB of text)"
    assert said in run.stdout and "Put it at data/supplied/enwik9.zip" in run.stdout
    (project / "data" / "supplied").mkdir(parents=True, exist_ok=True)
    (project / "data" / "supplied" / "enwik9.zip").write_text("")
    made = plan(project, "thesis_table3_4", "thesis_table4_3", configs=settings)
    assert made.returncode == 0, made.stdout[-3000:]
    jobs = planned(made.stdout)
    assert (jobs["train"], jobs["text_perplexity"], jobs["table_perplexity"]) == (23, 46, 2)


def test_tables_of_the_penn_treebank(project):
    """41 networks, each scored on two parts, n-grams of three orders and at five distances, five CDLMs, nine mixes."""
    folder = project / "data" / "supplied" / "ptb"
    folder.mkdir(parents=True)
    for part, words in (("train", 887_521), ("valid", 70_390), ("test", 78_669)):
        (folder / f"ptb.{part}.txt").write_text("word " * words)
    made = plan(project, *PTB, configs=["config/ptb.yaml"])
    assert made.returncode == 0, made.stdout[-3000:]
    jobs = planned(made.stdout)
    assert (jobs["train"], jobs["text_perplexity"], jobs["table_perplexity"]) == (41, 82, 3)
    assert jobs["table_perplexity_pairs"] == 3
    assert (jobs["estimate_ngram_lm"], jobs["train_cdlm"]) == (8, 5)
    assert (jobs["ngram_text_perplexity"], jobs["mix_text_perplexity"]) == (26, 18)
    quick = plan(project, *PTB, configs=["config/ptb.yaml", "config/ptb-quick.yaml"])
    assert planned(quick.stdout)["train"] == 5
    four = plan(project, *PTB[1:], configs=["config/ptb.yaml", "config/ptb-four.yaml"])
    assert planned(four.stdout)["train"] == 9
    (project / "mine.yaml").write_text("experiments: {ptb_srnn: {seeds: [1234, 2]}}\n")
    seeded = plan(
        project, "ptb_table2", configs=["config/ptb.yaml", "config/ptb-four.yaml", "mine.yaml"]
    )
    jobs = planned(seeded.stdout)
    assert (jobs["train"], jobs["table_perplexity"], jobs["table_perplexity_pairs"]) == (10, 1, 1)
