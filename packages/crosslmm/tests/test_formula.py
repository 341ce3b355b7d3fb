"""Formulas: read as R reads them, their columns those of R's model.matrix."""

import numpy as np
import pandas as pd
import pytest

from crosslmm import design, lme4
from crosslmm.errors import InputError
from crosslmm.expressions import Uncovered, read, variables, written
from crosslmm.formula import parse, without


def test_formula_is_read_and_written():
    text = "time_ms ~ length * surprisal - 1 + (0 + length || subject)+(1|sentence:subject)"
    formula = parse(text)
    assert str(formula) == (
        "time_ms ~ 0 + length + surprisal + length:surprisal + (0 + length || subject) "
        "+ (1 | sentence:subject)"
    )
    assert parse(str(formula)) == formula
    assert formula.predictors == ["length", "surprisal"]
    assert formula.groups == ["subject", "sentence"]


def test_a_formula_keeps_its_response():
    formula = parse("amplitude_uv ~ length + surprisal + (1 + surprisal | subject)")
    base = without(formula, ["surprisal"], slopes=True)
    assert str(base) == "amplitude_uv ~ 1 + length + (1 | subject)"
    assert parse(str(base)) == base != parse("time_ms ~ 1 + length + (1 | subject)")


def test_base_drops_fixed_effects_alone_or_slopes_too():
    formula = parse(
        "time_ms ~ length + surprisal + length:surprisal + (1 + surprisal | subject)"
        " + (0 + surprisal | sentence)"
    )
    assert str(without(formula, ["surprisal"], slopes=False)) == (
        "time_ms ~ 1 + length + (1 + surprisal | subject) + (0 + surprisal | sentence)"
    )
    assert str(without(formula, ["surprisal"], slopes=True)) == (
        "time_ms ~ 1 + length + (1 | subject)"
    )
    with pytest.raises(InputError, match="of_interest names 'surprise'"):
        without(formula, ["surprise"], slopes=False)


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "y": random.normal(size=60),
            "x": random.gamma(3, size=60),
            "z.1": random.normal(size=60),
            "reading time": random.normal(size=60),
            "cond": random.choice(["b", "a", "C c"], 60),
            "ranked": pd.Categorical(random.choice(list("lmh"), 60), ["l", "m", "h"]),
            "flag": random.random(60) < 0.4,
            "count": random.integers(0, 3, 60),
            "g": random.integers(0, 5, 60),
        }
    )


SIDES = [
    "x",
    "0 + cond",
    "x - 1 + cond:x",
    "cond * x",
    "x * cond * flag",
    "(x + cond + flag)^2 - cond:flag",
    "cond:x + cond",
    "cond:ranked",
    "cond / x",
    "x / cond",
    "cond %s ranked",
    "0 + cond:ranked + flag",
    "ranked:x + x + 1",
    "x:cond + flag",
    "flag:cond + cond",
    "log(x) + I(x^2) + I(x * z.1) + sqrt(x) + log1p(x):flag",
    "I((x + 1) / 2) + exp(-x)",
    "scale(x) * cond",
    "factor(count) + x",
    "`reading time` * cond",
    "x + z.1 + x:z.1 - x",
    "-1 + flag + cond",
]


@pytest.mark.parametrize("side", [side % "*" if "%s" in side else side for side in SIDES])
def test_columns_are_those_of_model_matrix(data, side):
    text = f"y ~ {side} + (1 | g)"
    rows, _ = design.rows_of(data, variables(text), text)
    made = design.make(parse(text), rows)
    ours = design.values_of(made, rows)
    columns = {
        name: design.numbers(rows[name]) if design.is_number(rows[name]) else
        rows[name].to_numpy() if rows[name].dtype == bool else design.categorical(rows[name])
        for name in rows
    }  # fmt: skip
    frame = lme4.data_frame(columns)
    from rpy2 import robjects

    theirs = robjects.r("function(f, d) model.matrix(as.formula(f), d)")(f"y ~ {side}", frame)
    assert list(made.formula.fixed) == list(theirs.colnames)
    matrix = np.array(theirs)
    for place, name in enumerate(made.formula.fixed):
        assert ours[name] == pytest.approx(matrix[:, place], rel=1e-12, abs=1e-12), name


