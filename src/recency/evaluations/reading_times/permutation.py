"""Paired tests between LMs on the held-out partition (Clark et al. 2025, Section 4).

p, which is printed and corrected, is that of Student's t of the difference of two models' squared errors,
with the standard error of the primary endpoint: by subjects and sentences (or texts) at once
(crosslmm.stats.crossed_samples). Permutation tests follow: errors are swapped at random, together for all
observations of a subject (p_subject) or of a sentence (p_sentence); the statistic is the difference of
their means unless the experiment sets another (`test_statistic`), two-sided. Where both subjects and
sentences vary neither is a test, nor is the larger of the two (up to 15 % false positives at a nominal
5 %). Swapping single observations ignores all dependence: p_observation_anticonservative has this value,
for comparison with published ones.

The errors of an LM with several seeds are means over the seeds, and p includes the variation
between new seeds (crosslmm.stats.permutation). Kinds of memory are tested in the same way; the
errors of a kind are means over its LMs. Only this rule reads the held-out partition.
"""

import csv
import math
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from crosslmm.factors import Levels
from crosslmm.stats.crossed_samples import Tables
from crosslmm.stats.multiple_tests import holm
from crosslmm.stats.permutation import MEAN, permutation_p, statistic_of
from readingtimes.files import atomic
from readingtimes.progress import progress
from readingtimes.response_names import SCORE
from recency.evaluations.reading_times import shared_texts
from recency.evaluations.reading_times.shared_texts import Places
from recency.regression.inputs import Inputs
from recency.regression.prediction import observed, predict, read_fit, rows_for

COLUMNS = [
    *("lm_a", "lm_b", "dataset", "measure", "n", "mse_a", "mse_b", "difference", "p"),
    *("permutations", "p_subject", "p_sentence", "p_holm", "p_observation_anticonservative"),
]
OBSERVATION = "p_observation_anticonservative"
"""Column of the p value that treats observations as independent."""
ALL = "all"
CLUSTERS = ("subject", "sentence")


@dataclass
class Errors:
    """One LM's squared errors (n,) on a response's held-out observations, and their clusters.

    `seed` is the training seed if there are several. `unit` is that of the response: time_ms, its
    logarithm or amplitude_uv.
    """

    squared: np.ndarray
    groups: dict[str, Levels]
    unit: str = "time_ms"
    seed: str = ""


Pair = tuple[str, Errors | None, Errors | None]
"""A dataset and the errors of two LMs on the same observations; None without a fit."""


def main(
    held_out: Sequence[str | PathLike],
    words: Sequence[str | PathLike],
    surprisal_a: Sequence[str | PathLike],
    surprisal_b: Sequence[str | PathLike],
    fit_a: Sequence[str | PathLike],
    fit_b: Sequence[str | PathLike],
    out: str | PathLike,
    *,
    comparisons: Sequence[Mapping[str, str]],
    unigram: Sequence[str | PathLike] = (),
    baselines: Mapping[str, str] | None = None,
    permutations: int = 10_000,
    seed: int = 0,
    statistic: str = MEAN,
    others: Sequence[str | PathLike] = (),
    named: Sequence[Mapping[str, str]] = (),
    kinds: Mapping[str, str] | None = None,
    out_kinds: str | PathLike | None = None,
) -> None:
    """Write one row per comparison (lm_a, lm_b, dataset, measure) and one per pair of LMs.

    Comparisons that differ only in `seed` make one row. All files are in the order of
    `comparisons`, `unigram` where a design needs it; the fits are the full models. The row of a
    pair of LMs (dataset and measure "all") tests all its observations together; observations in
    different units, such as times and amplitudes, cannot be pooled: n = 0 and empty values. The
    same holds for a response without a fit of one LM, which is excluded from the pooled row. p is
    two-way (`compare`), p_holm corrected by Holm's method in four families: LMs against their baseline (`baselines`,
    lm → lm) over all responses, the same by response, and other pairs likewise. `out_kinds` has the
    same for each pair of `kinds` (lm → kind), in two families: over all responses, and by response.
    `others` are surprisal files of LMs named in formulas, one per lm and dataset of `named`.
    `statistic` is a module of
    crosslmm.stats.statistics.
    """
    shown = progress(len(comparisons), "permutation test", "comparisons")
    done: dict[tuple[str, ...], Errors | None] = {}

    def errors(dataset: str, *files: str | PathLike) -> Errors | None:
        key = tuple(map(str, files))
        if key not in done:
            of_other_lms = surprisal_files(dataset, named, others)
            done[key] = squared_errors(*files, of_other_lms)
        return done[key]

    places = shared_texts.find(
        {names["dataset"]: path for names, path in zip(comparisons, words, strict=True)}
    )
    by_response: dict[tuple[str, ...], list[Pair]] = {}
    of_lm: dict[tuple[str, ...], dict[str, Errors | None]] = {}
    for index, names in enumerate(comparisons):
        shared = held_out[index], words[index], unigram[index] if unigram else None
        a = errors(names["dataset"], *shared, surprisal_a[index], fit_a[index])
        b = errors(names["dataset"], *shared, surprisal_b[index], fit_b[index])
        key = tuple(names[lm_errors] for lm_errors in COLUMNS[:4])
        trained = str(names.get("seed", ""))
        a, b = (replace(lm_errors, seed=trained) if lm_errors else None for lm_errors in (a, b))
        a, b = (_of_one_scale(lm_errors, names) if lm_errors else None for lm_errors in (a, b))
        by_response.setdefault(key, []).append((names["dataset"], a, b))
        about = names["dataset"], names["measure"], trained
        of_lm.setdefault(about, {}).update({names["lm_a"]: a, names["lm_b"]: b})
        shown.update(index + 1)
    baseline_of = baselines or {}

    def tested(tests: Mapping[tuple[str, ...], Sequence[Pair]], *first: Callable) -> list[dict]:
        return _test_pairs(tests, permutations, seed, *first, statistic=statistic, places=places)

    _write(out, tested(by_response, lambda a, b: baseline_of.get(a) == b))
    if out_kinds is not None:
        _write(out_kinds, tested(_by_kind(of_lm, kinds or {})))


