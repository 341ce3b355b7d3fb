"""Human scores of LMs' continuations: their judgements, and their relation to metrics of the LMs.

Ratings are by majority vote, scores n₃/n₀. Cubics of perplexity, mean log rank and top-1 are fitted
to the scores (thesis, Table 7.2, Figures 7.1 and 7.2).
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.polynomial import Polynomial

from crosslmm.stats import bootstrap
from recency.errors import InputError
from recency.figures import comparison, labels, style, tables
from recency.figures.comparison import LM, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

DEGREE = 3
#: Metric → whether the fit uses its logarithm (Figure 7.2 has a logarithmic axis).
METRICS = {"perplexity": True, "mean_log_rank": False, "top_1": False}


def fit(x: Sequence[float], score: Sequence[float]) -> tuple[Polynomial | None, float]:
    """Fit a cubic by least squares; return it and R²_adj = 1 − (1 − R²)(N − 1)/(N − k − 1), k = 3.

    Returns None and NaN with fewer than five points or four distinct values of `x`.
    """
    x, score = np.asarray(x, float), np.asarray(score, float)
    if len(x) < DEGREE + 2 or len(np.unique(x)) <= DEGREE or np.ptp(score) == 0:
        return None, math.nan
    curve = Polynomial.fit(x, score, DEGREE)
    share = ((score - curve(x)) ** 2).sum() / ((score - score.mean()) ** 2).sum()
    return curve, 1 - share * (len(x) - 1) / (len(x) - DEGREE - 1)


def human_level(curve: Polynomial, human: float, best: float) -> float:
    """Return where a cubic reaches the originals' score `human`, or NaN.

    With several crossings this is the one nearest to `best`, the metric of the LM with the highest
    score.
    """
    roots = (curve - human).roots()
    real = roots[np.abs(roots.imag) < 1e-7].real
    return float(real[np.abs(real - best).argmin()]) if len(real) else math.nan


SHEET = ["id", "context", "continuation", "rating"]
COUNTS = ["n0", "n1", "n2", "n3"]
REPLICATES = 2000


def read(path: File, sheet: File) -> pd.DataFrame:
    """Return the judgements (id, rating), each verified against the sheet that judges were given.

    Parameters
    ----------
    path : file
        Copies of continuations.csv, one per judge, with ratings 0, 1, 2 or 3. Rows without a rating
        and repeated headers are skipped.
    sheet : file
        continuations.csv as this study wrote it.

    Raises
    ------
    InputError
        With file and row: a rating other than these, an id that is not in the sheet, another text.

    """
    texts = comparison.table(sheet, SHEET).set_index("id")
    texts = texts[["context", "continuation"]].fillna("").astype(str).agg(" … ".join, axis=1)
    remedy = "judgements are copies of continuations.csv with ratings"
    rows = comparison.table(path, SHEET, remedy).astype(object)
    rows = rows[rows["rating"].notna() & (rows["id"].astype(str) != "id")]
    if rows.empty:
        raise InputError(f"{path} has no rating; fill in its column `rating` (0 to 3)")
    ratings = pd.to_numeric(rows["rating"], errors="coerce")
    ids = pd.to_numeric(rows["id"], errors="coerce")
    shown = rows[["context", "continuation"]].fillna("").astype(str).agg(" … ".join, axis=1)
    for row, number, rating, text in zip(rows.index, ids, ratings, shown, strict=True):
        where = f"{path}, row {row + 1}"
        if rating not in (0, 1, 2, 3):
            value = rows["rating"][row]
            raise InputError(f"{where}: rating {value!r} is not 0, 1, 2 or 3; correct or remove it")
        if number not in texts.index:
            raise InputError(f"{where}: id {rows['id'][row]!r} is not in {sheet}")
        if texts[number] != text:
            raise InputError(
                f"{where}: text {int(number)} differs from that in {sheet}; these judgements belong to "
                "other continuations (another LM, seed or dataset): keep them with the results they "
                "are of"
            )
    return pd.DataFrame({"id": ids.astype(int), "rating": ratings.astype(int)}).reset_index(
        drop=True
    )


def majority(ratings: pd.Series, min_judges: int) -> int | None:
    """Return the rating that at least half of `min_judges` or more judges gave; None without one.

    Two ratings with half of the judgements each are not a majority: in the thesis, more people were
    then asked.
    """
    votes = ratings.value_counts()
    top = votes.index[(votes == votes.max()) & (2 * votes >= len(ratings))]
    return int(top[0]) if len(ratings) >= min_judges and len(top) == 1 else None


def scored(judgements: pd.DataFrame, key: File, min_judges: int, seed: int) -> pd.DataFrame:
    """Return a row per LM, and one for the original texts.

    Columns: lm, texts, undecided (judged, without a majority of `min_judges` judges), n0 … n3, score
    (n₃/n₀; infinite if no text was rated 0) and its 95 % percentile interval over texts.
    """
    keys = comparison.table(key, ["id", "text", "lm"])
    votes = judgements.groupby("id")["rating"].agg(lambda ratings: majority(ratings, min_judges))
    keys = keys[keys["id"].isin(votes.index)]
    keys = keys.assign(vote=pd.to_numeric(keys["id"].map(votes)))
    rows = []
    for lm, lm_keys in keys.groupby("lm", sort=False):
        counted = pd.get_dummies(lm_keys["vote"]).reindex(columns=range(4), fill_value=False)
        sums = counted.to_numpy(float)
        n = sums.sum(0)
        drawn = [ratio(*draw) for draw in bootstrap.draws(sums[:, [3, 0]], REPLICATES, seed)]
        low, high = bootstrap.percentiles(pd.Series(drawn).to_numpy())
        row = {"lm": lm, "texts": len(lm_keys), "undecided": int(lm_keys["vote"].isna().sum())}
        row |= dict(zip(COUNTS, map(int, n), strict=True)) | {"score": ratio(n[3], n[0])}
        rows.append(row | {"score_low": low, "score_high": high})
    columns = ["lm", "texts", "undecided", *COUNTS, "score", "score_low", "score_high"]
    return pd.DataFrame(rows, columns=columns)


def ratio(human: float, machine: float) -> float:
    """Return n₃/n₀: infinite without a 0, NaN without either."""
    if machine:
        return human / machine
    return math.inf if human else math.nan


PRODUCTS = {
    "figure_turing_test": {
        "makes": {"out": ("figure_turing_test", "Human scores by metric")},
        "reads": ["scores=table_turing_test", "fits=table_turing_fits"],
        "settings": ["lms"],
    },
    "table_turing_test": {
        "makes": {"out": ("table_turing_test", "Human scores of continuations")},
        "reads": [
            "judgements",
            "sheet=continuations",
            "key=continuations_key",
            "metrics=table_rank_metrics",
        ],
        "settings": ["lms", "title", "min_judges", "absent"],
        "published": "turing_test",
    },
    "table_turing_fits": {
        "makes": {"out": ("table_turing_fits", "Human scores by metric: cubic fits")},
        "reads": ["scores=table_turing_test"],
        "settings": ["title"],
        "published": "turing_fits",
    },
}


COLUMNS = ["source", "lm", "label", *METRICS, "texts", "undecided", *COUNTS]
COLUMNS += ["score", "score_low", "score_high"]
ORIGINAL, HUMAN = "original", "Human (estimated)"
NOTES = [
    "score: texts rated 3 (clearly human) per text rated 0 (clearly not human), by majority vote; beneath: 95 % interval over texts",
    "perplexity, mean log rank (natural) and top-1 are per token after the first words",
]


def collect_results(view: View, scores: pd.DataFrame | None, metrics: File) -> pd.DataFrame:
    """Return COLUMNS: the LMs here and the original texts, then the published models."""
    measured = comparison.table(metrics, ["lm", *METRICS]).set_index("lm")
    rows = pd.DataFrame(list(view.labels.items()), columns=["lm", "label"])
    if scores is not None:
        rows.loc[len(rows)] = {"lm": ORIGINAL, "label": "original texts"}
        rows = rows.merge(scores, on="lm", how="left")
    frames = [rows.assign(source="here", **{m: rows["lm"].map(measured[m]) for m in METRICS})]
    published_rows = view.published_rows(["model", *METRICS, "score"])
    if published_rows is not None:
        published_rows = published_rows.rename(columns={"model": "label"})
        human = published_rows["label"] == HUMAN
        frames.append(published_rows.assign(source="published", lm=np.where(human, ORIGINAL, "")))
    return pd.concat(frames, ignore_index=True).reindex(columns=COLUMNS)


def layout(data: pd.DataFrame, absent: str, min_judges: int, title: str) -> Table:
    """Return the LMs here by perplexity, then the published models."""
    header = ["", "Perplexity", "Log rank", "Top-1 (%)", "Texts", "Undecided", "0", "1", "2", "3"]
    grid, rules = [], ()
    here = data[data["source"] == "here"].sort_values("perplexity")
    for row in [*here.itertuples(), *data[data["source"] != "here"].itertuples()]:
        if row.source != "here" and not rules:
            rules = (len(grid),)
        name = row.label if row.source == "here" else f"published: {row.label}"
        cells = [name, style.number(row.perplexity), style.number(row.mean_log_rank, 2)]
        counts = [getattr(row, column) for column in ("texts", "undecided", *COUNTS)]
        cells += [style.number(row.top_1), *(style.number(column, 0) for column in counts)]
        ends = (row.score_low, row.score_high)
        within = () if np.isnan(ends).any() else (style.interval(*ends, decimals=2),)
        written = "∞" if np.isinf(row.score) else style.number(row.score, 2)
        grid.append([*cells, Cell(written, within)])
    notes = [*NOTES, f"undecided: fewer than {min_judges} judges, or no rating by half of them"]
    if absent:
        notes.append(f"not run: people's judgements of the LMs here ({absent})")
    if rules:
        notes.append("published: the thesis's Table 7.2, for other LMs and another text")
    return Table(f"{title}: human scores", [*header, "Score"], grid, notes, rules)


def table_turing_test(
    view: View,
    judgements: Files,
    sheet: File,
    key: File,
    metrics: File,
    out: Files,
    min_judges: int,
    absent: str,
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `judgements` is empty if none were supplied."""
    paths = [judgements] if isinstance(judgements, str) else list(judgements)
    scores = scored(read(paths[0], sheet), key, min_judges, seed=0) if paths else None
    data = collect_results(view, scores, metrics)
    tables.write(out, layout(data, absent, min_judges, view.title), data)


