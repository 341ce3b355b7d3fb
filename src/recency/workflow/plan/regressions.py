"""Paths of surprisal, observations and regressions, for the rules' inputs and outputs.

The files and settings of the explorer's rule.

Inputs and settings of searches for bias parameters.

Inputs and settings of the CDLMs of a study.
"""

import functools
import os
import shlex
from collections.abc import Iterable, Mapping

from crosslmm.formula import Formula
from recency import config as configuration
from recency import grids
from recency.endpoints import CROSSED, DRAWS
from recency.evaluations import registry
from recency.evaluations.explore import spec
from recency.regression import designs
from recency.regression import predictor_names as names
from recency.workflow.plan import batches
from recency.workflow.plan.study import Study


def observations_file(response: Mapping, name: str) -> str:
    """Return the path of a response's observations: fit.parquet, held_out.parquet, counts.csv …."""
    return "<results>/observations/{dataset}.{measure}/".format(**response) + name


def loglik_file(fit: str) -> str:
    """Return the path of the log-likelihoods of a fit's exploratory observations."""
    return fit.removesuffix(".json") + ".parquet"


def surprisals(study: Study, experiment: str) -> list[str]:
    """Return the surprisal files of an experiment's datasets and LMs."""
    return [
        f"<results>/surprisal/{lm}/{dataset}.parquet"
        for lm in study.experiment(experiment)["lms"]
        for dataset in study.datasets_of(experiment)
    ]


def fit(study: Study, response: Mapping, lm: str, model: str) -> str:
    """Return the path of a fit."""
    where = "<results>/regression/{design}/{dataset}.{measure}".format(**response)
    return f"{where}/{lm}.{model}.json"


def base(study: Study, response: Mapping, lm: str, secondary: bool = False) -> str:
    """Return the fit of an LM's baseline model: its own, or the one that all LMs share.

    With `secondary`, that of the design's second baseline model, if any.
    """
    kinds = designs.bases(study.config["designs"][response["design"]])
    return fit(study, response, "none" if kinds[-1 if secondary else 0] == "all" else lm, "base")


def crossed_file(study: Study, experiment: str, fit: str) -> str:
    """Return the path of a model's scores by the crossed bootstrap."""
    draws = study.experiment(experiment).get("draws", DRAWS)
    where, _, model = fit.removesuffix(".json").rpartition("/")
    where = where.replace("<results>/regression/", f"<results>/crossed/draws-{draws}/")
    return f"{where}/{model}.parquet"


def crossed_files(study: Study, experiment: str) -> dict[str, list[str]]:
    """Return the paths of the crossed-bootstrap scores of each cell and its baseline model."""
    parts = {"full": fits(study, experiment), "base": bases(study, experiment)}
    return {
        f"{name}_crossed": [crossed_file(study, experiment, path) for path in paths]
        for name, paths in parts.items()
    }


def fits(study: Study, experiment: str) -> list[str]:
    """Return the full fits of an experiment, cell by cell."""
    return [fit(study, r, lm["lm"], "full") for r, lm in study.cells(experiment)]


def bases(study: Study, experiment: str, secondary: bool = False) -> list[str]:
    """Return the baseline fit of each cell of an experiment; see `base`."""
    return [base(study, r, lm["lm"], secondary) for r, lm in study.cells(experiment)]


def delta_loglik_files(study: Study, experiment: str) -> dict[str, list[str]]:
    """Return the full and baseline fits of each cell, and their observations' log-likelihoods."""
    full, base = fits(study, experiment), bases(study, experiment)
    return {
        "full": full,
        "base": base,
        "full_observations": [loglik_file(path) for path in full],
        "base_observations": [loglik_file(path) for path in base],
    }


def ranked_files(study: Study, experiment: str, secondary: bool) -> dict[str, list[str]]:
    """Return the inputs of an experiment's ΔLogLik, relative to one of its baseline models."""
    full, base = fits(study, experiment), bases(study, experiment, secondary)
    files, endpoint = {"full": full, "base": base}, study.endpoint(experiment, secondary)
    if endpoint == CROSSED:
        return files | crossed_files(study, experiment)
    files["full_observations"] = [loglik_file(path) for path in full]
    files["base_observations"] = [loglik_file(path) for path in base]
    return files


def scored_files(study: Study, experiment: str) -> dict[str, list[str]]:
    """Return the log-likelihood files of both models, by an experiment's endpoint."""
    files = ranked_files(study, experiment, secondary=False)
    kind = "crossed" if "full_crossed" in files else "observations"
    return {name: files.get(f"{name}_{kind}", []) for name in ("full", "base")}


