"""Surprisal of several datasets under one network, which is opened once and only if any is missing."""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from recency.workflow import kept
from recency.workflow.kept import Part
from recency.workflow.network import opened_from


def main(
    words: Sequence[str],
    trained: Sequence[str],
    out: Sequence[str],
    ledger: Sequence[str],
    datasets: Sequence[str],
    lm: str,
    code: Mapping[str, str],
    threads: int,
    checkpoint: str | None,
    allow_pickle: bool,
    scoring: Mapping,
    accept: Sequence[Sequence[str]] = (),
    **settings,
) -> None:
    """Write the surprisal and the ledger of each dataset that is not kept from before.

    `trained` are the files of a network that was trained here; without them it is `checkpoint`.
    `settings` and `scoring` are those of recency.scoring.surprisal.main. Datasets of the same words
    are scored once. `accept` are the checks of the surprisal that each dataset may fail.
    """
    opened = opened_from(trained, checkpoint, allow_pickle)
    local = checkpoint if not trained and checkpoint and Path(checkpoint).exists() else None
    made_by = {"lm": lm, "opened": {} if trained else opened, **settings, "scoring": dict(scoring)}
    parts, of, may_fail = [], {}, {}
    accepted = accept or [()] * len(words)
    for name, path, fails, *outputs in zip(datasets, words, accepted, out, ledger, strict=True):
        files = {"words": path, "model": trained, "checkpoint": local}
        key = kept.key(files, made_by | ({"accept": fails} if fails else {}), code)
        part = Part(name, tuple(map(Path, outputs)), key)
        parts.append(part)
        of[part], may_fail[part] = path, fails
    first: dict[str, Part] = {}
    again: list[Part] = []
    for part in kept.missing(parts):
        if first.setdefault(part.key, part) is not part:
            again.append(part)
    todo = list(first.values())
    if todo:
        from recency.scoring.surprisal import main as score

        began = time.monotonic()

        def done(number: int) -> None:
            nonlocal began
            kept.keep(todo[number], time.monotonic() - began)
            began = time.monotonic()

        score(
            words=[of[part] for part in todo],
            **opened,
            out=[part.outputs[0] for part in todo],
            ledger=[part.outputs[1] for part in todo],
            dataset=[part.name for part in todo],
            lm=lm,
            accept=[may_fail[part] for part in todo],
            threads=threads,
            done=done,
            **settings,
            **scoring,
        )
    for part in again:
        for source, output in zip(first[part.key].outputs, part.outputs, strict=True):
            shutil.copyfile(source, output)
        kept.keep(part, 0.0)
