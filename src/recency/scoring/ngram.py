"""Score words with n-gram models: ARPA files, and KenLM binaries through its `query`."""

import gzip
import math
import subprocess
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recency.errors import InputError
from recency.scoring import cdlm
from recency.scoring.finite import require_finite

BEGIN, UNKNOWN = "<s>", "<unk>"
#: First bytes of KenLM's binaries.
_BINARY = b"mmap lm http://kheafield.com/code"


@dataclass
class Scored:
    """Scores of a sentence's words."""

    log10: list[float]  # log10 p(word | context)
    context: list[int]  # context words in the longest n-gram that the model lists
    known: list[bool]  # whether the word is in the vocabulary


def is_ngram(path: str | Path) -> bool:
    """Return whether a file is an ARPA file (gzipped or not), a KenLM binary or a CDLM."""
    path = Path(path)
    if not path.is_file():
        return False
    if cdlm.is_model(path):
        return True
    with open_text(path, "rb") as file:
        head = file.read(len(_BINARY))
    return head == _BINARY or head.lstrip().startswith(b"\\data\\")


def score(path: str | Path, sentences: Sequence[Sequence[str]], bos: bool = True) -> list[Scored]:
    """Score sentences, the units of context; `bos` puts <s> before each.

    Only the n-grams of the sentences are read from an ARPA file, so that memory does not depend on
    the model's size. Raises InputError if the file is of another kind or damaged.
    """
    path = Path(path)
    scored = _score(path, sentences, bos)
    require_finite(np.array([log10 for part in scored for log10 in part.log10], float), str(path))
    return scored


def _score(path: Path, sentences: Sequence[Sequence[str]], bos: bool) -> list[Scored]:
    """Score sentences with a model of any kind."""
    if cdlm.is_model(path):
        return cdlm.score(path, sentences, bos)
    with open_text(path, "rb") as file:
        binary = file.read(len(_BINARY)) == _BINARY
    if binary:
        return _score_binary(path, sentences, bos)
    require_complete(path)
    order, distance = read_order(path), read_distance(path)
    if distance > 1:
        return _score_at_distance(path, sentences, bos, order, distance)
    return _score_arpa(path, sentences, bos, order)


def require_complete(path: Path) -> None:
    """Raise InputError for an ARPA file that lists fewer or more n-grams than its header states."""
    stated: Counter[int] = Counter()
    listed: Counter[int] = Counter()
    order, ended = 0, False
    try:
        with open_text(path) as lines:
            for line in lines:
                if line.startswith("\\"):
                    order = int(line[1 : line.index("-")]) if line.endswith("-grams:\n") else 0
                    ended = line.startswith("\\end\\")
                elif order and line != "\n":
                    listed[order] += 1
                elif line.startswith("ngram "):
                    size, _, count = line.removeprefix("ngram ").partition("=")
                    stated[int(size)] = int(count)
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is damaged ({error}); make or download it again") from None
    for size in sorted(stated.keys() | listed.keys()):
        if listed[size] != stated[size]:
            raise InputError(
                f"{path} lists {listed[size]:,} {size}-grams, and its header states {stated[size]:,}: it "
                "was cut, or edited; make or download it again"
            )
    if not ended:
        raise InputError(f"{path} does not end with \\end\\: it was cut; make or download it again")


def _score_at_distance(
    path: Path, sentences: Sequence[Sequence[str]], bos: bool, order: int, distance: int
) -> list[Scored]:
    """Score by distance n-grams: split each sentence into `distance` sequences and score them."""
    parts = [sentence[first::distance] for sentence in sentences for first in range(distance)]
    scored, results = iter(_score_arpa(path, parts, bos, order)), []
    for sentence in sentences:
        whole = Scored(*([None] * len(sentence) for _ in range(3)))
        for first in range(distance):
            part = next(scored)
            for name in ("log10", "context", "known"):
                getattr(whole, name)[first::distance] = getattr(part, name)
        results.append(whole)
    return results


def _score_arpa(
    path: Path, sentences: Sequence[Sequence[str]], bos: bool, order: int
) -> list[Scored]:
    """Score sentences with an ARPA file."""
    vocabulary = {word for sentence in sentences for word in sentence} | {BEGIN, UNKNOWN}
    listed = _read_entries(path, vocabulary, unigrams=True)
    if UNKNOWN not in listed:
        raise InputError(f"{path} lists no {UNKNOWN} among its 1-grams; make it with KenLM's lmplz")
    streams = [
        [BEGIN] * bos + [word if word in listed else UNKNOWN for word in sentence]
        for sentence in sentences
    ]
    needed = {
        " ".join(stream[start : start + n])
        for stream in streams
        for n in range(2, order + 1)
        for start in range(len(stream) - n + 1)
    }
    table = listed | (_read_entries(path, needed, unigrams=False) if order > 1 else {})
    results = []
    for stream, sentence in zip(streams, sentences, strict=True):
        pairs = [_log10(table, stream, position, order) for position in range(bos, len(stream))]
        is_listed = [word in listed and word != UNKNOWN for word in sentence]
        results.append(Scored([p for p, _ in pairs], [seen for _, seen in pairs], is_listed))
    return results


