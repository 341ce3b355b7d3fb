"""Rule estimate_ngrams: estimate an n-gram model with KenLM's lmplz (modified Kneser-Ney)."""

import errno
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from recency import history
from recency.errors import InputError
from recency.files import atomic
from recency.progress import progress
from recency.scoring import distance_bigrams
from recency.scoring.word_pieces import rewrite


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

    Words are separated by white space and rewritten by `text_rule` (recency.scoring.word_pieces);
    each line of the text is a sentence. `prune` drops n-grams up to a count, one number per order.
    Memory does not grow with the corpus. Bigrams at a `distance` above 1 are estimated here, in
    memory. Raises InputError if lmplz is missing or fails.
    """
    if distance > 1:
        lines = (line for text in _documents(text, text_rule) for line in text.split("\n"))
        distance_bigrams.write((line.split() for line in lines if line.strip()), out, distance)
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
