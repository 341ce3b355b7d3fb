"""The join engine: match each row of a table to a word, with verification."""

from collections.abc import Mapping

from readingtimes.names import nearest

KEYS = ("item", "sentence", "position", "word_id", "unique_id", "offset", "word", "length")
TYPE = "type"
"""The key of tables with one row per word type, such as norms."""
#: Interpretations of a key; `join` in a table's options selects one.
SETTINGS = {
    "item": ("labels", "order", "from 0", "from 1", "from 2", "words"),
    "sentence": (
        *("labels", "order", "order in item", "from 0", "from 1", "from 2"),
        *("from 0 in item", "from 1 in item", "from 2 in item", "words"),
    ),
    "position": (
        *("from 0", "from 1", "from 2"),
        *("from 0 in item", "from 1 in item", "from 2 in item"),
    ),
    "word_id": ("from 0", "from 1", "from 2"),
    "unique_id": ("labels",),
    "offset": ("from 0", "from 1"),
    "rows": ("in order",),
    "words": ("in order",),
}


def problem(join: Mapping[str, str] | None) -> str:
    """Return the fault of the option `join`, "" if it is valid."""
    for key, setting in (join or {}).items():
        if key not in SETTINGS:
            return f"join: no key is called {nearest(key, SETTINGS)}"
        if setting not in SETTINGS[key]:
            return f"join → {key}: there is no {nearest(setting, SETTINGS[key])}"
    return ""
