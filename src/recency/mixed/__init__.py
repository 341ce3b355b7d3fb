"""Linear mixed models of any data frame, by maximum likelihood, in R's formula notation.

Theta is searched on cross-products of the data (see docs/mixed_models.md); lme4, if R is available,
confirms the fit and reports it. This package is independent of the rest of the project.
"""

from recency.public import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)
