"""Minimal pairs: which of two sentences each LM finds likelier."""

from recency import sources
from recency.config import training_words
from recency.errors import InputError
from recency.evaluations.registry import Data, Evaluation


def pairs(study, experiment: str, lm: str | None = None) -> str:
    """Return where an experiment's minimal pairs are, or an LM's surprisal of them."""
    name = study.experiment(experiment)["minimal_pairs"]
    return f"<results>/minimal_pairs/{f'{lm}/' if lm else ''}{name}.parquet"


def _training_words(study, experiment: str) -> str:
    """Return how many words the baseline was trained on, as papers write it (10M); "" if unsaid."""
    return training_words(study.config, study.experiment(experiment)["baseline"])


def _problems_of_tables(config, root, known) -> list[str]:
    problems = []
    for name, entry in config.get("minimal_pairs", {}).items():
        where = f"minimal_pairs → {name}"
        if "sources" in entry:
            try:
                sources.read(sources.place(entry["sources"], root))
            except InputError as error:
                problems.append(f"{where} → sources: {str(error)[:200]}")
        if "table" in entry and not entry["table"].keys() & {"url", "local", "stand_in"}:
            problems.append(f"{where} → table: 'url', 'local' or 'stand_in' must say where it is")
    return problems


EVALUATION = Evaluation(
    key="minimal_pairs",
    network=True,
    applies=lambda study, experiment: (
        bool(study.data_here(experiment, "minimal_pairs"))
        and "steps" not in study.experiment(experiment)
    ),
    wildcards={"pairs": "minimal_pairs"},
    data=Data("minimal_pairs", ("table",)),
    inputs={
        "pairs": pairs,
        "scores": lambda study, experiment: [
            pairs(study, experiment, lm) for lm in study.experiment(experiment)["lms"]
        ],
    },
    settings={"training_words": _training_words},
    table_problems=_problems_of_tables,
)
