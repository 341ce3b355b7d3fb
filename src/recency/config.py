"""Access to the config with resolved names; recency.workflow.config.checks reports its errors."""

import functools
import glob
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from recency import embedded, plugins, sources

BIASES = "recency.attention.biases"
MEMORIES = "recency.networks.memories"
ERASURES = "recency.networks.erasures"
PARSERS = "readingtimes.parsers"
READERS = "recency.text.readers"
MEASURES = "recency.scoring.measures"
#: Kind of LM other than networks → its description in messages.
CALLED = {"table": "a table of surprisals", "ngram": "an n-gram model", "mix": "a mixture of LMs"}
CALLED |= {"by_language": "an LM for each language"}
#: Unit of an LM's scores of a text that are not of tokens.
WORDS = "words"
#: Settings that an LM inherits from the scale.
SCALE_KEYS = ("architecture", "corpus", "tokenizer", "recipe", "bos", "stride", "seed")
#: Settings of further measures, inherited from the scale.
MEASURE_KEYS = ("measures", "context", "ngram_lm")


def forms() -> list[str]:
    """Return the forms of bias: the modules of recency.attention.biases."""
    return plugins.names(BIASES)


def parsers() -> list[str]:
    """Return the parsers of reading-time corpora: the modules of readingtimes.parsers."""
    return plugins.names(PARSERS)


@functools.cache
def bias_parameters(form: str) -> dict:
    """Return the parameters of a form of bias: name → JSON schema."""
    return plugins.constant(BIASES, form, "PARAMETERS")


def erasure_features(erasure: dict) -> tuple[str, ...]:
    """Return the features of words that a form of erasure uses."""
    stated = erasure.get("slopes") or erasure.get("features")
    declared = plugins.attribute(ERASURES, erasure["form"], "features")
    return tuple(stated or declared or ("distance",))


def experiments_of(target: Mapping) -> list[str]:
    """Return the experiments of a numbered table or figure, several where its panels are."""
    return list(target.get("experiments") or [target["experiment"]])


def bias_of(config: dict, name: str) -> dict:
    """Return the bias of an LM: its entry of `biases`, or the form none.

    An LM without a bias inherits that of its `weights` or `checkpoint_of`.
    """
    lm = config["lms"][name]
    if "languages" in lm:
        return bias_of(config, first_member(lm))
    for _ in range(2):  # weights of a checkpoint
        if "bias" not in lm:
            lm = config["lms"].get(lm.get("weights", lm.get("checkpoint_of")), lm)
    return config["biases"][lm["bias"]] if "bias" in lm else {"form": "none"}


def with_defaults(bias: dict) -> dict:
    """Return a bias with its form's defaults filled in."""
    parameters = bias_parameters(bias["form"]).items()
    defaults = {key: schema["default"] for key, schema in parameters if "default" in schema}
    return {"form": bias["form"], **defaults, **bias}


def language_model(config: dict, name: str) -> dict:
    """Return all settings of an LM: the scale's, updated by the LM's own.

    An inference-only LM inherits everything but its bias from its `weights`, and a checkpoint
    everything from the trained LM. An LM with `languages` has the settings of its first `member`.
    `bias` and `memory` are replaced by their entries, and `label` is filled in.
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
    memory = {"memory": stated_memory(config["memories"][carried])} if carried else {}
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


def stated_memory(memory: dict) -> dict:
    """Return a memory with those defaults that networks state, since they were others once.

    A network is then trained again, and not taken for one that was trained with another default.
    """
    parameters = plugins.literal(MEMORIES, memory["form"], "PARAMETERS") or {}
    stated = {}
    for name, schema in parameters.items():
        condition = schema.get("x-stated-with")
        if condition is not None and condition.items() <= memory.items():
            stated[name] = schema["default"]
    return stated | memory


def first_member(lm: dict) -> str:
    """Return the first member of an LM with `languages`."""
    return next(iter(lm["languages"].values()))


def inherited(config: dict, lm: dict) -> dict:
    """Return the settings that an LM inherits from the LM whose weights it reuses."""
    of = config["lms"].get(lm.get("weights"), {})
    return {**config["lms"].get((of or lm).get("checkpoint_of"), {}), **of}


def label_of(config: dict, name: str) -> str:
    """Return an LM's label: the stated one, its name, or for a checkpoint the LM's label and step."""
    lm = config["lms"][name]
    of = lm.get("checkpoint_of")
    if lm.get("label"):
        return lm["label"]
    if of not in config["lms"] or "step" not in lm:
        return name
    return f"{config['lms'][of].get('label', of)}, step {lm['step']}"


def is_trained(lm: dict) -> bool:
    """Return whether an LM's entry is trained in the study."""
    elsewhere = {"checkpoint", "weights", "checkpoint_of"}
    return kind_of(lm) == "network" and not elsewhere & lm.keys()


