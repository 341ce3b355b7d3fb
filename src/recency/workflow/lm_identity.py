"""What an LM computes, whatever its name and label: for lint rules that compare LMs."""

import json
from collections.abc import Mapping

from recency import config as configuration
from recency.workflow.lint import Plan

#: Keys that do not affect any value.
ABOUT = {"label", "licence", "cite", "accept", "note", "words", "language", "memory"}
#: Keys of a recipe that do not affect the comparison of two trainings.
OF_RUN = {"checkpoints", "validation", "device", "gpus", "micro_batch", "precision", "lossy"}
#: Form of bias → (parameter, value) that leaves attention as it is.
IDLE = {
    "exponential": ("weight", 0),
    "identity": ("weight", 0),
    "temperature": ("temperature", 1),
    "power_law": ("decay", 0),
    "logarithmic": ("decay", 0),
}
#: Form of bias → its parameter that is a number of tokens at full weight.
WIDTHS = {"window": "width", "power_law": "buffer"}


def identity(plan: Plan, lm: str) -> str:
    """Return a text that is the same for two LMs with the same surprisal of every word."""
    entry, settings = plan.config["lms"][lm], plan.settings(lm)
    kind = configuration.kind_of(settings)
    if "languages" in entry:
        parts: object = {code: identity(plan, m) for code, m in entry["languages"].items()}
    elif kind == "mix" and 1 in entry.get("shares", ()) and "cache" not in entry:
        return identity(plan, entry["interpolate"][entry["shares"].index(1)])
    elif kind == "mix":
        others = {k: v for k, v in entry.items() if k not in {*ABOUT, "interpolate"}}
        parts = [[identity(plan, member) for member in entry["interpolate"]], others]
    elif kind != "network":
        parts = [_text(settings.get(key)) for key in ("surprisals", "ngram")]
        parts.append(settings["seed"] if configuration.has_seeds(settings) else None)
    else:
        bias = {} if is_idle(plan, lm) else configuration.with_defaults(settings["bias"])
        bias = bias if settings["applied"] == "inference" else {}
        how = [settings.get(key) for key in ("bos", "stride", "scoring", "lossy", "precision")]
        parts = [_training(plan, lm), bias, how]
    return json.dumps(parts, sort_keys=True, default=str)


def _text(entry: object) -> object:
    """Return an entry without labels; of files, their checksums in place of their addresses."""
    if not isinstance(entry, Mapping):
        return entry
    return {key: value for key, value in entry.items() if key not in ABOUT}


def _training(plan: Plan, lm: str) -> object:
    """Return the settings that determine the weights of a network."""
    root, settings = plan.trained_as(lm), plan.settings(plan.trained_as(lm))
    if "checkpoint" in settings:
        return settings["checkpoint"]
    tables = {"architecture": "architectures", "corpus": "corpora", "tokenizer": "tokenizers"}
    tables["recipe"] = "recipes"
    parts = [_text(plan.config[table].get(settings[key])) for key, table in tables.items()]
    bias = configuration.with_defaults(settings["bias"])
    bias = {} if settings["applied"] == "inference" else bias
    step = plan.settings(lm).get("step")
    return [
        parts,
        bias,
        settings.get("memory"),
        settings["seed"],
        step,
        "" if step is None else root,
    ]


def is_idle(plan: Plan, lm: str) -> bool:
    """Return whether an LM's bias changes no attention score."""
    settings = plan.settings(lm)
    bias = configuration.with_defaults(settings.get("bias", {"form": "none"}))
    parameter, value = IDLE.get(bias["form"], ("", None))
    if parameter and bias.get(parameter) == value:
        return True
    width = bias.get(WIDTHS.get(bias["form"], ""), 0)
    context = contexts(plan, lm)
    return bool(context) and width >= context


def contexts(plan: Plan, lm: str) -> int | None:
    """Return the window, in tokens, in which a network trained here reads; None if unknown."""
    settings = plan.settings(lm)
    if configuration.kind_of(settings) != "network" or "checkpoint" in settings:
        return None
    context = plan.config["architectures"].get(settings["architecture"], {}).get("context")
    return settings.get("scoring", {}).get("window", context)


def training(plan: Plan, lm: str) -> dict[str, object]:
    """Return what a comparison of biases holds constant: text, vocabulary, recipe, tokens.

    Empty for tables and mixtures. LMs of other families (n-grams, recurrent networks) have fewer keys.
    """
    root = plan.trained_as(lm)
    settings = plan.settings(root)
    kind = configuration.kind_of(settings)
    corpora = plan.config["corpora"]
    if kind == "ngram":
        corpus = settings["ngram"].get("corpus")
        return {"training text": _text(corpora[corpus])} if corpus else {}
    if kind != "network":
        return {}
    if "checkpoint" in settings:
        return {"weights": settings["checkpoint"].partition("@")[0]}
    recipe = plan.config["recipes"][settings["recipe"]]
    step = plan.settings(lm).get("step", recipe.get("steps"))
    size = recipe["batch_sequences"] * recipe["sequence_length"]
    compared = {key: value for key, value in recipe.items() if key not in {*OF_RUN, "steps"}}
    architecture = plan.config["architectures"][settings["architecture"]]
    return {
        "training text": _text(corpora[settings["corpus"]]),
        "vocabulary": _text(plan.config["tokenizers"][settings["tokenizer"]]),
        "number of training tokens": step * size if step else f"{recipe.get('epochs')} epochs",
        "family": architecture["family"],
        "size": [architecture.get(key) for key in ("layers", "width", "feed_forward")],
        "recipe": compared,
    }


def differences(plan: Plan, lm: str, other: str) -> list[str]:
    """Return the constants of `training` in which two LMs differ, by language if they have several."""
    ours, theirs = (plan.config["lms"][name].get("languages") for name in (lm, other))
    if ours and theirs:
        shared = [code for code in ours if code in theirs]
        found = (d for code in shared for d in differences(plan, ours[code], theirs[code]))
        return list(dict.fromkeys(found))
    a, b = training(plan, lm), training(plan, other)
    if "weights" in a or "weights" in b:
        return ["weights"] if a and b and a.get("weights") != b.get("weights") else []
    families = {parts.get("family") for parts in (a, b)}
    skipped = {"family"} | ({"recipe", "size"} if len(families) > 1 else set())
    return [key for key in a if key in b and key not in skipped and a[key] != b[key]]


def corpus_of(plan: Plan, lm: str) -> str | None:
    """Return the corpus that an LM, or the LM of its weights, is trained on here; None if none is."""
    settings = plan.settings(plan.trained_as(lm))
    if configuration.kind_of(settings) == "ngram":
        return settings["ngram"].get("corpus")
    is_network = configuration.kind_of(settings) == "network"
    return settings["corpus"] if is_network and "checkpoint" not in settings else None
