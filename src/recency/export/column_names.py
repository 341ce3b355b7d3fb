"""Names of language models as parts of column names."""

import re
from collections.abc import Iterable


def short_names(lms: Iterable[str]) -> dict[str, str]:
    """Return LM → a unique name of letters, digits and `_`, valid in R and Python."""
    names: dict[str, str] = {}
    for lm in lms:
        plain = name = re.sub(r"\W", "_", lm)
        number = 2
        while name in names.values():
            name, number = f"{plain}_{number}", number + 1
        names[lm] = name
    return names
