"""Perplexity of each LM on the reading-time corpora, from its surprisal (Clark et al. 2025, Fig. 6)."""

from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.figures.comparison import Described, table
from recency.figures.paths import File, Files, write_csv

COLUMNS = ["lm", "label", "dataset", "tokens", "bits_per_token", "perplexity"]
COLUMNS += ["words", "word_perplexity"]


def scored(surprisal: File) -> tuple[float, int, int]:
    """Return total bits, tokens and words of a surprisal Parquet file.

    Words without surprisal (at the beginning of a text) are excluded, and so are their tokens.
    Uncorrected surprisal is summed: the log probability of the text as tokenized.
    """
    rows = pd.read_parquet(surprisal, columns=["surprisal_bits", "tokens"])
    rows = rows[rows.surprisal_bits.notna()]
    bits = rows.surprisal_bits.to_numpy(float)
    if not np.isfinite(bits).all():
        word = rows.index[~np.isfinite(bits)][0]
        raise InputError(
            f"{surprisal}: infinite surprisal_bits at row {word}: the LM assigns this word no "
            "probability; delete the file and train the LM again"
        )
    return float(bits.sum()), int(rows.tokens.sum()), len(rows)


def main(*, surprisal: Files, lms: Described, out: File) -> None:
    """Write perplexity.csv: a row per LM and dataset, and one per LM for all datasets ("all").

    `surprisal` are paths …/{lm}/{dataset}.parquet; every LM needs the same datasets, so that "all"
    is the same text for each. `perplexity` is 2 ** (bits / tokens), comparable between LMs with the
    same tokenizer; `word_perplexity`, 2 ** (bits / words), is comparable between all LMs.
    """
    totals: dict[str, dict[str, tuple[float, int, int]]] = {}
    for path in map(Path, surprisal):
        totals.setdefault(path.parent.name, {})[path.stem] = scored(path)
    every = sorted({dataset for by_dataset in totals.values() for dataset in by_dataset})
    rows = []
    for model in lms:
        lm, label = model["lm"], model["label"]
        by_dataset = totals.get(lm, {})
        if absent := [dataset for dataset in every if dataset not in by_dataset]:
            raise InputError(
                f"perplexity: no surprisal of {lm} for {', '.join(absent)}, which other LMs have; "
                "compute it, or exclude the dataset for all"
            )
        by_dataset = dict(sorted(by_dataset.items()))
        if by_dataset:
            by_dataset["all"] = tuple(sum(values) for values in zip(*by_dataset.values()))
        for dataset, (bits, tokens, words) in by_dataset.items():
            if tokens:
                mean, of_words = bits / tokens, (words, 2.0 ** (bits / words))
                rows.append((lm, label, dataset, tokens, mean, 2.0**mean, *of_words))
    write_csv(out, pd.DataFrame(rows, columns=COLUMNS))


def compared(perplexity: File) -> tuple[pd.DataFrame, str, list[str]]:
    """Return lm, dataset and perplexity of perplexity.csv, its unit, and notes.

    Perplexity is per token if all LMs have equally many tokens of each dataset, otherwise per word:
    tokens of different tokenizers are not comparable.
    """
    columns = ["lm", "label", "dataset", "tokens", "perplexity", "words", "word_perplexity"]
    rows = table(perplexity, columns)
    of_dataset = rows.groupby("dataset")
    if alike := bool((of_dataset.tokens.nunique() <= 1).all()):
        unit = "word" if (rows.tokens == rows.words).all() else "token"
    else:
        unit, rows["perplexity"] = "word", rows.word_perplexity
    notes = [] if alike else ["perplexity is per word, since the LMs' tokenizers differ"]
    whole = rows[rows.dataset == "all"]
    fewer = whole[whole.words < whole.words.max()].drop_duplicates("label")
    notes += [
        f"perplexity of {row.label}: over {row.words:,} of {whole.words.max():,} words"
        for row in fewer.itertuples()
    ]
    return rows[["lm", "dataset", "perplexity"]], unit, notes
