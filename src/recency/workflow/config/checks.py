"""Check the whole config before anything runs.

Nothing here needs torch or R, so mistakes are reported within seconds. The schema checks types and keys,
then looks up names of entries, modules, files and columns; then settings of several tables are compared.

Check the selections of experiments, groups, targets and unigrams, and that names are unique.

Check that LMs are not evaluated on their training text, as far as the config shows.

Covered are texts of interpolation weights, validation and perplexity. Parts of one corpus are different
texts; a copy under another name is detected by the job that reads it (recency.history).

Check that LMs, unigram models and taggers have the language of the datasets that they score.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from readingtimes.response_names import RESPONSES
from recency import config as configuration
from recency import languages
from recency.errors import REFUSALS, InputError
from recency.evaluations import registry
from recency.history import MOST_SEEN
from recency.reading import declared_columns
from recency.regression import designs
from recency.regression import predictor_names as names
from recency.workflow.config import (
    dataset_checks,
    lm_checks,
    loading,
    network_checks,
    schema_checks,
    strict_yaml,
)

LONGEST = 295  # maximum characters per line
MOST = 40  # maximum number of lines


def check(config: dict, schema: Path) -> None:
    """Check types, keys and names; raise an InputError that lists all problems."""
    root = Path(schema).parent
    text = Path(schema).read_text(encoding="utf-8")
    schema = registry.complete_schema(yaml.load(text, Loader=strict_yaml.LOADER))
    for key, value in schema["properties"].items():
        # Snakemake reads `--config key=false` as text; only False is a boolean.
        if value.get("type") == "boolean" and config.get(key) in ("true", "false"):
            config[key] = config[key] == "true"
    look_up = schema_checks.Lookup(config, schema, root)
    faults = schema_checks.problems(config, schema, look_up=look_up)
    faults = (faults and _of_files(root, schema)) or faults  # prefer errors that name the file
    if faults := faults or _problems(config, root):
        raise InputError(listed(faults))


def listed(problems: list[str]) -> str:
    """Return a message with one line per problem, truncated if there are many."""
    lines_cut = [
        p if len(p) <= LONGEST else f"{p[: LONGEST - 1]}…" for p in dict.fromkeys(problems)
    ]
    more = [f"… and {len(lines_cut) - MOST} more"] if len(lines_cut) > MOST else []
    lines = "\n".join(f"  {problem}" for problem in lines_cut[:MOST] + more)
    return f"the config (config.yaml and its overlays) has errors:\n{lines}"


def _of_files(root: Path, schema: dict) -> list[str]:
    """List the schema errors of each corpus file separately."""
    part = schema | {"required": []}
    return [
        problem
        for path, content in loading.corpus_files(root).items()
        for problem in schema_checks.problems(content, part, f"{path}: ")
    ]


def _problems(config: dict, root: Path) -> list[str]:
    """List incompatible settings of several tables; every name is defined."""
    faults = network_checks.problems(config) + lm_checks.problems(config)
    faults += lm_checks.lossy_problems(config) + language_problems(config)
    faults += lm_checks.inside_problems(config, root)
    faults += dataset_checks.problems(config) + dataset_checks.design_problems(config, root)
    for evaluation in registry.evaluations().values():
        faults += evaluation.table_problems(config, root) if evaluation.table_problems else []
    return faults + selection_problems(config) + training_text_problems(config)


def selection_problems(config: dict) -> list[str]:
    """List incompatible selections."""
    faults = [p for name in config["experiments"] for p in experiment_problems(config, name)]
    for table in registry.fitted_tables():
        for name, entry in config.get(table, {}).items() if table != "experiments" else ():
            faults += response_problems(config, f"{table} → {name}", entry)
    for table in ("lm_groups", "unigrams"):
        for name in config["lms"].keys() & config.get(table, {}).keys():
            faults.append(f"{table} → {name}: an LM has the same name")
    return faults + _names(config)


def _names(config: dict) -> list[str]:
    """List names of several targets: `./run <name>` must be unambiguous."""
    others = {name: f"targets → {name}" for name in config.get("targets", {})}
    others |= {f"check_{name}": f"datasets → {name}" for name in config["datasets"]}
    others |= {f"export_{name}": f"lms → {name}" for name in config["lms"]}
    for evaluation in registry.evaluations().values():
        named = evaluation.targets(config) if evaluation.targets else []
        others |= {name: f"the target {name}" for name, *_ in named}
    return [
        f"experiments → {name}: `./run {name}` is already {owner}; rename it"
        for name, owner in others.items()
        if name in config["experiments"]
    ]


def experiment_problems(config: dict, name: str) -> list[str]:
    """List incompatible selections of an experiment."""
    faults, experiment = [], config["experiments"][name]
    where = f"experiments → {name}"
    if experiment["baseline"] not in experiment["lms"]:
        faults.append(f"{where} → baseline: not among the experiment's `lms`")
    shared = {key for declared in registry.evaluations().values() for key in declared.shares}
    for key in sorted(shared & experiment.keys()):
        sharing = [
            declared.key for declared in registry.evaluations().values() if key in declared.shares
        ]
        keys = list(dict.fromkeys(sharing))
        if experiment[key] and not experiment.keys() & set(keys):
            required = " or ".join(f"`{declared}`" for declared in keys)
            faults.append(f"{where} → {key}: it requires {required}, and there are none")
    faults += response_problems(config, where, experiment)
    for evaluation in registry.evaluations().values():
        faults += evaluation.problems(config, name) if evaluation.problems else []
    return faults


def response_problems(config: dict, where: str, entry: dict) -> list[str]:
    """List responses of an experiment or search to which their design cannot be fitted."""
    faults = []
    for asked in configuration.responses({"of": {"it": entry}}, "it", "of"):
        design, measure = config["designs"][asked["design"]], asked["measure"]
        response, dataset = f"{asked['dataset']}.{measure}", config["datasets"][asked["dataset"]]
        path, is_event = (
            f"{where} → responses → {asked['design']}",
            "event" in dataset["measures"][measure],
        )
        family, value = (
            design.get("family", "gaussian"),
            design["formula"].partition("~")[0].strip(),
        )
        if (family == "binomial") != is_event:
            faults.append(
                f"{path}: {response!r} is {'an event' if is_event else 'no event'}, and the design's "
                f"family {family}; events, and only events, require `family: binomial`"
            )
        column = declared_columns.value_column(dataset, measure)
        if value in RESPONSES and not is_event and column != value:
            faults.append(f"{path}: {response} is {column}, and the formula begins {value} ~")
    return faults


#: Keys of a corpus that do not identify its text.
ABOUT = ("label", "cite", "licence", "words", "documents")


def training_text_problems(config: Mapping) -> list[str]:
    """List evaluations on a text that the LM was trained on.

    Parameters
    ----------
    config : Mapping
        The complete config; undefined names are ignored.
    """
    faults = {}
    for where, lm, evaluated in _evaluations(config):
        for trained in dict.fromkeys(_training_corpora(config, lm, set())):
            if _share(config, evaluated, trained) > MOST_SEEN:
                same = "" if trained == evaluated else f", the same text as {evaluated!r}"
                faults[where, lm, trained] = (
                    f"{where}: {lm!r} is trained on {trained!r}{same}; use a text that it was not trained on"
                )
    return list(faults.values())


def _evaluations(config: Mapping) -> Iterator[tuple[str, str, str]]:
    """Yield (path in the config, LM, corpus) for evaluations on a corpus."""
    for name, lm in config["lms"].items():
        on = lm.get("held_out", {}).get("corpus")
        for part in lm.get("interpolate", ()) if on else ():
            yield f"lms → {name} → held_out → corpus", part, on
        if on := lm.get("ngram", {}).get("cdlm", {}).get("validation"):
            yield f"lms → {name} → ngram → cdlm → validation", name, on
        recipe = _recipe(config, lm) if configuration.is_trained(lm) else None
        if on := config["recipes"].get(recipe, {}).get("validation", {}).get("corpus"):
            yield f"recipes → {recipe} → validation → corpus", name, on
    for name, experiment in config["experiments"].items():
        for evaluation in registry.evaluations().values():
            if evaluation.texts and evaluation.key in experiment:
                for part, lm, corpus in evaluation.texts(config, name):
                    yield f"experiments → {name} → {evaluation.key} → {part}", lm, corpus


def _training_corpora(config: Mapping, name: str, seen: set[str]) -> Iterator[str]:
    """Yield the training corpora of an LM, of its components, and of its initial weights."""
    lm = config["lms"].get(name)
    if lm is None or name in seen:
        return
    seen.add(name)
    of = [
        *lm.get("interpolate", ()),
        *lm.get("languages", {}).values(),
        lm.get("weights"),
        lm.get("checkpoint_of"),
    ]
    ngram = lm.get("ngram", {})
    if "corpus" in ngram:
        yield ngram["corpus"]
    of += [ngram.get("cdlm", {}).get(key) for key in ("of", "grown_from")]
    if configuration.is_trained(lm):
        yield lm.get("corpus", config["scales"].get(config["scale"], {}).get("corpus", ""))
        of.append(config["recipes"].get(_recipe(config, lm), {}).get("vectors", {}).get("of"))
    for other in filter(None, of):
        yield from _training_corpora(config, other, seen)


def _recipe(config: Mapping, lm: Mapping) -> str | None:
    """Return the recipe of an LM that is trained here, None if undefined."""
    named = lm.get("recipe", config["scales"].get(config["scale"], {}).get("recipe"))
    return named if named in config["recipes"] else None


def _share(config: Mapping, evaluated: str, trained: str) -> float:
    """Return the share of a corpus's documents in another corpus, if both are of the same text."""
    corpora = config["corpora"]
    if not {evaluated, trained} <= corpora.keys():
        return 0.0
    own_entry, other = corpora[evaluated], corpora[trained]
    if evaluated != trained and _text(own_entry) != _text(other):
        return 0.0
    whole = {"of": 1, "numbers": [0]}
    parts, had = own_entry.get("documents", whole), other.get("documents", whole)
    if had["of"] == 1:
        return 1.0
    if parts["of"] != had["of"]:
        return 0.0 if parts["of"] > 1 else len(set(had["numbers"])) / had["of"]
    return len(set(parts["numbers"]) & set(had["numbers"])) / len(set(parts["numbers"]))


