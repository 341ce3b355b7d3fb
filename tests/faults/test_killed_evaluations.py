"""The rules that the tiny study lacks, each killed once, in further studies."""

import importlib.util
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from test_killed_jobs import doomed, due, killed_until_done, parts

import faulty
import wide_study
from loaded import logs
from project import ROOT, TINY, copy_finished, copy_project, snakemake

pytestmark = pytest.mark.long

#: Rules that no study kills, and why.
NOT_KILLED = {
    "push": "a commit to the Hub is whole or is not there: tests/export/test_push.py",
    "hub_checkpoint": "the Hub is no part of a study here; a list is written after its files: tests/downloads/test_fetched_checkpoints.py",
    "wordfreq_surprisal": "needs the package wordfreq: make test-peers",
    "rocrate": "its zip has the time at which it was made",
    "babylm_scores": "its many files are made by tests/evaluations/test_babylm.py alone",
    "babylm_words": "as babylm_scores",
}


def module(name):
    """Return a module of tests of this name."""
    spec = importlib.util.spec_from_file_location(name.split("/")[-1], ROOT / "tests" / name)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def wide(finished, folder):
    """Lay most evaluations over the finished tiny study; return configs and targets."""
    wide_study.write(copy_finished(finished, folder))
    return wide_study.CONFIGS, wide_study.TARGETS


def models(finished, folder):
    """Write the study of another test: all data, linking functions, masked LMs."""
    module("evaluations/test_models_workflow.py").write(copy_project(folder))
    return ["made.yaml"], ["whole", "parted", "masked", "linear"]


def thesis(finished, folder):
    """Write the study of another test: mazes, ranks, length by type, a table and n-grams as LMs."""
    made = module("evaluations/test_thesis_workflow.py")
    made.corpus(copy_project(folder))
    (folder / "made.yaml").write_text(yaml.safe_dump(made.MADE))
    return ["made.yaml"], [f"results/made/paper/experiments/{each}" for each in made.TARGETS]


def search(finished, folder):
    """Write the study of another test: a bias searched for on items' means."""
    made = module("evaluations/test_least_squares_workflow.py")
    table = pd.read_csv(made.items(copy_project(folder) / "items.tsv", sentences=12), sep="\t")
    made.checkpoint(folder / "model", table.groupby("sent_id").word.agg(" ".join))
    (folder / "made.yaml").write_text(yaml.safe_dump(made.MADE))
    return ["made.yaml"], ["made"]


def two_languages(finished, folder):
    """Lay two languages over the tiny study."""
    copy_finished(finished, folder)
    return [*TINY, "tests/config.two_languages.yaml"], ["pooled"]


STUDIES = [wide, models, thesis, search, two_languages]


def test_every_rule_is_killed_in_some_study(finished, tmp_path):
    killed = due(copy_project(tmp_path / "tiny"))
    for study in STUDIES:
        folder = tmp_path / study.__name__
        configs, words = study(finished, folder)
        killed |= due(folder, *words, configs=configs)
    known = set(logs().values())
    assert known - killed == set(NOT_KILLED)


def without_speed(folder):
    """Return the digest of every result; of tables with a measured speed, what else they hold."""
    found = {n: value for n, value in faulty.digests(folder).items() if "/lineage/" not in n}
    for name in found:
        if "/text_perplexity/" in name or "/table_perplexity." in name:
            read = {".parquet": pd.read_parquet, ".csv": pd.read_csv}.get(Path(name).suffix)
            rest = read and read(folder / name).drop(columns="words_per_second")
            found[name] = read and rest.to_csv()  # pages show what the table beside them has
    return found


@pytest.mark.parametrize("study", STUDIES)
def test_every_other_rule_killed_once(finished, tmp_path, study):
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    configs, words = study(finished, folder)
    shutil.copytree(folder, whole, symlinks=True)
    undisturbed = snakemake(whole, *words, configs=configs, **wide_study.MIRROR)
    assert undisturbed.returncode == 0, undisturbed.stdout[-4000:]
    killed_until_done(doomed(folder), *words, configs=configs, **wide_study.MIRROR)
    assert without_speed(folder) == without_speed(whole) and parts(folder) == []
