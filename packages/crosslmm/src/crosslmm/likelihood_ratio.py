"""Likelihood ratio tests of mixed models of the same data, as lme4's anova()."""

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from crosslmm.errors import InputError
from crosslmm.model import MixedModel
from crosslmm.model_request import as_frame_of


def anova(*models: MixedModel) -> pd.DataFrame:
    """Compare nested mixed models of the same data by likelihood ratio tests, as lme4 does.

    Each model is compared with the previous one in the order of their numbers of parameters. A p
    value is meaningful only if the two are nested, which is not checked.

    Parameters
    ----------
    *models
        Two or more fits of `crosslmm.lmer`, with the same response, family and rows. Models fitted
        by REML must have the same fixed effects.

    Returns
    -------
    pandas.DataFrame
        A row per model, by its formula: `npar`, `AIC`, `BIC`, `logLik`, `deviance`, `Chisq`,
        `Df` and `Pr(>Chisq)`; the last three are NaN in the first row.

    Raises
    ------
    InputError
        If the models cannot be compared.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from crosslmm import lmer
    >>> random = np.random.default_rng(1)
    >>> data = pd.DataFrame({"subject": np.repeat(list("abcdefgh"), 10), "day": [*range(10)] * 8})
    >>> data["rt"] = 250 + 10 * data["day"] + random.normal(0, 20, 80)
    >>> data["rt"] += np.repeat(random.normal(0, 30, 8), 10)
    >>> a = lmer("rt ~ 1 + (1 | subject)", data, engine="search")
    >>> b = lmer("rt ~ day + (1 | subject)", data, engine="search")
    >>> anova(a, b).round(1)["Chisq"].tolist()
    [nan, 95.0]
    """
    if len(models) < 2:
        raise InputError(
            "anova() compares two models or more: anova(a, b); fit.anova() tests terms"
        )
    for number, model in enumerate(models, 1):
        if not isinstance(model, MixedModel):
            raise InputError(f"model {number} is a {type(model).__name__}, no fit of crosslmm.lmer")
    first, *others = models
    for number, model in enumerate(others, 2):
        _check(first, model, number)
    ordered = sorted(models, key=lambda model: model.npar)
    logliks = np.array([model.loglik for model in ordered])
    npar = np.array([model.npar for model in ordered])
    more = np.diff(npar).astype(float)
    chisq = 2 * np.maximum(np.diff(logliks), 0)
    p = np.where(more > 0, chdtrc(np.maximum(more, 1), chisq), np.nan)
    columns = {
        "npar": npar,
        "AIC": [model.aic for model in ordered],
        "BIC": [model.bic for model in ordered],
        "logLik": logliks,
        "deviance": -2 * logliks,
        "Chisq": [np.nan, *chisq],
        "Df": [np.nan, *more],
        "Pr(>Chisq)": [np.nan, *p],
    }
    table = pd.DataFrame(columns, [model.formula for model in ordered])
    return as_frame_of(first._source.request.frames, table, "model")


def _check(first: MixedModel, model: MixedModel, number: int) -> None:
    """Raise an InputError if two models were not fitted to the same data."""
    if model.family != first.family:
        raise InputError(
            f"model {number} is of family {model.family}, model 1 of {first.family}: these are not "
            "nested; compare their AIC"
        )
    if model.nobs != first.nobs:
        raise InputError(
            f"model {number} was fitted to {model.nobs:,} rows, model 1 to {first.nobs:,}: fit both to "
            "the rows that have a value in each column"
        )
    same = model.fitted.index.equals(first.fitted.index)
    responses = [fit.fitted + fit.residuals for fit in (first, model)]
    if not (same and np.allclose(responses[0], responses[1], rtol=1e-9, atol=0)):
        raise InputError(f"model {number} was fitted to other rows or responses than model 1")
    one, other = first._source.request, model._source.request
    if not np.array_equal(_weights(first), _weights(model)):
        raise InputError(
            f"model {number} has other weights ({other.weights}) than 1 ({one.weights})"
        )
    if model.reml != first.reml:
        raise InputError(
            f"of models 1 and {number} one is fitted by REML, the other by ML: fit both with reml=False"
        )
    if model.reml and set(model.fixed.index) != set(first.fixed.index):
        raise InputError(
            f"models 1 and {number} are fitted by REML and differ in fixed effects: their likelihoods "
            "are not comparable; fit both with reml=False"
        )


def _weights(model: MixedModel) -> np.ndarray:
    """Return the weights (n,); ones without weights."""
    request = model._source.request
    return request.rows[request.weights].to_numpy() if request.weights else np.ones(model.nobs)
