"""Rules on experiments, searches and studies of power: endpoints, responses, draws and thresholds."""

import json
from collections.abc import Iterator, Mapping

from recency import config as configuration
from recency import endpoints, plugins
from recency.reading import declared_columns
from recency.regression import predictor_names as names
from recency.regression.covered_endpoints import reason_not_by_default, reason_not_crossed
from recency.workflow.lint import Finding, Plan

RULES = {
    "few_draws": {
        "warns": "Too few, or needlessly many, draws and resamples",
        "table": "experiments",
        "why": "The ends of a 95 % interval are among the outermost draws: fewer than 100 leave them to chance, and over 20,000 add nothing.",
        "reference": "Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 19",
    },
    "few_trials": {
        "warns": "Searches with few trials",
        "table": "searches",
        "why": "A few trials leave the optimum of two or three parameters to chance.",
        "reference": "Bergstra & Bengio (2012), Journal of Machine Learning Research 13, 281-305",
    },
    "idle_sensitivity": {
        "warns": "A sensitivity analysis that varies nothing",
        "table": "experiments",
        "why": "A setting with one value shows no dependence on it.",
        "reference": "Steegen, Tuerlinckx, Gelman & Vanpaemel (2016), Perspectives on Psychological Science 11, 702-712",
    },
    "implausible_power": {
        "warns": "Studies of power that cannot show it",
        "table": "power",
        "why": "With fewer than 20 studies the estimated power is uncertain by over ten points, and LMs that are equally close have none.",
        "reference": "Morris, White & Crowther (2019), Statistics in Medicine 38, 2074-2102",
    },
    "in_sample_ranking": {
        "warns": "A ranking by the likelihood of the fitted observations",
        "table": "experiments",
        "why": "The likelihood of fitted observations rewards flexibility; held-out observations are there and show prediction.",
        "reference": "Yarkoni & Westfall (2017), Perspectives on Psychological Science 12, 1100-1122",
    },
    "intervals_given_fits": {
        "warns": "Intervals that take the fits as known",
        "table": "experiments",
        "why": "Intervals without refitting cover the true difference of LMs in 85 to 100 % of cases, by setting, where 95 % is stated.",
        "reference": "docs/how_sure.md",
    },
    "misaligned_times": {
        "warns": "Natural Stories with each time one word too early, outside a replication",
        "table": "experiments",
        "why": "The first release has each time at the word before; the papers used it, and other studies need the corrected times.",
        "reference": "docs/corpora.md, Natural Stories",
    },
    "other_endpoint": {
        "warns": "An endpoint other than the default's, which nobody asked for",
        "table": "experiments",
        "why": "Without `endpoint`, LMs are ranked by the log-likelihood of unseen subjects and sentences where the design has it, and otherwise by a part of the data.",
        "reference": "docs/endpoint.md",
    },
    "repeated_responses": {
        "warns": "The same responses counted twice in a total",
        "table": "experiments",
        "why": "A total over responses counts the same observations twice, and its interval is too narrow.",
        "reference": "Lazic (2010), BMC Neuroscience 11, 5",
    },
    "replication_endpoint": {
        "warns": "The paper's endpoint outside a replication",
        "table": "experiments",
        "why": "`modelblocks` scores by fixed effects and leaves out variance by sentence; it separates LMs worse than the default.",
        "reference": "docs/endpoint.md",
    },
    "scanpaths_without_controls": {
        "warns": "Contexts of readers without their two controls",
        "table": "experiments",
        "why": "Which words a reader has seen tells where the reader looks, so fixations alone may predict reading times.",
        "reference": "docs/lossy.md, Contexts of readers",
    },
    "smallest_effect": {
        "warns": "An implausible smallest effect of interest, or none",
        "table": "experiments",
        "why": "Claims are judged by it: without one, any difference supports a claim; with a very large one, none does.",
        "reference": "Lakens, Scheel & Isager (2018), Advances in Methods and Practices in Psychological Science 1, 259-269",
    },
}


#: Keys of an experiment → least and largest plausible number.
DRAWS = {
    ("draws",): (100, 20_000),
    ("measured_memory", "replacements"): (20, 20_000),
    ("context_information", "words"): (100, 20_000),
}


