"""Natural Stories, self-paced reading (Futrell et al., 2021).

words: all_stories.tok (word, zone, item). responses, distinguished by their columns:
- processed_RTs.tsv (WorkerId, correct, item, zone, RT, word …), zones of all_stories.tok;
- batch files (WorkerId or subject, correct, item, zone, RT), zones of the experiment: two screens
  precede each story, and story 3 had an additional word, its 229th, that is not in the text.

In May 2025 the authors shifted the times of processed_RTs.tsv by one word. The paper used the previous
alignment, which processed_wordinfo.tsv still has: from this file, in the role `readers`, the shift is
determined by the numbers of readers per word, and reversed.

With a role `trees` of the words (all-parses-aligned.txt.penn) each word has a part of speech: noun,
verb (including modals and auxiliaries) or other.
"""

import re
from pathlib import Path

import pandas as pd

from readingtimes import parts_of_speech
from readingtimes.contracts import look_up, padded, word_table
from readingtimes.errors import InputError
from readingtimes.sentences import sentence_numbers
from readingtimes.strict_tables import Table, content, only, read, warn

MEASURES = ("SPR",)
COLUMNS = {
    "words": {
        "pos": ("text", "part of speech: noun, verb or other", {"role": "trees"}),
    },
    "responses": {
        "correct": ("number", "right answers to the story's 6 questions"),
    },
}

