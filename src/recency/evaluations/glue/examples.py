"""A GLUE task's sentences, or pairs of them, and their labels: read from its files, and as tokens."""

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recency.errors import InputError
from recency.figures.paths import File
from recency.text.utf8 import lines

SENTENCES = ("sentence", "sentence1", "sentence2")


@dataclass
class Part:
    """Examples of one part of a task: `texts` of one or two sentences, `targets` (n,).

    A target is a label's number, or a score as a share of the scale.
    """

    texts: list[tuple[str, ...]]
    targets: np.ndarray


@dataclass
class Encoded:
    """Examples as a network reads them: ids and segments of each, and how many were cut."""

    ids: list[list[int]]
    segments: list[list[int]]
    targets: np.ndarray
    cut: int


def read(paths: Iterable[tuple[str, File]], task: Mapping) -> Part:
    """Return the examples of a part's files, each with its role (train, dev, dev_too), in order.

    Raises InputError, with file and line, for a missing column, an unknown label, an empty sentence,
    and where all examples are of one class.
    """
    texts, targets, files = [], [], []
    for role, path in paths:
        header = role in task.get("header", (role,))
        for text, target in _rows(Path(path), task, header):
            texts.append(text)
            targets.append(target)
        files.append(str(path))
    where = " and ".join(files)
    if len(set(targets)) < 2:
        one = f"all of {len(targets):,} examples have one label or score" if targets else "no rows"
        raise InputError(f"{where}: {one}, and nothing can be learned; put the whole file there")
    kind = np.float32 if "scale" in task else np.int64
    return Part(texts, np.array(targets, kind))


def _rows(path: Path, task: Mapping, header: bool):
    """Yield the sentences and the target of each line of a tab-separated file without quoting."""
    numbered = lines(path)
    names = next(numbered, (1, ""))[1].split("\t") if header else None
    places = {}
    for what, column in task["columns"].items():
        if isinstance(column, str) and column not in (names or ()):
            there = ", ".join(names or ()) or "none"
            raise InputError(
                f"{path}: no column {column!r}, only {there}; the task's `columns` say which is its {what}"
            )
        if isinstance(column, str) and names.count(column) > 1:
            raise InputError(
                f"{path}: {names.count(column)} columns are called {column!r}; number the task's `columns` from 0"
            )
        places[what] = names.index(column) if isinstance(column, str) else column
    sentences = [what for what in SENTENCES if what in places]
    for number, line in numbered:
        if not line.strip():
            continue
        fields = line.split("\t")
        where = f"{path}, line {number}"
        for what, index in places.items():
            if index >= len(fields):
                raise InputError(
                    f"{where}: {len(fields)} columns, and its {what} is to be column {index}, from 0; "
                    "correct the line, or the task's `columns`"
                )
        texts = tuple(fields[places[what]].strip() for what in sentences)
        for what, text in zip(sentences, texts, strict=True):
            if not any(character.isprintable() and not character.isspace() for character in text):
                raise InputError(f"{where}: {what} is empty; complete or remove it")
        yield texts, _target(fields[places["label"]].strip(), task, where)


def _target(written: str, task: Mapping, where: str) -> float:
    """Return a label's number, or a score as a share of the scale."""
    if "labels" in task:
        if written not in task["labels"]:
            labels = ", ".join(task["labels"])
            raise InputError(f"{where}: the label {written!r} is none of {labels} (`labels`)")
        return task["labels"].index(written)
    try:
        score = float(written)
    except ValueError:
        score = math.nan
    if not 0 <= score <= task["scale"]:
        raise InputError(f"{where}: the score {written!r} is not from 0 to {task['scale']:g}")
    return score / task["scale"]


def sample(part: Part, examples: int | None) -> Part:
    """Return so many examples, drawn at random, in the file's order; all if None."""
    if examples is None or examples >= len(part.texts):
        return part
    kept = np.sort(np.random.default_rng(0).choice(len(part.texts), examples, replace=False))
    drawn = Part([part.texts[index] for index in kept], part.targets[kept])
    if len(np.unique(drawn.targets)) < 2:
        raise InputError(f"{examples} examples, drawn at random, have one label; take more")
    return drawn


def encode(part: Part, tokenizer, room: int, what: str) -> Encoded:
    """Return the examples as token ids, with what the tokenizer puts around and between sentences.

    One of more than `room` tokens is cut at its end, a pair at the end of the longer sentence, token
    by token; how many were is told. Raises InputError for a tokenizer that puts nothing before a text.
    """
    tokenizer.enable_truncation(room, strategy="longest_first")
    pairs = len(part.texts[0]) == 2
    texts = part.texts if pairs else [text for (text,) in part.texts]
    encodings = tokenizer.encode_batch(texts, add_special_tokens=True)
    tokenizer.no_truncation()
    special = encodings[0].special_tokens_mask
    if not special[0] or sum(special) < (3 if pairs else 1):
        raise InputError(
            "the tokenizer puts no token before a text, or none between two, and the vector of the "
            "first is what GLUE's labels are told by; give the model its own tokenizer"
        )
    cut = sum(bool(encoding.overflowing) for encoding in encodings)
    if cut:
        longer = " (of a pair the longer sentence)" if pairs else ""
        print(f"{what}: {cut:,} of {len(encodings):,} examples were longer than {room} tokens and "
              f"were cut{longer}", file=sys.stderr)  # fmt: skip
    return Encoded(
        [encoding.ids for encoding in encodings],
        [encoding.type_ids for encoding in encodings],
        part.targets,
        cut,
    )
