"""crosslmm.lmer against R's lmer() itself and statsmodels, with lme4 and without R."""

import numpy as np
import pandas as pd
import pytest

from crosslmm import lme4, lmer
from crosslmm.errors import InputError


def effects(random, codes, *sds):
    """Draw independent effects of each level, (n, number of sds)."""
    return (random.normal(size=(codes.max() + 1, len(sds))) * sds)[codes]


def sleep(seed=0, slope_sd=6.0):
    """Make 18 subjects' reaction times on ten days, and a covariate far from zero."""
    random = np.random.default_rng(seed)
    subject, day = np.divmod(np.arange(180), 10)
    of_subject = effects(random, subject, 25, slope_sd)
    rt = 250 + 10 * day + of_subject[:, 0] + of_subject[:, 1] * day + random.normal(0, 25, 180)
    return pd.DataFrame({"rt": rt, "day": day, "subject": subject + 308, "year": 2000 + day})


def reading(seed=1, n=900):
    """Make reading times of crossed readers and texts, under conditions."""
    random = np.random.default_rng(seed)
    reader, text = random.integers(0, 24, n), random.integers(0, 16, n)
    data = pd.DataFrame(
        {
            "reader": [f"r{code:02}" for code in reader],
            "text": pd.Categorical([f"t{code}" for code in text]),
            "length": random.integers(1, 12, n).astype(float),
            "condition": random.choice(["easy", "hard", "odd"], n),
            "native": random.random(n) < 0.7,
            "school": reader % 6,
        }
    )
    of_reader, of_text = effects(random, reader, 40, 4, 15), effects(random, text, 20, 3)
    pair = effects(random, reader * 16 + text, 12)[:, 0]
    hard = (data["condition"] == "hard").to_numpy()
    data["reading.time"] = (
        300
        + (8 + of_reader[:, 1] + of_text[:, 1]) * data["length"]
        + (25 + of_reader[:, 2]) * hard
        + 5 * hard * data["length"]
        + of_reader[:, 0]
        + of_text[:, 0]
        + pair
        + effects(random, data["school"].to_numpy(), 30)[:, 0]
        + random.normal(0, 50, n)
    )
    return data


CASES = {
    "sleepstudy": (sleep, "rt ~ day + (day | subject)"),
    "crossed": (reading, "reading.time ~ length + (1 + length | reader) + (1 | text)"),
    "nested": (reading, "reading.time ~ length + (1 | school/reader)"),
    "nested slopes": (reading, "reading.time ~ length + (1 | school) + (length | reader:school)"),
    "pairs": (reading, "reading.time ~ length + (1 | reader) + (1 | text) + (1 | text:reader)"),
    "uncorrelated": (
        reading,
        "log(reading.time + 500) ~ length + (length || reader) + (1 + length || text)",
    ),
    "two conditions": (
        reading,
        "reading.time ~ condition * length + native + (1 + condition | reader) + (1 | text)",
    ),
    "no intercept": (
        reading,
        "reading.time ~ 0 + condition + I(length^2) + scale(length):native + (0 + length | text)",
    ),
    "uncorrelated condition": (reading, "reading.time ~ length + (condition || reader)"),
    "near singular": (lambda: sleep(2, 0.05), "rt ~ day + (day | subject)"),
    "dependent": (lambda: sleep(3), "rt ~ day + year + (1 | subject)"),
}


@pytest.fixture(scope="module")
def tightened():
    """Return R's own lmer() as a function of formula and R's data frame, its optimiser tightened."""
    lme4._r()
    from rpy2 import robjects

    return robjects.r(
        """function(formula, data, REML = FALSE) {
             suppressWarnings(suppressMessages(lmer(as.formula(formula), data, REML = REML,
               control = lmerControl("bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 50000)))))
           }"""
    )


def at_theta(formula, data, theta):
    """Build lme4's own merMod object of a formula and R's data frame at theta."""
    model, _ = lme4.set_up(formula, data)
    return lme4.make_at(model, lme4.evaluate(model, theta)[0], theta)


def in_r(data, factors=("school", "subject")):
    """Make R's data frame by a way of its own: pandas' columns one by one."""
    from rpy2 import robjects

    columns = {}
    for name in data:
        values = data[name].tolist()
        if name in factors or isinstance(values[0], str):
            columns[name] = robjects.r["factor"](robjects.StrVector(list(map(str, values))))
        elif isinstance(values[0], bool):
            columns[name] = robjects.BoolVector(values)
        else:
            columns[name] = robjects.FloatVector(values)
    return robjects.r["data.frame"](**columns, **{"check.names": False})


