"""What an exported language model is made of, and what its card says."""

from __future__ import annotations

from snakemake.exceptions import WorkflowError

from recency.evaluations import registry
from recency.workflow.study import Study

TABLES = ("perplexity", "delta_loglik")


def lms(study: Study) -> list[str]:
    """Return the LMs that are networks: those alone can be exported."""
    return [name for name, lm in study.lms.items() if study.weights(name) or "checkpoint" in lm]


def files(study: Study, lm: str) -> dict[str, list[str] | str]:
    """Return what the export of an LM reads: its weights, its losses, tables that it stands in.

    The tables are those of the run's experiments; with `run: []` laid over, there are none.
    """
    found: dict[str, list[str] | str] = {"model": study.weights(lm)}
    if found["model"]:
        found["training"] = f"<results>/lms/{study.lms[lm].get('weights', lm)}/training.csv"
    ranked = registry.evaluations()["reading_times"]
    for name in TABLES:
        found[name] = [
            f"<results>/experiments/{experiment}/{name}.csv"
            for experiment in study.config["run"]
            if lm in study.experiment(experiment).get("lms", [])
            and set(study.all_datasets(experiment)) - study.not_run.keys()
            and ranked.applies(study, experiment)
        ]
    return found


def about(study: Study, lm: str) -> dict:
    """Return what the card of an LM says of it; see recency.export.card."""
    entry, config = study.lms[lm], study.config
    made = {}
    if "checkpoint" not in entry:
        corpus = config["corpora"][entry["corpus"]]
        made = {
            "corpus": {"label": entry["corpus"]}
            | {key: corpus[key] for key in ("label", "licence", "cite") if key in corpus},
            "recipe": config["recipes"][entry["recipe"]],
            "seed": entry["seed"],
        }
    else:
        made["checkpoint"] = entry["checkpoint"]
    own = {k: v for k, v in config.get("export", {}).items() if k in ("licence", "cite")}
    labels = {name: dataset["label"] for name, dataset in config["datasets"].items()}
    return (
        made
        | own
        | {
            "label": entry["label"],
            "study": config["study"],
            "applied": entry["applied"],
            "datasets": {name: labels[name] for name in sorted(study.asked)},
        }
    )


def repository(study: Study, lm: str) -> str:
    """Return where on the Hub an LM is put: `owner` of the config's `export:`, study and LM."""
    owner = study.config.get("export", {}).get("owner")
    if not owner:
        raise WorkflowError(
            f"push_{lm}: whose repository on the Hub? Lay `export: {{owner: NAME}}` over the config"
        )
    return f"{owner}/{study.config['study']}-{lm}"
