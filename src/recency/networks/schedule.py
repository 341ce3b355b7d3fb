"""The learning rate at each step, as the paper's runs had it and as its text words it."""

import math


def learning_rate(step: int, recipe: dict) -> float:
    """Return the learning rate of step n = 1 … N.

    `as_run`: lr·n/w up to step w; then max(lr/2 (cos(π (min(n, N - w) - w)/N) + 1), minimum).
    `as_worded`: linear warm-up over w steps, then a cosine from lr to the minimum at step N
    (Clark et al. 2025, Appendix B). `linear`: the same, but a straight line after the warm-up.
    """
    peak, minimum = recipe["learning_rate"], recipe["minimum_learning_rate"]
    warmup, steps = recipe["warmup_steps"], recipe["steps"]
    if step <= warmup:
        return peak * step / warmup
    if recipe["schedule"] == "as_run":
        place = (min(step, steps - warmup) - warmup) / steps
        return max(peak / 2 * (math.cos(math.pi * place) + 1), minimum)
    place = (step - warmup) / (steps - warmup)
    if recipe["schedule"] == "linear":
        return peak + (minimum - peak) * place
    return minimum + (peak - minimum) / 2 * (math.cos(math.pi * place) + 1)
