"""ΔLogLik for every combination of some settings: how much a result depends on each of them.

A cell is a response with one value of each setting (grids.SETTINGS), in which all LMs were scored
and fitted with the same settings. The figure has a column per cell, with its settings marked
beneath, and shows the lead of each LM over the baseline, whose own ΔLogLik is in the table.
"""

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recency import grids
from recency.endpoints import ENDPOINTS
from recency.evaluations.reading_times.delta_loglik import OWN
from recency.evaluations.reading_times.intervals import ALL
from recency.figures import comparison, style, tables
from recency.figures.comparison import LM, Described, Response, View
from recency.figures.intervals import describe_method, nats
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "main": {
        "makes": {
            "figure": ("figure_sensitivity", "ΔLogLik under other settings"),
            "table": ("table_sensitivity", "Table of ΔLogLik under other settings"),
        },
        "reads": ["delta_loglik", "intervals=delta_loglik_intervals", "not_run"],
        "settings": ["grid", "lms=plain_lms", "responses", "title", "baseline=plain_baseline"],
    }
}

DASHES = (0, (4, 2))
ENDS = ["low", "high", "by"]
ROW = 0.17  # inches per line of settings below the figure


def data(
    delta_loglik: File, intervals: File, grid: Mapping[str, Mapping], lms: list[LM]
) -> pd.DataFrame:
    """Return one row per fit: lm, label, dataset, measure, settings as text, ΔLogLik, convergence.

    loglik is the log-likelihood of the model with the LM, in nats per observation; low and high are
    the 95 % interval of the difference from the baseline with the same settings. The sums over
    responses follow, with dataset and measure `all`.
    """
    names = ["lm", "dataset", "measure", "design"]
    columns = [*names, "endpoint", "delta_loglik", OWN, "n", "n_exploratory", "converged"]
    labels = {lm.lm: lm.label for lm in lms}
    sure = comparison.table(intervals, [*names, "kind", "n", "delta_loglik", *ENDS])
    paired = sure[sure.kind == "baseline"].set_index(names)[ENDS]
    ends = {key: tuple(row) for key, row in paired.iterrows()}
    summed = sure[(sure.dataset == ALL) & (sure.kind == "own")].copy()
    fits = comparison.table(delta_loglik, columns)
    by_settings = grids.settings_of_designs(grid["designs"])
    if fits.groupby(["dataset", "measure"]).ngroups == 1:
        summed = summed[:0]
    rows = []
    fits[OWN] = fits[OWN].astype(float) / fits.n_exploratory.astype(float)
    fits["converged"] = ~fits.converged.astype(str).str.lower().isin(["false", "0", "0.0"])
    of_sum = fits.groupby(["lm", fits.design.map(by_settings)]).converged.all()
    summed[[OWN, "n_exploratory"]] = math.nan
    summed["endpoint"] = fits.endpoint.iloc[0]
    summed["converged"] = [of_sum[lm, settings] for lm, settings in zip(summed.lm, summed.design)]
    design_of = {settings: design for design, settings in by_settings.items()}
    for row in pd.concat([fits, summed[columns]]).itertuples(index=False):
        design = design_of[row.design] if row.dataset == ALL else row.design
        settings = {**grid["lms"][row.lm], **grid["designs"][design]}
        lm = settings["lm"]
        fit = {"delta_loglik": row.delta_loglik, OWN: getattr(row, OWN), "n": row.n}
        key = (row.lm, row.dataset, row.measure, row.design)
        fit |= dict(zip(ENDS, ends.get(key, (math.nan, math.nan, "")), strict=True))
        fit["endpoint"] = row.endpoint
        named = {"lm": lm, "label": labels[lm], "dataset": row.dataset, "measure": row.measure}
        every = _cells_of(settings, grid["lms"].values())
        if len(every) > 1:  # the baseline differs by cell
            fit |= {"low": math.nan, "high": math.nan}
        for cell in every:
            texts = {key: grids.written(key, cell[key]) for key in grids.SETTINGS}
            rows.append(named | texts | fit | {"converged": row.converged})
    return pd.DataFrame(rows)


def _cells_of(settings: Mapping, lms: Described) -> list[dict]:
    """Return the settings of a fit; an LM without some settings has every value of them."""
    others = [lm for lm in lms if "fixed" not in lm]
    fixed = settings.get("fixed", []) if others else []
    values = [list(dict.fromkeys(lm[key] for lm in others)) for key in fixed]
    return [{**settings, **dict(zip(fixed, cell))} for cell in itertools.product(*values)]