_SCREENS_BEFORE = 2
_EXTRA_ZONE = (3, 231)  # story and raw zone of the word that the text lacks
_MOVES = (0, -1, 1, -2, 2)
_KEPT_MS = (100, 3000)  # of the times that processed_wordinfo.tsv counts
_KEPT_CORRECT = 4
_LEAF = re.compile(r"\(([^\s()]+) [^\s()]+/(\d+)\.(\d+)(?:\.\w+)*\)")


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the stories, one item each, with sentences found by `sentences.ends`."""
    files = dict(files)
    trees = files.pop("trees", None)
    path = only(files, "words of natural_stories")
    table = read(path, ["item", "zone", "word"]).once(["item", "zone"])
    frame = pd.DataFrame(
        {name: table.numbers(name, integer=True, minimum=1) for name in ["item", "zone"]}
    )
    frame["word"] = table["word"]
    frame = frame.sort_values(["item", "zone"], kind="stable")
    gap = frame.zone != frame.groupby("item").cumcount() + 1
    if gap.any():
        line = frame.index[gap][0]
        table.fail(
            line,
            f"story {frame.item[line]} has no zone before {frame.zone[line]}; zones "
            "count from 1 without a gap",
        )
    sentences = sentence_numbers(frame.word, frame["item"])
    result = word_table(padded(frame["item"].astype("str")), sentences, frame.word)
    return result if trees is None else result.assign(pos=_parts_of_speech(trees, frame))


def _parts_of_speech(trees: Path, frame: pd.DataFrame) -> list[str]:
    """Find the part of speech of each word of `frame` (item, zone)."""
    tags: dict[tuple[int, int], list[str]] = {}
    for tag, story, zone in _LEAF.findall(content(trees).decode()):
        tags.setdefault((int(story), int(zone)), []).append(tag)
    keys = list(zip(frame["item"], frame.zone, strict=True))
    lost = [key for key in keys if key not in tags]
    if lost:
        raise InputError(
            f"{trees}: no leaf is word {lost[0][1]} of story {lost[0][0]}, nor are {len(lost) - 1:,} "
            "others; the trees are to be all-parses-aligned.txt.penn of the same stories"
        )
    return [parts_of_speech.of(tags[key]) for key in keys]


def responses(
    files: dict[str, Path],
    words: pd.DataFrame,
    measure: str,
    *,
    offset: int = 0,
    file_offset: int | None = None,
) -> pd.DataFrame:
    """Read reading times in ms, with `correct` (of 6 questions, per subject and story).

    `offset` words are added to the paper's alignment: 0 is the paper's, 1 the corrected one, which
    gives each time to the next word. `file_offset` says where the file itself has its times, in the same count; None:
    found with the role `readers`. A batch file has the paper's alignment once its zones are
    counted from the first word.
    """
    files = dict(files)
    readers = files.pop("readers", None)
    if not files:
        raise InputError("responses of natural_stories: no file of reading times is named")
    parts = [_times(Path(path), words, readers, file_offset) for path in files.values()]
    frame = pd.concat(parts, ignore_index=True)
    again = frame.duplicated(["subject", "item", "zone"])
    if again.any():
        warn(
            "responses", f"{again.sum():,} repeats dropped, of a subject's earlier time for a word"
        )
        frame = frame[~again]
    frame["zone"] += offset
    matched = look_up(words, ("item", "place"), frame["item"], frame.zone)
    outside = matched.word_id.isna()
    if outside.any():
        warn("responses", f"{outside.sum():,} times dropped, of zones outside the stories' words")
    kept = frame[~outside.to_numpy()]
    return pd.DataFrame(
        {
            "subject": padded(kept.subject),
            "word_id": matched.word_id[~outside].astype("int32").to_numpy(),
            "time_ms": kept.time_ms,
            "correct": kept.correct,
        }
    ).reset_index(drop=True)


def _times(
    path: Path, words: pd.DataFrame, readers: Path | None, file_offset: int | None
) -> pd.DataFrame:
    """Read one file: subject, item, zone (in the paper's alignment), time_ms, correct."""
    named = ["WorkerId", "subject", "word"]
    table = read(path, ["correct", "item", "zone", "RT"], optional=named, separator=None)
    subject = next((name for name in named[:2] if name in table), None)
    if subject is None:
        raise InputError(
            f"{path} has no column WorkerId (nor subject, as the shared batch file has)"
        )
    frame = pd.DataFrame(
        {name: table.numbers(name, integer=True) for name in ["correct", "item", "zone"]}
    )
    frame.insert(0, "subject", table[subject])
    frame["time_ms"] = table.numbers("RT")
    if "word" in table:
        _check_words(table, frame, words)
        moved = _shift_of_times(path, frame, readers) if file_offset is None else file_offset
        return frame.assign(zone=frame.zone - moved)
    return _from_raw(path, frame, file_offset or 0)


def _from_raw(path: Path, frame: pd.DataFrame, file_offset: int) -> pd.DataFrame:
    """Count zones from the story's first word."""
    story, extra = _EXTRA_ZONE
    third = frame.item == story
    dropped = third & (frame.zone == extra)
    if dropped.any():
        warn(
            path,
            f"{dropped.sum():,} times dropped, of story {story}'s zone {extra}, not in its text",
        )
    before = _SCREENS_BEFORE + (third & (frame.zone > extra)).astype("int64")
    frame = frame.assign(zone=frame.zone - before - file_offset)[~dropped]
    ahead = frame.zone < 1
    if ahead.any():
        warn(path, f"{ahead.sum():,} times dropped, of the screens before the stories")
    return frame[~ahead]


def _shift_of_times(path: Path, frame: pd.DataFrame, readers: Path | None) -> int:
    """Return the shift in words of the file's times relative to the readers' counts."""
    if readers is None:
        raise InputError(
            f"{path}: whether its times are those of the paper or were moved (May 2025) shows in "
            "processed_wordinfo.tsv: name that file as `readers` under the data set's `responses`, "
            "or set the option file_offset (0: as the paper's)"
        )
    table = read(readers, ["item", "zone", "nItem"]).once(["item", "zone"])
    expected = pd.DataFrame(
        {name: table.numbers(name, integer=True) for name in ["item", "zone", "nItem"]}
    ).set_index(["item", "zone"])["nItem"]
    low, high = _KEPT_MS
    kept = frame[(frame.time_ms > low) & (frame.time_ms < high) & (frame.correct > _KEPT_CORRECT)]
    agree = {}
    for move in _MOVES:
        counts = kept.assign(zone=kept.zone - move).groupby(["item", "zone"]).size()
        both = pd.concat([counts, expected], axis=1, keys=["n", "nItem"]).dropna()
        agree[move] = (both.n == both.nItem).mean() if len(both) else 0.0
    best = max(agree, key=agree.get)
    if agree[best] < 0.99:
        raise InputError(
            f"{path}: its readers per word agree with {readers} at no alignment (at best {best:+d}, "
            f"{agree[best]:.0%} of the words); it may be another version: set the option "
            "file_offset"
        )
    if best:
        warn(path, f"times stand {best:+d} word from the paper's alignment, moved back")
    return best


def _check_words(table: Table, frame: pd.DataFrame, words: pd.DataFrame) -> None:
    """Compare the file's words with the stories'."""
    expected = look_up(words, ("item", "place"), frame["item"], frame.zone).word.to_numpy()
    wrong = expected != table["word"].to_numpy()
    if wrong.any():
        line = frame.index[wrong][0]
        item, zone = frame["item"][line], frame.zone[line]
        where = f"story {item}, zone {zone}"
        there = expected[wrong][0]
        there = repr(there) if isinstance(there, str) else "no such word"
        table.fail(
            line,
            f"{where} is {table['word'][line]!r}, the stories have {there} "
            f"({wrong.sum():,} such rows); the two files are of different versions",
        )
