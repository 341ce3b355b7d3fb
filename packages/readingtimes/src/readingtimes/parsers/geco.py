"""GECO, English monolingual part (Cop et al., 2017): 14 subjects read a novel in four parts.

words: EnglishMaterial.xlsx (sheet ALL), or the same as a table: WORD_ID, SENTENCE_ID, WORD.
responses: MonolingualReadingData.xlsx (sheet DATA), or the same as a table; for TFT, also a table
of WORD_ID and one column a subject (pp21 …). A WORD_ID is part-trial-word; a trial is a page.

Responses have `words_since_fixation` (distance in words from the previously fixated word, in first pass
on the same page; 0 for the page's first) and `previous_fixated` (it is 1).
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.contracts import padded, same_words, word_table
from readingtimes.errors import InputError
from readingtimes.fixations import with_history
from readingtimes.formats import xlsx
from readingtimes.measures import has_later_passes
from readingtimes.strict_tables import Table, header, only, read, warn

_COLUMNS = {
    "FP": "WORD_GAZE_DURATION",
    "GP": "WORD_GO_PAST_TIME",
    "TFT": "WORD_TOTAL_READING_TIME",
}
MEASURES = ("FP", "GP", "TFT")
COLUMNS = {
    "responses": {
        "words_since_fixation": ("number", "distance from the word fixated before, words"),
        "previous_fixated": ("flag", "whether the word before was fixated"),
    },
}
_FIRST = "WORD_FIRST_FIXATION_TIME"
_NO_TIME = (".", "", "NA")
_NO_SENTENCE = ("#N/A", "")
_WIDE = re.compile(r"\bpp\d\d\b")
_SUBJECTS = [f"pp{number:02d}" for number in range(1, 100)]


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the novel's words, one item per part; a word without a sentence joins the previous one."""
    table, _ = _words(only(files, "words of geco"))
    return table


def _words(path: Path) -> tuple[pd.DataFrame, pd.Series]:
    """Return the words, and their WORD_IDs by word_id."""
    table = _read(path, "ALL", ["WORD_ID", "SENTENCE_ID", "WORD"]).once(["WORD_ID"])
    table = table.without(table["WORD"] == "", "without a word")
    ids = _places(table)
    sentence = table["SENTENCE_ID"].mask(table["SENTENCE_ID"].isin(_NO_SENTENCE))
    if sentence.isna().any():
        warn(path, f"{sentence.isna().sum():,} words without a sentence joined to that before them")
    frame = ids.assign(sentence=sentence.ffill(), word=table["WORD"], key=table["WORD_ID"])
    frame = frame.sort_values(["part", "trial", "word_in_trial"], kind="stable")
    starts = (frame.sentence != frame.sentence.shift()) | (frame.part != frame.part.shift())
    result = word_table(frame.part.astype("str").to_numpy(), starts.cumsum(), frame.word.to_numpy())
    return result, frame.key.reset_index(drop=True)


def responses(files: dict[str, Path], words: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Read `measure` in ms: FP (gaze duration), GP (go past) or TFT (total); 0 where not fixated.

    FP and GP are 0, too, where a word further right on the page was fixated before.
    The role `material` names the file that the words are from, whose WORD_IDs join the two.
    """
    files = dict(files)
    if "material" not in files:
        raise InputError("responses of geco: name the file of the words as `material`, too")
    words_of_material, keys = _words(Path(files.pop("material")))
    same_words(words_of_material.word, words, "responses of geco, `material`")
    ids = pd.Series(keys.index, index=keys)
    path = only(files, "responses of geco")
    if not xlsx.is_workbook(path) and _WIDE.search(header(path)):
        return _wide(path, measure, ids, words)
    columns = ["PP_NR", "WORD_ID", _FIRST, _COLUMNS[measure]]
    table = _read(path, "DATA", columns).once(["PP_NR", "WORD_ID"], drop=True)
    table = table.without(~table["WORD_ID"].isin(ids.index), "of words that the material lacks")
    frame = _places(table).assign(subject=table["PP_NR"], word_id=table["WORD_ID"].map(ids))
    frame["onset"] = table.numbers(_FIRST, missing=_NO_TIME)
    time = table.numbers(_COLUMNS[measure], missing=_NO_TIME)
    frame["time_ms"] = time.fillna(0.0)
    since = pd.Series(np.nan, index=frame.index)
    page = ["subject", "part", "trial"]
    read_ = frame[frame.onset.notna()].sort_values([*page, "onset"], kind="stable")
    ahead = read_.groupby(page).word_in_trial.cummax().groupby([read_[k] for k in page]).shift()
    first = read_[~(read_.word_in_trial <= ahead)]
    since[first.index] = first.groupby(page).word_in_trial.diff().fillna(0)
    if not has_later_passes(measure):
        frame["time_ms"] = frame.time_ms.where(since.notna(), 0.0)
    frame["words_since_fixation"] = since
    frame["previous_fixated"] = since == 1
    return _given(frame)


def _wide(path: Path, measure: str, ids: pd.Series, words: pd.DataFrame) -> pd.DataFrame:
    """Read total times with one column a subject; skipped words are counted over the rows."""
    if measure != "TFT":
        raise InputError(
            f"{path} has total reading times, not {measure}; use MonolingualReadingData"
        )
    table = read(path, ["WORD_ID"], optional=_SUBJECTS).once(["WORD_ID"])
    table = table.without(~table["WORD_ID"].isin(ids.index), "of words that the material lacks")
    word_id, parts = table["WORD_ID"].map(ids), []
    for name in table.frame.columns[1:]:
        part = pd.DataFrame({"subject": name, "word_id": word_id, "time_ms": table.numbers(name)})
        parts.append(part.sort_values("word_id"))
    frame = pd.concat(parts, ignore_index=True)
    item = frame.word_id.map(words.set_index("word_id")["item"])
    return _given(with_history(frame, frame.time_ms > 0, item))


def _given(frame: pd.DataFrame) -> pd.DataFrame:
    names = ["subject", "word_id", "time_ms", "words_since_fixation", "previous_fixated"]
    frame = frame[names].reset_index(drop=True)
    return frame.assign(subject=padded(frame.subject), word_id=frame.word_id.astype("int32"))


def _read(path: Path, sheet: str, columns: list[str]) -> Table:
    if xlsx.is_workbook(path):
        return xlsx.read(path, sheet, columns)
    return read(path, columns, separator=None)


def _places(table: Table) -> pd.DataFrame:
    """Split WORD_IDs into part, trial and word_in_trial."""
    parts = table["WORD_ID"].str.extract(r"^(\d+)-(\d+)-(\d+)$")
    wrong = parts.isna().any(axis=1)
    if wrong.any():
        line = parts.index[wrong][0]
        table.fail(
            line, f"WORD_ID is {table['WORD_ID'][line]!r}, expected part-trial-word (1-5-12)"
        )
    return parts.astype("int64").set_axis(["part", "trial", "word_in_trial"], axis=1)