@pytest.mark.parametrize("engine", ["auto", "search"])
@pytest.mark.parametrize("case", list(CASES))
def test_figures_are_those_of_lmer(tightened, case, engine):
    from rpy2 import robjects

    make, formula = CASES[case]
    data = make()
    ours, theirs = lmer(formula, data, engine=engine), tightened(formula, in_r(data))
    r = {
        name: np.array(robjects.r(f"function(m) as.numeric({code})")(theirs))
        for name, code in {
            "loglik": "logLik(m)",
            "criteria": "c(AIC(m), BIC(m), sigma(m), nobs(m))",
            "fixed": "fixef(m)",
            "covariance": "as.matrix(vcov(m))",
            "variances": "{v <- as.data.frame(VarCorr(m)); v$vcov[is.na(v$var2)]}",
            "correlations": "{v <- as.data.frame(VarCorr(m)); v$sdcor[!is.na(v$var2)]}",
            "fitted": "fitted(m)",
        }.items()
    }
    assert ours.converged and ours.engine.startswith("search"), ours.note
    # The search may find a better optimum than lme4, never a worse one.
    assert ours.loglik >= r["loglik"][0] - 1e-5
    assert ours.loglik == pytest.approx(r["loglik"][0], abs=1e-3)
    assert (ours.aic, ours.bic) == pytest.approx(r["criteria"][:2], abs=2e-3)
    assert ours.sigma == pytest.approx(r["criteria"][2], rel=1e-3)
    assert ours.nobs == r["criteria"][3] == len(data)
    assert list(ours.fixed.index) == list(robjects.r("function(m) names(fixef(m))")(theirs))
    assert np.abs(ours.fixed["estimate"] - r["fixed"]).max() < 0.01 * ours.fixed["se"].max()
    covariance = r["covariance"].reshape(len(ours.fixed), -1)
    size = np.abs(covariance).max()
    assert ours.covariance.to_numpy() == pytest.approx(covariance, rel=5e-3, abs=1e-4 * size)
    assert ours.fixed["t"].to_numpy() == pytest.approx(
        (ours.fixed["estimate"] / ours.fixed["se"]).to_numpy()
    )
    singular = "singular" in case
    loose = {"rel": 1e-2, "abs": 1.0 if singular else 1e-3 * ours.sigma}
    assert ours.random["sd"].to_numpy() == pytest.approx(np.sqrt(r["variances"]), **loose)
    if not singular:
        found = [
            matrix.to_numpy()[np.tril_indices(len(matrix), -1)]
            for matrix in ours.correlations.values()
        ]
        found = np.concatenate(found)
        assert found[found != 0] == pytest.approx(r["correlations"], abs=0.01)
    assert ours.fitted.to_numpy() == pytest.approx(r["fitted"], abs=0.05 * ours.sigma)
    assert list(ours.fitted.index) == list(data.index)


@pytest.mark.parametrize("case", list(CASES))
def test_the_search_alone_says_what_lme4_says_of_its_optimum(case):
    make, formula = CASES[case]
    data = make()
    confirmed, alone = lmer(formula, data), lmer(formula, data, engine="search")
    assert confirmed.engine == "search, confirmed by lme4" and alone.engine == "search"
    assert alone.loglik == pytest.approx(confirmed.loglik, rel=1e-9)
    assert alone.theta == pytest.approx(confirmed.theta, rel=1e-6, abs=1e-7)
    assert alone.singular == confirmed.singular
    for table in ("fixed", "covariance"):
        one, other = getattr(alone, table), getattr(confirmed, table)
        assert list(one.index) == list(other.index) and list(one) == list(other)
        assert one.to_numpy() == pytest.approx(other.to_numpy(), rel=1e-5, abs=1e-5)
    assert alone.random.drop(columns=["variance", "sd"]).equals(
        confirmed.random.drop(columns=["variance", "sd"])
    )
    assert alone.random["sd"].to_numpy() == pytest.approx(
        confirmed.random["sd"].to_numpy(), rel=1e-6, abs=1e-6
    )
    assert list(alone.modes) == list(confirmed.modes)
    for group, modes in confirmed.modes.items():
        assert set(alone.modes[group].index) == set(modes.index)
        assert alone.modes[group].loc[modes.index].to_numpy() == pytest.approx(
            modes.to_numpy(), rel=1e-4, abs=1e-5
        )
        assert alone.correlations[group].to_numpy() == pytest.approx(
            confirmed.correlations[group].to_numpy(), abs=1e-4, nan_ok=True
        )
    assert ("dependent" in case) == ("dropp" in alone.note) == ("dropp" in confirmed.note)


