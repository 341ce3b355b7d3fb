"""Human scores of LMs' continuations with their metrics, next to Table 7.2 of the thesis."""

import numpy as np
import pandas as pd

from recency.evaluations.turing_test import judgements as judged
from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCT = {
    "makes": {"out": ("table_turing_test", "Human scores of continuations")},
    "reads": ["judgements", "sheet=continuations", "key=continuations_key", "metrics=table_rank_metrics"],
    "settings": ["lms", "title", "min_judges", "absent"],
    "published": "turing_test",
}  # fmt: skip
METRICS = ["perplexity", "mean_log_rank", "top_1"]
COLUMNS = ["source", "lm", "label", *METRICS, "texts", "undecided", *judged.COUNTS]
COLUMNS += ["score", "score_low", "score_high"]
ORIGINAL, HUMAN = "original", "Human (estimated)"
NOTES = [
    "score: texts rated 3 (clearly human) per text rated 0 (clearly not human), by majority vote; beneath: 95 % interval over texts",
    "perplexity, mean log rank (natural) and top-1 are per token after the first words",
]


def collected(
    scores: pd.DataFrame | None, metrics: File, lms: Described, published: File | None
) -> pd.DataFrame:
    """Return COLUMNS: the LMs here and the original texts, then the published models."""
    measured = comparison.table(metrics, ["lm", *METRICS]).set_index("lm")
    rows = pd.DataFrame([{"lm": lm["lm"], "label": lm["label"]} for lm in lms])
    if scores is not None:
        rows.loc[len(rows)] = {"lm": ORIGINAL, "label": "original texts"}
        rows = rows.merge(scores, on="lm", how="left")
    frames = [rows.assign(source="here", **{m: rows["lm"].map(measured[m]) for m in METRICS})]
    if published is not None:
        published_rows = comparison.table(published, ["model", *METRICS, "score"])
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
        counts = [getattr(row, column) for column in ("texts", "undecided", *judged.COUNTS)]
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


def main(
    *,
    judgements: Files,
    sheet: File,
    key: File,
    metrics: File,
    out: Files,
    lms: Described,
    title: str,
    min_judges: int,
    absent: str,
    published: File | None = None,
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `judgements` is empty if none were supplied."""
    paths = [judgements] if isinstance(judgements, str) else list(judgements)
    scores = judged.scored(judged.read(paths[0], sheet), key, min_judges, seed=0) if paths else None
    data = collected(scores, metrics, lms, published)
    tables.write(out, layout(data, absent, min_judges, title), data)
