"""Check reading-time corpora: the parser's options, measures, filters and simulated readers.

Check the formulas of designs: every name, for the responses to which they are fitted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from crosslmm.formula import Formula
from readingtimes import filters, joins
from readingtimes.measures import sources
from readingtimes.names import nearest
from readingtimes.response_names import RESPONSES
from recency import config as configuration
from recency import plugins
from recency.errors import REFUSALS
from recency.evaluations import registry
from recency.reading import declared_columns
from recency.regression import designs
from recency.regression import predictor_names as names
from recency.workflow.config import schema_checks
from recency.workflow.config.schema_checks import short


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
            faults += _simulation_faults(f"{where} → simulate", dataset)
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
        for path, text in schema_checks.faults(options, taken, choices)
    ]
    keys, mapped = plugins.literal(configuration.PARSERS, parser, "KEYS"), options.get("columns")
    if keys and isinstance(mapped, dict):
        lost = [name for name in mapped if name not in keys]
        faults += [f"{where} → columns: {parser} have no {nearest(name, keys)}" for name in lost]
    if isinstance(join := options.get("join"), dict) and (problem := joins.problem(join)):
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
        if of is None and mapped is not None and not sources(measure, mapped):
            near = nearest(measure, [name for name in mapped if name.isupper()])
            yield f"{path}: {dataset['pymovements']} has no measure {near}"
        if of is None and given and not sources(measure, given):
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


def _simulation_faults(where: str, dataset: Mapping) -> Iterator[str]:
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


#: Predictors that only some datasets have.
OPTIONAL = (*names.EXTRA, *names.CATEGORICAL, "space_after")


def design_problems(config: dict, root: Path) -> list[str]:
    """List faults in the formulas of designs, and LMs that share a label."""
    faults = []
    for name, design in config["designs"].items():
        where = f"designs → {name} → formula"
        try:
            formula = designs.read(design)
        except REFUSALS as error:
            faults.append(f"{where}: {_without(str(error), design['formula'])}")
            continue
        try:
            designs.check_model(design, formula)
        except REFUSALS as error:
            faults.append(f"designs → {name}: {str(error).removeprefix('design: ')}")
        unknown = [lm for lm in names.lms(formula) if lm not in config["lms"]]
        wrong = [f"no lm is called {nearest(lm, config['lms'])}" for lm in unknown]
        wrong = [*wrong, *names.misplaced(formula)] or _names(config, root, name, formula)
        faults += [f"{where}: {problem}" for problem in wrong]
        if not wrong:
            faults += _of_interest(name, design, formula) or _lms(config, name, formula)
    return faults + _labels(config)


def _without(error: str, formula: str) -> str:
    """Return an error message without the formula."""
    for text in (formula, names.quoted(formula)):
        error = error.replace(f"formula {text!r}: ", "").replace(f"formula {text!r} ", "it ")
    return error


def _of_interest(name: str, design: dict, formula: Formula) -> list[str]:
    """List effects of interest that are not fixed effects of the formula."""
    faults = []
    terms = sorted({*formula.fixed[1:], *names.used(formula)})
    for text in design["of_interest"]:
        try:
            designs.base_of(formula, [designs.term_of(text)], False, ())
        except REFUSALS:
            near = nearest(text, terms)
            faults.append(
                f"designs → {name} → of_interest: no fixed effect of the formula is called {near}"
            )
    return faults


def _uses(config: dict, design: str) -> Iterator[tuple[str, str, str]]:
    """Yield the experiments and searches that use a design, with dataset and measure."""
    for table in registry.fitted_tables():
        for name, entry in config.get(table, {}).items():
            for response in entry.get("responses", {}).get(design, []):
                yield name, *response.split(".", 1)


def _names(config: dict, root: Path, design: str, formula: Formula) -> list[str]:
    """List the names in a formula that its responses do not have.

    For an unused design, list those that no response has.
    """
    uses = dict.fromkeys((dataset, measure) for _, dataset, measure in _uses(config, design))
    asked = [*uses] or [
        (d, m) for d, dataset_entry in config["datasets"].items() for m in dataset_entry["measures"]
    ]
    lacking: dict[str, list[str]] = {}
    for dataset, measure in asked:
        for problem in _unknown(config, root, formula, config["datasets"][dataset], measure):
            lacking.setdefault(problem, []).append(dataset)
    return [
        problem + ("" if len(those) == len(asked) else f" (for {_some(dict.fromkeys(those))})")
        for problem, those in lacking.items()
        if uses or len(those) == len(asked)
    ]


def _some(listed: Iterable[str]) -> str:
    """Format the first three items of a list."""
    first, more = [*listed][:3], len([*listed]) - 3
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")


def _unknown(
    config: dict, root: Path, formula: Formula, dataset: Mapping, measure: str
) -> list[str]:
    """List the names in a formula that neither the dataset, the LM nor the regression provides."""
    header = _header(config, root, dataset)
    words = declared_columns.of_words(config, dataset, header)
    responses = declared_columns.of_responses(config, dataset, measure, header)
    responses = {name: kind for name, kind in responses.items() if name not in RESPONSES}
    faults, there = (
        names.unknown(formula, {"words": words, "responses": responses}),
        {*words, *responses},
    )
    listed = dict.fromkeys([*names.used(formula), *names.grouping(formula)])
    stems = {name: names.split(name).stem for name in listed}
    for name, stem in stems.items():
        if name == "previous_fixated" and name not in there:
            faults.append(
                "no predictor is called 'previous_fixated'; for eye movements set options → eye_tracking: "
                "true, which computes it, or map a column to it; otherwise use a design without it"
                if dataset["parser"] == "table"
                else "no predictor is called 'previous_fixated', which requires eye movements"
            )
        elif stem in OPTIONAL and stem not in there:
            faults.append(f"no predictor is called {nearest(name, sorted(there))}")
        elif names.measure_of(stem) == names.OF_FOILS and "foil" not in words:
            faults.append(f"{name!r} requires words with a column `foil`, and these have none")
    for name, stem in stems.items():
        column = name if name in (header or ()) else stem
        if column in (header or ()) and column not in there:
            end = f" is called {name!r}"
            way = f"{end}; the table has this column; keep it: options → columns: {{{column}: {column}}}"
            faults = [p.partition(end)[0] + way if end in p else p for p in faults]
    return list(dict.fromkeys(faults))


def _header(config: dict, root: Path, dataset: Mapping) -> list[str] | None:
    """Return the columns of a dataset's own tables; None if they cannot be read now."""
    columns = []
    for entry in (declared_columns.owner_of_words(config, dataset), dataset):
        files = [file for part in ("words", "responses") for file in entry[part].values()]
        for file in files if entry["parser"] == "table" else ():
            if isinstance(file, Mapping):
                columns.append(
                    schema_checks.of_file(root / file.get("local", ""), entry.get("options", {}))
                )
    return None if None in columns else [name for header in columns for name in header]


