"""Export a dataset of a study as a folder: tables, column descriptions, R code, a README.

Words, responses and R code, which needs them, are in it only if `texts_and_times` asks for them;
otherwise its table has the measures of LMs by word_id.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from recency.export import columns, lme4, shareable
from recency.export.dataset_tables import for_csv, response_table, word_table
from recency.regression.prediction import read_fit

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
    dataset_tables.response_table). Words without a surprisal of `scored` are known to the filters.
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
        described = columns.described(measured, origins, [])
        _write(out, measured, described, {"README.md": shared})
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
    listed = columns.described(tables, origins, measures)
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
