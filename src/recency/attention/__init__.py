"""Attention biases: memory constraints that change each attention score s to a·s + b.

`bias(form, **parameters)` specifies one, `attach(model, bias)` applies it to a transformers model.
Both are imported on first use, so that importing this package is cheap.
"""

from recency.public import lazily

__getattr__, __dir__, __all__ = lazily(__name__, __file__)
