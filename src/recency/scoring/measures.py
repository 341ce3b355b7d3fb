"""Measures of words beside surprisal: their names, columns and definitions (docs/surprisal.md).

Nothing here needs PyTorch, so that a config's measures are checked as it is read.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from recency.errors import InputError
from recency.names import nearest

SURPRISAL = "surprisal"
#: What may be asked for; those with <…> take a number.
NAMES = (
    SURPRISAL,
    "entropy",
    "entropy_reduction",
    "renyi_<alpha>",
    "rank",
    "log_rank",
    "top_<k>",
    "pmi",
)
#: Those that a masked LM has: it sees no text grow.
OF_MASKED = (SURPRISAL, "entropy", "renyi_<alpha>", "rank", "log_rank", "top_<k>")
_NUMBERED = re.compile(r"(renyi|top)_(.*)")
#: Those without a unit.
_COUNTS = re.compile(r"rank|top_\d+")


@dataclass(frozen=True)
class Asked:
    """What is asked for beside surprisal, checked."""

    measures: tuple[str, ...] = ()  # as `check` writes them, without "surprisal"
    contexts: tuple[int, ...] = ()  # words of context, increasing

    @property
    def statistics(self) -> tuple[str, ...]:
        """What a distribution must give for the measures: entropy, renyi_<alpha>, rank."""
        found = []
        for name in self.measures:
            if name.startswith("entropy") or name == "renyi_1":
                found.append("entropy")
            elif name.startswith("renyi_"):
                found.append(name)
            elif name != "pmi":
                found.append("rank")
        return tuple(dict.fromkeys(found))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The contexts to score words in, words; 0, the begin token alone, is that of `pmi`."""
        return tuple(sorted({*self.contexts, *([0] if "pmi" in self.measures else [])}))


NOTHING = Asked()


def check(
    measures: str | Iterable[str] | None = None, contexts: int | Iterable[int] | None = None
) -> Asked:
    """Return what is asked for, each once; InputError with the nearest name for what is no measure.

    One name, or one number of words, may stand without a list.
    """
    names = [measures] if isinstance(measures, str) else list(_listed(measures, "measures"))
    found = dict.fromkeys(_measure(name) for name in names)
    found.pop(SURPRISAL, None)
    if isinstance(contexts, str):
        raise InputError(
            f"context {contexts!r} is no list of numbers of words, as [1, 2, 4]; an n-gram's context "
            'runs `within` an "item" or a "sentence"'
        )
    whole = isinstance(contexts, int | np.integer) and not isinstance(contexts, bool)
    lengths = [contexts] if whole else list(_listed(contexts, "context"))
    for length in lengths:
        whole = isinstance(length, int | np.integer) and not isinstance(length, bool)
        if not whole or length < 0:
            raise InputError(f"context: {length!r} is no number of words (0, 1, 2, …)")
    return Asked(tuple(found), tuple(sorted({int(length) for length in lengths})))


def columns(
    measures: str | Iterable[str] | None = None,
    contexts: int | Iterable[int] | None = None,
    unit: str = "bits",
) -> list[str]:
    """Return the columns that a table of words gets for these, in order, behind those it always has.

    >>> columns(["entropy", "renyi_0.50", "rank"], [1, 2])
    ['entropy_bits', 'renyi_0.5_bits', 'rank', 'surprisal_context_1_bits', 'surprisal_context_2_bits']
    """
    return columns_of(check(measures, contexts), unit)


def columns_of(asked: Asked, unit: str) -> list[str]:
    """Return the columns for what `check` returned; the unit ends the names of those that have one."""
    named = [*asked.measures, *(f"{SURPRISAL}_context_{length}" for length in asked.contexts)]
    return [name if _COUNTS.fullmatch(name) else f"{name}_{unit}" for name in named]


def of_tokens(
    asked: Asked,
    statistics: Mapping[str, np.ndarray],
    contexts: Mapping[int, np.ndarray],
    log: float,
) -> list[np.ndarray]:
    """Return the measures of each token of a text, in the order of `columns_of`.

    `statistics` has (tokens + 1,) each, nats, the last behind the text; `contexts` surprisal (tokens,)
    in nats in each of `asked.lengths`, and in the whole text under -1. `log` is the unit in nats.
    """
    return _derived(asked, statistics, contexts, np.arange(len(contexts[-1])), log)


