"""crosslmm.anova next to lme4's anova(), and what it refuses."""

import numpy as np
import pytest

import crosslmm
from crosslmm import lme4, lmer
from crosslmm.errors import InputError
from test_lmer import in_r, reading

SMALL = "reading.time ~ length + (1 | reader) + (1 | text)"
MIDDLE = "reading.time ~ length + condition + (1 | reader) + (1 | text)"
LARGE = "reading.time ~ length * condition + (1 + length | reader) + (1 | text)"


@pytest.fixture(scope="module")
def fits():
    data = reading()
    return [lmer(formula, data, engine="search") for formula in (SMALL, MIDDLE, LARGE)]


def test_the_table_is_lme4s(fits):
    small, middle, large = fits
    ours = crosslmm.anova(large, small, middle)
    lme4._r()
    from rpy2 import robjects

    table = robjects.r(
        """function(f, d) {
          fits <- lapply(f, function(one) suppressMessages(lmer(as.formula(one), d, REML = FALSE,
            control = lmerControl("bobyqa", optCtrl = list(rhoend = 1e-9)))))
          table <- anova(fits[[1]], fits[[2]], fits[[3]], model.names = c("a", "b", "c"))
          list(names(table), as.matrix(as.data.frame(table)))
        }"""
    )(robjects.StrVector([SMALL, MIDDLE, LARGE]), in_r(reading()))
    assert list(ours.columns) == list(table[0])
    assert list(ours.index) == [SMALL, MIDDLE, LARGE]
    assert ours.to_numpy(float) == pytest.approx(np.array(table[1]), rel=1e-3, nan_ok=True)
    assert ours["Chisq"].iloc[1] == pytest.approx(2 * (middle.loglik - small.loglik))


def test_a_model_compared_with_itself_has_no_p(fits):
    table = crosslmm.anova(fits[0], fits[0])
    assert table["Chisq"].iloc[1] == 0 and np.isnan(table["Pr(>Chisq)"].iloc[1])


@pytest.mark.merge
def test_restricted_likelihoods_of_the_same_fixed_effects():
    data = reading()
    slopes = SMALL.replace("(1 | reader)", "(1 + length | reader)")
    one, other = (lmer(formula, data, reml=True) for formula in (SMALL, slopes))
    table = crosslmm.anova(one, other)
    assert table["Chisq"].iloc[1] == pytest.approx(2 * (other.loglik - one.loglik))
    with pytest.raises(InputError, match="fitted by REML and differ in fixed effects"):
        crosslmm.anova(one, lmer(MIDDLE, data, reml=True))
    with pytest.raises(InputError, match="one is fitted by REML, the other by ML"):
        crosslmm.anova(one, lmer(SMALL, data, engine="search"))


def test_what_is_refused(fits):
    small, data = fits[0], reading()

    def fit(frame, **options):
        return lmer(SMALL, frame, engine="search", **options)

    more = data.assign(w=np.where(data["native"], 1.0, 2.0))
    changed = data.copy()
    changed.loc[5, "reading.time"] += 1
    shifted = data.assign(**{"reading.time": data["reading.time"] + 1000})
    for models, message in [
        ((small,), "two models or more"),
        ((small, SMALL), "model 2 is a str, no fit of crosslmm.lmer"),
        ((small, fit(data.iloc[:-5])), "fitted to 895 rows, model 1 to 900"),
        ((small, fit(changed)), "other rows or responses than model 1"),
        ((small, fit(data.set_index(data.index + 1))), "other rows or responses"),
        ((small, fit(more, weights="w")), "model 2 has other weights"),
        ((fit(shifted), fit(shifted, family="lognormal")), "compare their AIC"),
    ]:
        with pytest.raises(InputError, match=message):
            crosslmm.anova(*models)