COEFFICIENTS = ["c0", "c1", "c2", "c3"]
FITS = ["points", "metric", "models", "adjusted_r2", "human_score", "human_level", *COEFFICIENTS]
FITS += ["published_adjusted_r2", "published_human_level"]
HERE, PUBLISHED = "LMs here", "published models"
WITH_HUMAN = "published models and the estimated human"
NAMES = {"perplexity": "log perplexity", "mean_log_rank": "mean log rank", "top_1": "top-1 (%)"}


def fits(data: pd.DataFrame) -> pd.DataFrame:
    """Return FITS of the LMs here, of published models, and of these with the estimated human score.

    The coefficients are of powers of the metric, with the natural logarithm of perplexity;
    `human_level` is the metric, in its unit, at which the cubic reaches the score of the original
    texts.
    """
    rows = []
    for points, source, with_human in (
        (HERE, "here", False),
        (PUBLISHED, "published", False),
        (WITH_HUMAN, "published", True),
    ):
        scored = data[(data["source"] == source) & np.isfinite(data["score"])]
        human = scored[scored["lm"] == ORIGINAL]["score"]
        models = scored if with_human else scored[scored["lm"] != ORIGINAL]
        if scored.empty:
            continue
        for metric, logarithmic in METRICS.items():
            used = models.dropna(subset=[metric])
            x = np.log(used[metric]) if logarithmic else used[metric]
            curve, adjusted = fit(x, used["score"])
            row = {"points": points, "metric": metric, "models": len(used), "adjusted_r2": adjusted}
            if curve is not None:
                lms = used[used["lm"] != ORIGINAL]
                best = x[lms["score"].idxmax()]
                level = human_level(curve, human.iloc[0], best) if len(human) else np.nan
                row["human_score"] = human.iloc[0] if len(human) else np.nan
                row["human_level"] = np.exp(level) if logarithmic else level
                row |= dict(zip(COEFFICIENTS, curve.convert().coef, strict=True))
            rows.append(row)
    return pd.DataFrame(rows).reindex(columns=FITS)


