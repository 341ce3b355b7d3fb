"""Dependencies in annotated stories, and what attention heads give them (Clark et al. 2025, § 7)."""

from recency.evaluations.registry import Data, Evaluation


def _of(study, experiment: str) -> str:
    return study.experiment(experiment)["dependencies"]


def _problems_of_tables(config, root, known) -> list[str]:
    found = []
    for name, entry in config.get("dependencies", {}).items():
        known(f"dependencies → {name} → dataset", entry["dataset"], "datasets")
        options = entry.get("options", {})
        given = [each for each in ("antecedents", "raising") if each in options]
        if given and options.get("rule", "graph") == "graph":
            found.append(
                f"dependencies → {name} → options → {given[0]}: an option of rule: categories, and "
                "the rule is graph; write rule: categories beside it, or take it out"
            )
    return found


EVALUATION = Evaluation(
    key="dependencies",
    network=True,
    attention=True,
    applies=lambda study, experiment: bool(study.data_here(experiment, "dependencies")),
    wildcards={"dependencies": "dependencies"},
    data=Data("dependencies", ("trees", "leaves")),
    inputs={
        "heads": lambda study, experiment: [
            f"<results>/attention/{lm}/{_of(study, experiment)}.heads.csv"
            for lm in study.experiment(experiment)["lms"]
        ],
        "counts": lambda study, experiment: (
            f"<results>/dependencies/{_of(study, experiment)}.counts.csv"
        ),
    },
    table_problems=_problems_of_tables,
)
