"""Rules on datasets: their readers, filters and simulation."""

import math
import re
from collections.abc import Iterator, Mapping

from recency.regression.designs import FEWEST_LEVELS
from recency.workflow.lint import Finding, Plan

RULES = {
    "few_units": {
        "warns": "Fewer than eight subjects, sentences or items",
        "table": "datasets",
        "why": "Variances between fewer than about eight subjects or items are hardly estimated, and intervals by them are too narrow.",
        "reference": "Bolker et al. (2009), Trends in Ecology & Evolution 24, 127-135",
        "noted": ["fewer than 8"],
    },
    "implausible_readers": {
        "warns": "Simulated readers unlike real ones",
        "table": "datasets",
        "why": "An analysis that recovers effects of implausible size, or without noise, may not recover those of real readers.",
        "reference": "Smith & Levy (2013), Cognition 128, 302-319",
    },
    "one_sided_filter": {
        "warns": "Filters that cut one tail of the times",
        "table": "datasets",
        "why": "Removing only slow, or only fast, responses shifts means and differences of conditions.",
        "reference": "Ratcliff (1993), Psychological Bulletin 114, 510-532",
    },
    "same_seed": {
        "warns": "Simulated data with the seed of something that they test",
        "table": "datasets",
        "why": "One seed gives one stream of random numbers: what should be independent then shares its chance.",
        "reference": "Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102",
    },
    "severe_filter": {
        "warns": "Filters that remove ordinary responses",
        "table": "datasets",
        "why": "Limits within the bulk of the times truncate the effects that are tested.",
        "reference": "Ratcliff (1993), Psychological Bulletin 114, 510-532",
    },
}


def few_units(plan: Plan) -> Iterator[Finding]:
    """Yield datasets with too few subjects, sentences or texts, where the config says how many."""
    for name, dataset in plan.datasets.items():
        counted = dict(dataset.get("published_counts", {}))
        key = "published_counts"
        if "simulate" in dataset:
            counted = {"subjects": dataset["simulate"]["readers"]["subjects"]}
            counted["items"] = dataset["simulate"]["stories"]
            key = "simulate"
        for unit, number in counted.items():
            if unit != "words" and number < FEWEST_LEVELS:
                yield Finding(
                    name,
                    key,
                    f"{number} {unit}, fewer than {FEWEST_LEVELS}",
                    f"add {unit}, or claim nothing beyond these",
                )


#: Effect or noise → least and largest plausible value, ms.
EFFECTS = {"intercept": (100, 2000), "surprisal": (-5, 30), "previous_surprisal": (-5, 30)}
NOISE = (10, 1000)
#: Probability → its largest plausible value.
SHARES = {"slips": 0.05, "lapses": 0.05, "wrong": 0.4}


def implausible_readers(plan: Plan) -> Iterator[Finding]:
    """Yield simulated readers with implausible effects or residuals."""
    for name, dataset in plan.datasets.items():
        readers = dataset.get("simulate", {}).get("readers")
        if readers is None:
            continue
        stated = {
            f"coefficients → {k}": (v, EFFECTS[k])
            for k, v in readers["coefficients"].items()
            if k in EFFECTS
        }
        stated["residual_sd"] = (readers["residual_sd"], NOISE)
        for key, (value, (low, high)) in stated.items():
            if not low <= value <= high:
                yield Finding(
                    name,
                    f"simulate → readers → {key}",
                    f"{value:g} ms is outside {low:g} to {high:g} ms",
                    "published effects are about 4 ms a bit, and residuals about 100 ms",
                )
        for key, most in SHARES.items():
            if readers.get(key, 0) > most:
                yield Finding(
                    name,
                    f"simulate → readers → {key}",
                    f"{readers[key]:.0%} is above {most:.0%}",
                    "such readers would be excluded",
                )


NUMBER = r"(\d+(?:\.\d+)?)"
HIGH = re.compile(rf"time_ms\s*<=?\s*{NUMBER}|{NUMBER}\s*>=?\s*time_ms")
LOW = re.compile(rf"time_ms\s*>=?\s*{NUMBER}|{NUMBER}\s*<=?\s*time_ms")


