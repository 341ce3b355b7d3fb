"""Select the fits that lme4 confirms: those of a random share of the LMs.

Fits that are searched on cross-products are computed by this package. For the selected ones, lme4
evaluates its deviance at theta and reports its own figures, and the two are compared
(crosslmm.fitting.confirm_by_lme4). An LM's fits of a model are selected together, so that R starts
in few jobs. The selection depends on names only, so that adding an LM or corpus changes no other
fit. The fits that all LMs are compared with are always confirmed.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

SHARE = 0.1
"""Share of the LMs that are confirmed, unless a design sets `confirm`."""
ROWS = 2_000_000
"""Number of rows up to which lme4 is used: it needs nearly 2 kB of memory per row."""
NO_LM = "none"
"""The LM's name in a fit that all LMs share."""


def is_confirmed(design: Mapping[str, Any], lm: str, model: str, *names: object) -> bool:
    """Return whether lme4 confirms an LM's fits of a model; `names` identify the fit further."""
    share = design.get("confirm", SHARE)
    if lm == NO_LM and share > 0:
        return True
    digest = hashlib.sha256("\n".join(["recency", lm, model, *map(str, names)]).encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64
