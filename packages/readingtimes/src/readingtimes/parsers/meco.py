"""MECO, the English part, eye tracking (Siegelman et al., 2022): 12 texts, one screen each.

Two formats, distinguished by their columns:
- item means (mecoL1_clean.csv of rycolab/psycho-toke): StimulusID, ContextLength (place from 0),
  Region, FirstFixationDuration, GazeDuration, TotalDuration; one subject, `mean`, words that a
  reader skipped counted as 0;
- the corpus's own word report, `joint.data` of joint_data_trimmed.rda, that file or a CSV of it:
  uniform_id, lang, itemid or trialid (text), sentnum, ianum and ia (or wordnum and word), dur, firstrun.skip,
  firstrun.dur, firstrun.gopast, firstfix.dur; NA if a word was not fixated. Its "first run" is the
  first visit, even after later words: with `firstrun.skip`, first-pass times are set to 0.

Responses of the word report have `words_since_fixation` and `previous_fixated`, computed over words in
reading order by first pass. Words are those of most readers at a position; rows with another word or
without one (double spaces in the texts) are dropped and reported, as are readings with mostly other
words (a text under another's number). `itemid` identifies the text, if present, because `trialid` lags
behind it for some readers. MECO L2 has only English texts, and in `lang` the readers' first language:
`language: null` reads all rows.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from readingtimes.contracts import item_means, padded, same_words, word_table
from readingtimes.errors import InputError
from readingtimes.fixations import with_history
from readingtimes.formats import rda
from readingtimes.measures import has_later_passes
from readingtimes.names import hint
from readingtimes.sentences import sentence_numbers
from readingtimes.strict_tables import Table, header, only, read, warn

_MEANS = {"FFD": "FirstFixationDuration", "FP": "GazeDuration", "TFT": "TotalDuration"}
_REPORT = {"FFD": "firstfix.dur", "FP": "firstrun.dur", "GP": "firstrun.gopast", "TFT": "dur"}
MEASURES = ("FFD", "FP", "GP", "TFT")
COLUMNS = {
    "responses": {
        "words_since_fixation": ("number", "distance from the word fixated before, words"),
        "previous_fixated": ("flag", "whether the word before was fixated"),
    }
}

_MISSING = ("NA", "")
#: Minimum share of a reading's words that match its text.
_ALIGNED = 0.5
# The column that identifies the data frame, and the column that selects its rows.
_FRAME = ("uniform_id", "lang")
_AREA = (("ianum", "ia"), ("wordnum", "word"))


def words(files: dict[str, Path], *, language: str | None = "en") -> pd.DataFrame:
    """Read the texts, one item each; sentences of item means are found by `sentences.ends`."""
    with rda.as_csv(only(files, "words of meco"), *_FRAME, language or "") as path:
        return _words(path, language)


def _words(path: Path, language: str | None) -> pd.DataFrame:
    if not _is_report(path):
        _, frame = _means(path)
        items = padded(frame.text.astype("str"))
        return word_table(items, sentence_numbers(frame.word, frame.text), frame.word)
    _, frame = _report(path, language)
    first = _words_of_most(frame)
    if (back := first.groupby("text").sentnum.diff() < 0).any():
        text, position = first[back].iloc[0][["text", "place"]]
        raise InputError(f"{path}: in text {text} the sentence numbers go back at place {position}")
    new = (first.text != first.text.shift()) | (first.sentnum != first.sentnum.shift())
    return word_table(padded(first.text.astype("str")), new.cumsum(), first.word)


def responses(
    files: dict[str, Path], words: pd.DataFrame, measure: str, *, language: str | None = "en"
) -> pd.DataFrame:
    """Read `measure` in ms: FFD, FP (first pass), GP (go past; word report alone) or TFT (total).

    `language` is a code of the word report's `lang`.
    """
    with rda.as_csv(only(files, "responses of meco"), *_FRAME, language or "") as path:
        if _is_report(path):
            return _of_readers(path, words, measure, language)
        return _of_means(path, words, measure)


def _of_means(path: Path, words: pd.DataFrame, measure: str) -> pd.DataFrame:
    if measure not in _MEANS:
        raise InputError(
            f"{path} has item means, without {measure}; it has: {', '.join(_MEANS)}; {measure} is "
            "in the corpus's own word report (joint_data_trimmed)"
        )
    table, frame = _means(path, _MEANS[measure])
    same_words(frame.word, words, path)
    return item_means(words, table.numbers(_MEANS[measure])[frame.index])


def _is_report(path: Path) -> bool:
    return "StimulusID" not in header(path)


def _means(path: Path, *columns: str) -> tuple[Table, pd.DataFrame]:
    """Read text, position (from 0) and word of item means, in reading order."""
    names = ["StimulusID", "ContextLength"]
    table = read(path, [*names, "Region", *columns], separator=",").once(names)
    frame = pd.DataFrame({name: table.numbers(name, integer=True) for name in names})
    frame = frame.set_axis(["text", "place"], axis=1).assign(word=table["Region"])
    frame = frame.sort_values(["text", "place"])
    gap = frame.place != frame.groupby("text").cumcount()
    if gap.any():
        line = frame.index[gap][0]
        table.fail(line, f"text {frame.text[line]} has no word before {frame.place[line]}")
    return table, frame


def _report(path: Path, language: str | None, column: str = "dur") -> tuple[Table, pd.DataFrame]:
    """Read the rows of one language: subject, text, sentnum, area, word; the index is the line."""
    number, word = _AREA[0] if "ianum" in header(path) else _AREA[1]
    text = "itemid" if "itemid" in header(path) else "trialid"
    keys = ["uniform_id", text, number]
    table = read(
        path, [*keys, "lang", "sentnum", word, "firstrun.skip", column], separator=",", quoted=True
    )
    there = table["lang"].unique()
    if language is not None and language not in there:
        way_out = f"{hint(language, there)}There are: {', '.join(sorted(there))}"
        raise InputError(f"options → language: {path} has no {language!r}; {way_out}")
    if language is not None:
        table = Table(path, table.frame[table["lang"] == language])
    table = table.without(table[word].isin(_MISSING), "interest areas without a word")
    table = table.once(keys, drop=True)
    frame = pd.DataFrame({"subject": table["uniform_id"]})
    for name, source in {"text": text, "sentnum": "sentnum", "area": number}.items():
        frame[name] = table.numbers(source, integer=True)
    frame["word"] = table[word].str.replace(r"\s+", "", regex=True)
    return _drop_other_texts(table, frame, there)


def _drop_other_texts(
    table: Table, frame: pd.DataFrame, languages: Iterable[str]
) -> tuple[Table, pd.DataFrame]:
    """Drop readings of a text with mostly other words than the rest; InputError if most have."""
    first = _words_of_most(frame).set_index(["text", "area"]).word
    same = frame.word.to_numpy() == first.reindex(
        pd.MultiIndex.from_frame(frame[["text", "area"]])
    ).to_numpy(dtype=object)
    share = pd.Series(same, frame.index).groupby([frame.subject, frame.text]).transform("mean")
    other = share < _ALIGNED
    if other.mean() > _ALIGNED:
        raise InputError(
            f"{table.path}: readers of one text have mostly other words; if its rows are of several "
            f"languages, take one: options → language: {', '.join(sorted(languages))}"
        )
    if other.any():
        readings = frame[other].drop_duplicates(["subject", "text"])
        example = f"{readings.subject.iloc[0]}, text {readings.text.iloc[0]}"
        warn(
            table.path,
            f"{other.sum():,} rows of {len(readings):,} readings dropped, whose words are those of "
            f"another text ({example})",
        )
    return Table(table.path, table.frame[~other]), frame[~other]


def _words_of_most(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the words of most readers: text, area, position (from 1), word, sentnum."""
    counts = frame.groupby(["text", "area", "word", "sentnum"]).size().rename("n").reset_index()
    counts = counts.sort_values(["text", "area", "n"], ascending=[True, True, False], kind="stable")
    first = counts.drop_duplicates(["text", "area"]).reset_index(drop=True)
    return first.assign(place=first.groupby("text").cumcount() + 1)


