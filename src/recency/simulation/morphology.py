"""Inflection of the lexicon's nouns and verbs: regular spelling rules and a table of exceptions."""

from functools import cache

VOWELS = "aeiou"

PLURALS = {"child": "children", "goose": "geese", "loaf": "loaves", "thief": "thieves"}

PASTS = {
    "buy": "bought",
    "dig": "dug",
    "eat": "ate",
    "feed": "fed",
    "find": "found",
    "hear": "heard",
    "hide": "hid",
    "kneel": "knelt",
    "know": "knew",
    "meet": "met",
    "read": "read",
    "say": "said",
    "see": "saw",
    "sing": "sang",
    "sink": "sank",
    "sleep": "slept",
    "slide": "slid",
    "steal": "stole",
    "swim": "swam",
    "think": "thought",
}

DOUBLING = {"dig", "hum", "plan", "spot", "swim", "wrap"}  # verbs that double the final consonant


def _with_s(stem: str) -> str:
    if stem.endswith(("s", "x", "z", "ch", "sh")):
        return stem + "es"
    if stem.endswith("y") and stem[-2] not in VOWELS:
        return stem[:-1] + "ies"
    return stem + "s"


@cache
def plural(noun: str) -> str:
    """Return the plural of a noun."""
    return PLURALS.get(noun) or _with_s(noun)


@cache
def third_person(verb: str) -> str:
    """Return the third person singular of the present tense."""
    return _with_s(verb)


@cache
def past(verb: str) -> str:
    """Return the simple past tense, the same for every person and number."""
    if verb in PASTS:
        return PASTS[verb]
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return verb + (verb[-1] if verb in DOUBLING else "") + "ed"


@cache
def progressive(verb: str) -> str:
    """Return the form in -ing."""
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return verb + (verb[-1] if verb in DOUBLING else "") + "ing"


def article(word: str) -> str:
    """Return the indefinite article before a word of this lexicon."""
    return "an" if word[0] in VOWELS else "a"
