"""The page as one self-contained HTML file, with its data, its scripts and their libraries.

Its content security policy allows only its own scripts, by their digests, and DataTables from a
blob. Data are embedded as JSON, never as markup; scripts insert them as text.
"""

import base64
import hashlib
import html
import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from readingtimes.files import atomic
from recency.errors import InputError
from recency.evaluations.explore.view_data import Contents
from recency.figures.paths import File

TEMPLATE, STYLE = "explore.html", "explore.css"
SCRIPTS = ("explore_data.js", "explore_views.js")
NEEDED = "pip install 'recency[explore]'"
EMBED = "window.vegaEmbed = vegaEmbed;"


def write(out: File, contents: Contents) -> None:
    """Write the page to `out`."""
    text = page(contents, os.fspath(out))
    with atomic(out) as path:
        path.write_text(text, encoding="utf-8")


def page(contents: Contents, name: str = "") -> str:
    """Return the page as HTML; `name` is its file, for the command that opens it."""
    try:
        import itables
        import vl_convert

        from recency.evaluations.explore.chart_specs import specifications
    except ImportError as error:
        raise InputError(
            f"the explorer needs {error.name}, which is not installed: {NEEDED}"
        ) from None
    here, tables = files(__package__), files(itables) / "html"
    data = asdict(contents) | {
        "charts": specifications(),
        "page": shlex.quote(name) if name else "",
    }
    scripts = [vl_convert.javascript_bundle(EMBED), *(read(here, script) for script in SCRIPTS)]
    digests = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    parts = {  # in the template's order
        "policy": (
            f"default-src 'none'; script-src {digests} blob:; style-src 'unsafe-inline'; "
            "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
        ),
        "title": html.escape(contents.title),
        "style": read(tables, "dt_bundle.css") + read(here, STYLE),
        "data": as_json(data),
        "datatables": base64.b64encode((tables / "dt_bundle.js").read_bytes()).decode("ascii"),
        "scripts": "\n".join(f"<script>{text}</script>" for text in scripts),
    }
    text = read(here, TEMPLATE)
    for key, value in parts.items():
        before, marker, after = text.partition(f"{{{{{key}}}}}")
        if not marker:
            raise ValueError(f"{TEMPLATE} has no placeholder {key}")
        parts[key], text = before, after  # inserted text is not searched again
        parts[key] += value
    return "".join(parts.values()) + text


def as_json(data: Mapping[str, Any]) -> str:
    """Return JSON that cannot close its script element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace("\u2028", r"\u2028").replace("\u2029", r"\u2029")


def read(folder: Any, name: str) -> str:
    """Return a file of a package, with the line endings that its digest assumes."""
    return (folder / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
