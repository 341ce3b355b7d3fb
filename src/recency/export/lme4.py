"""R code that fits a study's models to exported tables, or to the rows of a fit."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from crosslmm import families
from crosslmm import formula as formulas
from crosslmm.formula import Formula
from recency.errors import REFUSALS
from recency.regression.designs import SURPRISAL
from recency.regression.predictor_names import PREDICTORS


def short_names(lms: Iterable[str]) -> dict[str, str]:
    """Return LM → a unique name of letters, digits and `_`, valid in R and Python."""
    names: dict[str, str] = {}
    for lm in lms:
        plain = name = re.sub(r"\W", "_", lm)
        number = 2
        while name in names.values():
            name, number = f"{plain}_{number}", number + 1
        names[lm] = name
    return names


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
if (length(models) > 0) print(data.frame(
  fit = names(models), loglik = sapply(models, logLik) + unlist(jacobians[names(models)]),
  workflow = unlist(workflow[names(models)])
), digits = 12, row.names = FALSE)
# One of them: print(summary(models[[1]]), correlation = FALSE)
"""
WORKFLOW = """
# Log-likelihoods by the workflow, and by how much one in the response's unit exceeds that of its logarithm.
workflow <- list({logliks})
jacobians <- setNames(rep(list(0), length(workflow)), names(workflow))
"""
OTHERS = """
# Fits that the tables alone do not give. Each has its rows in a file, which the workflow writes on request;
# predictors in it are centred and scaled already. Fits without their file are left out.
read_rows <- function(file, target) {
  if (file.exists(file)) return(read.csv(file, na.strings = "", encoding = "UTF-8", check.names = FALSE))
  message("left out: ", file, " is missing; the study's ./run ", target, " writes it")
}
"""
OTHER = """
# {where}: {what}
data <- read_rows("{file}", "{target}")
if (!is.null(data)) {{
  models[["{where}"]] <- {call}{jacobian}
}}
"""
DENSITY = """
# {where}: {what}, which lme4 does not fit. Its rows: ./run {target}
# In Python: crosslmm.lmer({formula!r}, pandas.read_csv({file!r}, keep_default_na=False, na_values=[""]), family={family!r}{link})
"""
SCALE = """
# {where}: {what}, which lme4 does not fit. Its rows: ./run {target}
# By brms, with its priors: brm(bf({formula}, sigma {scale}), data = read.csv("{file}", check.names = FALSE), family = {family}())
"""
NONE = """
# None of the study's experiments fits a model of this dataset.
"""


def script(
    dataset: str,
    label: str,
    study: str,
    lms: Sequence[str],
    there: Collection[str],
    fits: Sequence[Mapping] = (),
    records: Sequence[Mapping] = (),
    results: str = "<results>",
) -> str:
    """Return R code that reads the tables, and fits the study's models to them.

    Linear mixed models of exported columns are fitted to the tables; other models to their rows, a
    file of the folder `results`. Models that lme4 does not fit have a call of Python or brms.

    Each of `fits` has design (its settings, with a formula for plain_formula()), lm, measure and file;
    `records` are these files' contents. `there` are the columns of both tables, `lms` the exported LMs.
    """
    text = HEADER.format(dataset=dataset, label=label, study=study)
    calls, others, logliks = [], [], []
    for fit, record in zip(fits, records, strict=True):
        if record["loglik"].get("fit") is None:
            continue
        logliks.append(f'"{fit["file"]}" = {record["loglik"]["fit"]!r}')
        formula = plain_formula(fit["design"])
        of_tables = formula and set(formula.groups) <= set(there) and "span" not in there
        if formula and of_tables and record.get("theta"):
            calls.append(_call(formula, fit, record, lms))
        else:
            others.append(_write_call_on_rows(fit, record, results))
    if not logliks:
        return text + NONE
    if others:
        others.insert(0, OTHERS)
    return "".join([text, ABOUT, WORKFLOW.format(logliks=", ".join(logliks)), *calls, *others, END])


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


def _write_call_on_rows(fit: Mapping, record: Mapping, results: str) -> str:
    """Return the code of a fit to its own rows: in R, or a comment with a call of Python or brms."""
    where, design, family = fit["file"], fit["design"], families.of(record)
    rows = where.removesuffix(".json") + ".data.csv"
    about = {"where": where, "file": f"../../{rows}", "target": f"{results}/{rows}"}
    response, _, terms = record["formula"].partition(" ~ ")
    if record["response"] == "log":
        response = f"log_{response}"
    elif "shift" in record:
        response = f"log({response} - {record['shift']!r})"
    about["formula"] = f"{response} ~ {terms}"
    if "sigma" in design:
        family = families.GAUSSIAN if family in families.LINEAR else family
        what = "a model with a formula of sigma"
        return SCALE.format(**about, what=what, scale=design["sigma"], family=family)
    if "density" in record and family != families.BINOMIAL:
        link = f", link={record['density']['link']!r}" if families.links(family) else ""
        return DENSITY.format(**about, what=f"family {family}", family=family, link=link)
    jacobian = ""
    if family in (families.LOGNORMAL, families.SHIFTED):
        jacobian = f'\n  jacobians[["{where}"]] <- -sum(with(data, {response}))'
    what, call = _write_r_call(about["formula"], design, record)
    return OTHER.format(**about, what=what, call=call, jacobian=jacobian)


def _write_r_call(formula: str, design: Mapping, record: Mapping) -> tuple[str, str]:
    """Return what a model of `data` is, and its call in R."""
    family = families.of(record)
    if design["engine"] == "ols":
        return "least squares on means over subjects", f"lm({formula}, data = data)"
    if family == families.BINOMIAL:
        return "a logistic mixed model", (
            f"glmer(\n    {formula},\n    data = data, family = binomial, "
            'control = glmerControl(optimizer = "bobyqa")\n  )'
        )
    theta = ", ".join(map(repr, record["theta"]))
    return f"a linear mixed model, family {family}", (
        f"lmer(\n    {formula},\n    data = data, REML = FALSE, start = c({theta}),\n"
        "    control = lmerControl(optimizer = NULL, calc.derivs = FALSE)\n  )"
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
