"""Checks of masked LMs that are trained here: network, objective, tokenizer and bias have to go together."""

from collections.abc import Iterator, Mapping

from recency import config as configuration
from recency import plugins
from recency.errors import InputError
from recency.scoring import measures
from recency.workflow.memory_checks import settings_of

#: What an architecture of family `roberta` alone has.
ROBERTA = (
    "attention_dropout", "positions", "head", "embedding_norm", "embedding_scale",
    "normalised_embeddings",
)  # fmt: skip
#: Forms of bias for networks that see both directions, as messages name them.
BOTH = "linear_both, two_slopes, one_sided"


def problems(config: dict) -> list[str]:
    """List architectures, recipes and LMs whose settings do not go with a masked LM."""
    found = [
        p for name, entry in config["architectures"].items() for p in _architecture(name, entry)
    ]
    found += [p for name, recipe in config["recipes"].items() for p in _recipe(name, recipe)]
    masked = set()
    for name in config["lms"]:
        lm = settings_of(config, name)
        if lm is not None:
            found += _lm(config, f"lms → {name}", lm)
            if config["architectures"][lm["architecture"]]["family"] == "roberta":
                masked.add(name)
                found += _own(f"lms → {name}", config["lms"][name])
    return found + [p for name in config["experiments"] for p in _experiment(config, name, masked)]


def _own(where: str, lm: Mapping) -> Iterator[str]:
    """Yield what a masked LM says of how causal ones read a text."""
    for key in ("bos", "stride"):
        if lm.get(key):
            yield (
                f"{where} → {key}: a masked LM has its own tokens around a text, and reads it in whole windows; "
                "leave it out"
            )


def _architecture(name: str, architecture: Mapping) -> Iterator[str]:
    """Yield what only an encoder has."""
    family = architecture["family"]
    if family == "roberta":
        return
    for key in ROBERTA:
        if key in architecture:
            yield f"architectures → {name} → {key}: a network of family {family} has none; leave it out"


def _recipe(name: str, recipe: Mapping) -> Iterator[str]:
    """Yield shares that are more than all, and an order that rows of masked words have not."""
    masking = recipe.get("masking", {})
    masked, random = masking.get("masked", 0.8), masking.get("random", 0.1)
    if masked + random > 1:
        yield (
            f"recipes → {name} → masking: {masked} masked and {random} random are more than 1, all of "
            "the tokens that are predicted"
        )
    if recipe.get("objective") == "masked" and recipe["order"] == "streams":
        yield (
            f"recipes → {name} → order: streams carry a state, and masked words have none; take "
            "sequential or shuffled"
        )


def _lm(config: dict, where: str, lm: Mapping) -> Iterator[str]:
    """Yield what of an LM does not go together."""
    named, recipe = lm["architecture"], config["recipes"][lm["recipe"]]
    architecture = config["architectures"][named]
    encoder, masked = architecture["family"] == "roberta", recipe.get("objective") == "masked"
    if encoder and not masked:
        yield (
            f"{where}: recipes → {lm['recipe']} has each next token predicted, which architectures → "
            f"{named}, an encoder, sees; take a recipe of `objective: masked`"
        )
    if masked and not encoder:
        yield (
            f"{where}: recipes → {lm['recipe']} masks tokens, and architectures → {named}, of family "
            f"{architecture['family']}, does not see what comes after; take one of family roberta"
        )
    if not (encoder and masked):
        return
    tokenizer = config["tokenizers"].get(lm["tokenizer"], {})
    if "corpus" in tokenizer and tokenizer.get("kind") != "masked":
        yield (
            f"{where} → tokenizer: {lm['tokenizer']!r} has no <mask>; take one of `kind: masked`, or a "
            "file that has one"
        )
    try:
        measures.check_masked(measures.check(lm.get("measures"), lm.get("context")))
    except InputError as error:
        yield f"{where} → measures: {error}"
    form = lm["bias"]["form"]
    if form == "none" and architecture.get("positions") == "none":
        yield (
            f"{where}: architectures → {named} has `positions: none` and the LM no bias, so that nothing "
            "tells it the order of words; give it a `bias`, or learned or sinusoidal positions"
        )
    if form in configuration.forms():
        if not plugins.attribute(configuration.BIASES, form, "both_directions"):
            yield (
                f"{where} → bias: architectures → {named} is an encoder, and the form {form!r} says "
                f"nothing of what comes after; {BOTH} do"
            )
        if form == "one_sided" and architecture["heads"] % 2:
            yield f"{where} → bias: one_sided parts the heads in halves, and {architecture['heads']} have none"


def _experiment(config: dict, name: str, masked: set[str]) -> Iterator[str]:
    """Yield designs that need the space behind a word, which a masked LM does not predict."""
    experiment, where = config["experiments"][name], f"experiments → {name}"
    own = [lm for lm in experiment["lms"] if lm in masked]
    designs, grid = experiment.get("responses", {}), experiment.get("sensitivity", {})
    corrected = [d for d in designs if config["designs"].get(d, {}).get("surprisal") == "corrected"]
    if own and (
        "corrected" in grid.get("surprisal", []) or (corrected and "surprisal" not in grid)
    ):
        yield (
            f"{where}: {own[0]!r} is a masked LM, which has no corrected surprisal; give those that have an "
            "experiment of their own, or take `surprisal: plain`"
        )
