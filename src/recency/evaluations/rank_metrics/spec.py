"""Rank metrics: where LMs rank the word that comes, and how they would go on."""

from functools import partial
from pathlib import Path

from recency import config as configuration
from recency.evaluations.registry import Evaluation, settings

KINDS = ("network", "ngram")
#: How KenLM's binaries begin.
BINARY = b"mmap lm http://kheafield.com/code"
settings_of = partial(settings, "rank_metrics")


def stem(settings: dict) -> str:
    """Write the settings as a file's name: experiments that ask for the same share the files."""
    return (
        "{dataset}.sentences-{sentences}-least-{least}-kept-{kept}-longest-{longest}"
        "-temperature-{temperature}-seed-{seed}"
    ).format(**settings)


def _files(ending: str):
    def listed(study, experiment: str) -> list[str]:
        name = stem(settings_of(study.config, experiment))
        return [
            f"<results>/rank_metrics/{lm}/{name}.{ending}"
            for lm in study.experiment(experiment)["lms"]
            if configuration.kind_of(study.lms[lm]) in KINDS
            and not {"cdlm", "distance"} & study.lms[lm].get("ngram", {}).keys()
        ]

    return listed


def _problems(config, name) -> list[str]:
    if "rank_metrics" not in config["experiments"][name]:
        return []
    settings, where = settings_of(config, name), f"experiments → {name} → rank_metrics"
    problems = [
        f"{where}: {lm!r} is KenLM's binary {file}, which lists no words to rank; give the ARPA file that it "
        "was made of, or an experiment without it"
        for lm in config["experiments"][name]["lms"]
        if _is_binary(
            file := config["lms"].get(lm, {}).get("ngram", {}).get("file", {}).get("local")
        )
    ]
    if settings["kept"] >= settings["least"]:
        problems.append(
            f"{where} → kept: {settings['kept']} of a sentence's {settings['least']} words leave none to count"
        )
    return problems


def _is_binary(path: str | None) -> bool:
    """Say whether a file is here, and one of KenLM's binaries."""
    if not path or not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(BINARY)) == BINARY


def _measures(config, wildcards) -> dict[str, list[str]]:
    """Return the measures of a job of rule rank_metrics, which alone has a temperature."""
    ranks = ["log_rank", "top"]
    return {configuration.MEASURES: ranks} if hasattr(wildcards, "temperature") else {}


EVALUATION = Evaluation(
    key="rank_metrics",
    applies=lambda study, experiment: (
        study.experiment(experiment).get("rank_metrics", {}).get("dataset")
        not in (None, *study.not_run)
    ),
    inputs={"ranks": _files("parquet"), "continuations": _files("csv")},
    settings={"seed": lambda study, experiment: settings_of(study.config, experiment)["seed"]},
    also=lambda study, experiment: [f"<results>/experiments/{experiment}/continuations.csv"],
    problems=_problems,
    chooses=_measures,
)
