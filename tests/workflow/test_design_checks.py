"""Formulas are read, and every name in them looked up, before anything is made."""

import pytest
import yaml

from project import SCHEMA, load, merged
from recency.errors import InputError
from recency.workflow.config import checks, dataset_checks

START = "time_ms ~ length + surprisal + previous_surprisal"
REST = "(1 | subject) + (1 | sentence)"


def said(overlay, *configs):
    """Return what is wrong with the config with this laid over it, a line each."""
    try:
        checks.check(merged(load(*configs), yaml.safe_load(overlay)), SCHEMA)
    except InputError as error:
        return [line.strip() for line in str(error).splitlines()[1:]]
    return []


def formula(terms, design="spr"):
    return yaml.safe_dump({"designs": {design: {"formula": f"{START} + {terms}"}}})


MISTAKES = {
    formula("previous2_lenght + (1 | subject)"): (
        "designs → spr → formula: no predictor is called 'previous2_lenght'; did you mean "
        "'previous2_length'?"
    ),
    formula("log(unigramm) + (1 | subject)"): "no predictor is called 'unigramm'; did you mean 'unigram'?",
    formula("(1 | subjct)"): "no grouping variable is called 'subjct'; did you mean 'subject'?",
    formula("(cloze | subject)"): "no predictor is called 'cloze'; there are columns of the dataset",
    formula("ns(length) + (1 | subject)"): "designs → spr → formula: ns() cannot be read",
    formula("(1 | subject"): "designs → spr → formula:",
    formula("surprisal[Pithia] + (1 | subject)"): (
        "designs → spr → formula: no lm is called 'Pithia'; did you mean 'Pythia'?"
    ),
    formula("surprisl[Pythia] + (1 | subject)"): (
        "'surprisl[Pythia]': an LM gives no 'surprisl'; did you mean 'surprisal'?"
    ),
    formula("surprisal[Pythia] + (1 | subject)"): (
        "'Pythia' is a predictor next to each LM, and is itself an LM of clark2025, controls, curves and"
    ),
    formula("next_entropy + (1 | subject)"): "have no entropy; write",
    formula("surprisal_context_2 + (1 | subject)"): "write `context: [2]` in the LM's entry or",
    formula("log(time_ms) + (1 | subject)"): (
        "designs → spr → formula: the response, time_ms, is among its predictors; take it out"
    ),
    formula("(time_ms | subject)"): "the response, time_ms, is among its predictors; take it out",
    formula("previous_time_ms + (1 | subject)"): "the response, time_ms, is among its predictors",
    formula("(1 + sentence | subject)"): (
        "'sentence' is a grouping factor and cannot be a slope by subject; write (1 | sentence)"
    ),
    formula("(subject | sentence)"): "cannot be a slope by sentence; write (1 | subject)",
    formula("(1 + word | word) + (1 | subject)"): "cannot be a slope by word; write (1 | word)",
    formula("subject + (1 | sentence)"): (
        "'subject' is a grouping factor; write (1 | subject), or factor(subject) for a fixed effect"
    ),
    "lms: {dVM-I: {label: none}, dVM-TI: {label: none}}": (
        "experiments → exp2 (and 10 more) → lms: 'dVM-I' and 'dVM-TI' have one label, 'none'; "
        "change lms → dVM-TI → label, to 'dVM-TI', say"
    ),
    "lms: {dVM-I: {label: Pythia}}": "'Pythia' and 'dVM-I' have one label, 'Pythia'",
    "designs: {spr: {of_interest: [surprisl]}}": (
        "designs → spr → of_interest: no fixed effect of the formula is called 'surprisl'; did you "
        "mean 'surprisal'?"
    ),
    "designs: {spr: {spillover: sentense}}": "'sentense' is not one of ['item', 'sentence', 'fixation']",
    "designs: {spr: {formula: 'time_ms ~ length + surprisl + (1 | subject)'}}": (
        "designs → spr → formula: no predictor is called 'surprisl'; did you mean 'surprisal'?"
    ),
    "experiments: {exp2: {compare: [[Pythia, Pythia]]}}": (
        "experiments → exp2 → compare: 'Pythia' is compared with itself; name two LMs"
    ),
    "experiments: {exp2: {nested: [[dVM-I, dVM-I]]}}": (
        "experiments → exp2 → nested: 'dVM-I' is compared with itself; name two LMs"
    ),
    "experiments: {exp1: {nested: [[Pythia, dVM-TI]]}}": (
        "experiments → exp1 → nested: 'dVM-TI' is not among the experiment's `lms`"
    ),
    "experiments: {exp1: {nested: [[Pythia, dVM-J]]}}": "no lm is called 'dVM-J'; did you mean 'dVM-I'?",
}  # fmt: skip


@pytest.mark.merge
@pytest.mark.parametrize("overlay", MISTAKES)
def test_one_line_says_what_is_wrong(overlay):
    lines = said(overlay)
    found = [line for line in lines if MISTAKES[overlay] in line]
    assert len(found) == 1 and len(lines) == 1, lines
    assert len(lines[0]) < 300