def varied_settings(rows: pd.DataFrame) -> list[str]:
    """Return the settings with several values."""
    return [key for key in grids.SETTINGS if rows[key].nunique() > 1]


def cells(rows: pd.DataFrame, settings: list[str]) -> list[tuple[str, ...]]:
    """Return the combinations of settings that were run, the first setting varying slowest."""
    if not settings:
        return [()]
    there = set(rows[settings].itertuples(index=False, name=None))
    values = [rows[key].drop_duplicates() for key in settings]
    return [cell for cell in itertools.product(*values) if cell in there]


def select_response(rows: pd.DataFrame, response: Response, settings: list[str]) -> pd.DataFrame:
    """Return ΔLogLik and convergence by cell and LM for one response."""
    part = rows[(rows.dataset == response.dataset) & (rows.measure == response.measure)]
    return part.set_index([*settings, "lm"])[["delta_loglik", OWN, "low", "high", "converged"]]


def fit_of(rows: pd.DataFrame, cell: tuple[str, ...], lm: str) -> pd.Series:
    """Return an LM's ΔLogLik in a cell, its interval and convergence; NaN if missing."""
    key = (*cell, lm) if cell else lm
    absent = dict.fromkeys(("delta_loglik", OWN, "low", "high"), math.nan) | {"converged": True}
    return rows.loc[key] if key in rows.index else pd.Series(absent)


def layout(
    rows: pd.DataFrame, lms: list[LM], responses: list[Response], title: str, missing: list[str]
) -> Table:
    """Return the cells as rows, the LMs of each response as columns.

    Beneath is the interval of the difference from the baseline, bold where it excludes zero. If
    families or linking functions differ, a column has the fit of each.
    """
    settings = varied_settings(rows)
    fitted = bool({"family", "linking"} & {*settings}) and "response" not in settings
    header = [
        ["" for _ in settings] + [Cell(r.label, span=len(lms) + fitted) for r in responses],
        [Cell(grids.SETTINGS[key], left=True) for key in settings]
        + [label for _ in responses for label in (*(lm.label for lm in lms), *["fit"] * fitted)],
    ]
    tabled = {response: select_response(rows, response, settings) for response in responses}
    best = {response: tabled[response][OWN].max() for response in responses}
    grid, won = [], dict.fromkeys(itertools.product(responses, lms), 0)
    every = cells(rows, settings)
    for cell in every:
        line = list(cell)
        for response in responses:
            fits = {lm: fit_of(tabled[response], cell, lm.lm) for lm in lms}
            highest = pd.Series([fit.delta_loglik for fit in fits.values()]).max()
            for lm, fit in fits.items():
                won[response, lm] += fit.delta_loglik == highest
                text = style.number(fit.delta_loglik) + ("" if fit.converged else "†")
                below = (style.interval(fit.low, fit.high, nats),)
                line.append(Cell(text, below, bold=fit.low > 0 or fit.high < 0))
            if fitted:
                own_best = pd.Series([lm_fits[OWN] for lm_fits in fits.values()]).max()
                line.append(style.number(1000 * (own_best - best[response])))
        grid.append(line)
    notes = [
        (
            f"ΔLogLik in nats, log-likelihood {_endpoint(rows)}; beneath, the 95 % interval of the "
            "difference from the baseline, bold where it excludes zero"
        ),
        f"intervals: {describe_method(set(rows.by))}",
    ]
    for response in responses:
        wins = ", ".join(f"{lm.label} {won[response, lm]}" for lm in lms if won[response, lm])
        notes.append(
            f"{response.label}: number of {len(every)} cells with the highest value: {wins or 'none'}"
        )
    if fitted:
        notes.append(
            "fit: log-likelihood per 1,000 exploratory observations (nats, for times in ms) of the best LM's "
            "model, relative to the best cell"
        )
    notes.append(constant(rows))
    if not rows.converged.all():
        notes.append("†: the regression did not converge")
    return Table(title, header, grid, [note for note in notes if note] + missing)


def _endpoint(rows: pd.DataFrame) -> str:
    """Return what the log-likelihood is of."""
    return " and ".join(ENDPOINTS[name].of for name in rows.endpoint.unique())


def constant(rows: pd.DataFrame) -> str:
    """Return a note on the settings shared by all cells."""
    shared = [k for k in grids.SETTINGS if rows[k].nunique() == 1]
    values = ", ".join(f"{grids.SETTINGS[key]} {rows[key].iloc[0]}" for key in shared)
    return f"in all cells: {values}" if values else ""


