"""Check that networks, recipes, tokenizers, biases, windows and texts are compatible."""

import glob
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from recency import config as configuration
from recency import plugins
from recency.errors import REFUSALS
from recency.evaluations import registry
from recency.scoring import measures
from recency.scoring.next_word.word_entropy_settings import WordEntropy
from recency.simulation.grammar import Rates

MOST_PARAMETERS = 10**11
MOST_TOKENS = 10**9  # maximum tokens in a forward pass
TOKENS_PER_WORD = 2  # upper bound, for corpora that state their number of words
TOKENS_PER_SENTENCE = 50  # upper bound, for simulated text
PLAIN = (".txt", ".jsonl", ".json", ".csv", ".tsv", ".xml", ".conllu")
#: Forms of bias for bidirectional networks, for messages.
BOTH = "linear_both, two_slopes, one_sided"


def problems(config: dict) -> list[str]:
    """List incompatible settings of networks; shared problems are listed once."""
    faults = [
        p for name, entry in config["architectures"].items() for p in _architecture(name, entry)
    ]
    faults += [p for name, entry in config["recipes"].items() for p in _recipe(name, entry)]
    networks = {
        name: configuration.language_model(config, name)
        for name, lm in config["lms"].items()
        if configuration.kind_of(lm) == "network"
    }
    here = {name: lm for name, lm in networks.items() if "checkpoint" not in lm}
    for name, lm in here.items():
        faults += [f"lms → {name}{problem}" for problem in _lm(config, name, lm)]
    shared: dict[str, list[str]] = {}
    entries = {f"scales → {name}": scale for name, scale in config["scales"].items()}
    for where, lm in (entries | {f"lms → {name}": lm for name, lm in networks.items()}).items():
        for problem in _sizes(config, lm):
            shared.setdefault(problem, []).append(where)
    for problem, places in shared.items():
        more = f" (and of {len(places) - 1} more)" if len(places) > 1 else ""
        faults.append(f"{places[0]}{more}: {problem}")
    families = {
        name: config["architectures"][lm["architecture"]]["family"] for name, lm in here.items()
    }
    return faults + [
        p for name in config["experiments"] for p in _experiment(config, name, families)
    ]


def _architecture(name: str, entry: Mapping) -> Iterator[str]:
    """Yield incompatible sizes of a network."""
    where, width = f"architectures → {name}", entry["width"]
    if entry["family"] == "recurrent":
        read, given = entry.get("embedding", width), entry.get("feed_forward", width)
        if entry.get("tied") and read != given:
            yield (
                f"{where} → tied: input embeddings have {read} dimensions and the output layer {given}; a "
                "tied embedding requires equal sizes"
            )
        return
    heads = entry["heads"]
    if width % heads:
        yield (
            f"{where} → heads: a width of {width} is not divisible by {heads} heads; use a multiple "
            f"of {heads}"
        )
        return
    many = entry["layers"] * width * (4 * width + 2 * entry["feed_forward"])
    if many > MOST_PARAMETERS:
        yield f"{where}: layers, width and feed_forward make {many:.0e} parameters; the maximum is {MOST_PARAMETERS:.0e}"
    of = width // heads
    rotated = int(of * entry.get("rotary_fraction", 0))
    if rotated > 1 and rotated % 2 and rotated == of:
        yield (
            f"{where} → rotary_fraction: {rotated} of {of} dimensions per head would be rotated, but "
            "they are rotated in pairs; use a smaller fraction, or heads of an even width"
        )


def _recipe(name: str, recipe: Mapping) -> Iterator[str]:
    """Yield incompatible numbers of a training."""
    where, steps = f"recipes → {name}", recipe.get("steps")
    masking, length = recipe.get("masking", {}), recipe["sequence_length"]
    masked, random = masking.get("masked", 0.8), masking.get("random", 0.1)
    if masked + random > 1:
        yield (
            f"{where} → masking: {masked} masked and {random} random exceed 1, all of the "
            "predicted tokens"
        )
    if (many := recipe["micro_batch"] * length) > MOST_TOKENS:
        yield f"{where} → micro_batch: {many:.0e} tokens at once; the maximum is {MOST_TOKENS:.0e}"
    yield from _gpus(where, recipe)
    bptt = recipe.get("bptt", length)
    if max(bptt, length) % min(bptt, length):
        yield (
            f"{where} → bptt: {bptt} words are neither a multiple nor a divisor of `sequence_length`, "
            f"{length}"
        )
    if steps is None:
        return
    warmup = recipe.get("warmup_steps", 0)
    if recipe["schedule"] == "as_run" and 2 * warmup > steps:
        yield f"{where} → warmup_steps: with `as_run`, at most half of the {steps} steps; {warmup} are too many"
    elif warmup >= steps:
        yield f"{where} → warmup_steps: {warmup} must be fewer than the {steps} steps"
    if late := [step for step in recipe["checkpoints"] if step > steps]:
        yield f"{where} → checkpoints: step {late[0]} is after the last step, {steps}"
    validation = recipe.get("validation", {}).get("tokens", 0)
    if validation and validation < length + 1:
        yield (
            f"{where} → validation → tokens: {validation:,} do not fill a sequence of {length:,} and "
            "its last target"
        )


