"""How sure ΔLogLik is, and how sure two LMs' difference: a bootstrap of subjects, and of sentences.

A draw takes as many subjects (or sentences) of each dataset as it has, with replacement, each with
all of its observations in all of the dataset's measures; a total over responses adds the datasets.
All LMs have the same draws, so that their differences are paired. Of the two intervals, by subject
and by sentence, the wider one counts, and is named.

An LM that was trained from S seeds is their mean, and further seeds are drawn too: to each draw is
added what the mean of S others might differ by, t with S - 1 degrees of freedom times the seeds'
standard error. LMs of the same seeds have the same draws of these, so that what a seed has in common
leaves their difference. How seed and cluster go together is counted on both sides, which makes the
intervals a little too wide rather than too narrow.
"""

import itertools
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.stats import bootstrap

CLUSTERS = ("subject", "sentence")
ALL = "all"
COLUMNS = [
    *("lm", "against", "kind", "dataset", "measure", "design", "n", "delta_loglik"),
    *("low", "high", "by", "se", "low_all", "high_all"),
    *(f"{name}_{cluster}" for cluster in CLUSTERS for name in ("low", "high", "se")),
]
Response = tuple[str, str, str]
"""Dataset, measure and design."""


@dataclass(frozen=True)
class Draws:
    """ΔLogLik of one LM, or of two the difference, its n and its draws (replicates,) by cluster.

    `seeds` (all seeds,) is how far each seed is from their mean, over √(S (S - 1)), so that its length
    is the mean's standard error; `noise` (replicates,) what further seeds might add to the mean.
    """

    value: float
    n: int
    drawn: Mapping[str, np.ndarray]
    seeds: np.ndarray | float = 0.0
    noise: np.ndarray | float = 0.0

    def __add__(self, other: "Draws") -> "Draws":
        return self._with(other, 1, self.n + other.n)

    def __sub__(self, other: "Draws") -> "Draws":
        return self._with(other, -1, self.n)

    def _with(self, other: "Draws", sign: int, n: int) -> "Draws":
        drawn = {name: self.drawn[name] + sign * other.drawn[name] for name in self.drawn}
        seeds, noise = self.seeds + sign * other.seeds, self.noise + sign * other.noise
        return Draws(self.value + sign * other.value, n, drawn, seeds, noise)

    def of(self, cluster: str) -> np.ndarray:
        """Return the draws (replicates,) of a cluster, and of seeds."""
        return self.drawn[cluster] + self.noise

    def se(self, cluster: str) -> float:
        """Return the standard error, of the cluster's draws and of seeds."""
        return math.hypot(float(self.drawn[cluster].std(ddof=1)), np.linalg.norm(self.seeds))


class Sums:
    """ΔLogLik of cells (LM and response), kept as its sums by cluster."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], dict[tuple[str, Response], list[pd.Series]]] = {}
        self._totals: dict[tuple[str, Response], dict[str, tuple[float, int]]] = {}

    def add(self, lm: str, response: Response, parts: pd.DataFrame, seed: str = "") -> None:
        """Add a cell by its observations: subject, sentence, delta_loglik; of one seed of its LM."""
        for cluster in CLUSTERS:
            codes, names = pd.factorize(parts[cluster])
            sums = pd.Series(np.bincount(codes, parts["delta_loglik"]), names.astype(str))
            cells = self._sums.setdefault((response[0], cluster), {})
            cells.setdefault((lm, response), []).append(sums)
        value = float(parts["delta_loglik"].sum(skipna=False))
        seeds = self._totals.setdefault((lm, response), {})
        if seed in seeds:
            raise InputError(
                f"{lm} has the seed {seed!r} twice on {' '.join(response[:2])}; give each one of its own"
            )
        seeds[seed] = (value, len(parts))

    def draw(self, replicates: int, seed: int) -> dict[tuple[str, Response], Draws]:
        """Draw the clusters of each dataset anew, the same ones for all of its cells."""
        found: dict[tuple[str, Response], dict[str, np.ndarray]] = {}
        for (dataset, cluster), cells in self._sums.items():
            names = sorted(set().union(*(sums.index for all_ in cells.values() for sums in all_)))
            # A cluster without observations of a measure is drawn all the same, and adds nothing.
            table = np.column_stack(
                [
                    np.mean([sums.reindex(names, fill_value=0.0) for sums in seeds], axis=0)
                    for seeds in cells.values()
                ]
            )
            stream = [seed, zlib.crc32(f"{dataset}\t{cluster}".encode())]
            drawn = bootstrap.draws(table, replicates, stream)
            for place, cell in enumerate(cells):
                found.setdefault(cell, {})[cluster] = drawn[:, place]
        further = _Seeds(self._totals, replicates, seed)
        return {
            cell: Draws(*_over_seeds(self._totals[cell]), drawn, *further.of(self._totals[cell]))
            for cell, drawn in found.items()
        }


def _over_seeds(seeds: Mapping[str, tuple[float, int]]) -> tuple[float, int]:
    """Return the mean of the seeds' ΔLogLik, and n."""
    values, sizes = zip(*seeds.values(), strict=True)
    return math.fsum(values) / len(values), sizes[0]


