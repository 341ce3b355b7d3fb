"""What the config says, its names resolved; recency.workflow.checks finds what is wrong with it."""

import functools
import glob
import json
from collections.abc import Iterable
from pathlib import Path

from recency import plugins, sources

BIASES = "recency.attention.biases"
MEMORIES = "recency.networks.memories"
ERASURES = "recency.networks.erasures"
PARSERS = "recency.reading.parsers"
READERS = "recency.text.readers"
MEASURES = "recency.scoring.measures"
#: What an LM is called that is no network.
CALLED = {"table": "a table of surprisals", "ngram": "an n-gram model", "mix": "a mix of LMs"}
CALLED |= {"by_language": "an LM for each language"}
#: What an LM's scores of a text are of where they are not of tokens.
WORDS = "words"
#: What an lm may say otherwise than the study's scale.
SCALE_KEYS = ("architecture", "corpus", "tokenizer", "recipe", "bos", "stride", "seed")
#: What else is taken of a word than its surprisal; of the scale, too, unless the LM says otherwise.
MEASURE_KEYS = ("measures", "context", "ngram_lm")


def forms() -> list[str]:
    """Return the forms of bias: the modules of recency.attention.biases."""
    return plugins.names(BIASES)


def parsers() -> list[str]:
    """Return the parsers of reading-time corpora: the modules of recency.reading.parsers."""
    return plugins.names(PARSERS)


@functools.cache
def bias_parameters(form: str) -> dict:
    """Return the parameters of a form of bias: name → JSON schema."""
    return plugins.constant(BIASES, form, "PARAMETERS")


@functools.cache
def memory_parameters(form: str) -> dict:
    """Return the parameters of a form of memory: name → JSON schema."""
    return plugins.constant(MEMORIES, form, "PARAMETERS")


def erasure_features(erasure: dict) -> tuple[str, ...]:
    """Return what a form of erasure reads of words, as an entry `erasure:` has it."""
    stated = erasure.get("slopes") or erasure.get("features")
    declared = plugins.attribute(ERASURES, erasure["form"], "features")
    return tuple(stated or declared or ("distance",))


def bias_of(config: dict, name: str) -> dict:
    """Return the bias of an LM: the entry of the `biases:` table, or none where it names none.

    One that names none but other weights, or a training, has the bias of these.
    """
    lm = config["lms"][name]
    if "languages" in lm:
        return bias_of(config, first_member(lm))
    for _ in range(2):  # weights that a training kept
        if "bias" not in lm:
            lm = config["lms"].get(lm.get("weights", lm.get("checkpoint_of")), lm)
    return config["biases"][lm["bias"]] if "bias" in lm else {"form": "none"}


def with_defaults(bias: dict) -> dict:
    """Return a bias with every parameter that its form has a default for."""
    parameters = bias_parameters(bias["form"]).items()
    defaults = {key: schema["default"] for key, schema in parameters if "default" in schema}
    return {"form": bias["form"], **defaults, **bias}


def language_model(config: dict, name: str) -> dict:
    """Return all of an LM's settings: the scale's, with the LM's own over them.

    An inference-only LM takes everything but its bias from the LM whose `weights` it has, a kept
    checkpoint everything from the LM that was trained. An LM for each language has the settings of
    the first one, which is its `member`. `bias` becomes the entry of the `biases:`
    table, `memory` that of `memories:`, and `label` is filled in.
    """
    lm, bias = config["lms"][name], bias_of(config, name)
    if "languages" in lm:
        member = language_model(config, first_member(lm))
        kept = (*SCALE_KEYS, *MEASURE_KEYS, "bias", "applied")
        kept = {key: member[key] for key in kept if key in member}
        return {**kept, **lm, "member": member, "label": label_of(config, name)}
    of_scale = config["scales"][config["scale"]]
    scale = {key: of_scale.get(key) for key in SCALE_KEYS}
    scale |= {key: of_scale[key] for key in MEASURE_KEYS if key in of_scale}
    carried = {**inherited(config, lm), **lm}.get("memory")
    memory = {"memory": config["memories"][carried]} if carried else {}
    merged = {**scale, **inherited(config, lm), **lm}
    if "scoring" in of_scale and kind_of(merged) == "network":
        merged["scoring"] = of_scale["scoring"] | merged.get("scoring", {})
    return {
        **merged,
        **memory,
        "label": label_of(config, name),
        "applied": "none" if bias["form"] == "none" else lm.get("applied", "training"),
        "bias": bias,
    }


