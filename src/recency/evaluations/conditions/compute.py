"""Conditions of an experiment's items: means, effects of contrasts by item, and their prediction.

Mean response and mean surprisal of a region by condition, with intervals over stimuli; differences from
the first condition are paired over stimuli.

The effect of a contrast on each item, partially pooled by a mixed model with slopes by item.

`y ~ contrast + (1 + contrast | subject) + (1 + contrast | item)`, by REML. The effect
of an item is the fixed effect plus the item's conditional mode.

Effects predicted from surprisal, converted to the response's unit by a regression on fillers.

With the fillers' coefficients b of the LM's terms (ms per bit, for example), their covariance V,
and the difference d of these terms between both sides of a contrast, the predicted effect is d'b,
with variance d'Vd.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.linalg import splu

from crosslmm import families
from crosslmm.formula import factors
from crosslmm.model import MixedModel, lmer
from readingtimes.names import hint
from readingtimes.response_names import EVENT, RESPONSES
from recency.errors import REFUSALS, InputError
from recency.evaluations.contrasts import paired as contrasted
from recency.figures.paths import File, write_csv
from recency.figures.style import UNITS
from recency.regression import predictor_names as names
from recency.regression.coding import coding_from_record
from recency.regression.prediction import observed, read_fit
from recency.regression.predictors import values_of
from recency.regression.texts import read_texts

Z = 1.959963984540054
"""Half-width of a 95 % interval, in standard errors."""
MEANS = ["region", "condition", "variable", "unit", "stimuli", "mean", "low", "high"]
MEANS += ["difference", "pairs", "t", "p"]
RESPONSE = "response"
"""Name of the readers' response as a variable; the other variables are LMs."""
READERS, UNPOOLED = "readers", "readers_unpooled"
"""Sources of effects other than LMs: the mixed model, and differences of means by item."""
_SAME = ["contrast", "contrast_label", "region", "source", "unit"]
EFFECTS = [*_SAME, "items", "effect", "low", "high", "sd_items"]
EFFECTS += ["excess", "excess_low", "excess_high", "share", "share_low", "share_high", "note"]
ITEMS = [*_SAME, "item", "effect", "low", "high"]
FORMULA = "y ~ contrast + (1 + contrast | subject) + (1 + contrast | item)"


def cells(observations: pd.DataFrame, words: pd.DataFrame, by: str, stimulus: str) -> pd.DataFrame:
    """Return the mean response of each region over subjects.

    Parameters
    ----------
    observations : DataFrame
        Columns word_id, optionally span, and the response.
    words : DataFrame
        Contract 1, with the columns `by` and `stimulus`.
    by, stimulus : str
        Columns of the conditions and of the units compared between them.

    Returns
    -------
    DataFrame
        word_id, span (words), region, condition, stimulus, response; in reading order.
    """
    value = next(name for name in (*RESPONSES, EVENT) if name in observations)
    rows = (
        observations.assign(span=observations.get("span", 1))
        .groupby(["word_id", "span"])[value]
        .mean()
    )
    table = rows.rename(RESPONSE).reset_index()
    word = words.set_index("word_id").loc[table["word_id"]]
    table["region"] = word["region"].fillna("").to_numpy() if "region" in word else ""
    return table.assign(condition=word[by].to_numpy(), stimulus=word[stimulus].to_numpy())


def surprisal(bits: np.ndarray, regions: pd.DataFrame) -> np.ndarray:
    """Return the surprisal of each region in bits: the sum over its words, NaN where one has none.

    Parameters
    ----------
    bits : ndarray, shape (words,)
        Surprisal by word_id, in bits.
    regions : DataFrame
        Columns word_id and span.
    """
    pairs = zip(regions["word_id"], regions["span"], strict=True)
    return np.array([bits[first : first + size].sum() for first, size in pairs])


