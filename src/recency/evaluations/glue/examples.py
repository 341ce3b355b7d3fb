"""Sentences or sentence pairs of a GLUE task with their labels, and their tokenization."""

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

    A target is the index of a label, or a score as a share of the scale.
    """

    texts: list[tuple[str, ...]]
    targets: np.ndarray


@dataclass
class Encoded:
    """Tokenized examples: ids and segments of each, and the number that were cut."""

    ids: list[list[int]]
    segments: list[list[int]]
    targets: np.ndarray
    cut: int


def read(paths: Iterable[tuple[str, File]], task: Mapping) -> Part:
    """Return examples of a part's files, given with their roles (train, dev, dev_too), in order.

    Raises InputError, with file and line, for a missing column, an unknown label or an empty
    sentence, and if all examples have one class.
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
        raise InputError(f"{where}: {one}, so that nothing can be learned; supply the whole file")
    kind = np.float32 if "scale" in task else np.int64
    return Part(texts, np.array(targets, kind))


def _rows(path: Path, task: Mapping, header: bool):
    """Yield the sentences and the target of each line of an unquoted tab-separated file."""
    numbered = lines(path)
    names = next(numbered, (1, ""))[1].split("\t") if header else None
    places = {}
    for what, column in task["columns"].items():
        if isinstance(column, str) and column not in (names or ()):
            there = ", ".join(names or ()) or "none"
            raise InputError(
                f"{path}: no column {column!r}, only {there}; name the column of its {what} in the task's `columns`"
            )
        if isinstance(column, str) and names.count(column) > 1:
            raise InputError(
                f"{path}: {names.count(column)} columns are named {column!r}; number the task's `columns` from 0"
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
                    f"{where}: {len(fields)} columns, but its {what} should be column {index}, from 0; "
                    "correct the line or the task's `columns`"
                )
        texts = tuple(fields[places[what]].strip() for what in sentences)
        for what, text in zip(sentences, texts, strict=True):
            if not any(character.isprintable() and not character.isspace() for character in text):
                raise InputError(f"{where}: {what} is empty; complete or remove the line")
        yield texts, _target(fields[places["label"]].strip(), task, where)


def _target(written: str, task: Mapping, where: str) -> float:
    """Return the index of a label, or a score as a share of the scale."""
    if "labels" in task:
        if written not in task["labels"]:
            labels = ", ".join(task["labels"])
            raise InputError(f"{where}: the label {written!r} is not one of {labels} (`labels`)")
        return task["labels"].index(written)
    try:
        score = float(written)
    except ValueError:
        score = math.nan
    if not 0 <= score <= task["scale"]:
        raise InputError(f"{where}: the score {written!r} is not between 0 and {task['scale']:g}")
    return score / task["scale"]


def sample(part: Part, examples: int | None) -> Part:
    """Return a random sample of this size in the file's order, or all examples if None."""
    if examples is None or examples >= len(part.texts):
        return part
    kept = np.sort(np.random.default_rng(0).choice(len(part.texts), examples, replace=False))
    drawn = Part([part.texts[index] for index in kept], part.targets[kept])
    if len(np.unique(drawn.targets)) < 2:
        raise InputError(f"{examples} randomly drawn examples have one label; increase `examples`")
    return drawn


def encode(part: Part, tokenizer, room: int, what: str) -> Encoded:
    """Return the examples as token ids, with the tokenizer's special tokens.

    An example of more than `room` tokens is cut at its end, a pair at the end of its longer
    sentence; the number of cuts is reported. Raises InputError for a tokenizer that adds no initial
    token.
    """
    tokenizer.enable_truncation(room, strategy="longest_first")
    pairs = len(part.texts[0]) == 2
    texts = part.texts if pairs else [text for (text,) in part.texts]
    encodings = tokenizer.encode_batch(texts, add_special_tokens=True)
    tokenizer.no_truncation()
    special = encodings[0].special_tokens_mask
    if not special[0] or sum(special) < (3 if pairs else 1):
        raise InputError(
            "the tokenizer adds no initial token, or no separator between two sentences, but GLUE's labels are "
            "predicted from the vector of the first token; use the model's own tokenizer"
        )
    cut = sum(bool(encoding.overflowing) for encoding in encodings)
    if cut:
        longer = " (of a pair the longer sentence)" if pairs else ""
        print(f"{what}: {cut:,} of {len(encodings):,} examples were longer than {room} tokens and "
              f"were cut{longer}", file=sys.stderr)  # fmt: skip
    return Encoded([e.ids for e in encodings], [e.type_ids for e in encodings], part.targets, cut)
