"""Attention biases: memory constraints that change each attention score s to a·s + b.

`bias(form, **parameters)` describes one, `attach(model, bias)` puts it on a transformers model. Both
are loaded when they are first asked for, so that importing this package costs nothing.
"""

from importlib import import_module

_PUBLIC = {
    "attach": "recency.attention.specification",
    "bias": "recency.attention.specification",
}


def __getattr__(name: str):
    """Load a public function."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    """Name the public functions and what is loaded."""
    return sorted({*globals(), *_PUBLIC})
