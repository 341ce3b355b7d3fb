"""Learned weights: by distance, those that read a window of states, and those of a CDLM."""

from recency.evaluations.registry import Evaluation, setting, settings
from recency.planned import Planned

KEY = "learned_weights"


def _files(study: Planned, experiment: str, key: str) -> list[str]:
    lms = settings(KEY, study.config, experiment).get(key, [])
    return [f"<results>/experiments/{experiment}/{key}.{lm}.csv" for lm in lms]


def _has(key: str):
    return lambda study, experiment: bool(_files(study, experiment, key))


def _problems(config, name) -> list[str]:
    asked, problems = config["experiments"][name].get(KEY, {}), []
    where = f"experiments → {name} → {KEY}"
    for lm in asked.get("windows", []):
        memory = config["memories"].get(config["lms"][lm].get("memory"), {})
        if memory.get("form") not in ("fofe", "srnn"):
            problems.append(
                f"{where} → windows: {lm!r} reads no window of states; list FOFE and SRNN"
            )
    for lm in asked.get("sparseness", []):
        if "cdlm" not in config["lms"][lm].get("ngram", {}):
            problems.append(f"{where} → sparseness: {lm!r} is no CDLM")
    return problems


EVALUATION = Evaluation(
    key=KEY,
    uses_lms=False,
    inputs={
        "windows": lambda study, experiment: _files(study, experiment, "windows"),
        "sparseness": lambda study, experiment: _files(study, experiment, "sparseness"),
    },
    settings={
        "thresholds": setting(KEY, "thresholds"),
        "window_lms": lambda study, experiment: _labels(study, experiment, "windows"),
        "sparse_lms": lambda study, experiment: _labels(study, experiment, "sparseness"),
    },
    conditions={"windows": _has("windows"), "sparseness": _has("sparseness")},
    problems=_problems,
)


def _labels(study: Planned, experiment: str, key: str) -> list[str]:
    lms = settings(KEY, study.config, experiment).get(key, [])
    return [study.lms[lm]["label"] for lm in lms]
