"""Bigrams at a distance, p(w_i | w_{i-d}), by interpolated modified Kneser-Ney: what skip models mix.

A skip model interpolates n-grams with such bigrams of the distances beyond theirs (thesis, chapter 2).
With d = 1 they are the bigrams of KenLM. The model is an ARPA file whose header says `distance=d`.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from recency.files import atomic

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
#: What KenLM takes off counts of 1, 2 and more where a text has too few for an estimate.
FALLBACK = (0.5, 1.0, 1.5)


def pairs(
    sentences: Iterable[list[str]], distance: int
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the words, <s> and </s> the first, and each pair's number (pairs,) and count.

    A pair's number is that of the word `distance` before times the number of words, and that of the
    word; <s> stands before all that has no word there, </s> is a sentence's last word.
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


def discounts(counts: np.ndarray) -> np.ndarray:
    """Return what is taken off counts of 0, 1, 2 and 3 or more (Chen & Goodman 1998, equation 17)."""
    of = [int((counts == n).sum()) for n in range(5)]
    if min(of[1:]) > 0:
        y = of[1] / (of[1] + 2 * of[2])
        found = [n - (n + 1) * y * of[n + 1] / of[n] for n in (1, 2, 3)]
        if all(0 <= value <= n for n, value in enumerate(found, 1)):
            return np.array([0.0, *found])
    return np.array([0.0, *FALLBACK])


def write(sentences: Iterable[list[str]], out: str | Path, distance: int) -> None:
    """Estimate from sentences of words, and write the ARPA file."""
    words, pair, count = pairs(sentences, distance)
    before, after = pair // len(words), pair % len(words)
    contexts = np.bincount(after, minlength=len(words))  # in which a word stands
    lower = discounts(contexts[1:])
    taken = lower[np.minimum(contexts, 3)]
    total = contexts.sum()
    unknown = taken.sum() / total / len(words)  # <unk> is a word more, and <s> none
    unigrams = (contexts - taken) / total + unknown
    unigrams[0] = 1.0  # as KenLM writes <s>
    off = discounts(count)[np.minimum(count, 3)]
    size = np.bincount(before, count, len(words))
    rest = np.bincount(before, off, len(words)) / np.maximum(size, 1)
    p = (count - off) / size[before] + rest[before] * unigrams[after]
    backoff = np.where(size > 0, rest, 1.0)
    with atomic(out) as part, open(part, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"\\data\\\nngram 1={len(words) + 1}\nngram 2={len(pair)}\n")
        file.write(f"distance={distance}\n\n\\1-grams:\n{np.log10(unknown):.8f}\t{UNKNOWN}\t0\n")
        file.writelines(
            f"{own:.8f}\t{word}\t{weight:.8f}\n"
            for word, own, weight in zip(words, np.log10(unigrams), np.log10(backoff), strict=True)
        )
        file.write("\n\\2-grams:\n")
        file.writelines(
            f"{own:.8f}\t{words[one]} {words[other]}\n"
            for one, other, own in zip(before, after, np.log10(p), strict=True)
        )
        file.write("\n\\end\\\n")
