"""Speech to children, from AO-CHILDES (Huebner and Willits 2021; MacWhinney 2000).

The tables of transcripts (CSV, one utterance per row) are CHILDES without the target child's speech.
"""

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from recency.errors import InputError
from recency.text.utf8 import decoded

ENDS = {"question": "?", "imperative_emphatic": "!"}
COLUMNS = {"transcript_id", "gloss", "speaker_role", "type", "target_child_age"}


def read(
    paths: list[Path],
    exclude_words: Iterable[str] = ("xxx", "yyy"),
    exclude_roles: Iterable[str] = (),
) -> Iterator[tuple[str, str]]:
    """Yield each transcript, one utterance per line, by the child's age (unknown ages last).

    Each utterance ends in ` .`, ` ?` or ` !` by its type. Utterances are omitted if they are empty,
    have a replacement character or one of `exclude_words` (in CHAT, `xxx` or `yyy` are unintelligible,
    `www` not transcribed), or if the speaker has one of `exclude_roles`, such as `Child` (children
    other than the target child).
    """
    left_out = frozenset(exclude_roles)
    words = "|".join(map(re.escape, exclude_words)) or "(?!)"
    bad = re.compile(rf"\b(?:{words})\b|\ufffd")
    transcripts: dict[tuple[float, int, str], list[str]] = defaultdict(list)
    for path in paths:
        table = csv.DictReader(io.StringIO(decoded(path.read_bytes(), path), newline=""))
        if missing := COLUMNS - set(table.fieldnames or ()):
            raise InputError(f"{path} has no column {', '.join(sorted(missing))}")
        for row in table:
            gloss = row["gloss"].strip()
            if not gloss or row["speaker_role"] in left_out or bad.search(gloss):
                continue
            age = row["target_child_age"]
            days = math.inf if age == "NA" else float(age)
            utterance = f"{gloss} {ENDS.get(row['type'], '.')}"
            transcripts[days, int(row["transcript_id"]), path.stem].append(utterance)
    for (days, number, name), utterances in sorted(transcripts.items()):
        age = "NA" if math.isinf(days) else f"{days:.0f}"
        yield f"{name}-{number}-{age}", "\n".join(utterances)
