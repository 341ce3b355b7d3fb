"""Fonts for text in any script: DejaVu Sans, which comes with matplotlib, and installed fonts.

DejaVu Sans has Latin, Greek, Cyrillic, Arabic, Hebrew and phonetic letters, and matplotlib shapes
right-to-left scripts. Other scripts, such as Chinese, use an installed font; without one, a label
is replaced by the key of its LM or dataset.
"""

import sys
import unicodedata
from collections.abc import Iterable
from functools import cache, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = "DejaVu Sans"
#: Preferred installed fonts: sans-serif families that cover many scripts.
PREFERRED = (
    "Noto Sans",
    "Source Han Sans",
    "WenQuanYi",
    "IPA",
    "Nanum",
    "Arial Unicode",
    "Droid Sans",
)
#: Fonts that draw every character as a box with its number, or that contain only symbols.
UNSUITED = ("Last Resort", "STIX", "cm", "DejaVu")
_keys: dict[str, str] = {}


def stand_for(label: str, key: str) -> None:
    """Register a key to draw in place of a label that no installed font covers."""
    if not label.isascii():
        _keys[label] = key


def missing(text: str, family: str = FIRST) -> str:
    """Return the distinct characters of a text that a font family lacks, in order."""
    has = _characters(family)
    return "".join(
        dict.fromkeys(
            c for c in text if ord(c) not in has and unicodedata.category(c)[0] not in "CZ"
        )
    )


def fitting(text: str) -> str | None:
    """Return an installed font family with the characters that DejaVu Sans lacks, or None."""
    return _fitting(frozenset(missing(text)))


@cache
def _fitting(characters: frozenset[str]) -> str | None:
    if not characters:
        return FIRST
    return next(
        (name for name in _installed_families() if not missing("".join(sorted(characters)), name)),
        None,
    )


@cache
def _installed_families() -> tuple[str, ...]:
    """Return the names of installed font families, preferred ones first, then by name."""
    from matplotlib import font_manager

    names = {font.name for font in font_manager.fontManager.ttflist}
    names = [name for name in names if not name.startswith(UNSUITED)]
    rank = {
        name: next((n for n, p in enumerate(PREFERRED) if name.startswith(p)), 99) for name in names
    }
    return tuple(sorted(names, key=lambda name: (rank[name], name)))


@cache
def _characters(family: str) -> frozenset[int]:
    """Return the code points covered by a font family."""
    from matplotlib import font_manager, ft2font

    path = font_manager.findfont(family, fallback_to_default=False)
    return frozenset(ft2font.FT2Font(path).get_charmap())


def cover(figure: "Figure") -> None:
    """Set fonts for texts of a figure that DejaVu Sans does not cover, or replace labels by keys.

    Characters without font and key are reported on stderr and drawn as boxes.
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
    """Return a text with keys in place of labels that no font covers, longest labels first."""
    for label in sorted(_keys, key=len, reverse=True):
        if missing(label) and label in text:
            text = text.replace(label, _keys[label])
    return text


def _texts(figure: "Figure", kind: type) -> Iterable:
    """Yield a figure's texts; tick labels are rewritten by their formatter."""
    from matplotlib.ticker import FuncFormatter

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if not all(fitting(label.get_text()) for label in axis.get_ticklabels()):
                unchanged = axis.get_major_formatter()
                axis.set_major_formatter(FuncFormatter(partial(_format_tick, unchanged)))
            yield from axis.get_ticklabels()
    yield from figure.findobj(kind)


def _format_tick(formatter, value: float, position: int | None = None) -> str:
    """Return a tick's label with keys for labels that no font covers."""
    return with_keys(formatter(value, position))
