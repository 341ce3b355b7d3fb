"""Three hundred generated formulas: fixed columns and random terms are those of R and lme4."""

import numpy as np
import pandas as pd
import pytest

from crosslmm import design, lme4
from crosslmm.design import CODINGS
from crosslmm.expressions import variables
from crosslmm.factors import joined
from crosslmm.formula import parse
from crosslmm.model_request import frame_in_r

FORMULAS = 300
ATOMS = (
    *("x", "z", "cond", "flag", "ranked", "x", "cond", "`reading time`", "log(x)", "I(x^2)"),
    *("scale(z)", "factor(count)", "sqrt(x)", "exp(-x)", "I((x + z) / 2)", "poly(x, 2)", "abs(z)"),
)
SLOPES = ("x", "z", "cond", "flag", "x + z", "x * z", "cond:x", "log(x)", "ranked")
GROUPS = ("g", "h", "g:h", "g/h", "h")


def data():
    random = np.random.default_rng(0)
    n = 240
    return pd.DataFrame(
        {
            "y": random.normal(size=n),
            "x": random.gamma(3, size=n),
            "z": random.normal(size=n),
            "reading time": random.normal(size=n),
            "cond": random.choice(["b", "a", "C c"], n),
            "ranked": pd.Categorical(random.choice(list("lmh"), n), ["l", "m", "h"]),
            "flag": random.random(n) < 0.4,
            "count": random.integers(0, 3, n),
            "g": random.integers(0, 5, n).astype(str),
            "h": random.choice(list("uvwx"), n),
        }
    )


def side(random, depth=0):
    """Draw terms combined by R's operators."""
    if depth == 2 or random.random() < 0.35:
        return str(random.choice(ATOMS))
    left, right = side(random, depth + 1), side(random, depth + 1)
    operator = random.choice(
        ["+", "+", "*", ":", "/", "-", "^"], p=[0.3, 0.2, 0.2, 0.12, 0.08, 0.05, 0.05]
    )
    if operator == "^":
        return f"({left} + {right})^2"
    if operator == "-":
        return f"{left} * {right} - {right}"
    wrapped = [f"({part})" if " " in part else part for part in (left, right)]
    return f" {operator} ".join((left, right) if operator == "+" else wrapped)


def generated(number):
    """Draw a formula and the contrasts of its categorical columns."""
    random = np.random.default_rng(number)
    intercept = random.choice(["", "", "", "0 + ", "-1 + "])
    terms = []
    for group in random.permutation(GROUPS)[: random.integers(1, 3)]:
        start = random.choice(["1 + ", "", "0 + "])
        bar = random.choice(["|", "|", "||"])
        slopes = random.choice([*SLOPES, "1"])
        terms.append(f"(1 | {group})" if slopes == "1" else f"({start}{slopes} {bar} {group})")
    contrasts = {}
    for column in ("cond", "ranked", "flag"):
        if random.random() < 0.25:
            contrasts[column] = str(random.choice(list(CODINGS)))
    return f"y ~ {intercept}{side(random)} + {' + '.join(terms)}", contrasts


@pytest.fixture(scope="module")
def in_r():
    """Return R's own reading of a formula: the fixed columns, and columns and groups by random term."""
    lme4._r()
    from rpy2 import robjects

    return robjects.r(
        """function(text, data) {
          formula <- as.formula(text)
          X <- model.matrix(nobars(formula), data)
          control <- lmerControl(check.nobs.vs.rankZ = "ignore", check.nobs.vs.nlev = "ignore",
            check.nobs.vs.nRE = "ignore", check.rankX = "ignore", check.scaleX = "ignore")
          terms <- suppressWarnings(lFormula(formula, data, control = control))$reTrms
          list(X, colnames(X), names(terms$cnms), terms$cnms,
               lapply(terms$Ztlist, function(Z) rowSums(as.matrix(Z)^2)))
        }"""
    )


def compared(number, rows, in_r):
    """Compare one formula."""
    text, contrasts = generated(number)
    used = [name for name in variables(text)]
    contrasts = {name: kind for name, kind in contrasts.items() if name in used}
    made = design.make(parse(text), rows, contrasts)
    ours = design.values_of(made, rows)
    X, names, groups, columns, squares = in_r(text, frame_in_r(rows, contrasts))
    assert list(made.formula.fixed) == list(names), text
    X = np.array(X)
    for place, name in enumerate(made.formula.fixed):
        assert ours[name] == pytest.approx(X[:, place], rel=1e-10, abs=1e-10), (text, name)
    of_groups = design.groups_of(made.formula, rows)
    expected = {}
    for group, term, sums in zip(groups, columns, squares, strict=True):
        # The sums of squares of Z's columns: by level, and within it by column.
        sums = np.sort(np.array(sums).reshape(-1, len(term)).sum(0))
        expected.setdefault(group, []).append((tuple(sorted(term)), sums))
    found = {}
    for term in made.formula.random:
        sums = np.sort([float((ours[c] ** 2).sum()) for c in term.columns])
        found.setdefault(term.group, []).append((tuple(sorted(term.columns)), sums))
        assert len(joined(term.group, of_groups).codes) == len(rows)
    assert set(found) == set(expected), text
    for group, terms in expected.items():
        for (one, sums), (other, others) in zip(
            sorted(terms, key=str), sorted(found[group], key=str), strict=True
        ):
            assert one == other, text
            assert sums == pytest.approx(others, rel=1e-10), text
    return len(contrasts)


@pytest.mark.parametrize("formulas", [20, pytest.param(FORMULAS, marks=pytest.mark.merge)])
def test_generated_formulas_are_read_as_by_r(in_r, formulas):
    rows = data()
    coded = sum(compared(number, rows, in_r) > 0 for number in range(formulas))
    assert coded > formulas / 6
    assert len({generated(number)[0] for number in range(formulas)}) == formulas