def first_member(lm: dict) -> str:
    """Return the LM of the first language of an LM that has one for each."""
    return next(iter(lm["languages"].values()))


def inherited(config: dict, lm: dict) -> dict:
    """Return what an LM, as the config has it, has of those whose weights or training are its own."""
    of = config["lms"].get(lm.get("weights"), {})
    return {**config["lms"].get((of or lm).get("checkpoint_of"), {}), **of}


def label_of(config: dict, name: str) -> str:
    """Return an LM's label: the stated one, its name, or of a checkpoint the LM's and the step."""
    lm = config["lms"][name]
    of = lm.get("checkpoint_of")
    if lm.get("label"):
        return lm["label"]
    if of not in config["lms"] or "step" not in lm:
        return name
    return f"{config['lms'][of].get('label', of)}, step {lm['step']}"


def is_trained(lm: dict) -> bool:
    """Say whether an LM, as the config has it, is trained here: it has no weights from elsewhere."""
    elsewhere = {"checkpoint", "weights", "checkpoint_of"}
    return kind_of(lm) == "network" and not elsewhere & lm.keys()


def kind_of(lm: dict) -> str:
    """Say what an LM is: a `table` of surprisals, an `ngram` model, a `mix`, one `by_language`, or a `network`."""
    kinds = {"surprisals": "table", "ngram": "ngram", "interpolate": "mix"}
    kinds |= {"languages": "by_language"}
    return next((kind for key, kind in kinds.items() if key in lm), "network")


def not_trained(config: dict, name: str) -> str:
    """Say why an LM has no steps of a training, and the way out; "" if it is trained here."""
    lm = config["lms"][name]
    if is_trained(lm):
        return ""
    if "checkpoint" in lm:
        return (
            f"{name!r} is not trained here; if its makers put revisions on the Hub, name one: "
            f"`checkpoint: {lm['checkpoint'].partition('@')[0]}@<revision>`"
        )
    if "checkpoint_of" in lm:
        return f"{name!r} is a checkpoint itself; name the LM that was trained, {lm['checkpoint_of']!r}"
    if "weights" in lm:
        return (
            f"{name!r} has the weights of {lm['weights']!r}; name that, and this bias in another LM"
        )
    return f"{name!r} is {CALLED[kind_of(lm)]}, and was not trained here"


def not_kept(config: dict, name: str, step: int, last: bool = False) -> list[str]:
    """Say that an LM's training keeps no such step, with those that it keeps.

    With `last` the end of the training counts, which needs no checkpoint.
    """
    called = language_model(config, name)["recipe"]
    recipe = config["recipes"][called]
    steps = sorted(recipe["checkpoints"])
    if step in steps or (last and step == recipe.get("steps")):
        return []
    kept = f"keeps {', '.join(map(str, steps))}" if steps else "keeps none"
    return [
        f"the training of {name!r} keeps no step {step}: recipes → {called} → checkpoints {kept}"
    ]


def lacks_corrected(config: dict, lm: str) -> str:
    """Say why an LM has no corrected surprisal, and the way out; "" if it has."""
    entry = config["lms"][lm]
    kind, way = kind_of(entry), "take a design of `surprisal: plain`"
    if kind == "network":
        masked = f"{lm!r} is a masked LM, which has no corrected surprisal; give those that have an experiment of their own, or {way}"
        settings = language_model(config, lm)
        family = config["architectures"][settings["architecture"]]["family"]
        return masked if "checkpoint" not in settings and family == "roberta" else ""
    if kind == "mix" and {kind_of(config["lms"][each]) for each in entry["interpolate"]} == {
        "network"
    }:
        return ""
    if kind == "table" and "corrected" in entry["surprisals"]["columns"]:
        return ""
    way = f"map a `corrected` column, or {way}" if kind == "table" else way
    return f"{lm!r} is {CALLED[kind]} without corrected surprisal; {way}"


