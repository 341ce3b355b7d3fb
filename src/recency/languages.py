"""Languages of texts, language models, unigram models and datasets.

Codes are those of ISO 639. Corpora and datasets default to English; an LM has the language of its
training text; the language of checkpoints, tables of surprisals and lists of counts is unknown unless
stated.
"""

from collections.abc import Mapping

from readingtimes.languages import DEFAULT, NAMES, name_of

__all__ = ["ANY", "DEFAULT", "NAMES", "name_of"]

ANY = "any"
"""The `language` of an LM for all languages of the study."""


def of_dataset(config: Mapping, name: str) -> str:
    """Return the language of a dataset's texts: its own, or that of the dataset with its words."""
    entry = config["datasets"][name]
    owner = entry["words"].get("dataset", name)
    stated = entry.get("language") or config["datasets"].get(owner, {}).get("language")
    return stated or DEFAULT


def of_corpus(config: Mapping, name: str) -> str:
    """Return the language of a corpus of text."""
    return config["corpora"][name].get("language", DEFAULT)


def of_lm(config: Mapping, name: str) -> frozenset[str] | None:
    """Return the languages of an LM.

    Parameters
    ----------
    config : mapping
        The complete config.
    name : str
        An entry of `lms`.

    Returns
    -------
    frozenset of str or None
        Codes; None if unknown or any.
    """
    lm = config["lms"][name]
    if "language" in lm:
        stated = lm["language"]
        codes = frozenset([stated] if isinstance(stated, str) else stated)
        return None if ANY in codes else codes
    if "languages" in lm:
        return frozenset(lm["languages"])
    if "interpolate" in lm:
        parts = [of_lm(config, part) for part in lm["interpolate"]]
        stated = [part for part in parts if part is not None]
        return frozenset.intersection(*stated) if stated else None
    if of := lm.get(
        "weights", lm.get("checkpoint_of", lm.get("ngram", {}).get("cdlm", {}).get("of"))
    ):
        return of_lm(config, of)
    if {"checkpoint", "surprisals"} & lm.keys() or "file" in lm.get("ngram", {}):
        return None
    scale = config["scales"].get(config["scale"], {})
    corpus = lm["ngram"].get("corpus") if "ngram" in lm else lm.get("corpus", scale.get("corpus"))
    return frozenset([of_corpus(config, corpus)]) if corpus in config["corpora"] else None


def of_unigram(config: Mapping, name: str) -> frozenset[str] | None:
    """Return the languages of a unigram model; None if they are unknown."""
    entry = config["unigrams"][name]
    if "languages" in entry:
        return frozenset(entry["languages"])
    stated = entry.get("wordfreq", entry.get("language"))
    if "corpus" in entry:
        stated = of_corpus(config, entry["corpus"])
    return frozenset([stated]) if stated else None


def member(config: Mapping, table: str, name: str, dataset: str) -> str:
    """Return the entry that scores a dataset: the entry itself, or its member for the language.

    Parameters
    ----------
    config : mapping
        The complete config.
    table : {"lms", "unigrams"}
        The table of the entry.
    name, dataset : str
        The entry, and an entry of `datasets`.

    Raises
    ------
    KeyError
        If it has no member for the language; `recency.workflow.config.checks` reports this earlier.
    """
    entry = config[table][name]
    return entry["languages"][of_dataset(config, dataset)] if "languages" in entry else name


def members(config: Mapping) -> set[str]:
    """Return the LMs that are members of LMs with `languages`."""
    return {name for lm in config["lms"].values() for name in lm.get("languages", {}).values()}