def _of_readers(
    path: Path, words: pd.DataFrame, measure: str, language: str | None
) -> pd.DataFrame:
    """Read one measure of each reader from the word report."""
    table, frame = _report(path, language, _REPORT[measure])
    first = _words_of_most(frame)
    same_words(first.word, words, path)
    by_area = first.assign(word_id=range(len(first))).set_index(["text", "area"])
    matched = by_area.reindex(pd.MultiIndex.from_frame(frame[["text", "area"]])).set_axis(
        frame.index
    )
    frame["word_id"] = matched.word_id.astype("int32")
    times = table.numbers(_REPORT[measure], missing=_MISSING)
    skipped = table.numbers("firstrun.skip", missing=_MISSING).fillna(1) != 0
    if not has_later_passes(measure):
        times = times.mask(skipped, 0)
    frame["time_ms"] = times.fillna(0.0) if has_later_passes(measure) else times
    frame["fixated"] = ~skipped
    frame = frame[(frame.word == matched.word).to_numpy()]
    if other := len(matched) - len(frame):
        warn(path, f"{other:,} rows dropped, with another word than most readers' there")
    frame = frame.assign(subject=padded(frame.subject))
    frame = frame.sort_values(["subject", "word_id"], kind="stable")
    frame = with_history(frame, frame.fixated, frame.text)
    if (unknown := frame.time_ms.isna()).any():
        warn(path, f"{unknown.sum():,} rows dropped, of fixated words without {measure}")
    columns = ["subject", "word_id", "time_ms", "words_since_fixation", "previous_fixated"]
    return frame.loc[~unknown, columns].reset_index(drop=True)