def table_fits_layout(data: pd.DataFrame, title: str) -> Table:
    """Return a row per set of points and metric."""
    header = ["Points", "Score by", "N", "Adjusted R²", "At the originals' score"]
    grid, rules = [], []
    for points, rows in data.groupby("points", sort=False):
        rules.append(len(grid))
        for row in rows.itertuples():
            cells = [points, NAMES[row.metric], str(row.models)]
            for value, published_value, decimals in (
                (row.adjusted_r2, row.published_adjusted_r2, 3),
                (row.human_level, row.published_human_level, 2),
            ):
                below = () if np.isnan(published_value) else (f"published {published_value:g}",)
                cells.append(Cell(style.number(value, decimals), below))
            grid.append(cells)
    notes = [
        "cubics by least squares; adjusted R² = 1 − (1 − R²)(N − 1)/(N − 4)",
        (
            "at the originals' score: the metric at which the cubic reaches the score of the original "
            "texts; of several crossings, the one nearest to the best LM"
        ),
        "a fit needs five or more LMs with a finite score",
        (
            "with the estimated human score as a point, the published fits are reproduced; that point was itself read "
            "off the fitted curve"
        ),
    ]
    return Table(f"{title}: fits", header, grid, notes, tuple(rules), left=2)


def table_turing_fits(view: View, scores: File, out: Files) -> None:
    """Write the table to `out` (.csv, .html, .tex)."""
    data = fits(comparison.table(scores, COLUMNS))
    published_fits = view.published_rows(["metric", "adjusted_r2", "human_level"])
    if published_fits is not None:
        published_fits = published_fits.set_index("metric")
        compared = data["points"] != HERE
        for name in ("adjusted_r2", "human_level"):
            data[f"published_{name}"] = data["metric"].map(published_fits[name]).where(compared)
    tables.write(out, table_fits_layout(data, view.title), data)