class _Seeds:
    """What further seeds might add to the means of those that there are, the same for all LMs."""

    def __init__(self, totals: Mapping, replicates: int, seed: int) -> None:
        names = sorted({name for seeds in totals.values() for name in seeds})
        self.places = {name: place for place, name in enumerate(names)}
        random = np.random.default_rng([seed, zlib.crc32(b"seeds")])
        self.normal = random.standard_normal((replicates, len(names))) if len(names) > 1 else None
        most = max((len(seeds) for seeds in totals.values()), default=1)
        # Of few seeds the spread is hardly known: t, not the normal distribution.
        self.wider = {
            S: np.sqrt((S - 1) / random.chisquare(S - 1, replicates)) for S in range(2, most + 1)
        }

    def of(self, seeds: Mapping[str, tuple[float, int]]) -> tuple[np.ndarray | float, ...]:
        """Return `seeds` and `noise` of Draws; zero with one seed, of which nothing is known."""
        S = len(seeds)
        if S < 2:
            return 0.0, 0.0
        values = np.array([value for value, _ in seeds.values()])
        apart = np.zeros(len(self.places))
        apart[[self.places[name] for name in seeds]] = (values - values.mean()) / math.sqrt(
            S * (S - 1)
        )
        return apart, self.normal @ apart * self.wider[S]


def table(
    cells: Mapping[tuple[str, Response], Draws],
    baselines: Mapping[str, str],
    apart: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return one row (COLUMNS) for each interval of the experiment whose cells these are.

    By response, each LM's own ΔLogLik (kind "own") and its difference from the LM that `baselines`
    names for it ("baseline"), and the same over all responses that every LM has (dataset and measure
    "all"). Designs that `apart` gives another name (design → name) have totals of their own, the name
    as their design. Without it every other pair follows ("pair"). low_all and high_all hold for all
    pairs of a total together. by names the clusters of low, high and se.
    """
    lms = list(dict.fromkeys(lm for lm, _ in cells))
    responses = list(dict.fromkeys(response for _, response in cells))
    rows = []
    for response in responses:
        here = {lm: cells[lm, response] for lm in lms if (lm, response) in cells}
        rows += [_row(lm, "", "own", response, own) for lm, own in here.items()]
        for lm, own in here.items():
            if (other := baselines.get(lm, lm)) != lm and other in here:
                rows.append(_row(lm, other, "baseline", response, own - here[other]))
    together: dict[str, list[Response]] = {}
    for response in responses:
        together.setdefault((apart or {}).get(response[2], ""), []).append(response)
    for name, listed in together.items():
        rows += _totals(cells, lms, listed, baselines, name, every_pair=not apart)
    return pd.DataFrame(rows, columns=COLUMNS)


def _totals(
    cells: Mapping[tuple[str, Response], Draws],
    lms: Sequence[str],
    responses: Iterable[Response],
    baselines: Mapping[str, str],
    name: str = "",
    every_pair: bool = True,
) -> list[dict]:
    """Return the rows over all responses that every LM has a ΔLogLik of."""
    # An LM without any fit is not ranked, and takes no response from the others.
    ranked = [
        lm
        for lm in lms
        if any(math.isfinite(cells[lm, r].value) for r in responses if (lm, r) in cells)
    ]
    shared = [
        response
        for response in responses
        if all(
            (lm, response) in cells and math.isfinite(cells[lm, response].value) for lm in ranked
        )
    ]
    if not shared or not ranked:
        return []
    totals = {}
    for lm in ranked:
        first, *rest = (cells[lm, response] for response in shared)
        for each in rest:
            first = first + each
        totals[lm] = first
    everything = (ALL, ALL, name)
    rows = [_row(lm, "", "own", everything, own) for lm, own in totals.items()]
    pairs = [(lm, baselines[lm]) for lm in totals if baselines.get(lm, lm) != lm]
    pairs = [pair for pair in pairs if pair[1] in totals]
    known = {frozenset(pair) for pair in pairs}
    others = [p for p in itertools.combinations(totals, 2) if frozenset(p) not in known]
    others = others if every_pair else []
    places = {lm: place for place, lm in enumerate(totals)}
    indices = [(places[a], places[b]) for a, b in pairs + others]
    several = any(np.any(own.seeds) for own in totals.values())
    together = {
        cluster: bootstrap.largest_t(
            np.column_stack([own.of(cluster) for own in totals.values()]),
            indices,
            spreads=[(totals[a] - totals[b]).se(cluster) for a, b in pairs + others]
            if several
            else None,
        )
        for cluster in CLUSTERS
    }
    for kind, listed in (("baseline", pairs), ("pair", others)):
        rows += [_row(a, b, kind, everything, totals[a] - totals[b], together) for a, b in listed]
    if len(indices) == 1:  # nothing to hold together with
        rows[-1] |= {"low_all": rows[-1]["low"], "high_all": rows[-1]["high"]}
    return rows


def _row(
    lm: str,
    against: str,
    kind: str,
    response: Response,
    found: Draws,
    together: Mapping[str, float] | None = None,
) -> dict:
    """Return a row: both intervals, the wider one, and with `together` those of all pairs."""
    names = dict(zip(("dataset", "measure", "design"), response, strict=True))
    row = {"lm": lm, "against": against, "kind": kind, **names, "n": found.n}
    row |= {"delta_loglik": found.value, "by": "", "se": math.nan}
    row |= dict.fromkeys(("low", "high", "low_all", "high_all"), math.nan)
    for cluster in found.drawn:
        low, high = bootstrap.percentiles(found.of(cluster))
        se = found.se(cluster) if math.isfinite(low) else math.nan
        row |= {f"low_{cluster}": low, f"high_{cluster}": high, f"se_{cluster}": se}
        if math.isfinite(low) and not high - low <= row["high"] - row["low"]:
            row |= {"low": low, "high": high, "se": se, "by": cluster}
        reach = together[cluster] * se if together else math.nan
        if math.isfinite(reach) and not reach <= row["high_all"] - found.value:
            row |= {"low_all": found.value - reach, "high_all": found.value + reach}
    return row
