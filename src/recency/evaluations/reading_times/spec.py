"""Reading times: ΔLogLik of each LM on exploratory data, and tests on held-out data."""

from recency import config as configuration
from recency import endpoints, grids
from recency.errors import REFUSALS
from recency.evaluations.registry import Evaluation
from recency.figures import encoding
from recency.planned import Planned
from recency.regression import covered_endpoints, designs
from recency.regression import predictor_names as names


def _applies(study: Planned, experiment: str) -> bool:
    settings = study.experiment(experiment)
    asked = settings.get("responses") and not settings.keys() & {"sensitivity", "steps"}
    in_sample = settings.get("endpoint") == endpoints.IN_SAMPLE
    return bool(asked) and (in_sample or not study.all_fitted(experiment))


def _problems(config, name) -> list[str]:
    """List seeds, endpoints, pairs and effects that the LMs and designs do not support."""
    entry, where = config["experiments"][name], f"experiments → {name}"
    problems = _seed_problems(config, entry, where) + _endpoint_problems(config, entry, where)
    problems += _corrected_problems(config, entry, where) + _pair_problems(entry, where)
    problems += _nested_problems(config, entry, where)
    problems += _slope_problems(config, entry, where)
    return problems + _recovery_problems(config, entry, where)


def _slope_problems(config, entry, where) -> list[str]:
    """Return designs without a slope in ms per bit, if that is the unit of the smallest effect."""
    if not (entry.get("smallest_effect") or {}).get("ms_per_bit"):
        return []
    return [
        f"{where} → smallest_effect: ms_per_bit needs the predictor `surprisal`, `response: raw` and "
        f"observations that are independent but for crossed effects, which the design {design} lacks; "
        "state it as nats_per_1000"
        for design in entry.get("responses", {})
        if (formula := _formula(config, design)) is not None
        and (
            "surprisal" not in formula.fixed
            or config["designs"][design]["response"] != "raw"
            or covered_endpoints.problems(config["designs"][design], "marginal")
        )
    ]


def _corrected_problems(config, entry, where) -> list[str]:
    """Return the LMs without corrected surprisal, if it is requested."""
    varied = entry.get("sensitivity", {}).get("surprisal")
    designs = entry.get("responses", {})
    corrected = [name for name in designs if config["designs"][name]["surprisal"] == "corrected"]
    if "corrected" not in (varied or []) and (varied or not corrected):
        return []
    asked = "sensitivity → surprisal" if varied else f"responses → {min(corrected)}"
    lacking = (configuration.lacks_corrected(config, lm) for lm in entry["lms"])
    return [f"{where} → {asked}: {why}" for why in lacking if why]


def _pair_problems(entry, where) -> list[str]:
    """Return the pairs of LMs that are not in the experiment, or are compared twice."""
    problems, pairs = [], [tuple(sorted(pair)) for pair in entry.get("compare", [])]
    for key in ("compare", "nested"):
        for lm in dict.fromkeys(lm for pair in entry.get(key, []) for lm in pair):
            if lm not in entry["lms"]:
                problems.append(f"{where} → {key}: {lm!r} is not among the experiment's `lms`")
    for pair in dict.fromkeys(pair for pair in pairs if pairs.count(pair) > 1):
        problems.append(f"{where} → compare: {pair[0]!r} and {pair[1]!r} are compared twice")
    return problems


def _nested_problems(config, entry, where) -> list[str]:
    """Return designs and datasets that cannot combine the surprisal of two LMs."""
    problems = []
    for design in entry.get("responses", {}) if entry.get("nested") else ():
        location = f"{where} → responses → {design}"
        formula = _formula(config, design)
        # With a misspelled predictor, reported elsewhere, `of_interest` still names surprisal.
        interest = config["designs"][design].get("of_interest", [])
        used = [] if formula is None else [*names.used(formula), *interest]
        if used and not any(map(names.is_of_fitted_lm, used)):
            problems.append(
                f"{location}: `nested` compares the surprisal of two LMs, and the formula has none"
            )
        for dataset in {response.partition(".")[0] for response in entry["responses"][design]}:
            if config["datasets"][dataset].get("partitioned", True) is False:
                problems.append(
                    f"{where} → nested: {dataset} is not partitioned, so it has no held-out data for the tests"
                )
    return list(dict.fromkeys(problems))


def _recovery_problems(config, entry, where) -> list[str]:
    """Return readers that are not simulated, and simulated effects that a design lacks."""
    problems = []
    for design, listed in entry.get("responses", {}).items() if entry.get("recovery") else ():
        for dataset in dict.fromkeys(response.partition(".")[0] for response in listed):
            simulate = config["datasets"][dataset].get("simulate")
            if simulate is None:
                problems.append(f"{where} → recovery: the readers of {dataset} are not simulated")
                continue
            effects = simulate["readers"]["coefficients"].keys() - {"intercept"}
            formula = _formula(config, design)
            if formula is not None and (lost := sorted(effects - set(formula.fixed))):
                problems.append(
                    f"{where} → recovery: the design {design} has no {lost[0]}, which the readers of "
                    f"{dataset} have; add it to the formula unchanged"
                )
    return problems


