"""Export a dataset of a study as a folder: tables, column descriptions, R code, a README.

Words, responses and R code, which needs them, are in it only if `texts_and_times` asks for them;
otherwise its table has the measures of LMs by word_id.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import pandas as pd

from readingtimes.response_names import EVENT
from recency.errors import InputError
from recency.export import lme4, shareable
from recency.export.lme4 import short_names
from recency.reading.observations import events, filtered, joined, partition, since_unscored
from recency.regression.designs import SURPRISAL
from recency.regression.prediction import read_fit
from recency.regression.texts import is_by_reader, read_texts

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


def describe_columns(
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


IDS = ("item", "sentence", "position", "word_id")
WORD_ID = "word_id"
"""Columns of a surprisal file that are not measures of the LM."""


def word_table(
    words: str | PathLike,
    unigram: str | PathLike | None,
    surprisal: Mapping[str, str | PathLike],
) -> tuple[pd.DataFrame, dict[str, tuple[str, str]]]:
    """Return every word, one row each, and the origin of LMs' columns: name → (LM, column in its file).

    A row has the dataset's columns, length, unigram_bits, the values of the previous word, and all
    columns of each LM's file as <column>_<LM>, for surprisals also those of the previous word. A
    column of the dataset with the same name is renamed to <name>_own. Predictors are those of
    regressions, see recency.regression.predictors.
    """
    computed = {"length": "length", "unigram": "unigram_bits"}
    taken = [f"{before}{name}" for name in computed.values() for before in ("", "previous_")]
    frame = pd.read_parquet(words).rename(columns={name: f"{name}_own" for name in taken})
    texts = read_texts(words, unigram, None)
    for name, column in computed.items():
        if name in texts.predictors:
            frame[column] = texts.predictors[name]
            frame[f"previous_{column}"] = texts.predictors[f"previous_{name}"]
    frame = frame.astype({"length": "int64", "previous_length": "int64"})
    origins: dict[str, tuple[str, str]] = {}
    short = short_names(surprisal)
    for lm, path in surprisal.items():
        if is_by_reader(path):
            raise InputError(
                f"{path}: {lm} has a value per reader and word, and a table of words has one per word; "
                "export without this LM"
            )
        given = pd.read_parquet(path).set_index(WORD_ID)
        added = given.reindex(frame.word_id).set_axis(frame.index)
        for column in added:
            name = f"{column}_{short[lm]}"
            frame[name], origins[name] = added[column], (lm, column)
        for variant, column in SURPRISAL.items():
            if column in added and added[column].notna().any():
                of_lm = read_texts(words, None, path, variant, first_may_lack=True)
                name = f"previous_{column}_{short[lm]}"
                frame[name] = of_lm.predictors["previous_surprisal"]
                origins[name] = (lm, f"previous_{column}")
    return frame, origins


def response_table(
    words: pd.DataFrame,
    measure: Mapping,
    responses: str | PathLike,
    scored: Sequence[str | PathLike],
) -> pd.DataFrame:
    """Return every response of a measure, one row each, including filtered ones.

    `measure` has the keys measure, filters (name and keep, in order), event (a query or None) and
    partitioned. A row has measure, subject, the word's item, sentence, position and word_id, the
    response columns, and `dropped_by`, the first filter that drops it, or otherwise `partition`:
    fit, exploratory or held_out (only fit if a dataset is not partitioned).
    """
    texts = words.copy()
    if scored:
        texts["words_since_unscored"] = since_unscored(texts, scored)
    given = pd.read_parquet(responses)
    rest = joined(texts, given)
    columns = [name for name in given if name not in ("subject", *IDS)]
    columns += [] if "previous_fixated" in columns else ["previous_fixated"]
    frame = rest[["subject", *IDS, *columns]].copy()
    frame.insert(0, "measure", measure["measure"])
    frame["dropped_by"] = pd.Series(pd.NA, frame.index, dtype="string")
    for step in measure["filters"]:
        kept, _ = filtered(rest, [step])
        frame.loc[rest.index.difference(kept.index), "dropped_by"] = step["name"]
        rest = kept
    if measure["event"]:
        frame[EVENT] = events(rest, measure["event"], str(responses))
    parts = partition(rest) if measure["partitioned"] else "fit"
    frame["partition"] = pd.Series(parts, rest.index, dtype="string").reindex(frame.index)
    return frame


def for_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with truth values as TRUE and FALSE, which R and pandas both read."""
    names = {True: "TRUE", False: "FALSE"}
    flags = [name for name in frame if pd.api.types.is_bool_dtype(frame[name].dtype)]
    return frame.assign(**{name: frame[name].astype(object).map(names) for name in flags})


