"""Check that LMs are not evaluated on their training text, as far as the config shows.

Covered are texts of interpolation weights, validation and perplexity. Parts of one corpus are different
texts; a copy under another name is detected by the job that reads it (recency.history).
"""

from collections.abc import Iterator, Mapping

from recency import config as configuration
from recency.evaluations import registry
from recency.history import MOST_SEEN

#: Keys of a corpus that do not identify its text.
ABOUT = ("label", "cite", "licence", "words", "documents")


def problems(config: Mapping) -> list[str]:
    """List evaluations on a text that the LM was trained on.

    Parameters
    ----------
    config : Mapping
        The complete config; undefined names are ignored.
    """
    faults = {}
    for where, lm, evaluated in _evaluations(config):
        for trained in dict.fromkeys(_trained_on(config, lm, set())):
            if _share(config, evaluated, trained) > MOST_SEEN:
                same = "" if trained == evaluated else f", the same text as {evaluated!r}"
                faults[where, lm, trained] = (
                    f"{where}: {lm!r} is trained on {trained!r}{same}; use a text that it was not trained on"
                )
    return list(faults.values())


def _evaluations(config: Mapping) -> Iterator[tuple[str, str, str]]:
    """Yield (path in the config, LM, corpus) for evaluations on a corpus."""
    for name, lm in config["lms"].items():
        on = lm.get("held_out", {}).get("corpus")
        for part in lm.get("interpolate", ()) if on else ():
            yield f"lms → {name} → held_out → corpus", part, on
        if on := lm.get("ngram", {}).get("cdlm", {}).get("validation"):
            yield f"lms → {name} → ngram → cdlm → validation", name, on
        recipe = _recipe(config, lm) if configuration.is_trained(lm) else None
        if on := config["recipes"].get(recipe, {}).get("validation", {}).get("corpus"):
            yield f"recipes → {recipe} → validation → corpus", name, on
    for name, experiment in config["experiments"].items():
        for evaluation in registry.evaluations().values():
            if evaluation.texts and evaluation.key in experiment:
                for part, lm, corpus in evaluation.texts(config, name):
                    yield f"experiments → {name} → {evaluation.key} → {part}", lm, corpus


def _trained_on(config: Mapping, name: str, seen: set[str]) -> Iterator[str]:
    """Yield the training corpora of an LM, of its components, and of its initial weights."""
    lm = config["lms"].get(name)
    if lm is None or name in seen:
        return
    seen.add(name)
    of = [
        *lm.get("interpolate", ()),
        *lm.get("languages", {}).values(),
        lm.get("weights"),
        lm.get("checkpoint_of"),
    ]
    ngram = lm.get("ngram", {})
    if "corpus" in ngram:
        yield ngram["corpus"]
    of += [ngram.get("cdlm", {}).get(key) for key in ("of", "grown_from")]
    if configuration.is_trained(lm):
        yield lm.get("corpus", config["scales"].get(config["scale"], {}).get("corpus", ""))
        of.append(config["recipes"].get(_recipe(config, lm), {}).get("vectors", {}).get("of"))
    for other in filter(None, of):
        yield from _trained_on(config, other, seen)


def _recipe(config: Mapping, lm: Mapping) -> str | None:
    """Return the recipe of an LM that is trained here, None if undefined."""
    named = lm.get("recipe", config["scales"].get(config["scale"], {}).get("recipe"))
    return named if named in config["recipes"] else None


def _share(config: Mapping, evaluated: str, trained: str) -> float:
    """Return the share of a corpus's documents in another corpus, if both are of the same text."""
    corpora = config["corpora"]
    if not {evaluated, trained} <= corpora.keys():
        return 0.0
    own_entry, other = corpora[evaluated], corpora[trained]
    if evaluated != trained and _text(own_entry) != _text(other):
        return 0.0
    whole = {"of": 1, "numbers": [0]}
    parts, had = own_entry.get("documents", whole), other.get("documents", whole)
    if had["of"] == 1:
        return 1.0
    if parts["of"] != had["of"]:
        return 0.0 if parts["of"] > 1 else len(set(had["numbers"])) / had["of"]
    return len(set(parts["numbers"]) & set(had["numbers"])) / len(set(parts["numbers"]))


def _text(corpus: Mapping) -> dict:
    """Return the keys that identify the text of a corpus; the checksum for a file that has one."""
    identity = {key: value for key, value in corpus.items() if key not in ABOUT}
    file = identity.get("file", identity.get("pretokenized"))
    if isinstance(file, dict) and "sha256" in file:
        key = "file" if "file" in identity else "pretokenized"
        identity[key] = {k: file[k] for k in ("sha256", "byte_range") if k in file}
    return identity
