"""Check that LMs have what measures of their inside are asked of: layers, heads, gates, an n-gram model."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from recency import config as configuration
from recency.errors import InputError
from recency.scoring import measure_sites as sites
from recency.scoring import measures


def problems(config: dict, root: Path) -> list[str]:
    """List measures that LMs do not have; what several LMs share is said once."""
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
    """Yield what an LM does not have, each from the key on that is wrong."""
    try:
        asked = measures.check(lm.get("measures"))
    except InputError:
        return  # said of the measures themselves
    lens = lm.get("scoring", {}).get("tuned_lens")
    if lens is not None and not (root / lens).is_file():
        yield f"scoring → tuned_lens: there is no file {lens!r}"
    if names := asked.of("ngram"):
        yield from _of_ngrams(config, lm.get("ngram_lm"), names[0])
    architecture = config["architectures"][lm["architecture"]]
    if "checkpoint" in lm or architecture["family"] == "roberta":
        return  # the job looks into a checkpoint; of masked LMs network_checks says it
    shape = shape_of(lm["architecture"], architecture, lm.get("memory"))
    if shape is not None:
        for problem in sites.problems(asked.of(*sites.INSIDE), shape):
            yield f"measures: {problem}"


def shape_of(name: str, architecture: Mapping, memory: Mapping | None) -> sites.Shape | None:
    """Return what is inside a network of an `architectures:` entry; None without the memory it needs."""
    layers, title = architecture["layers"], f"architectures → {name}"
    if architecture["family"] != "recurrent":
        attending = tuple(range(1, layers + 1))
        return sites.Shape(title, layers, architecture["heads"], attending, gated=layers)
    if memory is None:
        return None
    has_more = "feed_forward" in architecture
    return sites.of_memory(memory, layers + has_more, has_more)


def _of_ngrams(config: dict, named: str | None, measure: str) -> Iterator[str]:
    """Yield why no n-gram model is there to compare surprisal with."""
    if named is None:
        yield (
            f"measures: {measure!r} needs an n-gram model; name an n-gram LM of `lms` in `ngram_lm`"
        )
    elif (kind := configuration.kind_of(config["lms"][named])) != "ngram":
        called = configuration.CALLED.get(kind, "a network")
        yield f"ngram_lm: {named!r} is {called}; name an n-gram LM of `lms`"
