"""The page as one self-contained HTML file, with its data, its scripts and their libraries.

Its content security policy allows only its own scripts, by their digests, and DataTables from a
blob. Data are embedded as JSON, never as markup; scripts insert them as text.

The page's charts in Vega-Lite, written with Altair; the page adds data, titles and colours.
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

import altair as alt

from readingtimes.files import atomic
from recency.errors import InputError
from recency.evaluations.explore.view_data import Contents
from recency.figures.paths import File

LOG = alt.Scale(type="log", zero=False, nice=False, padding=16)
NUMBERS = alt.Axis(tickCount=8, labelFlush=False, labelOverlap="greedy", labelSeparation=8)


def _x(field: str = "x", **scale: Any) -> alt.X:
    return alt.X(f"{field}:Q", title="x_title", axis=NUMBERS, scale=alt.Scale(zero=False, **scale))


def _y(field: str = "y") -> alt.Y:
    return alt.Y(f"{field}:Q", title="y_title", scale=alt.Scale(zero=False))


def _named_data(name: str) -> alt.NamedData:
    return alt.NamedData(name=name)


def scatter() -> alt.TopLevelMixin:
    """Points of words, with marked selection, and a smooth with its band."""
    brush = alt.selection_interval(name="brush")
    points = (
        alt.Chart(_named_data("points"))
        .mark_point(size=14, filled=True, opacity=0.45)
        .encode(
            x=_x(),
            y=_y(),
            color=alt.condition("datum.selected", alt.value("$chosen"), alt.value("$ink")),
            size=alt.condition("datum.selected", alt.value(40), alt.value(14)),
            tooltip=["word:N", "x:Q", "y:Q"],
        )
        .add_params(brush)
    )
    smooth = alt.Chart(_named_data("smooth"))
    band = smooth.mark_area(opacity=0.3, color="$line").encode(
        x=_x(), y=alt.Y("low:Q", title="y_title"), y2="high:Q"
    )
    line = smooth.mark_line(color="$line", strokeWidth=2.5).encode(x=_x(), y=_y("middle"))
    return (points + band + line).properties(height=380)


def cumulative() -> alt.TopLevelMixin:
    """Cumulative contributions of units, largest first, with half of the total, and those of noise."""
    curve = (
        alt.Chart(_named_data("curve"))
        .mark_line(color="$line", strokeWidth=2.5)
        .encode(x=_x(), y=_y(), tooltip=["x:Q", "y:Q"])
    )
    alike = (
        alt.Chart(_named_data("alike"))
        .mark_line(color="$low", strokeWidth=1.2)
        .encode(x=_x(), y=_y())
    )
    half = alt.Chart(_named_data("half"))
    across = half.mark_rule(color="$chosen", strokeDash=[5, 4]).encode(y="y:Q")
    down = half.mark_rule(color="$chosen", strokeDash=[5, 4]).encode(x="x:Q")
    return (alike + curve + across + down).properties(height=240)


def bars() -> alt.TopLevelMixin:
    """Largest contributions of units."""
    y = alt.Y("name:N", sort=None, title=None)
    return (
        alt.Chart(_named_data("bars"))
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title="x_title", axis=NUMBERS),
            y=y,
            color=alt.condition("datum.value < 0", alt.value("$low"), alt.value("$high")),
            tooltip=["name:N", "value:Q"],
        )
        .properties(height=alt.Step(17))
    )


def readers() -> alt.TopLevelMixin:
    """Slope and gain of each reader."""
    return (
        alt.Chart(_named_data("readers"))
        .mark_point(size=30, filled=True, opacity=0.7, color="$line")
        .encode(x=_x(), y=_y(), tooltip=["name:N", "x:Q", "y:Q"])
        .properties(height=340)
    )


def ranking() -> alt.TopLevelMixin:
    """ΔLogLik of each LM with its interval, one panel per response."""
    y = alt.Y("name:N", sort=None, title=None)
    base = alt.Chart()
    ends = base.mark_rule(color="$line", strokeWidth=2).encode(x=_x("low"), x2="high:Q", y=y)
    values = base.mark_point(size=60, filled=True, opacity=1, color="$line").encode(
        x=_x("value"), y=y, tooltip=["name:N", "value:Q", "low:Q", "high:Q"]
    )
    panel = (ends + values).properties(height=alt.Step(19))
    header = alt.Header(title=None, labelAnchor="start", labelFontWeight="bold", labelLimit=500)
    facet = alt.Facet("response:N", sort=None, header=header)
    chart = panel.facet(facet=facet, columns=1, data=_named_data("ranking"))
    return chart.resolve_scale(x="independent", y="independent")


def memory() -> alt.TopLevelMixin:
    """Half-life of each LM's memory against ΔLogLik; points have the LMs' numbers in the table."""
    base = alt.Chart(_named_data("memory"))
    x = alt.X("x:Q", title="x_title", axis=NUMBERS, scale=LOG)
    across = base.mark_rule(color="$line", opacity=0.5).encode(
        x=alt.X("low:Q", title="x_title", axis=NUMBERS, scale=LOG), x2="high:Q", y=_y()
    )
    up = base.mark_rule(color="$line", opacity=0.5).encode(
        x=x, y=alt.Y("y_low:Q", title="y_title"), y2="y_high:Q"
    )
    disc = base.mark_point(size=260, filled=True, opacity=1, color="$line").encode(
        x=x, y=_y(), tooltip=["name:N", "x:Q", "y:Q"]
    )
    number = base.mark_text(fontSize=11, fontWeight="bold", color="$paper").encode(
        x=x, y=_y(), text="number:N", tooltip=["name:N", "x:Q", "y:Q"]
    )
    return (across + up + disc + number).properties(height=380)


def specifications() -> dict[str, dict[str, Any]]:
    """Return chart → Vega-Lite, without data and without Altair's theme.

    The page replaces the titles `x_title` and `y_title` and the colours `$ink`, `$line`, `$chosen`,
    `$low`, `$high` and `$paper`.
    """
    charts = (scatter, cumulative, bars, readers, ranking, memory)
    specs = {}
    with alt.theme.enable("none"):
        for chart in charts:
            spec = chart().to_dict(validate=True)
            specs[chart.__name__] = spec
    return specs


TEMPLATE = "explore.html"
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

    except ImportError as error:
        raise InputError(
            f"the explorer needs {error.name}, which is not installed: {NEEDED}"
        ) from None
    here, tables = files(__package__), files(itables) / "html"
    colours = read(files("recency.figures"), "colours.css")
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
        "style": read(tables, "dt_bundle.css") + colours + read(here, "explore.css"),
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
