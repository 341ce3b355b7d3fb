"""Kernels of continuous-time deconvolution: densities of an effect's delay in seconds.

References
----------
Shain, C. & Schuler, W. (2021). Continuous-time deconvolutional regression for psycholinguistic
modeling. *Cognition* 215, 104735.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

TAIL = 1e-9
"""Mass in the tail of a kernel that is neglected."""


@dataclass(frozen=True)
class Kernel:
    """A density of delays with positive parameters, which are estimated as logarithms.

    Attributes
    ----------
    parameters
        Names of the parameters, with their unit.
    starts
        Starting values of the search, one tuple per start.
    bounds
        Smallest and largest value of each parameter.
    density
        The density (1/s) of delays (s) of at least 0, given the parameters.
    reach
        The delay (s) beyond which a share of the mass lies, given the share and the parameters.
    """

    parameters: tuple[str, ...]
    starts: tuple[tuple[float, ...], ...]
    bounds: tuple[tuple[float, float], ...]
    density: Callable[..., np.ndarray]
    reach: Callable[..., float]


def exponential(delay: np.ndarray, mean: float) -> np.ndarray:
    """Return the exponential density of delays (s) with a mean (s)."""
    return np.exp(-delay / mean) / mean


def gamma(delay: np.ndarray, shape: float, mean: float) -> np.ndarray:
    """Return the gamma density of delays (s) with a shape and a mean (s); 0 at 0 above shape 1."""
    from scipy.special import gammaln, xlogy  # here, since the config is checked without SciPy

    scale = mean / shape
    log = xlogy(shape - 1, delay) - delay / scale - gammaln(shape) - shape * np.log(scale)
    return np.exp(log)


def shifted_gamma(delay: np.ndarray, shape: float, mean: float, shift: float) -> np.ndarray:
    """Return the density of a gamma variable minus `shift` (s), given that the result is ≥ 0."""
    from scipy.special import gammaincc

    mass = gammaincc(shape, shift * shape / mean)
    return gamma(delay + shift, shape, mean) / mass


def _reach_of_gamma(share: float, shape: float, mean: float, shift: float = 0.0) -> float:
    from scipy.special import gammaincc, gammainccinv

    mass = gammaincc(shape, shift * shape / mean)
    return float(gammainccinv(shape, share * mass)) * mean / shape - shift


_MEANS, _SHAPES = (0.1, 0.3, 1.0, 3.0), (1.1, 3.0)
_MEAN, _SHAPE, _SHIFT = (0.02, 10.0), (1.0, 50.0), (0.01, 2.0)

KERNELS: dict[str, Kernel] = {
    "exponential": Kernel(
        ("mean_s",),
        tuple((mean,) for mean in _MEANS),
        (_MEAN,),
        exponential,
        lambda share, mean: -mean * float(np.log(share)),
    ),
    "gamma": Kernel(
        ("shape", "mean_s"),
        tuple((shape, mean) for shape in _SHAPES for mean in _MEANS),
        (_SHAPE, _MEAN),
        gamma,
        _reach_of_gamma,
    ),
    "shifted_gamma": Kernel(
        ("shape", "mean_s", "shift_s"),
        tuple((shape, mean, 0.1) for shape in _SHAPES for mean in _MEANS),
        (_SHAPE, _MEAN, _SHIFT),
        shifted_gamma,
        _reach_of_gamma,
    ),
}


def named(kernel: str, values: Sequence[float]) -> dict[str, float]:
    """Return a kernel's parameters by name."""
    return dict(zip(KERNELS[kernel].parameters, map(float, values), strict=True))
