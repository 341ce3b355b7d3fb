"""R code that fits a study's linear mixed models to exported tables."""

from collections.abc import Collection, Mapping, Sequence

from crosslmm import formula as formulas
from crosslmm.formula import Formula
from recency.errors import REFUSALS
from recency.export.column_names import short_names
from recency.regression.designs import SURPRISAL
from recency.regression.predictor_names import PREDICTORS

ENGINES = ("cross_products", "lme4")
#: Predictor of the workflow's formulas → its column in the table of words.
RENAMED = {"unigram": "unigram_bits", "previous_unigram": "previous_unigram_bits"}

HEADER = """\
# {label}, as exported from the study {study}. Run in this folder: Rscript {dataset}.R
# Needs lme4. columns.csv describes the columns; words.csv and responses.csv join by word_id.
words <- read.csv("words.csv", na.strings = "", encoding = "UTF-8")
responses <- read.csv("responses.csv", na.strings = "", encoding = "UTF-8")
"""
ABOUT = """
# The study's fits of this dataset. Predictors are centred and scaled by mean and standard deviation
# (n - 1) of the fitted rows, so that effects are per standard deviation, in the response's unit, and the
# intercept is at the mean of all predictors. They use maximum likelihood, not REML. lme4 evaluates its own
# deviance at the theta that the workflow estimated. To make it search, which may end slightly below that
# optimum, remove `start` and write optimizer = "bobyqa".
library(lme4)
models <- list()
"""
CALL = """
# {where}
data <- subset(responses, measure == "{measure}" & partition == "fit")
data <- merge(data, words[c("word_id", setdiff(names(words), names(responses)))], by = "word_id")
{columns}for (name in c({predictors})) {{
  data[[name]] <- as.numeric(scale(as.numeric(data[[name]])))
}}
models[["{where}"]] <- lmer(
  {formula},
  data = data, REML = FALSE,
  start = c({theta}),
  control = lmerControl(optimizer = NULL, calc.derivs = FALSE)
)
# Effects by the workflow: {effects}
# By brms: brm({formula}, data = data, family = gaussian())
"""
END = """
print(data.frame(
  fit = names(models), loglik = sapply(models, logLik), workflow = c({logliks})
), digits = 12, row.names = FALSE)
# One of them: print(summary(models[[1]]), correlation = FALSE)
"""
NONE = """
# None of the study's fits can be written as a call of lmer() with these tables: they are not linear
# mixed models of these columns. The rows of any fit are a target of the workflow, such
# as results/<study>/<scale>/regression/<design>/<dataset>.<measure>/<lm>.full.data.csv.
"""


def script(
    dataset: str,
    label: str,
    study: str,
    lms: Sequence[str],
    there: Collection[str],
    fits: Sequence[Mapping] = (),
    records: Sequence[Mapping] = (),
) -> str:
    """Return R code that reads the tables, and fits the study's linear mixed models to them.

    Each of `fits` has design (its settings, with a formula for plain_formula()), lm, measure and file;
    `records` are these files' contents. `there` are the columns of both tables, `lms` the exported LMs.
    """
    text = HEADER.format(dataset=dataset, label=label, study=study)
    calls, logliks = [], []
    for fit, record in zip(fits, records, strict=True):
        formula = plain_formula(fit["design"])
        if formula is None or not record.get("theta") or not set(formula.groups) <= set(there):
            continue
        calls.append(_call(formula, fit, record, lms))
        logliks.append(repr(record["loglik"]["fit"]))
    if not calls or "span" in there:
        return text + NONE
    return text + ABOUT + "".join(calls) + END.format(logliks=", ".join(logliks))


def _call(formula: Formula, fit: Mapping, record: Mapping, lms: Sequence[str]) -> str:
    """Return the R code of one fit."""
    columns = _columns(formula, fit, short_names(lms))
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
        theta=", ".join(map(repr, record["theta"])),
        effects=", ".join(f"{effect['term']} {effect['estimate']!r}" for effect in record["fixed"]),
    )


def plain_formula(design: Mapping) -> Formula | None:
    """Return a design's formula if it is a linear mixed model of exported columns, else None.

    Grouping factors may be any columns of the tables, which `script` looks up.
    """
    family, spillover = design.get("family", "gaussian"), design.get("spillover", "item")
    if design["engine"] not in ENGINES or family != "gaussian" or spillover != "item":
        return None
    try:
        formula = formulas.parse(design["formula"])
    except REFUSALS:
        return None
    is_nested = any(":" in term.group for term in formula.random)
    return formula if set(formula.predictors) <= set(PREDICTORS) and not is_nested else None


def _columns(formula: Formula, fit: Mapping, short: Mapping[str, str]) -> dict[str, str]:
    """Return predictor of the formula → column of the tables."""
    surprisal = f"{SURPRISAL[fit['design']['surprisal']]}_{short[fit['lm']]}"
    renamed = RENAMED | {"surprisal": surprisal, "previous_surprisal": f"previous_{surprisal}"}
    return {name: renamed.get(name, name) for name in formula.predictors}
