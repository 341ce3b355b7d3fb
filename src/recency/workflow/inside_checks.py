"""Check that LMs have the parts that internal measures need: layers, heads, gates, an n-gram model."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from recency import config as configuration
from recency.errors import InputError
from recency.scoring import measures
from recency.scoring import measures as sites


def problems(config: dict, root: Path) -> list[str]:
    """List measures that LMs cannot have; shared problems are listed once."""
    shared: dict[str, list[str]] = {}
    for name, lm in config["lms"].items():
        if configuration.kind_of(lm) == "network":
            for problem in _of_lm(config, configuration.language_model(config, name), root):
                shared.setdefault(problem, []).append(name)
    return [
        f"lms → {lms[0]}{f' (and {len(lms) - 1} more)' if lms[1:] else ''} → {problem}"
        for problem, lms in shared.items()
    ]


def _of_lm(config: dict, lm: Mapping, root: Path) -> Iterator[str]:
    """Yield the problems of an LM, beginning with the key."""
    try:
        asked = measures.check(lm.get("measures"))
    except InputError:
        return  # reported by the check of measures
    lens = lm.get("scoring", {}).get("tuned_lens")
    if lens is not None and not (root / lens).is_file():
        yield f"scoring → tuned_lens: there is no file {lens!r}"
    if names := asked.with_sources("ngram"):
        yield from _of_ngrams(config, lm.get("ngram_lm"), names[0])
    architecture = config["architectures"][lm["architecture"]]
    if "checkpoint" in lm or architecture["family"] == "roberta":
        return  # checkpoints are checked by the job, masked LMs by network_checks
    shape = shape_of(lm["architecture"], architecture, lm.get("memory"))
    if shape is not None:
        for problem in sites.problems(asked.with_sources(*sites.INSIDE), shape):
            yield f"measures: {problem}"


def shape_of(name: str, architecture: Mapping, memory: Mapping | None) -> sites.Shape | None:
    """Return the shape of a network in `architectures:`; None if its memory is missing."""
    layers, title = architecture["layers"], f"architectures → {name}"
    if architecture["family"] != "recurrent":
        attending = tuple(range(1, layers + 1))
        return sites.Shape(title, layers, architecture["heads"], attending, gated=layers)
    if memory is None:
        return None
    has_more = "feed_forward" in architecture
    return sites.memory_shape(memory, layers + has_more, has_more)


def _of_ngrams(config: dict, named: str | None, measure: str) -> Iterator[str]:
    """Yield why there is no n-gram model to compare surprisal with."""
    if named is None:
        yield (
            f"measures: {measure!r} needs an n-gram model; name an n-gram LM of `lms` in `ngram_lm`"
        )
    elif (kind := configuration.kind_of(config["lms"][named])) != "ngram":
        called = configuration.CALLED.get(kind, "a network")
        yield f"ngram_lm: {named!r} is {called}; name an n-gram LM of `lms`"
