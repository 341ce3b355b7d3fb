"""Checks of what vectors of words begin a training as: a recipe's `vectors`."""

from collections.abc import Mapping

from recency import config as configuration
from recency.workflow.memory_checks import settings_of


def problems(config: dict, known) -> list[str]:
    """List recipes whose vectors are not there, and LMs that cannot begin with them."""
    found, given = [], {}
    for name, recipe in config["recipes"].items():
        vectors, where = recipe.get("vectors", {}), f"recipes → {name} → vectors"
        if "of" in vectors and known(f"{where} → of", vectors["of"], "lms"):
            given[name] = vectors["of"]
    for name in config["lms"]:
        lm = settings_of(config, name)
        if (
            lm is not None
            and lm["recipe"] in given
            and configuration.is_trained(config["lms"][name])
        ):
            found += _of_lm(config, name, lm, given[lm["recipe"]])
    return found


def _of_lm(config: dict, name: str, lm: Mapping, other: str) -> list[str]:
    """List why an LM cannot begin with the vectors of another one."""
    where = f"lms → {name} → recipe: {lm['recipe']!r} begins with vectors"
    if config["tokenizers"].get(lm["tokenizer"], {}).get("kind") != "words":
        return [f"{where} of words, and {lm['tokenizer']!r} is no tokenizer of `kind: words`"]
    source = settings_of(config, other)
    if source is None or not configuration.is_trained(config["lms"][other]):
        return [f"{where} of {other!r}, which is not trained here; name one that is"]
    if "vectors" in config["recipes"][source["recipe"]]:
        return [f"{where} of {other!r}, which itself begins with vectors; name one that does not"]
    if source["tokenizer"] != lm["tokenizer"]:
        return [f"{where} of {other!r}, whose tokenizer is another one, {source['tokenizer']!r}"]
    wide, has = (_read(config, each) for each in (source, lm))
    if wide != has:
        return [f"{where} of {other!r}, of {wide} numbers, and its architecture reads {has}"]
    return []


def _read(config: dict, lm: Mapping) -> int:
    """Return by how many numbers a word is read."""
    architecture = config["architectures"][lm["architecture"]]
    return architecture.get("embedding", architecture["width"])
