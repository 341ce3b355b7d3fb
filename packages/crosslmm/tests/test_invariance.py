"""Fits do not depend on units, origins, order or names: no engine sees the columns as they are."""

import numpy as np
import pandas as pd
import pytest

from crosslmm import lme4, lmer
from crosslmm.factors import levels
from crosslmm.fitting import fit_model
from crosslmm.formula import parse
from random_designs import ERRORS, FAMILIES, LOGLIK, draw, problems
from test_lmer import in_r, tightened  # noqa: F401

DESIGNS = 300
FEW = (2, 5, 7, 13, 28)
"""Designs of the default tier, which have gaussian responses."""
ENGINES = ("search", "auto", "lme4")


def crossed(n=900, seed=3):
    """Make crossed data with a slope by subject."""
    random = np.random.default_rng(seed)
    s, i, x = random.integers(0, 20, n), random.integers(0, 24, n), random.normal(size=n)
    y = 10 + 1.5 * x + random.normal(0, 2, 20)[s] + random.normal(0, 1, 24)[i]
    y += x * random.normal(0, 0.7, 20)[s] + random.normal(0, 1.5, n)
    data = pd.DataFrame({"y": y, "x": x, "z": random.normal(size=n), "s": s, "i": i})
    return data.astype({"s": str, "i": str}).assign(c=random.choice(list("abd"), n))


FORMULA = "y ~ x + (1 + x | s) + (1 | i)"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("shift", "unit"), [(1e4, 1.0), (1.7e6, 1.0), (1e8, 1.0), (1.7e12, 1e6)])
def test_a_predictor_far_from_zero_is_fitted_as_one_near_zero(engine, shift, unit):
    """Up to dates in milliseconds, by every engine, with and without restricted likelihood."""
    data = crossed()
    far = data.assign(x=unit * data["x"] + shift)
    for reml in (False, True) if engine == "auto" else (False,):
        near, fit = (lmer(FORMULA, d, engine=engine, reml=reml) for d in (data, far))
        extra = -np.log(unit) if reml else 0.0
        assert fit.converged and fit.loglik == pytest.approx(near.loglik + extra, abs=1e-5)
        assert fit.fixed.loc["x", "t"] == pytest.approx(near.fixed.loc["x", "t"], rel=1e-4)
        assert fit.fixed.loc["x", "se"] * unit == pytest.approx(near.fixed.loc["x", "se"], rel=1e-4)
        sd = [f.random.set_index(["group", "term"])["sd"] for f in (near, fit)]
        for effect, scale in ((("s", "x"), unit), (("i", "(Intercept)"), 1.0)):
            assert sd[1][effect] * scale == pytest.approx(sd[0][effect], rel=1e-4)
        new = data.head(40).assign(s=["new"] * 20 + data["s"].head(20).tolist())
        moved = new.assign(x=unit * new["x"] + shift)
        assert fit.predict(moved).to_numpy() == pytest.approx(near.predict(new), abs=1e-4)
    assert engine == "lme4" or near.engine in (engine, "lme4", "search, confirmed by lme4")


def test_all_figures_are_in_the_units_of_the_data():
    """Intervals, contrasts, simulations and pickled fits, where x is 1e8 sds from zero."""
    import pickle

    data = crossed()
    far = data.assign(x=1e8 + data["x"])
    formula = "y ~ c * x + I(x^2) + (1 + x | s) + (1 | i)"
    near, fit = (lmer(formula, d, engine="search") for d in (data, far))
    fit = pickle.loads(pickle.dumps(fit))
    assert fit.loglik == pytest.approx(near.loglik, abs=1e-5)
    same = ["cb:x", "cd:x", "I(x^2)", "sd_x|s", "sd_(Intercept)|i", "sigma"]
    for method in ("profile", "boot"):
        limits = [f.confint(method=method, draws=10).loc[same].to_numpy() for f in (near, fit)]
        assert limits[1] == pytest.approx(limits[0], rel=1e-3, abs=1e-4)
    drawn = [f.simulate(2, seed=4).to_numpy() for f in (near, fit)]
    assert drawn[1] == pytest.approx(drawn[0], abs=1e-3)
    # Contrasts are at the mean of x.
    assert fit.contrasts("c").to_numpy() == pytest.approx(near.contrasts("c").to_numpy(), rel=1e-4)
    assert fit.fixed.loc["I(x^2)", "t"] == pytest.approx(near.fixed.loc["I(x^2)", "t"], rel=1e-4)


