"""Measures of words in addition to surprisal: names, columns and checks (docs/surprisal.md).

Each module here is a measure, and another package can provide more (`recency.plugins`). A module
has

MEASURE    a literal with the fields of `Measure`
value      optional `value(words)`: the measure of each word (`recency.scoring.word_measures.Words`),
           from the statistics in `reads` and the surprisals in `contexts`; by default the statistic
           in `reads` before the word
statistic  `statistic(log_probabilities, targets)`, instead of `reads`: (n,) from whole
           distributions (n, vocabulary), float64, nats, and the observed tokens (n,)

A measure inside a network has a function of `SOURCES` instead. A measure's parameter is the
last argument of its functions. This module does not import PyTorch, so that a config is checked
fast.

Layers and heads in the names of measures, such as `attention_entropy_l2_h3`.

Layers and heads are numbered from 1; layer 0 is the embeddings. A name without a layer refers to
the last one, and a name without a head to the mean over the layer's heads.
"""

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Integral
from typing import Any

from readingtimes.names import nearest
from recency import plugins
from recency.errors import InputError

PACKAGE = "recency.scoring.measures"
SURPRISAL = "surprisal"
#: Columns of tables of surprisal, without units: no measure may have these names.
_COLUMNS = (
    *(SURPRISAL, "corrected", "foil_surprisal", "tokens", "context_tokens", "context"),
    *("word_id", "item", "sentence", "position", "word", "token", "token_id", "start", "end"),
)
#: Other names of statistics: the Rényi entropy of order 1 is, as a limit, Shannon's.
_ALIASES = {"renyi_1": "entropy"}


@dataclass(frozen=True)
class Measure:
    """The declaration of a measure.

    Attributes
    ----------
    name : str
        Name of its module or entry point.
    unit : int
        Power of the unit (bits, nats) of the values; 0 for ranks and shares, which have no unit.
        Values are computed in nats.
    masked : bool
        Whether masked LMs have it.
    reads : tuple of str
        Statistics of the distribution before a token that it needs: entropy, renyi_<alpha>, rank.
    contexts : tuple of int
        Numbers of context words for which it also needs surprisal.
    parameter : dict
        The parameter in angle brackets in the name: its `name`, `type` (number, integer or word),
        `minimum` (for numbers) and `example`.
    is_exact : bool
        Whether its module has a function `statistic`.
    separate : bool
        Whether its statistics need a separate pass (recency.scoring.next_word.word_entropies).
    site : str
        The suffix of its name: "layer" (_l2), or "head" (_l2_h3, or _l2 for the mean over heads).
    layers : str
        "last" if a name without a layer refers to the last one; "named" if the layer is required.
    lowest : int
        The lowest layer for which it is defined; 0 is the embeddings.
    tokens : str
        Aggregation of a word's tokens: "sum" or "mean".
    bounds : tuple of float
        The least and the largest possible value; others raise an error.
    source : str
        The function of `SOURCES` that its module has; empty for other measures.
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
        """Refuse invalid values."""
        check_declaration(self)

    @property
    def pattern(self) -> str:
        """The name with its parameter and site: `renyi_<alpha>`, `state_change[_l<layer>]`."""
        return self._with_parameter("<{}>", "name") + pattern(self.site, self.layers)

    @property
    def example(self) -> str:
        """The name with an example of the parameter: `renyi_0.5`."""
        end = "_l1" if self.layers == "named" else ""
        return self._with_parameter("{}", "example") + end

    def _with_parameter(self, form: str, key: str) -> str:
        return f"{self.name}_{form.format(self.parameter[key])}" if self.parameter else self.name

    @property
    def regex(self) -> str:
        """A regular expression for the measure's names."""
        kinds = {"integer": r"_\d+", "number": r"_(?:\d+(?:\.\d+)?|inf)", "word": r"_[a-z]+"}
        kind = kinds[self.parameter["type"]] if self.parameter else ""
        return re.escape(self.name) + kind + site_regex(self.site, self.layers)

    def argument(self, name: str) -> list[int | float | str]:
        """Return the parameter in a name as a list of arguments; empty without one."""
        text = strip_site(name, self.site)[len(self.name) + 1 :]
        kind = {"integer": int, "number": float, "word": str}
        return [kind[self.parameter["type"]](text)] if self.parameter else []

    def statistics(self, name: str) -> list[str]:
        """Return the statistics of a distribution that a name needs."""
        if self.is_exact:
            return [name]
        if self.source:
            return []
        number = name[len(self.name) + 1 :]
        names = [re.sub("<.*>", number, pattern) for pattern in self.reads]
        return [_ALIASES.get(name, name) for name in names]

    def spelled(self, name: str) -> str:
        """Return a name with its number in canonical form; raise InputError if it is invalid."""
        check_site(name, self)
        if not self.parameter:
            return name
        full, name = name, strip_site(name, self.site)
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
    """Return name → measure, without surprisal, for this project and other packages."""
    return _declared(tuple(sys.path))