def _of_one_scale(errors: Errors, names: Mapping[str, str]) -> Errors:
    """Use the measure as the unit of scores, which have none: two ratings have different scales."""
    scale = "{dataset}.{measure}".format(**names)
    return replace(errors, unit=scale) if errors.unit == SCORE else errors


def _by_kind(
    of_lm: Mapping[tuple[str, ...], Mapping[str, Errors | None]], kinds: Mapping[str, str]
) -> dict[tuple[str, ...], list[Pair]]:
    """Return the pairs of kinds by response, where errors of a kind are means over its LMs."""
    pairs: dict[tuple[str, ...], list[Pair]] = {}
    for (dataset, measure, _), errors in of_lm.items():
        means: dict[str, Errors | None] = {}
        for kind in dict.fromkeys(kinds.values()):
            members = [errors.get(lm) for lm, of in kinds.items() if of == kind]
            whole = all(members)
            squared = np.mean([member.squared for member in members], axis=0) if whole else None
            means[kind] = replace(members[0], squared=squared) if whole else None
        for a, b in combinations(means, 2):
            pairs.setdefault((a, b, dataset, measure), []).append((dataset, means[a], means[b]))
    return pairs


def _test_pairs(
    by_response: Mapping[tuple[str, ...], Sequence[Pair]],
    permutations: int,
    seed: int,
    first: Callable[[str, str], bool] = lambda a, b: True,
    statistic: str = MEAN,
    places: Mapping[str, Places] | None = None,
) -> list[dict[str, Any]]:
    """Return a row per response and pair, then one per pair; `first` select separate families."""
    single, pooled = [], {}
    for key, pairs in by_response.items():
        pairs = pairs if all(a and b for _, a, b in pairs) else []  # an LM needs all of its seeds
        pooled.setdefault(key[:2], []).extend(pairs)
        row = dict(zip(COLUMNS, key))
        single.append(row | compare(pairs, permutations, _seed(row, seed), statistic, places))
    together = []
    for (lm_a, lm_b), pairs in pooled.items():
        row = {"lm_a": lm_a, "lm_b": lm_b, "dataset": ALL, "measure": ALL}
        if len(units := sorted({a.unit for _, a, _ in pairs})) > 1:
            listed = " and ".join(units)
            print(f"{lm_a}, {lm_b}: errors of {listed} are not tested together", file=sys.stderr)
            pairs = []
        together.append(row | compare(pairs, permutations, _seed(row, seed), statistic, places))
    for tests in (single, together):
        for asked in (True, False):
            family = [row for row in tests if first(row["lm_a"], row["lm_b"]) == asked]
            for row, p in zip(family, holm([row["p"] for row in family]), strict=True):
                row["p_holm"] = p
    return single + together


def _write(out: str | PathLike, rows: Sequence[Mapping[str, Any]]) -> None:
    with atomic(out) as path, path.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for row in rows:
            table.writerow({key: _text(value) for key, value in row.items()})


def surprisal_files(
    dataset: str, named: Sequence[Mapping[str, str]], others: Sequence[str | PathLike]
) -> dict[str, str | PathLike]:
    """Return LM → surprisal file of a dataset; `others` are the files of `named`, in order."""
    pairs = zip(named, others, strict=True)
    return {names["lm"]: path for names, path in pairs if names["dataset"] == dataset}


def squared_errors(
    held_out: str | PathLike,
    words: str | PathLike,
    unigram: str | PathLike | None,
    surprisal: str | PathLike,
    fit: str | PathLike,
    others: Mapping[str, str | PathLike] | None = None,
) -> Errors | None:
    """Return squared errors on a response's held-out observations, or None without a fit.

    `others` are surprisal files of LMs named in the fit's formula.
    """
    model = read_fit(fit)
    if model["sigma"] is None:
        print(f"{fit}: no fit, excluded: {model['note']}", file=sys.stderr)
        return None
    inputs = Inputs(words, held_out, None, unigram, surprisal, others or {})
    rows = rows_for(model, held_out, inputs.texts(model))
    groups = {name: rows.groups[name] for name in CLUSTERS}
    unit = observed(model) if model["response"] == "raw" else f"log {observed(model)}"
    return Errors((rows.y - predict(model, rows)) ** 2, groups, unit)


