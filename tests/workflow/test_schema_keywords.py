"""The schema's own keywords: each is known, names what there is, and words errors as it says."""

import dataclasses

import pytest
import yaml

from project import SCHEMA
from recency import plugins
from recency.evaluations import registry
from recency.simulation.readers import SKIPPING, TERMS, Readers
from recency.workflow.config import schema_checks

CORE = registry.complete_schema(yaml.safe_load(SCHEMA.read_text()))


def parts(schema):
    """Yield every mapping of a schema."""
    if isinstance(schema, dict):
        yield schema
    for child in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(child, dict | list):
            yield from parts(child)


def test_keywords_name_what_there_is():
    known = {
        "x-message",
        "x-at",
        "x-below",
        "x-at-most",
        schema_checks.PROVIDED,
        *schema_checks.LOOKED_UP,
    }
    for part in parts(CORE):
        assert {key for key in part if key.startswith("x-")} <= known
        assert part.get("x-table", "lms") in CORE["properties"]
        assert part.get("x-module", "biases") in plugins.KINDS
        assert part.get("x-check", "file") in schema_checks.CHECKS
    of_parts = list(parts(CORE))
    used = {part["x-check"] for part in of_parts if "x-check" in part}
    assert used == set(schema_checks.CHECKS)


@pytest.mark.parametrize("name", ["architecture", "recipe", "lm", "tokenizer", "corpus", "dataset"])
def test_rules_are_of_keys_that_an_entry_has(name):
    """A misspelled key of a rule would never be met."""
    entry = CORE["$defs"][name]
    named = {*entry.get("dependentSchemas", {}), *entry.get("x-at-most", {})}
    rules = [entry.get(key, {}) for key in ("allOf", "if", "then", "else", "dependentSchemas")]
    for part in parts(rules):
        named |= {key for key, value in part.get("properties", {}).items() if value is False}
        named |= {part["x-at"]} if isinstance(part.get("x-at"), str) else set()
    assert named - {"surprisals", "simulated"} <= entry["properties"].keys()


def test_readers_have_the_fields_of_the_simulation():
    readers = CORE["$defs"]["dataset"]["properties"]["simulate"]["properties"]["readers"]
    fields = dataclasses.fields(Readers)
    assert list(readers["properties"]) != [] and set(readers["properties"]) == {
        field.name for field in fields
    }
    missing = dataclasses.MISSING
    assert set(readers["required"]) == {f.name for f in fields if f.default is missing}
    for key, terms in (("coefficients", TERMS), ("subject_sd", TERMS), ("skipping", SKIPPING)):
        assert set(readers["properties"][key]["properties"]) == set(terms)


FAMILY = {"if": {"properties": {"family": {"const": "a"}}}, "x-message": "{family} has none"}
EXAMPLES = [
    ({"properties": {"n": {"type": "string", "x-message": "{value}: text"}}}, {"n": 3}, "n: 3: text"),
    (FAMILY | {"then": {"properties": {"k": False}}}, {"family": "a", "k": 1}, "k: a has none"),
    (FAMILY | {"then": {"required": ["z"]}}, {"family": "a"}, "top level: a has none"),
    (FAMILY | {"then": {"required": ["z"]}, "x-at": "z"}, {"family": "a"}, "z: a has none"),
    (
        {"dependentSchemas": {"k": {"required": ["z"], "x-message": "it needs z"}}},
        {"k": 1},
        "k: it needs z",
    ),
    (
        {"dependentSchemas": {"k": {"required": ["z"], "x-at": None, "x-message": "k needs z"}}},
        {"k": 1},
        "top level: k needs z",
    ),
    ({"x-below": {"a": ["b", "{value} is not below {b}"]}}, {"a": [1, 5], "b": 5}, "a: 5 is not below 5"),
    ({"x-at-most": {"a": ["b", "{value} is above {b}"]}}, {"a": 6, "b": 5}, "a: 6 is above 5"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "config", "line"), EXAMPLES)
def test_a_message_says_what_is_wrong_and_where(schema, config, line):
    assert schema_checks.problems(config, schema) == [line]


def test_values_are_looked_up_once_all_types_are_right():
    schema = {"properties": {"n": {"type": "string"}, "k": {"x-table": "lms"}}}
    asked = []

    def look_up(keyword, table, value):
        asked.append((keyword, table, value))
        yield (), "no such LM"

    found = schema_checks.problems({"n": 3, "k": "a"}, schema, look_up=look_up)
    assert len(found) == 1 and asked == []
    found = schema_checks.problems({"n": "3", "k": "a"}, schema, look_up=look_up)
    assert found == ["k: no such LM"] and asked == [("x-table", "lms", "a")]
    assert schema_checks.problems({"n": "3", "k": "a"}, schema) == []
