"""Points of learning curves: each LM after each step of its training, over its seeds.

ΔLogLik by response and summed, perplexity of the words read, minimal pairs, attention by distance.
A point is the mean over seeds, and its interval says what other readers, sentences (of minimal
pairs: paradigms) and seeds would give. One seed has the bootstrap's, as elsewhere. With S seeds the
variance of their mean, s²/S, is added to the bootstrap's, and the interval is Student's t with
Satterthwaite's degrees of freedom, S - 1 of them for the seeds' part.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from recency.evaluations.minimal_pairs import accuracy
from recency.evaluations.reading_times import delta_loglik
from recency.evaluations.reading_times.intervals import ALL, Sums
from recency.evaluations.reading_times.perplexity import scored
from recency.figures import comparison
from recency.files import atomic
from recency.stats import bootstrap

NAMES = ("quantity", "lm", "step", "tokens", "dataset", "measure", "design")
COLUMNS = [
    *NAMES,
    *("seeds", "value", "low", "high", "by"),
    *("over_baseline", "low_over_baseline", "high_over_baseline"),
    *("over_last", "low_over_last", "high_over_last"),
    "converged",
]
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Sample:
    """A value of one seed, and its draws (replicates,) by what is drawn anew."""

    value: float
    drawn: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __add__(self, other: "Sample") -> "Sample":
        both = {name: self.drawn[name] + other.drawn[name] for name in self.drawn}
        return Sample(self.value + other.value, both)

    def __sub__(self, other: "Sample") -> "Sample":
        both = {name: self.drawn[name] - other.drawn[name] for name in self.drawn}
        return Sample(self.value - other.value, both)


Seeds = Mapping[int, Sample]
Curves = dict[tuple[str, int], dict[int, Sample]]
"""(LM, step) → seed → sample."""


def main(
    out: str | Path,
    *,
    points: Sequence[Mapping],
    cells: Sequence[Mapping[str, str]] = (),
    full: Sequence[str | Path] = (),
    base: Sequence[str | Path] = (),
    full_observations: Sequence[str | Path] = (),
    base_observations: Sequence[str | Path] = (),
    surprisal: Iterable[str | Path] = (),
    pairs: str | Path | None = None,
    scores: Sequence[str | Path] = (),
    attention: Sequence[str | Path] = (),
    replicates: int = 10_000,
    seed: int = 0,
) -> None:
    """Write a row (COLUMNS) for each quantity, place, LM and step.

    `points` say of each LM file name (`lm`) which LM it is (`of`), and its step, tokens, seed and
    `baseline` (of the same step and seed). `cells` (lm, dataset, measure, design) are in the order
    of the fits and their observations; `scores` and `attention` are in that of `points`; `surprisal`
    are paths …/{lm}/{dataset}.parquet.

    Quantities: delta_loglik (nats, exploratory partition; dataset and measure "all": the sum over
    the responses that every point has), perplexity (per token or word, which measure says; dataset "all": of all words),
    accuracy (percent of minimal pairs), mean_distance (tokens, mean over heads; measure "layer n",
    or "all"). over_baseline is the difference from the baseline at the same step and seed, over_last
    that from the LM's own last step, whose interval holds for all of its steps together.
    """
    about = {each["lm"]: each for each in points}
    baseline = about[points[0]["baseline"]]["of"] if points else ""
    tokens = {(each["of"], each["step"]): each["tokens"] for each in points}
    rows: list[dict] = []

    def add(quantity: str, place: tuple[str, str, str], curves: Curves, **more) -> None:
        rows.extend(_rows(quantity, place, curves, tokens, baseline, **more))

    failed = _unconverged(cells, full, base, about)
    for place, curves in _fits(
        cells, full_observations, base_observations, about, replicates, seed
    ):
        add("delta_loglik", place, curves, failed=failed)
    unit, perplexities = _perplexities(surprisal, about)
    for dataset, curves in perplexities.items():
        add("perplexity", (dataset, unit, ""), curves, power=2.0)
    if pairs is not None:
        add("accuracy", ("", "", ""), _accuracies(pairs, scores, points, replicates, seed))
    for layer, curves in _distances(attention, points).items():
        add("mean_distance", ("", layer, ""), curves)
    with atomic(out) as path:
        pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False, lineterminator="\n")


def interval(seeds: Seeds, errors: float | None = None) -> tuple[float, float, str]:
    """Return the 95 % interval of the mean over seeds, and what it is by; NaN where nothing tells.

    With `errors` it reaches as many standard errors, where those that hold for several intervals
    together take the place of 1.96.
    """
    from scipy.stats import t

    values = np.array([each.value for each in seeds.values()])
    ends, errors_of = {}, {}
    for name, drawn in _mean(seeds).drawn.items():
        if np.isfinite(drawn).all():
            ends[name], errors_of[name] = bootstrap.percentiles(drawn), float(drawn.std(ddof=1))
    by = max(ends, key=lambda name: ends[name][1] - ends[name][0], default="")
    mean, se = values.mean(), errors_of.get(by, 0.0)
    if len(values) == 1 and by and errors is None:
        return *ends[by], by
    if not math.isfinite(mean) or (len(values) == 1 and not by):
        return math.nan, math.nan, ""
    reach = (errors or Z95) * se
    if len(values) > 1:
        between = float(values.std(ddof=1)) / math.sqrt(len(values))
        se = math.hypot(se, between)
        freedom = (len(values) - 1) * (se / between) ** 4 if between else math.inf
        reach = se * (errors or Z95) * float(t.ppf(0.975, freedom)) / Z95
        by = f"seed and {by}" if by else "seed"
    return mean - reach, mean + reach, by


def _mean(seeds: Seeds) -> Sample:
    """Return the mean over seeds; all of them have the same draws."""
    first, *rest = seeds.values()
    for each in rest:
        first = first + each
    drawn = {name: values / len(seeds) for name, values in first.drawn.items()}
    return Sample(first.value / len(seeds), drawn)


def _over(seeds: Seeds, others: Seeds) -> dict[int, Sample]:
    """Return the differences, seed by seed where both have the seed."""
    return {seed: seeds[seed] - others[seed] for seed in seeds if seed in others}


def _rows(
    quantity: str,
    place: tuple[str, str, str],
    curves: Curves,
    tokens: Mapping[tuple[str, int], int],
    baseline: str,
    failed: Iterable[tuple] = (),
    power: float | None = None,
) -> list[dict]:
    """Return the rows of a quantity in a place, point by point.

    Of `power` b values are given as b to the value: perplexity of bits, say; it has no differences.
    """
    rows = []
    for (lm, step), seeds in curves.items():
        low, high, by = interval(seeds)
        value = _mean(seeds).value
        if power:
            value, low, high = (power**each for each in (value, low, high))
        row = dict.fromkeys(COLUMNS, math.nan)
        row |= dict(zip(NAMES, (quantity, lm, step, tokens[lm, step], *place), strict=True))
        row |= {"seeds": len(seeds), "value": value, "low": low, "high": high, "by": by}
        row["converged"] = (lm, step, *place) not in failed
        last = max(at for name, at in curves if name == lm)
        if not power:
            if lm != baseline and (reference := curves.get((baseline, step))):
                row |= _ends("over_baseline", _over(seeds, reference))
            if step != last:
                errors = _together(curves, lm, last)
                row |= _ends("over_last", _over(seeds, curves[lm, last]), errors)
        rows.append(row)
    return rows


def _ends(name: str, seeds: Seeds, errors: float | None = None) -> dict[str, float]:
    """Return a difference and the ends of its interval; none where no seed is shared."""
    if not seeds:
        return {}
    low, high, _ = interval(seeds, errors)
    return {name: _mean(seeds).value, f"low_{name}": low, f"high_{name}": high}


def _together(curves: Curves, lm: str, last: int) -> float | None:
    """Return how many standard errors make an LM's differences from its last step hold together."""
    means = [_mean(seeds) for (name, _), seeds in curves.items() if name == lm]
    steps = [step for name, step in curves if name == lm]
    pairs = [(place, steps.index(last)) for place, step in enumerate(steps) if step != last]
    if len(pairs) < 2:
        return None
    found = [
        bootstrap.largest_t(np.column_stack([mean.drawn[name] for mean in means]), pairs)
        for name in means[0].drawn
    ]
    return max((each for each in found if math.isfinite(each)), default=None)


