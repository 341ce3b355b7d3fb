"""Formulas run no code, and columns of objects have the type of their values, whoever fits."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from crosslmm import lmer
from crosslmm.errors import InputError
from crosslmm.factors import Levels

ENGINES = ("auto", "lme4", "search")


@pytest.fixture
def data() -> pd.DataFrame:
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"g": np.repeat(list("abcdefgh"), 10), "x": random.normal(size=80)})
    frame["y"] = frame.x + random.normal(size=80) + np.repeat(random.normal(size=8), 10)
    return frame.assign(z=(frame.y > 0).astype(int))


CALLS = {
    "term": 'x + length(system("touch {}"))',
    "nested": 'I(x + suppressWarnings(system("touch {}", intern = TRUE)))',
    "namespace": 'x + base::file.create("{}")',
    "string as function": 'x + "file.create"("{}")',
    "backticks": 'x + `file.create`("{}")',
    "parenthesis": 'x + ifelse(x > 0, (function() file.create("{}"))(), 1)',
    "raw string": 'x + cut(x, c(r"(")", file.create("{}"), ")"))',
    "assignment": 'x + I(y <- file.create("{}"))',
    "group": '(1 | file.create("{}"))',
}


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_is_not_allowed_never_runs(data, tmp_path, call, family):
    path = tmp_path / "run"
    text = f"{'y' if family == 'gaussian' else 'z'} ~ {CALLS[call].format(path)} + (1 | g)"
    for engine in ENGINES if family == "gaussian" else ("auto",):
        with pytest.raises(InputError) as error:
            lmer(text, data.assign(r=1), engine=engine, family=family)
        assert "\n" not in str(error.value)
    assert not path.exists()


def test_the_error_names_the_call(data):
    with pytest.raises(
        InputError, match=r"it calls Sys\.time\(\), which a formula may not; it may"
    ):
        lmer("y ~ x + Sys.time() + (1 | g)", data)


@pytest.mark.parametrize(
    "term", ["ns(x, 2)", "splines::bs(x, df = 4)", "poly(x, 2, raw = TRUE)", "cut(x, 3)"]
)
def test_documented_functions_reach_r(data, term):
    assert lmer(f"y ~ {term} + offset(2 * x) + (1 | g)", data).engine == "lme4"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [float, Decimal])
def test_objects_that_are_numbers_are_numbers(data, engine, kind):
    objects = data.assign(x=[kind(value) for value in data.x]).astype({"x": object})
    fit, asked = (lmer("y ~ x + (1 | g)", each, engine=engine) for each in (objects, data))
    pd.testing.assert_frame_equal(fit.fixed, asked.fixed)
    assert fit.note == asked.note
    predicted = fit.predict(objects[:5])
    np.testing.assert_allclose(predicted, fit.fitted[:5])


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_that_are_levels_are_noted(data, engine):
    text = data.assign(x=np.where(data.x > 0, "1", "2"))
    assert "column 'x' holds text that reads as numbers: treated as levels" in (
        lmer("y ~ x + (1 | g)", text, engine=engine).note
    )
    commas = data.assign(x=np.where(data.x > 0, "1,5", "2"))
    assert "column 'x' holds numbers with decimal commas: treated as levels" in (
        lmer("y ~ x + (1 | g)", commas, engine=engine).note
    )
    one = text.assign(x=["n/a" if n == 1 else each for n, each in enumerate(text.x)])
    assert (
        "numbers but for 1 rows, such as 'n/a'" in lmer("y ~ x + (1 | g)", one, engine=engine).note
    )
    mixed = data.assign(x=[1 if value > 0 else "two" for value in data.x])
    assert "column 'x' holds values of several types: treated as levels" in (
        lmer("y ~ x + (1 | g)", mixed, engine=engine).note
    )
    assert "levels" not in lmer("y ~ x + (1 | g)", data, engine=engine).note


@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_one_and_its_text_are_one_level(data, engine, categories):
    groups = data.g.replace({"a": "1", "b": "2"})
    mixed = [int(g) if g == "1" and row % 2 else g for row, g in enumerate(groups)]
    mixed = pd.Categorical(mixed) if categories else mixed
    fit, asked = (
        lmer("y ~ x + (1 | g)", data.assign(g=values), engine=engine) for values in (mixed, groups)
    )
    assert fit.loglik == pytest.approx(asked.loglik, abs=1e-6)
    assert sorted(fit.modes["g"].index) == sorted(asked.modes["g"].index)
    event = "z ~ x + (1 | g)"
    fit, asked = (
        lmer(event, data.assign(g=values), family="binomial") for values in (mixed, groups)
    )
    assert fit.loglik == pytest.approx(asked.loglik, abs=1e-6)


def test_levels_that_are_written_alike_have_one_code():
    from crosslmm.design import categorical

    found = categorical(pd.Series([1, "b", "1", 1.0], dtype=object))
    assert isinstance(found, Levels)
    assert [found.names[code] for code in found.codes] == ["1", "b", "1", "1"]
    assert len(found.names) == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_a_dot_for_all_other_columns_is_refused(data, engine):
    with pytest.raises(InputError, match=r"'\.' is all other columns in R"):
        lmer("y ~ . + (1 | g)", data, engine=engine)
