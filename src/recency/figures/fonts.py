"""Fonts for text in any script: figures are drawn in DejaVu Sans, which comes with matplotlib.

It has Latin, Greek, Cyrillic, Arabic, Hebrew and phonetic letters, and matplotlib joins and orders
letters of scripts that are written from the right. For other scripts, such as Chinese, an installed font
is taken; where none has the characters, a label gives way to the key of its LM or dataset.
"""

import sys
import unicodedata
from collections.abc import Iterable
from functools import cache, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = "DejaVu Sans"
#: Tried in this order before other installed fonts: families without serifs that cover many scripts.
PREFERRED = (
    "Noto Sans",
    "Source Han Sans",
    "WenQuanYi",
    "IPA",
    "Nanum",
    "Arial Unicode",
    "Droid Sans",
)
#: Fonts that draw every character as a box with its number, or that hold symbols alone.
UNSUITED = ("Last Resort", "STIX", "cm", "DejaVu")
_keys: dict[str, str] = {}


def stand_for(label: str, key: str) -> None:
    """Have a key drawn instead of a label that no installed font can draw; both as a figure has them."""
    if not label.isascii():
        _keys[label] = key


def missing(text: str, family: str = FIRST) -> str:
    """Return the characters of a text that a font family does not have, each once, in order."""
    has = _characters(family)
    return "".join(
        dict.fromkeys(
            c for c in text if ord(c) not in has and unicodedata.category(c)[0] not in "CZ"
        )
    )


def fitting(text: str) -> str | None:
    """Return the installed font family that has what DejaVu Sans lacks of a text; None without one."""
    return _fitting(frozenset(missing(text)))


@cache
def _fitting(characters: frozenset[str]) -> str | None:
    if not characters:
        return FIRST
    return next(
        (name for name in _installed() if not missing("".join(sorted(characters)), name)), None
    )


@cache
def _installed() -> tuple[str, ...]:
    """Return the names of installed font families, preferred ones first, else by name."""
    from matplotlib import font_manager

    names = {font.name for font in font_manager.fontManager.ttflist}
    names = [name for name in names if not name.startswith(UNSUITED)]
    rank = {
        name: next((n for n, p in enumerate(PREFERRED) if name.startswith(p)), 99) for name in names
    }
    return tuple(sorted(names, key=lambda name: (rank[name], name)))


@cache
def _characters(family: str) -> frozenset[int]:
    """Return the code points that a font family has."""
    from matplotlib import font_manager, ft2font

    path = font_manager.findfont(family, fallback_to_default=False)
    return frozenset(ft2font.FT2Font(path).get_charmap())


def cover(figure: "Figure") -> None:
    """Give texts of a figure that need one another font, or else the key that their label stands for.

    A notice on stderr names characters for which there is no font and no key; they are drawn as boxes.
    """
    import matplotlib.text

    lost: dict[str, None] = {}
    for artist in _texts(figure, matplotlib.text.Text):
        text = artist.get_text()
        if text.isascii() or not missing(text):
            continue
        if family := fitting(text):
            artist.set_fontfamily([FIRST, family])
            continue
        written = with_keys(text)
        artist.set_text(written)
        lost |= dict.fromkeys(missing(written))
    if lost:
        shown = "".join(list(lost)[:8])
        script = unicodedata.name(shown[0], "unknown characters").partition(" ")[0]
        print(
            f"figure: no installed font has {shown!r} ({script}); they are drawn as boxes. Install a "
            "font of the script, such as Noto Sans CJK",
            file=sys.stderr,
        )


def with_keys(text: str) -> str:
    """Return a text with the keys of labels in place of those that no font can draw, longest first."""
    for label in sorted(_keys, key=len, reverse=True):
        if missing(label) and label in text:
            text = text.replace(label, _keys[label])
    return text


def _texts(figure: "Figure", kind: type) -> Iterable:
    """Yield a figure's texts; labels of ticks are rewritten by the formatter that makes them."""
    from matplotlib.ticker import FuncFormatter

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if not all(fitting(label.get_text()) for label in axis.get_ticklabels()):
                unchanged = axis.get_major_formatter()
                axis.set_major_formatter(FuncFormatter(partial(_formatted, unchanged)))
            yield from axis.get_ticklabels()
    yield from figure.findobj(kind)


def _formatted(formatter, value: float, position: int | None = None) -> str:
    """Return a tick's label with keys for labels that no font can draw."""
    return with_keys(formatter(value, position))
