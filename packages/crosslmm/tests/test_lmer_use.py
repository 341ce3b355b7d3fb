"""crosslmm.lmer as a user meets it: rows that lack values, errors, names, its summary, without R."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest

import crosslmm
from crosslmm import lmer
from crosslmm.errors import InputError
from test_lmer import at_theta, in_r, reading, sleep

SOURCE = Path(__file__).resolve().parents[1] / "src"


def test_missing_values_are_dropped_and_counted():
    data = reading().astype({"native": object})
    data.loc[[3, 8], "length"] = np.nan
    data.loc[[8, 11], "condition"] = None
    data["unused"] = np.nan
    formula = "reading.time ~ length + condition + (1 | reader)"
    for engine in ("search", "lme4"):
        fit = lmer(formula, data, engine=engine)
        assert fit.nobs == 897 and "3 of 900 rows lack a value and were dropped" in fit.note
        assert 8 not in fit.fitted.index and 9 in fit.fitted.index
    smaller = lmer(formula, data.drop(index=[3, 8, 11]), engine="search")
    assert smaller.loglik == pytest.approx(fit.loglik, abs=1e-4)
    with pytest.raises(InputError, match="2 of 900 rows lack a value, the first at 3"):
        fit.predict(data.drop(columns="condition").assign(condition="easy"))


@pytest.mark.parametrize(
    "formula,options,message",
    [
        ("reading.time ~ lenght + (1 | reader)", {}, "no column 'lenght'; did you mean 'length'"),
        ("reading.time ~ length + (1 | readers)", {}, "'readers'; did you mean 'reader'"),
        ("reading.time ~ length", {}, "has no random term"),
        ("reading.time ~ length + (1 | reader)", {"engine": "lmer"}, "did you mean 'lme4'"),
        ("condition ~ length + (1 | reader)", {}, "values, not numbers"),
        ("reading.time ~ unused + (1 | reader)", {}, "no row of the 900 has a value in each"),
    ],
)
def test_what_a_user_gets_wrong(formula, options, message):
    with pytest.raises(InputError, match=message):
        lmer(formula, reading().assign(unused=np.nan), **options)


UNFIT = {
    "constant": ("y ~ x + (1 | g)", {"y": 1.0}, "y has one value, 1, in all rows"),
    "exact": (
        "y ~ x + (1 | g)",
        {"y": np.arange(60.0), "x": np.arange(60.0)},
        "leave no residuals",
    ),
    "one level": ("y ~ x + (1 | g)", {"g": 1}, "> 1 sampled level|there must be two levels"),
    "a level for each row": ("y ~ x + (1 | g)", {"g": range(60)}, "must be <|fewer effects than"),
    "infinite": ("y ~ x + (1 | g)", {"x": np.inf}, "x is inf in row 0 .60 such rows"),
    "no left side": ("~ x + (1 | g)", {}, "no response on its left side"),
    "nothing varies": ("y ~ x + (0 | g)", {}, "a random term has nothing that varies"),
    "not text": (7, {}, "formula is 7 and must be text"),
}


@pytest.mark.parametrize("engine", ["auto", "search"])
@pytest.mark.parametrize("case", list(UNFIT))
def test_data_that_no_model_fits(case, engine):
    formula, columns, message = UNFIT[case]
    random = np.random.default_rng(0)
    data = pd.DataFrame({"y": random.normal(size=60), "x": random.normal(size=60)})
    data["g"] = np.arange(60) % 6
    with pytest.raises(InputError, match=message):
        lmer(formula, data.assign(**columns), engine=engine)


@pytest.mark.parametrize("of_groups", [False, True])
def test_exact_data_of_any_scale(of_groups):
    """What is left is rounding, which differs from one processor to the next: the reason must not."""
    random = np.random.default_rng(0)
    for scale in 10.0 ** np.arange(-6, 7):
        x, g = scale * random.normal(size=60), np.arange(60) % 6
        y = random.normal() + random.normal() * x + of_groups * scale * random.normal(size=6)[g]
        with pytest.raises(InputError, match="not fitted: the effects leave no residuals"):
            lmer("y ~ x + (1 | g)", pd.DataFrame({"y": y, "x": x, "g": g}), engine="search")


def test_odd_but_fitted():
    data = reading()
    deep = "reading.time ~ length + (1 | school/text/native)"
    for formula in ("reading.time ~ 0 + (1 | reader)", deep):
        fit = lmer(formula, data.to_dict("list"))
        assert fit.predict(data.to_dict("list")).to_numpy() == pytest.approx(fit.fitted.to_numpy())
        assert "Random effects:" in fit.summary()
    twice = lmer("reading.time ~ length + (1 | reader) + (1 + length | reader)", data)
    assert "occurs in two terms" in twice.note and twice.summary().count("(Intercept)") == 3
    odd = data.assign(condition=data["condition"].map({"easy": "12:30", "hard": "a:b", "odd": "c"}))
    formula = "reading.time ~ condition * length + (1 + condition | reader)"
    fits = [lmer(formula, odd, engine=engine) for engine in ("auto", "search")]
    assert list(fits[0].fixed.index) == list(fits[1].fixed.index)
    assert fits[0].engine == "search, confirmed by lme4", fits[0].note


def test_lme4s_refusal_is_the_error():
    data = reading().assign(one="level")
    with pytest.raises(InputError, match="lme4: .*must have > 1 sampled level"):
        lmer("reading.time ~ length + (1 | one)", data)


def test_categories_order_and_column_names_of_any_kind():
    data = reading().rename(columns={"length": "word length", "reader": "the reader"})
    data["condition"] = pd.Categorical(data["condition"], ["odd", "hard", "easy", "unused"])
    formula = "reading.time ~ `word length` * condition + (1 | `the reader`) + (1 | text)"
    for engine in ("auto", "search"):
        fit = lmer(formula, data, engine=engine)
        assert fit.engine.startswith("search"), fit.note
        assert list(fit.fixed.index) == [
            *("(Intercept)", "`word length`", "conditionhard", "conditioneasy"),
            *("`word length`:conditionhard", "`word length`:conditioneasy"),
        ]
        assert set(fit.modes) == {"the reader", "text"}
        assert fit.predict(data).to_numpy() == pytest.approx(fit.fitted.to_numpy())


def test_columns_far_from_zero_lose_no_digits():
    data = sleep(5)
    near = lmer("rt ~ day + (day | subject)", data, engine="search")
    far = lmer("rt ~ I(day + 100000) + (1 + I(day + 100000) | subject)", data, engine="search")
    assert far.loglik == pytest.approx(near.loglik, abs=1e-6)
    assert far.fixed["estimate"].iloc[1] == pytest.approx(near.fixed["estimate"].iloc[1])
    assert far.fixed["se"].iloc[1] == pytest.approx(near.fixed["se"].iloc[1], rel=1e-5)


def test_summary_reads_as_lme4s():
    text = lmer("rt ~ day + (day | subject)", sleep(), engine="search").summary()
    fit = lmer("rt ~ day + (day | subject)", sleep())
    theirs = at_theta(fit.formula, in_r(sleep()), fit.theta)
    from rpy2 import robjects

    shown = list(robjects.r("function(m) capture.output(print(summary(m)))")(theirs))
    ours = {tuple(line.split()) for line in text.splitlines()}
    for start in ("AIC", "subject", "day", "Residual", "Number"):
        line = next(line for line in shown if line.split()[:1] == [start])
        if start == "Number":
            assert tuple(line.replace(":  ", ": ").split()) in ours
        elif start == "AIC":
            values = shown[shown.index(line) + 1].split()
            found = next(each for each in ours if each[-1:] == (values[-1],))
            assert [float(v) for v in found] == pytest.approx([float(v) for v in values], abs=0.06)
        else:
            found = [each for each in ours if start in each[:1]]
            numbers = [float(v) for v in line.split() if v[-1].isdigit()]
            assert any(
                [float(v) for v in each if v[-1].isdigit()] == pytest.approx(numbers, rel=2e-3)
                for each in found
            ), line
    last = [
        [row.split() for row in rows if row.split()[:1] == ["day"]][-1]
        for rows in (shown, text.splitlines())
    ]
    assert shown[shown.index("Correlation of Fixed Effects:") + 2].split() == last[0]
    assert float(last[1][1]) == pytest.approx(float(last[0][1]), abs=2e-3)


WITHOUT_R = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "rpy2":
            raise ImportError("no rpy2 here")

sys.meta_path.insert(0, Refuse())
import numpy as np, pandas as pd
import crosslmm
from crosslmm.errors import InputError

random = np.random.default_rng(0)
data = pd.DataFrame({"g": np.repeat(list("abcdef"), 20), "x": random.normal(size=120)})
data["y"] = 2 * data["x"] + np.repeat(random.normal(0, 3, 6), 20) + random.normal(size=120)
fit = crosslmm.lmer("y ~ x + (1 | g)", data, engine="search")
print(repr(float(fit.loglik)), fit.predict(data).notna().all(), "Random effects" in fit.summary())
print(sorted(name for name in sys.modules if name.startswith("rpy2")))
auto = crosslmm.lmer("y ~ x + (1 | g)", data)
print(auto.engine, auto.loglik == fit.loglik, auto.note)
restricted = crosslmm.lmer("y ~ x + (1 | g)", data, reml=True, ddf="Kenward-Roger")
print(restricted.engine, restricted.fixed["p"].between(0, 1).all())
try:
    crosslmm.lmer("y ~ x + (1 | g)", data, engine="lme4")
except InputError as error:
    print(error)
"""