def limits_of_times(dataset: Mapping, measure: str) -> tuple[float, float]:
    """Return the limits_of_times of a measure's times by its filters, ms; 0 and infinity without one."""
    steps = dataset["measures"][measure]["filters"]
    text = " and ".join(dataset.get("filters", {}).get(step, "") for step in steps)
    ends = [[float(a or b) for a, b in end.findall(text)] for end in (LOW, HIGH)]
    return max(ends[0], default=0), min(ends[1], default=math.inf)


def one_sided_filter(plan: Plan) -> Iterator[Finding]:
    """Yield self-paced reading and mazes whose filters limit times on one side."""
    for name, dataset in plan.datasets.items():
        asked = {m for d in plan.designs.values() for _, used, m in d.uses if used == name}
        for measure in sorted(asked):
            if plan.task(name, measure) not in ("self_paced", "maze"):
                continue  # short fixations are removed, and no reader pauses within one
            low, high = limits_of_times(dataset, measure)
            if (low > 0) != (high < math.inf):
                yield Finding(
                    name,
                    f"measures → {measure} → filters",
                    f"they remove {'fast' if low > 0 else 'slow'} responses alone",
                    "set both limits_of_times, such as 100 < time_ms < 3000, or none",
                )


def same_seed(plan: Plan) -> Iterator[Finding]:
    """Yield simulated datasets whose seeds are those of training texts, trainings or each other."""
    taken: dict[tuple[str, int], str] = {}
    for dataset, entry in plan.datasets.items():
        simulate = entry.get("simulate")
        if simulate is None:
            continue
        stimuli, readers = simulate["stimuli_seed"], simulate["readers"]["seed"]
        if stimuli == readers:
            yield _finding_of_seed(dataset, f"the stimuli and the readers have the seed {readers}")
        for kind, seed in (("stimuli", stimuli), ("readers", readers)):
            for tested in _trainings_with_seed(plan, dataset, simulate["reader"], seed):
                yield _finding_of_seed(dataset, f"the {kind} have the seed {seed} of {tested}")
            other = taken.setdefault((kind, seed), dataset)
            if other != dataset:
                yield _finding_of_seed(
                    dataset, f"the {kind} have the seed {seed} of those of {other}"
                )
        if trained := _trained_alike(plan, dataset, simulate["reader"]):
            yield _finding_of_seed(
                dataset,
                f"{simulate['reader']!r}, the readers' LM, has the training text of {trained!r}",
            )


def _finding_of_seed(dataset: str, problem: str) -> Finding:
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
    text = _settings_of_text(plan, settings["corpus"])
    lms = (lm for lm, _ in _candidates(plan, dataset) if lm != root)
    return next(
        (lm for lm in lms if _settings_of_text(plan, plan.settings(lm)["corpus"]) == text), ""
    )


def _settings_of_text(plan: Plan, corpus: str) -> dict:
    """Return the settings that define the text of a corpus, whatever its name."""
    entry = plan.config["corpora"][corpus]
    return {key: value for key, value in entry.items() if key not in ("label", "language")}


#: Smallest upper and largest lower limit that leave ordinary times, ms.
SHORTEST_MAXIMUM, LONGEST_MINIMUM = 800, 200


def severe_filter(plan: Plan) -> Iterator[Finding]:
    """Yield datasets whose filters limit times below 800 ms, or above 200 ms."""
    for name, dataset in plan.datasets.items():
        asked = {m for d in plan.designs.values() for _, used, m in d.uses if used == name}
        for measure in sorted(asked):
            low, high = limits_of_times(dataset, measure)
            if low > LONGEST_MINIMUM or high < SHORTEST_MAXIMUM:
                yield Finding(
                    name,
                    f"measures → {measure} → filters",
                    f"they keep times from {low:g} to {high:g} ms alone",
                    "set limits_of_times for outliers, such as 100 < time_ms < 3000",
                )
