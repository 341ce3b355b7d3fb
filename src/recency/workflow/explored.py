"""The files and settings of the explorer's rule."""

import os
import shlex
from collections.abc import Iterable

from recency.evaluations import registry
from recency.evaluations.explore import spec
from recency.regression import predictor_names as names
from recency.workflow import regressions
from recency.workflow.study import Study

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
    files = regressions.delta_loglik_files(study, experiment)
    files |= regressions.ranked_files(study, experiment, secondary=False)
    read = []
    for r in responses:
        base = regressions.base(study, r, baseline)
        lm = os.path.basename(base).removesuffix(".base.json")
        read.append(
            regressions.regression_files(study, r["design"], r["dataset"], r["measure"], lm)
        )
        read[-1]["fit"] = regressions.fit_partition(r["dataset"], r["measure"])
    datasets = [regressions.predictors(study, name) for name in study.datasets_of(experiment)]
    files["words"] = [dataset["words"] for dataset in datasets]
    if all(regressions.names_unigram(study, r["design"]) for r in responses):
        files["unigrams"] = [dataset["unigram"] for dataset in datasets]
    if registry.evaluations()["measured_memory"].applies(study, experiment):
        files["half_life"] = MEMORY.format(experiment=experiment)
    files["surprisals"] = regressions.surprisals(study, experiment)
    return files | regressions.parted(read)


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
        | {"others": names.lms(regressions.formula(study, r["design"]))}
        for r, label in zip(responses, labels, strict=True)
    ]
