"""Check settings of LMs and recipes with lossy contexts."""

from collections.abc import Iterator, Mapping

from recency import config as configuration
from recency import plugins
from recency.evaluations import registry

#: Keys of evaluations that open a network without declaring it.
OTHERS = ("perplexity", "rank_metrics", "search")
#: The evaluations that use lossy contexts.
MEASURED = ("measured_memory", "context_information")
#: Default tokens per segment.
SEGMENT = 16


def problems(config: dict) -> list[str]:
    """List settings that are incompatible with lossy contexts."""
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
                f"lms → {name} → bias: the form {form!r} depends on the length of a row, but the rows of "
                f"recipes → {settings['recipe']} → lossy are padded; use another bias or recipe"
            )
    for name in config["experiments"]:
        faults += _experiment(config, name, lossy)
    for name, entry in config.get("searches", {}).items():
        if entry.get("lm") in lossy:
            faults.append(
                f"searches → {name} → lm: {entry['lm']!r} has lossy contexts, but a search applies "
                "biases to a network with the whole context; name one without `lossy`"
            )
    return faults


def _lm(config: dict, name: str, settings: Mapping) -> Iterator[str]:
    """Yield settings of an LM that are incompatible with its lossy contexts, as ` → key: …`."""
    lossy = settings["lossy"]
    for key in configuration.MEASURE_KEYS:
        if settings.get(key):
            yield (
                f": its `{key}` are defined for the whole context; write `{key}: []` for this LM, and take them from "
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
        yield f" → unigram: the form {erasure['form']!r} does not use frequencies; remove it"
    words = (erasure.get("budget") or {}).get("words")
    reach = lossy.get("reach", plugins.attribute(configuration.ERASURES, erasure["form"], "reach"))
    if words is not None and reach is not None and words >= reach:
        yield (
            f" → erasure → budget: {words:g} retained words exceed contexts of {reach} words "
            "(`reach`); reduce the budget, or increase `reach`"
        )


def _recipe(name: str, recipe: Mapping) -> Iterator[str]:
    """Yield settings of a recipe that are incompatible with its lossy contexts."""
    if "lossy" not in recipe:
        return
    where, lossy = f"recipes → {name} → lossy", recipe["lossy"]
    segment, length = lossy.get("segment", SEGMENT), recipe["sequence_length"]
    if segment >= length or length % segment:
        yield (
            f"{where} → segment: {segment} is not a divisor of `sequence_length`, {length}, smaller than it; "
            "segments must fill a sequence"
        )
    erasure = lossy["erasure"]
    if further := set(configuration.erasure_features(erasure)) - {"distance", "frequency"}:
        yield (
            f"{where} → erasure: the form {erasure['form']!r} uses the {min(further)} of words, which a "
            "stream of tokens lacks; use exponential, power_law, truncation or frequency"
        )
    elif erasure["form"] == "resource_rational" and erasure.get("intercept") is None:
        yield (
            f"{where} → erasure: a budget requires a dataset and a trained LM; set `slopes` and "
            "`intercept`, or use another form"
        )


def _experiment(config: dict, name: str, lossy: Mapping[str, Mapping]) -> Iterator[str]:
    """Yield evaluations of an experiment that are undefined for LMs with lossy contexts."""
    experiment = config["experiments"][name]
    lms = [lm for lm in experiment["lms"] if lm in lossy]
    for evaluation in registry.evaluations().values() if lms else ():
        key = evaluation.key
        if key not in experiment or not (evaluation.network or key in OTHERS):
            continue
        where = f"experiments → {name} → {key}"
        if key not in MEASURED:
            yield (
                f"{where}: {lms[0]!r} has lossy contexts, but this evaluation uses whole ones; use a "
                "separate experiment for the LMs without `lossy`"
            )
            continue
        for lm in lms:
            erasure = lossy[lm]["lossy"]["erasure"]
            features = configuration.erasure_features(erasure)
            if features != ("distance",) or erasure.get("budget"):
                yield (
                    f"{where}: the retention of {lm!r} does not depend on distance only, or has a budget per "
                    "dataset; use a separate experiment for this LM"
                )
