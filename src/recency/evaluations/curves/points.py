"""Points of learning curves: each LM after each step of its training, over its seeds.

ΔLogLik by response and summed, perplexity of the words read, minimal pairs, attention by distance.
A point is the mean over seeds. Its interval covers unseen readers, sentences (paradigms for
minimal pairs) and seeds, as in every experiment (crosslmm.stats.totals).

LMs compared at the same perplexity, from their learning curves.

An LM that predicts text better has trained for longer, or has a better memory; at its end, both are
compared at once. Here the one with the lower final perplexity is read where its curve had the other's.
Between two checkpoints ΔLogLik is linear in the bits per token (or word).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from crosslmm.stats import bootstrap
from crosslmm.stats.totals import Draws, NewSeeds, simultaneous_critical_value
from recency.evaluations.minimal_pairs import pairs as accuracy
from recency.evaluations.reading_times import delta_loglik
from recency.evaluations.reading_times.intervals import ALL, Sums
from recency.evaluations.reading_times.perplexity import scored
from recency.figures import comparison
from recency.figures.comparison import Described
from recency.figures.paths import File, Files, write_csv

Point = tuple[str, int]
"""LM and step."""
MATCHED_COLUMNS = [
    *("lm", "against", "perplexity", "unit", "step", "step_against", "seeds"),
    *("delta_loglik", "delta_loglik_against", "difference"),
    *("low", "high", "low_all", "high_all", "by"),
]


def compare_at_same_perplexity(
    fits: Mapping[Point, Draws],
    bits: Mapping[Point, Draws],
    baselines: Mapping[str, str],
    unit: str = "token",
) -> pd.DataFrame:
    """Return a row (MATCHED_COLUMNS) per LM and its baseline, at the larger of their final perplexities.

    Parameters
    ----------
    fits
        ΔLogLik (nats) after each step.
    bits
        Bits per token or word of the same texts, after the same steps.
    baselines
        LM → the LM that it is compared with.
    unit
        Of the bits.

    Returns
    -------
    DataFrame
        `step` and `step_against` are interpolated; NaN, as the difference, where the better LM's curve
        begins below that perplexity. Intervals are for new readers, sentences and seeds, whose
        perplexities differ as well; low_all and high_all hold for all rows together.
    """
    ends = {lm: bits[lm, max(step for name, step in bits if name == lm)].value for lm, _ in bits}
    rows, totals = [], []
    for lm, against in baselines.items():
        if lm == against or not {lm, against} <= set(ends):
            continue
        target = max(ends[lm], ends[against])
        row = dict.fromkeys(MATCHED_COLUMNS, math.nan)
        row |= {"lm": lm, "against": against, "perplexity": 2.0**target, "unit": unit}
        found = [_at(target, name, fits, bits) for name in (lm, against)]
        if all(found):
            (step, mine), (step_against, other) = found
            row |= {"step": step, "step_against": step_against, "seeds": mine.freedom + 1}
            row |= {"delta_loglik": mine.value, "delta_loglik_against": other.value}
            totals.append((len(rows), mine, other))
        rows.append(row)
    every = [draws for _, *pair in totals for draws in pair]
    pairs = [(2 * place, 2 * place + 1) for place in range(len(totals))]
    together = simultaneous_critical_value(every, pairs) if len(pairs) > 1 else None
    for place, mine, other in totals:
        difference = mine - other
        found_ends = difference.ends(together)
        if together is None:
            found_ends |= {"low_all": found_ends["low"], "high_all": found_ends["high"]}
        rows[place] |= {"difference": difference.value}
        rows[place] |= {
            key: found_ends[key] for key in ("low", "high", "low_all", "high_all", "by")
        }
    return pd.DataFrame(rows, columns=MATCHED_COLUMNS)


def _at(
    target: float, lm: str, fits: Mapping[Point, Draws], bits: Mapping[Point, Draws]
) -> tuple[float, Draws] | None:
    """Return the step at which an LM's curve last had `target` bits, and its ΔLogLik there."""
    steps = sorted(step for name, step in fits if name == lm and (lm, step) in bits)
    values = np.array([bits[lm, step].value for step in steps])
    if not len(steps) or not np.isfinite(values).all():
        return None
    for place in range(len(steps) - 1, -1, -1):
        if values[place] == target or (place and values[place] < target < values[place - 1]):
            break
    else:
        return None
    if not place or values[place] == values[place - 1]:
        return float(steps[place]), fits[lm, steps[place]]
    first, second = steps[place - 1], steps[place]
    share = (target - values[place - 1]) / (values[place] - values[place - 1])
    at, text = (of[lm, first] * (1 - share) + of[lm, second] * share for of in (fits, bits))
    slope = (fits[lm, second].value - fits[lm, first].value) / (values[place] - values[place - 1])
    # The seeds' perplexities differ from their mean there, at the end too; so does ΔLogLik, by the slope.
    same = dict.fromkeys(at.drawn, 0.0)
    moved = Draws(0.0, 0, same, -slope * text.seeds, -slope * text.noise, text.freedom)
    return first + share * (second - first), at + moved


