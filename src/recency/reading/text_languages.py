"""Check that the words of a dataset are in a single language, the stated one."""

from collections.abc import Iterator

import pandas as pd

from recency import languages
from recency.reading.own.language import FUNCTION_WORDS, guess

#: Words per passage for language identification; short texts are combined.
PASSAGE = 60
#: Minimum share of the words, and number of passages, of a second language.
SHARE, PASSAGES = 0.1, 2
#: Languages whose function words are too similar to distinguish a few passages.
RELATED = (
    {"Danish", "Norwegian", "Swedish"},
    {"Spanish", "Portuguese", "Italian", "French"},
    {"Finnish", "Estonian"},
    {"German", "Dutch"},
    {"Chinese", "Japanese"},
)
_DISTINGUISHED = {*FUNCTION_WORDS, "Greek", "Hebrew", "Korean", "Japanese", "Chinese", "Thai"}


def mixed(words: pd.DataFrame, responses: pd.DataFrame | None = None) -> str:
    """Describe texts in several languages, "" if they seem to be in one.

    Parameters
    ----------
    words : DataFrame
        Contract 1.
    responses : DataFrame, optional
        Unused; part of the common signature of checks.
    """
    guessed: dict[str, list[tuple[str, int]]] = {}
    for item, passage in _passages(words):
        if language := guess(passage):
            guessed.setdefault(language, []).append((item, len(passage)))
    sizes = {language: sum(n for _, n in listed) for language, listed in guessed.items()}
    first, *others = sorted(sizes, key=sizes.get, reverse=True) or [""]
    total = sum(sizes.values())
    for other in others:
        enough = len(guessed[other]) >= PASSAGES and sizes[other] >= SHARE * total
        if enough and not _related(first, other):
            return (
                f"its texts are of several languages: {first} (text {guessed[first][0][0]!r}) and "
                f"{other} (text {guessed[other][0][0]!r})"
            )
    return ""


def contradicts(words: pd.DataFrame, language: str) -> str:
    """Describe words in another language than the dataset's, "" if they may be in it.

    Parameters
    ----------
    words : DataFrame
        Contract 1.
    language : str
        ISO 639 code of the dataset, stated or default.
    """
    guessed, stated = guess(words["word"].head(5000)), languages.name_of(language)
    if (
        guessed is None
        or stated not in _DISTINGUISHED
        or guessed == stated
        or _related(guessed, stated)
    ):
        return ""
    return f"its words seem to be {guessed}, and its language is {language} ({stated})"


def _passages(words: pd.DataFrame) -> Iterator[tuple[str, list[str]]]:
    """Yield (first text, words) of passages of whole texts with at least PASSAGE words."""
    first, passage = "", []
    for item, text in words.groupby("item", sort=False)["word"]:
        first = first if passage else str(item)
        passage += list(text)
        if len(passage) >= PASSAGE:
            yield first, passage
            first, passage = "", []


def _related(one: str, other: str) -> bool:
    return any({one, other} <= group for group in RELATED)
