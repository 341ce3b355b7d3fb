"""Formulas that are nested without end are refused in one line."""

import numpy as np
import pandas as pd
import pytest

from recency.errors import InputError
from recency.mixed import lmer

RNG = np.random.default_rng(1)
DATA = pd.DataFrame({"y": RNG.normal(size=60), "x": RNG.normal(size=60), "g": [*"abcdef"] * 10})
DEEP = {
    "brackets": "(" * 5000 + "x" + ")" * 5000,
    "brackets in I()": "I(" + "(" * 30 + "x" + ")" * 30 + ")",  # R takes twice as long with each
    "functions": "log(" * 5000 + "x" + ")" * 5000,
    **{f"a sum of {n} parts": f"I(x{'+2' * n})" for n in (450, 500, 600, 5000)},
    "powers": "I(x" + "^2" * 3000 + ")",
}


@pytest.mark.merge
@pytest.mark.parametrize("term", DEEP.values(), ids=DEEP)
def test_a_deep_formula_is_refused(term):
    try:
        lmer(f"y ~ {term} + (1 | g)", DATA)
    except InputError as error:
        assert "\n" not in str(error) and len(str(error)) < 200
    else:  # how deep Python may go depends on what else has run
        assert term.count("+") < 5000
