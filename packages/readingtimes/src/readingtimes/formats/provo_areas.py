"""Provo's summary by interest area, Provo_Corpus-Eyetracking_Data.csv: one row per subject and word.

Columns (EyeLink Data Viewer): Participant_ID, Text_ID, TRIAL_INDEX, IA_ID (the area's number in the
text), IA_LABEL (its word), IA_SKIP (1: no fixation in first-pass reading),
IA_FIRST_FIXATION_DURATION, IA_FIRST_RUN_DWELL_TIME, IA_REGRESSION_PATH_DURATION, IA_DWELL_TIME (ms;
NA or . if missing). Its "first run" is the first visit, even after later words: with IA_SKIP,
first-pass measures are set to 0. The file's columns for words (Word_Number, Word …) are missing for
the first word of a text and wrong for some others, so words are matched by areas, in text order.
"""

import difflib
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.contracts import padded
from readingtimes.errors import InputError
from readingtimes.fixations import with_history
from readingtimes.measures import has_later_passes
from readingtimes.strict_tables import Table, read, warn

COLUMNS = {
    "FFD": "IA_FIRST_FIXATION_DURATION",
    "FP": "IA_FIRST_RUN_DWELL_TIME",
    "GP": "IA_REGRESSION_PATH_DURATION",
    "TFT": "IA_DWELL_TIME",
}
_KEYS = ["Participant_ID", "Text_ID", "IA_ID"]
_MISSING = ("NA", ".", "")


def responses(path: Path, words: pd.DataFrame, measure: str, encoding: str) -> pd.DataFrame:
    """Read `measure` in ms: FFD, FP (first pass), GP (go past) or TFT (total)."""
    names = [*_KEYS, "TRIAL_INDEX", "IA_LABEL", "IA_SKIP", COLUMNS[measure]]
    table = read(path, names, separator=None, encoding=encoding)
    table = table.without(table["Text_ID"].isin(_MISSING), "without a text")
    table = _shown_first(table)
    frame = pd.DataFrame({"subject": padded(table["Participant_ID"]), "label": table["IA_LABEL"]})
    for name, column in {"text": "Text_ID", "area": "IA_ID"}.items():
        frame[name] = table.numbers(column, integer=True, minimum=1)
    skipped = table.numbers("IA_SKIP")
    if (odd := ~skipped.isin([0, 1])).any():
        table.fail(skipped.index[odd][0], f"IA_SKIP is {skipped[odd].iloc[0]:g}, expected 0 or 1")
    times = table.numbers(COLUMNS[measure], missing=_MISSING)
    frame["fixated"] = skipped == 0
    frame["time_ms"] = (
        times.fillna(0.0) if has_later_passes(measure) else times.where(frame.fixated, 0.0)
    )
    frame["word_id"] = _places(path, frame, words)
    if (lost := frame.word_id.isna()).any():
        first = f"area {frame.area[lost].iloc[0]} of text {frame.text[lost].iloc[0]}, "
        first += repr(frame.label[lost].iloc[0])
        warn(
            path,
            f"{lost.sum():,} rows dropped, on areas with another word than the text's ({first})",
        )
    frame = frame[~lost].astype({"word_id": "int32"})
    frame = frame.sort_values(["subject", "word_id"], kind="stable").reset_index(drop=True)
    frame = with_history(frame, frame.fixated, frame.text)
    frame["previous_fixated"] &= frame.word_id.diff() == 1
    word = frame.word_id.map(words.word)
    frame["word_matches"] = ~word.str.contains("['’\"—]")
    if (unknown := frame.time_ms.isna()).any():
        warn(path, f"{unknown.sum():,} rows dropped, of fixated words without {COLUMNS[measure]}")
    return frame.loc[~unknown].drop(columns=["label", "text", "area", "fixated"])


def parts_of_speech(path: Path, words: pd.DataFrame, encoding: str) -> pd.Series:
    """Read Word_POS of each word: noun, verb or other; missing if its area's rows have another word."""
    names = ["Text_ID", "IA_ID", "IA_LABEL", "Word", "Word_POS"]
    table = read(path, names, separator=None, encoding=encoding)
    table = table.without(table["Text_ID"].isin(_MISSING), "without a text")
    frame = pd.DataFrame({"label": table["IA_LABEL"], "tag": table["Word_POS"].str.casefold()})
    for name, column in {"text": "Text_ID", "area": "IA_ID"}.items():
        frame[name] = table.numbers(column, integer=True, minimum=1)
    frame["word_id"] = _places(path, frame, words)
    is_same = np.array(_letters(frame.label)) == np.array(_letters(table["Word"]))
    is_same &= frame.word_id.notna() & ~table["Word_POS"].isin(_MISSING)
    tags = frame[is_same].groupby("word_id").tag.agg(lambda tags: tags.mode().iloc[0])
    if lacking := {"noun", "verb"} - set(tags):
        raise InputError(
            f"{path}: Word_POS has no {' and no '.join(sorted(lacking))}, but "
            f"{', '.join(map(repr, sorted(set(tags))[:5])) or 'nothing'}"
        )
    return words.word_id.map(tags.where(tags.isin(["noun", "verb"]), "other"))


def _shown_first(table: Table) -> Table:
    """Keep each subject's first reading of a text; drop and report repeated rows."""
    trial = table.numbers("TRIAL_INDEX", integer=True)
    pairs = [table["Participant_ID"], table["Text_ID"]]
    again = trial != trial.groupby(pairs).transform("min")
    return table.without(again, "of texts shown a second time").once(_KEYS, drop=True)


def _places(path: Path, frame: pd.DataFrame, words: pd.DataFrame) -> pd.Series:
    """Return each row's word_id; NA if its area has another word than the text there."""
    areas = frame.groupby(["text", "area"]).label.agg(lambda labels: labels.mode().iloc[0])
    positions = {}
    texts = {int(item): text for item, text in words.groupby("item", sort=False)}
    for text, text_areas in areas.groupby(level="text"):
        if text not in texts:
            raise InputError(
                f"{path}: there is no text {text} in the words, only 1 to {len(texts)}"
            )
        ours, theirs = _letters(texts[text].word), _letters(text_areas)
        matcher = difflib.SequenceMatcher(None, theirs, ours, autojunk=False)
        ids = np.full(len(text_areas), -1)
        for start, to, size in matcher.get_matching_blocks():
            ids[start : start + size] = texts[text].word_id.iloc[to : to + size]
        if (ids >= 0).mean() < 0.5:
            raise InputError(
                f"{path}: the areas of text {text} are not its words, but {theirs[:5]}…"
            )
        positions |= {
            key: word_id for key, word_id in zip(text_areas.index, ids, strict=True) if word_id >= 0
        }
    word_ids = [positions.get(key) for key in zip(frame.text, frame.area, strict=True)]
    word_ids = pd.Series(word_ids, frame.index, dtype="Int32")
    # Rows with another label than most of the area's rows belong to another word.
    usual = areas.reindex(pd.MultiIndex.from_frame(frame[["text", "area"]])).to_numpy()
    return word_ids.mask(np.array(_letters(frame.label)) != np.array(_letters(pd.Series(usual))))


def _letters(labels: pd.Series) -> list[str]:
    """Reduce words to ASCII letters and digits, because other characters vary."""
    return labels.str.replace(r"[^A-Za-z0-9]", "", regex=True).str.casefold().tolist()