def _text(corpus: Mapping) -> dict:
    """Return the keys that identify the text of a corpus; the checksum for a file that has one."""
    identity = {key: value for key, value in corpus.items() if key not in ABOUT}
    file = identity.get("file", identity.get("pretokenized"))
    if isinstance(file, dict) and "sha256" in file:
        key = "file" if "file" in identity else "pretokenized"
        identity[key] = {k: file[k] for k in ("sha256", "byte_range") if k in file}
    return identity


def language_problems(config: Mapping) -> list[str]:
    """List mismatches of languages; every name is defined."""
    wrong = [*_members(config, "lms"), *_members(config, "unigrams"), *_datasets(config)]
    for table in registry.fitted_tables():
        for name, entry in config.get(table, {}).items():
            wrong += _lms_of_other_languages(config, table, name, entry)
    return list(dict.fromkeys(wrong))


def _members(config: Mapping, table: str) -> Iterator[str]:
    """Yield members of `languages` in another language, and LMs with different biases."""
    of = {"lms": languages.of_lm, "unigrams": languages.of_unigram}[table]
    for name, entry in config[table].items():
        named = entry.get("languages", {})
        for language, member in named.items():
            understood = of(config, member)
            if understood is not None and language not in understood:
                yield f"{table} → {name} → languages → {language}: {member!r} is {_format_languages(understood)}"
        biases = {lm: configuration.bias_of(config, lm) for lm in named.values() if table == "lms"}
        first = next(iter(biases), None)
        for lm, bias in biases.items():
            if bias != biases[first]:
                yield (
                    f"{table} → {name} → languages: {first!r} and {lm!r} have different biases; an LM "
                    "for each language has one"
                )