def test_products_of_two_predictors_far_from_zero():
    data = crossed()
    far = data.assign(x=data["x"] - 1e8, z=1e-6 * (data["z"] + 1e8))
    for engine in ("search", "lme4"):
        near, fit = (lmer("y ~ x * z + (1 + x | s)", d, engine=engine) for d in (data, far))
        assert list(fit.fixed.index) == list(near.fixed.index)
        assert fit.loglik == pytest.approx(near.loglik, abs=1e-5)
        assert fit.fixed.loc["x:z", "t"] == pytest.approx(near.fixed.loc["x:z", "t"], rel=1e-4)


def test_dependent_columns_are_dropped_at_any_distance_from_zero():
    data = crossed()
    for shift in (0.0, 1e8):
        more = data.assign(x=data["x"] + shift, twice=2 * (data["x"] + shift) - 7, same=shift)
        fit = lmer("y ~ x + twice + same + x:z + z + (1 | s)", more, engine="search")
        assert list(fit.fixed.index) == ["(Intercept)", "x", "z", "x:z"]
        assert "dropped: twice, same" in fit.note
        without = lmer("y ~ x * z + (1 | s)", more, engine="search")
        assert fit.loglik == pytest.approx(without.loglik, abs=1e-6)
        assert fit.predict(more).to_numpy() == pytest.approx(without.predict(more), abs=1e-6)


def test_nearly_dependent_columns_keep_their_digits():
    data = crossed()
    data["near"] = data["x"] + 1e-5 * data["z"]
    near, fit = (lmer(f"y ~ x + {name} + (1 | s)", data, engine="auto") for name in ("z", "near"))
    assert fit.engine == "search, confirmed by lme4" and fit.converged
    assert fit.loglik == pytest.approx(near.loglik, abs=1e-6)
    assert fit.fixed.loc["near", "t"] == pytest.approx(near.fixed.loc["z", "t"], rel=1e-5)


def test_what_r_alone_reads_is_said_to_be_unscaled_and_checked():
    fit = lmer("y ~ ns(x, 2) + (1 + x | s)", crossed())
    assert "columns were not centred and scaled, as R alone reads the formula" in fit.note
    assert list(fit.checks.index) == ["gradient", "curvature", "covariance"]
    assert set(fit.checks["by"]) == {"lme4"} and fit.checks["passed"].all()


def test_checks_are_named_and_a_failed_one_is_no_convergence():
    data = crossed()
    search, auto = (lmer(FORMULA, data, engine=engine) for engine in ("search", "auto"))
    assert list(search.checks.index) == ["gradient", "rows", "covariance"]
    assert list(auto.checks.index) == ["gradient", "rows", "deviance", "figures", "covariance"]
    assert auto.checks.loc["figures", "by"] == "lme4" and auto.checks["passed"].all()
    gamma = lmer("y ~ x + (1 | s)", data.assign(y=np.exp(data["y"] / 9)), family="gamma")
    assert gamma.checks.loc["gradient", "by"] == "laplace" and gamma.checks["passed"].all()
    assert (search.checks["value"] <= search.checks["limit"]).all()


def test_lme4s_own_optimum_is_checked_by_the_searchs_gradient(monkeypatch):
    monkeypatch.setattr(
        lme4,
        "optimise",
        lambda model: (lme4.make_at(model, lme4.evaluate(model, t := np.ones(4))[0], t), []),
    )
    fit = lmer(FORMULA, crossed(), engine="lme4")
    assert not fit.converged and not fit.checks.loc["gradient", "passed"]
    assert "not converged: a step would lower the deviance by" in fit.note


def test_a_study_s_fit_keeps_the_better_of_two_optima():
    """The search's optimum where lme4's own, of columns as they were, was 54 units worse."""
    data = crossed()
    x = (data["x"] - data["x"].mean()).to_numpy()
    groups = {name: levels(data[name]) for name in ("s", "i")}
    fit = fit_model(parse(FORMULA), {"x": x}, data["y"].to_numpy(), groups, "cross_products")
    again = lmer(FORMULA, data.assign(x=x + 1e4))
    assert again.loglik == pytest.approx(fit.summary.loglik, abs=1e-6)
    assert again.engine == "search, confirmed by lme4"
    assert {check.name for check in fit.checks} >= {"gradient", "deviance", "figures"}


def test_a_deviance_of_zero_on_the_internal_scale_is_confirmed():
    """Of a residual variance that makes it 0 no relative difference can be taken."""
    data = crossed(300)
    noise = np.random.default_rng(0).normal(size=300)
    data["y"] = data["x"] + 0.1 * noise
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        fit = lmer("y ~ x + (1 | s)", data.assign(y=data["x"] + share * noise), engine="search")
        internal = fit._source.result.figures.loglik
        low, high = (share, high) if internal > 0 else (low, share)
    assert abs(internal) < 1e-4
    fit = lmer("y ~ x + (1 | s)", data.assign(y=data["x"] + share * noise))
    assert fit.engine == "search, confirmed by lme4" and fit.converged
    assert fit.checks.loc["deviance", "value"] < 1e-12


