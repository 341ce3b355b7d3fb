"""Effects of an LM relative to the baseline in each corpus, and their meta-analysis.

An effect is ΔLogLik of the LM minus that of the baseline, by the experiment's endpoint, per 1,000
scored observations, since totals grow with a corpus's size. Its standard error is that of the
experiment's intervals. Measures of one corpus share readers and sentences: they are summed with
their covariance, and the corpus is one study of the meta-analysis. So are corpora that share texts
(recency.evaluations.reading_times.shared_texts).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from crosslmm.stats.meta_analysis import MetaAnalysis, between_groups, combine
from recency.endpoints import CROSSED
from recency.errors import InputError
from recency.evaluations.reading_times import delta_loglik, shared_texts
from recency.evaluations.reading_times.shared_texts import Places
from recency.figures.paths import File, write_csv

SCALE = 1000
"""Number of observations to which effects are scaled."""
ALL = "all"
EFFECTS = ["lm", "against", "language", "dataset", "label", "measure", "n", "total", "total_se"]
EFFECTS += ["effect", "se", "low", "high"]
STATISTICS = ["k", "fixed", "fixed_se", "fixed_low", "fixed_high", "random", "random_se"]
STATISTICS += ["random_low", "random_high", "p", "tau2", "q", "q_p", "i2"]
STATISTICS += ["prediction_low", "prediction_high"]
POOLED = ["lm", "against", "language", *STATISTICS, "q_between", "df_between", "p_between"]


def main(
    full: Sequence[File],
    base: Sequence[File],
    out_effects: File,
    out_pooled: File,
    *,
    cells: Sequence[Mapping[str, Any]],
    datasets: Sequence[Mapping[str, str]],
    lms: Sequence[str],
    baseline: str,
    words: Sequence[File] = (),
    endpoint: str = CROSSED,
    bootstrap: str | None = None,
    seed: int = 0,
) -> None:
    """Write the effects (columns EFFECTS) and their meta-analyses (POOLED).

    Parameters
    ----------
    full, base : sequence of path
        Both models' parts of the log-likelihood, in the order of `cells`, as for `delta_loglik`.
    out_effects, out_pooled : path
        CSV files. Effects are by corpus and measure, and by corpus (measure `all`); the latter are pooled.
    cells : sequence of mapping
        lm, dataset, measure, design and optionally seed of each pair of files.
    datasets : sequence of mapping
        dataset, label and language.
    lms, baseline : sequence of str, str
        The LMs to pool, and the LM that they are compared with.
    words, endpoint, bootstrap, seed
        As for `delta_loglik`.
    """
    parts = delta_loglik.read_parts(endpoint, full, base)
    is_crossed = endpoint == CROSSED and bootstrap != "given_fits"
    places = shared_texts.of_files(words)
    totals = delta_loglik.totals(cells, parts, is_crossed, seed=seed, places=places)
    rows = effects(totals, lms, baseline, datasets, places)
    write_csv(out_effects, rows)
    write_csv(out_pooled, pooled(rows))


def effects(
    totals: Mapping[tuple, Any],
    lms: Sequence[str],
    baseline: str,
    datasets: Sequence[Mapping[str, str]],
    places: Mapping[str, Places] | None = None,
) -> pd.DataFrame:
    """Return a row (EFFECTS) per LM, corpus and measure, and per LM and corpus, or corpora that share texts.

    Parameters
    ----------
    totals : mapping
        (LM, (dataset, measure, design)) → ΔLogLik, as `delta_loglik.totals` returns it.
    lms, baseline, datasets
        As for `main`.
    places : mapping, optional
        Dataset → the places of its sentences.

    Raises
    ------
    InputError
        If a corpus has no ΔLogLik of an LM, because a fit failed.
    """
    studies: dict[str, list[Mapping[str, str]]] = {}
    for about in datasets:
        name = about["dataset"]
        studies.setdefault(places[name].sample if places else name, []).append(about)
    rows = []
    for lm in lms:
        for corpora in studies.values():
            leads = []
            scored = {response[0] for of, response in totals if of == lm}
            present = [about for about in corpora if about["dataset"] in scored]
            for about in present:
                name = about["dataset"]
                for response in [r for of, r in totals if of == lm and r[0] == name]:
                    lead = totals[lm, response] - totals[baseline, response]
                    if not math.isfinite(lead.value):
                        raise InputError(
                            f"pooled: {name}.{response[1]} has no ΔLogLik of {lm!r} or {baseline!r}; remove it "
                            "from the experiment's `responses`"
                        )
                    leads.append(lead)
                    rows.append(_row(lm, baseline, about, response[1], lead))
            if leads:
                whole, *rest = leads
                for lead in rest:
                    whole = whole + lead
                rows.append(_row(lm, baseline, _join_names(present), ALL, whole))
    return pd.DataFrame(rows, columns=EFFECTS)


def _join_names(corpora: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the names of corpora that are one study."""
    names = {key: list(dict.fromkeys(a[key] for a in corpora)) for key in ("dataset", "label")}
    joined = {"dataset": "+".join(names["dataset"]), "label": " and ".join(names["label"])}
    return {"language": corpora[0]["language"]} | joined


def _row(lm: str, baseline: str, about: Mapping, measure: str, difference: Any) -> dict:
    """Return a row of EFFECTS."""
    ends, n = difference.ends(), difference.n
    per = SCALE / n
    return {
        "lm": lm, "against": baseline, "language": about["language"], "dataset": about["dataset"],
        "label": about["label"], "measure": measure, "n": n, "total": difference.value,
        "total_se": ends["se"], "effect": difference.value * per, "se": ends["se"] * per,
        "low": ends["low"] * per, "high": ends["high"] * per,
    }  # fmt: skip


def pooled(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the meta-analyses (POOLED) of each LM's corpora, by language and overall."""
    analyses = []
    corpora = rows[rows.measure == ALL]
    if (flat := corpora[~(corpora.se > 0)]).size:
        raise InputError(
            f"pooled: the effect of {flat.dataset.iloc[0]!r} has no standard error; a corpus of means "
            "needs several sentences and an endpoint with intervals"
        )
    for (lm, against), mine in corpora.groupby(["lm", "against"], sort=False):
        groups = {
            language: combine(part.effect, part.se)
            for language, part in mine.groupby("language", sort=False)
        }
        q, df, p = between_groups(list(groups.values()))
        named = {"lm": lm, "against": against}
        analyses += [
            named | {"language": code} | _statistics(analysis) for code, analysis in groups.items()
        ]
        whole = _statistics(combine(mine.effect, mine.se))
        between = {"q_between": q, "df_between": df, "p_between": p}
        analyses.append(named | {"language": ALL} | whole | between)
    return pd.DataFrame(analyses, columns=POOLED)


def _statistics(analysis: MetaAnalysis) -> dict[str, float]:
    return {name: getattr(analysis, name) for name in STATISTICS}
