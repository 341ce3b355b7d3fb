"""Check reading-time corpora: the parser's options, measures, filters and simulated readers."""

from collections.abc import Iterator, Mapping
from functools import cache, partial

from recency import config as configuration
from recency import plugins
from recency.names import nearest
from recency.reading import declared_columns, filters, join_keys
from recency.workflow import option_checks
from recency.workflow.schema_checks import short


def problems(config: dict) -> list[str]:
    """List faults in options, measures, filters and simulated readers of datasets."""
    faults = []
    for name, dataset in config["datasets"].items():
        where = f"datasets → {name}"
        faults += _shared_words(config, where, dataset)
        faults += _options(f"{where} → options", dataset) or _columns(where, dataset)
        faults += _measures(where, dataset)
        faults += _filters(config, where, dataset)
        if "simulate" in dataset:
            faults += _simulated(f"{where} → simulate", dataset)
    return faults


def _shared_words(config: dict, where: str, dataset: dict) -> Iterator[str]:
    """Yield why a dataset cannot use the words of another."""
    if owner := dataset["words"].get("dataset"):
        other, where = config["datasets"][owner], f"{where} → words → dataset"
        if "dataset" in other["words"]:
            yield f"{where}: {owner!r} itself uses the words of another dataset; name that one"
        if "simulate" in dataset or "simulate" in other:
            yield f"{where}: {owner!r} is simulated; name a dataset with files"


def _options(where: str, dataset: dict) -> list[str]:
    """List options that the parser does not take, and invalid values."""
    parser, options = dataset["parser"], dataset.get("options", {})
    taken: dict[str, str] = {}
    for function in ("words", "responses"):
        taken |= plugins.keywords(configuration.PARSERS, parser, function)
    taken.pop("measures", None)  # set by the workflow
    choices = plugins.literal(configuration.PARSERS, parser, "CHOICES")
    faults = [
        f"{' → '.join([where, *path])}: {text}"
        for path, text in option_checks.faults(options, taken, choices)
    ]
    keys, mapped = plugins.literal(configuration.PARSERS, parser, "KEYS"), options.get("columns")
    if keys and isinstance(mapped, dict):
        lost = [name for name in mapped if name not in keys]
        faults += [f"{where} → columns: {parser} have no {nearest(name, keys)}" for name in lost]
    if isinstance(join := options.get("join"), dict) and (problem := join_keys.problem(join)):
        faults.append(f"{where} → {problem}")
    return faults


def _columns(where: str, dataset: dict) -> list[str]:
    """List column names of a user's table that are invalid, or unusable in formulas."""
    columns = declared_columns.mapped(dataset) if dataset["parser"] == "table" else {}
    faults = [
        f"{where} → options → columns → {name}: {short(column)} is not the name of a column"
        for name, column in columns.items()
        if not (isinstance(column, str) and column.strip())
        and not (isinstance(column, list) and column and all(isinstance(c, str) for c in column))
    ]
    of_responses = (dataset.get("options", {}).get("columns") or {}).get("responses")
    keys = {"length"} & set(
        of_responses if isinstance(of_responses, dict) else ()
    )  # rows are verified by it
    given = [("options → columns", name) for name in columns if name not in keys]
    given += [("predictors", name) for name in declared_columns.of_predictors(dataset)]
    return faults + [
        f"{where} → {path} → {name}: the workflow reserves this name in formulas; call it given_{name}"
        for path, name in given
        if name in ("length", "unigram", "surprisal")
    ]


def _measures(where: str, dataset: dict) -> Iterator[str]:
    """Yield measures that the parser does not provide, and undefined filters and events."""
    steps = dataset.get("filters", {})
    given = plugins.literal(configuration.PARSERS, dataset["parser"], "MEASURES")
    others = [name for name, entry in dataset["measures"].items() if "of" not in entry]
    for measure, settings in dataset["measures"].items():
        path, of = f"{where} → measures → {measure}", settings.get("of")
        mapped = _of_pymovements(dataset)
        if of is None and mapped is not None and measure not in mapped:
            near = nearest(measure, [name for name in mapped if name.isupper()])
            yield f"{path}: {dataset['pymovements']} has no measure {near}"
        if of is None and given and measure not in given:
            near = nearest(measure, given)
            yield f"{path}: the parser {dataset['parser']} has no measure {near}"
        if of is not None and of not in others:
            yield f"{path} → of: no measure is called {nearest(of, others)}"
        for step in settings["filters"]:
            if step not in steps:
                yield f"{path}: no filter is called {nearest(step[:60], steps)}"


def _of_pymovements(dataset: dict) -> dict | None:
    """Return the columns of a pymovements dataset with measures by word; None for other datasets."""
    if "pymovements" not in dataset or dataset["parser"] != "table":
        return None
    return declared_columns.mapped(dataset)


def _filters(config: dict, where: str, dataset: dict) -> list[str]:
    """List filters and events that are not conditions, or use unknown columns."""
    faults: dict[str, None] = {}
    steps = dataset.get("filters", {})
    used = {step for entry in dataset["measures"].values() for step in entry["filters"]}
    asked = [(None, f"filters → {step[:60]}", steps[step]) for step in steps if step not in used]
    for measure, entry in dataset["measures"].items():
        defined = [step for step in entry["filters"] if step in steps]
        asked += [(measure, f"filters → {step[:60]}", steps[step]) for step in defined]
        if "event" in entry:
            asked.append((measure, f"measures → {measure} → event", entry["event"]))
    columns_of = cache(partial(declared_columns.of_filters, config, dataset))
    for measure, path, condition in asked:
        columns = columns_of(measure)
        if problem := filters.problem(condition, columns):
            faults[f"{where} → {path}: {problem}"] = None
    return list(faults)


def _simulated(where: str, dataset: Mapping) -> Iterator[str]:
    """Yield incompatible settings of simulated readers."""
    simulate = dataset["simulate"]
    readers, stories = simulate["readers"], simulate["stories"]
    many, correlation = len(readers["subject_sd"]), readers.get("subject_correlation", 0.3)
    if simulate["measure"] not in dataset["measures"]:
        yield f"{where} → measure: the dataset has no measure {simulate['measure']}"
    if (readers.get("items") or 0) > stories:
        items = readers["items"]
        yield f"{where} → readers → items: {items} is more than the {stories} stories"
    if many > 1 and not -1 / (many - 1) < correlation < 1:
        yield (
            f"{where} → readers → subject_correlation: {many} effects cannot have pairwise "
            f"correlations of {correlation}; use a value closer to 0"
        )
