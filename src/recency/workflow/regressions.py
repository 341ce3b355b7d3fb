"""The files of surprisal, observations and regressions that the rules read and make."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from recency import grids
from recency.workflow.study import Study


def observations_file(response: Mapping, name: str) -> str:
    """Return a file of a response's observations: fit.parquet, held_out.parquet, counts.csv …."""
    return "<results>/observations/{dataset}.{measure}/".format(**response) + name


def loglik_file(fit: str) -> str:
    """Return where the exploratory observations' part of a fit's log-likelihood is kept."""
    return fit.removesuffix(".json") + ".parquet"


def surprisals(study: Study, experiment: str) -> list[str]:
    """Return the surprisal of an experiment's datasets under each of its LMs."""
    return [
        f"<results>/surprisal/{lm}/{dataset}.parquet"
        for lm in study.experiment(experiment)["lms"]
        for dataset in study.datasets_of(experiment)
    ]


def fit(study: Study, response: Mapping, lm: str, model: str) -> str:
    """Return where a fit is kept."""
    where = "<results>/regression/{design}/{dataset}.{measure}".format(**response)
    return f"{where}/{lm}.{model}.json"


def base(study: Study, response: Mapping, lm: str) -> str:
    """Return which fit is an LM's base: its own, or the one that all LMs share."""
    common = study.config["designs"][response["design"]]["base"] == "all"
    return fit(study, response, "none" if common else lm, "base")


def fits(study: Study, experiment: str) -> list[str]:
    """Return the full fits of an experiment, cell by cell."""
    return [fit(study, r, lm["lm"], "full") for r, lm in study.cells(experiment)]


def bases(study: Study, experiment: str) -> list[str]:
    """Return the base of each cell of an experiment."""
    return [base(study, r, lm["lm"]) for r, lm in study.cells(experiment)]


def predictors(study: Study, dataset: str, lm: str = "none") -> dict[str, str]:
    """Return the tables that a regression's predictors come from."""
    files = {
        "words": f"<results>/datasets/{dataset}/words.parquet",
        "unigram": f"<results>/surprisal/{study.scale['unigram']}/{dataset}.parquet",
    }
    if lm != "none":
        files["surprisal"] = f"<results>/surprisal/{lm}/{dataset}.parquet"
    return files


def names_unigram(study: Study, design: str) -> bool:
    """Say whether a formula has the unigram surprisal of a word or of the one before."""
    formula = study.config["designs"][design]["formula"]
    return re.search(r"\b(previous_)?unigram\b", formula) is not None


def regression_files(
    study: Study, design: str, dataset: str, measure: str, lm: str
) -> dict[str, str]:
    """Return a regression's tables of predictors, and the exploratory partition if there is one.

    A unigram model is asked for by the designs that name it alone: some corpora have a
    frequency of their own.
    """
    files = predictors(study, dataset, lm)
    if not names_unigram(study, design):
        del files["unigram"]
    if study.partitioned(dataset):
        where = f"<results>/observations/{dataset}.{measure}"
        files["exploratory"] = f"{where}/exploratory.parquet"
    return files


def unigrams_for(study: Study, responses: Iterable[Mapping]) -> dict[str, list[str]]:
    """Return the unigram surprisal of each response, where one of their designs names it."""
    responses = list(responses)
    if not any(names_unigram(study, r["design"]) for r in responses):
        return {}
    return {"unigram": [predictors(study, r["dataset"])["unigram"] for r in responses]}


def baselines(study: Study, experiment: str) -> dict[str, str]:
    """Return LM → the baseline that it is compared with, of its own seed and settings."""
    entry = study.experiment(experiment)
    if experiment in study.grids:
        return grids.baselines(study.grids[experiment]["lms"], entry["baseline"])
    return dict.fromkeys(entry["lms"], entry["baseline"])


def comparisons(study: Study, experiment: str) -> list[tuple[dict, str, str]]:
    """Return every comparison × response of an experiment that has a held-out partition.

    They are (response, LM a, LM b): every LM with its baseline, then the pairs of `compare`.
    """
    pairs = [(lm, other) for lm, other in baselines(study, experiment).items() if lm != other]
    known = {frozenset(pair) for pair in pairs}
    for pair in study.experiment(experiment).get("compare", []):
        pairs += [tuple(pair)] if frozenset(pair) not in known else []
        known.add(frozenset(pair))
    held_out = [r for r in study.responses(experiment) if study.partitioned(r["dataset"])]
    return [(r, a, b) for a, b in pairs for r in held_out]