def kind_of(lm: dict) -> str:
    """Return the kind of an LM: `table`, `ngram`, `mix`, `by_language` or `network`."""
    kinds = {"surprisals": "table", "ngram": "ngram", "interpolate": "mix"}
    kinds |= {"languages": "by_language"}
    return next((kind for key, kind in kinds.items() if key in lm), "network")


def not_trained(config: dict, name: str) -> str:
    """Return why an LM has no training steps, and the way out; "" if it is trained here."""
    lm = config["lms"][name]
    if is_trained(lm):
        return ""
    if "checkpoint" in lm:
        return (
            f"{name!r} is not trained here; if the Hub has revisions of it, name one: "
            f"`checkpoint: {lm['checkpoint'].partition('@')[0]}@<revision>`"
        )
    if "checkpoint_of" in lm:
        return f"{name!r} is itself a checkpoint; name the trained LM, {lm['checkpoint_of']!r}"
    if "weights" in lm:
        return (
            f"{name!r} has the weights of {lm['weights']!r}; name that, and this bias in another LM"
        )
    return f"{name!r} is {CALLED[kind_of(lm)]}, and was not trained here"


def not_kept(config: dict, name: str, step: int, last: bool = False) -> list[str]:
    """Return a message if an LM's training does not save a step, with the saved steps.

    `last` permits the last step, which needs no checkpoint.
    """
    called = language_model(config, name)["recipe"]
    recipe = config["recipes"][called]
    steps = sorted(recipe["checkpoints"])
    if step in steps or (last and step == recipe.get("steps")):
        return []
    kept = f"has {', '.join(map(str, steps))}" if steps else "has none"
    return [
        f"the training of {name!r} does not save step {step}: recipes → {called} → checkpoints {kept}"
    ]


def lacks_corrected(config: dict, lm: str) -> str:
    """Return why an LM has no corrected surprisal, and the way out; "" if it has it."""
    entry = config["lms"][lm]
    kind, way = kind_of(entry), "use a design with `surprisal: plain`"
    if kind == "network":
        masked = f"{lm!r} is a masked LM, which has no corrected surprisal; use a separate experiment for the others, or {way}"
        settings = language_model(config, lm)
        family = config["architectures"][settings["architecture"]]["family"]
        return masked if "checkpoint" not in settings and family == "roberta" else ""
    if kind == "mix" and {kind_of(config["lms"][member]) for member in entry["interpolate"]} == {
        "network"
    }:
        return ""
    if kind == "table" and "corrected" in entry["surprisals"]["columns"]:
        return ""
    way = f"map a `corrected` column, or {way}" if kind == "table" else way
    return f"{lm!r} is {CALLED[kind]} without corrected surprisal; {way}"


def rows_of(config: dict, lm: str) -> str | None:
    """Return the unit of an LM's scores of a text, WORDS or the tokenizer's name; None without scores."""
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


def unknown_word(config: dict, lm: str) -> str | None:
    """Return the token of an LM for unknown words, None if it is not a network of words."""
    if rows_of(config, lm) != WORDS or "ngram" in config["lms"][lm]:
        return None
    named = language_model(config, lm)["tokenizer"]
    return config["tokenizers"][named].get("unknown", "<unk>")


def mix_over_tokens(config: dict, lm: str) -> str:
    """Return why LMs cannot be interpolated by token, "" if they can."""
    entry = config["lms"][lm]
    rows = {member: rows_of(config, member) for member in entry["interpolate"]}
    if none := [member for member, row in rows.items() if row is None]:
        return f"{none[0]!r} cannot score the words of a text"
    others = [member for member, row in rows.items() if row != WORDS]
    if "cache" in entry and others:
        return f"a cache requires words, but {others[0]!r} has other tokens"
    return f"{' and '.join(map(repr, rows))} have different tokens" * (len(set(rows.values())) > 1)