def rows_of(config: dict, lm: str) -> str | None:
    """Say what the rows of an LM's scores of a text are: WORDS, tokens of a name; None if it has none."""
    settings = language_model(config, lm)
    kind = kind_of(settings)
    if kind == "ngram":
        return WORDS if settings["ngram"].get("text_rule", "displayed") == "displayed" else None
    if kind != "network":
        return None
    if "checkpoint" in settings:
        return f"checkpoint {settings['checkpoint']}"
    words = config["tokenizers"].get(settings["tokenizer"], {}).get("kind") == "words"
    return WORDS if words else f"tokenizer {settings['tokenizer']}"


def mix_over_tokens(config: dict, lm: str) -> str:
    """Say why a mix's LMs cannot be interpolated token by token of a text; "" if they can."""
    entry = config["lms"][lm]
    rows = {each: rows_of(config, each) for each in entry["interpolate"]}
    if none := [each for each, row in rows.items() if row is None]:
        return f"{none[0]!r} has no rows of a text's words"
    others = [each for each, row in rows.items() if row != WORDS]
    if "cache" in entry and others:
        return f"a cache is of words, and {others[0]!r} is of other tokens"
    return f"{' and '.join(map(repr, rows))} are of other tokens" * (len(set(rows.values())) > 1)


def is_masked(config: dict, name: str) -> bool | None:
    """Say whether a network predicts masked tokens and not each next one; None where nobody knows yet.

    Of one that is trained here its recipe says so, of a folder its config.json.
    """
    own = config["lms"].get(name, {})
    own = {**inherited(config, own), **own}
    if kind_of(own) != "network":
        return None
    if "checkpoint" in own:
        if own["checkpoint"].endswith(".gguf"):
            return False
        file = Path(own["checkpoint"], "config.json")
        try:
            classes = json.loads(file.read_text(encoding="utf-8"))["architectures"]
            masked = any(each.endswith("ForMaskedLM") for each in classes)
            causal = any(each.endswith(("ForCausalLM", "LMHeadModel")) for each in classes)
            both = any(each.endswith("WithLMHeadModel") for each in classes)
            return masked if masked or (causal and not both) else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None  # of the Hub, or damaged, which its job says
    scale = config["scales"].get(config["scale"], {})
    recipe = config["recipes"].get(own.get("recipe", scale.get("recipe")))
    return None if recipe is None else recipe.get("objective", "causal") == "masked"


def causal_ones(config: dict, lms: Iterable[str]) -> list[str]:
    """Return the LMs of which it is known that they predict each next token."""
    return [name for name in lms if is_masked(config, name) is False]


def fixed_settings(lm: dict) -> set[str]:
    """Return what of `bos`, `stride` and `seed` an LM has none of: it is what it is."""
    if "member" in lm:
        return fixed_settings(lm["member"])
    if kind_of(lm) != "network":
        return {"bos", "stride"} if has_seeds(lm) else {"bos", "stride", "seed"}
    return {"seed"} if "checkpoint" in lm else set()


def has_seeds(lm: dict) -> bool:
    """Say whether an LM is a table with the surprisals of several seeds."""
    return "seed" in lm.get("surprisals", {}).get("columns", {})


def training_words(config: dict, name: str) -> str:
    """Return how many words an LM was trained on, as papers write it (10M); "" if unsaid."""
    lm = language_model(config, name)
    lm = lm.get("member", lm)
    corpus = lm["ngram"].get("corpus") if "ngram" in lm else lm["corpus"]
    known = corpus in config["corpora"] and not lm.keys() & {
        "checkpoint",
        "surprisals",
        "interpolate",
    }
    return config["corpora"][corpus].get("words", "") if known else ""


def described(name: str, settings: dict) -> dict:
    """Return what figures need to know of an LM (recency.figures.comparison.LM), of its settings."""
    return {
        "lm": name,
        "label": settings["label"],
        "bias": with_defaults(settings["bias"]),
        "applied": settings["applied"],
        "network": _made_of(settings),
    }


def _made_of(settings: dict) -> dict:
    """Return an LM's network, or of one without what it is instead."""
    kind = kind_of(settings)
    if kind == "by_language":
        return _made_of(settings["member"]) | {"languages": settings["languages"]}
    if kind == "network":
        network = {key: settings.get(key) for key in (*SCALE_KEYS, "checkpoint")}
        return network | {
            key: settings[key]
            for key in ("step", "memory", "lossy", "precision")
            if settings.get(key)
        }
    if kind == "mix":
        made = ("interpolate", "shares", "held_out", "cache")
        return {"mix": {key: settings[key] for key in made if key in settings}}
    return {kind: settings[{"table": "surprisals", "ngram": "ngram"}[kind]]}


