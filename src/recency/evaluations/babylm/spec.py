"""Zero-shot evaluations of the 2025 BabyLM challenge, with its files and scoring rules."""

from collections.abc import Iterator
from pathlib import Path

from recency.errors import REFUSALS
from recency.evaluations.babylm import parts
from recency.evaluations.registry import Evaluation
from recency.planned import Planned

KEY = "babylm"


def _folder(study: Planned, experiment: str) -> str:
    return study.experiment(experiment)[KEY]["data"]


def files(study: Planned, experiment: str) -> dict[str, list[str]]:
    """Return part → its existing files, for the parts that one job scores."""
    folder = _folder(study, experiment)
    by_part = {name: parts.files(folder, name) for name in (*parts.ZERO_SHOT, "reading")}
    return {name: list(map(str, paths)) for name, paths in by_part.items() if paths}


def contexts(study: Planned, experiment: str, which: int = 0) -> list[str]:
    """Return the file of word contexts, or of children's ages (1), or an empty list if missing."""
    stages = study.experiment(experiment)[KEY].get("stages")
    paths = parts.files(_folder(study, experiment), "aoa") if stages else []
    return [str(paths[which])] if paths else []


def stages(study: Planned, experiment: str) -> dict[str, dict[str, float]]:
    """Return LM → LM at a stage of its training → words read by then."""
    return study.experiment(experiment)[KEY].get("stages", {})


def _words(study: Planned, experiment: str) -> list[str]:
    names = dict.fromkeys(stage for of_lm in stages(study, experiment).values() for stage in of_lm)
    if not contexts(study, experiment):
        return []
    return [f"<results>/experiments/{experiment}/babylm_words.{lm}.csv" for lm in names]


def _missing(study: Planned, experiment: str) -> list[str]:
    """Return the parts whose files are missing."""
    here = {*files(study, experiment), *(["aoa"] if contexts(study, experiment) else [])}
    return [name for name in parts.PARTS if name not in here]


def _problems(config: dict, name: str) -> list[str]:
    experiment = config["experiments"][name]
    if KEY not in experiment:
        return []
    where = f"experiments → {name} → {KEY}"
    return [f"{where}{text}" for text in (*_files(experiment[KEY]), *_stages(experiment))]


def _files(entry: dict) -> Iterator[str]:
    """Yield problems of the folder: missing, without any part, or with another layout."""
    folder = Path(entry["data"])
    here = {name: parts.files(folder, name) for name in parts.PARTS}
    if not any(here.values()):
        yield (
            f" → data: {folder} has none of {', '.join(part.places[0] for part in parts.PARTS.values())}; "
            f"download them from {parts.ADDRESS}"
        )
    for name in parts.ZERO_SHOT:
        for path in here[name]:
            try:
                next(parts.items(path, name, first=1))
            except REFUSALS as error:
                yield f": {error}"
    if entry.get("stages") and not here["aoa"]:
        yield (
            f" → stages: {folder / 'aoa'} lacks {parts.WORDS} or {parts.CHILDREN}, required for "
            f"ages of acquisition; download them from {parts.ADDRESS}, or leave `stages` out"
        )


def _stages(experiment: dict) -> Iterator[str]:
    """Yield stages of LMs outside the experiment, and stages that coincide."""
    for lm, lm_stages in experiment[KEY].get("stages", {}).items():
        if lm not in experiment["lms"]:
            yield f" → stages: {lm!r} is not among the experiment's LMs"
        if len(set(lm_stages.values())) < len(lm_stages):
            yield f" → stages → {lm}: two stages have read the same number of words"


EVALUATION = Evaluation(
    key=KEY,
    network=True,
    inputs={
        "scores": lambda study, experiment: [
            f"<results>/experiments/{experiment}/babylm.{lm}.parquet"
            for lm in study.experiment(experiment)["lms"]
        ],
        "reading": lambda study, experiment: files(study, experiment).get("reading", []),
        "words": _words,
        "children": lambda study, experiment: contexts(study, experiment, 1),
    },
    settings={"files": files, "contexts": contexts, "stages": stages, "missing": _missing},
    problems=_problems,
)
