"""Check language models: weights of others, steps of a training, n-grams and tables of surprisals.

Check settings of LMs and recipes with lossy contexts.

Check that LMs have the parts that internal measures need: layers, heads, gates, an n-gram model.

Interpolated LMs: inputs for their weights, and checks of their settings.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from readingtimes.names import nearest
from recency import config as configuration
from recency import plugins
from recency.errors import REFUSALS
from recency.evaluations import registry
from recency.scoring import measures
from recency.scoring import measures as sites
from recency.workflow.config import schema_checks

#: Names of other things than LMs in tables: the baseline model without an LM, readers, columns, human texts.
RESERVED = {
    *("none", "readers", "readers_unpooled", "response", "region", "condition", "stimulus"),
    *("word_id", "span", "original"),
}


def problems(config: dict) -> list[str]:
    """List settings of LMs that are incompatible with other entries."""
    faults: list[str] = []
    for name, lm in config["lms"].items():
        where = f"lms → {name}"
        if name in RESERVED:
            faults.append(f"{where}: this name is reserved; use another, such as no-bias")
        if "interpolate" in lm:
            faults += mix_problems(config, name)
        elif "surprisals" in lm:
            faults += _surprisals(f"{where} → surprisals", lm["surprisals"])
        elif "ngram" in lm:
            faults += _ngram(config, f"{where} → ngram", lm["ngram"])
        else:
            faults += _network(config, where, lm)
    for name in config["experiments"]:
        faults += [*_experiment(config, name), *experiment_problems(config, name)]
    return faults


def _network(config: dict, where: str, lm: Mapping) -> Iterator[str]:
    """Yield faults of `weights` and `checkpoint_of`."""
    if of := lm.get("weights"):
        other = config["lms"][of]
        if (kind := configuration.kind_of(other)) != "network":
            yield f"{where} → weights: {of!r} is {configuration.CALLED[kind]} and has no weights"
        source = config["lms"][other["checkpoint_of"]] if "checkpoint_of" in other else other
        biased = "bias" in source and configuration.bias_of(config, of)["form"] != "none"
        otherwise = not {"bias", "applied"} & lm.keys()  # the same network with other scoring
        if (biased and not otherwise) or "weights" in other:
            yield f"{where} → weights: {of!r} is itself a biased LM"
    if of := lm.get("checkpoint_of"):
        if problem := configuration.not_trained(config, of):
            yield f"{where} → checkpoint_of: {problem}"
        else:
            kept = configuration.not_kept(config, of, lm["step"])
            yield from (f"{where} → checkpoint_of → step: {problem}" for problem in kept)


def _surprisals(where: str, entry: Mapping) -> Iterator[str]:
    """Yield columns that a local table of surprisals lacks."""
    files = entry.get("tables", {})
    if "table" in entry:  # with settings of its own for some datasets
        files = dict.fromkeys(["", *entry.get("by_dataset", {})], entry["table"])
    for dataset, file in files.items():
        there = schema_checks.of_file(file.get("local", ""), {})
        named = configuration.surprisals_of(entry, dataset)["columns"] | entry.get("measures", {})
        asked = [
            (key, column)
            for key, columns in named.items()
            for column in ([columns] if isinstance(columns, str) else columns)
        ]
        for key, column in asked if there is not None else ():
            if column not in there:
                short_names = [name for name in there if len(name) < 40]
                near = nearest(column, short_names)
                yield f"{where} → columns → {key}: {file['local']} has no column {near}"


def _ngram(config: dict, where: str, entry: Mapping) -> Iterator[str]:
    """Yield incompatible settings of an n-gram model."""
    prune, order = entry.get("prune", []), entry.get("order", 5)
    if prune != sorted(prune):
        rising = [max(prune[: order_index + 1]) for order_index in range(len(prune))]
        yield f"{where} → prune: {prune} decreases; thresholds may not decrease with the order; write {rising}"
    if "corpus" in entry and len(prune) > order:
        yield f"{where} → prune: more numbers than orders ({order})"
    if "cdlm" not in entry:
        return
    cdlm, at = entry["cdlm"], f"{where} → cdlm"
    base = config["lms"][cdlm["of"]].get("ngram", {})
    displayed = base.get("text_rule", "displayed") == "displayed"
    if "corpus" not in base or "distance" in base or not displayed:
        yield (
            f"{at} → of: {cdlm['of']!r} is not an n-gram model of a corpus with `text_rule: displayed` and "
            "without `distance`; name one"
        )
        return
    order = base.get("order", 5)
    if not 2 <= order < cdlm["span"]:
        yield f"{at} → span: {cdlm['span']} must exceed the order of {cdlm['of']!r}, {order}, which must be 2 or more"
    if "grown_from" in cdlm:
        smaller = config["lms"][cdlm["grown_from"]].get("ngram", {}).get("cdlm", {})
        if (smaller.get("span"), smaller.get("of")) != (cdlm["span"] - 1, cdlm["of"]):
            yield f"{at} → grown_from: {cdlm['grown_from']!r} is not a CDLM with span {cdlm['span'] - 1} of {cdlm['of']!r}"


def _experiment(config: dict, name: str) -> Iterator[str]:
    """Yield evaluations of an experiment that its LMs without a network do not support."""
    experiment, where = config["experiments"][name], f"experiments → {name}"
    kinds = {lm: configuration.kind_of(config["lms"][lm]) for lm in experiment["lms"]}
    for evaluation in registry.evaluations().values():
        for lm, kind in (
            kinds.items() if evaluation.network and evaluation.key in experiment else ()
        ):
            if kind != "network":
                yield (
                    f"{where} → {evaluation.key}: {lm!r} is {configuration.CALLED[kind]}, and this needs a "
                    "network; use a separate experiment for the networks"
                )
    datasets = [
        *dict.fromkeys(response["dataset"] for response in configuration.responses(config, name))
    ]
    mixed = [response for lm in kinds for response in config["lms"][lm].get("interpolate", [])]
    for lm in dict.fromkeys([*kinds, *mixed]):
        entry = config["lms"][lm].get("surprisals", {})
        of, tables = f"{where} → responses: lms → {lm} → surprisals", entry.get("tables")
        for dataset in datasets if tables else ():
            if dataset not in tables:
                yield f"{of} → tables has none for {dataset!r}"
        if "table" in entry and len(datasets) > 1 and "dataset" not in entry["columns"]:
            way = "map its `dataset` column, or give `tables:`, one per dataset"
            yield f"{of} has one table for {' and '.join(datasets[:3])}; {way}"


#: Keys of evaluations that open a network without declaring it.
OTHERS = ("perplexity", "rank_metrics", "search")
#: Keys of evaluations that read an LM's surprisal of each word, the same for all readers.
OF_WORDS = ("conditions", "contrasts", "maze", "triggering", "turing_test", "word_length")
#: The evaluations that use lossy contexts.
MEASURED = ("measured_memory", "context_information")
#: Default tokens per segment.
SEGMENT = 16


def lossy_problems(config: dict) -> list[str]:
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
    faults += _reader_problems(config)
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
        faults += _lossy_experiment(config, name, lossy)
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


def _reader_problems(config: dict) -> Iterator[str]:
    """Yield settings that are incompatible with contexts of readers."""
    lms = {name: configuration.language_model(config, name) for name in config["lms"]}
    lms = {name: settings for name, settings in lms.items() if "reader" in settings}
    for name, settings in lms.items():
        where, masked = f"lms → {name} → reader", configuration.is_masked(config, name)
        for key in configuration.MEASURE_KEYS:
            if settings.get(key):
                yield f"{where}: its `{key}` are defined for the whole context; write `{key}: []` for this LM"
        if masked is False and settings["reader"].get("skipped") == "masked":
            yield f"{where} → skipped: a causal LM has no mask; skipped words are `absent` or `seen`"
        if masked is False and not settings.get("bos"):
            yield f"{where}: a reader's first word needs a begin token before it (`bos: true`)"
    for name, entry in config["lms"].items():
        if mixed := [lm for lm in entry.get("interpolate", ()) if lm in lms]:
            yield f"lms → {name} → interpolate: {mixed[0]!r} has contexts of readers, and cannot be mixed"
    for name, experiment in config["experiments"].items():
        if not (own := [lm for lm in experiment["lms"] if lm in lms]):
            continue
        where = f"experiments → {name}"
        for response in configuration.responses(config, name):
            if configuration.first_pass(config["datasets"][response["dataset"]]) is None:
                yield (
                    f"{where}: {own[0]!r} has contexts of readers, and the dataset {response['dataset']!r} has "
                    "no scanpaths: neither fixations nor a measure FP, GD or FFD; use another dataset"
                )
                break
        for evaluation in registry.evaluations().values():
            whole = evaluation.network or evaluation.key in (*OTHERS, *OF_WORDS)
            if evaluation.key in experiment and whole:
                yield (
                    f"{where} → {evaluation.key}: {own[0]!r} has a value per reader and word, but this "
                    "evaluation reads whole texts; use a separate experiment"
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


def _lossy_experiment(config: dict, name: str, lossy: Mapping[str, Mapping]) -> Iterator[str]:
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


def inside_problems(config: dict, root: Path) -> list[str]:
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
    except REFUSALS:
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


#: Keys of an interpolated LM in addition to its LMs.
KEYS = ("shares", "held_out", "cache")


class Mix:
    """An interpolated LM of a study."""

    def __init__(self, study, lm: str):
        self.study, self.config = study, study.config
        self.lm, self.entry = lm, study.config["lms"][lm]
        self.lms: list[str] = self.entry["interpolate"]

    @property
    def unknown_as(self) -> list[str | None]:
        """Return the token of each LM for unknown words (networks of words only)."""
        return [configuration.unknown_word(self.config, lm) for lm in self.lms]

    def text(self, corpus: str) -> dict[str, object]:
        """Return the files for scoring a text token by token."""
        return {
            "scores": [f"<results>/text_perplexity/{lm}/{corpus}.parquet" for lm in self.lms],
            "text": f"<results>/corpora/{corpus}/text.parquet",
        }

    def words(self, dataset: str) -> dict[str, object]:
        """Return the files for scoring a dataset word by word."""
        where = [f"<results>/surprisal/{lm}/{dataset}" for lm in self.lms]
        return {
            "words": f"<results>/datasets/{dataset}/words.parquet",
            "scores": [f"{stem}.parquet" for stem in where],
            "ledgers": [f"{stem}.ledger.csv" for stem in where],
        }

    def held_out(self) -> dict[str, object]:
        """Return the files for estimating the weights, and LMs' histories; none if weights are given."""
        on = self.entry.get("held_out", {})
        if not on:
            return {}
        histories = {"histories": list(filter(None, map(self._history, self.lms)))}
        if "dataset" in on:
            return histories | self.words(on["dataset"])
        if not configuration.mix_over_tokens(self.config, self.lm):
            return histories | self.text(on["corpus"])
        where = [f"<results>/mixes/{on['corpus']}/{lm}" for lm in self.lms]
        return histories | {
            "words": f"<results>/mixes/{on['corpus']}/words.parquet",
            "scores": [f"{stem}.parquet" for stem in where],
            "ledgers": [f"{stem}.ledger.csv" for stem in where],
        }

    def _history(self, lm: str) -> str | None:
        """Return the file that has the history of an LM of this study."""
        if configuration.kind_of(self.config["lms"][lm]) == "ngram":
            return self.study.ngram_file(lm)
        return next(iter(self.study.weights(lm)), None)