def compare(
    pairs: Sequence[Pair],
    permutations: int,
    seed: int,
    statistic: str = MEAN,
    places: Mapping[str, Places] | None = None,
) -> dict[str, Any]:
    """Test LM a against b on all observations of `pairs` together; NaN without pairs.

    p is that of the two-way clustered t test; with a single subject or sentence, the permutation test's by
    the other. `places` are the datasets' sentences, where these share texts.
    """
    if not pairs:
        figures = ("mse_a", "mse_b", "difference", "p", "p_subject", "p_sentence", OBSERVATION)
        return {**dict.fromkeys(figures, math.nan), "n": 0, "permutations": permutations}
    seeds = list(dict.fromkeys(a.seed for _, a, _ in pairs))
    of_seed = [[pair for pair in pairs if pair[1].seed == seed] for seed in seeds]
    errors_a, errors_b = (
        [np.concatenate([pair[which].squared for pair in group]) for group in of_seed]
        for which in (1, 2)
    )
    error_a, error_b = np.mean(errors_a, axis=0), np.mean(errors_b, axis=0)
    differences = error_a - error_b
    of_training = [a - b for a, b in zip(errors_a, errors_b, strict=True)]

    def p_value(seed: int, codes: np.ndarray | None = None) -> float:
        by_seed = np.array([statistic_of(group, codes, statistic) for group in of_training])
        return permutation_p(differences, permutations, seed, codes, by_seed, statistic)

    pairs, by_cluster = of_seed[0], {}
    for index, name in enumerate(CLUSTERS, 1):
        codes = _pool_clusters(pairs, name, places or {})
        is_single = codes.max() == codes.min()  # one cluster allows no test
        by_cluster[f"p_{name}"] = math.nan if is_single else p_value(seed + index, codes)
    p = two_way_p(of_seed, places or {})
    return {
        "n": len(differences),
        "mse_a": float(error_a.mean()),
        "mse_b": float(error_b.mean()),
        "difference": float(differences.mean()),
        "p": clustered_p(by_cluster.values()) if math.isnan(p) else p,
        "permutations": permutations,
        **by_cluster,
        OBSERVATION: p_value(seed),
    }


def two_way_p(of_seed: Sequence[Sequence[Pair]], places: Mapping[str, Places]) -> float:
    """Return the p value of the difference of squared errors, by subjects, sentences and seeds.

    `of_seed` has the pairs of each training seed, in the same order. NaN with a single subject or sentence.
    """
    tables = Tables()
    for pairs in of_seed:
        for number, (dataset, a, b) in enumerate(pairs):
            named = {
                name: np.asarray(a.groups[name].names, dtype=object)[a.groups[name].codes]
                for name in CLUSTERS
            }
            errors = pd.DataFrame(named | {"delta_loglik": a.squared - b.squared, "n": 1})
            cells = errors.groupby([*CLUSTERS], sort=False, as_index=False).sum()
            sample = dataset
            if dataset in places:
                sample, cells = places[dataset].sample, places[dataset].placed(cells, dataset)
            tables.add((number,), sample, cells, a.seed)
    first, *others = tables.scores().values()
    for other in others:
        first = first + other
    return first.p()


def clustered_p(by_cluster: Iterable[float]) -> float:
    """Return the largest of the p values by cluster, ignoring NaN (a single cluster).

    >>> clustered_p([0.01, 0.2])
    0.2
    >>> clustered_p([math.nan, 0.03])
    0.03
    """
    return max((p for p in by_cluster if not math.isnan(p)), default=math.nan)


def _seed(row: Mapping[str, Any], seed: int) -> int:
    """Return a seed for each row that does not depend on the rest of the table."""
    names = "\t".join(row[key] for key in COLUMNS[:4])
    return seed * 2**34 + zlib.crc32(names.encode()) * 4


def _pool_clusters(pairs: Sequence[Pair], cluster: str, places: Mapping[str, Places]) -> np.ndarray:
    """Return cluster codes over several responses.

    A dataset's measures share their clusters, and datasets the sentences that both have. Conditions of
    a stimulus are one cluster.
    """
    numbers: dict[tuple[str, str], int] = {}
    codes = []
    for dataset, errors, _ in pairs:
        levels = errors.groups[cluster]
        keys = [(dataset, name) for name in levels.names]
        if cluster == "sentence" and dataset in places:
            named = pd.DataFrame({"subject": "", "sentence": levels.names})
            keys = [("", key) for key in places[dataset].placed(named, dataset)["sentence"]]
        shared = [numbers.setdefault(key, len(numbers)) for key in keys]
        codes.append(np.array(shared)[levels.codes])
    return np.concatenate(codes)


def _text(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return value
