"""Kind, colour and marker of an LM in figures, from the form and parameters of its bias or memory.

Names in the config have no influence. Biases of one kind differ only in strength (the width of a
window, the slope of all heads): they share a colour, and figures may join them by a line.
"""

import math
from collections.abc import Iterable, Mapping

Bias = Mapping[str, object]

# Okabe & Ito's colours, distinguishable with common forms of colour blindness; markers differ too.
STYLES = {
    "none": ("#404040", "D"),
    "dVM": ("#D55E00", "s"),
    "ALiBi-mix": ("#0072B2", "o"),
    "ALiBi-uniform": ("#009E73", "^"),
    "window": ("#CC79A7", "v"),
    "logistic": ("#E69F00", "p"),
    "primacy-recency": ("#56B4E9", "h"),
    "primacy": ("#AA4499", ">"),
    "recency": ("#661100", "8"),
    "primacy-recency, preceding": ("#117733", ">"),
    "ALiBi-learned": ("#332288", "X"),
    "ALiBi-mix in both directions": ("#0072B2", "H"),
    "ALiBi-mix in both directions, symmetric": ("#56B4E9", "o"),
    "ALiBi, two slopes": ("#332288", "^"),
    "ALiBi, one-sided": ("#44AA99", "p"),
    "identity": ("#882255", "P"),
    "temperature": ("#999933", "<"),
    "half_life": ("#44AA99", "d"),
    "power law": ("#CC79A7", "P"),
    "logarithmic": ("#CC79A7", "8"),
    "forget gates": ("#D55E00", "X"),
    "surprisal-gated": ("#E69F00", "s"),
    "cue-based": ("#882255", "h"),
    "retrieval": ("#882255", "d"),
    "fading": ("#117733", "<"),
    "rewritten": ("#B8860B", "h"),
    "gated": ("#AA3377", "<"),
    "window of words": ("#CC6677", "v"),
    "n-gram": ("#777777", "*"),
    "mix": ("#777777", "X"),
}
_FURTHER = ("#AA4499", "#661100", "#88CCEE", "#6699CC", "#999933")
OTHERS = tuple((_FURTHER[n % 5], ">8*H"[n % 4]) for n in range(20))
"""Looks of kinds without their own."""
BASELINE = STYLES["none"][0]
NAMES = {
    "exponential": "dVM",
    "learned_linear": "ALiBi-learned",
    "two_slopes": "ALiBi, two slopes",
    "one_sided": "ALiBi, one-sided",
    "power_law": "power law",
    "forgetting": "forget gates",
    "surprisal_gated": "surprisal-gated",
    "cue_based": "cue-based",
}

#: Kind of recurrent memory by form; another form is a separate kind.
MEMORIES = {
    **dict.fromkeys(("fofe", "srnn"), "fading"),
    "log_bilinear": "window of words",
    "rnn": "rewritten",
    **dict.fromkeys(("gru", "lstm", "lsrc", "state_space"), "gated"),
    "cue_based_rnn": "retrieval",
}


def memory_kind(memory: Mapping[str, object]) -> str:
    """Return the kind of a recurrent memory; immediate fading is a window of the last words.

    >>> memory_kind({"form": "fofe", "decay": 0.7}), memory_kind({"form": "fofe", "decay": 0})
    ('fading', 'window of words')
    """
    form = str(memory["form"])
    return "window of words" if memory.get("decay") == 0 else MEMORIES.get(form, form)


def kind(bias: Bias) -> str:
    """Return the kind of a bias, as in legends; a bias on some layers is a separate kind.

    >>> kind({"form": "linear", "slopes": 0.25}), kind({"form": "linear", "slopes": "mix"})
    ('ALiBi-uniform', 'ALiBi-mix')
    >>> kind({"form": "window", "width": 5}), kind({"form": "exponential", "layers": "last"})
    ('window', 'dVM, last layer')
    """
    form = str(bias["form"])
    if form in ("linear", "linear_both"):
        name = "ALiBi-uniform" if slope(bias) is not None else "ALiBi-by-head"
        name = "ALiBi-mix" if bias.get("slopes", "mix") == "mix" else name
        if form == "linear_both":
            name += " in both directions" + ", symmetric" * (bias.get("offset", 0.5) == 0)
    elif form.startswith("primacy_recency"):
        name = str(bias.get("parts", "both")).replace("both", "primacy-recency")
        name += ", preceding" * form.endswith("_preceding")
    else:
        name = NAMES.get(form, form)
    layers = bias.get("layers", "all")
    if layers == "all":
        return name
    numbers = layers if isinstance(layers, str) else ", ".join(map(str, layers))
    return f"{name}, last layer" if layers == "last" else f"{name}, layers {numbers}"


def slope(bias: Bias) -> float | None:
    """Return the slope, per token, shared by all heads of a linear bias, or None."""
    slopes = bias.get("slopes") if bias["form"] in ("linear", "linear_both") else None
    shared = set(slopes) if isinstance(slopes, list) else {slopes}
    (value,) = shared if len(shared) == 1 else (None,)
    return float(value) if isinstance(value, int | float) else None


def styles(kinds: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the colour and marker of each kind.

    Kinds without their own style get the `OTHERS` in order, unused ones first.
    """
    kinds = dict.fromkeys(kinds)
    assigned = {name: STYLES[name] for name in kinds if name in STYLES}
    free = [other for other in OTHERS if other not in assigned.values()] or OTHERS
    rest = [name for name in kinds if name not in assigned]
    return assigned | {name: free[index % len(free)] for index, name in enumerate(rest)}


def matches(bias: Bias, form: str, parameters: str) -> bool:
    """Return whether a bias has this form and these parameters ("decay=82.86 weight=0.37").

    Unnamed parameters may have any value, except that a bias on some layers only matches if its
    `layers` are named.
    """
    asked = {"layers": "all"} | dict(pair.split("=", 1) for pair in parameters.split())
    if bias["form"] != form:
        return False
    return all(_same(bias.get(key, "all" if key == "layers" else None), value)
               for key, value in asked.items())  # fmt: skip


def _same(value: object, text: str) -> bool:
    if isinstance(value, int | float):
        try:
            return math.isclose(value, float(text), rel_tol=1e-9)
        except ValueError:
            return False
    return str(value) == text