def is_masked(config: dict, name: str) -> bool | None:
    """Return whether a network predicts masked tokens instead of the next one; None if unknown.

    The source is the recipe of a trained LM, or the config.json of a folder.
    """
    entry = config["lms"].get(name, {})
    entry = {**inherited(config, entry), **entry}
    if kind_of(entry) != "network":
        return None
    if "checkpoint" in entry:
        if entry["checkpoint"].endswith(".gguf"):
            return False
        file = Path(embedded.folder(entry["checkpoint"]), "config.json")
        try:
            classes = json.loads(file.read_text(encoding="utf-8"))["architectures"]
            masked = any(class_name.endswith("ForMaskedLM") for class_name in classes)
            causal = any(
                class_name.endswith(("ForCausalLM", "LMHeadModel")) for class_name in classes
            )
            both = any(class_name.endswith("WithLMHeadModel") for class_name in classes)
            return masked if masked or (causal and not both) else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None  # on the Hub, or damaged, which the job reports
    scale = config["scales"].get(config["scale"], {})
    recipe = config["recipes"].get(entry.get("recipe", scale.get("recipe")))
    return None if recipe is None else recipe.get("objective", "causal") == "masked"


def causal_ones(config: dict, lms: Iterable[str]) -> list[str]:
    """Return the LMs known to predict the next token."""
    return [name for name in lms if is_masked(config, name) is False]


def fixed_settings(lm: dict) -> set[str]:
    """Return those of `bos`, `stride` and `seed` that do not apply to this LM."""
    if "member" in lm:
        return fixed_settings(lm["member"])
    if kind_of(lm) != "network":
        return {"bos", "stride"} if has_seeds(lm) else {"bos", "stride", "seed"}
    return {"seed"} if "checkpoint" in lm else set()


#: Columns of a table of surprisals that are no join keys.
QUANTITIES = frozenset({"surprisal", "logprob", "probability", "corrected", "tokens"})


def surprisals_of(entry: Mapping, dataset: str) -> dict:
    """Return the settings of a table of surprisals for a dataset; the join keys of `by_dataset` replace others."""
    own = entry.get("by_dataset", {}).get(dataset, {})
    columns = own.get("columns", {})
    shared = entry["columns"]
    if columns.keys() - QUANTITIES:
        shared = {name: column for name, column in shared.items() if name in QUANTITIES}
    return {**entry, **own, "columns": {**shared, **columns}}


def has_seeds(lm: dict) -> bool:
    """Return whether an LM is a table with several training seeds."""
    return "seed" in lm.get("surprisals", {}).get("columns", {})


def training_words(config: dict, name: str) -> str:
    """Return the number of an LM's training words as papers write it (10M), "" if not stated."""
    lm = language_model(config, name)
    lm = lm.get("member", lm)
    corpus = lm["ngram"].get("corpus") if "ngram" in lm else lm["corpus"]
    is_known = corpus in config["corpora"] and not lm.keys() & {
        "checkpoint",
        "surprisals",
        "interpolate",
    }
    return config["corpora"][corpus].get("words", "") if is_known else ""


def described(name: str, settings: dict) -> dict:
    """Return the description of an LM for figures (recency.figures.comparison.LM)."""
    return {
        "lm": name,
        "label": settings["label"],
        "bias": with_defaults(settings["bias"]),
        "applied": settings["applied"],
        "network": _network_settings(settings),
    }


def _network_settings(settings: dict) -> dict:
    """Return the settings that identify an LM's network, or its replacement."""
    kind = kind_of(settings)
    if kind == "by_language":
        return _network_settings(settings["member"]) | {"languages": settings["languages"]}
    if kind == "network":
        network = {key: settings.get(key) for key in (*SCALE_KEYS, "checkpoint")}
        return network | {
            key: settings[key]
            for key in ("step", "memory", "lossy", "reader", "precision")
            if settings.get(key) is not None
        }
    if kind == "mix":
        mix_keys = ("interpolate", "shares", "held_out", "cache")
        return {"mix": {key: settings[key] for key in mix_keys if key in settings}}
    return {kind: settings[{"table": "surprisals", "ngram": "ngram"}[kind]]}


