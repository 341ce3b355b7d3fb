"""How an experiment's LMs were trained: their losses, for whoever asks whether they had enough."""

from recency.evaluations import registry
from recency.evaluations.registry import Evaluation


def trained(study, experiment: str) -> list[str]:
    """Return the LMs whose weights an experiment uses and that are trained here, each once."""
    lms = study.experiment(experiment).get("lms", [])
    weights = dict.fromkeys(study.trained_as(lm) for lm in lms if study.weights(lm))
    return list(weights)


def _applies(study, experiment: str) -> bool:
    """Say whether an evaluation needs LMs that are trained here: for their losses none is trained."""
    others = (each for each in registry.evaluations().values() if each.key != "lms")
    used = any(each.uses_lms and each.applies(study, experiment) for each in others)
    return used and bool(trained(study, experiment))


def masked(study, experiment: str) -> list[dict]:
    """Return the masked LMs among them, described as one for all of their seeds, with `variant`."""
    of, found = study.one_for_seeds(experiment), []
    for lm in trained(study, experiment):
        recipe = study.config["recipes"][study.lms[lm]["recipe"]]
        if recipe.get("objective") == "masked" and "validation" in recipe:
            found.append(study.described(of.get(lm, lm)) | {"variant": lm})
    return found


EVALUATION = Evaluation(
    key="lms",
    alone=False,
    applies=_applies,
    inputs={
        "curves": lambda study, experiment: [
            f"<results>/lms/{lm}/training.csv" for lm in trained(study, experiment)
        ],
        "masked_curves": lambda study, experiment: [
            f"<results>/lms/{lm['variant']}/training.csv" for lm in masked(study, experiment)
        ],
    },
    settings={
        "trained": lambda study, experiment: [
            study.described(lm) for lm in trained(study, experiment)
        ],
        "masked": masked,
    },
    conditions={"masked": lambda study, experiment: bool(masked(study, experiment))},
)
