"""Write reading times of simulated readers, whose expectations are an LM's surprisal.

Times are linear in the predictors, with effects of subject and sentence and a right-skewed residual
with mean zero, so that the regression for recovering the effects is correctly specified.
"""

import json
from typing import Any

import pandas as pd

from readingtimes.files import atomic
from recency.regression.texts import read_texts
from recency.simulation import readers
from recency.simulation.readers import WORD_TERMS, Readers

UNITS = {"intercept": "ms", "length": "ms/character", "position": "ms/word"}


def truth_of(group: Readers, x: pd.DataFrame) -> dict[str, Any]:
    """Return the true effects in natural units, in the same layout as the regressions' results.

    `fixed` holds at the `centres`, the words' mean predictors; `random` has sds and correlations.
    """

    def term(name: str) -> str:
        return "(Intercept)" if name == "intercept" else name

    def effect(name: str) -> dict[str, Any]:
        unit = "ms" if name == "previous_fixated" else UNITS.get(name, "ms/bit")
        return {
            "term": term(name),
            "value": float(group.coefficients.get(name, 0.0)),
            "unit": unit,
        }

    names, sd, correlation = group.subject_effects()
    return {
        "fixed": [effect(name) for name in group.terms],
        "random": {
            "subject": {
                "terms": [term(name) for name in names],
                "sd": sd.tolist(),
                "correlation": correlation.tolist(),
            },
            "sentence": {"terms": ["(Intercept)"], "sd": [float(group.sentence_sd)]},
        },
        "sigma": float(group.residual_sd),
        "centres": {name: float(x[name].mean()) for name in WORD_TERMS},
        "skew": group.skew,
        "slips": group.slips,
        "lapses": group.lapses,
        "questions": group.questions,
        "wrong": group.wrong,
        "skipping": None if group.skipping is None else dict(group.skipping),
    }


def main(
    words: str,
    surprisal: str,
    unigram: str,
    out_responses: str,
    out_truth: str,
    measure: str,
    reader: str,
    variant: str = "plain",
    **settings: Any,
) -> None:
    """Write the responses (CSV) and the true effects (JSON).

    `reader` names the model of the readers' surprisal, uncorrected or corrected (`variant`);
    `settings` are the fields of `simulation.readers.Readers`. The predictors are the regressions'.
    """
    group = Readers(**settings)
    displayed = pd.read_parquet(words)
    texts = read_texts(words, unigram, surprisal, variant)
    x = pd.DataFrame(texts.predictors)[list(WORD_TERMS)]
    with atomic(out_responses) as part:
        readers.read(displayed, x, group).to_csv(part, index=False, lineterminator="\n")
    record = {
        "reader": reader,
        "variant": variant,
        "measure": measure,
        "seed": group.seed,
        "subjects": group.subjects,
        "words": len(displayed),
        "items": group.items,
    }
    with atomic(out_truth) as part:
        text = json.dumps(record | truth_of(group, x), indent=1)
        part.write_text(text + "\n", encoding="utf-8")
