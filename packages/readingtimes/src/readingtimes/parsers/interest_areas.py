"""Interest-area reports of EyeLink Data Viewer in three corpora, distinguished by their columns.

- CELER (Berzak et al., 2022), sent_ia.tsv: DATA_FILE (the reader), list (the reader's number),
  sentenceid, IA_ID (the word's number), IA_LABEL (the word), shared_text;
- RastrOS (Leal et al., 2022), RastrOS_Corpus_Eyetracking_Data.tsv: RECORDING_SESSION_LABEL (the
  reader), Word_Unique_ID (UID_text_word), IA_LABEL, in which the release has full stops in place
  of commas, and Word, in which it has the commas;
- the Russian Sentence Corpus (Laurinavichyute et al., 2019), data.csv or data_103.csv: DATA_FILE,
  item.id, word.serial.no (from 1), item.text (the sentence).

And in each IA_SKIP (1: no fixation in first-pass reading), IA_FIRST_FIXATION_DURATION,
IA_FIRST_RUN_DWELL_TIME, IA_REGRESSION_PATH_DURATION and IA_DWELL_TIME in ms (NA or . where there is
none). Their "first run" is the first visit, even after later words: with IA_SKIP, first-pass measures
are set to 0. An area of two words (no-break space) becomes two words, and its response has a span of 2.

Responses have `words_since_fixation` and `previous_fixated`, computed over words in reading order by
first pass. With a role `readers` (CELER's participant_metadata/metadata.tsv: List, L1) they have
`native`, the reader's first language.
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from readingtimes.contracts import padded, word_table
from readingtimes.errors import InputError
from readingtimes.fixations import with_history
from readingtimes.formats.provo_areas import COLUMNS as _AREAS
from readingtimes.measures import has_later_passes
from readingtimes.sentences import sentence_numbers
from readingtimes.strict_tables import Table, content, decode, header, only, read, warn

MEASURES = ("FFD", "FP", "GP", "TFT")
COLUMNS = {
    "words": {"shared_text": ("flag", "whether all readers read the text")},
    "responses": {
        "words_since_fixation": ("number", "distance from the word fixated before, words"),
        "previous_fixated": ("flag", "whether the word before was fixated"),
        "native": ("text", "the reader's first language", {"role": "readers"}),
    },
}
_MISSING = ("NA", ".", "")
_NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class _Layout:
    """Columns of a corpus: reader, keys of text and word, and the words."""

    subject: str
    text: str
    area: str
    label: str
    further: tuple[str, ...] = ()


_LAYOUTS = {
    "celer": _Layout("DATA_FILE", "sentenceid", "IA_ID", "IA_LABEL", ("shared_text",)),
    "rastros": _Layout(
        "RECORDING_SESSION_LABEL", "Word_Unique_ID", "Word_Unique_ID", "IA_LABEL", ("Word",)
    ),
    "rsc": _Layout("DATA_FILE", "item.id", "word.serial.no", "item.text"),
}


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the texts, one item each: sentences of CELER and RSC, paragraphs of RastrOS."""
    corpus, _, frame = _rows(only(files, "words of interest_areas"))
    return _words(corpus, _areas(corpus, frame))


