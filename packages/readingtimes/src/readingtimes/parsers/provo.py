"""Provo, eye tracking (Luke & Christianson, 2018): 84 subjects, 55 passages, one page each.

words: Provo_Corpus-Predictability_Norms.csv, or a table of words (text_id, word_number, word).
responses, distinguished by their columns: Provo_Corpus-Additional_Eyetracking_Data-Fixation_Report.csv,
a table of fixations (subject, text_id, trial_order, fix_num, fix_dur, word_text), or the summary
Provo_Corpus-Eyetracking_Data.csv (`formats.provo_areas`). If a subject was shown a passage twice, the
first reading is used.

Responses from fixations have `words_since_fixation` (the length in words of the saccade to the
fixation; 0 at the start of a page), `previous_fixated` (it is 1), `page_first` and `page_last` (the
page's first and last fixation on a word), and `word_matches`: the paper's pipeline joins two files by
words and loses those with different spellings of quotes or apostrophes.
"""

from pathlib import Path

import pandas as pd

from readingtimes import fixations
from readingtimes.contracts import one_of, padded, word_table
from readingtimes.errors import InputError
from readingtimes.formats import provo_areas
from readingtimes.joins.index import spelling
from readingtimes.sentences import sentence_numbers
from readingtimes.strict_tables import Table, content, header, only, read, warn

MEASURES = ("SP", "FP", "GP", "FFD", "TFT")
COLUMNS = {
    "words": {
        "pos": ("text", "part of speech: noun, verb or other", {"role": "tags"}),
        "unique_id": ("text", "the corpus's own id of the word"),
    },
    "responses": {
        "words_since_fixation": ("number", "distance from the word fixated before, words"),
        "previous_fixated": ("flag", "whether the word before was fixated"),
        "fixation": ("number", "the fixation's place in the text, from 1", {"measures": ("SP",)}),
        "page_first": ("flag", "whether this is the page's first fixation on a word"),
        "page_last": ("flag", "whether this is the page's last fixation on a word"),
        "word_matches": (
            "flag",
            "whether the paper's pipeline finds the word in both of its files",
        ),
    },
}
CHOICES = {
    "scan_path": ("fixation", "visit"),
    "report": ("fixations", "areas"),
    "durations": ("fixation", "onset"),
}

