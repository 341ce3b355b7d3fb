"""Checks of sizes that have to go together: of networks, of trainings, of windows and of biases."""

import glob
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from recency import config as configuration
from recency.simulation.story import Rates

MOST_PARAMETERS = 10**11
MOST_TOKENS = 10**9  # that a network sees at once
TOKENS_PER_WORD = 2  # at most, of a corpus whose words are known
TOKENS_PER_SENTENCE = 50  # at most, of simulated text
PLAIN = (".txt", ".jsonl", ".json", ".csv", ".tsv", ".xml", ".conllu")


def problems(config: dict) -> list[str]:
    """List the sizes that do not go together; what several LMs share is said once."""
    found = [p for name, a in config["architectures"].items() for p in _architecture(name, a)]
    found += [p for name, recipe in config["recipes"].items() for p in _recipe(name, recipe)]
    found += [p for name, bias in config["biases"].items() for p in _bias(name, bias)]
    shared: dict[str, list[str]] = {}
    for name, scale in config["scales"].items():
        for problem in _network(config, scale):
            shared.setdefault(problem, []).append(f"scales → {name}")
    if config["scale"] not in config["scales"]:
        return found
    for name, lm in config["lms"].items():
        if configuration.kind_of(lm) == "network" and _whole(config, name):
            for problem in _network(config, configuration.language_model(config, name)):
                shared.setdefault(problem, []).append(f"lms → {name}")
    for problem, places in shared.items():
        more = f" (and of {len(places) - 1} more)" if len(places) > 1 else ""
        found.append(f"{places[0]}{more}: {problem}")
    found += [p for name in config.get("searches", {}) for p in _search(config, name)]
    return found + [p for name in config["experiments"] for p in _experiment(config, name)]


def _whole(config: dict, name: str) -> bool:
    """Say whether all that an LM names is there."""
    lm = config["lms"][name]
    return lm.get("bias", "none") in [*config["biases"], "none"] and (
        lm.get("weights", name) in config["lms"]
    )


def _architecture(name: str, architecture: Mapping) -> Iterator[str]:
    """Yield what is wrong with the shape of a network."""
    where = f"architectures → {name}"
    if architecture["family"] == "recurrent":
        return
    heads, width = architecture["heads"], architecture["width"]
    if width % heads:
        yield (
            f"{where} → heads: a width of {width} cannot be shared by {heads} heads; take a multiple "
            f"of {heads}"
        )
        return
    many = architecture["layers"] * width * (4 * width + 2 * architecture["feed_forward"])
    if many > MOST_PARAMETERS:
        yield f"{where}: layers, width and feed_forward make {many:.0e} parameters; {MOST_PARAMETERS:.0e} are the most"
    if architecture["family"] == "gpt_neox":
        fraction, of = architecture["rotary_fraction"], width // heads
        rotated = int(of * fraction)
        if rotated > 1 and rotated % 2 and rotated == of:
            yield (
                f"{where} → rotary_fraction: of {of} numbers a head, {rotated} are to be rotated, and "
                "they are rotated in pairs; take a smaller fraction, or heads of an even width"
            )
    elif "rotary_fraction" in architecture:
        yield f"{where} → rotary_fraction: {architecture['family']} has no rotary positions"


def _recipe(name: str, recipe: Mapping) -> Iterator[str]:
    """Yield what does not go together in a training."""
    where, steps = f"recipes → {name}", recipe.get("steps")
    batch, micro = recipe["batch_sequences"], recipe["micro_batch"]
    if micro > batch:
        yield f"{where} → micro_batch: {micro} sequences at once are more than a step's {batch}"
    if micro * recipe["sequence_length"] > MOST_TOKENS:
        yield f"{where} → micro_batch: {micro * recipe['sequence_length']:.0e} tokens at once; {MOST_TOKENS:.0e} are the most"
    lowest = recipe.get("minimum_learning_rate", 0)
    if lowest > recipe["learning_rate"]:
        yield (
            f"{where} → minimum_learning_rate: {lowest} is above the peak, {recipe['learning_rate']}"
        )
    twice = [n for n in dict.fromkeys(recipe["checkpoints"]) if recipe["checkpoints"].count(n) > 1]
    if twice:
        yield f"{where} → checkpoints: {twice[0]} stands twice"
    if steps is None:
        return
    warmup = recipe.get("warmup_steps", 0)
    if recipe["schedule"] == "as_run" and 2 * warmup > steps:
        yield f"{where} → warmup_steps: with `as_run`, {warmup} are too many for {steps} steps; half at most"
    elif warmup >= steps:
        yield f"{where} → warmup_steps: {warmup} leave nothing of {steps} steps"
    if late := [step for step in recipe["checkpoints"] if step > steps]:
        yield f"{where} → checkpoints: step {late[0]} comes after the last one, {steps}"
    validation = recipe.get("validation", {}).get("tokens", 0)
    if validation and validation < recipe["sequence_length"] + 1:
        yield (
            f"{where} → validation → tokens: {validation:,} do not fill a sequence of "
            f"{recipe['sequence_length']:,} and its last target"
        )


def _bias(name: str, bias: Mapping) -> Iterator[str]:
    """Yield layers that a bias names twice."""
    layers = bias.get("layers", [])
    if isinstance(layers, list) and len(set(layers)) < len(layers):
        again = next(layer for layer in layers if layers.count(layer) > 1)
        yield f"biases → {name} → layers: {again} stands twice"