def mix_problems(config: Mapping, name: str) -> list[str]:
    """List faults in an LM's `interpolate`."""
    entry, where = config["lms"][name], f"lms → {name}"
    lms, number = entry["interpolate"], len(entry["interpolate"]) + ("cache" in entry)
    faults = []
    if number < 2:
        faults.append(
            f"{where} → interpolate: one LM cannot be interpolated; name another, or add a `cache`"
        )
    faults += [
        f"{where} → interpolate: {lm!r} is itself a mixture; name its LMs"
        for lm in lms
        if "interpolate" in config["lms"][lm]
    ]
    if ("shares" in entry) == ("held_out" in entry):
        faults.append(
            f"{where}: set either `held_out`, the corpus or dataset on whose text the weights are estimated, "
            "or `shares`"
        )
    given = entry.get("shares")
    if given is not None and (len(given) != number or abs(sum(given) - 1) > 1e-6):
        of = f"{number} LMs" + ", the cache the last" * ("cache" in entry)
        faults.append(f"{where} → shares: {number} numbers that sum to 1, one for each of the {of}")
    faults += _vocabulary_problems(config, where, lms)
    if "corpus" in entry.get("held_out", {}):
        tables = [lm for lm in lms if configuration.kind_of(config["lms"][lm]) == "table"]
        faults += [
            f"{where} → held_out → corpus: {lm!r} is a table of surprisals and cannot score other text; use a `dataset`, "
            "or `shares`"
            for lm in tables
        ]
    return faults


