"""Inputs and settings of searches for bias parameters."""

from recency.workflow import batches, regressions
from recency.workflow.study import Study


def search_files(study: Study, search: str) -> dict[str, list[str]]:
    """Return the inputs of a search for bias parameters, by response."""
    asked = study.search_responses(search)
    return regressions.unigrams_for(study, asked) | {
        "words": [regressions.predictors(study, r["dataset"])["words"] for r in asked],
        "fit": [regressions.observations_file(r, "fit.parquet") for r in asked],
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