def _gpus(where: str, recipe: Mapping) -> Iterator[str]:
    """Yield a number of GPUs that a recipe's training cannot use."""
    gpus, parts = (
        recipe.get("gpus", 1),
        math.ceil(recipe["batch_sequences"] / recipe["micro_batch"]),
    )
    if gpus > 1 and recipe["device"] == "cpu":
        yield f"{where} → gpus: {gpus} GPUs with `device: cpu`; use `device: cuda`, or remove `gpus`"
    elif gpus > 1 and recipe["order"] == "streams":
        yield f"{where} → gpus: `order: streams` trains on one GPU, where its states are; remove `gpus`"
    elif gpus > parts:
        yield (
            f"{where} → gpus: a step has {parts} micro-batches to divide among {gpus} GPUs; use a smaller "
            "`micro_batch`, or fewer GPUs"
        )


def _lm(config: dict, name: str, lm: Mapping) -> Iterator[str]:
    """Yield incompatible network, recipe, tokenizer and memory of an LM, as ` → key: …`."""
    named, recipe = lm["architecture"], config["recipes"][lm["recipe"]]
    architecture = config["architectures"][named]
    family, of = architecture["family"], f"architectures → {named}"
    masked = recipe.get("objective") == "masked"
    if family == "recurrent":
        yield from _recurrent(config, of, lm, recipe["order"])
    else:
        if "memory" in lm:
            yield f" → memory: {of} has attention; a memory requires family recurrent"
        if recipe["order"] == "streams":
            yield (
                f": recipes → {lm['recipe']} → order: streams carry a state, which {of} lacks; use "
                "sequential or shuffled"
            )
    if family == "roberta" and not masked:
        yield (
            f": recipes → {lm['recipe']} predicts the next token, which {of}, an encoder, sees; "
            "use a recipe with `objective: masked`"
        )
    if masked and family != "roberta":
        yield (
            f": recipes → {lm['recipe']} masks tokens, but {of}, of family {family}, does not see the "
            "following tokens; use one of family roberta"
        )
    if masked and family == "roberta":
        yield from _masked_lm_faults(config, of, lm, architecture)
    if family == "roberta":
        for key in ("bos", "stride"):
            if config["lms"][name].get(key):
                yield (
                    f" → {key}: a masked LM adds special tokens to a text, and reads it in whole windows; "
                    "leave it out"
                )
    asked = measures.check(lm.get("measures"), lm.get("context"))
    yield from _word_entropy(config, name, lm, asked, architecture)
    if 0 in asked.lengths and not lm.get("bos"):
        yield ": pmi and a context of 0 words need a begin token (`bos: true`)"
    if not configuration.is_trained(config["lms"][name]):
        return
    corpus, tokenizer = config["corpora"][lm["corpus"]], config["tokenizers"][lm["tokenizer"]]
    if "pretokenized" in corpus and "corpus" in tokenizer:
        yield (
            f" → tokenizer: {lm['tokenizer']!r} is trained here, but {lm['corpus']!r} is "
            "pretokenized; use a tokenizer with a `file`"
        )
    if "vectors" in recipe:
        begins = f" → recipe: {lm['recipe']!r} is initialised with vectors"
        yield from (f"{begins} of {p}" for p in _vectors(config, lm, recipe["vectors"]["of"]))


