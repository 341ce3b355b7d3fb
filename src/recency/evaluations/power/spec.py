"""The smallest lead of one LM over another that a study of a given size detects (`./run power`)."""

from recency.evaluations.registry import Evaluation


def _targets(config) -> list[tuple[str, str]]:
    line = "the smallest lead of an LM over another that n subjects and m sentences detect"
    return [("power", line)] if config.get("power") else []


EVALUATION = Evaluation(standalone=False, uses_lms=False, targets=_targets)
