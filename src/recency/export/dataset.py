"""A dataset of a study as a folder for others: two tables, what their columns are, R code, a README."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from recency.export import columns, lme4
from recency.export.dataset_tables import for_csv, response_table, word_table
from recency.regression.prediction import read_fit

README = """\
# {label}

Reading data of the study *{study}* with what its language models expect, made by recency.

| file | what |
|---|---|
| `words.parquet`, `words.csv` | {words:,} words: the dataset's own ids and columns, predictors, and all that {lms} language models give of each |
| `responses.parquet`, `responses.csv` | {responses:,} responses ({measures}), those that filters drop too, each with its partition |
| `columns.csv` | each column's name, unit, what it is, and of which language model |
| `{dataset}.R` | the tables joined, and one of the study's fits in lme4 |

`word_id` joins the tables. An empty field of a CSV is a missing value; a word may be spelled NA, so read them with
`na.strings = ""` (R) or `keep_default_na=False, na_values=[""]` (pandas). `partition` is empty where a filter dropped a
response, which `dropped_by` names. {partitions}

## Language models

{models}

## Rights

{rights}
"""
PARTED = "The study fits `fit`, compares on `exploratory`, and reads `held_out` for its tests alone: keep it so."
WHOLE = "This dataset is not parted: all that the filters keep is `fit`."


def main(
    words: str | Path,
    responses: Sequence[str | Path],
    out: str | Path,
    *,
    dataset: str,
    lms: Sequence[str],
    measures: Sequence[Mapping],
    fit: Mapping | None,
    about: Mapping,
    unigram: str | Path | None = None,
    surprisal: Sequence[str | Path] = (),
    scored: Sequence[str | Path] = (),
    record: str | Path | None = None,
) -> None:
    """Write the folder `out`.

    `surprisal` is of `lms`, one by one; `responses` are of `measures` (see tables.response_table).
    Words without a surprisal of `scored` are those that filters know of. `fit` is what the R code
    fits, if anything (see lme4.script), and `record` that fit's JSON. `about` has label, study, licence, cite, placed (whether its
    user had to place a file of it), partitioned, and `lms`: LM → what it is.
    """
    table, origins = word_table(words, unigram, dict(zip(lms, surprisal, strict=True)))
    dataset_words = pd.read_parquet(words)
    parts = [
        response_table(dataset_words, measure, path, scored)
        for measure, path in zip(measures, responses, strict=True)
    ]
    tables = {"words": table, "responses": pd.concat(parts, ignore_index=True)}
    text = README.format(
        dataset=dataset,
        label=about["label"],
        study=about["study"],
        words=len(table),
        responses=len(tables["responses"]),
        lms=len(lms),
        measures=", ".join(measure["measure"] for measure in measures),
        partitions=PARTED if about["partitioned"] else WHOLE,
        models="\n".join(f"- {lm}: {what}" for lm, what in about["lms"].items()) or "None.",
        rights=rights(about),
    )
    there = {name for frame in tables.values() for name in frame}
    fitted = read_fit(record) if record else None
    code = lme4.script(dataset, about["label"], about["study"], lms, there, fit, fitted)
    out = Path(out)
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    temporary.mkdir(parents=True)
    try:
        for name, frame in tables.items():
            frame.to_parquet(temporary / f"{name}.parquet", compression="zstd", index=False)
            for_csv(frame).to_csv(temporary / f"{name}.csv", index=False, lineterminator="\n")
        listed = columns.described(tables, origins, measures)
        listed.to_csv(temporary / "columns.csv", index=False, lineterminator="\n")
        (temporary / f"{dataset}.R").write_text(code, encoding="utf-8")
        (temporary / "README.md").write_text(text, encoding="utf-8")
        shutil.rmtree(out, ignore_errors=True)
        os.replace(temporary, out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def rights(about: Mapping) -> str:
    """Say what may be passed on: words and responses are the corpus's, not the study's."""
    licence, cite = about.get("licence"), about.get("cite")
    stated = licence and not licence.lower().startswith("none stated")
    lines = ["Words, responses and their columns are the dataset's."]
    lines.append(f"Its licence: {licence}." if licence else "The config states no licence of it.")
    if about["placed"]:
        lines.append(
            "Its files were placed by whoever ran the study and are not public here: do not pass "
            "`words` and `responses` on without its authors' leave."
        )
    elif not stated:
        lines.append("Ask its authors before you pass `words` and `responses` on.")
    else:
        lines.append("Pass `words` and `responses` on under its terms alone.")
    lines.append(f"Cite {cite}." if cite else "")
    lines.append(
        "What language models give of a word is the study's, or of whoever made the checkpoint or the "
        "table that it is from; keyed by `word_id` alone, it holds nothing of the dataset's."
    )
    return " ".join(filter(None, lines))
