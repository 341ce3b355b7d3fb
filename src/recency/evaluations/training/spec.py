"""Training of an experiment's LMs: their losses."""

from recency.evaluations import registry
from recency.evaluations.registry import Evaluation
from recency.planned import Planned


def trained(study: Planned, experiment: str) -> list[str]:
    """Return the distinct LMs trained here whose weights an experiment uses."""
    lms = study.experiment(experiment).get("lms", [])
    weights = dict.fromkeys(study.trained_as(lm) for lm in lms if study.weights(lm))
    return list(weights)


def _applies(study: Planned, experiment: str) -> bool:
    """Return whether any other evaluation needs LMs that are trained here."""
    others = (e for e in registry.evaluations().values() if e.key != "lms")
    used = any(e.uses_lms and e.applies(study, experiment) for e in others)
    return used and bool(trained(study, experiment))


def variants(study: Planned, experiment: str) -> list[dict]:
    """Return their descriptions without seeds, with the LM itself as `variant`."""
    of = study.one_for_seeds(experiment)
    return [
        study.description(of.get(lm, lm)) | {"variant": lm} for lm in trained(study, experiment)
    ]


def masked(study: Planned, experiment: str) -> list[dict]:
    """Return the masked LMs among them, which have a validation."""
    recipes, masked_lms = study.config["recipes"], []
    for lm in variants(study, experiment):
        recipe = recipes[study.lms[lm["variant"]]["recipe"]]
        if recipe.get("objective") == "masked" and "validation" in recipe:
            masked_lms.append(lm)
    return masked_lms


EVALUATION = Evaluation(
    key="lms",
    standalone=False,
    applies=_applies,
    inputs={
        "curves": lambda study, experiment: [
            f"<results>/lms/{lm}/training.csv" for lm in trained(study, experiment)
        ],
        "masked_curves": lambda study, experiment: [
            f"<results>/lms/{lm['variant']}/training.csv" for lm in masked(study, experiment)
        ],
    },
    settings={"trained": variants, "masked": masked},
    conditions={"masked": lambda study, experiment: bool(masked(study, experiment))},
)
