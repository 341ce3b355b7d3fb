"""What a parser says of itself in literals, which the config is checked by, is what it gives."""

import pandas as pd
import pytest
from test_dataset_damage import ALL, NAMES, outcome

from recency import plugins
from recency.config import PARSERS, READERS, parsers
from recency.reading import filters, observations
from recency.reading import parsers as loaded
from recency.reading.formats import zuco_results
from recency.workflow import dataset_checks, option_checks

KINDS = {filters.NUMBER, filters.TEXT, filters.FLAG, filters.ANY}


@pytest.mark.parametrize("name", [name for name in parsers() if name != "table"])
def test_literals_are_read_without_importing(name):
    module = loaded.parser(name)
    for constant in ("MEASURES", "COLUMNS", "CHOICES", "AMPLITUDES"):
        assert plugins.literal(PARSERS, name, constant) == getattr(module, constant, None)
    assert set(module.COLUMNS.values()) <= KINDS and module.MEASURES
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
    assert option_checks.problems("x", {"documents": "line", "longest": 3}, taken) == []
    assert option_checks.problems("x", {"longest": True}, taken) == [
        "x → longest: True is not a whole number"
    ]


@pytest.mark.parametrize("sample", ALL, ids=NAMES)
def test_columns_are_those_that_the_parser_gives(sample):
    """Filters may use whatever there is, and each column is of the kind that is said."""
    words, responses, _ = outcome(sample)
    frame = observations.joined(words, responses)
    measure = {sample.measure: {"filters": []}}
    dataset = {"parser": sample.parser, "words": {}, "options": sample.options, "measures": measure}
    known = dataset_checks.columns_of({"datasets": {}}, dataset, sample.measure)
    for name, column in frame.items():
        assert name in known, (name, list(known))
        number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        kind = "flag" if pd.api.types.is_bool_dtype(column) else "number" if number else "text"
        assert known[name] in (kind, "any"), name
