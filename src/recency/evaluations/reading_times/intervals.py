"""Intervals of ΔLogLik and of its differences between LMs, by response and over responses.

For the endpoint `crossed` they are based on scores of unseen subjects and sentences and generalise
to both (crosslmm.stats.crossed_samples). For the others they are conditional on the fits: the
subjects (or sentences) of each dataset are resampled with all of their observations in all of the
dataset's measures, with the same draws for all LMs; sentences that datasets share are drawn together
(recency.evaluations.reading_times.shared_texts). The reported interval is the wider of those by
subject and by sentence.

New training seeds are part of both (crosslmm.stats.totals).
"""

import itertools
import math
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from crosslmm.stats import bootstrap, crossed_samples
from crosslmm.stats import totals as drawn_totals
from crosslmm.stats.crossed_samples import Scores
from crosslmm.stats.totals import Draws, NewSeeds
from recency.endpoints import BY_ITEMS
from recency.errors import InputError
from recency.evaluations.reading_times.shared_texts import Places

CLUSTERS = ("subject", "sentence")
ALL = "all"
COLUMNS = [
    *("lm", "against", "kind", "dataset", "measure", "design", "n", "delta_loglik"),
    *("low", "high", "by", "se", "low_all", "high_all", "share", "share_low", "share_high"),
    *(f"{name}_{cluster}" for cluster in CLUSTERS for name in ("low", "high", "se")),
]
Response = tuple[str, str, str]
"""Dataset, measure and design."""
LM = str | tuple[str, int]
"""An LM's name, with a step on a learning curve."""


class Sums:
    """ΔLogLik of cells (LM and response), stored as sums by cluster."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], dict[tuple[LM, Response], list[pd.Series]]] = {}
        self._totals: dict[tuple[LM, Response], dict[str, float]] = {}
        self._n: dict[tuple[LM, Response], int] = {}
        self._shared: dict[str, dict[tuple[LM, Response], list[pd.Series]]] = {}

    def add(
        self,
        lm: LM,
        response: Response,
        parts: pd.DataFrame,
        seed: str = "",
        places: Places | None = None,
    ) -> None:
        """Add a cell by its observations (subject, sentence, delta_loglik), for one seed of its LM.

        `places` are those of its dataset's sentences among all datasets. Without them its sentences
        are independent of the others'. Conditions of a stimulus are one sentence.
        """
        if by_stimulus := bool(places and places.of_stimulus):
            parts = parts.assign(sentence=places.placed(parts, response[0])["sentence"])
        for cluster in CLUSTERS:
            sums = _sums_by(parts["delta_loglik"], parts[cluster])
            cells = self._sums.setdefault((response[0], cluster), {})
            cells.setdefault((lm, response), []).append(sums)
        if places:
            if not by_stimulus:
                units = pd.DataFrame({"subject": "", "sentence": sums.index})
                units.attrs = dict(parts.attrs)
                sums = _sums_by(sums, places.placed(units, response[0])["sentence"])
            cells = self._shared.setdefault(places.sample, {})
            cells.setdefault((lm, response), []).append(sums)
        self._n.setdefault((lm, response), len(parts))
        seeds = self._totals.setdefault((lm, response), {})
        if seed in seeds:
            raise InputError(
                f"{lm} has the seed {seed!r} twice on {' '.join(response[:2])}; use a different seed for each"
            )
        seeds[seed] = float(parts["delta_loglik"].sum(skipna=False))

    def draw(self, replicates: int, seed: int) -> dict[tuple[LM, Response], Draws]:
        """Resample the clusters of each dataset, the same ones for all of its cells.

        Datasets that share sentences have the same draws of these.
        """
        samples: dict[tuple[LM, Response], dict[str, np.ndarray]] = {}
        # A dataset that shares no sentence has the draws of its own sentences.
        shared = {
            sample: cells
            for sample, cells in self._shared.items()
            if len({dataset for _, (dataset, *_) in cells}) > 1
        }
        together = {dataset for cells in shared.values() for _, (dataset, *_) in cells}
        for (dataset, cluster), cells in self._sums.items():
            if cluster == "sentence" and dataset in together:
                continue
            table = _table(cells, _names(cells))
            drawn = bootstrap.draws(table, replicates, _stream(seed, dataset, cluster))
            for column, cell in enumerate(cells):
                samples.setdefault(cell, {})[cluster] = drawn[:, column]
        for sample, cells in shared.items():
            drawn = _draws_of_shared(cells, replicates, _stream(seed, sample, "sentence"))
            for cell, column in drawn.items():
                samples[cell]["sentence"] = column
        further = NewSeeds(self._totals.values(), replicates, seed)
        return {
            cell: further.mean(self._totals[cell], drawn, self._n[cell])
            for cell, drawn in samples.items()
        }


def _sums_by(values: pd.Series, clusters: pd.Series) -> pd.Series:
    """Return the sum of the values of each cluster, by its name."""
    codes, names = pd.factorize(clusters)
    return pd.Series(np.bincount(codes, values), names.astype(str))


def _stream(seed: int, sample: str, cluster: str) -> list[int]:
    """Return the seeds of the draws of a sample's clusters."""
    return [seed, zlib.crc32(f"{sample}\t{cluster}".encode())]


