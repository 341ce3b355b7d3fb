"""Settings of word entropy, checked without PyTorch, and the columns of each method."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

from readingtimes.names import nearest
from recency.errors import InputError
from recency.scoring.measures import MeasureRequest

NAME = "word_entropy"
#: Method → its settings, and its further columns with the power of their unit.
METHODS: dict[str, tuple[tuple[str, ...], tuple[tuple[str, int], ...]]] = {
    "sampling": (("samples", "seed", "estimator", "tolerance"), ((f"{NAME}_se", 1),)),
    "enumeration": (("words",), ((f"{NAME}_outside", 0),)),
    "beam": (
        ("beam", "tolerance"),
        ((f"{NAME}_lower", 1), (f"{NAME}_upper", 1), (f"{NAME}_left", 0)),
    ),
}
ESTIMATORS = ("stepwise", "plain")
#: Integer settings and their least values.
_LEAST = {"samples": 2, "seed": 0, "beam": 1, "longest": 1}


@dataclass(frozen=True)
class WordEntropy:
    """How the entropy of the next word is computed; docs/surprisal.md explains each setting.

    Attributes
    ----------
    method : str
        `sampling`, `enumeration` or `beam`.
    samples : int
        Samples per word; `stepwise` needs fewer network evaluations.
    seed : int
        Seed of the samples.
    estimator : str
        `stepwise` sums the entropies of the next token along sampled words; `plain` is the mean of
        −log p of sampled words (Clark et al. 2025).
    words : tuple of str
        The words to enumerate.
    beam : int
        Prefixes that are expanded at each length.
    longest : int
        Most tokens of a word; longer words are cut.
    tolerance : float or None
        Largest allowed standard error of a word, or distance of its bounds, in bits.
    end_of_text : bool
        Whether the end of the text counts as an outcome.
    """

    method: str = "sampling"
    samples: int = 64
    seed: int = 1
    estimator: str = ESTIMATORS[0]
    words: tuple[str, ...] = ()
    beam: int = 64
    longest: int = 20
    tolerance: float | None = None
    end_of_text: bool = False

    @property
    def columns(self) -> tuple[tuple[str, int], ...]:
        """The further columns of the method, with the power of their unit."""
        return METHODS[self.method][1]


def check(settings: Mapping[str, Any] | None, read_words: bool = True) -> WordEntropy:
    """Return the checked settings, with defaults.

    Parameters
    ----------
    settings : mapping, optional
        Attributes of `WordEntropy`; `words` is a file with one word per line, or the words.
    read_words : bool
        Whether to read the file of words.

    Raises
    ------
    InputError
        For an unknown setting, an invalid value, or a setting of another method.
    """
    if isinstance(settings, WordEntropy):
        return settings
    if not isinstance(settings, Mapping | None):
        raise InputError(f"{NAME}: {settings!r} is no mapping, as {{'samples': 64}}")
    given = dict(settings or {})
    names = [field.name for field in fields(WordEntropy)]
    for name in given:
        if name not in names:
            raise InputError(f"{NAME}: no setting is called {nearest(name, names)}")
    method = given.get("method", "enumeration" if "words" in given else "sampling")
    if method not in METHODS:
        raise InputError(f"{NAME}: no method is called {nearest(method, METHODS)}")
    for name in given:
        owners = [other for other, (its, _) in METHODS.items() if name in its]
        if owners and method not in owners:
            raise InputError(
                f"{NAME}: `{name}` goes with the method {' or '.join(owners)}, not with {method}"
            )
    for name, least in _LEAST.items():
        value = given.get(name, least)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise InputError(f"{NAME}: {name} {value!r} is no whole number of {least} or more")
    if given.get("estimator", ESTIMATORS[0]) not in ESTIMATORS:
        raise InputError(
            f"{NAME}: no estimator is called {nearest(given['estimator'], ESTIMATORS)}"
        )
    if not isinstance(given.get("end_of_text", False), bool):
        raise InputError(f"{NAME}: end_of_text {given['end_of_text']!r} is neither true nor false")
    tolerance = given.get("tolerance")
    if tolerance is not None and not (
        isinstance(tolerance, Real) and not isinstance(tolerance, bool) and 0 < tolerance < math.inf
    ):
        raise InputError(f"{NAME}: tolerance {tolerance!r} is no number of bits above 0")
    if method == "enumeration":
        if not given.get("words"):
            raise InputError(f"{NAME}: enumeration needs `words`, a file with one word per line")
        given["words"] = _words(given["words"]) if read_words else ()
    return replace(WordEntropy(), **given | {"method": method})


def _words(source: Any) -> tuple[str, ...]:
    """Return the distinct words of a file or list."""
    if isinstance(source, str | PathLike):
        path, where = Path(source), f"{NAME}: words {str(source)!r}"
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError:
            raise InputError(f"{where}: there is no such file") from None
        except UnicodeDecodeError:
            raise InputError(f"{where} is not in UTF-8") from None
    elif isinstance(source, Iterable):
        lines, where = list(source), f"{NAME}: words"
    else:
        raise InputError(f"{NAME}: words {source!r} is neither a file nor a list of words")
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str) or len(line.split()) > 1:
            raise InputError(f"{where}: entry {number}, {line!r}, is not one word")
    words = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not words:
        raise InputError(f"{where}: no words")
    return words


def extend(
    asked: MeasureRequest, settings: Mapping[str, Any] | WordEntropy | None
) -> MeasureRequest:
    """Add the method's columns to a request that includes word entropy."""
    if NAME not in asked.separate:
        return asked
    return replace(asked, extra=check(settings).columns)