@lru_cache(maxsize=10)
def _declared(path: tuple[str, ...]) -> dict[str, Measure]:
    measures = {}
    for name in plugins.names(PACKAGE):
        if name in _COLUMNS:
            plugins.set_aside(
                PACKAGE,
                name,
                f"{plugins.file(PACKAGE, name)}: {name} is a column already; rename it",
            )
            continue
        settings = plugins.constant(PACKAGE, name, "MEASURE")
        exact = plugins.defines(PACKAGE, name, "statistic")
        source = [source for source in SOURCES if plugins.defines(PACKAGE, name, source)]
        try:
            measures[name] = Measure(name, **settings, is_exact=exact, source=" ".join(source))
        except (TypeError, ValueError) as error:
            reason = f"{plugins.file(PACKAGE, name)}: MEASURE: {error}"
            plugins.set_aside(PACKAGE, name, reason)
    return measures


def patterns() -> list[str]:
    """Return the patterns of all measures' names, such as `renyi_<alpha>`; plain names first."""
    declared_patterns = (measure.pattern for measure in declared().values())
    return [
        SURPRISAL,
        *sorted(declared_patterns, key=lambda pattern: len(re.findall("[<[]", pattern))),
    ]


def regex() -> str:
    """Return a regular expression for the names of all measures except surprisal."""
    return "|".join(measure.regex for measure in declared().values())


def examples() -> list[str]:
    """Return an example name of each measure except surprisal."""
    return [measure.example for measure in declared().values()]


def measure_of(name: str) -> Measure:
    """Return the measure of a name; raise InputError with the nearest name if there is none."""
    measures = declared()
    for stem in (name, strip_site(name, "head")):
        measure = measures.get(stem)
        if measure and not measure.parameter and (stem == name or measure.site):
            return measure
    with_number = [m for m in measures.values() if m.parameter and name.startswith(f"{m.name}_")]
    if not with_number:
        raise InputError(f"no measure is called {plugins.unknown(PACKAGE, name, patterns())}")
    return max(with_number, key=lambda measure: len(measure.name))


@dataclass(frozen=True)
class MeasureRequest:
    """The checked request for measures in addition to surprisal."""

    measures: tuple[str, ...] = ()  # in canonical form, without "surprisal"
    contexts: tuple[int, ...] = ()  # numbers of context words, increasing
    extra: tuple[
        tuple[str, int], ...
    ] = ()  # further columns: a statistic and the power of its unit

    @property
    def statistics(self) -> tuple[str, ...]:
        """The statistics of a distribution that the measures need, such as entropy."""
        return self._needed(separate=False)

    @property
    def separate(self) -> tuple[str, ...]:
        """The statistics that need a separate pass."""
        return self._needed(separate=True)

    def _needed(self, separate: bool) -> tuple[str, ...]:
        of = ((name, measure_of(name)) for name in self.measures)
        needed = [
            s for n, measure in of if measure.separate == separate for s in measure.statistics(n)
        ]
        return tuple(dict.fromkeys(needed))

    def with_sources(self, *sources: str) -> tuple[str, ...]:
        """Return the measures with one of these sources."""
        return tuple(name for name in self.measures if measure_of(name).source in sources)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The numbers of context words to score with; 0 is only the begin token."""
        needed = {length for name in self.measures for length in measure_of(name).contexts}
        return tuple(sorted({*self.contexts, *needed}))


NO_MEASURES = MeasureRequest()


def check(
    measures: str | Iterable[str] | None = None, contexts: int | Iterable[int] | None = None
) -> MeasureRequest:
    """Check a request for measures; raise InputError with the nearest name for an unknown one.

    A single name or a single number of words needs no list.
    """
    names = [measures] if isinstance(measures, str) else list(_as_list(measures, "measures"))
    spelled = dict.fromkeys(name if name == SURPRISAL else _canonical(name) for name in names)
    spelled.pop(SURPRISAL, None)
    if isinstance(contexts, str):
        raise InputError(
            f"context {contexts!r} is no list of numbers of words, as [1, 2, 4]; for an n-gram's context "
            'set `within` to "item" or "sentence"'
        )
    whole = isinstance(contexts, Integral) and not isinstance(contexts, bool)
    lengths = [contexts] if whole else list(_as_list(contexts, "context"))
    for length in lengths:
        whole = isinstance(length, Integral) and not isinstance(length, bool)
        if not whole or length < 0:
            raise InputError(f"context: {length!r} is no number of words (0, 1, 2, …)")
    return MeasureRequest(tuple(spelled), tuple(sorted({int(length) for length in lengths})))


def _canonical(name: object) -> str:
    """Return a measure's name in canonical form."""
    if not isinstance(name, str):
        raise InputError(f"no measure is called {plugins.unknown(PACKAGE, name, patterns())}")
    return measure_of(name).spelled(name)


