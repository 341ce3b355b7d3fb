"""Additional effect of an LM's surprisal in a regression with another LM's, in both directions.

The regression with both LMs' terms is compared with each LM's own full model, which is nested in
it: ΔLogLik on the exploratory partition with its bootstrap intervals, and the permutation test of
squared errors on the held-out partition. By-group slopes of the added LM belong to it.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from crosslmm.stats.bootstrap import interval
from crosslmm.stats.multiple_tests import holm
from recency.evaluations.reading_times import delta_loglik, permutation
from recency.figures.paths import File, write_csv

NAMES = ("added", "over", "dataset", "measure", "design")
TESTS = ("mse_both", "mse_over", "difference", "p", "p_subject", "p_sentence")
COLUMNS = [
    *NAMES,
    *("delta_loglik", "delta_loglik_marginal", "delta_loglik_fit"),
    *("n_exploratory", "n_fit", "converged", "note"),
    *delta_loglik.INTERVALS,
    *("n_held_out", *TESTS, "permutations", "p_holm", permutation.OBSERVATION),
]


def main(
    held_out: Sequence[File],
    words: Sequence[File],
    surprisal_a: Sequence[File],
    surprisal_b: Sequence[File],
    fit_a: Sequence[File],
    fit_b: Sequence[File],
    fit_both: Sequence[File],
    observations_a: Sequence[File],
    observations_b: Sequence[File],
    observations_both: Sequence[File],
    out: File,
    *,
    unigram: Sequence[File] = (),
    comparisons: Sequence[Mapping[str, str]],
    permutations: int = 10_000,
    seed: int = 0,
    replicates: int = 10_000,
    others: Sequence[File] = (),
    named: Sequence[Mapping[str, str]] = (),
) -> None:
    """Write two rows of COLUMNS (CSV) per comparison: b added to a, and a added to b.

    `comparisons` have lm_a, lm_b, dataset, measure and design; all files are in their order.
    `fit_both` are fitted as LM a's, with b as the second LM. Log-likelihoods are in nats;
    `difference` is the mean squared error of both minus that of one, negative if the added LM
    helps. p is two-way (permutation.compare), p_holm is corrected by Holm's method over all rows. `others` and `named` are as in permutation.main().
    """
    rows = []
    for index, names in enumerate(comparisons):
        a, b = names["lm_a"], names["lm_b"]
        of_dataset = permutation.surprisal_files(names["dataset"], named, others)
        shared = held_out[index], words[index], unigram[index] if unigram else None

        def errors(surprisal, fit, more, shared=shared):
            return permutation.squared_errors(*shared, surprisal, fit, more)

        with_b = of_dataset | {b: surprisal_b[index]}
        both = errors(surprisal_a[index], fit_both[index], with_b)
        ways = (
            (b, a, surprisal_a[index], fit_a[index], observations_a[index]),
            (a, b, surprisal_b[index], fit_b[index], observations_b[index]),
        )
        for added, reduced, surprisal, fit, observations in ways:
            row: dict[str, Any] = {"added": added, "over": reduced}
            row |= {key: names[key] for key in NAMES[2:]}
            compared = delta_loglik.compare(fit_both[index], fit)
            row |= {key: compared[key] for key in compared.keys() & set(COLUMNS)}
            row["delta_loglik_fit"] = compared["delta_loglik_in_sample"]
            parts = delta_loglik.contributions(observations_both[index], observations)
            for cluster in delta_loglik.CLUSTERS:
                of_rows = parts["delta_loglik"].to_numpy(), parts[cluster].to_numpy()
                ends = interval(*of_rows, replicates, seed)
                row |= {f"low_{cluster}": ends[0], f"high_{cluster}": ends[1]}
            surprisal_only = errors(surprisal, fit, of_dataset)
            pairs = [(names["dataset"], both, surprisal_only)] if both and surprisal_only else []
            tested = permutation.compare(pairs, permutations, _seed(row, seed))
            tested |= {"mse_both": tested.pop("mse_a"), "mse_over": tested.pop("mse_b")}
            rows.append(row | {"n_held_out": tested.pop("n")} | tested)
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    write_csv(out, pd.DataFrame(rows, columns=COLUMNS, dtype=object))


def _seed(row: Mapping[str, Any], seed: int) -> int:
    """Return a seed for each row that does not depend on the rest of the table."""
    names = "\t".join(row[key] for key in NAMES)
    return seed * 2**34 + zlib.crc32(names.encode()) * 4
