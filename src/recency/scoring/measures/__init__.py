"""Measures of words in addition to surprisal: names, columns and checks (docs/surprisal.md).

Each module here is a measure, and another package can provide more (`recency.plugins`). A module has

MEASURE    a literal with the fields of `Measure`
value      `value(words)`, optional: the measure of each word from what `reads` and `contexts` name,
           by `recency.scoring.word_measures.Words`; unless given, the statistic that `reads` names,
           before the word
statistic  `statistic(log_probabilities, targets)`, in place of `reads`: (n,) from the whole
           distributions (n, vocabulary), float64, nats, and the tokens that came (n,)

or, of a measure of what is inside a network, a function named by one of `sites.SOURCES`, which says
what it gets. All functions take the parameter as a further argument where the measure has one.
Nothing here needs PyTorch, so that a config's measures are checked as it is read.
"""

import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Integral
from typing import Any

from recency import plugins
from recency.errors import InputError
from recency.scoring import measure_sites as sites

PACKAGE = "recency.scoring.measures"
SURPRISAL = "surprisal"
#: Names that tables of surprisal have, with or without a unit.
_COLUMNS = (
    *(SURPRISAL, "corrected", "foil_surprisal", "tokens", "context_tokens", "context"),
    *("word_id", "item", "sentence", "position", "word", "token", "token_id", "start", "end"),
)
#: Statistics of a distribution by other names: of order 1, the limit, is Shannon's entropy.
_ALIASES = {"renyi_1": "entropy"}


@dataclass(frozen=True)
class Measure:
    """What a module declares of a measure.

    Attributes
    ----------
    name : str
        That of its module or entry point.
    unit : int
        The power of the unit (bits, nats) that values have; 0 of ranks and shares, which have none.
        Values are computed in nats.
    masked : bool
        Whether masked LMs have it, which see no text grow.
    reads : tuple of str
        Statistics of the distribution before a token: entropy, renyi_<alpha>, rank.
    contexts : tuple of int
        Numbers of words of context in which surprisal is needed as well.
    parameter : dict
        What stands in angle brackets in the name: its `name`, `type` (number, integer or word),
        `minimum` (of numbers) and `example`.
    is_exact : bool
        Whether its module has a `statistic` of whole distributions.
    separate : bool
        Whether what it `reads` has a computation of its own (recency.scoring.next_word.next_words), next to
        the pass that gives surprisal.
    site : str
        The part of the network that ends its name: a "layer" (_l2), or a "head" (_l2_h3, or _l2, the
        mean over the layer's heads).
    layers : str
        "last" if the name without a layer is of the last one; "named" if it needs one.
    lowest : int
        The lowest layer that it is defined of; 0 are the embeddings.
    tokens : str
        How the values of a word's tokens become the word's: "sum" or "mean".
    bounds : tuple of float
        The least and the largest value that any network can give; others are errors.
    source : str
        The one of `sites.SOURCES` that its module has a function of; empty for other measures.
    """

    name: str
    unit: int
    masked: bool
    reads: tuple[str, ...] = ()
    contexts: tuple[int, ...] = ()
    parameter: Mapping[str, Any] = field(default_factory=dict)
    is_exact: bool = False
    separate: bool = False
    site: str = ""
    layers: str = "last"
    lowest: int = 1
    tokens: str = "sum"
    bounds: tuple[float | None, float | None] = (None, None)
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse values that no function reads."""
        sites.check_declaration(self)

    @property
    def pattern(self) -> str:
        """The name with its parameter and its site: `renyi_<alpha>`, `state_change[_l<layer>]`."""
        return self._with_parameter("<{}>", "name") + sites.pattern(self.site, self.layers)

    @property
    def example(self) -> str:
        """The name with an example of its parameter: `renyi_0.5`."""
        end = "_l1" if self.layers == "named" else ""
        return self._with_parameter("{}", "example") + end

    def _with_parameter(self, form: str, key: str) -> str:
        return f"{self.name}_{form.format(self.parameter[key])}" if self.parameter else self.name

    @property
    def regex(self) -> str:
        """A regular expression of its names."""
        kinds = {"integer": r"_\d+", "number": r"_(?:\d+(?:\.\d+)?|inf)", "word": r"_[a-z]+"}
        kind = kinds[self.parameter["type"]] if self.parameter else ""
        return re.escape(self.name) + kind + sites.regex(self.site, self.layers)

    def argument(self, name: str) -> list[int | float | str]:
        """Return the parameter in one of its names, as a list of the functions' arguments."""
        text = sites.without(name, self.site)[len(self.name) + 1 :]
        kind = {"integer": int, "number": float, "word": str}
        return [kind[self.parameter["type"]](text)] if self.parameter else []

    def statistics(self, name: str) -> list[str]:
        """Return the statistics of a distribution that one of its names needs."""
        if self.is_exact:
            return [name]
        if self.source:
            return []
        number = name[len(self.name) + 1 :]
        names = [re.sub("<.*>", number, pattern) for pattern in self.reads]
        return [_ALIASES.get(name, name) for name in names]

    def spelled(self, name: str) -> str:
        """Return one of its names with the number in one spelling; InputError where it is none."""
        sites.check(name, self)
        if not self.parameter:
            return name
        full, name = name, sites.without(name, self.site)
        text, least = name[len(self.name) + 1 :], self.parameter.get("minimum", 0)
        if self.parameter["type"] == "word":
            if re.fullmatch("[a-z]+", text):
                return full
            takes = "a name in small letters"
        elif self.parameter["type"] == "integer":
            if re.fullmatch("0|[1-9][0-9]{0,8}", text) and int(text) >= least:
                return full
            takes = f"a whole number, {least} or more"
        else:
            try:
                value = -math.inf if "_" in text else float(text)
            except ValueError:
                value = -math.inf
            if value >= least:
                return f"{self.name}_{value:g}{full.removeprefix(name)}"
            takes = f"{least} or more, or inf"
        raise InputError(f"no measure is called {name!r}: {self.pattern} takes {takes}")