def test_uncorrelated_terms_stand_alone_as_lme4_has_them(data):
    made = design.make(parse("y ~ 1 + (x + cond || g)"), data)
    assert [term.columns for term in made.formula.random] == [
        ("(Intercept)",), ("x",), ("condC c", "conda", "condb")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text,group",
    [("y ~ x + (1 | a/b)", ["a", "b:a"]), ("y ~ (1 + x | a:b) + (1 | a)", ["a:b", "a"])],
)
def test_nested_groups_are_named_as_by_lme4(text, group):
    assert [term.group for term in parse(text).random] == group


@pytest.mark.parametrize(
    "text,message",
    [
        ("y ~ x + (1 | g", "is missing before the end"),
        ("y ~ x +", "a term is missing before the end"),
        ("y + x", "'~' is missing"),
        ("y ~ x # z", "'# z' cannot be read"),
        ("y ~ x * (1 | g)", "a random term can only be added"),
        ("y ~ x * 0 + (1 | g)", "0, 1 and random terms are in no product"),
        ("y ~ 2 + (1 | g)", "2 is no term"),
        ("y ~ x^0 + (1 | g)", "the power '0'"),
    ],
)
def test_formulas_that_are_none(text, message):
    with pytest.raises(InputError, match=message) as raised:
        parse(text)
    assert not isinstance(raised.value, Uncovered)


@pytest.mark.parametrize(
    "text",
    ["y ~ poly(x, 2, raw = TRUE) + (1 | g)", "y ~ log(x, 2) + (1 | g)", "y ~ x %in% z + (1 | g)",
     "y ~ x + (1 | a * b)", "cbind(y, z) ~ x + (1 | g)"],
)  # fmt: skip
def test_what_only_r_reads_is_told_apart(text):
    with pytest.raises(Uncovered):
        parse(text)


def test_variables_are_columns_alone():
    text = "log(rt) ~ splines::ns(x, df = k) + `a b` * TRUE + (1 | g:h) + I(z^2L)"
    assert variables(text) == ["rt", "x", "k", "a b", "g", "h", "z"]


def test_expressions_are_written_as_by_deparse():
    lme4._r()
    from rpy2 import robjects

    deparse = robjects.r("function(text) deparse(parse(text = text)[[1]])")
    for text in ("log( x+1 )", "I(a*b/2)", "I(-x ^ 2)", "sqrt((a-b)/ 1.50)", "I(2^-1)", "`a b`+1"):
        assert written(read(text)) == deparse(text)[0]


def test_columns_that_cannot_be_used(data):
    for text, message in [
        ("y ~ xx + (1 | g)", "the data have no column 'xx'; did you mean 'x'"),
        ("cond ~ x + (1 | g)", "column 'cond' has .* values, not numbers"),
        ("y ~ log(z.1) + (1 | g)", r"log\(z.1\) is nan in row"),
        ("y ~ log(cond) + (1 | g)", "values, not numbers"),
    ]:
        with pytest.raises(InputError, match=message):
            rows, _ = design.rows_of(data, variables(text), text)
            made = design.make(parse(text), rows)
            design.response_of(made.formula, rows)
            design.values_of(made, rows)
    with pytest.raises(InputError, match="has one level, 'a'"):
        design.make(parse("y ~ cond + (1 | g)"), data.assign(cond="a"))
    with pytest.raises(InputError, match="has times"):
        design.make(parse("y ~ x + (1 | g)"), data.assign(x=pd.Timestamp(0)))


def test_a_new_level_of_a_fixed_effect_is_named(data):
    made = design.make(parse("y ~ cond + (1 | g)"), data)
    with pytest.raises(InputError, match="has the level 'q'; known: C c, a, b; the fit has"):
        design.values_of(made, data.assign(cond="q"))