def words_files(study: Study, experiment: str) -> list[str]:
    """Return the words of an experiment's datasets, of which some may share texts."""
    datasets = dict.fromkeys(cell["dataset"] for cell in study.ranked_cells(experiment))
    return [f"<results>/datasets/{dataset}/words.parquet" for dataset in datasets]


def predictors(study: Study, dataset: str, lm: str = "none") -> dict[str, str]:
    """Return the tables of a regression's predictors."""
    files = {
        "words": f"<results>/datasets/{dataset}/words.parquet",
        "unigram": f"<results>/surprisal/{study.scale['unigram']}/{dataset}.parquet",
    }
    if lm != "none":
        files["surprisal"] = f"<results>/surprisal/{lm}/{dataset}.parquet"
    return files


def formula(study: Study, design: str) -> Formula:
    """Return the formula of a design."""
    entry = study.config["designs"][design]
    return _formula(entry["formula"], entry["engine"])


@functools.cache
def _formula(text: str, engine: str) -> Formula:
    """Parse a formula, cached because every job of a plan needs it."""
    return designs.read({"formula": text, "engine": engine})


def names_unigram(study: Study, design: str) -> bool:
    """Return whether a formula has the unigram surprisal of a word or of a neighbouring word."""
    used = names.used(formula(study, design))
    return any(names.split(name).stem == "unigram" for name in used)


def own_columns(study: Study, dataset: str, measure: str) -> list[str]:
    """Return the columns of a dataset's words or observations that designs use."""
    asked = {
        response["design"]
        for table in registry.fitted_tables()
        for name in study.config.get(table, {})
        for response in configuration.responses(study.config, name, table)
        if (response["dataset"], response["measure"]) == (dataset, measure)
    }
    return sorted(
        {name for design in asked for name in names.dataset_columns(formula(study, design))}
    )


def named_lms(study: Study, responses: Iterable[Mapping]) -> list[dict[str, str]]:
    """Return lm and dataset for each LM that the formulas of responses name."""
    pairs = [(lm, r["dataset"]) for r in responses for lm in names.lms(formula(study, r["design"]))]
    return [{"lm": lm, "dataset": dataset} for lm, dataset in dict.fromkeys(pairs)]


def others(study: Study, responses: Iterable[Mapping]) -> dict[str, list[str]]:
    """Return the surprisal files of named_lms(), in its order."""
    named = named_lms(study, responses)
    return {"others": ["<results>/surprisal/{lm}/{dataset}.parquet".format(**n) for n in named]}


def regression_files(
    study: Study, design: str, dataset: str, measure: str, lm: str
) -> dict[str, str]:
    """Return the predictor tables of a regression, and the exploratory partition if there is one.

    Only designs that name it require a unigram model; some corpora have their own frequencies.
    """
    files = predictors(study, dataset, lm)
    if not names_unigram(study, design):
        del files["unigram"]
    if study.partitioned(dataset):
        where = f"<results>/observations/{dataset}.{measure}"
        files["exploratory"] = f"{where}/exploratory.parquet"
    response = {"design": design, "dataset": dataset, "measure": measure}
    return files | others(study, [response])


def parted(files: Iterable[Mapping]) -> dict:
    """Merge the files of several regressions: `<role>_<number>` → files."""
    return {
        f"{role}_{n}": paths for n, by_role in enumerate(files) for role, paths in by_role.items()
    }


def files_of(study: Study, responses: Iterable[tuple[str, str, str]], lm: str) -> dict:
    """Return the inputs of a job that fits several responses (design, dataset, measure)."""
    return parted(
        regression_files(study, *response, lm) | {"fit": fit_partition(*response[1:])}
        for response in responses
    )


def fit_partition(dataset: str, measure: str) -> str:
    """Return the path of the fitted observations of a response."""
    return f"<results>/observations/{dataset}.{measure}/fit.parquet"


def settings_of(study: Study, responses: Iterable[tuple[str, str, str]]) -> list[dict]:
    """Return name, dataset, design and the design's LMs of each response that a job fits.

    `in_sample` is set if an experiment ranks by the likelihood of the fitted observations.
    """
    return [
        {
            "name": f"{dataset}.{measure}, {design}",
            "dataset": dataset,
            "design": study.config["designs"][design],
            "others": names.lms(formula(study, design)),
        }
        | ({"in_sample": True} if (design, dataset, measure) in study.in_sample else {})
        for design, dataset, measure in responses
    ]


