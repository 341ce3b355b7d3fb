"""Linear mixed models of any data frame, by maximum likelihood, in R's formula notation.

Theta is searched on cross-products of the data (see docs/mixed_models.md); lme4, where R is there,
confirms the fit and reports it. Nothing here knows of the rest of this project.
"""

from recency.public import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)