def _word_entropy(
    config: dict, name: str, lm: Mapping, asked: measures.MeasureRequest, architecture: Mapping
) -> Iterator[str]:
    """Yield why an LM cannot have word entropy, and unused settings of it."""
    if not asked.separate:
        if "word_entropy" in config["lms"][name].get("scoring", {}):
            yield (
                " → scoring → word_entropy: no measure uses it; add word_entropy to `measures`, or "
                "leave it out"
            )
        return
    if config["tokenizers"][lm["tokenizer"]].get("kind") == "words":
        yield (
            f" → measures: {asked.separate[0]}: the tokens of {lm['tokenizer']!r} are whole words, so "
            "`entropy` is that of the next word; use that"
        )
    given = lm.get("scoring", {})
    longest = given.get("word_entropy", {}).get("longest", WordEntropy.longest)
    window = min(given.get("window") or architecture["context"], architecture["context"])
    if architecture["family"] != "recurrent" and longest > window // 2:
        yield (
            f" → scoring → word_entropy → longest: words of {longest} tokens leave too little "
            f"context in a window of {window}; the maximum is {window // 2}"
        )


def _added_words(of: str, architecture: Mapping, memory: Mapping) -> Iterator[str]:
    """Yield words' vectors of another width than the state that they are added to."""
    width = architecture["width"]
    if memory.get("input_matrix") is False and architecture.get("embedding", width) != width:
        yield (
            f" → memory: without an input matrix, a word's vector is added to a state of {width}, and "
            f"{of} → embedding is {architecture['embedding']}; leave `embedding` out"
        )


def _recurrent(config: dict, of: str, lm: Mapping, order: str) -> Iterator[str]:
    """Yield settings that recurrent networks do not support."""
    if "memory" not in lm:
        yield f": {of} is recurrent; `memory:` must name its memory"
    if lm["bias"]["form"] != "none":
        yield f" → bias: {of} is recurrent and has no attention to bias"
    if order != "streams":
        yield (
            f": recipes → {lm['recipe']} → order: {order} rows carry no state from one to the next; a "
            "recurrent LM requires `streams`"
        )
    yield from _added_words(of, config["architectures"][lm["architecture"]], lm.get("memory", {}))
    windows = {"stride": lm.get("stride"), "scoring → window": lm.get("scoring", {}).get("window")}
    for key, value in windows.items():
        if value is not None:
            yield (
                f" → {key}: a recurrent LM reads a text of any length in one pass, without windows; "
                "leave it out"
            )


def _masked_lm_faults(config: dict, of: str, lm: Mapping, architecture: Mapping) -> Iterator[str]:
    """Yield unsupported settings of a masked LM: tokenizer without mask, causal measures or biases."""
    tokenizer = config["tokenizers"][lm["tokenizer"]]
    if "corpus" in tokenizer and tokenizer.get("kind") != "masked":
        yield (
            f" → tokenizer: {lm['tokenizer']!r} has no <mask>; use one of `kind: masked`, or a file "
            "that has one"
        )
    try:
        measures.check_masked(measures.check(lm.get("measures"), lm.get("context")))
    except REFUSALS as error:
        yield f" → measures: {error}"
    form = lm["bias"]["form"]
    if form == "none" and architecture.get("positions") == "none":
        yield (
            f": {of} has `positions: none` and the LM no bias, so it has no information on word "
            "order; set a `bias`, or learned or sinusoidal positions"
        )
    if not plugins.attribute(configuration.BIASES, form, "both_directions"):
        yield (
            f" → bias: {of} is an encoder, and the form {form!r} is undefined for following tokens; "
            f"{BOTH} do"
        )
    if form == "one_sided" and architecture["heads"] % 2:
        yield f" → bias: one_sided divides the heads in halves, but their number, {architecture['heads']}, is odd"


def _vectors(config: dict, lm: Mapping, other: str) -> Iterator[str]:
    """Yield why an LM cannot be initialised with the vectors of another."""
    if config["tokenizers"][lm["tokenizer"]].get("kind") != "words":
        yield f"words, and {lm['tokenizer']!r} is not a tokenizer of `kind: words`"
        return
    if not configuration.is_trained(config["lms"][other]):
        yield f"{other!r}, which is not trained here; name one that is"
        return
    source = configuration.language_model(config, other)
    shapes = [config["architectures"][settings["architecture"]] for settings in (source, lm)]
    wide, has = (shape.get("embedding", shape["width"]) for shape in shapes)
    if "vectors" in config["recipes"][source["recipe"]]:
        yield f"{other!r}, which itself is initialised with vectors; name one that is not"
    elif source["tokenizer"] != lm["tokenizer"]:
        yield f"{other!r}, whose tokenizer is different, {source['tokenizer']!r}"
    elif wide != has:
        yield f"{other!r}, of {wide} dimensions, and its architecture has {has}"


