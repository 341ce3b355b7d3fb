"""What a parser says of itself in literals, which the config is checked by, is what it gives."""

import pandas as pd
import pytest
from test_dataset_damage import ALL, NAMES, outcome

from project import ROOT
from readingtimes import filters
from readingtimes import parsers as loaded
from readingtimes.formats import zuco_results
from recency import plugins
from recency.config import PARSERS, READERS, parsers
from recency.reading import declared_columns, observations
from recency.workflow.config import schema_checks

KINDS = {filters.NUMBER, filters.TEXT, filters.FLAG, filters.ANY}


@pytest.mark.parametrize("name", [name for name in parsers() if name != "table"])
def test_literals_are_read_without_importing(name):
    module = loaded.parser(name)
    for constant in ("MEASURES", "COLUMNS", "CHOICES", "AMPLITUDES"):
        assert plugins.literal(PARSERS, name, constant) == getattr(module, constant, None)
    for kind, description, *condition in (c for p in module.COLUMNS.values() for c in p.values()):
        assert kind in KINDS and description and len(condition) <= 1
    assert set(module.COLUMNS) <= {"words", "responses"} and module.MEASURES
    assert set(getattr(module, "AMPLITUDES", ())) <= set(module.MEASURES)
    taken = plugins.keywords(PARSERS, name, "words") | plugins.keywords(PARSERS, name, "responses")
    assert set(getattr(module, "CHOICES", {})) <= set(taken)
    for table in ("_COLUMNS", "_REPORT"):
        if table in vars(module) and name != "provo":
            assert set(vars(module)[table]) == set(module.MEASURES)


def test_the_measures_of_zuco_are_those_of_its_results():
    assert set(loaded.parser("zuco").MEASURES) == set(zuco_results.COLUMNS)
    assert set(loaded.parser("zuco").CHOICES["tasks"]) == set(zuco_results.TASKS)


def test_what_is_not_there_is_none():
    assert plugins.literal(PARSERS, "no_such", "COLUMNS") is None
    assert plugins.literal(PARSERS, "ucl_spr", "CHOICES") is None
    assert plugins.literal(PARSERS, "provo", "_OF_FIXATIONS") is None  # computed
    assert plugins.keywords(PARSERS, "ucl_spr", "no_such") == {}


def test_options_of_readers_are_known_with_their_types():
    taken = plugins.keywords(READERS, "plain", "read")
    assert taken == {"documents": "str", "longest": "int"}
    assert list(schema_checks.faults({"documents": "line", "longest": 3}, taken)) == []
    assert list(schema_checks.faults({"longest": True}, taken)) == [
        (("longest",), "True is not a whole number")
    ]


@pytest.mark.merge
@pytest.mark.parametrize("sample", ALL, ids=NAMES)
def test_columns_are_those_that_the_parser_gives(sample):
    """A dataset has the columns that its parser declares of each table, of the kind declared."""
    words, responses, _ = outcome(sample)
    dataset = {
        "parser": sample.parser,
        "words": {role: {} for role in sample.words},
        "responses": {role: {} for role in sample.responses},
        "options": sample.options,
        "measures": {sample.measure: {"filters": []}},
    }
    of_words = declared_columns.of_words({"datasets": {}}, dataset)
    of_responses = declared_columns.of_responses({"datasets": {}}, dataset, sample.measure)
    of_filters = declared_columns.of_filters({"datasets": {}}, dataset, sample.measure)
    frame = observations.joined(words, responses)
    for table, known in (
        (words, of_words),
        (responses, of_responses | {"word_id": filters.NUMBER}),
        (frame, of_filters),
    ):
        for name, column in table.items():
            assert name in known, (name, list(known))
            number = pd.api.types.is_numeric_dtype(column)
            flag = pd.api.types.is_bool_dtype(column)
            kind = "flag" if flag else "number" if number else "text"
            assert known[name] in (kind, "any"), name


def test_each_parser_has_a_sample():
    binary = {"frank2015"}  # its damage: test_dataset_areas.py
    assert {sample.parser for sample in ALL} == set(parsers()) - binary


def test_the_columns_that_the_documentation_lists_are_declared():
    page = (ROOT / "docs" / "corpora.md").read_text(encoding="utf-8")
    table = page.partition("| corpus | column | meaning |\n|---|---|---|\n")[2].partition("\n\n")[0]
    listed = {name for row in table.splitlines() for name in row.split("|")[2].split("`")[1::2]}
    declared = {
        name
        for parser in parsers()
        for part in ("words", "responses")
        for name in declared_columns.declared(parser, part)
    }
    assert len(listed) > 15 and listed <= declared