def named_comparisons(study: Study, experiment: str) -> list[dict]:
    """Return lm_a, lm_b, dataset, measure and design of every comparison."""
    return [
        {"lm_a": a, "lm_b": b} | {k: r[k] for k in ("dataset", "measure", "design")}
        for r, a, b in comparisons(study, experiment)
    ]


def permutation_files(study: Study, experiment: str) -> dict[str, list[str]]:
    """Return what the permutation tests of an experiment read, comparison by comparison."""
    asked = comparisons(study, experiment)
    return {
        "held_out": [observations_file(r, "held_out.parquet") for r, _, _ in asked],
        "words": [predictors(study, r["dataset"])["words"] for r, _, _ in asked],
        "unigram": [predictors(study, r["dataset"])["unigram"] for r, _, _ in asked],
        "surprisal_a": [predictors(study, r["dataset"], a)["surprisal"] for r, a, _ in asked],
        "surprisal_b": [predictors(study, r["dataset"], b)["surprisal"] for r, _, b in asked],
        "fit_a": [fit(study, r, a, "full") for r, a, _ in asked],
        "fit_b": [fit(study, r, b, "full") for r, _, b in asked],
    }


def delta_aic_files(study: Study, experiment: str) -> dict[str, list[str]]:
    """Return what ΔAIC of an experiment is computed from, cell by cell."""
    asked = study.cells(experiment)
    return unigrams_for(study, (r for r, _ in asked)) | {
        "fits": fits(study, experiment),
        "words": [predictors(study, r["dataset"])["words"] for r, _ in asked],
        "observations": [observations_file(r, "fit.parquet") for r, _ in asked],
        "surprisal": [predictors(study, r["dataset"], lm["lm"])["surprisal"] for r, lm in asked],
    }


def search_files(study: Study, search: str) -> dict[str, list[str]]:
    """Return what a search of a bias's parameters reads, response by response."""
    asked = study.search_responses(search)
    return unigrams_for(study, asked) | {
        "words": [predictors(study, r["dataset"])["words"] for r in asked],
        "fit": [observations_file(r, "fit.parquet") for r in asked],
        "model": study.weights(study.config["searches"][search]["lm"]),
    }


def search_settings(study: Study, search: str) -> dict:
    """Return how a search scores and fits, and what it varies."""
    entry = study.config["searches"][search]
    lm = study.lms[entry["lm"]]
    varied = ("form", "layers", "parameters", "trials", "seed")
    return {
        "lm": entry["lm"],
        "checkpoint": lm.get("checkpoint"),
        "allow_pickle": lm.get("allow_pickle", False),
        "bos": lm["bos"],
        "stride": lm["stride"],
        "scoring": lm.get("scoring", {}),
        "responses": [
            {k: r[k] for k in ("dataset", "measure")}
            | {"design": study.config["designs"][r["design"]]}
            for r in study.search_responses(search)
        ],
        "search": {key: entry[key] for key in varied if key in entry},
        "mark": {name: study.config["biases"][name] for name in entry.get("mark", [])},
    }


def recovery_fits(study: Study, experiment: str, dataset: str, measure: str) -> list[str]:
    """Return the fits whose effects are set beside the truth, response by response."""
    return [
        fit(study, response, lm["lm"], "full")
        for response in study.responses(experiment)
        if (response["dataset"], response["measure"]) == (dataset, measure)
        for lm in study.recovered(experiment, dataset)
    ]


def counts(study: Study, experiment: str) -> list[str]:
    """Return the counts of observations of an experiment's responses."""
    return [observations_file(r, "counts.csv") for r in study.responses(experiment)]


def check_unigram(
    study: Study, dataset: str, targets: Iterable[str], path_of, planning: bool
) -> list[str]:
    """Return the dataset's unigram surprisal, if it is there or will be made for the regressions.

    Asked for a check alone, nobody wants to wait for a unigram model. `path_of` resolves path
    variables; `planning` is whether this process plans the run.
    """
    path = predictors(study, dataset)["unigram"]
    alone = targets and all(str(target).startswith("check_") for target in targets)
    named = any(
        names_unigram(study, r["design"])
        for name in study.config["run"]
        for r in study.all_responses(name)
        if r["dataset"] == dataset
    )
    made = planning and named and not alone
    return [path] if made or os.path.exists(path_of(path)) else []
