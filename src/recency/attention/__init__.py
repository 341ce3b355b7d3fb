"""Attention biases: memory constraints that change each attention score s to a·s + b.

`bias(form, **parameters)` describes one, `attach(model, bias)` puts it on a transformers model. Both
are loaded when they are first asked for, so that importing this package costs nothing.
"""

from recency.public import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)