def _formula(config, design):
    """Return a design's formula, or None if it cannot be parsed, which is reported elsewhere."""
    try:
        return designs.read(config["designs"][design])
    except REFUSALS:
        return None


def _seed_problems(config, entry, where) -> list[str]:
    """Return a problem with LMs trained elsewhere among LMs with several seeds."""
    if not grids.seeds_of(entry, config["scale"]) or "steps" in entry:
        return []
    lms = entry["lms"]
    single = [lm for lm in lms if _is_single(_entry_of_weights(config, lm))]
    if not single or len(single) == len(lms):
        return []
    return [
        (
            f"{where} → seeds: {single[0]!r} is a single network from elsewhere, and the others would have "
            "several: intervals would include new seeds of only one of two LMs; remove it, or "
            "remove `seeds`"
        )
    ]


def _entry_of_weights(config, lm):
    """Return the entry of the LM that provides an LM's weights."""
    entry = config["lms"][lm]
    if "languages" in entry:
        return _entry_of_weights(config, configuration.first_member(entry))
    return _entry_of_weights(config, entry["weights"]) if "weights" in entry else entry


def _is_single(lm) -> bool:
    """Return whether an LM is one network from elsewhere; n-grams do not depend on a seed."""
    table = configuration.kind_of(lm) == "table" and not configuration.has_seeds(lm)
    return "checkpoint" in lm or table


def _endpoint_problems(config, entry, where) -> list[str]:
    """Return the reason why an experiment's designs do not support its endpoint or bootstrap."""
    endpoint, bootstrap = entry.get("endpoint"), entry.get("bootstrap")
    stated = endpoint or (bootstrap == endpoints.CROSSED and endpoints.CROSSED)
    whole = [
        response.partition(".")[0]
        for listed in entry.get("responses", {}).values()
        for response in listed
        if not config["datasets"][response.partition(".")[0]].get("partitioned", True)
    ]
    if whole and endpoint not in (None, endpoints.IN_SAMPLE):
        return [
            (
                f"{where} → endpoint: {endpoint} scores observations outside the fit, and all of "
                f"{whole[0]!r} is (`partitioned: false`); write `endpoint: in_sample`"
            )
        ]
    for design in entry.get("responses", {}) if stated else ():
        if why := covered_endpoints.problems(config["designs"][design], stated):
            key = "endpoint" if endpoint else "bootstrap"
            return [f"{where} → {key}: {stated}; design {design}: {why}"]
    return []


def _verdict_and_recovery(study: Planned, experiment: str) -> list[str]:
    """Return the verdict, and figures of the estimated and true effects of simulations."""
    where = f"<results>/experiments/{experiment}"
    responses = study.responses(experiment) if study.experiment(experiment).get("recovery") else []
    recovered = [f"{where}/recovery.{r['dataset']}.{r['measure']}.svg" for r in responses]
    return [f"{where}/verdict.json", *recovered]


EVALUATION = Evaluation(
    key="responses",
    ranks=True,
    shares=("compare", "recovery", "search", "sensitivity", "test_statistic"),
    applies=_applies,
    inputs={
        "fits": lambda study, experiment: [
            "<results>/regression/{design}/{dataset}.{measure}/{lm}.full.json".format(**cell)
            for cell in study.named_cells(experiment)
        ],
        "others": lambda study, experiment: (
            [f"<results>/experiments/{experiment}/delta_loglik_secondary.csv"]
            if study.base(experiment, secondary=True)
            else []
        ),
        "counts": lambda study, experiment: [
            "<results>/observations/{dataset}.{measure}/counts.csv".format(**response)
            for response in study.responses(experiment)
        ],
    },
    settings={
        "fitted_cells": lambda study, experiment: [
            cell | {"but_for_seed": study.but_for_seed(cell["lm"])}
            for cell in study.named_cells(experiment)
        ],
        "lms": lambda study, experiment: study.ranked_lms(experiment),
        "baseline": lambda study, experiment: study.ranked_baseline(experiment),
        "seeds": lambda study, experiment: study.one_for_seeds(experiment),
        "trainings": lambda study, experiment: [
            {"lm": lm["lm"], "but_for_seed": study.but_for_seed(lm["lm"])}
            for lm in study.lms_of(experiment)
        ],
        "lms_but_for_seed": lambda study, experiment: [
            study.description(lm)
            for lm in {study.but_for_seed(lm["lm"]): 0 for lm in study.lms_of(experiment)}
        ],
    },
    conditions={
        "mixed": lambda study, experiment: all(
            not covered_endpoints.problems(study.config["designs"][r["design"]], "marginal")
            for r in study.all_responses(experiment)
        ),
        "slopes": lambda study, experiment: (
            sum(encoding.slope(lm["bias"]) is not None for lm in study.lms_of(experiment)) > 2
        ),
        "nested": lambda study, experiment: bool(study.experiment(experiment).get("nested")),
        "tested": lambda study, experiment: (
            len(study.experiment(experiment)["lms"]) > 1 and not study.all_fitted(experiment)
        ),
        "seeds": lambda study, experiment: study.several_seeds(experiment),
    },
    also=_verdict_and_recovery,
    problems=_problems,
)
