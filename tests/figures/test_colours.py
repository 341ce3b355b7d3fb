"""LMs are distinguishable with every kind of colour vision, by colour or by marker."""

import itertools

import numpy as np
import pytest

from recency.figures import encoding, style
from recency.figures.comparison import LM

# Machado, Oliveira & Fernandes (2009), severity 1: linear RGB as seen without one kind of cones.
SEEN = {
    "all cones": np.eye(3),
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no medium": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, seen: np.ndarray) -> np.ndarray:
    """Return a colour in CIELAB, as seen."""
    rgb = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = XYZ @ np.clip(seen @ linear, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one: str, other: str) -> float:
    """Return the least difference of two colours (CIE 1976), over kinds of vision."""
    return min(
        float(np.linalg.norm(lab(one, np.array(seen)) - lab(other, np.array(seen))))
        for seen in SEEN.values()
    )


def confused(looks, least):
    """Return the pairs of (colour, marker, face) that differ in colour alone, by less than `least`."""
    return [
        (one, other)
        for (one, a), (other, b) in itertools.combinations(looks.items(), 2)
        if a[1:] == b[1:] and difference(a[0], b[0]) < least
    ]


def test_the_measure_sees_colour_blindness():
    assert difference("#000000", "#FFFFFF") == pytest.approx(100, abs=0.1)
    assert difference("#BB0000", "#005500") < 12 < difference("#BB0000", "#0000BB")


def test_all_kinds_are_distinguishable():
    assert not confused(encoding.STYLES, 15)


def test_twenty_kinds_without_a_look_are_distinguishable():
    looks = encoding.styles([f"mine {n}" for n in range(20)])
    assert len(looks) == 20 and not confused(looks, 10)
    mixed = encoding.styles([*encoding.STYLES, *(f"mine {n}" for n in range(8))])
    assert not confused(mixed, 10)


@pytest.mark.parametrize(
    "kinds", [["none"], ["exponential", "power_law"], [f"mine_{n}" for n in range(7)]]
)
def test_twenty_lms_in_a_legend_are_distinguishable(kinds):
    lms = [lm(f"lm {n}", kinds[n % len(kinds)]) for n in range(20)]
    looks = style.looks(lms, apart=True)
    seen = {name: (look.colour, look.marker, look.face) for name, look in looks.items()}
    assert not confused(seen, 10)


def lm(name, kind):
    """Return a record with a kind."""
    return LM(name, name, {"form": kind}, "training")
