"""Check that LMs, unigram models and taggers have the language of the datasets that they score."""

from collections.abc import Iterator, Mapping

from recency import config as configuration
from recency import languages
from recency.errors import InputError
from recency.evaluations import registry
from recency.regression import designs
from recency.regression import predictor_names as names


def problems(config: Mapping) -> list[str]:
    """List mismatches of languages; every name is defined."""
    wrong = [*_members(config, "lms"), *_members(config, "unigrams"), *_datasets(config)]
    for table in registry.fitted_tables():
        for name, entry in config.get(table, {}).items():
            wrong += _scored(config, table, name, entry)
    return list(dict.fromkeys(wrong))


def _members(config: Mapping, table: str) -> Iterator[str]:
    """Yield members of `languages` in another language, and LMs with different biases."""
    of = {"lms": languages.of_lm, "unigrams": languages.of_unigram}[table]
    for name, entry in config[table].items():
        named = entry.get("languages", {})
        for language, member in named.items():
            understood = of(config, member)
            if understood is not None and language not in understood:
                yield f"{table} → {name} → languages → {language}: {member!r} is {_written(understood)}"
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
                f"{_written([languages.of_dataset(config, owner)])}; leave it out"
            )
        tagger = entry.get("tagger")
        treebank = config.get("treebanks", {}).get(tagger)
        if treebank and (other := treebank.get("language", languages.DEFAULT)) != stated:
            yield (
                f"datasets → {name} → tagger: {tagger!r} is {_written([other])}, and the dataset "
                f"{_written([stated])}; name a treebank of its language"
            )


def _scored(config: Mapping, table: str, name: str, entry: Mapping) -> Iterator[str]:
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
                f"{where} → {key}: {dataset!r} is {_written([language])}, and the LM {lacking[0]!r}{more} "
                f"{_written(others[lacking[0]])}; name an LM with `languages: {{{language}: …}}`, or of a "
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
                f"{where} → {key}: {dataset!r} is {_written([language])}, and the unigram "
                f"model {unigram!r} {_written(understood)}; name one with `languages: {{{language}: …}}` as "
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
    except InputError:
        return False
    return any(names.split(name).stem == "unigram" for name in used)


def _written(codes) -> str:
    """Format languages: `of de`, `of en and de`."""
    return f"of {' and '.join(sorted(codes))}"
