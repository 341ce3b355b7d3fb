"""Gaps in ΔLogLik between the best and the worst LM of a family, by design.

In chapter 9 of the thesis, larger GPTs, of lower perplexity, predict reading times worse within a
family, and the gap grows if nouns and verbs have separate slopes of surprisal.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from crosslmm.stats.correlations import correlation
from recency.evaluations.contrasts import paired as contrast_tests
from recency.evaluations.reading_times.perplexity import compared
from recency.figures import comparison
from recency.figures.comparison import Described
from recency.figures.paths import File, Files

WITHOUT, WITH = "without", "with"
OF_LOGLIK = ["lm", "label", "dataset", "measure", "delta_loglik", "n"]
POINTS = ["design", "family", "lm", "label", "dataset", "measure", "response", "delta_loglik", "n"]
POINTS += ["perplexity", "unit"]
GAPS = ["design", "family", "dataset", "measure", "response", "lms", "gap", "best", "worst", "rho"]


def points(
    delta_loglik: File,
    perplexity: File,
    groups: Mapping[str, Iterable[str]],
    responses: Described,
    others: Files = (),
    one_for_seeds: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return a row (POINTS) per LM of a family, response and design.

    The design of `delta_loglik` is `with`, and that of `others` is `without`. Perplexity is over
    the words of the corpora, per token, or per word where tokenizers differ (`unit`); over seeds it
    is the geometric mean.
    """
    _, measured = comparison.records([], responses)
    names = comparison.response_labels(measured)
    ppl, unit, _ = compared(perplexity)
    ppl["lm"] = ppl.lm.map(lambda lm: (one_for_seeds or {}).get(lm, lm))
    ppl = np.exp(np.log(ppl.perplexity).groupby([ppl.lm, ppl.dataset]).mean())
    rows = []
    for design, path in (*((WITHOUT, other) for other in others), (WITH, delta_loglik)):
        logliks = comparison.table(path, OF_LOGLIK)
        for family, lms in groups.items():
            for row in logliks[logliks.lm.isin(list(lms))].itertuples():
                key = (row.dataset, row.measure)
                if key in names and not math.isnan(row.delta_loglik):
                    rows.append(
                        (design, family, row.lm, row.label, *key, names[key], row.delta_loglik)
                        + (row.n, ppl.get((row.lm, row.dataset), math.nan), unit)
                    )
    return pd.DataFrame(rows, columns=POINTS)


def gaps(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row (GAPS) per family, response and design.

    `rho` is Spearman's of ΔLogLik and perplexity: above 0, better LMs predict reading times worse.
    """
    table = []
    for (design, family, dataset, measure, response), mine in rows.groupby(POINTS[:2] + POINTS[4:7], sort=False):  # fmt: skip
        if len(mine) < 2:
            continue
        best, worst = mine.delta_loglik.idxmax(), mine.delta_loglik.idxmin()
        rho = correlation(mine.perplexity, mine.delta_loglik).value
        gap = mine.delta_loglik[best] - mine.delta_loglik[worst]
        keys = (design, family, dataset, measure, response, len(mine), gap)
        table.append((*keys, mine.label[best], mine.label[worst], rho))
    return pd.DataFrame(table, columns=GAPS)


def published_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Return gaps of a published table (lm_family, <corpus>_no_pos, <corpus>_pos), as in `gaps`."""
    rows = [
        (design, row["lm_family"], name.removesuffix("_no_pos"), row[name.replace("_no_pos", end)])
        for row in table.to_dict("records")
        for name in table
        if name.endswith("_no_pos")
        for design, end in ((WITHOUT, "_no_pos"), (WITH, "_pos"))
    ]
    return pd.DataFrame(rows, columns=["design", "family", "response", "gap"])


def paired(a: pd.Series, b: pd.Series) -> tuple[float, float, int]:
    """Return t of the paired differences a − b, its two-sided p, and the number of pairs by index."""
    difference = (a - b).dropna().to_numpy()
    return (*contrast_tests.paired(difference), len(difference))


def widened(gaps: pd.DataFrame) -> tuple[float, float, int]:
    """Return paired t of gaps with minus without part of speech, over families and responses."""
    wide = gaps.pivot_table(index=["family", "response"], columns="design", values="gap")
    if set(wide.columns) != {WITHOUT, WITH}:
        return math.nan, math.nan, 0
    return paired(wide[WITH], wide[WITHOUT])
