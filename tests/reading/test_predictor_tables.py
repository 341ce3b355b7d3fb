"""Predictors from tables land on their own words, by place or by type."""

import copy

import numpy as np
import pandas as pd
import pytest

from project import ROOT, SCHEMA, load
from readingtimes.contracts import word_table
from readingtimes.predictor_tables import attach
from recency.errors import REFUSALS
from recency.workflow.config import checks
from recency.workflow.plan.study import Study

TEXT = "The old mill stood by the river . Nobody had ever been inside the mill since the flood came"
SPLIT = TEXT.replace(" .", ".").split()
WORDS = word_table(["1"] * len(SPLIT), [1] * 7 + [2] * (len(SPLIT) - 7), SPLIT)
CLOZE = np.round(np.linspace(0.05, 0.95, len(SPLIT)), 3)


def saved(frame, folder):
    frame.to_csv(folder / "norms.csv", index=False)
    return folder / "norms.csv"


def test_by_place(tmp_path, capsys):
    frame = pd.DataFrame({"n": range(len(SPLIT)), "form": SPLIT, "cloze": CLOZE})
    path = saved(frame.sample(frac=1, random_state=1), tmp_path)
    found = attach(WORDS, path, {"position": "n", "word": "form"}, {"cloze": "cloze"})
    assert found.cloze.tolist() == CLOZE.tolist()
    assert "verified by the words" in capsys.readouterr().err
    moved = saved(frame.assign(form=np.roll(SPLIT, 1)), tmp_path)
    with pytest.raises(REFUSALS):
        attach(WORDS, moved, {"position": "n", "word": "form"}, {"cloze": "cloze"})


def test_by_type(tmp_path):
    frame = pd.DataFrame({"Word": ["the", "mill", "river"], "conc": [1.4, 4.8, 4.9]})
    found = attach(WORDS, saved(frame, tmp_path), {"type": "Word"}, {"concreteness": "conc"})
    known = {"The": 1.4, "the": 1.4, "mill": 4.8, "river.": 4.9}
    np.testing.assert_array_equal(found.concreteness, [known.get(w, np.nan) for w in SPLIT])
    twice = pd.concat([frame, frame.tail(1).assign(conc=1)])
    with pytest.raises(REFUSALS, match="line 5: a second row for 'river', with other values"):
        attach(WORDS, saved(twice, tmp_path), {"type": "Word"}, {"concreteness": "conc"})
    with pytest.raises(REFUSALS, match="the words have a column word already"):
        attach(WORDS, saved(frame, tmp_path), {"type": "Word"}, {"word": "conc"})
    with pytest.raises(REFUSALS, match="has no column Form; .*It has: Word, conc"):
        attach(WORDS, saved(frame, tmp_path), {"type": "Form"}, {"concreteness": "conc"})


@pytest.mark.merge
def test_predictors_are_words_columns_of_a_study(tmp_path):
    """The entry is checked, planned as an input of the words, and usable in a formula."""
    (tmp_path / "norms.csv").write_text("Word,Conc\nthe,1.4\n")
    table = {"local": str(tmp_path / "norms.csv")}
    entry = {
        "norms": {"table": table, "keys": {"type": "Word"}, "columns": {"concreteness": "Conc"}}
    }
    config = load()
    for dataset in config["datasets"].values():
        if "dataset" not in dataset["words"]:
            dataset["predictors"] = entry
    config["designs"]["spr"]["formula"] += " + concreteness"
    checks.check(config, SCHEMA)
    study = Study(copy.deepcopy(config), ROOT)
    assert study.files.predictors("ucl_spr") == {"norms": table["local"]}
    assert study.files.predictor_settings("ucl_spr") == [
        {"keys": {"type": "Word"}, "columns": {"concreteness": "Conc"}}
    ]
    entry["norms"]["keys"] = {"typ": "Word"}
    with pytest.raises(Exception, match="predictors → norms → keys: 'typ'"):
        checks.check(config, SCHEMA)
    entry["norms"] |= {"keys": {"type": "Word"}, "columns": {"surprisal": "Conc"}}
    with pytest.raises(Exception, match="predictors → surprisal: the workflow reserves this name"):
        checks.check(config, SCHEMA)