README = """\
# {label}

Reading data of the study *{study}* with the predictions of its language models, exported by recency.

| file | contents |
|---|---|
| `words.parquet`, `words.csv` | {words:,} words: the dataset's ids and columns, predictors, and all measures of {lms} language models |
| `responses.parquet`, `responses.csv` | {responses:,} responses ({measures}), including filtered ones, each with its partition |
| `columns.csv` | name, unit, meaning and language model of each column |
| `{dataset}.R` | code that joins the tables and fits the study's models |

`word_id` joins the tables. An empty field of a CSV is a missing value; a word may be spelled NA, so read the files with
`na.strings = ""` (R) or `keep_default_na=False, na_values=[""]` (pandas). `partition` is empty if a filter dropped the
response; `dropped_by` names the filter. {partitions}

## Language models

{models}

## Rights

{rights}
"""
SHARED = """\
# {label}

Predictions of the language models of the study *{study}* for a reading-time corpus, exported by recency
without the corpus: no texts, no responses, no readers ({option}).

| file | contents |
|---|---|
| `measures.parquet`, `measures.csv` | {words:,} words by `word_id`, their number in the dataset from 0: all measures of {lms} language models |
| `columns.csv` | name, unit, meaning and language model of each column |

## Language models

{models}

## Rights

{rights}
"""
PARTED = "The study fits `fit`, compares models on `exploratory`, and uses `held_out` only for its tests: please do the same."
MEASURES = (
    "Measures of language models belong to the study, or to the authors of the checkpoint or table; "
    "keyed only by `word_id`, they contain nothing of the dataset."
)
WHOLE = "This dataset is not partitioned: all responses that pass the filters are in `fit`."


def main(
    words: str | Path,
    responses: Sequence[str | Path],
    out: str | Path,
    *,
    dataset: str,
    lms: Sequence[str],
    measures: Sequence[Mapping],
    fits: Sequence[Mapping],
    about: Mapping,
    unigram: str | Path | None = None,
    surprisal: Sequence[str | Path] = (),
    scored: Sequence[str | Path] = (),
    records: Sequence[str | Path] = (),
    texts_and_times: bool = False,
) -> None:
    """Write the folder `out`, with words and responses if `texts_and_times`.

    `surprisal` are the files of `lms`, in order; `responses` those of `measures` (see
    response_table). Words without a surprisal of `scored` are known to the filters.
    `fits` are the fits for the R code (see lme4.script), and `records` their JSON files. `about` has
    label, study, licence, cite, supplied (whether a file had to be supplied by the user),
    partitioned, and `lms`: LM → description.
    """
    table, origins = word_table(words, unigram, dict(zip(lms, surprisal, strict=True)))
    texts = {
        "label": about["label"],
        "study": about["study"],
        "words": len(table),
        "lms": len(lms),
        "models": "\n".join(f"- {lm}: {what}" for lm, what in about["lms"].items()) or "None.",
    }
    if not texts_and_times:
        origins = {name: of for name, of in origins.items() if of[1] not in shareable.COLUMNS}
        measured = {"measures": table[["word_id", *origins]]}
        shared = SHARED.format(**texts, rights=MEASURES, option=shareable.OPTION)
        listed = describe_columns(measured, origins, [])
        _write(out, measured, listed, {"README.md": shared})
        return
    dataset_words = pd.read_parquet(words)
    parts = [
        response_table(dataset_words, measure, path, scored)
        for measure, path in zip(measures, responses, strict=True)
    ]
    tables = {"words": table, "responses": pd.concat(parts, ignore_index=True)}
    text = README.format(
        **texts,
        dataset=dataset,
        responses=len(tables["responses"]),
        measures=", ".join(measure["measure"] for measure in measures),
        partitions=PARTED if about["partitioned"] else WHOLE,
        rights=rights(about),
    )
    there = {name for frame in tables.values() for name in frame}
    contents = [read_fit(record) for record in records]
    results = str(Path(out).parent.parent)
    code = lme4.script(dataset, about["label"], about["study"], lms, there, fits, contents, results)
    listed = describe_columns(tables, origins, measures)
    _write(out, tables, listed, {f"{dataset}.R": code, "README.md": text})


def _write(
    out: str | Path,
    tables: Mapping[str, pd.DataFrame],
    listed: pd.DataFrame,
    texts: Mapping[str, str],
) -> None:
    """Write tables, the list of their columns, and texts by file name, to the folder `out`."""
    out = Path(out)
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    temporary.mkdir(parents=True)
    try:
        for name, frame in tables.items():
            frame.to_parquet(temporary / f"{name}.parquet", compression="zstd", index=False)
            for_csv(frame).to_csv(temporary / f"{name}.csv", index=False, lineterminator="\n")
        listed.to_csv(temporary / "columns.csv", index=False, lineterminator="\n")
        for name, text in texts.items():
            (temporary / name).write_text(text, encoding="utf-8")
        shutil.rmtree(out, ignore_errors=True)
        os.replace(temporary, out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def rights(about: Mapping) -> str:
    """Return note on redistribution: words and responses belong to the corpus, not to the study."""
    licence, cite = about.get("licence"), about.get("cite")
    stated = licence and not licence.lower().startswith("none stated")
    lines = ["Words, responses and their columns belong to the dataset."]
    lines.append(f"Its licence: {licence}." if licence else "The config states no licence for it.")
    if about["supplied"]:
        lines.append(
            "Its files were supplied by the user who ran the study and are not public here: do not redistribute "
            "`words` and `responses` without its authors' permission."
        )
    elif not stated:
        lines.append("Ask its authors before you redistribute `words` and `responses`.")
    else:
        lines.append("Redistribute `words` and `responses` only under its terms.")
    lines.append(f"Cite {cite}." if cite else "")
    lines.append(MEASURES)
    return " ".join(filter(None, lines))