def _names(cells: Mapping[tuple[LM, Response], Sequence[pd.Series]]) -> list[str]:
    """Return the names of all clusters of cells."""
    return sorted(set().union(*(sums.index for seeds in cells.values() for sums in seeds)))


def _table(
    cells: Mapping[tuple[LM, Response], Sequence[pd.Series]], names: Sequence[str]
) -> np.ndarray:
    """Return the mean over seeds of each cluster's sums (clusters, cells).

    A cluster without observations of a measure is drawn as well, and contributes 0.
    """
    columns = (
        np.mean([sums.reindex(names, fill_value=0.0) for sums in seeds], axis=0)
        for seeds in cells.values()
    )
    return np.column_stack(list(columns))


def _draws_of_shared(
    cells: Mapping[tuple[LM, Response], Sequence[pd.Series]], replicates: int, stream: Sequence[int]
) -> dict[tuple[LM, Response], np.ndarray]:
    """Resample the sentences of several datasets jointly; return each cell's draws (replicates,).

    Sentences contribute their deviations from the mean of the dataset's sentences, so that a total
    does not vary with how many of the dataset's sentences are drawn.
    """
    names = _names(cells)
    table = _table(cells, names)
    totals = table.sum(0)
    of_cell = [response[0] for _, response in cells]
    for dataset in set(of_cell):
        own = {cell: seeds for cell, seeds in cells.items() if cell[1][0] == dataset}
        columns, rows = np.equal(of_cell, dataset), np.isin(names, _names(own))
        # One sentence has no variation that could be estimated.
        mean = totals[columns] / rows.sum() if rows.sum() > 1 else math.nan
        table[np.ix_(rows, columns)] -= mean
    drawn = totals + bootstrap.draws(table, replicates, stream)
    return dict(zip(cells, drawn.T, strict=True))


def table(
    cells: Mapping[tuple[str, Response], Draws | Scores],
    baselines: Mapping[str, str],
    apart: Mapping[str, str] | None = None,
    baseline: str | None = None,
    of_items: Collection[Response] = (),
) -> pd.DataFrame:
    """Return one row (COLUMNS) per interval of an experiment with these cells.

    By response, there are each LM's ΔLogLik (kind "own") and its difference from its LM in
    `baselines` ("baseline"), and the same over all responses that every LM has (dataset and measure
    "all"). Designs with another name in `apart` (design → name) have separate totals, with the name
    as their design. Without `apart`, all other pairs follow ("pair"). low_all and high_all are
    simultaneous for all pairs of a total. `by` names the clusters of low, high and se. `share` is a
    difference of totals as a share of the total of `baseline`, with the interval of the same pairs.
    Responses in `of_items` are of an experiment's items.
    """
    lms = list(dict.fromkeys(lm for lm, _ in cells))
    responses = list(dict.fromkeys(response for _, response in cells))
    rows = []
    for response in responses:
        here = {lm: cells[lm, response] for lm in lms if (lm, response) in cells}
        rows += [_row(lm, "", "own", response, estimate) for lm, estimate in here.items()]
        for lm, estimate in here.items():
            if (other := baselines.get(lm, lm)) != lm and other in here:
                rows.append(_row(lm, other, "baseline", response, estimate - here[other]))
    together: dict[str, list[Response]] = {}
    for response in responses:
        together.setdefault((apart or {}).get(response[2], ""), []).append(response)
    for name, listed in together.items():
        rows += _totals(cells, lms, listed, baselines, name, not apart, baseline)
    every = set(responses).issubset(of_items)
    for row in rows:
        response = row["dataset"], row["measure"], row["design"]
        items = every if row["dataset"] == ALL else response in of_items
        row["by"] = cluster(row["by"], items)
    return pd.DataFrame(rows, columns=COLUMNS)


