"""Which fits lme4 confirms: a share of them, drawn by their names.

The figures of a fit that is searched on cross-products are our own. lme4 sets up the fits that are
drawn, evaluates its deviance at theta and reports them itself; the two are compared
(recency.mixed.fit.confirmed). A draw is of the fit's names alone, so that a further LM or corpus
changes no other fit. What all LMs are compared with is always confirmed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

SHARE = 0.1
"""Of the fits, where a design has no `confirm`."""
NO_LM = "none"
"""What stands for the LM in the name of a fit that all LMs share."""


def drawn(design: Mapping[str, Any], lm: str, model: str, *names: object) -> bool:
    """Say whether lme4 confirms a fit of a design; `names` are what else tells it from others."""
    share = design.get("confirm", SHARE)
    if lm == NO_LM and share > 0:
        return True
    digest = hashlib.sha256("\n".join([lm, model, *map(str, names)]).encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64
