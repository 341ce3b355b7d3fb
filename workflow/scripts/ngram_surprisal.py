"""Rule ngram_surprisal: surprisal of every word of a dataset under an n-gram model (contract 3)."""

from pathlib import Path

import pandas as pd
import surprisal
from job import InputError, logged
from lm import ngram


def main(
    words: Path,
    arpa: Path,
    out: Path,
    ledger: Path | None = None,
    bos: bool = True,
    context: str = "item",
    unit: str = "bits",
) -> None:
    """Write word_id, surprisal_bits, corrected_bits (null), tokens (1) and context_tokens.

    `arpa` is an ARPA file or a KenLM binary of any order. Context, with <s> before it if `bos`,
    runs within an "item" or a "sentence"; context_tokens are the words of it that the model used.
    `ledger` gets the unknown words, which have the probability of <unk>.
    """
    if not ngram.is_ngram(arpa):
        raise InputError(f"{arpa} is neither an ARPA file nor a KenLM binary")
    result = surprisal.score_words(
        pd.read_parquet(words), arpa, bos=bos, context=context, unit=unit
    )
    result.write(out, ledger)


if __name__ == "__main__":
    with logged(snakemake.log[0]):
        main(
            words=snakemake.input.words,
            arpa=snakemake.input.arpa,
            out=snakemake.output[0],
            ledger=snakemake.output.get("ledger"),
            **snakemake.params,
        )