def _log10(
    table: dict[str, tuple[float, float]], stream: list[str], position: int, order: int
) -> tuple[float, int]:
    """Return log10 p of a word from the longest listed n-gram, and its number of context words."""
    backoff = 0.0
    for start in range(max(0, position - order + 1), position + 1):
        entry = table.get(" ".join(stream[start : position + 1]))
        if entry is not None:
            return entry[0] + backoff, position - start
        backoff += table.get(" ".join(stream[start:position]), (0.0, 0.0))[1]
    raise AssertionError("every word, or <unk>, is a 1-gram")


def read_order(path: Path) -> int:
    """Return the order in an ARPA file's header."""
    order = 0
    with open_text(path) as lines:
        for line in lines:
            if line.startswith("ngram "):
                order += 1
            elif line.startswith("\\1-grams:"):
                break
    if not order:
        raise InputError(f"{path} is neither an ARPA file nor a KenLM binary")
    return order


def read_distance(path: Path) -> int:
    """Return the distance in an ARPA file's header; 1 by default."""
    with open_text(path) as lines:
        for line in lines:
            if line.startswith("distance="):
                return int(line.partition("=")[2])
            if line.startswith("\\1-grams:"):
                break
    return 1


def _read_entries(path: Path, wanted: set[str], unigrams: bool) -> dict[str, tuple[float, float]]:
    """Return n-gram → (log10 p, log10 backoff weight), of the 1-grams or of all longer n-grams."""
    entries: dict[str, tuple[float, float]] = {}
    order = 0
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith("\\"):
                order = int(line[1 : line.index("-")]) if line.endswith("-grams:\n") else 0
                if unigrams and order > 1:
                    break
            elif order and unigrams == (order == 1) and line != "\n":
                parts = line.rstrip("\n").split("\t")
                try:
                    if parts[1] in wanted:
                        if parts[1] in entries:
                            raise InputError(f"{path}, line {number}: {parts[1]!r} is listed twice")
                        weight = float(parts[2]) if len(parts) > 2 else 0.0
                        entries[parts[1]] = float(parts[0]), weight
                        if not math.isfinite(weight) or not -math.inf < float(parts[0]) <= 0:
                            raise ValueError
                except InputError:
                    raise
                except (IndexError, ValueError):
                    raise InputError(
                        f"{path}, line {number}: {line.rstrip()!r} is not "
                        "`log10 probability <tab> n-gram [<tab> log10 backoff]`"
                    ) from None
    return entries


def _score_binary(path: Path, sentences: Sequence[Sequence[str]], bos: bool) -> list[Scored]:
    """Score sentences with a KenLM binary, by KenLM's `query`."""
    safe = [[UNKNOWN if len(w.split()) != 1 else w for w in words] for words in sentences]
    text = "\n".join(" ".join(sentence) for sentence in safe) + "\n"
    command = ["query", "-v", "word", *([] if bos else ["-n"]), str(path)]
    try:
        job = subprocess.run(
            command, input=text, capture_output=True, encoding="utf-8", check=False
        )
    except FileNotFoundError:
        raise InputError("KenLM's query is not on the PATH; `make setup` builds it") from None
    if job.returncode != 0:
        raise InputError(f"query failed on {path}: {job.stderr.strip().splitlines()[-1:]}")
    # One entry per word, and with <s> one per sentence for </s>, each `word=number length log10`.
    entries = [entry.rsplit(" ", 2) for entry in job.stdout.strip().split("\t") if entry]
    if len(entries) != sum(len(sentence) + bos for sentence in sentences):
        raise InputError(f"{path}: query returned other words than the input's")
    results, start = [], 0
    for sentence in sentences:
        scored = entries[start : start + len(sentence)]
        start += len(sentence) + bos
        log10 = [float(value) for _, _, value in scored]
        context = [int(length) - 1 for _, length, _ in scored]
        results.append(Scored(log10, context, [not word.endswith("=0") for word, _, _ in scored]))
    return results


def open_text(path: Path, mode: str = "rt"):
    """Open a file that may be gzipped."""
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    opener = gzip.open if zipped else open
    return opener(path, mode) if "b" in mode else opener(path, mode, encoding="utf-8", newline="\n")
