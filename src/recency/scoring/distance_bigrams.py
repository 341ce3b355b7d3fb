"""Estimate distance bigrams p(w_i | w_{i-d}) by interpolated modified Kneser-Ney smoothing.

A skip model interpolates n-grams with bigrams at longer distances (thesis, chapter 2). With d = 1
they equal KenLM's bigrams. The model is an ARPA file with `distance=d` in its header.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from recency.files import atomic

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
#: KenLM's discounts for counts of 1, 2 and more where a text is too small to estimate them.
FALLBACK = (0.5, 1.0, 1.5)


def count_pairs(
    sentences: Iterable[list[str]], distance: int
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Count pairs of words at a distance.

    Sentences are padded with <s> at the beginning and end with </s>.

    Returns
    -------
    list of str
        The vocabulary; <s> and </s> come first.
    ndarray (pairs,)
        Id of the earlier word times the vocabulary's size, plus the id of the later word.
    ndarray (pairs,)
        Counts.
    """
    number = {BEGIN: 0, END: 1}
    before, after = [], []
    for sentence in sentences:
        ids = [number.setdefault(word, len(number)) for word in sentence]
        padded = np.array([0] * distance + ids + [1], np.int64)
        before.append(padded[:-distance])
        after.append(padded[distance:])
    whole = np.concatenate(before) * len(number) + np.concatenate(after)
    return list(number), *np.unique(whole, return_counts=True)


def estimate_discounts(counts: np.ndarray) -> np.ndarray:
    """Return the discounts of counts 0, 1, 2 and 3 or more (Chen & Goodman 1998, equation 17)."""
    of = [int((counts == n).sum()) for n in range(5)]
    if min(of[1:]) > 0:
        y = of[1] / (of[1] + 2 * of[2])
        estimates = [n - (n + 1) * y * of[n + 1] / of[n] for n in (1, 2, 3)]
        if all(0 <= value <= n for n, value in enumerate(estimates, 1)):
            return np.array([0.0, *estimates])
    return np.array([0.0, *FALLBACK])


def write(sentences: Iterable[list[str]], out: str | Path, distance: int) -> None:
    """Estimate distance bigrams from sentences and write the ARPA file."""
    words, pair, count = count_pairs(sentences, distance)
    before, after = pair // len(words), pair % len(words)
    contexts = np.bincount(after, minlength=len(words))  # distinct words before each word
    lower = estimate_discounts(contexts[1:])
    taken = lower[np.minimum(contexts, 3)]
    total = contexts.sum()
    unknown = taken.sum() / total / len(words)  # the vocabulary includes <unk> but not <s>
    unigrams = (contexts - taken) / total + unknown
    unigrams[0] = 1.0  # as KenLM writes <s>
    off = estimate_discounts(count)[np.minimum(count, 3)]
    size = np.bincount(before, count, len(words))
    rest = np.bincount(before, off, len(words)) / np.maximum(size, 1)
    p = (count - off) / size[before] + rest[before] * unigrams[after]
    backoff = np.where(size > 0, rest, 1.0)
    with atomic(out) as part, open(part, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"\\data\\\nngram 1={len(words) + 1}\nngram 2={len(pair)}\n")
        file.write(f"distance={distance}\n\n\\1-grams:\n{np.log10(unknown):.8f}\t{UNKNOWN}\t0\n")
        file.writelines(
            f"{p:.8f}\t{word}\t{weight:.8f}\n"
            for word, p, weight in zip(words, np.log10(unigrams), np.log10(backoff), strict=True)
        )
        file.write("\n\\2-grams:\n")
        file.writelines(
            f"{log_p:.8f}\t{words[one]} {words[other]}\n"
            for one, other, log_p in zip(before, after, np.log10(p), strict=True)
        )
        file.write("\n\\end\\\n")
