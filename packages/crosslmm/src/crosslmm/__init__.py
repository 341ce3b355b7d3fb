"""Linear mixed models of any data frame, in the formulas of R's lme4.

    crosslmm.lmer(formula, data, ...)           fit a model: search on cross-products, checked by lme4
    crosslmm.anova(a, b, ...)                   compare models by likelihood ratio tests
    crosslmm.stats.permutation_test(a, b, ...)  compare two models' losses of the same observations
    crosslmm.stats.interval, holm, wilson       bootstrap intervals, corrected p values, proportions
    crosslmm.InputError                         raised for invalid input

Theta is searched on cross-products of the data; lme4, if R is available, confirms the fit and reports
it. `import crosslmm` loads none of them: each is loaded at its first use.
"""

from crosslmm.public import lazily

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazily(__name__, __file__)
