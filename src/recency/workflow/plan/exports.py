"""Inputs and cards of exported language models and datasets."""

from snakemake.exceptions import WorkflowError

from recency import config as configuration
from recency import grids
from recency.evaluations import registry
from recency.export import shareable
from recency.workflow.plan import batches, costs, products, regressions
from recency.workflow.plan.study import Study

TABLES = ("perplexity", "delta_loglik")


def lms(study: Study) -> list[str]:
    """Return the LMs that can be exported: networks."""
    return costs.exported_lms(study.config)


def files(study: Study, lm: str) -> dict[str, list[str] | str]:
    """Return the inputs of an LM's export: weights, losses, tables with its results.

    The tables are those of the run's experiments; with `run: []` there are none.
    """
    inputs: dict[str, list[str] | str] = {"model": batches.network(study, lm)}
    if study.weights(lm):
        inputs["training"] = f"<results>/lms/{study.trained_as(lm)}/training.csv"
    ranked = registry.ranking()
    for name in TABLES:
        inputs[name] = [
            f"<results>/experiments/{experiment}/{name}.csv"
            for experiment in study.config["run"]
            if lm in study.experiment(experiment).get("lms", [])
            and set(study.all_datasets(experiment)) - study.not_run.keys()
            and ranked.applies(study, experiment)
        ]
    return inputs


def about(study: Study, lm: str) -> dict:
    """Return the information on an LM for its card; see recency.export.card."""
    entry, config = study.lms[lm], study.config
    origin = {}
    if "checkpoint" not in entry:
        corpus = config["corpora"][entry["corpus"]]
        origin = {
            "corpus": {"label": entry["corpus"]}
            | {key: corpus[key] for key in ("label", "licence", "cite") if key in corpus},
            "recipe": config["recipes"][entry["recipe"]],
            "seed": entry["seed"],
        } | {key: entry[key] for key in ("step",) if key in entry}
    else:
        origin["checkpoint"] = entry["checkpoint"]
    if entry.get("lossy"):
        origin["lossy"] = {k: v for k, v in entry["lossy"].items() if k != "unigram"}
    terms = {k: v for k, v in config.get("export", {}).items() if k in ("licence", "cite")}
    labels = {name: dataset["label"] for name, dataset in config["datasets"].items()}
    return (
        shareable.without_folders(origin)
        | terms
        | {
            "label": entry["label"],
            "study": config["study"],
            "applied": entry["applied"],
            "ranked": next((of[lm] for of in _representatives(study) if lm in of), lm),
            "datasets": {name: labels[name] for name in sorted(study.asked)},
        }
    )


def _representatives(study: Study) -> list[dict[str, str]]:
    """Return LM → the LM that represents its seeds, for each experiment of the run."""
    return [study.one_for_seeds(experiment) for experiment in study.config["run"]]


def repository(study: Study, lm: str) -> str:
    """Return an LM's repository on the Hub: `owner` of the config's `export:`, study and LM."""
    owner = study.config.get("export", {}).get("owner")
    if not owner:
        raise WorkflowError(
            f"push_{lm}: the repository's owner on the Hub is missing; set `export: {{owner: NAME}}` in the config"
        )
    return f"{owner}/{study.config['study']}-{lm}"


# Datasets


def lms_for(study: Study, dataset: str) -> list[str]:
    """Return the LMs of a dataset's export: those of the run's experiments that use it, else of all of these.

    Learning curves, with many LMs, are used only if there is nothing else.
    """
    run = study.config["run"]
    reading = [
        name
        for name in run
        if any(response["dataset"] == dataset for response in study.all_responses(name))
    ]
    few = [name for name in reading or run if not grids.has_steps(study.experiment(name))]
    return list(
        dict.fromkeys(lm for name in few or reading or run for lm in study.experiment(name)["lms"])
    )


def dataset_files(study: Study, dataset: str) -> dict[str, list[str] | str]:
    """Return the inputs of a dataset's export."""
    where = "<results>/surprisal/{}/{}.parquet"
    measures = study.config["datasets"][dataset]["measures"]
    return regressions.predictors(study, dataset) | {
        "records": [f"<results>/{fit['file']}" for fit in fitted(study, dataset)],
        "responses": [study.responses_file(dataset, measure) for measure in measures],
        "surprisal": [where.format(lm, dataset) for lm in lms_for(study, dataset)],
        "scored": study.scored_by(dataset),
    }