def summarise(rows: pd.DataFrame, variable: str, unit: str, order: Sequence[Any]) -> list[tuple]:
    """Return the rows (MEANS) of one variable: means over stimuli by region and condition.

    Parameters
    ----------
    rows : DataFrame
        Columns region, condition, stimulus, and `variable`.
    variable, unit : str
        The column, and its unit.
    order : sequence
        The conditions. Differences are from the first one, missing in a region that lacks it.
    """
    summaries = []
    for region, part in rows.groupby("region", sort=False):
        means = part.groupby(["condition", "stimulus"], sort=False)[variable].mean().dropna()
        there = means.index.get_level_values(0)
        conditions = [condition for condition in order if condition in there]
        first = means[order[0]] if order[0] in there else means[:0].droplevel(0)
        for condition in conditions:
            values = means[condition]
            half = _half_width(values.to_numpy())
            row = (region, condition, variable, unit, len(values), values.mean())
            row += (values.mean() - half, values.mean() + half)
            summaries.append((*row, *_difference(values, first, condition == order[0])))
    return summaries


def t_width(n: int) -> float:
    """Return half of the 95 % interval of a mean of n items in standard errors."""
    from scipy.stats import t

    return float(t.ppf(0.975, n - 1))


def _half_width(values: np.ndarray) -> float:
    """Return half of the 95 % interval of a mean, by Student's t; NaN for one value."""
    if len(values) < 2:
        return math.nan
    return t_width(len(values)) * values.std(ddof=1) / math.sqrt(len(values))


def _difference(values: pd.Series, first: pd.Series, is_first: bool) -> tuple:
    """Return difference, pairs, t and p, paired over stimuli, against the first condition."""
    difference = (values - first).dropna().to_numpy()
    if is_first or not len(difference):
        return math.nan, 0, math.nan, math.nan
    return float(difference.mean()), len(difference), *contrasted.paired(difference)


@dataclass(frozen=True)
class Pooled:
    """A contrast's effect, in the unit of y.

    Attributes
    ----------
    effect, se
        The fixed effect and its standard error.
    items
        Indexed by item: estimate (fixed effect plus conditional mode), se.
    sd
        Standard deviation of the effect over items.
    note
        Message of the fit; empty if it converged at a non-singular point.
    """

    effect: float
    se: float
    items: pd.DataFrame
    sd: float
    note: str


def pooled(rows: pd.DataFrame) -> Pooled:
    """Fit the mixed model of a contrast.

    Parameters
    ----------
    rows : DataFrame
        y; contrast, positive on the high side and negative on the low one, a unit apart (or one over
        the contrast's scale); subject; item.
    """
    fit = lmer(FORMULA, rows, engine="search", reml=True)  # ML variances of few items are too small
    slopes = fit.modes["item"]["contrast"]
    effect = fit.fixed.loc["contrast", "estimate"]
    estimates = pd.DataFrame({"estimate": effect + slopes})
    estimates["se"] = standard_errors(fit, rows, list(estimates.index))
    at = (fit.random.group == "item") & (fit.random.term == "contrast")
    spread = fit.random.loc[at, "sd"]
    return Pooled(
        float(effect),
        float(fit.fixed.loc["contrast", "se"]),
        estimates,
        float(spread.iloc[0]),
        fit.note,
    )


def standard_errors(fit: MixedModel, rows: pd.DataFrame, items: list[str]) -> np.ndarray:
    """Return the standard error (I,) of the effect of each of `items`.

    This is the prediction error of the fixed effect plus conditional mode minus the true sum,
    given the variances. With u = Lambda v and v of variance sigma squared, the joint covariance of
    estimated (v, beta) is sigma squared times the inverse of Henderson's matrix.
    """
    columns = np.column_stack([np.ones(len(rows)), rows["contrast"]])
    parts, roots, sizes = [], {}, {}
    for group in ("subject", "item"):
        levels = list(fit.modes[group].index)
        codes = pd.Categorical(rows[group].astype(str), categories=levels).codes
        roots[group], sizes[group] = _root(fit, group), len(levels)
        values = columns @ roots[group]
        places = codes[:, None] * 2 + np.arange(2)
        index = np.repeat(np.arange(len(rows)), 2), places.ravel()
        shape = len(rows), 2 * len(levels)
        parts.append(sparse.csr_array((values.ravel(), index), shape=shape))
    design = sparse.hstack([*parts, sparse.csr_array(columns)]).tocsr()
    effects = 2 * (sizes["subject"] + sizes["item"])
    penalty = sparse.diags_array(np.append(np.ones(effects), np.zeros(2)))
    solver = splu((design.T @ design + penalty).tocsc())
    asked = np.zeros((effects + 2, len(items)))
    asked[-1] = 1.0
    for column, item in enumerate(items):
        first = 2 * (sizes["subject"] + fit.modes["item"].index.get_loc(item))
        asked[first : first + 2, column] = roots["item"][1]
    return fit.sigma * np.sqrt((asked * solver.solve(asked)).sum(axis=0))