@pytest.mark.parametrize("case", ["crossed", "nested", "pairs", "two conditions", "no intercept"])
def test_predictions_for_new_data_are_those_of_predict(case):
    make, formula = CASES[case]
    fit = lmer(formula, make())
    new = reading(7, 60)
    new.loc[:9, "reader"] = "unseen"
    new.index = np.arange(60) * 3
    from rpy2 import robjects

    predict = robjects.r(
        "function(m, d, new) predict(m, d, re.form = if (new) NULL else NA, allow.new.levels = TRUE)"
    )
    model = at_theta(formula, in_r(make()), fit.theta)
    frame = in_r(new)
    for random in (True, False):
        ours = fit.predict(new, random=random)
        assert list(ours.index) == list(new.index)
        assert ours.to_numpy() == pytest.approx(np.array(predict(model, frame, random)), rel=1e-9)
    without = new.drop(columns=["reading.time", "reader", "text", "school"])
    assert fit.predict(without, random=False).equals(fit.predict(new, random=False))
    if "reader" in formula:
        with pytest.raises(InputError, match="has the level '.*unseen.*', which the fit has not"):
            fit.predict(new, new_levels="error")


def test_statsmodels_agrees_on_one_grouping_variable():
    import statsmodels.formula.api as smf

    data = sleep(4)
    data = data.assign(rt=data["rt"] / 25, day=data["day"] / 3)  # its optimisers need such units
    theirs = smf.mixedlm("rt ~ day", data, groups="subject", re_formula="~day").fit(
        reml=False, method="powell"
    )
    ours = lmer("rt ~ day + (day | subject)", data, engine="search")
    assert ours.loglik == pytest.approx(theirs.llf, abs=1e-3)
    assert ours.fixed["estimate"].to_numpy() == pytest.approx(theirs.fe_params, rel=1e-3)
    assert ours.sigma**2 == pytest.approx(theirs.scale, rel=1e-3)
    assert ours.random["variance"].to_numpy()[:2] == pytest.approx(np.diag(theirs.cov_re), rel=1e-2)


def test_restricted_likelihood_is_lme4s(tightened):
    from rpy2 import robjects

    data = sleep()
    ours, alone = (
        lmer("rt ~ day + (day | subject)", data, reml=True, engine=engine)
        for engine in ("auto", "search")
    )
    theirs = tightened("rt ~ day + (day | subject)", in_r(data), True)
    assert ours.reml and ours.engine == "search, confirmed by lme4"
    assert alone.engine == "search" and alone.loglik == pytest.approx(ours.loglik, abs=1e-7)
    loglik = robjects.r("function(m) as.numeric(logLik(m))")(theirs)[0]
    assert ours.loglik == pytest.approx(loglik, abs=1e-4)
    assert "fit by REML" in ours.summary() and f"{-2 * loglik:.1f}" in ours.summary()


@pytest.mark.parametrize("case", list(CASES))
def test_restricted_optima_are_confirmed_by_lme4(case):
    make, formula = CASES[case]
    ours, theirs = (lmer(formula, make(), reml=True, engine=e) for e in ("auto", "lme4"))
    assert ours.engine == "search, confirmed by lme4" and ours.converged
    # lme4's optimiser may end at a bound, below the search's optimum.
    assert theirs.loglik - 1e-5 <= ours.loglik <= theirs.loglik + 1


def test_what_the_search_does_not_cover_is_fitted_by_lme4_and_said(tightened):
    from rpy2 import robjects

    data = reading()
    for formula, reason in {
        "reading.time ~ cos(length) + (1 | reader)": "cos() cannot be read",
    }.items():
        fit = lmer(formula, data)
        assert fit.engine == "lme4" and reason in fit.note
        theirs = tightened(formula, in_r(data))
        loglik = robjects.r("function(m) as.numeric(logLik(m))")(theirs)[0]
        assert fit.loglik == pytest.approx(loglik, abs=1e-4)
        predict = robjects.r("function(m, d) predict(m, d)")
        new = data.iloc[5:25].drop(columns="reading.time")
        expected = np.array(predict(theirs, in_r(new)))
        assert fit.predict(new).to_numpy() == pytest.approx(expected, abs=0.1)
        assert fit.fitted.iloc[5:25].to_numpy() == pytest.approx(expected, abs=0.1)
        with pytest.raises(InputError, match='engine="lme4"') as raised:
            lmer(formula, data, engine="search")
        assert reason in str(raised.value)
    own = lmer(CASES["crossed"][1], data, engine="lme4")
    assert own.engine == "lme4" and own.loglik == pytest.approx(
        lmer(CASES["crossed"][1], data).loglik, abs=1e-3
    )
