"""Uncertainty of the ranking of an experiment's LMs, with all regressions refitted.

Each draw resamples the subjects of every dataset with replacement, refits every regression to
them and ranks the LMs by total ΔLogLik; LMs with several seeds have their seeds resampled as well.
Unlike the intervals of ΔLogLik, which are conditional on the fits, this includes the uncertainty of
the coefficients and of theta.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslmm.stats import bootstrap
from recency.errors import InputError
from recency.figures import bases, comparison, style, tables
from recency.figures.comparison import LM, Described
from recency.figures.intervals import nats
from recency.figures.paths import File, Files
from recency.figures.tables import Table

PRODUCTS = {
    "main": {
        "makes": {
            "figure": ("figure_ranks", "Ranks with resampled subjects"),
            "table": ("table_ranks", "Table of ranks with resampled subjects"),
        },
        "reads": ["full", "base", "not_run"],
        "settings": ["cells", "lms", "responses", "baseline", "baseline_model"],
        "summary": ("table_ranks.csv", "{title}: ranks with resampled subjects"),
    }
}

SEED = 1
"""Seed for resampling the seeds of LMs."""


def totals(
    full: Sequence[File], base: Sequence[File], cells: Sequence[Mapping[str, Any]]
) -> tuple[pd.DataFrame, list[str]]:
    """Return ΔLogLik by draw and LM, over all responses, and notes; draw 0 is the data.

    Responses without refits of some LM are excluded, and so are draws with a failed fit.
    """
    parts: dict[tuple, dict[str, dict[str, np.ndarray]]] = {}
    for cell, *pair in zip(cells, full, base, strict=True):
        with_lm, without_lm = (pd.read_parquet(path).loglik.to_numpy(float) for path in pair)
        if len(with_lm) != len(without_lm):
            raise InputError(f"{pair[0]} and {pair[1]} do not have the same draws; run both again")
        response = tuple(cell[key] for key in ("dataset", "measure", "design"))
        seeds = parts.setdefault(response, {}).setdefault(cell["lm"], {})
        seeds[str(cell.get("seed", ""))] = with_lm - without_lm
    lms = list(dict.fromkeys(cell["lm"] for cell in cells))
    total: dict[str, np.ndarray] = {}
    for part in parts.values():
        drawn = {lm: _over_seeds(seeds) for lm, seeds in part.items()}
        for lm in lms:
            total[lm] = total.get(lm, 0.0) + drawn[lm]
    frame = pd.DataFrame(total, columns=lms)
    lost = frame.isna().any(axis=1)
    notes = [f"{int(lost.sum())} draws with a failed fit excluded"] if lost.any() else []
    return frame[~lost], notes


def _over_seeds(seeds: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the mean over seeds, resampled for each draw except the first, equally for all LMs."""
    values = np.array([seeds[name] for name in sorted(seeds)])
    S, draws = values.shape
    if S == 1:
        return values[0]
    random = np.random.default_rng([SEED, S])
    weights = bootstrap.resample_few(random, S, draws).T
    weights[:, 0] = 1 / S
    return (weights * values).sum(0)


def ranked(drawn: pd.DataFrame) -> pd.DataFrame:
    """Return the rank of each LM, from 1, in each draw; ties share the better rank."""
    return drawn.rank(axis=1, ascending=False, method="min").astype(int)


def data(drawn: pd.DataFrame, lms: Iterable[LM], baseline: str | None) -> pd.DataFrame:
    """Return a row per LM, best first: ΔLogLik, its interval, shares of draws by rank.

    `above_baseline` is the share of draws with a higher ΔLogLik than the baseline's.
    """
    labels = {lm.lm: lm.label for lm in lms}
    there, draws = drawn.iloc[0], drawn.iloc[1:]
    ranks, order = ranked(draws), there.sort_values(ascending=False, kind="stable").index
    rows = []
    for rank, lm in enumerate(order, 1):
        low, high = draws[lm].quantile([0.025, 0.975])
        best, worst = ranks[lm].quantile([0.025, 0.975], interpolation="nearest")
        row = {"lm": lm, "label": labels[lm], "rank": rank, "delta_loglik": there[lm]}
        row |= {"low": low, "high": high, "low_rank": int(best), "high_rank": int(worst)}
        above = (
            (draws[lm] > draws[baseline]).mean() if baseline in draws and lm != baseline else None
        )
        row |= {"above_baseline": above, "draws": len(draws)}
        shares = ranks[lm].value_counts(normalize=True)
        rows.append(
            row | {f"rank_{k}": float(shares.get(k, 0.0)) for k in range(1, len(order) + 1)}
        )
    return pd.DataFrame(rows)


