"""Reading times: ΔLogLik of each LM on the exploratory partition, tests on the held-out one."""

from recency import config as configuration
from recency import grids
from recency.evaluations.registry import Evaluation
from recency.figures import encoding
from recency.regression import endpoints


def _applies(study, experiment: str) -> bool:
    settings = study.experiment(experiment)
    asked = settings.get("responses") and not settings.keys() & {"sensitivity", "steps"}
    in_sample = settings.get("endpoint") == endpoints.IN_SAMPLE
    return bool(asked) and (in_sample or not study.all_fitted(experiment))


def _problems(config, name, known) -> list[str]:
    """Return what is wrong with an experiment's seeds, endpoint and bootstrap."""
    entry, where = config["experiments"][name], f"experiments → {name}"
    seeds = entry.get("seeds", [])
    for scale in seeds if isinstance(seeds, dict) else []:
        known(f"{where} → seeds", scale, "scales")
    return _seed_problems(config, entry, where) + _endpoint_problems(config, entry, where)


def _seed_problems(config, entry, where) -> list[str]:
    """Return the trainings of another's making among LMs of several seeds."""
    known = config["scale"] in config["scales"]  # all else is reported elsewhere
    if not known or not grids.seeds_of(entry, config["scale"]) or "steps" in entry:
        return []
    lms = [lm for lm in entry["lms"] if lm in config["lms"]]
    single = [lm for lm in lms if _is_single(_trained(config, lm))]
    if not single or len(single) == len(lms):
        return []
    return [
        (
            f"{where} → seeds: {single[0]!r} is one training, from elsewhere, and the others would have "
            "several: intervals would contain new seeds of one of two LMs only; take it out, or "
            "leave `seeds` out"
        )
    ]


def _trained(config, lm):
    """Return the entry of the LM whose weights an LM has."""
    entry = config["lms"][lm]
    return _trained(config, entry["weights"]) if entry.get("weights") in config["lms"] else entry


def _is_single(lm) -> bool:
    """Whether an LM is one training that no seed here repeats; n-grams depend on no seed."""
    table = configuration.kind_of(lm) == "table" and not configuration.has_seeds(lm)
    return "checkpoint" in lm or table


def _endpoint_problems(config, entry, where) -> list[str]:
    """Return why an experiment's designs do not have the endpoint or the bootstrap that it states."""
    endpoint, bootstrap = entry.get("endpoint"), entry.get("bootstrap")
    if bootstrap == endpoints.CROSSED and endpoint not in (None, endpoints.CROSSED):
        return [
            (
                f"{where} → bootstrap: crossed refits and scores unseen subjects and sentences, which is "
                f"`endpoint: crossed`, and the endpoint is {endpoint}; leave one of them out"
            )
        ]
    stated = endpoint or (bootstrap == endpoints.CROSSED and endpoints.CROSSED)
    whole = [
        response.partition(".")[0]
        for listed in entry.get("responses", {}).values()
        for response in listed
        if not config["datasets"].get(response.partition(".")[0], {}).get("partitioned", True)
    ]
    if whole and endpoint not in (None, endpoints.IN_SAMPLE):
        return [
            (
                f"{where} → endpoint: {endpoint} scores observations that are not fitted, and all of "
                f"{whole[0]!r} is (`partitioned: false`); write `endpoint: in_sample`"
            )
        ]
    asked = [name for name in entry.get("responses", {}) if name in config["designs"]]
    for design in asked if stated else []:
        if why := endpoints.problems(config["designs"][design], stated):
            key = "endpoint" if endpoint else "bootstrap"
            return [f"{where} → {key}: {stated}; design {design}: {why}"]
    return []


def _verdict_and_recovery(study, experiment: str) -> list[str]:
    """Return the verdict, and figures of the effects found next to those of the simulation."""
    where = f"<results>/experiments/{experiment}"
    responses = study.responses(experiment) if study.experiment(experiment).get("recovery") else []
    recovered = [f"{where}/recovery.{r['dataset']}.{r['measure']}.svg" for r in responses]
    return [f"{where}/verdict.json", *recovered]


EVALUATION = Evaluation(
    key="responses",
    applies=_applies,
    inputs={
        "beside": lambda study, experiment: (
            [f"<results>/experiments/{experiment}/delta_loglik_beside.csv"]
            if study.base(experiment, beside=True)
            else []
        ),
        "counts": lambda study, experiment: [
            "<results>/observations/{dataset}.{measure}/counts.csv".format(**response)
            for response in study.responses(experiment)
        ],
    },
    settings={
        "lms": lambda study, experiment: study.ranked_lms(experiment),
        "baseline": lambda study, experiment: study.ranked_baseline(experiment),
        "seeds": lambda study, experiment: study.one_for_seeds(experiment),
        "lms_but_for_seed": lambda study, experiment: [
            study.described(lm)
            for lm in {study.but_for_seed(lm["lm"]): 0 for lm in study.lms_of(experiment)}
        ],
    },
    conditions={
        "mixed": lambda study, experiment: all(
            not endpoints.problems(study.config["designs"][r["design"]], "marginal")
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
