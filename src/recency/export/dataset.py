"""Export a dataset of a study as a folder: two tables, column descriptions, R code, a README."""

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

Reading data of the study *{study}* with the predictions of its language models, exported by recency.

| file | contents |
|---|---|
| `words.parquet`, `words.csv` | {words:,} words: the dataset's ids and columns, predictors, and all measures of {lms} language models |
| `responses.parquet`, `responses.csv` | {responses:,} responses ({measures}), including filtered ones, each with its partition |
| `columns.csv` | name, unit, meaning and language model of each column |
| `{dataset}.R` | code that joins the tables and runs one of the study's fits in lme4 |

`word_id` joins the tables. An empty field of a CSV is a missing value; a word may be spelled NA, so read the files with
`na.strings = ""` (R) or `keep_default_na=False, na_values=[""]` (pandas). `partition` is empty if a filter dropped the
response; `dropped_by` names the filter. {partitions}

## Language models

{models}

## Rights

{rights}
"""
PARTED = "The study fits `fit`, compares models on `exploratory`, and uses `held_out` only for its tests: please do the same."
WHOLE = "This dataset is not partitioned: all responses that pass the filters are in `fit`."


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

    `surprisal` are the files of `lms`, in order; `responses` those of `measures` (see
    dataset_tables.response_table). Words without a surprisal of `scored` are known to the filters.
    `fit` is the fit for the R code, if any (see lme4.script), and `record` its JSON. `about` has
    label, study, licence, cite, supplied (whether a file had to be supplied by the user),
    partitioned, and `lms`: LM → description.
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
    lines.append(
        "Measures of language models belong to the study, or to the authors of the checkpoint or "
        "table; keyed only by `word_id`, they contain nothing of the dataset."
    )
    return " ".join(filter(None, lines))