def declared() -> dict[str, Measure]:
    """Return name → measure, of this project and of other packages; surprisal itself is none."""
    return _declared(tuple(sys.path))


@lru_cache(maxsize=10)
def _declared(path: tuple[str, ...]) -> dict[str, Measure]:
    measures = {}
    for name in plugins.names(PACKAGE):
        if name in _COLUMNS:
            raise InputError(
                f"{plugins.file(PACKAGE, name)}: {name} is a column already; rename it"
            )
        settings = plugins.constant(PACKAGE, name, "MEASURE")
        exact = plugins.defines(PACKAGE, name, "statistic")
        source = [each for each in sites.SOURCES if plugins.defines(PACKAGE, name, each)]
        try:
            measures[name] = Measure(name, **settings, is_exact=exact, source=" ".join(source))
        except TypeError as error:
            raise InputError(f"{plugins.file(PACKAGE, name)}: MEASURE: {error}") from None
    return measures


def patterns() -> list[str]:
    """Return the names of all measures, those with a parameter as `renyi_<alpha>`."""
    return [SURPRISAL, *(measure.pattern for measure in declared().values())]


def regex() -> str:
    """Return a regular expression of the names of all measures but surprisal."""
    return "|".join(measure.regex for measure in declared().values())


def examples() -> list[str]:
    """Return a name of each measure but surprisal, with an example of its parameter."""
    return [measure.example for measure in declared().values()]