def _sizes(config: dict, lm: Mapping) -> Iterator[str]:
    """Yield incompatible sizes of an LM or scale."""
    window, stride = lm.get("scoring", {}).get("window"), lm.get("stride") or 1
    if "checkpoint" in lm:
        if window and stride > window:
            yield f"a stride of {stride} tokens exceeds the window of {window}"
        return
    architecture = config["architectures"][lm["architecture"]]
    recipe, recurrent = config["recipes"][lm["recipe"]], architecture["family"] == "recurrent"
    yield from _validation(config, lm, recipe, 1 if recurrent else 2)
    if recurrent:
        return
    context, length = architecture["context"], recipe["sequence_length"]
    of = f"architectures → {lm['architecture']}"
    if length > context:
        yield f"recipes → {lm['recipe']} → sequence_length, {length}, exceeds {of} → context, {context}"
    if window and window > context:
        yield f"scoring → window, {window}, exceeds {of} → context, {context}"
    if stride > min(window or context, context):
        least = f"{of} → context, {context}"
        least = f"scoring → window, {window}" if (window or context) < context else least
        yield f"stride, {stride}, exceeds {least}"
    bias, heads, layers = lm.get("bias"), architecture["heads"], architecture["layers"]
    for key, value in bias.items() if isinstance(bias, Mapping) else ():
        listed = value if isinstance(value, list) else []
        if key == "layers" and (beyond := [layer for layer in listed if layer >= layers]):
            yield f"its bias is on layer {beyond[0]}, and {of} has {layers}, from 0"
        if key != "layers" and listed and len(listed) != heads:
            yield f"its bias has {len(listed)} {key}, one per head, and {of} has {heads} heads"
    if isinstance(bias, Mapping) and bias.get("layer"):  # the layer whose input the bias reads
        biased = bias.get("layers", "all")
        first = {"all": 0, "last": layers - 1}[biased] if isinstance(biased, str) else min(biased)
        if bias["layer"] > first:
            yield (
                f"its bias reads the input of layer {bias['layer']} (`layer`) but is on the earlier "
                f"layer {first}; set `layers` to {bias['layer']} and later ones"
            )


def _validation(config: dict, lm: Mapping, recipe: Mapping, parts: int) -> Iterator[str]:
    """Yield validation text that exceeds 1/`parts` of the training text."""
    validation, name = recipe.get("validation", {}), lm["corpus"]
    most = _most_tokens(config["corpora"][name])
    if "corpus" not in validation and parts * validation.get("tokens", 0) > most > 0:
        yield (
            f"recipes → {lm['recipe']} → validation → tokens, {validation['tokens']:,}, are more than "
            f"{'half ' if parts == 2 else ''}of corpora → {name}, which has at most {int(most):,}; "
            f"write {int(most // parts):,} or fewer"
        )


def _most_tokens(corpus: Mapping) -> float:
    """Return an upper bound of a corpus's tokens, as far as it is known before the run."""
    if words := corpus.get("words"):
        return TOKENS_PER_WORD * int(words[:-1]) * {"K": 1e3, "M": 1e6, "G": 1e9}[words[-1]]
    if "byte_range" in corpus.get("pretokenized", {}):
        first, last = corpus["pretokenized"]["byte_range"]
        return (last - first + 1) // 2
    if "simulate" in corpus:
        sentences = corpus["simulate"].get("longest", Rates.longest)
        return corpus["simulate"]["documents"] * sentences * TOKENS_PER_SENTENCE
    listed = corpus.get("files", [])
    if not all(isinstance(pattern, str) for pattern in listed):
        return math.inf  # not downloaded yet
    files = [Path(path) for pattern in listed for path in glob.glob(pattern)]
    if files and all(path.suffix in PLAIN for path in files):
        return sum(path.stat().st_size for path in files)  # a token has a byte at least
    return math.inf


def _experiment(config: dict, name: str, families: Mapping[str, str]) -> Iterator[str]:
    """Yield evaluations of attention for recurrent networks."""
    experiment = config["experiments"][name]
    recurrent = [lm for lm in experiment["lms"] if families.get(lm) == "recurrent"]
    for evaluation in registry.evaluations().values() if recurrent else ():
        if evaluation.attention and evaluation.key in experiment:
            yield (
                f"experiments → {name} → {evaluation.key}: {recurrent[0]!r} is recurrent and has no "
                "attention; use a separate experiment for LMs with attention"
            )