def draw(
    rows: pd.DataFrame, lms: list[LM], baseline: LM, responses: list[Response], missing: list[str]
) -> Figure:
    """Draw a panel per response and a column per cell, with the settings beneath."""
    settings, looks = varied_settings(rows), style.looks(lms, apart=True)
    others = [lm for lm in lms if lm is not baseline]
    every = cells(rows, settings)
    kinds = [(key, value) for key in settings for value in rows[key].drop_duplicates()]
    heights = [1.3] * len(responses) + [ROW * max(1, len(kinds)) + 0.1]
    figure = style.figure(sum(heights) + 0.7)
    panels = figure.subplots(len(heights), sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for axes, response in zip(panels, responses, strict=False):
        response_rows = select_response(rows, response, settings)
        fits = {lm.lm: [fit_of(response_rows, cell, lm.lm) for cell in every] for lm in lms}
        reference = np.array([fit.delta_loglik for fit in fits[baseline.lm]])
        for index, lm in enumerate(others):
            look, shown = looks[lm.lm], fits[lm.lm]
            xs = np.arange(len(every)) + 0.6 * ((index + 0.5) / len(others) - 0.5)
            deltas = [fit.delta_loglik for fit in shown] - reference
            low, high = np.array([(fit.low, fit.high) for fit in shown]).T
            axes.vlines(xs, low, high, color=look.colour, lw=0.7, zorder=1.5,
                        gid=f"intervals {response.label} {lm.lm}")  # fmt: skip
            axes.plot(xs, deltas, look.marker, mfc=look.face, mec=look.colour,
                      ms=4.2, mew=1, color=look.colour, gid=f"{response.label} {lm.lm}")  # fmt: skip
        axes.axhline(0, color=looks[baseline.lm].colour, ls=DASHES, lw=1, zorder=1)
        axes.set_title(response.label, loc="left", size=8.5)
        axes.set_ylabel("ΔLogLik above\nbaseline (nats)")
        axes.grid(axis="y")
        axes.tick_params(axis="x", length=0)
        axes.yaxis.set_major_formatter(style.tick)
    matrix = panels[-1]
    for row, (key, value) in enumerate(kinds):
        at = [x for x, cell in enumerate(every) if cell[settings.index(key)] == value]
        matrix.plot(at, [row] * len(at), "s", color=style.GREY, ms=3.4)
        if row % 2:
            matrix.axhspan(row - 0.5, row + 0.5, color="#f3f3f3", lw=0, zorder=0)
    matrix.set_yticks(range(len(kinds)), [f"{grids.SETTINGS[key]}: {v}" for key, v in kinds])
    matrix.set_ylim(max(1, len(kinds)) - 0.5, -0.5)
    matrix.set_xticks([])
    matrix.set_xlim(-0.6, len(every) - 0.4)
    matrix.tick_params(axis="y", length=0)
    for side in ("left", "bottom"):
        matrix.spines[side].set_visible(False)
    handles = [
        style.handle(color=look.colour, marker=look.marker, mfc=look.face, ls="", label=lm.label)
        for lm in others
        if (look := looks[lm.lm])
    ]
    named = f"baseline: {baseline.label}"
    handles.append(style.handle(color=looks[baseline.lm].colour, ls=DASHES, lw=1, label=named))
    figure.legend(handles=handles, loc="outside upper left", ncols=min(5, len(handles)))
    sure = (
        f"log-likelihood {_endpoint(rows)}; lines: 95 % intervals, {describe_method(set(rows.by))}"
    )
    lines = [note for note in (sure, constant(rows), *missing) if note]
    if not rows.converged.all():
        failed = (~rows.converged & (rows.dataset != ALL)).sum()
        lines.append(f"regressions that did not converge: {failed}, see the table")
    style.notes(figure, lines)
    return figure


def main(
    view: View,
    delta_loglik: File,
    intervals: File,
    figure: Files,
    table: Files,
    grid: Mapping[str, Mapping],
) -> None:
    """Write figure (.pdf, .svg, .png, .csv) and table (.csv, .html, .tex).

    `grid` explains the names in delta_loglik.csv, as returned by grids.expand.
    """
    models = view.lms
    rows = data(delta_loglik, intervals, grid, models)
    there = set(zip(rows.dataset, rows.measure, strict=True))
    measured = [r for r in view.responses if (r.dataset, r.measure) in there]
    missing = view.absent([r.label for r in measured])
    if (ALL, ALL) in there:
        measured = [Response(ALL, ALL, "Responses that all LMs have, summed"), *measured]
    tables.write(table, layout(rows, models, measured, view.title, missing), rows)
    baseline_lm = comparison.find(models, view.baseline)
    style.write(figure, rows, draw, rows, models, baseline_lm, measured, missing)
