"""Score several datasets with one network, which is opened once, and only if any score is missing."""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from recency import stored_parts
from recency.scoring.lm_spec import LMSpec
from recency.stored_parts import Part


def main(
    words: Sequence[str],
    lm: LMSpec,
    surprisal: Sequence[str],
    ledger: Sequence[str],
    datasets: Sequence[str],
    code: Mapping[str, str],
    accept: Sequence[Sequence[str]] = (),
    unigram: Sequence[str] = (),
    fixations: Sequence[str] = (),
    tuned_lens: Sequence[str] = (),
    ngram_lm: Sequence[str] = (),
    ngram_reading: Mapping[str, Any] = MappingProxyType({}),
    word_list: Sequence[str] = (),
    **settings,
) -> None:
    """Write surprisal and ledger of each dataset without stored results.

    `settings` are those of recency.scoring.surprisal.main. Datasets with the same words are scored
    once. `accept` lists the checks that the surprisal of each dataset may fail; `unigram` the unigram
    surprisal files, for LMs that erase words by frequency; `fixations` those of each dataset, for LMs
    with contexts of readers. `tuned_lens` and `ngram_lm` are optional
    files for measures, `ngram_reading` the settings of recency.scoring.ngram_likeness.Reference, and
    `word_list` the file of words for word entropy, if any.
    """
    files = {"tuned_lens": list(tuned_lens), "ngram_lm": list(ngram_lm)}
    files = {name: paths for name, paths in files.items() if paths}
    made_by = lm.settings | settings | ({"ngram_reading": ngram_reading} if ngram_lm else {})
    parts, of, may_fail, frequencies, scanpaths = [], {}, {}, {}, {}
    accepted = accept or [()] * len(words)
    for number, (name, path, fails, *outputs) in enumerate(
        zip(datasets, words, accepted, surprisal, ledger, strict=True)
    ):
        made_from = {"words": path, "model": lm.files} | files
        made_from |= {"unigram": unigram[number]} if unigram else {}
        made_from |= {"fixations": fixations[number]} if fixations else {}
        key = stored_parts.key(made_from, made_by | ({"accept": fails} if fails else {}), code)
        part = Part(name, tuple(map(Path, outputs)), key)
        parts.append(part)
        of[part], may_fail[part] = path, fails
        frequencies[part] = unigram[number] if unigram else None
        scanpaths[part] = fixations[number] if fixations else None
    first: dict[str, Part] = {}
    again: list[Part] = []
    for part in stored_parts.missing(parts):
        if first.setdefault(part.key, part) is not part:
            again.append(part)
    todo = list(first.values())
    if todo:
        from recency.scoring.ngram_likeness import Reference
        from recency.scoring.surprisal import main as score

        if tuned_lens:
            (settings["tuned_lens"],) = tuned_lens
        if ngram_lm:
            (path,) = ngram_lm
            settings["ngram_lm"] = Reference(path, **ngram_reading)
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
            accept=[may_fail[part] for part in todo] if accept else (),
            unigram=[frequencies[part] for part in todo] if unigram else (),
            fixations=[scanpaths[part] for part in todo] if fixations else (),
            done=done,
            **settings,
        )
    for part in again:
        for source, output in zip(first[part.key].outputs, part.outputs, strict=True):
            shutil.copyfile(source, output)
        stored_parts.keep(part, 0.0)
