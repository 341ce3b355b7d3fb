"""Fits that are pickled and plotted, and fits without torch."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crosslmm import lme4, lmer
from crosslmm.report import standardised
from test_lmer import reading

SOURCE = Path(__file__).resolve().parents[1] / "src"
FORMULA = "reading.time ~ length * condition + (1 + length | reader) + (1 | text)"


@pytest.mark.parametrize(
    "engine", ["auto", *(pytest.param(e, marks=pytest.mark.merge) for e in ("search", "lme4"))]
)
def test_a_fit_survives_pickling(engine):
    data = reading()
    fit = lmer(FORMULA, data, engine=engine)
    written = pickle.dumps(fit)
    assert b"rpy2" not in written
    again = pickle.loads(written)
    assert again.summary() == fit.summary()
    assert again.predict(data.head(20)).equals(fit.predict(data.head(20)))
    assert again.confint("length").equals(fit.confint("length"))
    assert again.contrasts("condition").equals(fit.contrasts("condition"))
    assert again.simulate(1, seed=2).equals(fit.simulate(1, seed=2))


@pytest.mark.parametrize("kind", ["spline", pytest.param("binomial", marks=pytest.mark.merge)])
def test_a_fit_whose_formula_r_reads_survives_too(kind):
    data = reading()
    data["hit"] = (data["reading.time"] > 340) * 1
    if kind == "spline":
        fit = lmer("reading.time ~ ns(length, 2) + (1 | reader)", data)
    else:
        fit = lmer("hit ~ length + (1 | reader)", data, family="binomial")
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(fit))))
    assert again.predict(data.head(20)).equals(fit.predict(data.head(20)))
    assert again.summary() == fit.summary()
    assert again.confint("fixed", method="wald").equals(fit.confint("fixed", method="wald"))


ALONE = """
import sys, pickle
import numpy as np, pandas as pd, crosslmm
random = np.random.default_rng(0)
data = pd.DataFrame({"g": np.repeat(list("abcdef"), 20), "x": random.normal(size=120)})
data["c"] = random.choice(["u", "v"], 120)
data["y"] = 9 + data["x"] + np.repeat(random.normal(0, 1, 6), 20) + random.normal(size=120)
for family in ("gaussian", "lognormal", "gamma"):
    fit = crosslmm.lmer("y ~ x + c + (1 | g)", data, engine="search", family=family)
    fit.summary(), fit.predict(data), fit.contrasts("c"), fit.confint(method="wald")
fit = crosslmm.lmer("y ~ x + c + (1 | g)", data, engine="search")
fit.confint(), fit.simulate(2), fit.plot(), pickle.loads(pickle.dumps(fit)).summary()
crosslmm.anova(fit, crosslmm.lmer("y ~ x + (1 | g)", data, engine="search"))
print(sorted({name.partition(".")[0] for name in sys.modules} & {"torch", "rpy2", "transformers"}))
"""


def test_neither_torch_nor_r_is_imported():
    made = subprocess.run(
        [sys.executable, "-c", ALONE],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SOURCE), "PATH": "/nowhere"},
    )
    assert made.stdout.strip() == "[]"


def test_plots_show_what_they_are_named_for(tmp_path):
    fit = lmer(FORMULA, reading(), engine="search")
    figure = fit.plot()
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == [
        *("residuals", "residuals", "(Intercept) by reader", "length by reader"),
        "(Intercept) by text",
    ]
    x, y = figure.axes[0].lines[0].get_data()
    assert x == pytest.approx(fit.fitted.to_numpy())
    assert y == pytest.approx((fit.residuals / fit.sigma).to_numpy())
    shown = figure.axes[3].lines[0].get_ydata()
    assert shown == pytest.approx(np.sort(fit.modes["reader"]["length"].to_numpy()))
    quantiles = figure.axes[1].lines[0].get_xdata()
    assert quantiles == pytest.approx(-quantiles[::-1]) and len(quantiles) == 900
    figure.savefig(tmp_path / "plots.png")


def test_plots_have_no_panel_of_an_effect_without_variance():
    data = reading()
    data["reading.time"] -= data.groupby("text")["reading.time"].transform("mean")
    fit = lmer("reading.time ~ length + (1 | reader) + (1 | text)", data, engine="search")
    assert fit.modes["text"].abs().to_numpy().max() < 1e-6
    titles = [axis.get_title() for axis in fit.plot().axes]
    assert titles == ["residuals", "residuals", "(Intercept) by reader"]


@pytest.mark.merge
def test_standardised_residuals_have_variance_one():
    data = reading()
    data["w"] = np.where(data["native"], 1.0, 4.0)
    data["rt"] = np.exp(data["reading.time"] / 200)
    data["hit"] = (data["reading.time"] > 340) * 1
    for formula, options in [
        ("reading.time ~ length + (1 | reader)", {"weights": "w", "engine": "search"}),
        ("rt ~ length + (1 | reader)", {"family": "lognormal", "engine": "search"}),
        ("hit ~ length + (1 | reader)", {"family": "binomial"}),
    ]:
        values = standardised(lmer(formula, data, **options))
        assert abs(values.mean()) < 0.1 and values.std() == pytest.approx(1, abs=0.07)


def test_no_function_of_r_is_defined_twice():
    """All files share R's global environment, where the last one would take the place of others."""
    folder = Path(lme4.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.R"))]
    names = [
        name
        for text in texts
        for name in re.findall(r"^([\w.]+) *<- *function", text, re.MULTILINE)
    ]
    assert names and len(names) == len(set(names))
