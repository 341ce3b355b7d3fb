"""Checks of memories, of the recurrent LMs that have them, and of how such LMs are trained."""

from collections.abc import Iterator, Mapping

from recency import config as configuration
from recency import plugins
from recency.evaluations import registry
from recency.names import nearest
from recency.workflow import schema_checks

#: What a recipe says of one order, optimiser or schedule alone: key → (the setting, its value).
OF_ONE = {
    "reset": ("order", "streams"),
    "shuffle": ("order", "streams"),
    "loss": ("order", "streams"),
    "momentum": ("optimizer", "sgd"),
    "halving": ("schedule", "halving"),
    "stretch": ("schedule", "stretched"),
    "masking": ("objective", "masked"),
    "rows": ("objective", "masked"),
    "longer": ("rows", "examples"),
}
#: What a recurrent architecture has not, and what it alone has.
ATTENTION, RECURRENT = ("heads", "context", "rotary_fraction"), ("embedding", "tied")


def memory_problems(config: dict, known) -> list[str]:
    """List memories whose form has no file, or whose parameters its file does not allow."""
    problems, forms = [], plugins.names(configuration.MEMORIES, "PARAMETERS")
    for name, memory in config.get("memories", {}).items():
        where, form = f"memories → {name}", memory["form"]
        if form not in forms:
            problems.append(f"{where} → form: none is called {nearest(form, forms)}")
            continue
        properties = configuration.memory_parameters(form)
        schema = {"properties": properties, "additionalProperties": False}
        schema["required"] = [key for key, value in properties.items() if "default" not in value]
        settings = {key: value for key, value in memory.items() if key != "form"}
        found = []
        for error in schema_checks.Validator(schema).iter_errors(settings):
            error.path.extendleft([name, "memories"])
            found.append(schema_checks.message(error, schema))
        problems += found or _fofe_problems(where, memory)
    for name, lm in config["lms"].items():
        if "memory" in lm:
            known(f"lms → {name} → memory", lm["memory"], "memories")
    return problems


def _fofe_problems(where: str, memory: Mapping) -> list[str]:
    """List what of a fading memory's speed is said twice, or not at all."""
    if memory["form"] != "fofe":
        return []
    decay, spaced = (memory.get(key) for key in ("decay", "half_lives"))
    if (decay is None) == (spaced is None):
        return [f"{where}: one of `decay` and `half_lives` says how fast it fades; give one"]
    if decay == 0 and memory.get("learned"):
        return [f"{where} → learned: a `decay` of 0 cannot be learned from; begin above 0"]
    return []


def problems(config: dict, known) -> list[str]:
    """List architectures, recipes, LMs and experiments whose settings do not go with a memory."""
    found = [p for name, a in config["architectures"].items() for p in _architecture(name, a)]
    found += [p for name, recipe in config["recipes"].items() for p in _recipe(name, recipe, known)]
    recurrent = set()
    for name in config["lms"]:
        lm = settings_of(config, name)
        if lm is not None:
            found += _lm(config, f"lms → {name}", lm)
            if config["architectures"][lm["architecture"]]["family"] == "recurrent":
                recurrent.add(name)
    found += [p for name in config["experiments"] for p in _experiment(config, name, recurrent)]
    return found + [
        f"searches → {name} → lm: {search['lm']!r} is recurrent, and no bias of attention goes on it"
        for name, search in config.get("searches", {}).items()
        if search["lm"] in recurrent
    ]


def settings_of(config: dict, name: str) -> dict | None:
    """Return an LM that is trained here, or another's weights; None where what it names is not there."""
    lm, tables = config["lms"][name], (("bias", "biases"), ("memory", "memories"))
    if configuration.kind_of(lm) != "network" or "checkpoint" in lm:
        return None
    if config["scale"] not in config["scales"] or lm.get("weights", name) not in config["lms"]:
        return None
    given = {**configuration.inherited(config, lm), **lm}
    if any(given[key] not in config.get(table, {}) for key, table in tables if key in given):
        return None
    settings = configuration.language_model(config, name)
    there = settings["architecture"] in config["architectures"]
    return settings if there and settings["recipe"] in config["recipes"] else None


def _architecture(name: str, architecture: Mapping) -> Iterator[str]:
    """Yield what a network's family has not."""
    where, family = f"architectures → {name}", architecture["family"]
    wrong = ATTENTION if family == "recurrent" else RECURRENT
    for key in wrong:
        if key in architecture:
            yield f"{where} → {key}: a network of family {family} has none; leave it out"
    width = architecture["width"]
    read, given = architecture.get("embedding", width), architecture.get("feed_forward", width)
    if architecture.get("tied") and read != given:
        yield (
            f"{where} → tied: words are read in {read} numbers and predicted from {given}; one "
            "embedding needs as many"
        )


def _recipe(name: str, recipe: Mapping, known) -> Iterator[str]:
    """Yield what a recipe says of an order, an optimiser or a schedule that it has not."""
    where = f"recipes → {name}"
    for key, (setting, value) in OF_ONE.items():
        if key in recipe and recipe.get(setting) != value:
            yield f"{where} → {key}: it is of `{setting}: {value}`; leave it out"
    if recipe["schedule"] == "halving":
        for key in ("minimum_learning_rate", "warmup_steps"):
            if key in recipe:
                yield f"{where} → {key}: the schedule `halving` has none; leave it out"
    if "corpus" in recipe.get("validation", {}):
        known(f"{where} → validation → corpus", recipe["validation"]["corpus"], "corpora")


def _lm(config: dict, where: str, lm: Mapping) -> Iterator[str]:
    """Yield what of an LM does not go with its network's family."""
    named, order = lm["architecture"], config["recipes"][lm["recipe"]]["order"]
    if config["architectures"][named]["family"] != "recurrent":
        if "memory" in lm:
            yield (
                f"{where} → memory: architectures → {named} has attention; a memory is of one of "
                "family recurrent"
            )
        if order == "streams":
            yield (
                f"{where}: recipes → {lm['recipe']} → order: streams carry a state, and architectures → "
                f"{named} has none; take sequential or shuffled"
            )
        return
    if "memory" not in lm:
        yield f"{where}: architectures → {named} is recurrent; `memory:` must name what it carries"
    if lm["bias"]["form"] != "none":
        yield f"{where} → bias: architectures → {named} is recurrent and has no attention to bias"
    if order != "streams":
        yield (
            f"{where}: recipes → {lm['recipe']} → order: {order} rows carry no state from one to the "
            "next; a recurrent LM takes `streams`"
        )
    windows = {"stride": lm.get("stride"), "scoring → window": lm.get("scoring", {}).get("window")}
    for key, value in windows.items():
        if value is not None:
            yield (
                f"{where} → {key}: a recurrent LM reads a text of any length in one pass, without "
                "windows; leave it out"
            )


def _experiment(config: dict, name: str, recurrent: set[str]) -> Iterator[str]:
    """Yield what an experiment asks of recurrent LMs that they have not: attention, windows."""
    experiment, where = config["experiments"][name], f"experiments → {name}"
    own = [lm for lm in experiment["lms"] if lm in recurrent]
    if not own:
        return
    for evaluation in registry.evaluations().values():
        if evaluation.attention and evaluation.key in experiment:
            yield (
                f"{where} → {evaluation.key}: {own[0]!r} is recurrent and has no attention; give the LMs "
                "that have an experiment of their own"
            )
    if any(experiment.get("sensitivity", {}).get("stride", [])):
        yield f"{where} → sensitivity → stride: {own[0]!r} is recurrent and reads without windows"