# The table of words has ? for apostrophes, and one dash, that its source lost.
_LOST = {"?": "—", "doesn?t": "doesn’t", "women?s": "women’s", "bonds?": "bonds’"}
_REPORT = {
    "subject": "RECORDING_SESSION_LABEL",
    "text": "page",
    "trial": "TRIAL_START_TIME",
    "onset": "PREVIOUS_SAC_END_TIME",
    "place": "CURRENT_FIX_INTEREST_AREA_INDEX",
    "label": "CURRENT_FIX_INTEREST_AREA_LABEL",
    "duration": "CURRENT_FIX_DURATION",
}
_FIXATIONS = {
    "subject": "subject",
    "text": "text_id",
    "trial": "trial_order",
    "onset": "fix_num",
    "place": "word_text",
    "duration": "fix_dur",
}
_OFF_TEXT = (".", "NA", "")


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the passages, one item each; sentences are found by the rule of `sentences.ends`.

    With the role `tags`, the summary by areas, words have their part of speech.
    """
    files = dict(files)
    tags = files.pop("tags", None)
    path = only(files, "words of provo")
    encoding = _encoding(path)
    if "Word_Number" in header(path):
        columns = ["Word_Unique_ID", "Word_Number", "Word"]
        table = read(path, ["Text_ID", "Text"], optional=columns, separator=",", encoding=encoding)
        ids = table.numbers("Text_ID", integer=True, minimum=1)
        texts = table["Text"].groupby(ids).first().str.split()
    else:
        columns = ["word_unique_id", "word_number", "word"]
        table = read(path, ["text_id", *columns[1:]], optional=columns[:1], encoding=encoding)
        frame = pd.DataFrame(
            {c: table.numbers(c, integer=True) for c in ["text_id", "word_number"]}
        )
        frame["word"] = table["word"].replace(_LOST)
        frame = frame.sort_values(["text_id", "word_number"])
        wrong = frame.word_number != frame.groupby("text_id").cumcount() + 1
        if wrong.any():
            line = frame.index[wrong][0]
            table.fail(
                line, f"text {frame.text_id[line]} has no word before {frame.word_number[line]}"
            )
        texts = frame.groupby("text_id").word.agg(list)
    split_words = texts.explode()
    items = padded(split_words.index.astype("str").to_series())
    result = word_table(
        items.to_numpy(), sentence_numbers(split_words, split_words.index), split_words.to_numpy()
    )
    result = _with_ids(result, table, *columns)
    if tags is None:
        return result
    return result.assign(pos=provo_areas.parts_of_speech(tags, result, _encoding(tags)))


def _with_ids(words: pd.DataFrame, table: Table, ids: str, number: str, word: str) -> pd.DataFrame:
    """Add the corpus's own ids of words (`unique_id`, null where it has none), if the file has them.

    An id counts where the word of its row is that of its number; in some texts they are others.
    """
    if not {ids, number, word} <= set(table.frame.columns):
        return words
    text = "Text_ID" if "Text_ID" in table else "text_id"
    rows = table.frame[[text, number, word, ids]].drop_duplicates()
    rows = rows[~rows[ids].isin(_OFF_TEXT)]
    numbered = words.assign(place=words.groupby("item").cumcount() + 1)
    key = pd.MultiIndex.from_arrays([numbered["item"].astype(int), numbered.place])
    asked = pd.MultiIndex.from_arrays([rows[text].astype(int), rows[number].astype(int)])
    at = key.get_indexer(asked)
    same = words.word.map(spelling).to_numpy()[at] == rows[word].map(spelling).to_numpy()
    unique_ids = pd.Series(rows[ids].to_numpy(), index=at)[(at >= 0) & same]
    unique_ids = unique_ids[~unique_ids.index.duplicated()]
    return words.assign(unique_id=unique_ids.reindex(range(len(words))).astype("str").to_numpy())


def responses(
    files: dict[str, Path],
    words: pd.DataFrame,
    measure: str,
    *,
    report: str | None = None,
    scan_path: str = "fixation",
    durations: str | None = None,
) -> pd.DataFrame:
    """Read `measure` in ms: SP (scan path), FP (first pass), GP (go past), FFD or TFT (total).

    SP is of fixations alone. `report`: `fixations` or `areas` says which
    the file must be, where it matters that it is no other; None: either.
    `scan_path`: `fixation` (one row a fixation, as the counts of the paper's Table 1 have it) or
    `visit` (one row for all fixations until another word is fixated, as its Appendix A words it).
    `durations`: `fixation`, or `onset` (up to the onset of the next fixation on a word, saccade
    included, as in the paper's pipeline; a table of fixations has no onsets); None: what there is.
    """
    one_of("scan_path", scan_path, CHOICES["scan_path"])
    path = only(files, "responses of provo")
    areas = "IA_DWELL_TIME" in header(path)
    one_of("report", report or "areas", CHOICES["report"])
    if report and (report == "areas") != areas:
        there = "areas" if areas else "fixations"
        raise InputError(f"options → report: {report}, but {path} is a report of {there}")
    if areas and measure not in provo_areas.COLUMNS:
        there = ", ".join(provo_areas.COLUMNS)
        raise InputError(f"{path} is the summary by areas: it gives {there}, and no {measure}")
    if areas:
        return provo_areas.responses(path, words, measure, _encoding(path))
    frame, labels = _fixations_on_words(path, words, durations)
    keys = [frame.subject.to_numpy(), frame.text.to_numpy(), frame.place.to_numpy()]
    never = pd.Series(False, index=frame.index).to_numpy()
    sums = fixations.measure(*keys, frame.duration.to_numpy(), never)
    times = {"SP": frame.duration if scan_path == "fixation" else sums.visit}
    page = frame.groupby(["subject", "text"], sort=False)
    plain = frame.word.str.replace('[’"]', "'", regex=True)
    quotes = ~frame.word.str.contains("['’\"—]")
    out = pd.DataFrame(
        {
            "subject": padded(frame.subject),
            "word_id": frame.word_id.astype("int32"),
            "time_ms": times.get(measure, sums.get(measure)),
            "words_since_fixation": sums.words_since_fixation,
            "previous_fixated": sums.words_since_fixation == 1,
            "page_first": page.cumcount() == 0,
            "page_last": page.cumcount(ascending=False) == 0,
            "word_matches": frame.label == plain if labels else quotes,
        }
    )
    if measure == "SP":
        out["fixation"] = page.cumcount() + 1
    if labels:
        out = _same_words(path, out, frame)
    return fixations.presented(out, words)


def read_fixations(files: dict[str, Path], words: pd.DataFrame, **options) -> pd.DataFrame | None:
    """Read contract 4, with the options of `responses`; None from the summary by areas."""
    path = only(files, "fixations of provo")
    if "IA_DWELL_TIME" in header(path):
        return None
    frame, labels = _fixations_on_words(path, words, options.get("durations"))
    if labels:
        frame = _same_words(path, frame, frame)
    subject, onset = padded(frame.subject), frame.onset if labels else None
    return fixations.as_table(subject, frame["item"], frame.word_id, frame.duration, onset)


def _fixations_on_words(
    path: Path, words: pd.DataFrame, durations: str | None
) -> tuple[pd.DataFrame, bool]:
    """Read fixations on words, with the columns of their words; and whether areas have labels."""
    frame, labels = _fixations(path, durations)
    numbered = words.assign(place=words.groupby("item").cumcount() + 1)
    numbered["text"] = numbered["item"].astype("int64")
    frame = frame.merge(numbered, on=["text", "place"], how="left")
    if (lost := frame.word_id.isna()).any():
        at = frame[lost].iloc[0]
        more = f"({lost.sum():,} such rows)"
        raise InputError(f"{path}, line {at.line}: text {at.text} has no word {at.place} {more}")
    return frame, labels


def _same_words(path: Path, out: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Drop rows of `out`, fixations on areas with another word than the text (mostly text 55)."""
    label, word = (
        column.str.replace(r"\W", "", regex=True) for column in (frame.label, frame.word)
    )
    other = (label != word).to_numpy()
    if other.any():
        example = f"{label[other].iloc[0]} for {word[other].iloc[0]}"
        warn(
            path, f"{other.sum():,} fixations dropped, on another word than the text's ({example})"
        )
    return out[~other]


def _fixations(path: Path, durations: str | None) -> tuple[pd.DataFrame, bool]:
    """Read fixations on words, in order: subject, text, place, duration in ms, label, line."""
    encoding = _encoding(path)
    report = "CURRENT_FIX" in header(path)
    one_of("durations", durations or "fixation", ["fixation", "onset"] if report else ["fixation"])
    names = _REPORT if report else _FIXATIONS
    table = read(path, names.values(), separator=None, encoding=encoding)
    table = table.once(list(names.values()), drop=True)
    frame = pd.DataFrame({"subject": table[names["subject"]]})
    for name in ("text", "trial"):
        frame[name] = table.numbers(names[name], integer=True)
    frame["onset"] = table.numbers(names["onset"], missing=_OFF_TEXT).fillna(0)
    frame["place"] = table.numbers(names["place"], missing=_OFF_TEXT)
    frame["duration"] = table.numbers(names["duration"])
    frame["label"] = table[names["label"]] if report else ""
    frame["line"] = frame.index
    again = frame.trial != frame.groupby(["subject", "text"]).trial.transform("min")
    if again.any():
        warn(path, f"{again.sum():,} fixations dropped, of passages shown a second time")
    frame = frame[~again & frame.place.gt(0)]
    order = ["subject", "trial", "onset"]
    if report or _is_out_of_order(frame, order):
        frame = frame.sort_values(order, kind="stable")
    if not report and (moved := (frame.index != frame.line.sort_values().index).sum()):
        warn(path, f"{moved:,} fixations were out of order, and are sorted by their number")
    if report and durations != "fixation":
        following = frame.groupby(["subject", "text"], sort=False).onset.shift(-1)
        frame["duration"] = (following - frame.onset).fillna(frame.duration)
    return frame.astype({"place": "int64"}).reset_index(drop=True), report


def _is_out_of_order(frame: pd.DataFrame, order: list[str]) -> bool:
    """Return whether a passage's fixations are out of order, or its rows not contiguous."""
    *keys, onset = order
    new = (frame[keys] != frame[keys].shift()).any(axis=1)
    back = ~new & (frame[onset].diff() < 0)
    return bool(back.any() or frame[new].duplicated(keys).any())


def _encoding(path: Path) -> str:
    """Return the encoding: Macintosh for the original, UTF-8 for later copies."""
    try:
        content(path).decode("utf-8")
    except UnicodeDecodeError:
        return "mac_roman"
    return "utf-8"