GREY = "#a0a0a0"
TITLES = {"perplexity": "Perplexity of a token", "mean_log_rank": "Mean log rank", "top_1": "Top-1 (%)"}  # fmt: skip
DRAWN = {HERE: "#222222", WITH_HUMAN: GREY}


def draw(rows: pd.DataFrame, fits: pd.DataFrame, lms: list[LM]) -> Figure:
    """Draw a panel per metric: LMs here with their intervals, published models grey, the cubics."""
    looks = style.looks(lms)
    rows = rows[np.isfinite(rows["score"])]
    figure = style.figure(3.2)
    panels = figure.subplots(1, len(METRICS), sharey=True)
    named = []
    for axes, (metric, logarithmic) in zip(panels, METRICS.items(), strict=True):
        if logarithmic:
            axes.set_xscale("log")
        published_rows = rows[(rows["source"] == "published") & rows[metric].notna()]
        axes.plot(published_rows[metric], published_rows["score"], "x", color=GREY, ms=3.5, mew=0.9)
        measured = rows[(rows["source"] == "here") & rows[metric].notna()].set_index("lm")
        drawn = [lm for lm in lms if lm.lm in measured.index]
        ends = measured["score_low"], measured["score_high"]
        labels.draw_lms(axes, drawn, looks, measured[metric], measured["score"], ends)
        for points, colour in DRAWN.items():
            _curve(axes, rows, fits, points, metric, colour)
        original = rows[(rows["source"] == "here") & (rows["lm"] == ORIGINAL)]["score"]
        for score in original:
            axes.axhline(score, color="#222222", ls="--", lw=0.9)
        axes.margins(0.14)
        if logarithmic:
            style.log_ticks(axes, 100)
        axes.set_xlabel(TITLES[metric])
        axes.grid(which="major")
        named.append((axes, drawn, measured, metric))
    panels[0].set_ylabel("Human score n₃/n₀")
    if (rows["source"] == "published").any():
        mark = style.handle(marker="x", color=GREY, ms=4, ls="-", label="published models, and the cubic with the estimated human")  # fmt: skip
        figure.legend(handles=[mark], loc="outside upper left")
    for axes, drawn, measured, metric in named:
        labels.name_lms(axes, drawn, looks, measured[metric], measured["score"])
    return figure


def _curve(axes, rows, fits, points: str, metric: str, colour: str) -> None:
    """Draw the cubic of a set of points over their range, if it has one."""
    fit = fits[(fits["points"] == points) & (fits["metric"] == metric)]
    source = "here" if points == HERE else "published"
    values = rows[rows["source"] == source][metric].dropna()
    if fit.empty or fit[COEFFICIENTS].isna().any(axis=None):
        return
    space = np.geomspace if METRICS[metric] else np.linspace
    x = space(values.min(), values.max(), 100)
    powers = np.log(x) if METRICS[metric] else x
    y = np.polynomial.Polynomial(fit[COEFFICIENTS].iloc[0].to_numpy(float))(powers)
    axes.plot(x, y, "-", color=colour, lw=0.9)


def figure_turing_test(view: View, scores: File, fits: File, out: Files) -> None:
    """Draw table_turing_test.csv and its fits to `out` (.pdf, .svg, .png; .csv for the values)."""
    rows, curves = comparison.table(scores, COLUMNS), comparison.table(fits, FITS)
    style.write(out, rows, draw, rows, curves, view.lms, empty=[])
