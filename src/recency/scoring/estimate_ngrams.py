"""Rule estimate_ngrams: an n-gram model of a corpus, modified Kneser-Ney, by KenLM's lmplz."""

import contextlib
import errno
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from recency import history
from recency.errors import InputError
from recency.files import atomic
from recency.progress import progress
from recency.scoring import distance_bigrams
from recency.scoring.word_pieces import rewritten


def main(
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

    Words are what white space delimits, or what `text_rule` makes of that (recency.scoring.word_pieces);
    each line of the text is a sentence to KenLM. `prune` drops n-grams that are no more frequent
    than its numbers, one per order. Memory is flat in the corpus's size. Raises InputError if
    lmplz is not there or fails. Bigrams at a `distance` beyond 1 are estimated without it, in memory.
    """
    if distance > 1:
        documents = pq.read_table(text, columns=["text"])["text"].to_pylist()
        lines = (line for each in documents for line in rewritten(each, text_rule).split("\n"))
        distance_bigrams.write((line.split() for line in lines if line.strip()), out, distance)
        history.of_ngrams(text, out)
        return
    table = pq.ParquetFile(text)
    what = "count unigrams" if order == 1 else f"count {order}-grams"
    shown = progress(table.num_row_groups, what, "row groups")
    with atomic(out) as arpa:
        # Small corpora lack the counts of counts that discounts are estimated from. Words that
        # lmplz takes for its own (<s>, </s>, <unk>) would stop it: no reading-time corpus has them.
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
        words = deque(maxlen=20)
        listener = threading.Thread(target=_listen, args=(job.stderr, words), daemon=True)
        listener.start()
        with contextlib.suppress(BrokenPipeError):  # if lmplz dies, its status says so below
            for group in range(table.num_row_groups):
                for document in table.read_row_group(group, ["text"])["text"].to_pylist():
                    job.stdin.write(rewritten(document, text_rule).encode() + b"\n")
                shown.update(group + 1)
            job.stdin.close()
        status = job.wait()
        listener.join()
        if status != 0 and os.strerror(errno.ENOSPC) in "".join(words):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(out))
        if status != 0:
            raise InputError(f"lmplz failed on {text} (status {status}); its words are above")
        history.of_ngrams(text, out)


def _listen(said: Iterable[bytes], words: deque[str]) -> None:
    """Pass on what a program says, and keep its last lines."""
    for line in said:
        words.append(line.decode(errors="replace"))
        sys.stderr.write(words[-1])
