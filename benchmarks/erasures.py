"""Errors and costs of lossy-context surprisal, by form of erasure: docs/lossy.md.

    python benchmarks/erasures.py [--quick] [--model small-english] [--mirror FOLDER] [--out FILE]

The words of Provo's first texts, with the default number of samples (32). `standard_error_bits`: the median
of the words' standard errors; `above_0_1_bits`: the percentage of words with a larger one than 0.1;
`error_variance`: the mean squared standard error in percent of surprisal's variance over words, by which a
regression coefficient is attenuated; `times_plain`: processor time over that of plain scoring of the
same words, one thread. The last line is one JSON object.
"""

import argparse
from pathlib import Path

import checkout
import numpy as np
import torch
from result import keep, processor, timed

checkout.use()

import readingtimes
import recency

ERASURES = {
    "truncation_words_3": {"form": "truncation", "words": 3},
    "exponential_half_life_1": {"form": "exponential", "half_life": 1},
    "exponential_half_life_3": {"form": "exponential", "half_life": 3},
    "power_law_exponent_1": {"form": "power_law", "exponent": 1},
}
TEXTS = 4


def main() -> None:
    """Run the benchmark as the command line says."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="20 words, two forms")
    arguments.add_argument("--model", default="small-english", help="a network")
    arguments.add_argument("--bos", help="its begin token, if another than its tokenizer's")
    arguments.add_argument("--mirror", type=Path, action="append", default=[])
    arguments.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    words, _ = readingtimes.load_fixations("provo", mirrors=given.mirror)
    words = words[words["item"].isin(list(dict.fromkeys(words["item"]))[:TEXTS])]
    erasures = ERASURES
    if given.quick:
        words, erasures = words.iloc[:20], dict(list(ERASURES.items())[:2])
    model = recency.load(given.model)
    options = {"bos": given.bos} if given.bos else {}
    recency.surprisal(words, model, **options)  # what is loaded at the first use
    plain = [timed(lambda: recency.surprisal(words, model, **options))[1] for _ in range(5)]
    metrics: dict = {"words": len(words)}
    for name, erasure in erasures.items():
        scored, seconds = timed(
            lambda e=erasure: recency.surprisal(words, model, lossy={"erasure": e}, **options)
        )
        bits = scored["surprisal_bits"].to_numpy()
        errors = scored["surprisal_standard_error_bits"].to_numpy()
        metrics |= {
            f"{name}.standard_error_bits": round(float(np.median(errors)), 3),
            f"{name}.above_0_1_bits": round(100 * float(np.mean(errors > 0.1)), 1),
            f"{name}.error_variance": round(100 * float(np.mean(errors**2) / bits.var()), 3),
            f"{name}.times_plain": round(seconds / float(np.median(plain)), 1),
        }
    keep("erasures", processor("1 thread"), metrics, {}, given.out, model=Path(given.model).name)


if __name__ == "__main__":
    main()