def chosen(config: dict, wildcards: object, root: Path) -> dict[str, list[str]]:
    """Return the modules that a job chooses by name, of what its wildcards say; see workflow.code."""
    found = {}
    if (lm := getattr(wildcards, "lm", None)) in config["lms"]:
        settings = language_model(config, lm)
        found[BIASES] = [settings["bias"]["form"], "none"]
        found[MEMORIES] = [settings["memory"]["form"]] if "memory" in settings else []
        lossy = (settings.get("lossy"), _recipe_of(config, settings).get("lossy"))
        found[ERASURES] = [entry["erasure"]["form"] for entry in lossy if entry]
        asked = settings.get("measures") or []
        found[MEASURES] = [
            name
            for name in plugins.names(MEASURES)
            if any(measure == name or measure.startswith(f"{name}_") for measure in asked)
        ]
    if (dataset := getattr(wildcards, "dataset", None)) in config["datasets"]:
        owner = owner_of_words(config, dataset)
        found[PARSERS] = [config["datasets"][name]["parser"] for name in {dataset: 0, owner: 0}]
    if (corpus := getattr(wildcards, "corpus", None)) in config["corpora"]:
        found[READERS] = text_readers(config["corpora"][corpus], root)
    return found


def _recipe_of(config: dict, settings: dict) -> dict:
    """Return the recipe of an LM's settings; {} of an LM that has none."""
    return config["recipes"].get(settings.get("recipe"), {})


def text_readers(corpus: dict, root: Path) -> list[str]:
    """Return the readers that a corpus of text is read by."""
    if "sources" in corpus:
        files = sources.read(sources.place(corpus["sources"], root), corpus.get("exclude", []))
        return sorted({source.reader for source in files})
    return [corpus["reader"]] if "reader" in corpus else []


def responses(config: dict, name: str, table: str = "experiments") -> list[dict]:
    """Return the responses of an experiment, or of an entry of another `table` that has them.

    They are dicts of design, dataset and measure, in the config's order.
    """
    return [
        dict(zip(("dataset", "measure"), response.partition(".")[::2], strict=True), design=design)
        for design, listed in config[table][name].get("responses", {}).items()
        for response in listed
    ]


def datasets_read(config: dict, experiments: Iterable[str]) -> set[str]:
    """Return the datasets of experiments' responses, and those that their evaluations read."""
    found = set()
    for name in experiments:
        found |= {response["dataset"] for response in responses(config, name)}
        asked = (each for each in config["experiments"][name].values() if isinstance(each, dict))
        found |= {each["dataset"] for each in asked if isinstance(each.get("dataset"), str)}
    return found


def owner_of_words(config: dict, dataset: str) -> str:
    """Return the dataset whose words a dataset has: itself, or that which its `words` name."""
    return config["datasets"][dataset]["words"].get("dataset", dataset)


def missing_files(dataset: dict, mirrors: list[str]) -> list[str]:
    """Say which files of a dataset only the user can place, and are not there.

    Those of another dataset whose words it has are not among them.
    """
    parts = (dataset.get(part, {}).values() for part in ("words", "responses"))
    return _missing([f for part in parts for f in part if isinstance(f, dict)], mirrors)


def missing_data(entry: dict, roles: Iterable[str], mirrors: list[str]) -> list[str]:
    """Say which files of an entry of `MATERIALS` only the user can place, and are not there."""
    return _missing([entry[role] for role in roles if role in entry], mirrors)


def _missing(files: list[dict], mirrors: list[str]) -> list[str]:
    missing = []
    for file in files:
        if "url" in file or "simulated" in file:
            continue
        found = Path(file["local"]).exists() if "local" in file else False
        stand_in = file.get("stand_in", {}).get("path")
        if stand_in and not found:
            found = any(glob.glob(f"{glob.escape(m)}/{stand_in}*") for m in mirrors)
        if not found:
            missing.append(f"{file.get('local', stand_in)}: {file.get('placed', '')}")
    return missing
