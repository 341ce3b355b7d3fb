"""Simulated data with the seed of something that they test."""

from collections.abc import Iterator

from recency.workflow.lint import Finding, Plan

RULE = {
    "table": "datasets",
    "why": "One seed gives one stream of random numbers: what should be independent then shares its chance.",
    "reference": "Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102",
}


def findings(plan: Plan) -> Iterator[Finding]:
    """Yield simulated datasets whose seeds are those of training texts, trainings or each other."""
    taken: dict[tuple[str, int], str] = {}
    for dataset, entry in plan.datasets.items():
        simulate = entry.get("simulate")
        if simulate is None:
            continue
        stimuli, readers = simulate["stimuli_seed"], simulate["readers"]["seed"]
        if stimuli == readers:
            yield _same(dataset, f"the stimuli and the readers have the seed {readers}")
        for kind, seed in (("stimuli", stimuli), ("readers", readers)):
            for tested in _trainings_with_seed(plan, dataset, simulate["reader"], seed):
                yield _same(dataset, f"the {kind} have the seed {seed} of {tested}")
            other = taken.setdefault((kind, seed), dataset)
            if other != dataset:
                yield _same(dataset, f"the {kind} have the seed {seed} of those of {other}")
        if trained := _trained_alike(plan, dataset, simulate["reader"]):
            yield _same(
                dataset,
                f"{simulate['reader']!r}, the readers' LM, has the training text of {trained!r}",
            )


def _same(dataset: str, problem: str) -> Finding:
    return Finding(dataset, "simulate", problem, "give each a seed of its own")


def _candidates(plan: Plan, dataset: str) -> Iterator[tuple[str, list[int]]]:
    """Yield the trainings that are tested on a dataset, with their seeds."""
    for name in plan.experiments:
        if any(response["dataset"] == dataset for response in plan.responses(name)):
            for lm in plan.lms(name):
                for root in map(plan.trained_as, plan.members(lm)):
                    if root in plan.trained:
                        yield root, plan.seeds(name) or [plan.settings(root)["seed"]]


def _trainings_with_seed(plan: Plan, dataset: str, reader: str, seed: int) -> Iterator[str]:
    """Yield the training texts and trainings with a seed, each once."""
    found: dict[str, None] = {}
    for root, seeds in _candidates(plan, dataset):
        corpus = plan.settings(root)["corpus"]
        if plan.config["corpora"][corpus].get("simulate", {}).get("seed") == seed:
            found[f"the training text {corpus!r}"] = None
        if seed in seeds and root != reader:
            found[f"the training of {root!r}"] = None
    yield from list(found)[:1]


def _trained_alike(plan: Plan, dataset: str, reader: str) -> str:
    """Return a tested LM with the training text of the readers' LM; "" without one."""
    root = plan.trained_as(reader)
    if "seed" not in (settings := plan.settings(root)) or "checkpoint" in settings:
        return ""
    text = _text(plan, settings["corpus"])
    lms = (lm for lm, _ in _candidates(plan, dataset) if lm != root)
    return next((lm for lm in lms if _text(plan, plan.settings(lm)["corpus"]) == text), "")


def _text(plan: Plan, corpus: str) -> dict:
    """Return the settings that define the text of a corpus, whatever its name."""
    entry = plan.config["corpora"][corpus]
    return {key: value for key, value in entry.items() if key not in ("label", "language")}
