"""Own predictors and two language models in one regression, by Snakemake, from a table to a table."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml

from checkpoints import checkpoint
from project import copy_project, plan, planned, snakemake

pytestmark = pytest.mark.merge

FORMULA = (
    "time_ms ~ length + log(cloze) + condition + surprisal + next_length + previous2_surprisal"
    " + (1 + surprisal | subject) + (1 | frame)"
)
NAMED = (
    "time_ms ~ length + poly(cloze, 2) + surprisal[gpt2] + surprisal + (1 | subject) + (1 | frame)"
)
DESIGN = {"base": "all", "engine": "cross_products", "response": "raw", "surprisal": "plain"}
MADE = {
    "study": "made",
    "run": ["both"],
    "lms": {
        "gpt2": {"checkpoint": "model", "bos": True},
        "gpt2-dVM": {
            "checkpoint": "model", "bos": True, "bias": "dVM-2024", "applied": "inference"
        },
    },
    "datasets": {
        "made": {
            "label": "Made",
            "parser": "table",
            "options": {"columns": {name: name for name in ("cloze", "condition", "frame")}},
            "words": {"table": {"local": "made.csv"}},
            "responses": {"table": {"local": "made.csv"}},
            "measures": {"SPR": {"filters": ["inside"]}},
            "filters": {"inside": "not sentence_first and not sentence_last"},
        }
    },
    "designs": {
        "mine": DESIGN | {"formula": FORMULA, "of_interest": ["surprisal", "previous2_surprisal"]},
        "over": DESIGN | {"formula": NAMED, "of_interest": ["surprisal"]},
    },
    "experiments": {
        "both": {
            "title": "Both",
            "lms": ["gpt2", "gpt2-dVM"],
            "baseline": "gpt2",
            "responses": {"mine": ["made.SPR"]},
            "nested": [["gpt2", "gpt2-dVM"]],
        },
        "over": {
            "title": "Over GPT-2",
            "lms": ["gpt2-dVM"],
            "baseline": "gpt2-dVM",
            "responses": {"over": ["made.SPR"]},
        },
    },
}  # fmt: skip


def table(path, sentences=40, subjects=8):
    """Write responses that follow length, cloze, condition and a frame of the word."""
    random = np.random.default_rng(0)
    words = []
    for sentence in range(sentences):
        for place in range(1, int(random.integers(6, 10)) + 1):
            word = "".join(random.choice(list("abcdeilmnorstu"), random.integers(1, 9)))
            cloze, frame = random.uniform(0.01, 1), f"f{place % 5}"
            words.append((f"t{sentence // 5}", sentence, place, word, cloze, frame))
    frame = pd.DataFrame(words, columns=["item", "sentence", "position", "word", "cloze", "frame"])
    rows = frame.merge(pd.DataFrame({"subject": [f"s{n}" for n in range(subjects)]}), how="cross")
    rows["condition"] = np.where((rows.sentence + rows.subject.str[1:].astype(int)) % 3, "a", "b")
    rows["time_ms"] = 300 + 5 * rows.word.str.len() - 20 * np.log(rows.cloze)
    rows["time_ms"] += 30 * (rows.condition == "b") + random.normal(0, 30, len(rows))
    rows.to_csv(path, index=False)
    return rows


def test_own_predictors_and_what_each_lm_adds(tmp_path):
    folder = copy_project(tmp_path / "project")
    rows = table(folder / "made.csv")
    sentences = rows.drop_duplicates(["sentence", "position"]).groupby("sentence").word
    checkpoint(folder / "model", sentences.agg(" ".join))
    (folder / "made.yaml").write_text(yaml.safe_dump(MADE))
    run = snakemake(folder, "--nocolor", "both", "over", configs=["made.yaml"])
    assert run.returncode == 0, run.stdout[-6000:]
    results = folder / "results" / "made" / "paper"
    fits = results / "regression" / "mine" / "made.SPR"
    both, alone = (
        json.loads((fits / f"{name}.full.json").read_text()) for name in ("gpt2+gpt2-dVM", "gpt2")
    )
    effects = {row["term"]: row["estimate"] for row in both["fixed"]}
    assert "`surprisal[gpt2-dVM]`" in effects and "`previous2_surprisal[gpt2-dVM]`" in effects
    assert {row["term"] for row in alone["fixed"]} < set(effects)
    found = {row["term"]: (row["estimate"], row["se"]) for row in alone["fixed"]}
    for term, truth in {"`log(cloze)`": -20, "length": 5, "condition_b": 30}.items():
        sd = alone["scaling"][term]["sd"]
        assert abs(found[term][0] / sd - truth) < 4 * found[term][1] / sd, term
    assert alone["reference"] == {"condition": "condition_a"}
    base = json.loads((fits / "none.base.json").read_text())
    assert base["n"] == alone["n"] == both["n"]
    assert "surprisal" not in base["formula"] and "log(cloze)" in base["formula"]
    nested = pd.read_csv(results / "experiments" / "both" / "table_nested.csv")
    assert list(zip(nested.added, nested.over, strict=True)) == [
        ("gpt2-dVM", "gpt2"),
        ("gpt2", "gpt2-dVM"),
    ]
    difference = both["loglik"]["exploratory"] - alone["loglik"]["exploratory"]
    assert nested.delta_loglik[0] == pytest.approx(difference, abs=1e-9)
    assert (nested.delta_loglik_fit > 0).all() and nested.p.between(0, 1).all()
    assert nested[["p_subject", "p_sentence"]].stack().between(0, 1).all()
    assert nested.p_observation_anticonservative.between(0, 1).all()
    assert (nested.low_sentence <= nested.delta_loglik).all()
    assert nested.n_held_out.nunique() == 1 and nested.mse_both.nunique() == 1
    over = results / "regression" / "over" / "made.SPR"
    full, base = (
        json.loads((over / f"{name}.json").read_text()) for name in ("gpt2-dVM.full", "none.base")
    )
    assert "`surprisal[gpt2]`" in base["formula"] and "+ surprisal +" not in base["formula"]
    assert full["loglik"]["fit"] > base["loglik"]["fit"]
    again = plan(folder, "both", "over", configs=["made.yaml"])
    assert "Nothing to be done" in again.stdout and not planned(again.stdout)
