"""Rule estimate_ngrams: estimate an n-gram model with KenLM's lmplz (modified Kneser-Ney).

Estimate distance bigrams p(w_i | w_{i-d}) by interpolated modified Kneser-Ney smoothing.

A skip model interpolates n-grams with bigrams at longer distances (thesis, chapter 2). With d = 1
they equal KenLM's bigrams. The model is an ARPA file with `distance=d` in its header.
"""

import errno
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency import history
from recency.errors import InputError
from recency.scoring.ngram import rewrite


def main(text: Path, out: Path, *settings: Any, **more: Any) -> None:
    """Estimate an n-gram model (see `estimate` for the settings), and write its history next to it."""
    estimate(text, out, *settings, **more)
    history.of_ngrams(text, out)


def estimate(
    text: Path,
    out: Path,
    memory: str = "1G",
    order: int = 1,
    prune: Sequence[int] = (),
    text_rule: str = "displayed",
    distance: int = 1,
    lmplz: str = "lmplz",
) -> None:
    """Stream a corpus through `lmplz -o <order>` and write the ARPA file.

    Words are separated by white space and rewritten by `text_rule` (recency.scoring.ngram);
    each line of the text is a sentence. `prune` drops n-grams up to a count, one number per order.
    Memory does not grow with the corpus. Bigrams at a `distance` above 1 are estimated here, in
    memory. Raises InputError if lmplz is missing or fails.
    """
    if distance > 1:
        lines = (line for text in _documents(text, text_rule) for line in text.split("\n"))
        write((line.split() for line in lines if line.strip()), out, distance)
        return
    what = "count unigrams" if order == 1 else f"count {order}-grams"
    with atomic(out) as arpa:
        # Discounts cannot be estimated from small corpora, hence the fallback. lmplz would stop at
        # <s>, </s> and <unk> in the text, hence skip_symbols; no reading-time corpus has them.
        command = [lmplz, "-o", str(order), "-S", memory, "-T", str(arpa.parent)]
        command += ["--discount_fallback", "--skip_symbols", "--arpa", str(arpa)]
        command += ["--prune", *map(str, prune)] if prune else []
        try:
            job = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        except FileNotFoundError:
            raise InputError(
                f"KenLM's {lmplz} is not on the PATH; `make setup` builds it, and "
                "`snakemake --use-conda` brings it"
            ) from None
        last_lines = deque(maxlen=20)
        listener = threading.Thread(target=_forward, args=(job.stderr, last_lines), daemon=True)
        listener.start()
        try:
            for document in _documents(text, text_rule, what):
                job.stdin.write(document.encode() + b"\n")
            job.stdin.close()
        except BrokenPipeError:  # lmplz has died, and its status says so below
            pass
        except BaseException:
            job.kill()
            raise
        status = job.wait()
        listener.join()
        if status != 0 and os.strerror(errno.ENOSPC) in "".join(last_lines):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(out))
        if status != 0:
            raise InputError(f"lmplz failed on {text} (status {status}); its output is above")


def _documents(text: Path, text_rule: str, what: str | None = None) -> Iterator[str]:
    """Yield the documents of a corpus, one row group in memory; show the progress of `what`."""
    table = pq.ParquetFile(text)
    shown = progress(table.num_row_groups, what, "row groups") if what else None
    for group in range(table.num_row_groups):
        for document in table.read_row_group(group, ["text"])["text"].to_pylist():
            yield rewrite(document, text_rule)
        if shown:
            shown.update(group + 1)


def _forward(output: Iterable[bytes], last: deque[str]) -> None:
    """Write a program's output to stderr, and keep its last lines."""
    for line in output:
        last.append(line.decode(errors="replace"))
        sys.stderr.write(last[-1])


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