def measure_of(name: str) -> Measure:
    """Return the measure that a name is of, whatever its number; InputError with the nearest one."""
    measures = declared()
    for stem in (name, sites.without(name, "head")):
        measure = measures.get(stem)
        if measure and not measure.parameter and (stem == name or measure.site):
            return measure
    with_number = [m for m in measures.values() if m.parameter and name.startswith(f"{m.name}_")]
    if not with_number:
        raise InputError(f"no measure is called {plugins.unknown(PACKAGE, name, patterns())}")
    return max(with_number, key=lambda measure: len(measure.name))


@dataclass(frozen=True)
class Asked:
    """What is asked for in addition to surprisal, checked."""

    measures: tuple[str, ...] = ()  # as `check` writes them, without "surprisal"
    contexts: tuple[int, ...] = ()  # words of context, increasing
    extra: tuple[tuple[str, int], ...] = ()  # further columns: a statistic, the power of its unit

    @property
    def statistics(self) -> tuple[str, ...]:
        """The statistics of a distribution that the measures need, such as entropy."""
        return self._needed(separate=False)

    @property
    def separate(self) -> tuple[str, ...]:
        """The statistics that have a computation of their own."""
        return self._needed(separate=True)

    def _needed(self, separate: bool) -> tuple[str, ...]:
        of = ((name, measure_of(name)) for name in self.measures)
        needed = [
            s for n, measure in of if measure.separate == separate for s in measure.statistics(n)
        ]
        return tuple(dict.fromkeys(needed))

    def of(self, *sources: str) -> tuple[str, ...]:
        """Return the measures whose `source` is one of these."""
        return tuple(name for name in self.measures if measure_of(name).source in sources)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The contexts to score words in, words; 0 is the begin token alone."""
        needed = {length for name in self.measures for length in measure_of(name).contexts}
        return tuple(sorted({*self.contexts, *needed}))


NOTHING = Asked()


def check(
    measures: str | Iterable[str] | None = None, contexts: int | Iterable[int] | None = None
) -> Asked:
    """Return what is asked for, each once; InputError with the nearest name for what is no measure.

    One name, or one number of words, may stand without a list.
    """
    names = [measures] if isinstance(measures, str) else list(_listed(measures, "measures"))
    spelled = dict.fromkeys(name if name == SURPRISAL else _spelled(name) for name in names)
    spelled.pop(SURPRISAL, None)
    if isinstance(contexts, str):
        raise InputError(
            f"context {contexts!r} is no list of numbers of words, as [1, 2, 4]; an n-gram's context "
            'runs `within` an "item" or a "sentence"'
        )
    whole = isinstance(contexts, Integral) and not isinstance(contexts, bool)
    lengths = [contexts] if whole else list(_listed(contexts, "context"))
    for length in lengths:
        whole = isinstance(length, Integral) and not isinstance(length, bool)
        if not whole or length < 0:
            raise InputError(f"context: {length!r} is no number of words (0, 1, 2, …)")
    return Asked(tuple(spelled), tuple(sorted({int(length) for length in lengths})))


def _spelled(name: object) -> str:
    """Return a measure's name with its number in one spelling."""
    if not isinstance(name, str):
        raise InputError(f"no measure is called {plugins.unknown(PACKAGE, name, patterns())}")
    return measure_of(name).spelled(name)


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
    endings = {0: "", 1: f"_{unit}"}
    powers = [(name, measure_of(name).unit) for name in asked.measures]
    powers += asked.extra
    powers += [(f"{SURPRISAL}_context_{length}", 1) for length in asked.contexts]
    return [name + endings.get(power, f"_{unit}{power}") for name, power in powers]


def check_masked(asked: Asked) -> None:
    """Refuse what a masked LM has not."""
    lacking = [name for name in asked.measures if not measure_of(name).masked]
    lacking += [f"context: {list(asked.contexts)}"] * bool(asked.contexts)
    if lacking:
        there = [SURPRISAL, *(m.pattern for m in declared().values() if m.masked)]
        raise InputError(
            f"{lacking[0]!r} is a measure of causal LMs, whose text grows word by word; a masked LM has "
            f"{', '.join(there)}"
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
