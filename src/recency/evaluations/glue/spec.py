"""GLUE: masked LMs fine-tuned to classify or score sentences and sentence pairs."""

from readingtimes.names import nearest
from recency import config as configuration
from recency.evaluations.registry import Data, Evaluation
from recency.planned import Planned

KEY = "glue"
PARTS = ("train", "dev", "dev_too")


def tasks(study: Planned, experiment: str) -> list[dict]:
    """Return an experiment's tasks: task, label, measure, and a reason if not run."""
    return [
        {
            "task": name,
            "label": (entry := study.config["glue_tasks"][name])["label"],
            "measure": entry["measure"],
            "not_run": study.no_data.get((KEY, name), ""),
        }
        for name in study.experiment(experiment)[KEY]["tasks"]
    ]


def _runs(study: Planned, experiment: str) -> list[str]:
    return [
        f"<results>/glue/{lm}/{task}.csv"
        for lm in study.named_lms(experiment, KEY)
        for task in study.data_here(experiment, KEY)
    ]


def _trained_lms(study: Planned, experiment: str) -> list[str]:
    """Return the fine-tuned LMs that are trained here, whose last validation gives a perplexity."""
    here = study.lms_that_are("trained")
    return [
        lm for lm in study.named_lms(experiment, KEY) if study.trained_as(lm) == lm and lm in here
    ]


def _problems(config, name) -> list[str]:
    experiment, where = config["experiments"][name], f"experiments → {name} → {KEY}"
    if KEY not in experiment:
        return []
    listed, chosen = experiment["lms"], experiment[KEY].get("lms", [])
    problems = [] if "fine_tuning" in config else [f"{where}: the table `fine_tuning` is missing"]
    problems += [
        f"{where}: {lm!r} predicts next tokens, and GLUE fine-tunes masked LMs; list only these in `lms`"
        for lm in configuration.causal_ones(config, chosen or listed)
    ]
    return problems + [
        f"{where} → lms: not among the experiment's {nearest(lm, listed)}"
        for lm in chosen
        if lm not in listed
    ]


def _problems_of_tables(config, root) -> list[str]:
    """List tasks whose columns are inconsistent with each other or with the files' headers."""
    problems = []
    for name, task in config.get("glue_tasks", {}).items():
        where, columns = f"glue_tasks → {name}", task["columns"]
        if len(set(columns.values())) < len(columns):
            problems.append(f"{where} → columns: one column has two roles")
        named = [column for column in columns.values() if isinstance(column, str)]
        parts = [part for part in PARTS if part in task]
        without = [part for part in parts if part not in task.get("header", parts)]
        if named and without:
            problems.append(
                f"{where} → columns: {without[0]} has no header, hence no column {named[0]!r}; number "
                "the columns from 0"
            )
    return problems


EVALUATION = Evaluation(
    key=KEY,
    network=True,
    attention=True,
    applies=lambda study, experiment: (
        bool(study.data_here(experiment, KEY)) and "steps" not in study.experiment(experiment)
    ),
    wildcards={"task": "glue_tasks"},
    data=Data("glue_tasks", PARTS, within="tasks"),
    inputs={
        "runs": _runs,
        "curves": lambda study, experiment: [
            f"<results>/lms/{lm}/training.csv" for lm in _trained_lms(study, experiment)
        ],
    },
    settings={
        "variants": lambda study, experiment: study.variants(experiment, KEY),
        "trained": _trained_lms,
        "tasks": tasks,
        "training": lambda study, experiment: study.config.get("fine_tuning"),
    },
    problems=_problems,
    table_problems=_problems_of_tables,
)
