"""Notes on the interpretation of results, printed at the start of a run."""

from collections.abc import Mapping

from recency import config as configuration
from recency.regression import designs
from recency.regression import predictor_names as names

#: Measures of the next token that could be mistaken for measures of the next word.
OF_TOKENS = ("entropy", "entropy_reduction")


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
    first, *others = using
    more = f" (and {len(others)} more)" if others else ""
    line = (
        f"designs → {first}{more}: `entropy` is of the next token, the first of a word; the measure "
        "`word_entropy` is of the next word, and the two predict reading times differently (Clark, "
        "Oh & Schuler 2025; docs/surprisal.md)"
    )
    return [line]