def chosen(config: dict, wildcards: object, root: Path) -> dict[str, list[str]]:
    """Return the modules that a job with these wildcards selects by name; see workflow.code."""
    selected = {}
    if (lm := getattr(wildcards, "lm", None)) in config["lms"]:
        settings = language_model(config, lm)
        selected[BIASES] = [settings["bias"]["form"], "none"]
        selected[MEMORIES] = [settings["memory"]["form"]] if "memory" in settings else []
        lossy = (settings.get("lossy"), _recipe_of(config, settings).get("lossy"))
        selected[ERASURES] = [entry["erasure"]["form"] for entry in lossy if entry]
        asked = settings.get("measures") or []
        selected[MEASURES] = [
            name
            for name in plugins.names(MEASURES)
            if any(measure == name or measure.startswith(f"{name}_") for measure in asked)
        ]
    if (dataset := getattr(wildcards, "dataset", None)) in config["datasets"]:
        owner = owner_of_words(config, dataset)
        selected[PARSERS] = [config["datasets"][name]["parser"] for name in {dataset: 0, owner: 0}]
    if (corpus := getattr(wildcards, "corpus", None)) in config["corpora"]:
        selected[READERS] = text_readers(config["corpora"][corpus], root)
    return selected


def _recipe_of(config: dict, settings: dict) -> dict:
    """Return the recipe of an LM's settings, {} without a recipe."""
    return config["recipes"].get(settings.get("recipe"), {})


def text_readers(corpus: dict, root: Path) -> list[str]:
    """Return the readers of a corpus's files."""
    if "sources" in corpus:
        files = sources.read(sources.resolve(corpus["sources"], root), corpus.get("exclude", []))
        return sorted({source.reader for source in files})
    return [corpus["reader"]] if "reader" in corpus else []


def responses(config: dict, name: str, table: str = "experiments") -> list[dict]:
    """Return the responses of an experiment, or of an entry of another table.

    Responses are dicts of design, dataset and measure, in the config's order.
    """
    return [
        dict(zip(("dataset", "measure"), response.partition(".")[::2], strict=True), design=design)
        for design, listed in config[table][name].get("responses", {}).items()
        for response in listed
    ]


def datasets_read(config: dict, experiments: Iterable[str]) -> set[str]:
    """Return the datasets that experiments' responses and evaluations use."""
    datasets = set()
    for name in experiments:
        datasets |= {response["dataset"] for response in responses(config, name)}
        asked = (value for value in config["experiments"][name].values() if isinstance(value, dict))
        datasets |= {value["dataset"] for value in asked if isinstance(value.get("dataset"), str)}
    return datasets


def owner_of_words(config: dict, dataset: str) -> str:
    """Return the dataset that provides a dataset's words: itself, or the one in `words`."""
    return config["datasets"][dataset]["words"].get("dataset", dataset)


def first_pass(dataset: dict) -> str | None:
    """Return the first-pass measure that a dataset's parser reads; None if it has none."""
    measures = dataset["measures"]
    return next((m for m in ("FP", "GD", "FFD") if m in measures and "of" not in measures[m]), None)


def missing_files(dataset: dict, mirrors: list[str]) -> list[str]:
    """Return messages on missing files of a dataset that the user must supply.

    Files of another dataset that provides the words are not included.
    """
    parts = (dataset.get(part, {}).values() for part in ("words", "responses"))
    return _missing([f for part in parts for f in part if isinstance(f, dict)], mirrors)


def missing_data(entry: dict, roles: Iterable[str], mirrors: list[str]) -> list[str]:
    """Return messages on missing files of an entry of `MATERIALS` that the user must supply."""
    return _missing([entry[role] for role in roles if role in entry], mirrors)


def _missing(files: list[dict], mirrors: list[str]) -> list[str]:
    missing = []
    for file in files:
        if "url" in file or "simulated" in file:
            continue
        is_here = Path(file["local"]).exists() if "local" in file else False
        stand_in = file.get("stand_in", {}).get("path")
        if stand_in and not is_here:
            is_here = any(glob.glob(f"{glob.escape(m)}/{stand_in}*") for m in mirrors)
        if not is_here:
            missing.append(f"{file.get('local', stand_in)}: {file.get('supplied', '')}")
    return missing