def cluster(by: str, of_items: bool) -> str:
    """Return the clusters of an interval, by name: items in place of sentences where it is of items."""
    return BY_ITEMS if of_items and by == crossed_samples.BY else by


def _totals(
    cells: Mapping[tuple[str, Response], Draws | Scores],
    lms: Sequence[str],
    responses: Iterable[Response],
    baselines: Mapping[str, str],
    name: str = "",
    every_pair: bool = True,
    baseline: str | None = None,
) -> list[dict]:
    """Return the rows over all responses for which every LM has a ΔLogLik."""
    # An LM without any fit is not ranked, and does not exclude responses of the others.
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
        for term in rest:
            first = first + term
        totals[lm] = first
    everything = (ALL, ALL, name)
    rows = [_row(lm, "", "own", everything, estimate) for lm, estimate in totals.items()]
    pairs = [(lm, baselines[lm]) for lm in totals if baselines.get(lm, lm) != lm]
    pairs = [pair for pair in pairs if pair[1] in totals]
    compared = {frozenset(pair) for pair in pairs}
    others = [p for p in itertools.combinations(totals, 2) if frozenset(p) not in compared]
    others = others if every_pair else []
    places = {lm: index for index, lm in enumerate(totals)}
    indices = [(places[a], places[b]) for a, b in pairs + others]
    every = list(totals.values())
    module = crossed_samples if isinstance(every[0], Scores) else drawn_totals
    # A single pair is not simultaneous.
    together = module.simultaneous_critical_value(every, indices) if len(indices) > 1 else None
    for kind, listed in (("baseline", pairs), ("pair", others)):
        for a, b in listed:
            difference = totals[a] - totals[b]
            row = _row(a, b, kind, everything, difference, together)
            if together is None:
                row |= {"low_all": row["low"], "high_all": row["high"]}
            rows.append(row | share(difference, totals.get(baseline), together))
    return rows


def share(
    difference: Draws | Scores,
    whole: Draws | Scores | None,
    together: Mapping[str, float] | float | None = None,
) -> dict[str, float]:
    """Return a difference as a share of a total, with its interval by Fieller's method.

    The interval has the shares ρ for which the interval of difference − ρ·whole includes 0, so that it
    includes 0 where the difference's does. It is empty where the total's interval reaches 0, when every
    share is compatible with the data. `together` is the critical value of simultaneous intervals.
    """
    from scipy.optimize import brentq

    columns = dict.fromkeys(("share", "share_low", "share_high"), math.nan)
    ends = ("low", "high") if together is None else ("low_all", "high_all")
    if whole is None or not whole.ends(together)[ends[0]] > 0:
        return columns
    columns["share"] = difference.value / whole.value
    for end, direction in zip(ends, (-1, 1), strict=True):

        def beyond(ratio: float, end: str = end) -> float:
            return float((difference - whole * ratio).ends(together)[end])

        inner, step = columns["share"], 0.1
        if not math.isfinite(beyond(inner)):
            return columns
        while direction * beyond(inner + direction * step) > 0:
            step *= 2
        outer = inner + direction * step
        found = brentq(beyond, inner, outer, xtol=1e-9) if beyond(inner) else inner
        columns["share_low" if direction < 0 else "share_high"] = float(found)
    return columns


def _row(
    lm: str,
    against: str,
    kind: str,
    response: Response,
    estimate: Draws | Scores,
    together: Mapping[str, float] | float | None = None,
) -> dict:
    """Return a row with both intervals, the wider one, and simultaneous ones given `together`."""
    names = dict(zip(("dataset", "measure", "design"), response, strict=True))
    row = {"lm": lm, "against": against, "kind": kind, **names, "n": estimate.n}
    return row | {"delta_loglik": estimate.value} | estimate.ends(together)