def nested_files(
    study: Study, design: str, dataset: str, measure: str, lm: str, other: str
) -> dict[str, str]:
    """Return the inputs of a regression with two LMs: those of the first, and the other's surprisal."""
    files = regression_files(study, design, dataset, measure, lm)
    other_files = {"second": predictors(study, dataset, other)["surprisal"]}
    return parted([files | other_files | {"fit": fit_partition(dataset, measure)}])


def random_effects_files(
    study: Study, design: str, dataset: str, measure: str, lm: str
) -> dict[str, str]:
    """Return the inputs of the search for the random-effects structure, without the fit partition."""
    files = predictors(study, dataset, lm)
    return files | others(study, [{"design": design, "dataset": dataset}])


def unigrams_for(study: Study, responses: Iterable[Mapping]) -> dict[str, list[str]]:
    """Return the unigram surprisal of each response if a design names it."""
    responses = list(responses)
    if not any(names_unigram(study, r["design"]) for r in responses):
        return {}
    return {"unigram": [predictors(study, r["dataset"])["unigram"] for r in responses]}


def baselines(study: Study, experiment: str) -> dict[str, str]:
    """Return LM → baseline LM with the same seed and settings."""
    entry = study.experiment(experiment)
    if experiment in study.grids:
        return grids.baselines(study.grids[experiment]["lms"], entry["baseline"])
    return dict.fromkeys(entry["lms"], entry["baseline"])


def ranked_baselines(study: Study, experiment: str) -> dict[str, str]:
    """Return LM → baseline LM, for the LMs that the experiment ranks."""
    of = study.one_for_seeds(experiment)
    return {of[lm]: of[other] for lm, other in baselines(study, experiment).items()}


def settings_apart(study: Study, experiment: str) -> dict[str, str]:
    """Return design → its settings, if an experiment varies them; each has a separate total."""
    if not grids.is_varied(study.experiment(experiment)):
        return {}
    return grids.settings_of_designs(study.grids[experiment]["designs"])


def memory_kinds(study: Study, experiment: str) -> dict[str, str]:
    """Return LM → its kind, if an evaluation of the experiment compares kinds."""
    kinds: dict[str, str] = {}
    for evaluation in registry.evaluations().values():
        kinds |= evaluation.kinds(study, experiment) if evaluation.kinds else {}
    return kinds


def comparisons(study: Study, experiment: str) -> list[tuple[dict, str, str]]:
    """Return (response, LM a, LM b) for every comparison and response with a held-out partition.

    Each LM is compared with its baseline, then come the pairs of `compare`.
    """
    pairs = [(lm, other) for lm, other in baselines(study, experiment).items() if lm != other]
    seen = {frozenset(pair) for pair in pairs}
    for pair in study.experiment(experiment).get("compare", []):
        pairs += [tuple(pair)] if frozenset(pair) not in seen else []
        seen.add(frozenset(pair))
    held_out = [r for r in study.responses(experiment) if study.partitioned(r["dataset"])]
    return [(r, a, b) for a, b in pairs for r in held_out]


def named_comparisons(study: Study, experiment: str) -> list[dict]:
    """Return lm_a, lm_b, dataset, measure, design, and the seed if there are several, of each comparison."""
    of, asked = study.one_for_seeds(experiment), comparisons(study, experiment)
    named = named_pairs([(r, of[a], of[b]) for r, a, b in asked])
    if not study.several_seeds(experiment):
        return named
    return [n | {"seed": study.lms[a]["seed"]} for n, (_, a, _) in zip(named, asked, strict=True)]


def permutation_files(study: Study, experiment: str) -> dict[str, list[str]]:
    """Return the inputs of an experiment's permutation tests, by comparison."""
    return tested_files(study, comparisons(study, experiment))


def tested_files(study: Study, asked: list[tuple[dict, str, str]]) -> dict[str, list[str]]:
    """Return the inputs of tests between two LMs' full models."""
    responses = [response for response, _, _ in asked]
    return (
        unigrams_for(study, responses)
        | others(study, responses)
        | {
            "held_out": [observations_file(r, "held_out.parquet") for r, _, _ in asked],
            "words": [predictors(study, r["dataset"])["words"] for r, _, _ in asked],
            "surprisal_a": [predictors(study, r["dataset"], a)["surprisal"] for r, a, _ in asked],
            "surprisal_b": [predictors(study, r["dataset"], b)["surprisal"] for r, _, b in asked],
            "fit_a": [fit(study, r, a, "full") for r, a, _ in asked],
            "fit_b": [fit(study, r, b, "full") for r, _, b in asked],
        }
    )


