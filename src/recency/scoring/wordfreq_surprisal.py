"""Unigram surprisal from wordfreq, which has word frequencies in about 40 languages.

wordfreq ignores case and punctuation, and combines the frequencies of the parts of words that its
tokenizer splits. Unlisted words get half the frequency of the rarest word, and go to the ledger.

References
----------
Speer, R. (2022). rspeer/wordfreq: v3.0. Zenodo. https://doi.org/10.5281/zenodo.7199437
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.names import nearest
from recency.errors import InputError
from recency.scoring import results
from recency.scoring.plausible import require_plausible

LARGEST = "best"
"""wordfreq's word list: the large one if the language has one."""


def main(
    words: Path,
    out: Path,
    ledger: Path | None = None,
    *,
    language: str,
    unit: str = "bits",
    lm: str = "",
    dataset: str = "",
    accept: Sequence[str] = (),
) -> None:
    """Write contract 3: -log of each word's relative frequency in a language.

    Parameters
    ----------
    words, out, ledger : path
        Contract 1; contract 3; the unlisted words.
    language : str
        ISO 639 code.
    unit : {"bits", "nats", "log10"}
        Unit of surprisal.
    lm, dataset, accept
        For `plausible.require_plausible`, which refuses frequencies of another language.
    """
    table = pd.read_parquet(words)
    result = score(table, *frequencies(language), unit)
    require_plausible(table, result, lm=lm, dataset=dataset, accept=accept)
    result.write(out, ledger)


def frequencies(language: str) -> tuple[Callable[[str], float], float]:
    """Return a function from word to frequency (0 if unlisted), and the rarest word's frequency.

    Raises
    ------
    InputError
        If wordfreq is not installed or does not have the language.
    """
    try:
        import wordfreq
    except ModuleNotFoundError:
        raise InputError(
            "unigrams → wordfreq: the package wordfreq is not installed; pip install 'wordfreq[cjk]', "
            "or take `corpus`, a text of the language"
        ) from None
    available = wordfreq.available_languages(LARGEST)
    if language not in available:
        raise InputError(
            f"unigrams → wordfreq: it has no language {nearest(language, available)}; take `corpus`, a text "
            "of the language"
        )

    def frequency(word: str) -> float:
        try:
            return wordfreq.word_frequency(word, language, wordlist=LARGEST)
        except ModuleNotFoundError as error:  # the segmenters of zh, ja and ko
            raise InputError(
                f"unigrams → wordfreq: {language} needs the package {error.name}; "
                "pip install 'wordfreq[cjk]'"
            ) from None

    return frequency, min(wordfreq.get_frequency_dict(language, LARGEST).values())


def score(
    words: pd.DataFrame, frequency: Callable[[str], float], rarest: float, unit: str = "bits"
) -> results.Result:
    """Score words (contract 1) by their frequency; those with frequency 0 get half of `rarest`."""
    types = {word: frequency(word) for word in dict.fromkeys(words["word"])}
    least = rarest / 2
    issues = [
        (row, word, "not in the list", f"frequency {least:g}")
        for row, word in enumerate(words["word"])
        if not types[word] > 0
    ]
    nats = -np.log([types[word] or least for word in words["word"]])
    none, zero = np.full(len(words), np.nan), np.zeros(len(words))
    surprisal = results.table(words, nats, none, np.ones(len(words)), zero, unit)
    examples = list(dict.fromkeys(word for _, word, *_ in issues))[:5]
    note = f"{len(issues):,} of {len(words):,} words are not in wordfreq, such as {examples}"
    return results.Result(surprisal, results.ledger(words, issues), notes=[note])
