"""ΔLogLik of each language model beyond each other one, summed over responses and seeds."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from scipy import stats

from recency.figures import comparison, style, tables
from recency.figures.comparison import Described
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Table

PRODUCTS = {
    "main": {
        "makes": {"out": ("table_beyond", "Language models beyond one another")},
        "reads": ["nested"],
        "settings": ["lms=lms_but_for_seed", "responses", "trainings"],
        "when": "nested",
    }
}
COLUMNS = ("added", "over", "dataset", "measure", "delta_loglik", "low_sentence", "high_sentence")


def main(
    *,
    nested: File,
    out: Files,
    lms: Described,
    responses: Described,
    trainings: Sequence[Mapping[str, str]],
    title: str = "ΔLogLik of language models beyond one another",
) -> None:
    """Write a matrix to `out` (.csv, .html, .tex): rows are added to columns.

    Parameters
    ----------
    nested : path
        nested.csv, two rows per comparison.
    out : paths
        CSV, HTML and LaTeX.
    lms, responses : list of mapping
        LMs, without duplicates for their seeds, and responses.
    trainings : list of mapping
        Each LM (`lm`) and its name without its seed (`but_for_seed`).
    """
    models, measured = comparison.records(lms, responses)
    one_name = {training["lm"]: training["but_for_seed"] for training in trainings}
    rows = comparison.table(nested, COLUMNS)
    sums = totals(
        rows.assign(pair_added=rows.added.map(one_name), pair_over=rows.over.map(one_name))
    )
    present = {*sums.added, *sums.over}
    models = [model for model in models if model.lm in present]
    by_pair = {(row.added, row.over): row for row in sums.itertuples(index=False)}
    grid = []
    for added in models:
        line: list[Cell | str] = [added.label]
        for reference in models:
            row = by_pair.get((added.lm, reference.lm))
            if row is None:
                line.append("")
                continue
            excludes_zero = row.low > 0 or row.high < 0
            ends = (style.interval(row.low, row.high),)
            line.append(Cell(style.number(row.delta_loglik), ends, bold=bool(excludes_zero)))
        grid.append(line)
    several = int(sums.seeds.max()) > 1
    number = len(measured)
    notes = [
        f"ΔLogLik in nats, summed over {number} response{'s' * (number > 1)}"
        + (" and averaged over seeds" if several else "")
        + ": the regression with both language models relative to that with only the column's, on "
        + "the exploratory partition",
        "Beneath, the 95 % interval: a normal distribution for the sentences, resampled response by "
        "response and treated as independent between responses"
        + (", plus Student's t for the seeds" if several else "")
        + "; bold where it excludes zero",
    ]
    header = ["Added", *(f"to {model.label}" for model in models)]
    tables.write(out, Table(title, header, grid, notes), sums)


def totals(rows: pd.DataFrame) -> pd.DataFrame:
    """Return added, over, seeds, responses, delta_loglik, low and high of each pair of LMs.

    Parameters
    ----------
    rows : DataFrame
        Columns of nested.csv, and `pair_added` and `pair_over`, the LMs without their seeds.
    """
    sds = (rows.high_sentence - rows.low_sentence) / (2 * stats.norm.ppf(0.975))
    rows = rows.assign(variance=sds**2)
    result = []
    for (added, reference), pair in rows.groupby(["pair_added", "pair_over"], sort=False):
        by_seed = pair.groupby(["added", "over"])[["delta_loglik", "variance"]].sum(min_count=1)
        seeds, number = by_seed.delta_loglik, len(by_seed)
        reach = stats.norm.ppf(0.975) * math.sqrt(by_seed.variance.mean())
        if number > 1:
            of_seeds = stats.t.ppf(0.975, number - 1) * seeds.std(ddof=1) / math.sqrt(number)
            reach = math.hypot(reach, of_seeds)
        mean = seeds.mean()
        result.append(
            {
                "added": added,
                "over": reference,
                "seeds": number,
                "responses": len(pair) // number,
                "delta_loglik": mean,
                "low": mean - reach,
                "high": mean + reach,
            }
        )
    return pd.DataFrame(result)
