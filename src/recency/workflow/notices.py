"""Notes on the interpretation of results, printed at the start of a run."""

from collections.abc import Mapping

from recency import config as configuration
from recency.mixed.formula import factors as split_term
from recency.regression import designs
from recency.regression import predictor_names as names

#: Measures of the next token that could be mistaken for measures of the next word.
OF_TOKENS = ("entropy", "entropy_reduction")


def lines(config: Mapping) -> list[str]:
    """Return the notes on a study, with the selected experiments under `run`."""
    return [*of_predictors(config), *of_baselines(config)]


def of_predictors(config: Mapping) -> list[str]:
    """Return a line if designs of this run have the entropy of the next token as a predictor.

    Parameters
    ----------
    config : mapping
        The study, with the selected experiments under `run`.
    """
    using: dict[str, None] = {}
    for experiment in config["run"]:
        lms = config["experiments"][experiment].get("lms", ())
        entries = [configuration.language_model(config, lm) for lm in lms if lm in config["lms"]]
        given = {measure for entry in entries for measure in entry.get("measures") or ()}
        for response in configuration.responses(config, experiment):
            formula = designs.read(config["designs"][response["design"]])
            stems = {names.measure_of(names.split(used).stem) for used in names.used(formula)}
            if stems & given & {*OF_TOKENS}:
                using[response["design"]] = None
    if not using:
        return []
    line = (
        f"{_designs(using)}: `entropy` is of the next token, the first of a word; the measure "
        "`word_entropy` is of the next word, and the two predict reading times differently (Clark, "
        "Oh & Schuler 2025; docs/surprisal.md)"
    )
    return [line]


def of_baselines(config: Mapping) -> list[str]:
    """Return a line if a baseline lacks measures that `of_interest` does not name.

    With `base: all`, it lacks all columns of the LM: for `of_interest: [entropy]`, surprisal too.
    """
    using: dict[str, None] = {}
    lacking: dict[str, None] = {}
    for experiment in config["run"]:
        for response in configuration.responses(config, experiment):
            design = config["designs"][response["design"]]
            if designs.bases(design)[0] != "all":
                continue
            formula = designs.read(design)
            interest = [designs.term_of(text) for text in design["of_interest"]]
            factors = [factor for term in interest for factor in split_term(term)]
            named = {_measure(name) for factor in factors for name in names.variables(factor)}
            of_lm = {_measure(name) for name in names.lm_columns(formula, {})}
            if others := of_lm - named:
                using[response["design"]] = None
                lacking |= dict.fromkeys(sorted(others))
    if not using:
        return []
    line = (
        f"{_designs(using)}: with `base: all`, the baseline model also lacks {', '.join(lacking)}, which "
        "`of_interest` does not name, so that ΔLogLik includes its effect. To keep it, write "
        f"`{next(iter(lacking))}[<lm>]` in the formula (docs/regression.md, Baseline models)"
    )
    return [line]


def _measure(name: str) -> str:
    return names.measure_of(names.split(name).stem)


def _designs(using: Mapping[str, None]) -> str:
    """Return where a note belongs: the first design, and the number of others."""
    first, *others = using
    return f"designs → {first}" + (f" (and {len(others)} more)" if others else "")