def test_a_row_of_a_weight_is_as_many_rows():
    """Of a binomial proportion its trials, of a Poisson count its repetitions."""
    random = np.random.default_rng(1)
    data = crossed(400)
    data["w"] = random.integers(1, 4, len(data)) * 1.0
    eta = (data["y"] - data["y"].mean()) / 4
    data["hits"] = random.binomial(data["w"].astype(int), 1 / (1 + np.exp(-eta)))
    data["share"] = data["hits"] / data["w"]
    rows = data.loc[data.index.repeat(data["w"].astype(int))].reset_index(drop=True)
    order = rows.groupby(["s", "i", "x"]).cumcount()
    rows["hit"] = (order < rows["hits"]).astype(float)
    formula = "{} ~ x + (1 | s)"
    whole = lmer(formula.format("share"), data, family="binomial", weights="w")
    split = lmer(formula.format("hit"), rows, family="binomial")
    assert split.fixed["estimate"].to_numpy() == pytest.approx(whole.fixed["estimate"], abs=1e-5)
    assert split.fixed["se"].to_numpy() == pytest.approx(whole.fixed["se"], rel=1e-3)
    assert split.random["sd"].to_numpy() == pytest.approx(whole.random["sd"], abs=1e-5)
    data["count"] = random.poisson(np.exp(eta / 2 + 1))
    rows["count"] = data["count"].repeat(data["w"].astype(int)).to_numpy()
    whole = lmer(formula.format("count"), data, family="poisson", weights="w")
    split = lmer(formula.format("count"), rows, family="poisson")
    assert split.loglik == pytest.approx(whole.loglik, abs=1e-6 * len(rows))
    assert split.fixed["estimate"].to_numpy() == pytest.approx(whole.fixed["estimate"], abs=1e-5)


def test_without_an_intercept_the_best_of_several_optima_is_found():
    """The effects of either group may express the mean: lme4 ended 18 units higher."""
    design = draw(1795733097)
    assert design.formula == "y ~ 0 + x + (1 | g) + (1 | h)"
    fits = [design.fit(engine) for engine in ("search", "lme4")]
    assert fits[0].loglik >= fits[1].loglik - 1e-5 and fits[0].converged


@pytest.mark.parametrize("seed", FEW)
def test_a_few_random_designs(seed):
    design = draw(seed, "gaussian")
    assert not list(problems(design)), design


@pytest.mark.merge
@pytest.mark.parametrize("part", range(10))
def test_random_designs_of_all_families(part):
    seeds = range(part, DESIGNS, 10)
    failed = {f"{seed} {draw(seed).formula}": list(problems(draw(seed))) for seed in seeds}
    assert not {name: those for name, those in failed.items() if those}


def test_all_families_are_drawn():
    assert {draw(seed).family for seed in range(DESIGNS)} == set(FAMILIES)
    assert LOGLIK <= 1e-6 and ERRORS <= 1e-4


@pytest.mark.merge
@pytest.mark.parametrize("part", range(3))
def test_random_designs_are_those_of_rs_own_lmer(tightened, part):  # noqa: F811
    """R reads the formula and the columns as they are, near zero; no worse likelihood is reported."""
    from rpy2 import robjects

    of_r = robjects.r(
        "function(m) c(as.numeric(logLik(m)), fixef(m), sqrt(diag(as.matrix(vcov(m)))))"
    )
    compared = 0
    for seed in range(1000 + part, 1060, 3):
        design = draw(seed, "gaussian")
        if design.options or not design.has_constant:
            continue
        fit = design.fit()
        loglik, *values = of_r(tightened(design.formula, in_r(design.data)))
        assert fit.loglik >= loglik - LOGLIK * fit.nobs, design
        if fit.loglik - loglik < 1e-5:
            estimates, se = np.split(np.array(values), 2)
            ours = fit.fixed.to_numpy()
            assert np.abs(ours[:, 0] - estimates).max() < 0.01 * se.max(), design
            assert ours[:, 1] == pytest.approx(se, rel=0.01), design
            compared += 1
    assert compared > 5


GLMMTMB = {
    "gamma": "Gamma(link = 'log')",
    "binomial": "binomial()",
    "poisson": "poisson()",
}


