"""ΔLogLik of each linking function relative to the linear effect, on held-out observations.

All models of a response score the same observations, so the difference of two functions is the sum
of their differences observation by observation; its interval is that of the experiment's endpoint.
"""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from recency.endpoints import CROSSED
from recency.evaluations.linearity.spec import LINEAR
from recency.evaluations.reading_times import shared_texts
from recency.evaluations.reading_times.delta_loglik import read_parts, totals
from recency.figures.comparison import Response, View
from recency.figures.paths import File, write_csv

MODEL = ("lm", "label", "dataset", "measure", "design", "settings")
COLUMNS = [*MODEL, "linking", "endpoint", "delta_loglik", "difference", "low", "high", "by", "n"]


def main(
    full: Sequence[File],
    base: Sequence[File],
    out: File,
    *,
    cells: Sequence[Mapping[str, str]],
    words: Sequence[File] = (),
    endpoint: str,
    bootstrap: str | None = None,
    replicates: int = 10_000,
    seed: int = 0,
) -> None:
    """Write COLUMNS (CSV), one row per LM, response, other settings and linking function.

    Parameters
    ----------
    full, base
        Files of both models' parts of the log-likelihood, in the order of `cells`.
    cells
        Each has MODEL, linking and seed; cells that differ only in their seeds are one LM.
    words, endpoint, bootstrap, replicates, seed
        As in `delta_loglik`.

    `delta_loglik` is relative to the function's baseline model, `difference` (with its 95 %
    interval) to the model with a linear effect; both in nats.
    """
    named = [{key: cell[key] for key in (*MODEL, "seed")} for cell in cells]
    models = [tuple(cell.values()) for cell in named]
    linear = {
        model: path
        for model, path, cell in zip(models, full, cells, strict=True)
        if cell["linking"] == LINEAR
    }
    references = [linear[model] for model in models]
    functions = [
        {"lm": (*model[:-1], cell["linking"]), "seed": model[-1], "design": ""}
        | {key: cell[key] for key in ("dataset", "measure")}
        for model, cell in zip(models, cells, strict=True)
    ]
    of_base = read_parts(endpoint, full, base)
    of_linear = read_parts(endpoint, full, references)
    is_crossed = endpoint == CROSSED and bootstrap != "given_fits"
    places = shared_texts.of_files(words)
    gains = totals(functions, of_base, is_crossed, 1, seed, places)
    differences = totals(functions, of_linear, is_crossed, replicates, seed, places)
    rows = []
    for (function, response), difference in differences.items():
        ends = difference.ends() if function[-1] != LINEAR else {}
        rows.append(
            dict(zip((*MODEL, "linking"), function, strict=True))
            | {"endpoint": endpoint, "delta_loglik": gains[function, response].value}
            | {"difference": difference.value, "by": ends.get("by", "")}
            | {end: ends.get(end, math.nan) for end in ("low", "high")}
            | {"n": difference.n}
        )
    write_csv(out, pd.DataFrame(rows, columns=COLUMNS))


def read(view: View, path: File) -> tuple[pd.DataFrame, list[Response], list[str]]:
    """Return the rows, responses and missing responses of a file that `main` wrote."""
    rows, done, missing = view.rows(path, COLUMNS)
    rows = rows.assign(linking=rows.linking.astype(str), settings=rows.settings.fillna(""))
    return rows, done, missing


def answer(low: float, high: float) -> str:
    """Return the interpretation of an interval of a difference from the linear effect."""
    if math.isnan(low):
        return ""
    return "better" if low > 0 else "worse" if high < 0 else "not distinguishable"