def _curves(points: Iterable[Mapping], samples: Iterable[Sample]) -> Curves:
    """Return samples, in the order of `points`, by LM and step, and seed."""
    found: Curves = {}
    for point, sample in zip(points, samples, strict=True):
        found.setdefault((point["of"], point["step"]), {})[point["seed"]] = sample
    return found


def _fits(
    cells: Sequence[Mapping[str, str]],
    full: Sequence[str | Path],
    base: Sequence[str | Path],
    about: Mapping[str, Mapping],
    replicates: int,
    seed: int,
) -> Iterable[tuple[tuple[str, str, str], Curves]]:
    """Yield each response and its ΔLogLik, and what all that every point has come to together."""
    sums = Sums()
    for cell, *pair in zip(cells, full, base, strict=True):
        response = (cell["dataset"], cell["measure"], cell["design"])
        sums.add(cell["lm"], response, delta_loglik.contributions(*pair))
    places: dict[tuple[str, str, str], dict[str, Sample]] = {}
    for (lm, response), drawn in sums.draw(replicates, seed).items():
        places.setdefault(response, {})[lm] = Sample(drawn.value, drawn.drawn)
    for place, samples in places.items():
        known = {lm: each for lm, each in samples.items() if math.isfinite(each.value)}
        yield place, _curves([about[lm] for lm in known], known.values())
    whole = [each for each in places.values() if all(math.isfinite(s.value) for s in each.values())]
    if whole:
        first, *rest = whole
        for samples in rest:
            first = {lm: first[lm] + samples[lm] for lm in first}
        yield (ALL, ALL, ""), _curves([about[lm] for lm in first], first.values())