def nested_pairs(study: Study, experiment: str) -> list[tuple[dict, str, str]]:
    """Return (response, LM a, LM b) for every nested comparison and response of an experiment."""
    pairs = study.experiment(experiment).get("nested", [])
    return [(r, a, b) for a, b in pairs for r in study.responses(experiment)]


def named_pairs(pairs: list[tuple[dict, str, str]]) -> list[dict]:
    """Return lm_a, lm_b, dataset, measure and design of every comparison."""
    about = ("dataset", "measure", "design")
    return [{"lm_a": a, "lm_b": b} | {k: r[k] for k in about} for r, a, b in pairs]


def nested_table_files(study: Study, experiment: str) -> dict[str, list[str]]:
    """Return the inputs of an experiment's nested comparisons, by comparison."""
    asked = nested_pairs(study, experiment)
    files = tested_files(study, asked)
    files["fit_both"] = [fit(study, r, f"{a}+{b}", "full") for r, a, b in asked]
    for which in ("a", "b", "both"):
        files[f"observations_{which}"] = [loglik_file(path) for path in files[f"fit_{which}"]]
    return files


def delta_aic_files(study: Study, experiment: str) -> dict[str, list[str]]:
    """Return the inputs of an experiment's ΔAIC, by cell."""
    asked = study.cells(experiment)
    needed = unigrams_for(study, (r for r, _ in asked)) | others(study, (r for r, _ in asked))
    return needed | {
        "fits": fits(study, experiment),
        "words": [predictors(study, r["dataset"])["words"] for r, _ in asked],
        "observations": [observations_file(r, "fit.parquet") for r, _ in asked],
        "surprisal": [predictors(study, r["dataset"], lm["lm"])["surprisal"] for r, lm in asked],
    }


def recovery_fits(study: Study, experiment: str, dataset: str, measure: str) -> list[str]:
    """Return the fits whose effects are compared with the truth, by response."""
    return [
        fit(study, response, lm["lm"], "full")
        for response in study.responses(experiment)
        if (response["dataset"], response["measure"]) == (dataset, measure)
        for lm in study.recovered(experiment, dataset)
    ]


def counts(study: Study, experiment: str) -> list[str]:
    """Return the files of observation counts of an experiment's responses."""
    return [observations_file(r, "counts.csv") for r in study.responses(experiment)]


def check_unigram(study: Study, dataset: str, targets: Iterable[str], planning: bool) -> list[str]:
    """Return the dataset's unigram surprisal, if it exists or will be made for the regressions.

    A quality report alone should not wait for a unigram model. `planning` is whether this process plans
    the run.
    """
    path = predictors(study, dataset)["unigram"]
    only_checks = targets and all(str(target).startswith("check_") for target in targets)
    named = any(
        names_unigram(study, r["design"])
        for name in study.config["run"]
        for r in study.all_responses(name)
        if r["dataset"] == dataset
    )
    will_be_made = planning and named and not only_checks
    return [path] if will_be_made or os.path.exists(study.resolve(path)) else []


MEMORY = "<results>/experiments/{experiment}/table_half_life.csv"
SETTINGS = ("title", "lms", "cells", "datasets", "responses", "endpoint")
"""The parameters of the rule that the study gives."""


def experiments(study: Study) -> list[str]:
    """Return the experiments that have a page."""
    return [name for name in study.config["experiments"] if spec.applies(study, name)]


def page(experiment: str) -> str:
    """Return the file of an experiment's page."""
    return spec.PAGE.format(experiment=experiment)


def command(experiment: str, configfiles: Iterable[str | os.PathLike]) -> str:
    """Return the command that writes the page again, with these config files."""
    files = [os.path.relpath(path) for path in configfiles]
    given = ["--configfile", *files] if files else []
    return shlex.join(["./run", spec.target(experiment), "--cores", "1", *given])