@pytest.mark.merge
@pytest.mark.parametrize("family", ["gaussian", "gamma", "binomial", "poisson"])
def test_families_are_those_of_glmmtmb(family):
    lme4._r()
    from rpy2 import robjects

    if not robjects.r("nzchar(system.file(package = 'glmmTMB'))")[0]:
        pytest.skip("R's package glmmTMB is not installed: apt-get install r-cran-glmmtmb")
    theirs = robjects.r(
        f"""function(formula, data) {{
          m <- glmmTMB::glmmTMB(as.formula(formula), data, family = {GLMMTMB.get(family, "gaussian()")})
          c(as.numeric(logLik(m)), glmmTMB::fixef(m)$cond)
        }}"""
    )
    compared = 0
    for seed in range(2000, 2012):
        design = draw(seed, family)
        if design.options.keys() - {"family"} or "I(" in design.formula or "0" in design.formula:
            continue
        loglik, *estimates = theirs(design.formula, in_r(design.data))
        fit = design.fit()
        if np.isnan(loglik):  # where it does not converge
            continue
        assert fit.loglik >= loglik - LOGLIK * fit.nobs, design
        if fit.loglik - loglik < 1e-4:
            away = np.abs(fit.fixed["estimate"] - estimates) / fit.fixed["se"]
            assert away.max() < 0.02, design
            compared += 1
    assert compared >= 3


@pytest.mark.merge
def test_glmer_is_not_left_at_a_bound_of_theta():
    """With -x for x its bounds L_ii >= 0 stopped it 0.2 log-likelihood units short."""
    design = draw(45)
    assert design.family == "binomial"
    fits = [
        lmer(design.formula, design.data.assign(x=sign * design.data["x"]), family="binomial")
        for sign in (1, -1)
    ]
    assert fits[0].loglik == pytest.approx(fits[1].loglik, abs=1e-5)
    assert fits[0].fixed["t"].abs().to_numpy() == pytest.approx(fits[1].fixed["t"].abs(), abs=0.01)


@pytest.mark.parametrize(
    ("family", "link"), [("gamma", "log"), ("gamma", "identity"), ("exgaussian", "identity")]
)
def test_a_skewed_response_has_any_unit(family, link):
    data = crossed(400).assign(y=lambda d: np.exp(0.05 * d["y"]))
    fits = [
        lmer("y ~ x + (1 | s)", data.assign(y=unit * data["y"]), family=family, link=link)
        for unit in (1.0, 1e-8)
    ]
    assert fits[1].loglik + 400 * np.log(1e-8) == pytest.approx(fits[0].loglik, abs=1e-4)
    assert fits[1].fitted.to_numpy() * 1e8 == pytest.approx(fits[0].fitted, rel=1e-5)
    assert fits[1].fixed.loc["x", "t"] == pytest.approx(fits[0].fixed.loc["x", "t"], rel=1e-4)
    factor = 1e8 if link == "identity" else 1.0
    assert fits[1].random["sd"].to_numpy() * factor == pytest.approx(fits[0].random["sd"], rel=1e-3)


@pytest.mark.merge
def test_profile_intervals_of_glmer_are_lme4s_in_the_units_of_the_data():
    lme4.start()
    from rpy2 import robjects

    data = crossed(600)
    eta = 0.8 * (data["y"] - 10)
    data["hit"] = np.random.default_rng(0).random(600) < 1 / (1 + np.exp(-eta))
    data["x"] += 2
    formula = "hit ~ x + (1 + x | s)"
    fit = lmer(formula, data, family="binomial")
    table = robjects.r(
        """function(formula, data) {
             control <- glmerControl("bobyqa", optCtrl = list(rhoend = 1e-9), tolPwrss = 1e-11)
             m <- glmer(as.formula(formula), data, family = binomial, control = control)
             which <- c("sd_x|s", "(Intercept)")
             suppressMessages(suppressWarnings(
               confint(m, which, oldNames = FALSE, quiet = TRUE)))
           }"""
    )(formula, in_r(data))
    ours, theirs = fit.confint(list(table.rownames)), np.array(table)
    assert list(ours.index) == list(table.rownames)
    width = (theirs[:, 1] - theirs[:, 0])[:, None]
    assert (np.abs(ours.to_numpy() - theirs) / width).max() < 0.02
    far = lmer(formula, data.assign(x=data["x"] + 1e8), family="binomial")
    limits = far.confint(["sd_x|s", "cor_x.(Intercept)|s"])
    assert limits.loc["sd_x|s"].to_numpy() == pytest.approx(ours.loc["sd_x|s"], rel=1e-3)
    assert (limits.loc["cor_x.(Intercept)|s"] == -1).all()
    boot = fit.confint("fixed", method="boot", draws=8)
    assert list(boot.index) == ["(Intercept)", "x"] and (boot["2.5 %"] < boot["97.5 %"]).all()