@pytest.mark.merge
@pytest.mark.parametrize("configs", [(), ("config/open.yaml",), ("config/demo.yaml",)])
@pytest.mark.parametrize("name", ["comma", "coerce", "suffixes", "offset", "sentence_first", "pos"])
def test_a_word_of_a_parser_s_source_is_no_column(name, configs):
    """A column exists because it is declared: source code is not searched for words."""
    lines = said(formula(f"{name} + (1 | subject)"), *configs)
    assert f"designs → spr → formula: no predictor is called {name!r}" in "\n".join(lines)


@pytest.mark.merge
def test_columns_of_one_measure_role_or_table_are_of_these_alone():
    over = "designs: {of: {formula: '%s', of_interest: [surprisal], base: all, engine: ols, response: raw, surprisal: plain}}\n"
    over += (
        "experiments: {mine: {title: M, lms: [Pythia], baseline: Pythia, responses: {of: [%s]}}}"
    )

    def found(column, response):
        return said(over % (f"time_ms ~ length + surprisal + {column}", response))

    assert found("fixation", "provo.SP") == [] and found("page_first", "provo.FP") == []
    assert "'fixation'" in found("fixation", "provo.FP")[0]
    assert found("pos", "natural_stories_pos.SPR") == []
    assert "'pos'; did you mean 'position'" in found("pos", "natural_stories.SPR")[0]
    assert "correct is no column of the words" in found("previous_correct", "ucl_spr.SPR")[0]
    assert found("previous_frame", "maze.Maze") == [] and found("foil_surprisal", "maze.Maze") == []
    assert "a column `foil`" in found("foil_surprisal", "maze_spr.SPR")[0]
    assert "which requires eye movements" in found("previous_fixated", "brown.SPR")[0]
    assert found("previous_fixated", "zuco.TFT") == []


@pytest.mark.parametrize(
    "overlay",
    [
        formula("log(unigram) + poly(position, 2) + next_length + previous3_unigram + (1 | word)"),
        formula("I(length * unigram) + scale(length) + factor(position) + (surprisal | item)"),
        formula("previous2_surprisal + (surprisal || subject) + (1 | sentence) + (1 | word)"),
        "experiments: {exp2: {nested: [[Pythia, ALiBi-mix-TI]]}}",
        "designs: {spr: {of_interest: [previous_surprisal], spillover: sentence}}",
    ],
)
def test_what_goes(overlay):
    assert said(overlay) == []


def test_what_simulated_readers_do_not_have():
    text = "time_ms ~ length + position + unigram + log(previous_surprisal) + surprisal + (1 | subject)"
    lines = said(yaml.safe_dump({"designs": {"spr": {"formula": text}}}), "config/demo.yaml")
    assert any("recovery: the design spr has no previous_surprisal" in line for line in lines)


@pytest.mark.merge
def test_columns_of_an_own_table(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("item,sentence,position,word,subject,rt,cloze,condition,wordlen\n")
    own = {
        "label": "Mine",
        "parser": "table",
        "options": {"columns": {"SPR": "rt", "cloze": "cloze"}},
        "words": {"table": {"local": str(path)}},
        "responses": {"table": {"local": str(path)}},
        "measures": {"SPR": {"filters": []}},
    }
    experiment = {"title": "Mine", "lms": ["Pythia"], "baseline": "Pythia"}

    def found(terms, columns=None):
        options = {"columns": own["options"]["columns"] | (columns or {})}
        design = {"formula": f"{START} + {terms}"}
        over = {"datasets": {"mine": own | {"options": options}}, "designs": {"mine": design}}
        over["experiments"] = {"mine": experiment | {"responses": {"mine": ["mine.SPR"]}}}
        config = load()
        config["designs"]["mine"] = dict(config["designs"]["spr"])
        try:
            checks.check(merged(config, over), SCHEMA)
        except InputError as error:
            return [line.strip() for line in str(error).splitlines()[1:]]
        return []

    assert found("log(cloze) + previous_cloze + (cloze | subject)") == []
    assert found("clozee + (1 | subject)") == [
        "designs → mine → formula: no predictor is called 'clozee'; did you mean 'cloze'?"
    ]
    assert found("condition + (1 | subject)") == [
        "designs → mine → formula: no predictor is called 'condition'; the table has this column; "
        + "keep it: options → columns: {condition: condition}"
    ]
    assert found("condition + (1 | subject)", {"condition": "condition"}) == []
    both = {"words": {"cloze": "cloze"}, "responses": {"condition": "condition"}}
    assert found("condition + (1 | subject)", both) == []
    assert found("(1 | subject)", {"length": "wordlen"}) == [
        "datasets → mine → options → columns → length: the workflow reserves this name in formulas; call "
        + "it given_length"
    ]


def test_two_lms_need_observations_to_be_tested_on():
    lines = said(
        "experiments: {exp1: {nested: [[Pythia, dVM-I]]}}\ndatasets: {brown: {partitioned: false}}"
    )
    assert sum("exp1 → nested: brown is not partitioned" in line for line in lines) == 1


def test_measures_that_an_lm_gives():
    config = load()
    config["lms"]["Pythia"] |= {"measures": ["entropy"], "context": [2]}
    assert dataset_checks.not_given(config, "Pythia", ["previous_entropy_bits", "surprisal"]) == []
    asked = ["surprisal_context_2", "surprisal_context_3", "next_rank[Pythia]"]
    assert dataset_checks.not_given(config, "Pythia", asked) == ["surprisal_context_3", "rank"]