def _unconverged(
    cells: Sequence[Mapping[str, str]],
    full: Sequence[str | Path],
    base: Sequence[str | Path],
    about: Mapping[str, Mapping],
) -> set[tuple]:
    """Return LM, step, dataset, measure and design of points of which some fit did not converge."""
    found = set()
    for cell, *pair in zip(cells, full, base, strict=True):
        point = about[cell["lm"]]
        if not delta_loglik.compare(*pair)["converged"]:
            place = (cell["dataset"], cell["measure"], cell["design"])
            found |= {(point["of"], point["step"], *each) for each in (place, (ALL, ALL, ""))}
    return found


def _perplexities(
    paths: Iterable[str | Path], about: Mapping[str, Mapping]
) -> tuple[str, dict[str, Curves]]:
    """Return dataset → bits per token, "all" for all together; per word where LMs have tokens of their own."""
    totals: dict[str, dict[str, np.ndarray]] = {}
    for path in map(Path, paths):
        lm, dataset, found = path.parent.name, path.stem, np.array(scored(path))
        totals.setdefault(dataset, {})[lm] = found
        whole = totals.setdefault(ALL, {})
        whole[lm] = whole.get(lm, 0) + found
    alike = all(len({tokens for _, tokens, _ in of.values()}) == 1 for of in totals.values())
    return "token" if alike else "word", {
        dataset: _curves(
            [about[lm] for lm in of],
            [Sample(bits / (tokens if alike else words)) for bits, tokens, words in of.values()],
        )
        for dataset, of in totals.items()
    }


def _accuracies(
    pairs: str | Path,
    scores: Sequence[str | Path],
    points: Sequence[Mapping],
    replicates: int,
    seed: int,
) -> Curves:
    """Return the percentage of minimal pairs that each LM has right, a mean over paradigms."""
    table = pd.read_parquet(pairs, columns=["pair", "paradigm", "phenomenon"])
    judged = {
        point["lm"]: accuracy.judge(path, table, point["lm"])
        for point, path in zip(points, scores, strict=True)
    }
    shown = accuracy.compared(judged)
    codes = pd.factorize(table.paradigm)[0]
    sizes = np.bincount(codes)
    each = np.column_stack(
        [100 * np.bincount(codes, found[shown[lm]][0]) / sizes for lm, found in judged.items()]
    )
    drawn = bootstrap.draws(each, replicates, seed) / len(each)
    samples = [Sample(float(v), {"paradigm": d}) for v, d in zip(each.mean(0), drawn.T)]
    return _curves(points, samples)


def _distances(paths: Sequence[str | Path], points: Sequence[Mapping]) -> dict[str, Curves]:
    """Return layer → the mean distance of what its heads attend to, in tokens; of all "all"."""
    tables = [comparison.table(path, ["layer", "mean_distance"]) for path in paths]
    if not tables:
        return {}
    layers = sorted({layer for each in tables for layer in each.layer})
    found = {ALL: [Sample(float(each.mean_distance.mean())) for each in tables]}
    for layer in layers:
        means = [each.mean_distance[each.layer == layer].mean() for each in tables]
        found[f"layer {layer}"] = [Sample(float(mean)) for mean in means]
    return {layer: _curves(points, samples) for layer, samples in found.items()}
