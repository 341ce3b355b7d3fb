"""Visible text of a Wikipedia XML dump, such as enwik9 (Mahoney 2011).

Written from Mahoney's description of text8: text and image captions are kept; tables, templates,
references, markup, URLs and links to other languages are removed.
"""

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from recency.errors import InputError
from recency.text.cuts import chunks, cut_words
from recency.text.readers.plain import lines

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+(?:[.,]\d+)*|[^\w\s]")
#: Removed markup, innermost first if nested.
NESTED = (re.compile(r"\{\{[^{}]*\}\}"), re.compile(r"\{\|(?:(?!\{\||\|\}).)*\|\}", re.DOTALL))
GONE = re.compile(r"<!--.*?-->|<ref[^>/]*>.*?</ref>|<math>.*?</math>|<[^<>]*>", re.DOTALL)
LINK = re.compile(r"\[\[([^\[\]]*)\]\]")
ADDRESS = re.compile(r"\[?\b(?:https?|ftp)://[^\s\]]*")
LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z-]+)?|simple")
MARKS = re.compile(r"'{2,}|^[*#:;]+|={2,}|[\[\]{}|]", re.MULTILINE)


def read(
    paths: list[Path], letters: bool = False, words: Sequence[int | None] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield each paragraph in lower case, with words and punctuation separated by blanks.

    With `letters`, as in text8: only a to z, digits spelled out. `words` is the range (from, to) of
    words to read. A page truncated by the end of the file is read up to there.
    """
    yield from cut_words(_paragraphs(paths, letters), words)


def _paragraphs(paths: list[Path], letters: bool) -> Iterator[tuple[str, str]]:
    for path in paths:
        number = 0
        for number, page in enumerate(_pages(path), 1):
            for line_number, line in enumerate(visible(page).split("\n"), 1):
                if text := tokens(line, letters):
                    yield f"page-{number}-{line_number}", text
        if number == 0:
            raise InputError(f"{path} has no <text>; is it a dump of Wikipedia in XML?")


def _pages(path: Path) -> Iterator[str]:
    """Yield the wiki text of each page, without redirects."""
    held: list[str] | None = None
    for line in lines(chunks(path)):
        if held is None and "<text" in line:
            after = line.partition("<text")[2]
            if after.partition(">")[0].endswith("/"):
                continue  # an empty page
            held, line = [], after.partition(">")[2]
        if held is not None:
            text, end, _ = line.partition("</text>")
            held.append(text)
            if end:
                page, held = "\n".join(held), None
                if not page.lstrip().lower().startswith("#redirect"):
                    yield page
    if held:
        yield "\n".join(held)


def visible(page: str) -> str:
    """Return the visible text of a page, from its wiki text with XML entities."""
    text = GONE.sub(" ", html.unescape(page))
    for pattern in NESTED:
        while (shorter := pattern.sub(" ", text)) != text:
            text = shorter
    while (shorter := LINK.sub(_link, text)) != text:
        text = shorter
    return html.unescape(MARKS.sub(" ", ADDRESS.sub(" ", text)))


def _link(match: re.Match) -> str:
    """Return the visible text of a link: label or target, image caption, category name."""
    target, *parts = match[1].split("|")
    space, colon, name = target.partition(":")
    kind = space.strip().lower()
    if colon and kind in ("image", "file"):
        return f" {parts[-1]} " if parts else " "
    if colon and kind == "category":
        return name
    if colon and LANGUAGE.fullmatch(space.strip()):
        return " "
    return parts[-1] if parts else target


def tokens(line: str, letters: bool) -> str:
    """Return a line's words and punctuation in lower case; with `letters` as in text8."""
    line = line.lower()
    if not letters:
        return " ".join(TOKEN.findall(line))
    line = re.sub(r"[0-9]", lambda digit: f" {DIGITS[int(digit[0])]} ", line)
    return " ".join(re.sub(r"[^a-z]", " ", line).split())
