"""De Varda, Marelli & Amenta (2024): mean reading times and ERPs of 205 sentences of UCL.

all_measures.csv, one row per word except the first of each sentence: sentence, context_length (the
word's position from 0), word, sent_id, and the measures, means over readers: reading times in ms
(Frank et al., 2013; words that a reader did not fixate count as 0) and amplitudes in microvolts
(Frank et al., 2015). The subject is `mean`.

Responses to ERP components have `amplitude_uv` instead of `time_ms`, possibly negative.
"""

from pathlib import Path

import pandas as pd

from readingtimes.contracts import look_up, single_sentences
from readingtimes.errors import InputError
from readingtimes.strict_tables import Table, only, read

_TIMES = {
    "FFD": "RTfirstfix",
    "GD": "RTfirstpass",
    "RB": "RTrightbound",
    "GP": "RTgopast",
    "SPR": "self_paced_reading_time",
}
AMPLITUDES = ("ELAN", "LAN", "N400", "EPNP", "P600", "PNP")
MEASURES = ("FFD", "GD", "RB", "GP", "SPR", "ELAN", "LAN", "N400", "EPNP", "P600", "PNP")
COLUMNS = {}


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the sentences, one item each, including first words, which have no responses."""
    _, frame = _rows(only(files, "words of devarda2024"))
    sentences = frame.drop_duplicates("sent_id").set_index("sent_id").sentence
    return single_sentences(sentences.sort_index())


def responses(files: dict[str, Path], words: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Read `measure`: FFD, GD, RB, GP, SPR in ms, or an ERP component in microvolts."""
    path = only(files, "responses of devarda2024")
    column = _TIMES.get(measure, measure)
    table, frame = _rows(path, [column])
    matched = look_up(words, ("sentence", "position"), frame.sent_id, frame.place + 1)
    if (wrong := matched.word.to_numpy() != frame.word.to_numpy()).any():
        line = frame.index[wrong][0]
        raise InputError(
            f"{path}, line {line}: {frame.word[line]!r} is not in the words; they were read from "
            "another file"
        )
    out = pd.DataFrame({"subject": "mean", "word_id": matched.word_id.astype("int32")})
    if measure in AMPLITUDES:
        out["amplitude_uv"] = table.numbers(column, minimum=None)
    else:
        out["time_ms"] = table.numbers(column)
    return out.sort_values("word_id").reset_index(drop=True)


def _rows(path: Path, columns: list[str] | None = None) -> tuple[Table, pd.DataFrame]:
    """Read sent_id, sentence, place (from 0) and word, each word found at its place."""
    keys = ["sent_id", "context_length"]
    table = read(path, [*keys, "sentence", "word", *(columns or [])], separator=None).once(keys)
    frame = pd.DataFrame({"sent_id": table.numbers("sent_id", integer=True)})
    frame["place"] = table.numbers("context_length", integer=True)
    frame["sentence"], frame["word"] = table["sentence"], table["word"]
    other = frame.sentence != frame.groupby("sent_id").sentence.transform("first")
    split = frame.sentence.str.split()
    at = [w[p] if p < len(w) else None for w, p in zip(split, frame.place, strict=True)]
    for wrong, problem in (
        (other, "the sentence is another than above"),
        (pd.Series(at, frame.index) != frame.word, "the word is not at its place in the sentence"),
    ):
        if wrong.any():
            line = frame.index[wrong][0]
            table.fail(line, f"sentence {frame.sent_id[line]}: {problem} ({wrong.sum():,} rows)")
    return table, frame
