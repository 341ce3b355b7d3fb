"""Refuse probabilities that are no numbers where they are computed, before a file has them."""

import numpy as np

from recency.errors import InputError


def require_finite(values: np.ndarray, where: str) -> None:
    """Raise InputError if a log-probability or surprisal is NaN or infinite.

    Parameters
    ----------
    values : ndarray
        Of any shape.
    where : str
        The LM, and what the values are of, for the message.

    Raises
    ------
    InputError
        With the number of such values and the way out.
    """
    odd = ~np.isfinite(values)
    if odd.any():
        raise InputError(
            f"{where}: {int(odd.sum()):,} of {odd.size:,} log-probabilities are NaN or infinite, which "
            "no later step can use; check the LM's config and files, or download it again"
        )
