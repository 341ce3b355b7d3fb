"""Recipes with implausible settings."""

from collections.abc import Iterator, Mapping

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "recipes",
    "why": "Rates, decays and schedules far outside published ones give networks that diverge or hardly learn.",
    "reference": "Brown et al. (2020), NeurIPS, Table 2.1; Loshchilov & Hutter (2019), ICLR",
}

#: (optimiser, key) → least and largest plausible value.
LIMITS = {
    ("adamw", "learning_rate"): (1e-6, 1e-2),
    ("adamw", "weight_decay"): (0, 0.5),
    ("adamw", "epsilon"): (1e-12, 1e-4),
    ("sgd", "learning_rate"): (1e-4, 5),
    ("sgd", "weight_decay"): (0, 1e-2),
    ("sgd", "momentum"): (0, 0.99),
}
LEAST_CLIP, MOST_EPOCHS, MOST_WARMUP, MOST_MASKED = 1e-2, 100, 0.5, 0.6
FEWEST_STEPS, LEAST_HIDDEN = 20, 0.5


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield recipes of the run's trainings with values outside the limits."""
    asked = dict.fromkeys(plan.settings(root)["recipe"] for root in plan.trained)
    for name in asked:
        recipe = plan.config["recipes"][name]
        optimizer = recipe.get("optimizer", "adamw")
        for (of, key), (low, high) in LIMITS.items():
            if of == optimizer and key in recipe and not low <= recipe[key] <= high:
                yield Finding(
                    name,
                    key,
                    f"{recipe[key]:g} is outside {low:g} to {high:g}, the usual range of {optimizer}",
                    "correct it",
                )
        for key, problem in _others(recipe):
            yield Finding(name, key, problem, "correct it")


def _others(recipe: Mapping) -> Iterator[tuple[str, str]]:
    """Yield key and problem of settings that depend on others."""
    steps = recipe.get("steps")
    if recipe.get("clip") is not None and recipe["clip"] < LEAST_CLIP:
        yield "clip", f"gradients are cut to a norm of {recipe['clip']:g}, which stops training"
    if steps and steps < FEWEST_STEPS:
        yield "steps", f"{steps} steps leave the network at its random start"
    if (
        recipe["schedule"] != "halving"
        and recipe.get("minimum_learning_rate") == recipe["learning_rate"]
    ):
        yield "minimum_learning_rate", "the learning rate never decreases"
    if recipe.get("epochs", 0) > MOST_EPOCHS:
        yield "epochs", f"the text is read {recipe['epochs']:g} times, and will be memorised"
    if steps and recipe.get("warmup_steps", 0) > MOST_WARMUP * steps:
        yield "warmup_steps", f"{recipe['warmup_steps']:,} of {steps:,} steps are warm-up"
    if list(recipe.get("betas", [])) != sorted(recipe.get("betas", [])):
        yield "betas", f"β₁, {recipe['betas'][0]:g}, is above β₂, {recipe['betas'][1]:g}"
    share = recipe.get("masking", {}).get("share", 0)
    hidden = recipe.get("masking", {}).get("masked", 1)
    if hidden < LEAST_HIDDEN:
        yield "masking → masked", f"{1 - hidden:.0%} of the predicted tokens are not masked"
    if share > MOST_MASKED:
        yield "masking → share", f"{share:.0%} of the tokens are masked, and little context is left"
