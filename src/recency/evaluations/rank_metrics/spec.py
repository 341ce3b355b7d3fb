"""Rank metrics: LMs' ranks of the observed words, and their continuations."""

from functools import partial
from pathlib import Path

from recency import config as configuration
from recency.evaluations.registry import Evaluation, setting, settings
from recency.planned import Planned

KINDS = ("network", "ngram")
#: First bytes of KenLM's binaries.
BINARY = b"mmap lm http://kheafield.com/code"
settings_of = partial(settings, "rank_metrics")


def stem(settings: dict) -> str:
    """Return the settings as a file name, shared by experiments with the same settings."""
    return (
        "{dataset}.sentences-{sentences}-min_words-{min_words}-prompt-{prompt}-longest-{longest}"
        "-temperature-{temperature}-seed-{seed}"
    ).format(**settings)


def _files(ending: str):
    def files_of(study: Planned, experiment: str) -> list[str]:
        name = stem(settings_of(study.config, experiment))
        return [
            f"<results>/rank_metrics/{lm}/{name}.{ending}"
            for lm in study.experiment(experiment)["lms"]
            if configuration.kind_of(study.lms[lm]) in KINDS
            and not {"cdlm", "distance"} & study.lms[lm].get("ngram", {}).keys()
        ]

    return files_of


def _problems(config, name) -> list[str]:
    if "rank_metrics" not in config["experiments"][name]:
        return []
    settings, where = settings_of(config, name), f"experiments → {name} → rank_metrics"
    problems = [
        f"{where}: {lm!r} is KenLM's binary {file}, which lists no words to rank; use its ARPA file, "
        "or remove the LM from the experiment"
        for lm in config["experiments"][name]["lms"]
        if _is_binary(
            file := config["lms"].get(lm, {}).get("ngram", {}).get("file", {}).get("local")
        )
    ]
    if settings["prompt"] >= settings["min_words"]:
        problems.append(
            f"{where} → prompt: {settings['prompt']} of a sentence's {settings['min_words']} words leave none to count"
        )
    return problems


def _is_binary(path: str | None) -> bool:
    """Return whether a file exists and is a KenLM binary."""
    if not path or not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(BINARY)) == BINARY


def _measures(config, wildcards) -> dict[str, list[str]]:
    """Return the measures of a job of rule rank_metrics, the only one with a temperature."""
    ranks = ["log_rank", "top"]
    return {configuration.MEASURES: ranks} if hasattr(wildcards, "temperature") else {}


EVALUATION = Evaluation(
    key="rank_metrics",
    inputs={"ranks": _files("parquet"), "continuations": _files("csv")},
    settings={"seed": setting("rank_metrics", "seed")},
    also=lambda study, experiment: [f"<results>/experiments/{experiment}/continuations.csv"],
    problems=_problems,
    chooses=_measures,
)