def _root(fit: MixedModel, group: str) -> np.ndarray:
    """Return the square root (2, 2) of a group's covariance, relative to the residual's."""
    sd = fit.random.loc[fit.random.group == group, "sd"].to_numpy() / fit.sigma
    correlation = np.nan_to_num(fit.correlations[group].to_numpy(dtype=float))
    values, vectors = np.linalg.eigh(sd[:, None] * correlation * sd)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def unpooled(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each item's difference of means and its standard error (Welch), by item.

    Columns estimate and se; the latter is missing where a side has one row.
    """
    cells = rows.groupby(["item", "contrast"])["y"].agg(["mean", "var", "count"]).unstack()
    low, high = cells["mean"].columns  # in ascending order
    variance = (cells["var"] / cells["count"]).sum(axis=1, skipna=False)
    difference = cells["mean"][high] - cells["mean"][low]
    return pd.DataFrame({"estimate": difference, "se": np.sqrt(variance)}) / (high - low)


def terms_of(record: Mapping[str, Any], where: str) -> list[str]:
    """Return the fixed effects computed from the LM.

    Raises
    ------
    InputError
        If the fit failed, its coefficients are not in the response's unit, or a term combines surprisal
        with another predictor.
    """
    if not record["fixed"]:
        raise InputError(f"{where}: the fillers' regression failed ({record['note']})")
    link = record.get("density", {}).get("link", "identity")
    other = families.of(record) in (families.LOGNORMAL, families.SHIFTED, families.BINOMIAL)
    if record["response"] != "raw" or other or link != "identity":
        raise InputError(
            f"{where}: the fillers' design must give coefficients in the response's unit: use "
            "`response: raw` with family gaussian, or another family with `link: identity`"
        )
    terms = []
    for effect in record["fixed"]:
        used = [name for factor in factors(effect["term"]) for name in names.variables(factor)]
        of_lm = [name for name in used if names.is_of_fitted_lm(name)]
        if of_lm and of_lm != used:
            raise InputError(
                f"{where}: the term {effect['term']} of the fillers' design combines surprisal with "
                "other predictors; the conversion supports only effects of surprisal"
            )
        if of_lm:
            terms.append(effect["term"])
    if not terms:
        note = f" ({record['note']})" if record["note"] else ""
        raise InputError(f"{where}: the fillers' fit has no effect of an LM's predictors{note}")
    return terms


class Converter:
    """The LM's terms for each word of an experiment, and the coefficients that convert them.

    Parameters
    ----------
    fit : path
        JSON of the fillers' full regression.
    words, surprisal : path
        Contracts 1 and 3 of the experiment.
    spans : DataFrame
        word_id and span of the words with a response.
    column : str
        The response's column in the observations.
    """

    def __init__(
        self, fit: File, words: File, surprisal: File, spans: pd.DataFrame, column: str
    ) -> None:
        record = read_fit(fit)
        if observed(record) != column:
            raise InputError(
                f"{fit}: the fillers' response is {observed(record)}, and the experiment's is {column}"
            )
        terms = terms_of(record, str(fit))
        index = {effect["term"]: position for position, effect in enumerate(record["fixed"])}
        places = [index[term] for term in terms]
        self.coefficients = np.array([record["fixed"][position]["estimate"] for position in places])
        self.covariance = np.array(record["covariance"])[np.ix_(places, places)]
        texts = read_texts(
            words, None, surprisal, record["surprisal"], True,
            spillover=record.get("spillover", "item"),
        )  # fmt: skip
        used = list(dict.fromkeys(factor for term in terms for factor in factors(term)))
        frame = spans.assign(**{column: 1.0})
        values, _ = values_of(frame, texts, used, "raw", column, words, coding_from_record(record))
        self.terms = np.full((len(texts.item), len(terms)), np.nan)
        for k, term in enumerate(terms):
            parts = [
                (values[name] - record["scaling"][name]["mean"]) / record["scaling"][name]["sd"]
                for name in factors(term)
            ]
            self.terms[spans["word_id"], k] = np.prod(parts, axis=0)

    def differences(
        self, words: pd.DataFrame, contrast: Mapping, by: str, where: str
    ) -> pd.DataFrame:
        """Return the difference of each term between the sides of a contrast, (items, terms)."""
        return pd.DataFrame(
            {
                k: contrast.get("scale", 1.0)
                * contrasted.effects(words, column, contrast, by, where)
                for k, column in enumerate(self.terms.T)
            }
        )

    def predicted(self, differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return predicted effects and standard errors (m,) for differences (m, terms)."""
        variance = np.einsum("ij,jk,ik->i", differences, self.covariance, differences)
        return differences @ self.coefficients, np.sqrt(np.maximum(variance, 0.0))


def share(
    predicted: float, predicted_se: float, effect: float, effect_se: float, width: float = Z
) -> Sequence[float]:
    """Return predicted / effect and its 95 % interval, of `width` standard errors, by Fieller's theorem.

    The estimates are assumed independent. The interval is missing where `effect` does not differ
    from 0 at this level: the set of ratios is then unbounded.
    """
    a = effect**2 - width**2 * effect_se**2
    if not a > 0:
        return predicted / effect if effect else math.nan, math.nan, math.nan
    b, c = predicted * effect, predicted**2 - width**2 * predicted_se**2
    root = math.sqrt(max(b**2 - a * c, 0.0))
    return predicted / effect, (b - root) / a, (b + root) / a


CODINGS = ("treatment", "sum", "helmert", "successive")
"""Contrasts between the conditions, in their order."""


def order_conditions(there: list, levels: Sequence[Any] | None, where: str) -> list:
    """Return the conditions that are there in the order of `levels`, or sorted."""
    if levels is None:
        return sorted(there, key=lambda level: (isinstance(level, str), level))
    lacking = [level for level in there if level not in levels]
    unknown = [level for level in levels if level not in there]
    if lacking or unknown:
        name = (unknown or lacking)[0]
        raise InputError(
            f"{where} → levels: {name!r} is "
            + ("no condition of the data" if unknown else "a condition of the data and not listed")
            + f"; the data have {', '.join(map(str, order_conditions(there, None, where)))}"
        )
    return list(levels)


def coded(coding: str, by: str, conditions: Sequence[Any]) -> list[dict]:
    """Return the contrasts of a coding: contrast, label, region (None), high, low and scale.

    Parameters
    ----------
    coding : str
        treatment: each condition but the first, minus the first. successive: minus the one before it.
        helmert: minus the mean of those before it. sum: each condition minus the mean of all, that
        is `scale` = (C - 1) / C times its difference from the mean of the others.
    by : str
        Column of the conditions.
    conditions : sequence
        The C conditions.
    """
    found, C = [], len(conditions)
    for place, condition in enumerate(conditions):
        others = {
            "treatment": conditions[:1],
            "successive": conditions[max(place - 1, 0) : place],
            "helmert": conditions[:place],
            "sum": [c for c in conditions if c != condition],
        }[coding]
        if place == 0 and coding != "sum":
            continue
        rest = "mean of all" if coding == "sum" else " and ".join(map(str, others))
        name = f"{condition} \N{MINUS SIGN} {f'mean of {rest}' if coding == 'helmert' and place > 1 else rest}"
        found.append(
            {
                "contrast": name,
                "label": name,
                "region": None,
                "high": f"{by} == {condition!r}",
                "low": f"{by} in {list(others)!r}",
                "scale": (C - 1) / C if coding == "sum" else 1.0,
            }
        )
    return found


def main(
    words: File,
    observations: Sequence[File],
    surprisals: Sequence[File],
    out: File,
    out_effects: File,
    out_by_item: File,
    *,
    lms: Sequence[Mapping],
    by: str = "condition",
    stimulus: str = "stimulus",
    levels: Sequence[Any] | None = None,
    contrasts: str | Sequence[Mapping] = (),
    regions: Sequence[str] | None = None,
    fillers: Sequence[File] = (),
) -> None:
    """Write means by condition, and effects of contrasts: the mean one, and that of each item.

    Parameters
    ----------
    words : path
        Contract 1.
    observations : sequence of path
        Observations after the filters, without the held-out partition.
    surprisals : sequence of path
        Contract 3, in the order of `lms`.
    out : path
        CSV of MEANS: the response and each LM's surprisal, by region and condition.
    out_effects, out_by_item : path
        CSVs of EFFECTS and ITEMS, without rows where there are no contrasts. Effects are in the
        response's unit; low and high are the ends of 95 % intervals, of readers' mean effects, `excess` and
        `share` by Student's t, with one degree of freedom fewer than items or subjects. `excess` is the readers' effect
        minus the predicted one, which surprisal does not explain, `share` predicted over observed.
    lms : sequence of mapping
        With the key lm.
    by, stimulus : str
        Columns of the words: conditions, and the items that are compared between them.
    levels : sequence, optional
        The conditions in their order; by default sorted, as R sorts a factor's levels.
    contrasts : str or sequence of mapping
        One of CODINGS, or contrasts with contrast, label, region, high and low.
    regions : sequence of str, optional
        Regions of the words whose effects are analysed, each separately; by default the contrasts' own.
    fillers : sequence of path
        JSON of the fillers' full regression, in the order of `lms`; empty without fillers.

    Raises
    ------
    InputError
        If a column is missing, a mixed model cannot be fitted, or coefficients of the fillers do not
        convert to the response's unit.
    """
    word_table = pd.read_parquet(words)
    columns = [("by", by), ("stimulus", stimulus), *([("regions", "region")] if regions else [])]
    for key, name in columns:
        if name not in word_table:
            raise InputError(
                f"{words}: conditions → {key}: the words have no column {name}; "
                f"{hint(name, word_table.columns)}map it in options → columns"
            )
    frame = pd.concat([pd.read_parquet(path) for path in observations], ignore_index=True)
    value = next(name for name in (*RESPONSES, EVENT) if name in frame)
    seen = cells(frame, word_table, by, stimulus)
    order = order_conditions(
        seen["condition"].dropna().unique().tolist(), levels, f"{words}: conditions"
    )
    rows = summarise(seen, RESPONSE, "" if value == EVENT else UNITS[value], order)
    for lm, path in zip(lms, surprisals, strict=True):
        scored = pd.read_parquet(path, columns=["word_id", "surprisal_bits"]).set_index("word_id")
        bits = scored["surprisal_bits"].reindex(word_table["word_id"]).to_numpy(dtype=float)
        scored_rows = seen.assign(**{lm["lm"]: surprisal(bits, seen)})
        rows += summarise(scored_rows, lm["lm"], "bits", order)
    write_csv(out, pd.DataFrame(rows, columns=MEANS))
    if isinstance(contrasts, str):
        contrasts = coded(contrasts, by, order)
    effects, of_items = pd.DataFrame(columns=EFFECTS), pd.DataFrame(columns=ITEMS)
    if contrasts:
        if value == EVENT:
            raise InputError(
                f"{observations[0]}: conditions → contrasts: {EVENT}s have no effects in ms"
            )
        frame["span"] = frame.get("span", 1)
        spans = frame[["word_id", "span"]].drop_duplicates("word_id")
        converters = {
            lm["lm"]: Converter(fit, words, bits, spans, value)
            for lm, bits, fit in (zip(lms, surprisals, fillers, strict=True) if fillers else ())
        }
        effects, of_items = effects_of(
            frame, word_table, value, _by_region(contrasts, regions), stimulus, converters
        )
    write_csv(out_effects, effects)
    write_csv(out_by_item, of_items)


def effects_of(
    frame: pd.DataFrame,
    words: pd.DataFrame,
    value: str,
    contrasts: Iterable[Mapping],
    stimulus: str,
    converters: Mapping[str, Converter],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return EFFECTS and ITEMS: readers' effects, and those that each LM's converter predicts."""
    totals, items = [], []
    for contrast in contrasts:
        where = f"conditions → contrasts → {contrast['contrast']}"
        rows = rows_of(frame, words, value, contrast, stimulus, where)
        same = {
            "contrast": contrast["contrast"],
            "contrast_label": contrast["label"],
            "region": contrast["within"],
            "unit": UNITS[value],
        }
        for total, of_items in _sources(rows, words, contrast, stimulus, where, converters):
            totals.append(same | total)
            items.append(of_items.assign(**same, source=total["source"]))
    table = pd.DataFrame(totals)
    pooled = table[table.source != UNPOOLED].reindex(columns=EFFECTS)
    return pooled, pd.concat(items, ignore_index=True)[ITEMS]


def _by_region(contrasts: Sequence[Mapping], regions: Sequence[str] | None) -> Iterator[dict]:
    """Yield each contrast within each region, named `within`."""
    for contrast in contrasts:
        if not regions:
            yield {**contrast, "within": ""}
        for region in regions or ():
            condition = f"({contrast['region']}) and " if contrast["region"] else ""
            yield {**contrast, "within": region, "region": f"{condition}region == {region!r}"}


def rows_of(
    frame: pd.DataFrame, words: pd.DataFrame, value: str, contrast: Mapping, by: str, where: str
) -> pd.DataFrame:
    """Return the responses compared by a contrast: y, contrast, subject, item (see `pooled`).

    Items without responses on both sides are excluded.
    """
    high, low = contrasted.sides(words, contrast, where)
    word = frame["word_id"].to_numpy()
    side = (0.5 * high[word] - 0.5 * low[word]) / contrast.get("scale", 1.0)
    there = side != 0
    rows = pd.DataFrame(
        {
            "y": frame[value].to_numpy(float)[there],
            "contrast": side[there],
            "subject": frame["subject"].astype(str).to_numpy()[there],
            "item": words[by].astype(str).to_numpy()[word[there]],
        }
    )
    rows = rows[rows.groupby("item")["contrast"].transform("nunique") == 2]
    if (count := rows["item"].nunique()) < 2:
        raise InputError(
            f"{where}: {count} groups of {by!r} have responses on both sides (high: {int((side > 0).sum()):,} "
            f"responses, low: {int((side < 0).sum()):,})"
            + (f" in region {contrast['within']!r}" if contrast["within"] else "")
            + ", and effects by item need 2 or more; check region, regions, high and low"
        )
    return rows.reset_index(drop=True)


def _sources(
    rows: pd.DataFrame,
    words: pd.DataFrame,
    contrast: Mapping,
    by: str,
    where: str,
    converters: Mapping[str, Converter],
) -> Iterator[tuple[dict, pd.DataFrame]]:
    """Yield the total and item effects of readers, pooled and unpooled, and of each LM."""
    try:
        fit = pooled(rows)
    except REFUSALS as error:
        raise InputError(f"{where}: {error}") from None
    count = {"items": len(fit.items)}
    # Few items, or readers, determine the mean effect on new ones.
    width = t_width(min(len(fit.items), rows["subject"].nunique()))
    yield (
        {"source": READERS, **count, "sd_items": fit.sd, "note": fit.note}
        | _interval(fit.effect, fit.se, width),
        _of_items(fit.items),
    )
    yield {"source": UNPOOLED}, _of_items(unpooled(rows))
    for lm, converter in converters.items():
        differences = converter.differences(words, contrast, by, where)
        differences.index = differences.index.astype(str)
        differences = differences.reindex(fit.items.index)
        predicted, se = converter.predicted(differences.to_numpy())
        (mean,), (mean_se,) = converter.predicted(differences.to_numpy().mean(0, keepdims=True))
        excess = _interval(fit.effect - mean, np.hypot(fit.se, mean_se), width)
        more = {f"excess{name}": v for name, v in zip(("", "_low", "_high"), excess.values())}
        ratio = share(mean, mean_se, fit.effect, fit.se, width)
        more |= dict(zip(("share", "share_low", "share_high"), ratio, strict=True))
        total = {"source": lm, **count, **_interval(mean, mean_se), **more}
        of_items = pd.DataFrame({"estimate": predicted, "se": se}, index=fit.items.index)
        yield total, _of_items(of_items)


def _interval(effect: float, se: float, width: float = Z) -> dict[str, float]:
    return {"effect": effect, "low": effect - width * se, "high": effect + width * se}


def _of_items(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return item, effect, low and high from estimates and standard errors."""
    columns = {"item": estimates.index, **_interval(estimates["estimate"], estimates["se"])}
    return pd.DataFrame(columns).reset_index(drop=True)
