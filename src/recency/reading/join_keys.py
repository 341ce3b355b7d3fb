"""The keys by which a table's rows are joined to words; light, for the plan."""

from collections.abc import Mapping

from recency.names import nearest

KEYS = ("item", "sentence", "position", "word_id", "unique_id", "offset", "word", "length")
TYPE = "type"
"""The key of tables with a row per word type, as lists of norms have."""
#: How a key may be read; `join` in a table's options selects one.
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
    """Return what is wrong with the option `join`; "" if nothing is."""
    for key, setting in (join or {}).items():
        if key not in SETTINGS:
            return f"join: no key is called {nearest(key, SETTINGS)}"
        if setting not in SETTINGS[key]:
            return f"join → {key}: there is no {nearest(setting, SETTINGS[key])}"
    return ""
