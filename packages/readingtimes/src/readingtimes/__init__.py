"""Public reading corpora as verified tables: words, and the responses of readers to them."""

__version__ = "0.1.0"