def columns(
    measures: str | Iterable[str] | None = None,
    contexts: int | Iterable[int] | None = None,
    unit: str = "bits",
) -> list[str]:
    """Return the columns that measures and short contexts add to a table of words.

    >>> columns(["entropy", "renyi_0.50", "rank"], [1, 2])
    ['entropy_bits', 'renyi_0.5_bits', 'rank', 'surprisal_context_1_bits', 'surprisal_context_2_bits']
    """
    return columns_of(check(measures, contexts), unit)


def columns_of(asked: MeasureRequest, unit: str) -> list[str]:
    """Return the columns of a request, with the unit as a suffix where they have one."""
    endings = {0: "", 1: f"_{unit}"}
    powers = [(name, measure_of(name).unit) for name in asked.measures]
    powers += asked.extra
    powers += [(f"{SURPRISAL}_context_{length}", 1) for length in asked.contexts]
    return [name + endings.get(power, f"_{unit}{power}") for name, power in powers]


def check_masked(asked: MeasureRequest) -> None:
    """Refuse measures that masked LMs do not have."""
    lacking = [name for name in asked.measures if not measure_of(name).masked]
    lacking += [f"context: {list(asked.contexts)}"] * bool(asked.contexts)
    if lacking:
        there = [SURPRISAL, *(m.pattern for m in declared().values() if m.masked)]
        raise InputError(
            f"{lacking[0]!r} is a measure of causal LMs, which read word by word; a masked LM has "
            f"{', '.join(there)}"
        )


def refuse_ngrams(asked: MeasureRequest, tokens: bool = False) -> None:
    """Refuse everything but surprisal of words for an n-gram model."""
    if asked.measures or asked.contexts or tokens:
        what = asked.measures[0] if asked.measures else "context" if asked.contexts else "tokens"
        raise InputError(
            f"an n-gram model gives only words' surprisal, no {what!r}: only the text's n-grams are "
            "read; leave it out, or take a causal LM"
        )


def _as_list(values, what: str) -> Iterable:
    """Return a list; empty for None."""
    if values is None:
        return ()
    if isinstance(values, bytes | Mapping) or not isinstance(values, Iterable):
        raise InputError(f"{what}: {values!r} is no list")
    return values


#: Functions that the module of an internal measure may define; the comment has the shapes of the
#: result and the arguments, whose first dimension is the text.
SOURCES = {
    # (batch, heads, queries), from a layer's attention after softmax (batch, heads, queries, keys)
    # and the number of each input's word (batch, keys), -1 of a begin token
    "attention": "attention(weights, words)",
    # (batch, time), from the states that leave a layer (batch, time, width), and those one input
    # earlier, NaN before the first
    "states": "states(states, earlier)",
    # (batch,), from log p of the tokens that came (batch,), nats, as the layer predicts them
    "predictions": "predictions(log_probability)",
    # (batch, time), from a memory's gates: name → (batch, time, units)
    "gates": "gates(gates, name)",
    # (batch, time), from Δ of a state-space layer (batch, time, units)
    "steps": "steps(steps)",
    # (words,), from the surprisal of a dataset's words (words,), and that under an n-gram model
    "ngram": "ngram(surprisal, reference)",
}
#: Sources that need the network itself.
INSIDE = ("attention", "states", "predictions", "gates", "steps")
_SITE = re.compile(r"_l(\d+)(?:_h(\d+))?$")


def pattern(site: str, layers: str) -> str:
    """Return the suffix of a measure's name as listings write it."""
    head = "[_h<head>]" if site == "head" else ""
    named = f"_l<layer>{head}"
    return "" if not site else named if layers == "named" else f"[{named}]"


def site_regex(site: str, layers: str) -> str:
    """Return a regular expression for the suffix of a measure's name."""
    named = r"_l\d+(?:_h\d+)?" if site == "head" else r"_l\d+"
    return "" if not site else named if layers == "named" else f"(?:{named})?"


def strip_site(name: str, site: str) -> str:
    """Return a name without its layer and head."""
    return _SITE.sub("", name) if site else name


def parse_site(name: str) -> tuple[int | None, int | None]:
    """Return the layer and the head in a name, None where absent."""
    match = _SITE.search(name)
    return (
        tuple(None if text is None else int(text) for text in match.groups())
        if match
        else (None, None)
    )