def _lms(config: dict, design: str, formula: Formula) -> list[str]:
    """List measures that a design's LMs lack, and LMs that are a predictor of their own design."""
    where = f"designs → {design} → formula"
    used = names.used(formula)
    own_measures = [name for name in used if names.is_of_fitted_lm(name)]
    experiments = {name for name, *_ in _uses(config, design)} & config["experiments"].keys()
    lms = dict.fromkeys(
        lm for name in sorted(experiments) for lm in config["experiments"][name]["lms"]
    )
    lacking: dict[str, list[str]] = {}
    faults = []
    for lm in lms:
        for measure in not_given(config, lm, own_measures):
            lacking.setdefault(measure, []).append(lm)
    for lm in names.lms(formula):
        named = [name for name in used if names.split(name).lm == lm]
        for measure in not_given(config, lm, named):
            lacking.setdefault(measure, []).append(lm)
        if lm in lms and any(f"{name}[{lm}]" in named for name in own_measures):
            faults.append(
                f"{where}: {lm!r} is a predictor next to each LM, and is itself an LM of {_some(sorted(experiments))}"
                ", so it is compared with itself; remove it from `lms` there"
            )
    for measure, those in lacking.items():
        context = re.fullmatch(r"surprisal_context_(\d+)", measure)
        way = f"context: [{context[1]}]" if context else f"measures: [{measure}]"
        faults.append(
            f"{where}: {_some(those)} have no {measure}; write `{way}` in the LM's entry or the scale's"
        )
    return faults


def not_given(config: dict, lm: str, used: list[str]) -> list[str]:
    """Return the measures among `used` that an LM does not have."""
    lm_entry = config["lms"][lm]
    if "languages" in lm_entry:
        members = dict.fromkeys(lm_entry["languages"].values())
        return list(dict.fromkeys(m for member in members for m in not_given(config, member, used)))
    entry = configuration.language_model(config, lm)
    if "ngram" in lm_entry or "interpolate" in lm_entry:
        entry = {}
    if "surprisals" in lm_entry:  # a table has the measures that its entry lists
        entry = {"measures": lm_entry["surprisals"].get("measures")}
    given = {*names.ALWAYS, *map(str, entry.get("measures") or ())}
    given |= {f"surprisal_context_{n}" for n in entry.get("context") or ()}
    given |= set() if "surprisals" in lm_entry else {names.OF_FOILS}
    asked = [names.measure_of(names.split(name).stem) for name in used]
    return [measure for measure in dict.fromkeys(asked) if measure not in given]


def _labels(config: dict) -> list[str]:
    """List pairs of LMs with one label in an experiment, which no figure could distinguish."""
    pairs: dict[tuple[str, str, str], list[str]] = {}
    for name, experiment in config["experiments"].items():
        first: dict[str, str] = {}
        for lm in dict.fromkeys(experiment["lms"]):
            label = configuration.label_of(config, lm)
            if (other := first.setdefault(label, lm)) != lm:
                pairs.setdefault((label, other, lm), []).append(name)
    return [
        f"experiments → {asked[0]}{f' (and {len(asked) - 1} more)' if asked[1:] else ''} → lms: "
        f"{other!r} and {lm!r} have one label, {label!r}; change lms → {lm} → label, to {lm!r}, say"
        for (label, other, lm), asked in pairs.items()
    ]