def dataset_settings(study: Study, dataset: str) -> dict:
    """Return the parameters of recency.export.dataset.main, without `dataset`."""
    entry, parted = study.config["datasets"][dataset], study.partitioned(dataset)
    names = lms_for(study, dataset)
    sources = [*study.files.with_words(dataset)["words"].values(), *entry["responses"].values()]
    placed = [file for file in sources if not file.keys() & {"url", "simulated"}]
    return {
        "lms": names,
        "measures": [
            {
                "measure": measure,
                "filters": study.filters(dataset, measure),
                "event": study.event(dataset, measure),
                "partitioned": parted,
            }
            for measure in entry["measures"]
        ],
        "fits": fitted(study, dataset),
        "about": {key: entry.get(key) for key in ("label", "licence", "cite")}
        | {
            "study": study.config["study"],
            "supplied": bool(placed),
            "partitioned": parted,
            "lms": {name: _what(study.lms[name]) for name in names},
        },
    }


def parameters(study: Study) -> dict:
    """Return keyword → function of wildcards, for the values of dataset_settings()."""

    def parameter(key: str):
        return lambda wildcards: dataset_settings(study, wildcards.dataset)[key]

    return {key: parameter(key) for key in ("lms", "measures", "fits", "about")}


def fitted(study: Study, dataset: str) -> list[dict]:
    """Return the fits that a dataset's R code reproduces.

    They are those of the run's experiments, or of the first experiment that uses the dataset.
    """
    asked = [
        name
        for name in dict.fromkeys([*study.config["run"], *study.config["experiments"]])
        if any(r["dataset"] == dataset for r in study.all_responses(name))
    ]
    in_run = [name for name in asked if name in study.config["run"]]
    lms, fits = lms_for(study, dataset), {}
    for name in in_run or asked[:1]:
        for response in study.all_responses(name):
            design = study.config["designs"][response["design"]]
            if response["dataset"] != dataset:
                continue
            for lm in study.experiment(name)["lms"]:
                if lm in lms:
                    file = regressions.fit(study, response, lm, "full").removeprefix("<results>/")
                    about = {"design": design, "measure": response["measure"], "lm": lm}
                    fits[file] = about | {"file": file}
    return list(fits.values())


def _what(lm: dict) -> str:
    """Describe an LM in one line."""
    kind = configuration.kind_of(lm)
    if kind != "network":
        also = {"ngram": "n-grams", "mix": "LMs mixed", "by_language": "an LM for each language"}
        return ({"table": "surprisals from a table"} | also)[kind]
    origin = (
        f"checkpoint {shareable.without_folders(lm['checkpoint'])}"
        if "checkpoint" in lm
        else f"trained on {lm['corpus']}"
    )
    bias = ", ".join(f"{key} {value}" for key, value in lm["bias"].items())
    phase = ", applied at inference" if lm["applied"] == "inference" else ""
    return origin if lm["applied"] == "none" else f"{origin}; bias: {bias}{phase}"


def texts_and_times(study: Study) -> bool:
    """Return whether exports and crates hold texts, responses and readers' ids: `export:` asks for them."""
    return study.config.get("export", {}).get("texts_and_times", False)


def crate_corpora(study: Study) -> dict[str, list[str]]:
    """Return the words and responses of the run's datasets, which a crate must not hold."""
    names = {name for experiment in study.config["run"] for name in study.datasets_of(experiment)}
    return {
        "words": [f"<results>/datasets/{name}/words.parquet" for name in sorted(names)],
        "responses": [path for name in sorted(names) for path in study.responses_files(name)],
    }


def crate_settings(study: Study) -> dict:
    """Return the parameters of the RO-Crate's rule."""
    summary = products.summary_settings(study)
    return {
        "title": summary["study"],
        "config": study.config,
        "inputs": {
            study.resolve(path): study.files.described.get(path, {}) for path in _originals(study)
        },
        "corpora": products.corpora(study),
    }


def _originals(study: Study) -> list[str]:
    """Return the original files of a run's datasets, trained LMs and unigram models."""
    run, config = study.config["run"], study.config
    datasets = {name for experiment in run for name in study.datasets_of(experiment)}
    paths = [
        path
        for name in sorted(datasets)
        for part in ("words", "responses")
        if "dataset" not in config["datasets"][name][part]
        for path in study.files.dataset(name, part).values()
    ]
    lms = [study.lms[lm] for experiment in run for lm in study.experiment(experiment)["lms"]]
    unigram = config["unigrams"].get(study.scale["unigram"], {})
    corpora = {lm["corpus"] for lm in lms if "recipe" in lm} | {unigram.get("corpus")}
    for name in sorted(filter(None, corpora)):
        if "pretokenized" in config["corpora"][name]:
            paths.append(study.files.pretokenized(name))
        elif "simulate" not in config["corpora"][name]:
            paths += study.files.of_corpus(name)
    return list(dict.fromkeys(paths))
