"""Tooltips with the values of a figure's points: <title> elements of an SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr, unescape

from recency.errors import InputError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

#: A point in an SVG written by `titled`: its title and the position of its marker.
POINT = re.compile(
    r'<g id="[^"]*"><title>(?P<text>[^<]*)</title>.*?<use [^>]*?x="(?P<x>[\d.]+)" y="(?P<y>[\d.]+)"',
    re.DOTALL,
)
SIZE = re.compile(r'<svg [^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"')


class Point(NamedTuple):
    """A point's text and its position, as shares of an image's width and height."""

    text: str
    x: float
    y: float


def say(artist: Artist, text: str) -> None:
    """Add a tooltip with `text` to a marker in the figure's SVG."""
    artist.hover_text = text


@contextmanager
def marked(figure: Figure) -> Iterator[list[tuple[str, str]]]:
    """Give artists with tooltips unique ids while an SVG is saved; yield (id, text) of each."""
    artists = figure.findobj(lambda artist: hasattr(artist, "hover_text"), include_self=False)
    before = [artist.get_gid() for artist in artists]
    for number, artist in enumerate(artists):
        artist.set_gid(f"hover-{number}")
    try:
        yield [(gid or "point", a.hover_text) for gid, a in zip(before, artists, strict=True)]
    finally:
        for artist, gid in zip(artists, before, strict=True):
            artist.set_gid(gid)


def titled(svg: str, texts: list[tuple[str, str]]) -> str:
    """Return an SVG saved within `marked`, with titles and the original ids of its points."""

    def title(match: re.Match) -> str:
        gid, text = texts[int(match[1])]
        return f"<g id={quoteattr(gid)}><title>{escape(text)}</title>"

    return re.sub(r'<g id="hover-(\d+)">', title, svg)


def size(svg: str) -> tuple[float, float]:
    """Return an SVG's width and height; raise InputError if it has none."""
    if not (match := SIZE.search(svg)):
        raise InputError("a figure's SVG has no size; delete the file, so that it is drawn again")
    return float(match[1]), float(match[2])


def points(svg: str) -> list[Point]:
    """Return the points with titles of an SVG written by this package."""
    width, height = size(svg)
    matches = POINT.finditer(svg)
    return [
        Point(unescape(p["text"]), float(p["x"]) / width, float(p["y"]) / height) for p in matches
    ]
