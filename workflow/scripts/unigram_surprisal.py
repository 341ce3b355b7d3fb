"""Rule unigram_surprisal: surprisal of every word of a dataset under a unigram model (contract 3)."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from job import InputError, logged, whole

LOG2_10 = np.log2(10)


def read_unigrams(arpa: Path) -> dict[str, float]:
    """Return word → log10 probability of the 1-grams of an ARPA file.

    Read directly, since KenLM refuses to load models of order 1.
    """
    unigrams: dict[str, float] = {}
    inside = False
    with open(arpa, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\n")
            if line == "\\1-grams:":
                inside = True
            elif inside and (not line or line.startswith("\\")):
                break
            elif inside:
                parts = line.split("\t")
                try:
                    unigrams[parts[1]] = float(parts[0])
                except (IndexError, ValueError):
                    raise InputError(
                        f"{arpa}, line {number}: {line!r} is not `log10 probability <tab> word`"
                    ) from None
    if "<unk>" not in unigrams:
        raise InputError(f"{arpa} lists no <unk> among its 1-grams; make it with KenLM's lmplz")
    return unigrams


def main(words: Path, arpa: Path, out: Path) -> None:
    """Write word_id, surprisal_bits, corrected_bits (null), tokens (1), context_tokens (0)."""
    table = pd.read_parquet(words)
    unigrams = read_unigrams(arpa)
    unknown = ~table["word"].isin(unigrams)
    print(
        f"{unknown.sum():,} of {len(table):,} words are unknown, such as "
        f"{table['word'][unknown].drop_duplicates().head(5).tolist()}",
        file=sys.stderr,
    )
    log10 = table["word"].map(unigrams).fillna(unigrams["<unk>"])
    result = pd.DataFrame(
        {
            "word_id": table["word_id"].astype(np.int32),
            "surprisal_bits": -log10 * LOG2_10,
            "corrected_bits": np.full(len(table), np.nan),
            "tokens": np.ones(len(table), np.int32),
            "context_tokens": np.zeros(len(table), np.int32),
        }
    )
    with whole(out) as path:
        result.to_parquet(path, index=False, compression="zstd")


if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(words=snakemake.input.words, arpa=snakemake.input.arpa, out=snakemake.output[0])
