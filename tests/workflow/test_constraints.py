"""Constraints of wildcards admit the names that they are of, and no other."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recency.workflow.plan.batches import any_of

SIGNS = "ab1-.]^"
NAMES = st.sets(st.text(SIGNS, min_size=1, max_size=4), min_size=1, max_size=12)


@given(NAMES, st.lists(st.text(SIGNS, max_size=5), max_size=30))
def test_these_names_and_no_other(names, others):
    """Also with text before and behind, as in a path."""
    constraint = re.compile(f"lms/(?P<lm>{any_of(names)})\\.json$")
    for text in {*names, *others}:
        match = constraint.match(f"lms/{text}.json")
        assert bool(match) == (text in names)
        assert match is None or match["lm"] == text


def test_of_no_names_the_name_none():
    assert re.fullmatch(any_of([]), "none")


@pytest.mark.parametrize("lms", [1, 5])
def test_many_names_are_a_short_pattern(lms):
    """Of two thousand seeds of an LM, Python's regular expressions would read 40,000 signs a path."""
    names = [f"LM-{'abcde'[i]}-TI-seed-{n}" for i in range(lms) for n in range(1, 2001)]
    assert len(any_of(names)) < 200 * lms