NAMES = ("quantity", "lm", "step", "tokens", "dataset", "measure", "design")
COLUMNS = [
    *NAMES,
    *("seeds", "value", "low", "high", "by"),
    *("over_baseline", "low_over_baseline", "high_over_baseline"),
    *("over_last", "low_over_last", "high_over_last"),
    "converged",
]

Curves = dict[Point, Draws]


def main(
    out: File,
    *,
    points: Sequence[Mapping],
    cells: Sequence[Mapping[str, str]] = (),
    full: Sequence[File] = (),
    base: Sequence[File] = (),
    full_observations: Sequence[File] = (),
    base_observations: Sequence[File] = (),
    surprisal: Files = (),
    pairs: File | None = None,
    scores: Sequence[File] = (),
    attention: Sequence[File] = (),
    matched: File | None = None,
    replicates: int = 10_000,
    seed: int = 0,
) -> None:
    """Write one row (COLUMNS) per quantity, response, LM and step.

    `points` map each LM file name (`lm`) to its LM (`of`), step, tokens, seed and `baseline` (at
    the same step and seed). `cells` (lm, dataset, measure, design) are in the order of the fits and
    their observations; `scores` and `attention` in the order of `points`; `surprisal` are paths
    …/{lm}/{dataset}.parquet.

    Quantities: delta_loglik (nats, exploratory partition; dataset and measure "all": the sum over
    the responses that every point has), perplexity (per token or word, as `measure` says; dataset
    "all": over all words), accuracy (percent of minimal pairs), mean_distance (tokens, mean over
    heads; measure "layer n" or "all"). over_baseline is the difference from the baseline at the
    same step and seed, over_last the difference from the LM's last step, with an interval that
    holds simultaneously for all steps. `matched` gets the comparisons at the same perplexity
    (recency.evaluations.curves.points).
    """
    about = {point["lm"]: point for point in points}
    baseline = about[points[0]["baseline"]]["of"] if points else ""
    tokens = {(point["of"], point["step"]): point["tokens"] for point in points}
    seeds_of: dict[Point, list[str]] = {}
    for point in points:
        seeds_of.setdefault((point["of"], point["step"]), []).append(str(point["seed"]))
    further = NewSeeds(seeds_of.values(), replicates, seed)
    rows: list[dict] = []

    def add(quantity: str, response: tuple[str, str, str], curves: Curves, **more) -> None:
        rows.extend(_rows(quantity, response, curves, tokens, baseline, **more))

    failed = _unconverged_points(cells, full, base, about)
    whole: Curves = {}
    for response, curves in _fits(
        cells, full_observations, base_observations, about, replicates, seed
    ):
        add("delta_loglik", response, curves, failed=failed)
        whole = curves if response[0] == ALL else whole
    unit, perplexities = _perplexities(surprisal, about, further)
    for dataset, curves in perplexities.items():
        add("perplexity", (dataset, unit, ""), curves, power=2.0)
    if pairs is not None:
        add("accuracy", ("", "", ""), _accuracies(pairs, scores, points, further, replicates, seed))
    for layer, curves in _distances(attention, points, further).items():
        add("mean_distance", ("", layer, ""), curves)
    write_csv(out, pd.DataFrame(rows, columns=COLUMNS))
    if matched is not None:
        baselines = {point["of"]: about[point["baseline"]]["of"] for point in points}
        write_csv(
            matched, compare_at_same_perplexity(whole, perplexities.get(ALL, {}), baselines, unit)
        )


