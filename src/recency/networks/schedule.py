"""The learning rate at each step: schedules as the paper's runs used and as its text describes."""

import math
from collections.abc import Mapping
from itertools import pairwise

#: A smaller relative decrease of the held-out loss counts as a stall; after it, the rate is halved
#: for this many further validations (Oualil et al. 2016a; the threshold is the RNNLM toolkit's).
IMPROVEMENT, FURTHER = 0.003, 7
#: Length of the cosine of `stretched`, relative to the training.
STRETCH = 1.1


def learning_rate(step: int, recipe: dict, validation: Mapping[int, float] | None = None) -> float:
    """Return the learning rate of step n = 1 … N.

    `halving`: lr / 2^k, where k is `halvings` of the held-out losses, `validation` (step → nats).
    `as_run`, as in GPT-NeoX, whose scheduler steps after the update, so that step n has the rate of
    m = n - 1 and the first one changes no weight: lr·m/w up to m = w; then
    max(lr/2 (cos(π (min(m, N - w) - w)/N) + 1), minimum).
    `as_worded`: linear warm-up over w steps, then a cosine from lr to the minimum at step N
    (Clark et al. 2025, Appendix B). `linear`: the same with a straight line after the warm-up.
    `stretched`, as in fairseq: warm-up from the minimum, then a cosine that would reach the minimum
    `stretch`·N steps after the warm-up.
    """
    if recipe["schedule"] == "halving":
        return recipe["learning_rate"] / 2 ** halvings(recipe, validation or {})
    peak, minimum = recipe["learning_rate"], recipe["minimum_learning_rate"]
    warmup, steps = recipe["warmup_steps"], recipe["steps"]
    if recipe["schedule"] == "as_run":
        step -= 1
        if step <= warmup and warmup:
            return peak * step / warmup
        progress = (min(step, steps - warmup) - warmup) / steps
        return max(peak / 2 * (math.cos(math.pi * progress) + 1), minimum)
    if recipe["schedule"] == "stretched":
        if step <= warmup:
            return minimum + (peak - minimum) * step / warmup
        progress = (step - warmup) / (recipe.get("stretch", STRETCH) * steps)
        return minimum + (peak - minimum) / 2 * (math.cos(math.pi * progress) + 1)
    if step <= warmup:
        return peak * step / warmup
    progress = (step - warmup) / (steps - warmup)
    if recipe["schedule"] == "linear":
        return peak + (minimum - peak) * progress
    return minimum + (peak - minimum) / 2 * (math.cos(math.pi * progress) + 1)


def halvings(recipe: dict, validation: Mapping[int, float]) -> int:
    """Return how often the rate was halved: at each validation from the first stall on."""
    settings = recipe.get("halving", {})
    least = 1 - settings.get("improvement", IMPROVEMENT)
    every = recipe.get("validation", {}).get("every", 1)  # checkpoints are validated, too
    losses = [validation[step] for step in sorted(validation) if step % every == 0]
    stalled = [after > before * least for before, after in pairwise(losses)]
    return len(stalled) - stalled.index(True) if any(stalled) else 0


def last_step(recipe: dict, validation: Mapping[int, float]) -> tuple[int, bool]:
    """Return the last step of a training, and whether `halving` can still end it earlier.

    The end is known after the first halving.
    """
    steps = recipe["steps"]
    if recipe["schedule"] != "halving":
        return steps, False
    done = halvings(recipe, validation)
    if not done:
        return steps, True
    every = recipe.get("validation", {}).get("every", 1)
    latest = max(step for step in validation if step % every == 0)
    further = recipe.get("halving", {}).get("further", FURTHER)
    return min(latest + (further + 1 - done) * every, steps), False


def is_finished(recipe: dict, done: int, validation: Mapping[int, float]) -> bool:
    """Return whether a training ends after `done` steps."""
    return done >= last_step(recipe, validation)[0]
