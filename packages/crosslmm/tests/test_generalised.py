"""Generalised mixed models of any data frame: as lme4's glmer() fits them."""

import numpy as np
import pandas as pd
import pytest

from crosslmm import lmer
from crosslmm.errors import InputError


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(4)
    frame = pd.DataFrame({"subject": np.repeat(np.arange(20), 60), "x": random.normal(size=1200)})
    odds = 0.5 + 0.8 * frame.x + random.normal(0, 0.7, 20)[frame.subject]
    frame["right"] = random.random(1200) < 1 / (1 + np.exp(-odds))
    frame["fixations"] = random.poisson(np.exp(0.2 + 0.3 * frame.x))
    return frame


@pytest.mark.parametrize(("family", "response"), [("binomial", "right"), ("poisson", "fixations")])
def test_it_is_glmers(data, tmp_path, family, response):
    from rpy2 import robjects

    fit = lmer(f"{response} ~ x + (1 | subject)", data, family=family)
    data.to_csv(tmp_path / "data.csv", index=False)
    run = robjects.r(f"""function(path) {{
        library(lme4)
        data <- read.csv(path)
        data$right <- data$right == "True"
        control <- glmerControl("bobyqa", optCtrl = list(rhoend = 1e-9), tolPwrss = 1e-11)
        fit <- glmer({response} ~ x + (1 | subject), data, family = {family}, control = control)
        new <- data.frame(subject = c(3, 99), x = c(1, -1))
        list(fixef(fit), sqrt(diag(as.matrix(vcov(fit)))), c(logLik(fit), AIC(fit), BIC(fit)),
             fitted(fit), predict(fit, new, type = "response", allow.new.levels = TRUE),
             getME(fit, "theta"))
    }}""")
    fixed, se, likelihoods, fitted, predicted, theta = map(list, run(str(tmp_path / "data.csv")))
    assert fit.fixed.estimate.tolist() == pytest.approx(fixed, rel=1e-5)
    # The Hessian's differences have other steps.
    assert fit.fixed.se.tolist() == pytest.approx(se, rel=1e-3)
    assert [fit.loglik, fit.aic, fit.bic] == pytest.approx(likelihoods, rel=1e-9)
    assert fit.fitted.tolist() == pytest.approx(fitted, rel=1e-5)
    new = pd.DataFrame({"subject": [3, 99], "x": [1.0, -1.0]})
    assert fit.predict(new).tolist() == pytest.approx(predicted, rel=1e-5)
    assert fit.theta.tolist() == pytest.approx(theta, rel=1e-5, abs=1e-9)
    assert fit.random.group.tolist() == ["subject"] and fit.family == family
    text = fit.summary()
    assert text.startswith("Generalised linear mixed model fit by maximum likelihood (Laplace)")
    assert "z value" in text and f"Family: {family}" in text and "Residual" not in text
    truth = 0.8 if family == "binomial" else 0.3
    assert fit.fixed.estimate["x"] == pytest.approx(truth, abs=4 * fit.fixed.se["x"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"family": "binomal"}, "family is 'binomal'; did you mean 'binomial'"),
        ({"family": "binomial", "reml": True}, "reml=True is incompatible with family 'binomial'"),
        ({"family": "poisson", "engine": "search"}, "is incompatible with family 'poisson'"),
        ({"family": "binomial", "formula": "right ~ x"}, "formula 'right ~ x'"),
        ({"family": "binomial", "formula": "fixations ~ x + (1 | subject)"}, "lme4: y values"),
    ],
)
def test_what_cannot_be_fitted_is_said(data, arguments, said):
    arguments = {"formula": "right ~ x + (1 | subject)"} | arguments
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        lmer(data=data, **arguments)
