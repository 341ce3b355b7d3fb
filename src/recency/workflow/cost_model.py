"""Resources that jobs ask for."""

from functools import cache

from recency import devices
from recency.workflow import batches

#: Rules that run a network, in addition to `train`.
NETWORKS = frozenset(
    [
        "surprisal",
        "corpus_surprisal",
        "text_perplexity",
        "length_perplexity",
        "fine_tune",
        "score_pairs",
        "babylm_scores",
        "babylm_words",
        "structural_probe",
        "bias_search",
        "attention_map",
        "attention_by_distance",
        "attention_heads",
        "rank_metrics",
        "remember_lists",
        "temporal_correlation",
        "measured_memory",
        "rare_words_by_lm",
        "abusive_vectors",
        "nearest_words",
    ]
)


@cache
def gpus_here() -> int:
    """Return the number of GPUs that this process may use."""
    return len(devices.visible())


def gpus(study, lm: str, trains: bool = False) -> int:
    """Return how many GPUs a job that runs an LM asks for, or the job that trains it.

    One where the device of the LM's recipe is `cuda`, or `auto` and a GPU is here, else none; the
    recipe's `gpus` for a training, and for weights that are distributed (`device_map`).
    """
    recipe = study.config["recipes"][study.lms[lm]["recipe"]]
    together = recipe.get("gpus", 1) if trains or "device_map" in study.lms[lm] else 1
    if recipe["device"] == "auto":
        return min(together, gpus_here())
    return together if recipe["device"] == "cuda" else 0


def request(rules, study, workflow) -> None:
    """Set the resources of rules; those of the command line (`--set-resources`) have precedence."""
    given = workflow.resource_settings.overwrite_resources
    for rule in rules:
        kind = batches.kind_of(rule.name)
        if kind == "train" or kind in NETWORKS:
            rule.resources.update({"gpu": _gpus(study, kind)})
        rule.resources.update(given.get(rule.name, {}))


def _gpus(study, kind: str):
    """Return a function of wildcards: the GPUs of a job."""

    def asked(wildcards):
        lm = (
            study.config["searches"][wildcards.search]["lm"]
            if kind == "bias_search"
            else wildcards.lm
        )
        return gpus(study, lm, kind == "train")

    return asked
