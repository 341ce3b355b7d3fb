"""One damaged file costs what depends on it: the rest is made, and results name what was not run."""

import numpy as np
import pandas as pd
import pytest

from project import copy_project, snakemake

pytestmark = pytest.mark.merge

DATASET = """
  {name}:
    label: Corpus {name}
    parser: table
    licence: none
    cite: none
    options: {{sentences: item, columns: {{subject: subject, item: item, position: position, word: word, SPR: rt}}}}
    words: {{table: {{local: {name}.csv}}}}
    responses: {{table: {{local: {name}.csv}}}}
    measures: {{SPR: {{filters: [f]}}}}
    filters: {{f: time_ms > 1}}
    partitioned: false
"""
LM = "{surprisals: {table: {local: lm.csv}, columns: {surprisal: %s, word: word, item: item, position: position, dataset: dataset}, unit: bits}}"
STUDY = """
study: mine
run: [both]
scales: {paper: {unigram: counted}}
unigrams: {counted: {counts: {local: counts.csv}, columns: [word, n]}}
lms: {A: LM_A, B: LM_B}
designs:
  plain:
    formula: time_ms ~ length + surprisal + (1 | subject)
    of_interest: [surprisal]
    base: all
    engine: cross_products
    response: raw
    surprisal: plain
experiments: {both: {title: Both, lms: [A, B], baseline: A, responses: {plain: [good.SPR, bad.SPR]}}}
datasets:
"""
RESULTS = "results/mine/paper"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = copy_project(tmp_path_factory.mktemp("fault") / "project")
    random = np.random.default_rng(0)
    rows = [(f"t{i}", p + 1, "w" * int(random.integers(1, 9))) for i in range(8) for p in range(12)]
    words = pd.DataFrame(rows, columns=["item", "position", "word"])
    words["a"], words["b"] = random.gamma(3, 2, (2, len(words)))
    scored = [words.assign(dataset=name) for name in ("good", "bad")]
    pd.concat(scored).to_csv(folder / "lm.csv", index=False)
    counts = {"word": ["w" * k for k in range(1, 9)], "n": [80, 70, 50, 40, 30, 9, 4, 1]}
    pd.DataFrame(counts).to_csv(folder / "counts.csv", index=False)
    for name in ("good", "bad"):
        times = pd.concat([words.assign(subject=f"s{reader}") for reader in range(8)])
        times["rt"] = (300 + 5 * times.a + random.normal(0, 40, len(times))).round(3)
        times[["subject", "item", "position", "word", "rt"]].to_csv(
            folder / f"{name}.csv", index=False
        )
    datasets = "".join(DATASET.format(name=name) for name in ("good", "bad"))
    study = STUDY.replace("LM_A", LM % "a").replace("LM_B", LM % "b")
    (folder / "mine.yaml").write_text(study + datasets)
    return folder


def test_a_damaged_dataset_costs_its_branch(project):
    whole = (project / "bad.csv").read_text()
    (project / "bad.csv").write_text(whole.replace("t3,4,", "t3,four,"))
    run = snakemake(project, "both", configs=["mine.yaml"])
    assert run.returncode == 1
    for made in ("observations/good.SPR/fit.parquet", "surprisal/A/good.parquet"):
        assert (project / RESULTS / made).exists(), run.stdout[-3000:]
    assert not (project / RESULTS / "experiments").exists()
    said = run.stdout.replace("\n", " ")
    assert "Failed: words bad. Not all is made of: both" in said and "leave_out=[bad]" in said

    run = snakemake(project, "--config", "leave_out=[bad]", configs=["mine.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    table = project / RESULTS / "experiments/both/table_delta_aic.html"
    reason = "Corpus bad is left out"
    assert reason in (project / RESULTS / "summary.txt").read_text() and reason in table.read_text()

    (project / "bad.csv").write_text(whole)
    run = snakemake(project, configs=["mine.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    assert reason not in table.read_text() and "Corpus bad" in table.read_text()


def test_a_left_out_dataset_that_is_not_there_is_refused(project):
    run = snakemake(project, "-n", "--config", "leave_out=[bat]", configs=["mine.yaml"])
    assert run.returncode == 1 and "leave_out: no dataset is called 'bat'" in run.stdout