def _network(config: dict, lm: Mapping) -> Iterator[str]:
    """Yield what does not go together in an LM, or a scale, that is trained here."""
    if "checkpoint" in lm:
        window = lm.get("scoring", {}).get("window")
        if window and (lm.get("stride") or 1) > window:
            yield f"a stride of {lm['stride']} tokens is beyond the window of {window}"
        return
    architecture = config["architectures"].get(lm.get("architecture"))
    recipe = config["recipes"].get(lm.get("recipe"))
    if architecture is None or recipe is None:
        return
    recurrent = architecture["family"] == "recurrent"
    yield from _validation(config, lm, recipe, 1 if recurrent else 2)
    if recurrent:
        return
    context, length = architecture["context"], recipe["sequence_length"]
    of = f"architectures → {lm['architecture']} → context, {context}"
    if length > context:
        yield f"recipes → {lm['recipe']} → sequence_length, {length}, is beyond {of}"
    window = lm.get("scoring", {}).get("window")
    if window and window > context:
        yield f"scoring → window, {window}, is beyond {of}"
    if (lm.get("stride") or 1) > min(window or context, context):
        least = f"scoring → window, {window}" if (window or context) < context else of
        yield f"stride, {lm['stride']}, is beyond {least}"
    bias = lm.get("bias")
    if isinstance(bias, Mapping):
        yield from _biased(lm, bias, architecture)


def _validation(config: dict, lm: Mapping, recipe: Mapping, parts: int) -> Iterator[str]:
    """Yield validation text that would be more than one of so many `parts` of the training text."""
    validation, name = recipe.get("validation", {}), lm.get("corpus")
    most = _most_tokens(config["corpora"].get(name, {}))
    if "corpus" not in validation and parts * validation.get("tokens", 0) > most > 0:
        yield (
            f"recipes → {lm['recipe']} → validation → tokens, {validation['tokens']:,}, are more than "
            f"{'half ' if parts == 2 else ''}of corpora → {name}, which has at most {int(most):,}; "
            f"write {int(most // parts):,} or fewer"
        )


def _most_tokens(corpus: Mapping) -> float:
    """Return a bound of a corpus's tokens, as far as it is known before anything runs."""
    if words := corpus.get("words"):
        return TOKENS_PER_WORD * int(words[:-1]) * {"K": 1e3, "M": 1e6, "G": 1e9}[words[-1]]
    if "byte_range" in corpus.get("pretokenized", {}):
        first, last = corpus["pretokenized"]["byte_range"]
        return (last - first + 1) // 2 if first < last else math.inf  # the corpus's own check tells
    if "simulate" in corpus:
        sentences = corpus["simulate"].get("longest", Rates.longest)
        return corpus["simulate"]["documents"] * sentences * TOKENS_PER_SENTENCE
    files = [Path(path) for pattern in corpus.get("files", []) for path in glob.glob(pattern)]
    if files and all(path.suffix in PLAIN for path in files):
        return sum(path.stat().st_size for path in files)  # a token has a byte at least
    return math.inf


def _biased(lm: Mapping, bias: Mapping, architecture: Mapping) -> Iterator[str]:
    """Yield what of a bias does not fit a network."""
    of = f"architectures → {lm['architecture']}"
    heads, layers = architecture["heads"], architecture["layers"]
    for key, value in bias.items():
        if key not in ("form", "layers") and isinstance(value, list) and len(value) != heads:
            yield f"its bias has {len(value)} {key}, one a head, and {of} has {heads} heads"
    if isinstance(bias.get("layers"), list):
        beyond = [layer for layer in bias["layers"] if layer >= layers]
        if beyond:
            yield f"its bias is on layer {beyond[0]}, and {of} has {layers}, from 0"


def _search(config: dict, name: str) -> Iterator[str]:
    """Yield layers that a search puts a bias on and its LM has not."""
    search = config["searches"][name]
    lm, layers = config["lms"][search["lm"]], search.get("layers")
    if "checkpoint" in lm or configuration.kind_of(lm) != "network" or not isinstance(layers, list):
        return
    named = configuration.language_model(config, search["lm"])["architecture"]
    there = config["architectures"][named]["layers"]
    if beyond := [layer for layer in layers if layer >= there]:
        yield (
            f"searches → {name} → layers: {beyond[0]} is none of {search['lm']}, which has {there}, "
            "from 0"
        )


def _experiment(config: dict, name: str) -> Iterator[str]:
    """Yield layers that an experiment draws and an LM has not, and strides beyond its window."""
    experiment, where = config["experiments"][name], f"experiments → {name}"
    maps, grid = experiment.get("attention_maps"), experiment.get("sensitivity", {})
    drawn = maps["lms"] if maps else []
    for lm in dict.fromkeys([*drawn, *experiment["lms"]]):
        if lm not in config["lms"] or not _whole(config, lm):
            continue
        settings = configuration.language_model(config, lm)
        architecture = config["architectures"].get(settings.get("architecture"))
        if architecture is None or "checkpoint" in settings or "context" not in architecture:
            continue
        if lm in drawn and maps["layers"] > architecture["layers"]:
            yield (
                f"{where} → attention_maps → layers: {maps['layers']} are more than {lm} has, "
                f"{architecture['layers']}"
            )
        window = min(
            settings.get("scoring", {}).get("window") or architecture["context"],
            architecture["context"],
        )
        for stride in grid.get("stride", []):
            if (
                stride is not None
                and stride > window
                and configuration.kind_of(settings) == "network"
            ):
                yield f"{where} → sensitivity → stride: {stride} is beyond the window of {lm}, {window}"
