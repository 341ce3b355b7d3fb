"""Surprisal of several datasets under one network, which is opened once and only if any is missing."""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from recency.scoring.lm_spec import LMSpec
from recency.workflow import stored_parts
from recency.workflow.stored_parts import Part


def main(
    words: Sequence[str],
    lm: LMSpec,
    surprisal: Sequence[str],
    ledger: Sequence[str],
    datasets: Sequence[str],
    code: Mapping[str, str],
    accept: Sequence[Sequence[str]] = (),
    word_list: Sequence[str] = (),
    **settings,
) -> None:
    """Write the surprisal and the ledger of each dataset that is not stored already.

    `settings` are those of recency.scoring.surprisal.main. Datasets of the same words are scored
    once. `accept` are the checks of the surprisal that each dataset may fail; `word_list` is the file
    that the LM's settings of word entropy name, if any.
    """
    made_by = lm.settings | settings
    parts, of, may_fail = [], {}, {}
    accepted = accept or [()] * len(words)
    for name, path, fails, *outputs in zip(
        datasets, words, accepted, surprisal, ledger, strict=True
    ):
        files = {"words": path, "model": lm.files}
        files |= {"word_list": word_list} if word_list else {}
        key = stored_parts.key(files, made_by | ({"accept": fails} if fails else {}), code)
        part = Part(name, tuple(map(Path, outputs)), key)
        parts.append(part)
        of[part], may_fail[part] = path, fails
    first: dict[str, Part] = {}
    again: list[Part] = []
    for part in stored_parts.missing(parts):
        if first.setdefault(part.key, part) is not part:
            again.append(part)
    todo = list(first.values())
    if todo:
        from recency.scoring.surprisal import main as score

        began = time.monotonic()

        def done(number: int) -> None:
            nonlocal began
            stored_parts.keep(todo[number], time.monotonic() - began)
            began = time.monotonic()

        score(
            words=[of[part] for part in todo],
            lm=lm,
            out=[part.outputs[0] for part in todo],
            ledger=[part.outputs[1] for part in todo],
            dataset=[part.name for part in todo],
            accept=[may_fail[part] for part in todo],
            done=done,
            **settings,
        )
    for part in again:
        for source, output in zip(first[part.key].outputs, part.outputs, strict=True):
            shutil.copyfile(source, output)
        stored_parts.keep(part, 0.0)
