"""Rule surprisal: surprisal of every word of a dataset under one language model (contract 3)."""

from pathlib import Path

import numpy as np
import pandas as pd
from job import InputError, logged, progress, whole

BITS = 1 / np.log(2)


def main(
    words: Path,
    model: str | Path,
    tokenizer: str | Path | None,
    out: Path,
    lm: str,
    dataset: str,
    bias: dict | None = None,
    bos: bool = True,
    stride: int | None = None,
    threads: int = 1,
) -> None:
    """Write word_id, surprisal_bits, corrected_bits, tokens and context_tokens for each word.

    `model` is a folder or a Hub name; `bias` is put on at inference.
    """
    import torch
    from lm import network

    torch.set_num_threads(threads)
    table = pd.read_parquet(words)
    network_ = network.load(model, bias)
    if torch.cuda.is_available():
        network_ = network_.cuda()
    shown = progress(1, f"surprisal of {dataset} under {lm}", "windows")

    def report(done: int, total: int) -> None:
        shown.total = total
        shown.update(done)

    result = word_surprisal(
        table, network_, load_tokenizer(model, tokenizer), bos, stride, report=report
    )
    with whole(out) as path:
        result.to_parquet(path, index=False, compression="zstd")


def load_tokenizer(model: str | Path, file: str | Path | None = None):
    """Return the `tokenizers.Tokenizer` of a tokenizer.json, or of a folder or Hub name."""
    from tokenizers import Tokenizer

    if file is not None:
        return Tokenizer.from_file(str(file))
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model).backend_tokenizer


def word_surprisal(
    words: pd.DataFrame, model, tokenizer, bos: bool = True, stride: int | None = None, **options
) -> pd.DataFrame:
    """Return surprisal in bits for each row of `words` (item, word, word_id; contract 1).

    `surprisal_bits` sums a word's tokens. `corrected_bits` moves the probability of the space
    behind a word from the next word to this one (Oh & Schuler 2024; Pimentel & Meister 2024):
    s'(w) = Σ -log2 p(t) - log2 P_B(c·w) + log2 P_B(c), with P_B = 1 before the first word. A first
    word with nothing before it (no `bos`) has no surprisal.
    """
    from lm import alignment, scoring

    start = None
    if bos:
        start = tokenizer.token_to_id("<|endoftext|>")
        if start is None:
            raise InputError(
                "`bos: true` needs a tokenizer with <|endoftext|>; set `bos: false` for this LM"
            )
    items = words.groupby("item", sort=False).indices
    texts = [
        alignment.align(list(words["word"].iloc[rows]), tokenizer, f"item {item}: ")
        for item, rows in items.items()
    ]
    initial = alignment.word_initial(tokenizer)
    scores = scoring.score(model, [text.ids for text in texts], initial, start, stride, **options)

    columns = ["surprisal_bits", "corrected_bits", "tokens", "context_tokens"]
    filled = {column: np.zeros(len(words)) for column in columns}
    for rows, text, score in zip(items.values(), texts, scores, strict=True):
        first = np.searchsorted(text.word, np.arange(text.words))  # first token of each word
        plain = -np.add.reduceat(score.log_probability, first) * BITS
        before = np.append(score.log_initial[first], score.log_initial[-1]) * BITS
        before[0] = 0.0  # the first word has no space before it: P_B is 1
        corrected = plain - before[1:] + before[:-1]
        _check_telescope(plain, corrected, before)
        filled["surprisal_bits"][rows] = plain
        filled["corrected_bits"][rows] = corrected
        filled["tokens"][rows] = np.diff(np.append(first, len(text.ids)))
        filled["context_tokens"][rows] = score.context[first]
    return pd.DataFrame(
        {
            "word_id": words["word_id"].to_numpy(np.int32),
            "surprisal_bits": filled["surprisal_bits"],
            "corrected_bits": filled["corrected_bits"],
            "tokens": filled["tokens"].astype(np.int32),
            "context_tokens": filled["context_tokens"].astype(np.int32),
        }
    )


def _check_telescope(plain: np.ndarray, corrected: np.ndarray, before: np.ndarray) -> None:
    """Check Σs' = Σs - log2 P_B(end) + log2 P_B(start) for one text, in bits."""
    scored = np.flatnonzero(~np.isnan(plain))  # a first word without context is not
    if len(scored) == 0:
        return
    expected = plain[scored].sum() - before[-1] + before[scored[0]]
    total = corrected[scored].sum()
    if not np.isclose(total, expected, rtol=1e-9, atol=1e-6):
        raise ArithmeticError(f"the whitespace correction does not add up: {total}, {expected}")


if __name__ == "__main__":
    with logged(snakemake.log[0]):
        folder = Path(snakemake.input.model[0]).parent if snakemake.input.model else None
        main(
            words=snakemake.input.words,
            model=folder or snakemake.params.checkpoint,
            tokenizer=folder and folder / "tokenizer.json",
            out=snakemake.output[0],
            lm=snakemake.wildcards.lm,
            dataset=snakemake.wildcards.dataset,
            bias=snakemake.params.bias,
            bos=snakemake.params.bos,
            stride=snakemake.params.stride,
            threads=snakemake.threads,
        )
