"""R code that fits one of a study's regressions to exported tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from recency.errors import InputError
from recency.export.tables import short_names
from recency.mixed import formula as formulas
from recency.mixed.formula import Formula
from recency.regression.designs import SURPRISAL
from recency.regression.names import GROUPS

ENGINES = ("cross_products", "lme4")
#: A predictor of the workflow's formulas → its column in the table of words.
RENAMED = {"unigram": "unigram_bits", "previous_unigram": "previous_unigram_bits"}

HEADER = """\
# {label}, as the study {study} has it. Run here: Rscript {dataset}.R
# Needs lme4. What the columns are, columns.csv says; words.csv and responses.csv join by word_id.
words <- read.csv("words.csv", na.strings = "", encoding = "UTF-8")
responses <- read.csv("responses.csv", na.strings = "", encoding = "UTF-8")
"""
CALL = """
# One of the study's fits: {where}
# Its predictors are centred and scaled by mean and standard deviation (n - 1) of the rows that are
# fitted, as below, so that an effect is ms (or µV) per standard deviation; the intercept is at the
# mean of all predictors. It is fitted by maximum likelihood, not by REML.
data <- subset(responses, measure == "{measure}" & partition == "fit")
data <- merge(data, words[c("word_id", setdiff(names(words), names(responses)))], by = "word_id")
{columns}for (name in c({predictors})) data[[name]] <- as.numeric(scale(as.numeric(data[[name]])))
library(lme4)
model <- lmer(
  {formula},
  data = data, REML = FALSE,
  control = lmerControl(optCtrl = list(xtol_abs = 1e-10, ftol_abs = 1e-10))
)
print(summary(model), correlation = FALSE)
"""
NONE = """
# None of the study's fits can be written as a call of lmer() to these tables: they are no linear
# mixed models of these columns as they are. The rows of any fit are a target of the workflow, such
# as results/<study>/<scale>/regression/<design>/<dataset>.<measure>/<lm>.full.data.csv.
"""


def script(
    dataset: str,
    label: str,
    study: str,
    fits: Iterable[Mapping],
    words: pd.DataFrame,
    responses: pd.DataFrame,
    lms: Sequence[str],
) -> str:
    """Return R code that reads the tables and fits the first of `fits` that they have all columns of.

    A fit has design (its settings), lm, measure and file.
    """
    text = HEADER.format(dataset=dataset, label=label, study=study)
    for fit in fits:
        there = {*words, *responses}
        if (formula := plain_formula(fit["design"])) is None or "span" in there:
            continue
        columns = columns_of(formula, fit, short_names(lms))
        if all(column in there for column in columns.values()):
            return text + _call(formula, columns, fit)
    return text + NONE


def plain_formula(design: Mapping) -> Formula | None:
    """Return the formula of a linear mixed model whose predictors are columns as they are, else None."""
    family, spillover = design.get("family", "gaussian"), design.get("spillover", "item")
    if design["engine"] not in ENGINES or family != "gaussian" or spillover != "item":
        return None
    try:
        formula = formulas.parse(design["formula"])
    except InputError:
        return None
    named = all(name.isidentifier() for name in formula.predictors)
    return formula if named and set(formula.groups) <= set(GROUPS) else None


def columns_of(formula: Formula, fit: Mapping, short: Mapping[str, str]) -> dict[str, str]:
    """Return predictor of the formula → column of the tables."""
    surprisal = f"{SURPRISAL[fit['design']['surprisal']]}_{short.get(fit['lm'], '')}"
    known = RENAMED | {"surprisal": surprisal, "previous_surprisal": f"previous_{surprisal}"}
    return {name: known.get(name, name) for name in formula.predictors}


def _call(formula: Formula, columns: Mapping[str, str], fit: Mapping) -> str:
    renamed = {name: column for name, column in columns.items() if name != column}
    lines = [f"data${name} <- data${column}\n" for name, column in renamed.items()]
    if fit["design"]["response"] == "log":
        lines.append(f"data${formula.response} <- log(data${formula.response})\n")
    return CALL.format(
        where=fit["file"],
        measure=fit["measure"],
        columns="".join(lines),
        predictors=", ".join(f'"{name}"' for name in columns),
        formula=str(formula),
    )
