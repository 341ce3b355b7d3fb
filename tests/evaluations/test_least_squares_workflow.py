"""ΔAIC and a search by Snakemake, from a made corpus and a made GPT-2 to tables and figures."""

import json

import pandas as pd
import pytest
import yaml

from checkpoints import checkpoint
from item_means import items
from loaded import untracked
from project import copy_project, plan, planned, snakemake

pytestmark = pytest.mark.merge

HUB = {"checkpoint": "model", "bos": False}
MADE = {
    "study": "made",
    "run": ["made"],
    "lms": {"gpt2": HUB, "gpt2-dVM": HUB},
    "datasets": {
        "made": {
            "label": "Made",
            "parser": "devarda_marelli2024",
            "partitioned": False,
            "words": {"items": {"local": "items.tsv"}},
            "responses": {"items": {"local": "items.tsv"}},
            "measures": {"SPR": {"filters": ["inside"]}},
            "filters": {"inside": "position > 2 and not sentence_last"},
        }
    },
    "searches": {
        "made": {
            "lm": "gpt2",
            "form": "exponential",
            "layers": "last",
            "parameters": {"decay": [0.001, 100], "weight": [0, 1]},
            "responses": {"frequency_means": ["made.SPR"]},
            "trials": 3,
            "seed": 1,
            "mark": ["dVM-2024"],
        }
    },
    "experiments": {
        "made": {
            "title": "Made",
            "lms": ["gpt2", "gpt2-dVM"],
            "baseline": "gpt2",
            "responses": {"frequency_means": ["made.SPR"]},
            "search": "made",
        }
    },
}


def test_from_a_corpus_to_delta_aic_and_the_best_bias(tmp_path):
    folder = copy_project(tmp_path / "project")
    table = pd.read_csv(items(folder / "items.tsv", sentences=12), sep="\t")
    checkpoint(folder / "model", table.groupby("sent_id").word.agg(" ".join))
    (folder / "made.yaml").write_text(yaml.safe_dump(MADE))
    run = snakemake(folder, "--nocolor", "made", configs=["made.yaml"])
    assert run.returncode == 0, run.stdout[-6000:]
    assert untracked(folder) == []
    results = folder / "results" / "made" / "paper"
    rows = pd.read_csv(results / "experiments" / "made" / "table_delta_aic.csv").set_index("lm")
    inside = table.groupby("sent_id").word_pos.transform("max").sub(1).ge(table.word_pos)
    assert (rows.n == (inside & (table.word_pos > 2)).sum()).all()
    best = json.loads((results / "searches" / "made" / "best.json").read_text())
    for lm, loglik in (
        ("gpt2", best["unbiased"]),
        ("gpt2-dVM", best["marked"]["dVM-2024"]["loglik"]),
    ):
        assert rows.aic[lm] == pytest.approx(2 * 5 - 2 * loglik, abs=1e-9)
    assert abs(rows.delta_aic["gpt2-dVM"]) > 1e-6
    observations = results / "observations" / "made.SPR"
    assert {path.name for path in observations.iterdir()} == {"fit.parquet", "counts.csv"}
    for name in ("experiments/made/figure_delta_aic", "searches/made/figure_bias_search"):
        for ending in ("pdf", "svg", "png", "csv"):
            assert (results / f"{name}.{ending}").stat().st_size > 100
    again = plan(folder, "made", configs=["made.yaml"])
    assert "Nothing to be done" in again.stdout and not planned(again.stdout)
