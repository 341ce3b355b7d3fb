"""The learning rate at each step, as the paper's runs had it and as its text words it."""

import math
from collections.abc import Mapping
from itertools import pairwise

#: A loss on held-out text that falls by less than this share has stopped to fall; and for how many
#: validations more the rate is halved (Oualil et al. 2016a; the share is that of the RNNLM toolkit).
IMPROVEMENT, FURTHER = 0.003, 7
#: How much longer than the training the cosine of `stretched` is.
STRETCH = 1.1


def learning_rate(step: int, recipe: dict, validation: Mapping[int, float] | None = None) -> float:
    """Return the learning rate of step n = 1 … N.

    `halving`: lr / 2^k, k being `halvings` of the losses on held-out text, `validation` (step → nats).
    `as_run`: lr·n/w up to step w; then max(lr/2 (cos(π (min(n, N - w) - w)/N) + 1), minimum).
    `as_worded`: linear warm-up over w steps, then a cosine from lr to the minimum at step N
    (Clark et al. 2025, Appendix B). `linear`: the same, but a straight line after the warm-up.
    `stretched`, as fairseq has a cosine: warm-up from the minimum, then a cosine that would be at the
    minimum `stretch`·N steps later.
    """
    if recipe["schedule"] == "halving":
        return recipe["learning_rate"] / 2 ** halvings(recipe, validation or {})
    peak, minimum = recipe["learning_rate"], recipe["minimum_learning_rate"]
    warmup, steps = recipe["warmup_steps"], recipe["steps"]
    if recipe["schedule"] == "stretched":
        if step <= warmup:
            return minimum + (peak - minimum) * step / warmup
        place = (step - warmup) / (recipe.get("stretch", STRETCH) * steps)
        return minimum + (peak - minimum) / 2 * (math.cos(math.pi * place) + 1)
    if step <= warmup:
        return peak * step / warmup
    if recipe["schedule"] == "as_run":
        place = (min(step, steps - warmup) - warmup) / steps
        return max(peak / 2 * (math.cos(math.pi * place) + 1), minimum)
    place = (step - warmup) / (steps - warmup)
    if recipe["schedule"] == "linear":
        return peak + (minimum - peak) * place
    return minimum + (peak - minimum) / 2 * (math.cos(math.pi * place) + 1)


def halvings(recipe: dict, validation: Mapping[int, float]) -> int:
    """Return how often the rate was halved: at each validation, once one has hardly improved."""
    settings = recipe.get("halving", {})
    least = 1 - settings.get("improvement", IMPROVEMENT)
    every = recipe.get("validation", {}).get("every", 1)  # it is taken at kept steps, too
    losses = [validation[step] for step in sorted(validation) if step % every == 0]
    stalled = [after > before * least for before, after in pairwise(losses)]
    return len(stalled) - stalled.index(True) if any(stalled) else 0


def last_step(recipe: dict, validation: Mapping[int, float]) -> tuple[int, bool]:
    """Return the step that a training ends with, and whether `halving` can still end it earlier.

    That tells its end with the first halving.
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


def finished(recipe: dict, done: int, validation: Mapping[int, float]) -> bool:
    """Say whether a training ends after `done` steps: the last, or the last that `halving` leaves."""
    return done >= last_step(recipe, validation)[0]