def test_without_r_the_search_fits_and_says_so():
    made = subprocess.run(
        [sys.executable, "-c", WITHOUT_R],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SOURCE), "PATH": "/nowhere"},
    )
    figures, modules, auto, restricted, error = made.stdout.splitlines()
    assert figures.endswith("True True") and modules == "[]"
    assert auto.startswith("search True ") and "not confirmed by lme4: rpy2 cannot start R" in auto
    assert restricted == "search True"
    assert "install R and rpy2" in error and 'engine="search" needs no R' in error


def test_the_package_names_it():
    assert crosslmm.lmer is lmer and "lmer" in dir(crosslmm)
    with pytest.raises(AttributeError, match="no attribute 'lmerr'"):
        _ = crosslmm.lmerr


class OfAnotherLibrary:
    """A data frame with Arrow's interface alone, as Polars and DuckDB have it."""

    def __init__(self, frame):
        self._table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        self.columns = self._table.column_names

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_data_frames_of_other_libraries_are_read():
    draw = np.random.default_rng(4)
    frame = pd.DataFrame({"s": list("abcdef") * 8, "x": draw.normal(0, 1, 48)})
    frame["y"] = 300 + 5 * frame.x + draw.normal(0, 9, 48)
    frame.loc[3, "x"] = None
    own = lmer("y ~ x + (1 | s)", frame, engine="search")
    for data in (OfAnotherLibrary(frame), pyarrow.Table.from_pandas(frame)):
        fit = lmer("y ~ x + (1 | s)", data, engine="search")
        assert fit.loglik == own.loglik and fit.nobs == 47
    kept = frame.dropna()
    assert fit.predict(OfAnotherLibrary(kept)).tolist() == own.predict(kept).tolist()
