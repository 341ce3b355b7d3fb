"""Degrees of freedom, p values and tests of terms against stored figures of lmerTest and pbkrtest."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import crosslmm
from crosslmm import lmer
from crosslmm.errors import InputError
from reference_ddf import FILE, cases, methods
from test_lmer import CASES, reading, sleep

STORED = json.loads(FILE.read_text())
DESIGNS = {name: design for name, design in cases().items() if name in STORED}
FEW = [*CASES, *list(DESIGNS)[len(CASES) :: 11]]
OTHER_COLUMNS = (("no intercept", 2, "scale(length):native"),)
"""lmerTest tests other columns here (F is 3,488); its type III, on the same hypothesis, agrees."""
FORMULA = "rt ~ day + (day | subject)"


def check_design(name):
    formula, data, options = DESIGNS[name]
    for reml, ddf in methods(name, options):
        stored = STORED[name][f"{ddf}, {'REML' if reml else 'ML'}"]
        fit = lmer(formula, data, reml=reml, ddf=ddf, engine="search", **options)
        assert set(fit.fixed.index) == set(stored["effects"])
        theirs = np.array([stored["effects"][effect] for effect in fit.fixed.index])
        assert fit.fixed["se"].to_numpy() == pytest.approx(theirs[:, 0], rel=1e-4)
        assert fit.fixed["df"].to_numpy() == pytest.approx(theirs[:, 1], rel=1e-4)
        if "dropped" in fit.note:
            continue
        for kind in (2, 3):
            tests = fit.anova(type=kind)
            for term, (number, df, F) in stored[f"type {kind}"].items():
                # R orders the factors of an interaction by their first appearance.
                same = [t for t in tests.index if set(t.split(":")) == set(term.split(":"))]
                row = tests.loc[same[0]]
                assert row["NumDF"] == number
                if (name, kind, term) in OTHER_COLUMNS:
                    continue
                assert row["DenDF"] == pytest.approx(df, rel=1e-4), (name, kind, term)
                assert row["F"] == pytest.approx(F, rel=1e-4, abs=1e-7), (name, kind, term)


@pytest.mark.parametrize("name", FEW)
def test_figures_are_those_of_lmertest(name):
    check_design(name)


@pytest.mark.merge
@pytest.mark.parametrize("name", [name for name in DESIGNS if name not in FEW])
def test_figures_of_the_other_designs_are_those_of_lmertest(name):
    check_design(name)


def test_wald_intervals_are_those_of_the_p_values():
    fit = lmer(FORMULA, sleep(), reml=True, ddf="Kenward-Roger", engine="search")
    for row in fit.fixed.itertuples():
        width = stats.t.ppf(0.95, row.df) * row.se
        limits = fit.confint("fixed", method="wald", level=0.9).loc[row.Index]
        assert limits.tolist() == pytest.approx([row.estimate - width, row.estimate + width])
    # The interval of level 1 - p ends at 0.
    low, high = fit.confint("day", method="wald", level=1 - fit.fixed.loc["day", "p"]).loc["day"]
    assert low == pytest.approx(0, abs=1e-6 * high)


def test_the_balanced_design_has_the_degrees_of_freedom_of_its_strata():
    data = sleep()  # 18 subjects, each with all days, and random slopes: 17
    for ddf in ("Satterthwaite", "Kenward-Roger"):
        fit = lmer(FORMULA, data, reml=True, ddf=ddf, engine="search")
        assert fit.fixed["df"].to_numpy() == pytest.approx(17, rel=1e-5)
        p = 2 * stats.t.sf(fit.fixed["t"].abs(), 17)
        assert fit.fixed["p"].to_numpy() == pytest.approx(p, rel=1e-4)
        assert fit.anova().loc["day", "p"] == pytest.approx(p[1], rel=1e-4)
        shown = fit.summary()
        assert "Pr(>|t|)" in shown and ddf in shown and f"{fit.fixed.loc['day', 'p']:.3g}" in shown


def test_a_summary_can_have_p_values_that_its_fit_lacks():
    fit = lmer(FORMULA, sleep(), engine="search")
    assert list(fit.fixed) == ["estimate", "se", "t"] and "Pr(>|t|)" not in fit.summary()
    assert "Pr(>|t|)" in fit.summary(ddf="Satterthwaite")


def test_contrasts_have_the_degrees_of_freedom_of_the_fit():
    formula = "reading.time ~ condition + length + (1 | reader) + (1 | text)"
    options = {"reml": True, "ddf": "Kenward-Roger", "engine": "search"}
    data = reading()
    fit = lmer(formula, data, **options)
    ours = fit.contrasts("condition", "treatment")
    assert list(ours) == ["estimate", "se", "df", "t", "p", "p_holm"]
    effects = fit.fixed.loc[["conditionhard", "conditionodd"]]
    for column in ("estimate", "se", "df", "t", "p"):
        assert ours[column].to_numpy() == pytest.approx(effects[column].to_numpy(), rel=1e-7)
    # Tests of terms do not depend on the contrasts of the fit.
    recoded = lmer(formula, data, contrasts={"condition": "helmert"}, **options)
    pd.testing.assert_frame_equal(fit.anova(), recoded.anova(), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ddf": "Kenward-Roger"}, 'ddf="Kenward-Roger" needs a fit by REML: lmer'),
        ({"ddf": "satterthwaite"}, "did you mean 'Satterthwaite'"),
        ({"ddf": "Satterthwaite", "family": "gamma"}, "is for linear models, not family 'gamma'"),
    ],
)
def test_methods_that_a_fit_has_not_are_one_line(options, message):
    with pytest.raises(InputError, match=message) as raised:
        lmer(FORMULA, sleep(), **options)
    assert "\n" not in str(raised.value)


def test_tests_that_a_fit_has_not_are_one_line():
    fit = lmer(FORMULA, sleep(), engine="search")
    with pytest.raises(InputError, match="needs a fit by REML"):
        fit.anova(ddf="Kenward-Roger")
    with pytest.raises(InputError, match="type is 1 and must be 2 or 3"):
        fit.anova(type=1)
    with pytest.raises(InputError, match=r"fit.anova\(\) tests terms"):
        crosslmm.anova(fit)
    dropped = lmer("rt ~ day + year + (1 | subject)", sleep(3), engine="search")
    with pytest.raises(InputError, match="some were dropped"):
        dropped.anova()
