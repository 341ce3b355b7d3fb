"""Grouping variables as integer codes and the names of their levels."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from crosslmm.expressions import split_product


@dataclass
class Levels:
    """A grouping variable: integer codes (n,) from 0, and the name of each code's level."""

    codes: np.ndarray
    names: list[str]


def levels(values: np.ndarray | pd.Series) -> Levels:
    """Code a grouping variable, with levels in their natural order."""
    codes, names = pd.factorize(values, sort=True)
    return Levels(codes, [str(name) for name in names])


def joined(name: str, groups: Mapping[str, Levels]) -> Levels:
    """Return a grouping variable; `a:b` has the levels `<level of a>:<level of b>` that occur."""
    first, *others = split_product(name)
    group = groups[first]
    for other in others:
        inner = groups[other]
        cells, codes = np.unique(group.codes * len(inner.names) + inner.codes, return_inverse=True)
        names = [
            f"{group.names[cell // len(inner.names)]}:{inner.names[cell % len(inner.names)]}"
            for cell in cells
        ]
        group = Levels(codes, names)
    return group