def responses(files: dict[str, Path], words: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Read `measure` in ms: FFD, FP (first pass), GP (go past) or TFT (total)."""
    files = dict(files)
    readers = files.pop("readers", None)
    path = only(files, "responses of interest_areas")
    names = ["IA_SKIP", _AREAS[measure], *(["list"] if readers else [])]
    corpus, table, frame = _rows(path, names)
    areas = _areas(corpus, frame)
    if _words(corpus, areas).word.tolist() != words.word.tolist():
        raise InputError(f"{path}: its words are not those that the words were read from")
    areas["word_id"] = areas["size"].cumsum() - areas["size"]
    of_row = areas.set_index(["text", "area"]).loc[
        pd.MultiIndex.from_frame(frame[["text", "area"]])
    ]
    frame["word_id"] = of_row.word_id.to_numpy(dtype="int32")
    frame["span"] = of_row["size"].to_numpy(dtype="int32")
    skipped = table.numbers("IA_SKIP")
    if (odd := ~skipped.isin([0, 1])).any():
        table.fail(skipped.index[odd][0], f"IA_SKIP is {skipped[odd].iloc[0]:g}, expected 0 or 1")
    times = table.numbers(_AREAS[measure], missing=_MISSING)
    frame["fixated"] = skipped == 0
    frame["time_ms"] = (
        times.fillna(0.0) if has_later_passes(measure) else times.where(frame.fixated, 0.0)
    )
    frame["subject"] = padded(frame.subject)
    if readers is not None:
        frame["native"] = _native(Path(readers), table)
    frame = frame.sort_values(["subject", "word_id"], kind="stable")
    frame = with_history(frame, frame.fixated, frame.text)
    frame["previous_fixated"] &= (frame.word_id - frame.word_id.shift()) == frame["span"].shift()
    if (unknown := frame.time_ms.isna()).any():
        warn(path, f"{unknown.sum():,} rows dropped, of fixated words without {_AREAS[measure]}")
    kept = ["subject", "word_id", "time_ms", "words_since_fixation", "previous_fixated"]
    kept += ["native"] if readers is not None else []
    kept += ["span"] if (frame["span"] > 1).any() else []
    return frame.loc[~unknown, kept].reset_index(drop=True)


def _rows(path: Path, columns: list[str] | None = None) -> tuple[str, Table, pd.DataFrame]:
    """Return the corpus, its table, and subject, text, area (from 1) and label per row."""
    there = header(path).rstrip("\r\n").split("\t")
    corpus = next((name for name, layout in _LAYOUTS.items() if layout.text in there), None)
    if corpus is None:
        decode(path, content(path), "utf-8")  # raises for another encoding
        names = ", ".join(layout.text for layout in _LAYOUTS.values())
        raise InputError(
            f"{path} is no tab-separated report by interest area of CELER, RastrOS or RSC: it has no "
            f"column of {names}; it has: {', '.join(there[:20])}"
        )
    layout = _LAYOUTS[corpus]
    names = dict.fromkeys([layout.subject, layout.text, layout.area, layout.label, *layout.further])
    table = read(path, [*names, *(columns or [])])
    table = table.once([layout.subject, *dict.fromkeys([layout.text, layout.area])], drop=True)
    frame = pd.DataFrame({"subject": table[layout.subject].str.removesuffix(".edf")})
    if corpus == "rastros":
        parts = table[layout.text].str.extract(r"^UID_(\d+)_(\d+)$")
        if (wrong := parts.isna().any(axis=1)).any():
            line = wrong.index[wrong][0]
            table.fail(
                line, f"{layout.text} is {table[layout.text][line]!r}, expected UID_text_word"
            )
        frame["text"], frame["area"] = parts[0], parts[1].astype("int64")
        frame["label"] = [
            _with_commas(*pair) for pair in zip(table[layout.label], table["Word"], strict=True)
        ]
    else:
        frame["text"] = table[layout.text]
        frame["area"] = table.numbers(layout.area, integer=True, minimum=1)
        frame["label"] = table[layout.label]
    frame["shared_text"] = table.numbers("shared_text") == 1 if corpus == "celer" else True
    keys = ["text"] if corpus == "rsc" else ["text", "area"]
    differs = frame.label != frame.groupby(keys).label.transform("first")
    if differs.any():
        line = differs.index[differs][0]
        table.fail(
            line,
            f"{layout.label} is {frame.label[line]!r}, before it was another of the same "
            f"{'text' if corpus == 'rsc' else 'word'} ({differs.sum():,} such rows)",
        )
    return corpus, table, frame


def _areas(corpus: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return text, area, label and size (words) of the areas of all texts, in order."""
    if corpus == "rsc":
        areas = frame.drop_duplicates("text")[["text", "label", "shared_text"]]
        areas = areas.assign(label=areas.label.str.split()).explode("label")
        areas["area"] = areas.groupby("text", sort=False).cumcount() + 1
        last = areas.groupby("text").area.max().reindex(frame.text).to_numpy()
        if (beyond := frame.area.to_numpy() > last).any():
            at = frame[beyond].iloc[0]
            raise InputError(
                f"word {at.area} of the sentence {at.text} is asked for, which has fewer words; the "
                "report's item.text and word.serial.no are of different versions"
            )
    else:
        areas = frame.drop_duplicates(["text", "area"]).drop(columns="subject")
    areas = areas.assign(name=padded(areas.text)).sort_values(["name", "area"], kind="stable")
    areas = areas.assign(size=areas.label.str.count(_NO_BREAK) + 1).reset_index(drop=True)
    gap = areas.area != areas.groupby("text").cumcount() + 1
    if gap.any():
        at = areas[gap].iloc[0]
        raise InputError(f"text {at.text} has no word before its word {at.area} in the report")
    return areas


def _words(corpus: str, areas: pd.DataFrame) -> pd.DataFrame:
    """Build contract 1 from areas; each text of CELER and RSC is a sentence."""
    split = areas.assign(label=areas.label.str.split(_NO_BREAK)).explode("label")
    if corpus == "rastros":
        sentences = sentence_numbers(split.label.tolist(), split.name.tolist())
    else:
        sentences = (split.name != split.name.shift()).cumsum()
    words_read = word_table(split.name.to_numpy(), sentences, split.label.to_numpy())
    return words_read.assign(shared_text=split.shared_text.to_numpy(dtype=bool))


def _with_commas(label: str, word: str) -> str:
    """Return a label of RastrOS with the commas that its release has as full stops."""
    label, word = (_without_controls(text) for text in (label, word))
    if len(label) == len(word) and word.replace(",", ".").casefold() == label.casefold():
        return "".join("," if w == "," else c for c, w in zip(label, word, strict=True))
    return label


def _without_controls(text: str) -> str:
    """Restore Windows characters at 0x80 to 0x9F, which the export garbled."""
    return "".join(
        bytes([ord(c)]).decode("cp1252", "ignore") if 0x80 <= ord(c) <= 0x9F else c for c in text
    ).strip(" ")


def _native(path: Path, table: Table) -> pd.Series:
    """Return the first language of each row's reader, by the reader's list."""
    readers = read(path, ["List", "L1"]).once(["List"])
    languages = pd.Series(readers["L1"].to_numpy(), index=readers["List"].to_numpy())
    native = table["list"].map(languages)
    if (lost := native.isna()).any():
        raise InputError(f"{path}: no row has the List {table['list'][lost].iloc[0]}")
    return native
