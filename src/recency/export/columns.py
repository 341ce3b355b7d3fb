"""Descriptions of the columns of exported tables: name, unit and meaning."""

import re
from collections.abc import Mapping, Sequence

import pandas as pd

#: Column → unit, meaning.
KNOWN = {
    "item": ("", "text within which context runs"),
    "sentence": ("", "number of the sentence in the dataset"),
    "sentence_label": ("", "the sentence's name in the dataset's own files"),
    "position": ("", "position of the word in its sentence, from 1"),
    "word_id": ("", "number of the word in the dataset, from 0; joins the two tables"),
    "word": ("", "word as displayed"),
    "space_after": ("", "whether a space follows the word"),
    "length": ("characters", "length of the word as displayed"),
    "previous_length": ("characters", "length of the previous word in its item; 0 for the first"),
    "unigram_bits": ("bits", "surprisal under the study's unigram model"),
    "previous_unigram_bits": ("bits", "unigram surprisal of the previous word; 0 for the first"),
    "measure": ("", "reading measure of this row"),
    "subject": ("", "who read"),
    "time_ms": ("ms", "reading time"),
    "amplitude_uv": ("µV", "amplitude of an event-related potential"),
    "response": ("", "response without a unit, such as a rating"),
    "event": ("", "1 where the event happened, 0 where it did not"),
    "span": ("words", "number of words covered by the response, from word_id on"),
    "previous_fixated": ("", "whether the previous word was fixated"),
    "fixated": ("", "whether the word was fixated"),
    "words_since_fixation": ("words", "words since the last fixated one"),
    "dropped_by": ("", "first filter that drops the response; empty if none does"),
    "partition": ("", "fit, exploratory or held_out; empty if a filter drops the response"),
}
#: Column of an LM → unit, meaning.
OF_LM = {
    "surprisal_bits": ("bits", "surprisal of the word"),
    "corrected_bits": ("bits", "surprisal, corrected for the space after the word"),
    "previous_surprisal_bits": ("bits", "surprisal of the previous word in its item; 0 if none"),
    "previous_corrected_bits": ("bits", "corrected surprisal of the previous word; 0 if none"),
    "tokens": ("tokens", "number of tokens of the word"),
    "context_tokens": ("tokens", "number of tokens of context"),
}


def described(
    tables: Mapping[str, pd.DataFrame],
    origins: Mapping[str, tuple[str, str]],
    measures: Sequence[Mapping],
) -> pd.DataFrame:
    """Return a row per column of each table: table, name, unit, what, lm.

    `origins` maps columns of words (or measures) to their LM and their name in the LM's file.
    """
    rows = []
    for table, frame in tables.items():
        for name in frame:
            lm, column = origins.get(name, ("", name)) if table != "responses" else ("", name)
            unit, what = _of_lm(column) if lm else KNOWN.get(name, _of_dataset(name))
            rows.append((table, name, unit, what, lm))
    filters = {s["name"]: s["keep"] for measure in measures for s in measure["filters"]}
    if filters:
        listed = "; ".join(f"{name}: {keep}" for name, keep in filters.items())
        rows = [
            (*row[:3], f"{row[3]} ({listed})", row[4]) if row[1] == "dropped_by" else row
            for row in rows
        ]
    return pd.DataFrame(rows, columns=["table", "name", "unit", "what", "lm"])


def _of_lm(column: str) -> tuple[str, str]:
    """Return unit and meaning of a column of an LM's file."""
    if column in OF_LM:
        return OF_LM[column]
    if context := re.fullmatch(r"surprisal_context_(\d+)_bits", column):
        return "bits", f"surprisal given only the {context[1]} preceding words"
    name, bits, power = re.fullmatch(r"(.*?)(?:_(bits)(2?))?", column).groups(default="")
    return bits + power.replace("2", "²"), name.replace("_", " ")


def _of_dataset(name: str) -> tuple[str, str]:
    """Return unit and meaning of a dataset's own column, by the suffix that names its unit."""
    units = {"ms": "ms", "bits": "bits", "uv": "µV"}
    return units.get(name.rpartition("_")[2], ""), "column of the dataset"
