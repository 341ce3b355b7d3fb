"""Check settings that do not go with lossy contexts, of LMs and of recipes."""

from collections.abc import Iterator, Mapping

from recency import config as configuration
from recency import plugins
from recency.evaluations import registry

#: Evaluations that open a network without declaring that they need one: their keys.
OTHERS = ("perplexity", "rank_metrics", "search")
#: The one that reads LMs by their lossy contexts.
MEASURED = "measured_memory"
#: Tokens of a segment where a recipe does not say.
SEGMENT = 16


def problems(config: dict) -> list[str]:
    """List what does not go with lossy contexts."""
    faults = [
        problem for name, recipe in config["recipes"].items() for problem in _recipe(name, recipe)
    ]
    lossy = {
        name: settings
        for name in config["lms"]
        if (settings := configuration.language_model(config, name)).get("lossy")
    }
    for name, settings in lossy.items():
        where = f"lms → {name} → lossy"
        faults += [f"{where}{problem}" for problem in _lm(config, name, settings)]
    for name in config["lms"]:
        settings = configuration.language_model(config, name)
        recipe = config["recipes"].get(settings.get("recipe"), {})
        form = settings["bias"]["form"]
        trained = configuration.is_trained(config["lms"][name]) and "lossy" in recipe
        if trained and plugins.attribute(configuration.BIASES, form, "uses_length"):
            faults.append(
                f"lms → {name} → bias: the form {form!r} depends on the length of a row, and the rows of "
                f"recipes → {settings['recipe']} → lossy are padded; take another bias or recipe"
            )
    for name in config["experiments"]:
        faults += _experiment(config, name, lossy)
    for name, entry in config.get("searches", {}).items():
        if entry.get("lm") in lossy:
            faults.append(
                f"searches → {name} → lm: {entry['lm']!r} is read with lossy contexts, and a search puts "
                "biases on a network that sees its whole context; name one without `lossy`"
            )
    return faults


def _lm(config: dict, name: str, settings: Mapping) -> Iterator[str]:
    """Yield what an LM has that does not go with its lossy contexts; ` → key: …`."""
    lossy = settings["lossy"]
    for key in configuration.MEASURE_KEYS:
        if settings.get(key):
            yield (
                f": its `{key}` are of the whole context; write `{key}: []` for this LM, and take them of "
                "one without `lossy`"
            )
    masked = configuration.is_masked(config, name)
    if masked is False and not settings.get("bos"):
        yield ": a word whose context is erased needs a begin token before it (`bos: true`)"
    if masked is False and lossy.get("erased") == "masked":
        yield " → erased: a causal LM has no mask; its erased words are `deleted`"
    erasure = lossy["erasure"]
    by_frequency = "frequency" in configuration.erasure_features(erasure)
    if "unigram" in lossy and not by_frequency:
        yield f" → unigram: the form {erasure['form']!r} reads no frequencies here; leave it out"
    words = (erasure.get("budget") or {}).get("words")
    reach = lossy.get("reach", plugins.attribute(configuration.ERASURES, erasure["form"], "reach"))
    if words is not None and reach is not None and words >= reach:
        yield (
            f" → erasure → budget: {words:g} retained words cannot be met by contexts of {reach} words "
            "(`reach`); give fewer, or a larger `reach`"
        )


def _recipe(name: str, recipe: Mapping) -> Iterator[str]:
    """Yield what a recipe's lossy contexts do not go with."""
    if "lossy" not in recipe:
        return
    where, lossy = f"recipes → {name} → lossy", recipe["lossy"]
    segment, length = lossy.get("segment", SEGMENT), recipe["sequence_length"]
    if segment >= length or length % segment:
        yield (
            f"{where} → segment: {segment} is no divisor of `sequence_length`, {length}, below it, so that "
            "segments do not fill a sequence"
        )
    erasure = lossy["erasure"]
    if further := set(configuration.erasure_features(erasure)) - {"distance", "frequency"}:
        yield (
            f"{where} → erasure: the form {erasure['form']!r} reads the {min(further)} of words, which a "
            "stream of tokens has not; take exponential, power_law, truncation or frequency"
        )
    elif erasure["form"] == "resource_rational" and erasure.get("intercept") is None:
        yield (
            f"{where} → erasure: a budget is met on a dataset by a trained LM; give `slopes` and "
            "`intercept`, or take another form"
        )


def _experiment(config: dict, name: str, lossy: Mapping[str, Mapping]) -> Iterator[str]:
    """Yield what an experiment asks of networks that is not of their lossy contexts."""
    experiment = config["experiments"][name]
    lms = [lm for lm in experiment["lms"] if lm in lossy]
    for evaluation in registry.evaluations().values() if lms else ():
        key = evaluation.key
        if key not in experiment or not (evaluation.network or key in OTHERS):
            continue
        where = f"experiments → {name} → {key}"
        if key != MEASURED:
            yield (
                f"{where}: {lms[0]!r} is read with lossy contexts, and this reads whole ones; give the "
                "LMs without `lossy` an experiment of their own"
            )
            continue
        for lm in lms:
            erasure = lossy[lm]["lossy"]["erasure"]
            features = configuration.erasure_features(erasure)
            if features != ("distance",) or erasure.get("budget"):
                yield (
                    f"{where}: the retention of {lm!r} is not of distance alone, or meets a budget on "
                    "each dataset; give this LM an experiment of its own"
                )
