"""Linear mixed models of any data frame, by maximum likelihood, in R's formula notation.

Theta is searched on cross-products of the data (see docs/mixed_models.md); lme4, where R is there,
confirms the fit and reports it. Nothing here knows of the rest of this project.
"""

import importlib

_PUBLIC = {
    "MixedModel": "recency.mixed.model:MixedModel",
    "lmer": "recency.mixed.model:lmer",
}
"""Public name → where it is; imported when it is asked for."""

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
