"""Check that the words of a dataset are in a single language, the stated one.

The language of words, by their script and their most frequent function words.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

import pandas as pd

from readingtimes import languages

FUNCTION_WORDS = {
    "English": "the of and to in that was his he it with is for as had you not be on at",
    "German": "der die und das nicht ist ich sie er ein zu mit den von es sich auf dem eine auch",
    "Dutch": "de het een van en niet dat ik zijn op te met voor hij er maar ze naar ook bij",
    "French": "le la les de des et un une est que dans qui pas pour il elle sur avec ce au",
    "Spanish": "el la los las de que y en un una es por con no se su para del lo como",
    "Portuguese": "o a os as de que e em um uma não por com se para do da na no seu",
    "Italian": "il la di che e un una è non per con del della si in gli le nel sono anche",
    "Danish": "og det er en et at til på som med af ikke der den for har jeg de var han",
    "Norwegian": "og det er en et å til på som med av ikke der den for har jeg de var han",
    "Swedish": "och det är en ett att till på som med av inte där den för har jag de var han",
    "Finnish": "ja on ei se että hän oli joka ovat mutta kuin niin myös kun ole tai sen sitä olla",
    "Estonian": "ja on ei see et ta oli mis kui aga ka või siis oma nii seda olid selle kes",
    "Turkish": "ve bir bu da de için ile çok ne gibi daha o olarak kadar sonra en her ama var",
}
_SCRIPTS = {
    "CYRILLIC": "a language in Cyrillic script",
    "GREEK": "Greek",
    "HEBREW": "Hebrew",
    "ARABIC": "a language in Arabic script",
    "HANGUL": "Korean",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "CJK": "Chinese",
    "DEVANAGARI": "a language in Devanagari script",
    "THAI": "Thai",
}
_SHARE = 0.12
"""Share of function words from which a text is taken to be of a language."""


def code_of(words: Iterable[str]) -> str | None:
    """Return the ISO 639 code of the likely language of running words, None if it has no code."""
    codes = {name: code for code, name in languages.NAMES.items()}
    return codes.get(guess(words) or "")


def guess(words: Iterable[str]) -> str | None:
    """Return the likely language of running words, None if there is too little evidence.

    Parameters
    ----------
    words : iterable of str
        Words of a text, in any order, with or without punctuation.
    """
    plain = [word.casefold().strip(".,;:!?\"'()[]…“”‘’«»") for word in words]
    letters = Counter(
        unicodedata.name(character, "").partition(" ")[0]
        for word in plain[:2000]
        for character in word
        if character.isalpha()
    )
    if not letters:
        return None
    script = letters.most_common(1)[0][0]
    if script in ("CJK", "HIRAGANA", "KATAKANA"):
        japanese = letters["HIRAGANA"] + letters["KATAKANA"] > 0.05 * letters.total()
        return "Japanese" if japanese else "Chinese"
    if script != "LATIN":
        return _SCRIPTS.get(script)
    count = Counter(plain)
    shares = {
        language: sum(count[word] for word in listed.split()) / len(plain)
        for language, listed in FUNCTION_WORDS.items()
    }
    best = max(shares, key=shares.get)
    return best if len(plain) >= 15 and shares[best] >= _SHARE else None


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
        if enough and not _are_related(first, other):
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
        or _are_related(guessed, stated)
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


def _are_related(one: str, other: str) -> bool:
    return any({one, other} <= group for group in RELATED)
