"""Size, power, bias and coverage of candidate endpoints in simulated studies (`./run endpoint`)."""

from recency.evaluations.registry import Evaluation


def _targets(config) -> list[tuple[str, str]]:
    line = "size, power, bias and coverage of candidate endpoints of ΔLogLik, simulated"
    return [("endpoint", line)] if config.get("endpoint_simulation") else []


EVALUATION = Evaluation(standalone=False, uses_lms=False, targets=_targets)