def check_declaration(measure: "Measure") -> None:
    """Raise TypeError if a declaration has an invalid value."""
    for key, values in (
        ("site", ("", "layer", "head")),
        ("layers", ("last", "named")),
        ("tokens", ("sum", "mean")),
        ("source", ("", *SOURCES)),
    ):
        if (value := getattr(measure, key)) not in values:
            listed = ", ".join(filter(None, values))
            raise TypeError(f"{key} {value!r} is none of {listed}")
    if measure.site and measure.source not in INSIDE:
        raise TypeError(f"a site needs one of the functions {', '.join(INSIDE)}")


def check_site(name: str, measure: "Measure") -> None:
    """Raise InputError for an invalid or missing layer or head in a name."""
    if not measure.site:
        return
    match = _SITE.search(name)
    texts = [text for text in (match.groups() if match else ()) if text is not None]
    layer, head = parse_site(name)
    if any(text != str(int(text)) for text in texts):
        problem = "layers and heads are written without leading zeros"
    elif layer is None and measure.layers == "named":
        problem = f"its name needs a layer: {measure.pattern}"
    elif layer is not None and layer < measure.lowest:
        problem = f"there is no layer {layer}; they are numbered from {measure.lowest}"
    elif head is not None and measure.site != "head":
        problem = f"it is defined for layers, not for heads: {measure.pattern}"
    elif head == 0:
        problem = "there is no head 0; heads are numbered from 1"
    else:
        return
    raise InputError(f"measure {name!r}: {problem}")


@dataclass(frozen=True)
class Shape:
    """The architecture of a network, as far as measures depend on it.

    Attributes
    ----------
    title : str
        Name of the network in messages.
    layers, heads : int
        Numbers of layers, and of heads per layer (0 without attention).
    attending : tuple of int
        Numbers of the attention layers, from 1.
    gates : tuple of str
        Names of the gates of its memory.
    gated : int
        Number of layers with these gates, or with Δ.
    has_steps : bool
        Whether it has selective state-space layers.
    """

    title: str
    layers: int
    heads: int = 0
    attending: tuple[int, ...] = ()
    gates: tuple[str, ...] = ()
    gated: int = 0
    has_steps: bool = False


def problems(names: Iterable[str], shape: Shape) -> Iterator[str]:
    """Yield a message for each measure that a network does not have."""
    for name in names:
        measure = measure_of(name)
        if problem := _problem(name, measure, shape):
            yield f"measure {name!r}: {problem}"


def _problem(name: str, measure: "Measure", shape: Shape) -> str:
    """Return why a network does not have a measure; "" if it does."""
    source, title = measure.source, shape.title
    layer, head = parse_site(name)
    if source == "attention" and not shape.heads:
        return f"{title} has no attention whose weights can be read; docs/internals.md has the networks"
    if source == "gates":
        gate = measure.argument(name)[0]
        if not shape.gates:
            return f"{title} has no gates; an LSTM and a GRU have"
        if gate not in shape.gates:
            return f"{title} has no gate {nearest(gate, shape.gates)}"
    if source == "steps" and not shape.has_steps:
        return (
            f"{title} has no selective state-space layers; Mamba, and the form of memory state_space "
            "with `selective: true`, have"
        )
    most = shape.gated if source in ("gates", "steps") else shape.layers
    if layer is not None and layer > most:
        return f"{title} has {most} layers, no layer {layer}"
    if source == "attention" and layer is not None and layer not in shape.attending:
        return f"layer {layer} of {title} does not attend; layers {list(shape.attending)} do"
    if head is not None and head > shape.heads:
        return f"{title} has {shape.heads} heads a layer, no head {head}"
    return ""


def last_layer(measure: "Measure", shape: Shape) -> int:
    """Return the layer of a measure whose name has none: the last possible one."""
    if measure.source == "attention":
        return shape.attending[-1]
    return shape.gated if measure.source in ("gates", "steps") else shape.layers


def memory_shape(spec: Mapping[str, Any], layers: int, feed_forward: bool) -> Shape:
    """Return the shape of a recurrent network of this project.

    `spec` is an entry of the config's `memories:`. With `feed_forward`, the last layer has no
    memory.
    """
    package, form = "recency.networks.memories", spec["form"]

    def literal(name: str) -> Any:
        is_defined = plugins.defines(package, form, name)
        return plugins.constant(package, form, name) if is_defined else ()

    defaults = {
        key: schema.get("default") for key, schema in dict(literal("PARAMETERS") or {}).items()
    }
    steps = dict(literal("STEPS") or {})
    has_steps = bool(steps) and steps.items() <= {**defaults, **spec}.items()
    title = f"the recurrent network of memory {form!r}"
    gated = layers - feed_forward
    return Shape(title, layers, gates=tuple(literal("GATES")), gated=gated, has_steps=has_steps)
