"""Check the formulas of designs: every name, for the responses to which they are fitted."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from crosslmm.formula import Formula
from recency import config as configuration
from recency.errors import InputError
from recency.evaluations import registry
from recency.names import nearest
from recency.reading import declared_columns
from recency.reading.response_names import RESPONSES
from recency.regression import designs
from recency.regression import predictor_names as names
from recency.workflow import headers

#: Predictors that only some datasets have.
OPTIONAL = (*names.EXTRA, *names.CATEGORICAL, "space_after")


def problems(config: dict, root: Path) -> list[str]:
    """List faults in the formulas of designs, and LMs that share a label."""
    faults = []
    for name, design in config["designs"].items():
        where = f"designs → {name} → formula"
        try:
            formula = designs.read(design)
        except InputError as error:
            faults.append(f"{where}: {_without(str(error), design['formula'])}")
            continue
        try:
            designs.check_model(design, formula)
        except InputError as error:
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
        except InputError:
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
                    headers.of_file(root / file.get("local", ""), entry.get("options", {}))
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
