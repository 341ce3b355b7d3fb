"""Formulas that are nested without end are refused in one line."""

import numpy as np
import pandas as pd
import pytest

from crosslmm import lmer
from crosslmm.errors import InputError
from crosslmm.formula import parse

RNG = np.random.default_rng(1)
DATA = pd.DataFrame({"y": RNG.normal(size=60), "x": RNG.normal(size=60), "g": [*"abcdef"] * 10})
DEEP = {
    "brackets": "(" * 5000 + "x" + ")" * 5000,
    "brackets in I()": "I(" + "(" * 30 + "x" + ")" * 30 + ")",  # R takes twice as long with each
    "functions": "log(" * 5000 + "x" + ")" * 5000,
    **{f"a sum of {n} parts": f"I(x{'+2' * n})" for n in (101, 450, 600, 5000)},
    "powers": "I(x" + "^2" * 3000 + ")",
}


@pytest.mark.merge
@pytest.mark.parametrize("term", DEEP.values(), ids=DEEP)
def test_a_deep_formula_is_refused(term):
    with pytest.raises(InputError) as raised:
        lmer(f"y ~ {term} + (1 | g)", DATA)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 200


def test_a_long_response_is_refused_and_a_long_sum_of_terms_is_none():
    with pytest.raises(InputError, match="more than 100 operations"):
        parse("y" + "+1" * 5000 + " ~ x")
    assert parse("y ~ x" + " + x" * 5000).fixed == ("(Intercept)", "x")
    assert parse(f"y ~ I(x{'+2' * 100})").predictors
