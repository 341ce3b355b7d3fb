"""Which fits lme4 confirms: those of a share of the LMs, drawn by their names.

The figures of a fit that is searched on cross-products are our own. lme4 sets up the fits that are
drawn, evaluates its deviance at theta and reports them itself; the two are compared
(recency.mixed.fitting.confirmed). All fits of a model of an LM are drawn or none, so that R starts in few
jobs; the name alone decides, so that a further LM or corpus changes no other fit. What all LMs are
compared with is always confirmed.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

SHARE = 0.1
"""Of the LMs, where a design has no `confirm`."""
ROWS = 2_000_000
"""Up to which lme4 is asked: it holds them all, in nearly 2 kB a row."""
NO_LM = "none"
"""What stands for the LM in the name of a fit that all LMs share."""


def drawn(design: Mapping[str, Any], lm: str, model: str, *names: object) -> bool:
    """Say whether lme4 confirms an LM's fits of a model; `names` are what else sets them apart."""
    share = design.get("confirm", SHARE)
    if lm == NO_LM and share > 0:
        return True
    digest = hashlib.sha256("\n".join(["recency", lm, model, *map(str, names)]).encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64
