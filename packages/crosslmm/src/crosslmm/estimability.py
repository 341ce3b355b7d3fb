"""Effects that cannot be estimated: empty cells of categorical columns, and separated events."""

import math

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from crosslmm import design as designs
from crosslmm.design import Design
from crosslmm.expressions import names, read
from crosslmm.formula import INTERCEPT

SLIGHT = 1e-6
"""Coefficient of a direction, and its gain per row, below which it is treated as 0."""


def empty_cells(design: Design, data: pd.DataFrame) -> list[str]:
    """Describe interactions of categorical fixed effects that have cells without rows."""
    products = {
        tuple(dict.fromkeys(name for name, _ in parts if name in design.levels)): None
        for parts in (design.columns[column] for column in design.formula.fixed)
    }
    notes = []
    for product in products:
        if len(product) < 2:
            continue
        levels = [design.levels[name] for name in product]
        shape = tuple(map(len, levels))
        codes = [designs.categorical(data[names(read(name))[0]]).codes for name in product]
        counts = np.bincount(np.ravel_multi_index(codes, shape), minlength=math.prod(shape))
        empty = np.flatnonzero(counts == 0)
        if len(empty):
            first = np.unravel_index(empty[0], shape)
            named = ", ".join(
                f"{n} {of[c]}" for n, of, c in zip(product, levels, first, strict=True)
            )
            notes.append(
                f"{len(empty)} of {len(counts)} cells of {':'.join(product)} are empty, the first "
                f"{named}: not all of their effects can be estimated"
            )
    return notes


def separation(X: np.ndarray, columns: list[str], event: np.ndarray) -> str:
    """Describe fixed effects that predict events without error, whose estimates are not finite.

    Events are separated if a combination of the columns is nonnegative where an event happens and
    nonpositive elsewhere, but not 0 in all rows. A linear program finds it (Konis 2007).

    Parameters
    ----------
    X
        Columns (n, p).
    columns
        Names of the columns.
    event
        Whether the event happens (n,).

    Returns
    -------
    str
        A note; empty without separation.
    """
    scaled = X / np.maximum(np.abs(X).max(0), 1e-300)
    signed = np.where(event, 1.0, -1.0)[:, None] * scaled
    program = linprog(-signed.sum(0), A_ub=-signed, b_ub=np.zeros(len(X)), bounds=(-1, 1))
    if program.status != 0 or -program.fun <= SLIGHT * len(X):
        return ""
    beta = np.where(np.abs(program.x) > SLIGHT, program.x, 0.0)
    named = [name for name, value in zip(columns, beta, strict=True) if value]
    # Of centred columns the intercept makes those that are not.
    named = [name for name in named if name != INTERCEPT] or named
    rows = int((np.abs(scaled @ beta) > SLIGHT).sum())
    return (
        f"separation: {', '.join(named)} predict{'s' if len(named) == 1 else ''} the event without "
        f"error in {rows:,} of {len(X):,} rows, so the estimates are not finite; take fewer levels or a prior"
    )
