"""Layers and heads in the names of measures, such as `attention_entropy_l2_h3`.

Layers and heads are numbered from 1; layer 0 is the embeddings. A name without a layer refers to
the last one, and a name without a head to the mean over the layer's heads.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recency import plugins
from recency.errors import InputError
from recency.names import nearest

if TYPE_CHECKING:
    from recency.scoring.measures import Measure

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


def regex(site: str, layers: str) -> str:
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


def check(name: str, measure: "Measure") -> None:
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
    from recency.scoring.measures import measure_of

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