def _rows(
    quantity: str,
    response: tuple[str, str, str],
    curves: Curves,
    tokens: Mapping[Point, int],
    baseline: str,
    failed: Iterable[tuple] = (),
    power: float | None = None,
) -> list[dict]:
    """Return the rows of a quantity for a response, one per point.

    Values b are written as `power` ** b if given, as perplexity is from bits, without differences.
    """
    rows = []
    for (lm, step), estimate in curves.items():
        row = dict.fromkeys(COLUMNS, math.nan)
        row |= dict(zip(NAMES, (quantity, lm, step, tokens[lm, step], *response), strict=True))
        ends = estimate.ends()
        value, low, high = estimate.value, ends["low"], ends["high"]
        if power:
            value, low, high = (power**number for number in (value, low, high))
        by = f"seed and {ends['by']}" if estimate.freedom and estimate.drawn else ends["by"]
        row |= {"seeds": estimate.freedom + 1, "value": value, "low": low, "high": high, "by": by}
        row["converged"] = (lm, step, *response) not in failed
        if not power:
            if lm != baseline and (reference := curves.get((baseline, step))):
                row |= _difference_columns("baseline", estimate - reference)
            steps = sorted(at for name, at in curves if name == lm)
            if step != steps[-1]:
                together = _together([curves[lm, at] for at in steps])
                row |= _difference_columns("last", estimate - curves[lm, steps[-1]], together)
        rows.append(row)
    return rows


def _difference_columns(
    name: str, draws: Draws, together: Mapping | None = None
) -> dict[str, float]:
    """Return the columns of a difference; `together` gives its simultaneous interval."""
    ends, those = draws.ends(together), "_all" if together else ""
    return {
        f"over_{name}": draws.value,
        f"low_over_{name}": ends[f"low{those}"],
        f"high_over_{name}": ends[f"high{those}"],
    }


def _together(along: Sequence[Draws]) -> dict[str, float] | None:
    """Return the critical value of simultaneous intervals of differences from the last step."""
    last = len(along) - 1
    return (
        simultaneous_critical_value(along, [(index, last) for index in range(last)])
        if last > 1
        else None
    )


def _curves(
    points: Described,
    values: Iterable[float],
    further: NewSeeds,
    drawn: Iterable[np.ndarray] | None = None,
    cluster: str = "",
) -> Curves:
    """Return means of values over seeds, in the order of `points`, with draws by a cluster."""
    by_point: dict[Point, dict[str, float]] = {}
    clusters: dict[Point, list[np.ndarray]] = {}
    points = list(points)
    for point, value in zip(points, values, strict=True):
        by_point.setdefault((point["of"], point["step"]), {})[str(point["seed"])] = value
    if drawn is not None:
        for point, draws in zip(points, drawn, strict=True):
            clusters.setdefault((point["of"], point["step"]), []).append(draws)
    means = {key: {cluster: np.mean(draws, axis=0)} for key, draws in clusters.items()}
    return {key: further.mean(of, means.get(key, {})) for key, of in by_point.items()}