def _vocabulary_problems(config: Mapping, where: str, lms: list[str]) -> list[str]:
    """List LMs whose probabilities are defined over other words than the others'."""
    faults, rules = [], {}
    for lm in lms:
        entry = config["lms"][lm]
        rule = entry.get("ngram", {}).get("text_rule", "displayed")
        rules[lm] = "displayed" if rule == "split" else rule
        if {"metric", "future"} & entry.get("scoring", {}).keys() or configuration.is_masked(
            config, lm
        ):
            faults.append(
                f"{where} → interpolate: {lm!r} is masked; its word scores are not probabilities of the "
                "next word, and cannot be interpolated"
            )
    if len(set(rules.values())) > 1:
        lm, rule = next((lm, rule) for lm, rule in rules.items() if rule != "displayed")
        faults.append(
            f"{where} → interpolate: {lm!r} has `text_rule: {rule}`, so its probabilities are over other "
            "words than those of the rest; use displayed or split"
        )
    return faults


def experiment_problems(config: Mapping, name: str) -> list[str]:
    """List mixtures of an experiment whose weights are estimated on the text of the comparison."""
    experiment, faults = config["experiments"][name], []
    scored = {r["dataset"] for r in configuration.responses(config, name)}
    scored |= {configuration.owner_of_words(config, d) for d in scored}
    for lm in experiment["lms"]:
        entry = config["lms"][lm]
        on = entry.get("held_out", {}).get("dataset")
        if on and configuration.owner_of_words(config, on) in scored:
            faults.append(
                f"experiments → {name} → responses: the weights of {lm!r} are estimated on {on}'s text, on which it is "
                "compared here; use another `held_out`"
            )
    return faults