def few_draws(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with implausible numbers of draws or resamples."""
    for name, experiment in plan.experiments.items():
        for keys, (low, high) in DRAWS.items():
            value: object = experiment
            for key in keys:
                value = value.get(key) if isinstance(value, Mapping) else None
            if isinstance(value, int) and not low <= value <= high:
                yield Finding(
                    name,
                    " → ".join(keys),
                    f"{value:,} is outside {low} to {high:,}",
                    "leave it out for the default",
                )


FEWEST_TRIALS = 20


def few_trials(plan: Plan) -> Iterator[Finding]:
    """Yield searches with fewer than 20 trials."""
    for name, search in plan.config.get("searches", {}).items():
        if search["trials"] < FEWEST_TRIALS:
            yield Finding(
                name, "trials", f"{search['trials']} trials", f"write at least {FEWEST_TRIALS}"
            )


def idle_sensitivity(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with a single value of a setting under `sensitivity`."""
    for name, experiment in plan.experiments.items():
        for key, values in experiment.get("sensitivity", {}).items():
            if len(values) == 1:
                yield Finding(
                    name,
                    f"sensitivity → {key}",
                    f"{values[0]} is its only value",
                    "add another, or set it in the LMs or the design",
                )


FEWEST_REPEATS = 20


def implausible_power(plan: Plan) -> Iterator[Finding]:
    """Yield studies of power with few repeats, or without a difference."""
    for name, study in plan.config.get("power", {}).items():
        repeats, close = study.get("repeats", FEWEST_REPEATS), study["closeness"]
        if repeats < FEWEST_REPEATS:
            yield Finding(name, "repeats", f"{repeats} studies", f"write at least {FEWEST_REPEATS}")
        if close["a"] <= close["b"]:
            text = f"the closer LM, a, has {close['a']:g}, and b {close['b']:g}"
            yield Finding(name, "closeness", text, "write a above b")


def in_sample_ranking(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with `endpoint: in_sample` on partitioned datasets."""
    for name, experiment in plan.experiments.items():
        datasets = {response["dataset"] for response in plan.responses(name)}
        split = [d for d in datasets if plan.config["datasets"][d].get("partitioned", True)]
        if experiment.get("endpoint") == "in_sample" and split:
            yield Finding(
                name,
                "endpoint",
                "LMs are ranked by the observations to which models were fitted, and others are held out",
                "leave `endpoint` out: the default scores unseen subjects and sentences",
            )


def intervals_given_fits(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with `bootstrap: given_fits` whose designs can be refitted."""
    for name, experiment in plan.experiments.items():
        if experiment.get("bootstrap") != "given_fits":
            continue
        asked = {response["design"] for response in plan.responses(name)}
        if asked and not any(reason_not_crossed(plan.designs[design].entry) for design in asked):
            yield Finding(
                name,
                "bootstrap",
                "its intervals do not include the uncertainty of the fits",
                "write `bootstrap: crossed`, or leave it out",
            )


NATURAL_STORIES = "Futrell et al. (2021)"


def misaligned_times(plan: Plan) -> Iterator[Finding]:
    """Yield experiments that are no replication, on Natural Stories without its correction."""
    for name, experiment in plan.experiments.items():
        if experiment.get("published"):
            continue
        for dataset in dict.fromkeys(response["dataset"] for response in plan.responses(name)):
            entry = plan.config["datasets"][dataset]
            options = plugins.keywords(configuration.PARSERS, entry["parser"], "responses")
            is_shifted = "offset" in options and entry.get("options", {}).get("offset", 0) == 0
            if is_shifted and NATURAL_STORIES in entry.get("cite", ""):
                yield Finding(
                    name,
                    "responses",
                    f"{dataset} has `offset: 0`, by which each time is one word too early",
                    f"write `datasets: {{{dataset}: {{options: {{offset: 1}}, accept: []}}}}`",
                )


def other_endpoint(plan: Plan) -> Iterator[Finding]:
    """Yield experiments without `endpoint` and `bootstrap` whose default is not the crossed one."""
    for name, experiment in plan.experiments.items():
        if experiment.get("endpoint") or experiment.get("bootstrap"):
            continue
        reasons = (
            reason_not_by_default(
                plan.designs[response["design"]].entry,
                declared_columns.is_of_items(plan.datasets[response["dataset"]]),
            )
            for response in plan.responses(name)
            if plan.datasets[response["dataset"]].get("partitioned", True)
        )
        if reason := next(filter(None, reasons), ""):
            yield Finding(
                name,
                "endpoint",
                f"its LMs are ranked by the {endpoints.DEFAULT_ALONE} likelihood of the exploratory "
                f"partition, not by that of unseen readers: {reason}",
                f"write `endpoint: {endpoints.DEFAULT_ALONE}`, or change the design",
            )


def repeated_responses(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with the same measure of the same files under two designs or datasets."""
    for name in plan.experiments:
        first: dict[str, str] = {}
        for response in plan.responses(name):
            dataset, measure = response["dataset"], response["measure"]
            entry = plan.config["datasets"][dataset]
            settings = entry["measures"][measure]
            named = f"{dataset}.{measure} ({response['design']})"
            parts = [
                entry["responses"],
                entry.get("simulate"),
                settings.get("of"),
                settings.get("event"),
            ]
            key = json.dumps([measure, parts], sort_keys=True, default=str)
            if (other := first.setdefault(key, named)) != named:
                yield Finding(
                    name,
                    "responses",
                    f"{named} has the same observations as {other}",
                    "list one of them, and compare designs or datasets in separate experiments",
                )


def replication_endpoint(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with `endpoint: modelblocks` that show no published values."""
    for name, experiment in plan.experiments.items():
        if experiment.get("endpoint") == "modelblocks" and not experiment.get("published"):
            yield Finding(
                name,
                "endpoint",
                "modelblocks is the endpoint of a replication, and no published values are named",
                "leave `endpoint` out for the default, crossed",
            )


#: The column of responses with the length of the saccade to a word.
SACCADE = "words_since_fixation"


def scanpaths_without_controls(plan: Plan) -> Iterator[Finding]:
    """Yield experiments with contexts of readers that lack another reader's, or the saccades."""
    for name in plan.experiments:
        readers = {lm: plan.settings(lm).get("reader") for lm in plan.lms(name)}
        readers = {lm: reader for lm, reader in readers.items() if reader is not None}
        others = [
            _without_source(plan, lm) for lm, r in readers.items() if r.get("of") == "another"
        ]
        own = [lm for lm, reader in readers.items() if reader.get("of", "own") == "own"]
        if lacking := [lm for lm in own if _without_source(plan, lm) not in others]:
            yield Finding(
                name,
                "lms",
                f"{lacking[0]!r} has the readers' own fixations, and no LM those of other readers",
                f"add an LM as {lacking[0]!r} with `reader: {{of: another}}`, and compare the two",
            )
        for design in dict.fromkeys(response["design"] for response in plan.responses(name)):
            if own and SACCADE not in names.used(plan.designs[design].formula):
                yield Finding(
                    name,
                    "responses",
                    f"the design {design!r} does not know the saccades, and contexts of readers do",
                    f"add `{SACCADE}` to its formula, in the baseline",
                )


def _without_source(plan: Plan, lm: str) -> dict:
    """Return an LM's settings apart from its label and from whose fixations it has."""
    settings = {k: v for k, v in plan.settings(lm).items() if k not in ("label", "name")}
    reader = {k: v for k, v in settings["reader"].items() if k not in ("of", "seed")}
    return settings | {"reader": reader}


#: Unit → least and largest plausible value.
SMALLEST_EFFECTS = {
    "relative": (0.005, 0.5),
    "nats_per_1000": (0.005, 10),
    "ms_per_bit": (0.05, 20),
}
STATE_ONE = "write one such as `{relative: 0.1}` before any result is seen"


def smallest_effect(plan: Plan) -> Iterator[Finding]:
    """Yield experiments that rank LMs by reading times with an implausible smallest effect."""
    for name, experiment in plan.experiments.items():
        if not experiment.get("responses") or len(plan.lms(name)) < 2:
            continue
        stated = experiment.get("smallest_effect", plan.config.get("smallest_effect")) or {}
        values = {unit: value for unit, value in stated.items() if value}
        if not values:
            yield Finding(name, "smallest_effect", "none is stated, or it is 0", STATE_ONE)
        for unit, value in values.items():
            low, high = SMALLEST_EFFECTS[unit]
            if not low <= value <= high:
                text = f"{unit} {value:g} is outside {low:g} to {high:g}"
                yield Finding(name, "smallest_effect", text, STATE_ONE)