def _fits(
    cells: Sequence[Mapping[str, str]],
    full: Sequence[File],
    base: Sequence[File],
    about: Mapping[str, Mapping],
    replicates: int,
    seed: int,
) -> Iterable[tuple[tuple[str, str, str], Curves]]:
    """Yield each response with its ΔLogLik, then the sum over responses that every point has.

    The sum treats datasets with common texts as independent: the rule has no words to identify them.
    """
    sums = Sums()
    for cell, *pair in zip(cells, full, base, strict=True):
        point, response = about[cell["lm"]], (cell["dataset"], cell["measure"], cell["design"])
        key, parts = (point["of"], point["step"]), delta_loglik.contributions(*pair)
        sums.add(key, response, parts, str(point["seed"]))
    places: dict[tuple[str, str, str], Curves] = {}
    for (point, response), drawn in sums.draw(replicates, seed).items():
        places.setdefault(response, {})[point] = drawn
    for key, curves in places.items():
        yield key, {point: d for point, d in curves.items() if math.isfinite(d.value)}
    whole = [c for c in places.values() if all(math.isfinite(d.value) for d in c.values())]
    if whole:
        first, *rest = whole
        for curves in rest:
            first = {point: first[point] + curves[point] for point in first}
        yield (ALL, ALL, ""), first


def _unconverged_points(
    cells: Sequence[Mapping[str, str]],
    full: Sequence[File],
    base: Sequence[File],
    about: Mapping[str, Mapping],
) -> set[tuple]:
    """Return (LM, step, dataset, measure, design) of points with a fit that did not converge."""
    keys = set()
    for cell, *pair in zip(cells, full, base, strict=True):
        point = about[cell["lm"]]
        if not delta_loglik.compare(*pair)["converged"]:
            response = (cell["dataset"], cell["measure"], cell["design"])
            keys |= {(point["of"], point["step"], *key) for key in (response, (ALL, ALL, ""))}
    return keys


def _perplexities(
    paths: Files, about: Mapping[str, Mapping], further: NewSeeds
) -> tuple[str, dict[str, Curves]]:
    """Return dataset (or "all") → bits per token, per word where the LMs' tokenizers differ."""
    totals: dict[str, dict[str, np.ndarray]] = {}
    for path in map(Path, paths):
        lm, dataset, values = path.parent.name, path.stem, np.array(scored(path))
        totals.setdefault(dataset, {})[lm] = values
        whole = totals.setdefault(ALL, {})
        whole[lm] = whole.get(lm, 0) + values
    alike = all(len({tokens for _, tokens, _ in of.values()}) == 1 for of in totals.values())
    return "token" if alike else "word", {
        dataset: _curves(
            [about[lm] for lm in of],
            [bits / (tokens if alike else words) for bits, tokens, words in of.values()],
            further,
        )
        for dataset, of in totals.items()
    }


def _accuracies(
    pairs: File,
    scores: Sequence[File],
    points: Sequence[Mapping],
    further: NewSeeds,
    replicates: int,
    seed: int,
) -> Curves:
    """Return each LM's accuracy on minimal pairs in percent, averaged over paradigms."""
    table = pd.read_parquet(pairs, columns=["pair", "paradigm", "phenomenon"])
    judged = {
        point["lm"]: accuracy.judge(path, table, point["lm"])
        for point, path in zip(points, scores, strict=True)
    }
    shown = accuracy.compared(judged)
    codes = pd.factorize(table.paradigm)[0]
    sizes = np.bincount(codes)
    by_paradigm = np.column_stack(
        [100 * np.bincount(codes, sums[shown[lm]][0]) / sizes for lm, sums in judged.items()]
    )
    drawn = bootstrap.draws(by_paradigm, replicates, seed) / len(by_paradigm)
    return _curves(points, by_paradigm.mean(0), further, drawn.T, "paradigm")


def _distances(
    paths: Sequence[File], points: Sequence[Mapping], further: NewSeeds
) -> dict[str, Curves]:
    """Return layer (or "all") → mean attention distance over its heads, in tokens."""
    tables = [comparison.table(path, ["layer", "mean_distance"]) for path in paths]
    if not tables:
        return {}
    distances = {ALL: [table.mean_distance.mean() for table in tables]}
    for layer in sorted({layer for table in tables for layer in table.layer}):
        distances[f"layer {layer}"] = [
            table.mean_distance[table.layer == layer].mean() for table in tables
        ]
    return {layer: _curves(points, values, further) for layer, values in distances.items()}