def shares(rows: pd.DataFrame) -> np.ndarray:
    """Return the share of draws of each LM (rows) at each rank (columns)."""
    return rows[[f"rank_{k}" for k in range(1, len(rows) + 1)]].to_numpy(float)


def percent(share: float) -> str:
    """Format a share of draws in percent: "63", "<1", or an empty string for none."""
    return "" if not share else "<1" if share < 0.005 else f"{100 * share:.0f}"


def draw(rows: pd.DataFrame, words: Iterable[str]) -> Figure:
    """Draw a square per LM and rank, shaded by its share of draws, which is printed in percent."""
    image, many = shares(rows), len(rows)
    figure = style.figure(0.75 + 0.24 * many)
    axes = figure.add_subplot()
    axes.imshow(image, cmap="Blues", vmin=0, vmax=1.15, aspect="auto", gid="shares")
    if many <= 12:
        for y, x in np.argwhere(image > 0):
            colour = "white" if image[y, x] > 0.6 else "black"
            axes.text(
                x, y, percent(image[y, x]), ha="center", va="center", size=style.SMALL, color=colour
            )
    axes.set_xticks(range(many), range(1, many + 1))
    axes.set_yticks(range(many), rows.label)
    axes.set_xlabel("Rank (percent of draws)")
    edges = np.arange(many + 1) - 0.5
    style.part_cells(axes, edges, edges, 1.5)
    style.notes(figure, words)
    return figure


def layout(rows: pd.DataFrame, baseline: str | None, title: str, notes: list[str]) -> Table:
    """Return the table, the best LM first."""
    above = [f"above {baseline}"] if baseline else []
    heads = ["", "LM", "ΔLogLik", "95 %", "Ranks", *above, "First"]
    grid = []
    for row in rows.itertuples(index=False):
        cells = [str(row.rank), row.label]
        cells += [style.number(row.delta_loglik), f"{nats(row.low)} to {nats(row.high)}"]
        low, high = row.low_rank, row.high_rank
        cells.append(str(low) if low == high else f"{low} to {high}")
        if baseline:
            has_share = row.above_baseline is not None and not pd.isna(row.above_baseline)
            cells.append(f"{100 * row.above_baseline:.0f} %" if has_share else "")
        cells.append(f"{percent(row.rank_1) or 0} %")
        grid.append(cells)
    return Table(title, heads, grid, notes, left=("", "LM"))


def notes_on_draws(draws: int, base: str, seeds: int) -> list[str]:
    """Return a note on the draws and refits."""
    also = " and seeds" if seeds > 1 else ""
    what = f"{draws:,} draws of subjects{also}, every regression refitted to each"
    return ["; ".join(filter(None, [bases.SHORT.get(base, ""), what]))]


def summary(path: Path) -> Table:
    """Return the ranks, from this table's CSV, for the summary."""
    rows = comparison.table(path, ["lm", "label", "rank", "low_rank", "high_rank", "draws"])
    notes = [
        f"{rows.draws.iloc[0]:,} draws of subjects, every regression refitted; ranks: 95 % of draws"
    ]
    return layout(rows.assign(above_baseline=None), None, "", notes)


def main(
    *,
    full: Sequence[File],
    base: Sequence[File],
    figure: Files,
    table: Files,
    cells: Sequence[Mapping[str, Any]],
    lms: Described,
    responses: Described,
    baseline: str | None = None,
    baseline_model: str = "",
    not_run: File | None = None,
    title: str = "Ranks of the language models",
) -> None:
    """Draw `figure` (.pdf, .svg, .png, .csv) and write `table` (.csv, .html, .tex).

    `full` and `base` are the files of refits in the order of `cells` (lm, dataset, measure, design,
    optionally seed); `baseline_model` is fixed, all or several.
    """
    models, measured = comparison.records(lms, responses)
    drawn, lost = totals(full, base, cells)
    if len(drawn) < 2 or drawn.index[0] != 0:
        raise InputError("ranks: a regression has no fit to the data; remove its response")
    rows = data(drawn, models, baseline)
    run = {(cell["dataset"], cell["measure"]) for cell in cells}
    absent = [response for response in measured if (response.dataset, response.measure) not in run]
    missing = [*lost, *comparison.absent_responses(absent, comparison.reasons(not_run))]
    seeds = len({cell.get("seed") for cell in cells})
    sentences = notes_on_draws(int(rows.draws.iloc[0]), baseline_model, seeds)
    style.write(figure, rows, draw, rows, [*sentences, *missing])
    reference = next((lm.label for lm in models if lm.lm == baseline), None)
    notes = [
        f"ΔLogLik in nats{bases.relative_to(baseline_model)}, over all responses, best first; {sentences[0].split('; ')[-1]}",
        "95 %, ranks: of the draws; above, first: share of draws",
    ]
    tables.write(table, layout(rows, reference, title, notes + missing), rows)