def inputs(study: Study, experiment: str) -> dict:
    """Return the fits that a page shows, their parts, and the inputs of its baseline models.

    The roles of the baseline models' files are numbered by response.
    """
    responses, baseline = study.responses(experiment), study.experiment(experiment)["baseline"]
    files = delta_loglik_files(study, experiment)
    files |= ranked_files(study, experiment, secondary=False)
    read = []
    for r in responses:
        of_base = base(study, r, baseline)
        lm = os.path.basename(of_base).removesuffix(".base.json")
        read.append(regression_files(study, r["design"], r["dataset"], r["measure"], lm))
        read[-1]["fit"] = fit_partition(r["dataset"], r["measure"])
    datasets = [predictors(study, name) for name in study.datasets_of(experiment)]
    files["words"] = [dataset["words"] for dataset in datasets]
    if all(names_unigram(study, r["design"]) for r in responses):
        files["unigrams"] = [dataset["unigram"] for dataset in datasets]
    if registry.evaluations()["measured_memory"].applies(study, experiment):
        files["half_life"] = MEMORY.format(experiment=experiment)
    files["surprisals"] = surprisals(study, experiment)
    if any("reader" in study.lms[lm["lm"]] for lm in study.lms_of(experiment)):
        files["fixations"] = [
            f"<results>/datasets/{name}/fixations.parquet" for name in study.datasets_of(experiment)
        ]
    return files | parted(read)


def setting(study: Study, experiment: str, name: str) -> object:
    """Return one of SETTINGS."""
    if name == "lms":
        return [{key: lm[key] for key in ("lm", "label")} for lm in study.ranked_lms(experiment)]
    if name == "cells":
        return study.ranked_cells(experiment)
    if name == "datasets":
        labels = study.config["datasets"]
        return [
            {"dataset": dataset, "label": labels[dataset]["label"]}
            for dataset in study.datasets_of(experiment)
        ]
    if name == "responses":
        return _responses(study, experiment)
    if name == "endpoint":
        return study.endpoint(experiment)
    return study.experiment(experiment)[name]


def parameters(study: Study) -> dict:
    """Return keyword → function of wildcards, for the parameters of the rule."""
    return {
        name: lambda wildcards, name=name: setting(study, wildcards.experiment, name)
        for name in SETTINGS
    }


def _responses(study: Study, experiment: str) -> list[dict]:
    """Return design, dataset, measure, a unique label and the formula's LMs of each response."""
    responses = study.responses(experiment)
    labels = [f"{r['label']} {r['measure']}" for r in responses]
    return [
        {key: r[key] for key in ("design", "dataset", "measure")}
        | {"label": label if labels.count(label) == 1 else f"{label}, {r['design']}"}
        | {"others": names.lms(formula(study, r["design"]))}
        for r, label in zip(responses, labels, strict=True)
    ]


def search_files(study: Study, search: str) -> dict[str, list[str]]:
    """Return the inputs of a search for bias parameters, by response."""
    asked = study.search_responses(search)
    return unigrams_for(study, asked) | {
        "words": [predictors(study, r["dataset"])["words"] for r in asked],
        "fit": [observations_file(r, "fit.parquet") for r in asked],
        "model": batches.network(study, study.config["searches"][search]["lm"]),
    }


def search_settings(study: Study, search: str) -> dict:
    """Return the settings of a search: scoring, fitting and parameters."""
    entry = study.config["searches"][search]
    varied = ("form", "layers", "parameters", "trials", "seed")
    return {
        "lm": study.opening(entry["lm"]),
        "responses": [
            {k: r[k] for k in ("dataset", "measure")}
            | {"design": study.config["designs"][r["design"]]}
            for r in study.search_responses(search)
        ],
        "search": {key: entry[key] for key in varied if key in entry},
        "mark": {name: study.config["biases"][name] for name in entry.get("mark", [])},
    }


def cdlms(study) -> list[str]:
    """Return the CDLMs among the LMs."""
    return [name for name, lm in study.config["lms"].items() if "cdlm" in lm.get("ngram", {})]


def cdlm_settings(study, lm: str) -> dict:
    """Return the training settings of a CDLM."""
    entry = study.lms[lm]["ngram"]["cdlm"]
    return {key: entry[key] for key in entry if key not in ("of", "grown_from", "validation")}


def cdlm_files(study, lm: str) -> dict[str, str | list[str]]:
    """Return the inputs of a CDLM: training text, validation text, and the CDLM that it extends."""
    entry = study.lms[lm]["ngram"]["cdlm"]
    files = {
        "text": study.ngram_text(entry["of"]),
        "validation": f"<results>/corpora/{entry['validation']}/text.parquet",
        "arpa": study.ngram_file(entry["of"]),
    }
    smaller = entry.get("grown_from")
    return files | ({"grown_from": [study.ngram_file(smaller)]} if smaller else {})


def cdlm_passages(study, lm: str) -> str | list[str]:
    """Return the passages of a CDLM's training text."""
    of = study.lms[lm]["ngram"]["cdlm"]["of"]
    return study.files.passages(study.lms[of]["ngram"]["corpus"])