def _datasets(config: Mapping) -> Iterator[str]:
    """Yield datasets whose words or tagger have another language."""
    for name, entry in config["datasets"].items():
        stated, owner = languages.of_dataset(config, name), entry["words"].get("dataset", name)
        if owner in config["datasets"] and languages.of_dataset(config, owner) != stated:
            yield (
                f"datasets → {name} → language: {stated}, and its words are those of {owner!r}, which is "
                f"{_format_languages([languages.of_dataset(config, owner)])}; leave it out"
            )
        tagger = entry.get("tagger")
        treebank = config.get("treebanks", {}).get(tagger)
        if treebank and (other := treebank.get("language", languages.DEFAULT)) != stated:
            yield (
                f"datasets → {name} → tagger: {tagger!r} is {_format_languages([other])}, and the dataset "
                f"{_format_languages([stated])}; name a treebank of its language"
            )


def _lms_of_other_languages(
    config: Mapping, table: str, name: str, entry: Mapping
) -> Iterator[str]:
    """Yield LMs and unigram models of an experiment or search in another language than a dataset."""
    where = f"{table} → {name}"
    asked = configuration.responses(config, name, table)
    datasets = {response["dataset"]: "responses" for response in asked}
    for key, settings in entry.items():
        if isinstance(settings, Mapping) and settings.get("dataset") in config["datasets"]:
            datasets.setdefault(settings["dataset"], key)
    lms = dict.fromkeys(entry.get("lms") or [entry["lm"]])
    for dataset, key in datasets.items():
        language = languages.of_dataset(config, dataset)
        others = {lm: languages.of_lm(config, lm) for lm in lms}
        lacking = [
            lm
            for lm, understood in others.items()
            if _lacks(config, dataset, understood, config["lms"][lm])
        ]
        if lacking:
            more = f" (and {len(lacking) - 1} more)" if lacking[1:] else ""
            yield (
                f"{where} → {key}: {dataset!r} is {_format_languages([language])}, and the LM {lacking[0]!r}{more} "
                f"{_format_languages(others[lacking[0]])}; name an LM with `languages: {{{language}: …}}`, or of a "
                f"multilingual one state lms → {lacking[0]} → language"
            )
    unigram = config["scales"].get(config["scale"], {}).get("unigram")
    if unigram not in config["unigrams"]:
        return
    understood, model = languages.of_unigram(config, unigram), config["unigrams"][unigram]
    designs_of = {(r["dataset"], f"responses → {r['design']}"): r["design"] for r in asked}
    designs_of |= {(d, key): None for d, key in datasets.items() if key != "responses"}
    for (dataset, key), design in designs_of.items():
        is_read = _names_unigram(config, design) if design else "languages" in model
        if is_read and _lacks(config, dataset, understood, model):
            language = languages.of_dataset(config, dataset)
            yield (
                f"{where} → {key}: {dataset!r} is {_format_languages([language])}, and the unigram "
                f"model {unigram!r} {_format_languages(understood)}; name one with `languages: {{{language}: …}}` as "
                "the scale's `unigram`"
            )


def _lacks(
    config: Mapping, dataset: str, understood: frozenset[str] | None, model: Mapping
) -> bool:
    """Return whether an LM or unigram model with these languages cannot score a dataset.

    `accept: [language]` permits another language, except in models that select by language.
    """
    if understood is None or languages.of_dataset(config, dataset) in understood:
        return False
    accepted = "language" in config["datasets"][dataset].get("accept", ())
    return "languages" in model or not accepted


def _names_unigram(config: Mapping, design: str) -> bool:
    """Return whether a design has unigram surprisal; False if its formula is invalid."""
    try:
        used = names.used(designs.read(config["designs"][design]))
    except REFUSALS:
        return False
    return any(names.split(name).stem == "unigram" for name in used)


def _format_languages(codes) -> str:
    """Format languages: `of de`, `of en and de`."""
    return f"of {' and '.join(sorted(codes))}"