def of_words(
    asked: Asked,
    statistics: Mapping[str, np.ndarray],
    contexts: Mapping[int, np.ndarray],
    first: np.ndarray,
    log: float,
) -> list[np.ndarray]:
    """Return the measures of each word: those of its `first` token, sums of surprisal over all.

    The arguments are those of `of_tokens`; `first` has the number of each word's first token, for
    the words that have one. An entropy's reduction is that from the word's beginning to the next's.
    """
    summed = {length: np.add.reduceat(tokens, first) for length, tokens in contexts.items()}
    return _derived(asked, statistics, summed, first, log)


def _derived(asked, statistics, surprisal, first, log) -> list[np.ndarray]:
    """Work out the measures of stretches of a text that begin at the tokens `first`."""
    after = np.append(first[1:], len(next(iter(statistics.values()), [0])) - 1)
    found = []
    for name in asked.measures:
        if name == "pmi":
            found.append((surprisal[0] - surprisal[-1]) / log)
        elif name == "entropy_reduction":
            entropy = statistics["entropy"]
            found.append(np.maximum(0.0, entropy[first] - entropy[after]) / log)
        elif name == "rank":
            found.append(statistics["rank"][first])
        elif name == "log_rank":
            found.append(np.log(statistics["rank"][first]) / log)
        elif name.startswith("top_"):
            rank = statistics["rank"][first]
            found.append(np.where(np.isnan(rank), np.nan, rank <= int(name.removeprefix("top_"))))
        else:
            found.append(statistics["entropy" if name == "renyi_1" else name][first] / log)
    return found + [surprisal[length] / log for length in asked.contexts]


def check_masked(asked: Asked) -> None:
    """Refuse what a masked LM has not."""
    lacking = [name for name in asked.measures if _pattern(name) not in OF_MASKED]
    lacking += [f"context: {list(asked.contexts)}"] * bool(asked.contexts)
    if lacking:
        raise InputError(
            f"{lacking[0]!r} is a measure of causal LMs, whose text grows word by word; a masked LM has "
            f"{', '.join(OF_MASKED)}"
        )


def refuse_ngrams(asked: Asked, tokens: bool = False) -> None:
    """Refuse all but surprisal of words: of an n-gram model only the text's n-grams are read."""
    if asked.measures or asked.contexts or tokens:
        what = asked.measures[0] if asked.measures else "context" if asked.contexts else "tokens"
        raise InputError(
            f"an n-gram model gives words' surprisal alone, no {what!r}: only the text's n-grams are "
            "read; leave it out, or take a causal LM"
        )


def _listed(values, what: str) -> Iterable:
    """Return a list that may be absent."""
    if values is None:
        return ()
    if isinstance(values, bytes | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{what}: {values!r} is no list")
    return values


def _measure(name: object) -> str:
    """Return a measure's name with its number in one spelling."""
    if name in NAMES and "<" not in str(name):
        return str(name)
    kind, text = match.groups() if (match := _NUMBERED.fullmatch(str(name))) else ("", "")
    if kind == "renyi":
        try:
            alpha = float(text)
        except ValueError:
            alpha = -1.0
        if not alpha >= 0 or "_" in text:
            raise InputError(
                f"no measure is called {name!r}: renyi_<alpha> takes 0 or more, or inf"
            )
        return f"renyi_{alpha:g}"
    if kind == "top":
        if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
            raise InputError(
                f"no measure is called {name!r}: top_<k> takes a whole number, 1 or more"
            )
        return str(name)
    raise InputError(f"no measure is called {nearest(name, NAMES)}")


def _pattern(name: str) -> str:
    """Return which of `NAMES` a checked name is."""
    match = _NUMBERED.fullmatch(name)
    return name if match is None else {"renyi": "renyi_<alpha>", "top": "top_<k>"}[match[1]]
