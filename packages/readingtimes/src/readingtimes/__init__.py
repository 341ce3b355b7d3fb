"""Public reading corpora as verified tables: every time on its own word, or an error.

words, responses = readingtimes.load("provo")    words, and measure → responses
words, fixations = readingtimes.load_fixations("provo")
readingtimes.corpora()                           corpora
readingtimes.definition("provo")                 files, measures, filters, licence, citation
readingtimes.InputError                          raised for invalid input
readingtimes.InputWarning                        warns of input that is read, though doubtful
"""

import importlib

__version__ = "0.1.0"
_WHERE = dict.fromkeys(("load", "load_fixations", "corpora", "definition"), "loading")
_WHERE |= {"InputError": "errors", "InputWarning": "errors"}
__all__ = list(_WHERE)


def __getattr__(name: str) -> object:
    """Load a public name at its first use."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
