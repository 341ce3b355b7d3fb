"""Check the formulas of designs before anything runs: every name, and what goes with what.

What a dataset has is known from its parser, its filters and, of an own table, the file's header.
Nothing here needs torch or R.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from recency import config as configuration
from recency import plugins
from recency.errors import InputError
from recency.mixed.additive import Additive
from recency.mixed.formula import Formula
from recency.names import nearest
from recency.regression import designs, names
from recency.workflow.dataset_checks import mapped, of_predictors

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_COMPUTED = ("length", "unigram", "surprisal")


@dataclass(frozen=True)
class Columns:
    """What words and responses of a dataset have; `perhaps`: names in the parser's source, in filters.

    `header` are columns of an own table that `columns:` may map and does not.
    """

    own: frozenset[str]
    perhaps: frozenset[str]
    header: frozenset[str] = frozenset()


def problems(config: dict, root: Path, known: Callable[[str, object, str], bool]) -> list[str]:
    """List what is wrong with designs and with what experiments and searches ask of them."""
    formulas: dict[str, Formula] = {}
    found = _taken(config)
    for name, design in config["designs"].items():
        where = f"designs → {name}"
        try:
            formulas[name] = designs.read(design)
        except InputError as error:
            found.append(f"{where} → formula: {_short(error, design['formula'])}")
            continue
        for lm in names.lms(formulas[name]):
            known(f"{where} → formula", lm, "lms")
        wrong = [f"{where} → formula: {problem}" for problem in names.misplaced(formulas[name])]
        wrong = wrong or _names(config, root, name, formulas[name])
        wrong += _fixated(config, name, formulas[name])
        wrong = wrong or _of_interest(where, design, formulas[name])
        found += wrong or _lms(config, name, formulas[name])
    found += _labels(config)
    for name in config["experiments"]:
        found += _experiment(config, name, formulas, known)
    for name, search in config.get("searches", {}).items():
        for design in search.get("responses", {}):
            if odd := _beyond(formulas.get(design), ("surprisal", "corrected")):
                found.append(
                    f"searches → {name} → responses → {design}: a search knows no {odd}, only the "
                    "surprisal of the LM that it varies"
                )
    return found


def _short(error: InputError, formula: str) -> str:
    """Return what an error says, without a formula that its place names."""
    return str(error).replace(f"formula {formula!r}: ", "").replace(
        f"formula {names.quoted(formula)!r}: ", ""
    ).replace(f"formula {formula!r} ", "it ")  # fmt: skip


def _of_interest(where: str, design: dict, formula: Formula) -> list[str]:
    found = []
    terms = sorted({*formula.fixed[1:], *names.used(formula)})
    for text in design["of_interest"]:
        try:
            designs.base_of(formula, [designs.term_of(text)], False, ())
        except InputError:
            found.append(
                f"{where} → of_interest: no fixed effect of the formula is called "
                f"{nearest(text, terms)}"
            )
    return found


def _uses(config: dict, design: str) -> Iterator[tuple[str, str]]:
    """Yield the experiments that ask for a design, and the datasets that they ask it for."""
    for table in ("experiments", "searches"):
        for name, entry in config.get(table, {}).items():
            for response in entry.get("responses", {}).get(design, []):
                yield name, response.partition(".")[0]


def _names(config: dict, root: Path, design: str, formula: Formula) -> list[str]:
    """List the names in a formula that the datasets that it is used for do not have.

    Of a design that is used for none, those that no dataset has.
    """
    if not names.own(formula) and not names.unknown(formula, {}):
        return []
    asked = [dataset for _, dataset in _uses(config, design) if dataset in config["datasets"]]
    datasets = list(dict.fromkeys(asked)) or list(config["datasets"])
    of_problem: dict[str, list[str]] = {}
    for dataset in datasets:
        for problem in _unknown(formula, columns_of(config, root, dataset)):
            of_problem.setdefault(problem, []).append(dataset)
    where = f"designs → {design} → formula"
    if not asked:
        return [f"{where}: {p}" for p, lacking in of_problem.items() if lacking == datasets]
    return [
        f"{where}: {problem}" + (f" (for {_some(lacking)})" if lacking != datasets else "")
        for problem, lacking in of_problem.items()
    ]


def _fixated(config: dict, design: str, formula: Formula) -> list[str]:
    """List own tables of which a design takes previous_fixated, which they neither have nor count."""
    if "previous_fixated" not in names.used(formula):
        return []
    lacking = []
    for dataset in dict.fromkeys(name for _, name in _uses(config, design)):
        entry = config["datasets"].get(dataset, {})
        counted = entry.get("options", {}).get("eye_tracking", False)
        if (
            entry.get("parser") == "table"
            and not counted
            and "previous_fixated" not in mapped(entry)
        ):
            lacking.append(dataset)
    problem = (
        f"designs → {design} → formula: {_some(lacking)} has no previous_fixated; of eye movements write "
        "options → eye_tracking: true, which counts it, or map a column to it; else take a design without it"
    )
    return [problem] if lacking else []


def _some(listed: list[str]) -> str:
    """Write a list, of which three are enough."""
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


def _lms(config: dict, design: str, formula: Formula) -> list[str]:
    """List what LMs do not give that a design is used for, and those set beside themselves."""
    where = f"designs → {design} → formula"
    used = names.used(formula)
    own = [name for name in used if names.of_own_lm(name)]
    experiments = {name for name, _ in _uses(config, design)} & config["experiments"].keys()
    lms = [lm for name in sorted(experiments) for lm in config["experiments"][name]["lms"]]
    lms = [lm for lm in dict.fromkeys(lms) if lm in config["lms"]]
    lacking: dict[str, list[str]] = {}
    found = []
    for lm in lms:
        for measure in _not_given(config, lm, own):
            lacking.setdefault(measure, []).append(lm)
    for lm in (lm for lm in names.lms(formula) if lm in config["lms"]):
        named = [name for name in used if names.split(name).lm == lm]
        for measure in _not_given(config, lm, named):
            lacking.setdefault(measure, []).append(lm)
        if lm in lms and any(f"{name}[{lm}]" in named for name in own):
            found.append(
                f"{where}: {lm!r} stands beside each LM, and is one of those of {_some(sorted(experiments))}"
                ", so it is compared with itself; take it out of `lms` there"
            )
    for measure, those in lacking.items():
        context = re.fullmatch(r"surprisal_context_(\d+)", measure)
        way = f"context: [{context[1]}]" if context else f"measures: [{measure}]"
        found.append(
            f"{where}: no {measure} is asked of {_some(those)}; write `{way}` in the LM's entry or "
            "the scale's"
        )
    return found


def _unknown(formula: Formula, columns: Columns) -> list[str]:
    parts = {"words": columns.own, "responses": columns.own, "perhaps": columns.perhaps}
    found = names.unknown(formula, parts)
    for name in {*names.used(formula), *names.grouping(formula)}:
        stem = name if name in columns.header else names.split(name).stem
        if stem in columns.header:
            way = f"the table has this column; keep it: options → columns: {{{stem}: {stem}}}"
            place = f" is called {name!r}"
            found = [p.partition(place)[0] + f"{place}; {way}" if place in p else p for p in found]
    return found


def columns_of(config: dict, root: Path, dataset: str) -> Columns:
    """Return what the words and the responses of a dataset have, as far as that can be known.

    An own table keeps what `columns:` maps. Of any other parser, what its source speaks of may be.
    """
    entry = config["datasets"][dataset]
    owner = config["datasets"].get(entry["words"].get("dataset"), entry)
    parts = [each for each in (owner, entry) if each["parser"] == "table"]
    others = [each for each in (owner, entry) if each["parser"] != "table"]
    perhaps = {
        name
        for query in entry.get("filters", {}).values()
        for name in _IDENTIFIER.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "", query))
    }
    for each in others:
        written = yaml.safe_dump(each.get("options", {}), allow_unicode=True)
        perhaps |= _spoken_of(each["parser"]) | set(_IDENTIFIER.findall(written))
    own = {name for each in parts for name in mapped(each)}
    own |= {name for each in (owner, entry) for name in of_predictors(each)}
    header = {
        name
        for each in parts
        for part in ("words", "responses")
        for file in each[part].values()
        if isinstance(file, Mapping) and "local" in file
        for name in _header(root / file["local"], each)
    }
    return Columns(frozenset(own), frozenset(perhaps), frozenset(header - own))


def _taken(config: dict) -> list[str]:
    """List own tables' columns whose name means something else in a formula."""
    given = [
        (f"datasets → {name} → {where}", column)
        for name, entry in config["datasets"].items()
        for where, columns in (
            ("options → columns", mapped(entry) if entry["parser"] == "table" else ()),
            ("predictors", of_predictors(entry)),
        )
        for column in columns
    ]
    return [
        f"{where} → {column}: in formulas this is the workflow's own; call it given_{column}"
        for where, column in given
        if column in _COMPUTED
    ]


def _header(path: Path, entry: Mapping) -> list[str]:
    """Return the columns of a local table; none where it is not there, or not read here."""
    kind = path.suffix if path.suffix != ".gz" else path.with_suffix("").suffix
    if not path.exists() or kind not in (".csv", ".tsv", ".txt", ".parquet"):
        return []
    try:
        if kind == ".parquet":
            import pyarrow.parquet as pq

            return pq.read_schema(path).names
        import pandas as pd

        options = entry.get("options", {})
        separator = options.get("separator") or {".csv": ",", ".tsv": "\t"}.get(kind)
        encoding = options.get("encoding", "utf-8")
        engine = "python" if separator is None else "c"
        frame = pd.read_csv(path, sep=separator, nrows=0, encoding=encoding, engine=engine)
        return [str(name) for name in frame.columns]
    except (OSError, ValueError, LookupError):  # the parser says what is wrong with the file
        return []


@cache
def _spoken_of(parser: str) -> frozenset[str]:
    """Return the names that may be columns in the source of a parser, and of what it imports."""
    paths = [plugins.folder(configuration.PARSERS) / f"{parser}.py"]
    reading = paths[0].parent.parent
    found = set()
    for path in paths:  # grows by the parser's own imports
        if not path.exists():
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.keyword) and node.arg:
                found.add(node.arg)
            elif isinstance(node, ast.ImportFrom) and path == paths[0]:
                parts = (node.module or "").split(".")
                if parts[:2] == ["recency", "reading"]:
                    paths.append(reading.joinpath(*parts[2:]).with_suffix(".py"))
    return frozenset(name for name in found if _IDENTIFIER.fullmatch(name))


def _experiment(
    config: dict, name: str, formulas: Mapping[str, Formula], known: Callable
) -> list[str]:
    """List what an experiment's LMs and designs do not give each other."""
    experiment, where = config["experiments"][name], f"experiments → {name}"
    found = [
        f"{where} → {key}: {pair[0]!r} is compared with itself; name two LMs"
        for key in ("compare", "nested")
        for pair in experiment.get(key, [])
        if pair[0] == pair[1]
    ]
    for design in experiment.get("responses", {}):
        used = names.used(formulas[design]) if design in formulas else ["surprisal"]
        if experiment.get("nested") and isinstance(formulas.get(design), Additive):
            found.append(
                f"{where} → responses → {design}: `nested` is of mixed models or `engine: ols`, not "
                "of `engine: gam`"
            )
        if experiment.get("nested") and not any(map(names.of_own_lm, used)):
            found.append(
                f"{where} → responses → {design}: `nested` sets LMs side by side, and the formula "
                "has no surprisal"
            )
    return [
        *found,
        *_nested(config, where, experiment, known),
        *_recovery(config, where, experiment, formulas),
    ]


def _labels(config: dict) -> list[str]:
    """List pairs of LMs with one label in an experiment, which no figure could distinguish."""
    pairs: dict[tuple[str, str, str], list[str]] = {}
    for name, experiment in config["experiments"].items():
        first: dict[str, str] = {}
        for lm in dict.fromkeys(lm for lm in experiment["lms"] if lm in config["lms"]):
            label = configuration.label_of(config, lm)
            if (other := first.setdefault(label, lm)) != lm:
                pairs.setdefault((label, other, lm), []).append(name)
    return [
        f"experiments → {asked[0]}{f' (and {len(asked) - 1} more)' if asked[1:] else ''} → lms: "
        f"{other!r} and {lm!r} have one label, {label!r}; change lms → {lm} → label, to {lm!r}, say"
        for (label, other, lm), asked in pairs.items()
    ]


def _nested(config: dict, where: str, experiment: dict, known: Callable) -> list[str]:
    """List what keeps LMs from being set side by side in one model."""
    if not experiment.get("nested"):
        return []
    found = []
    for lm in (lm for pair in experiment["nested"] for lm in pair):
        if known(f"{where} → nested", lm, "lms") and lm not in experiment["lms"]:
            found.append(f"{where} → nested: {lm!r} is not among the experiment's `lms`")
    if "sensitivity" in experiment or not experiment.get("responses"):
        found.append(f"{where} → nested: it goes with `responses`, and without `sensitivity`")
    for listed in experiment.get("responses", {}).values():
        for dataset in {response.partition(".")[0] for response in listed}:
            if config["datasets"].get(dataset, {}).get("partitioned", True) is False:
                found.append(f"{where} → nested: {dataset} is not partitioned, so nothing is left to test on")  # fmt: skip
    return found


def _recovery(
    config: dict, where: str, experiment: dict, formulas: Mapping[str, Formula]
) -> list[str]:
    """List the designs that lack an effect of simulated readers that is to be recovered."""
    found = []
    for design, listed in (
        experiment.get("responses", {}).items() if experiment.get("recovery") else ()
    ):
        for dataset in {response.partition(".")[0] for response in listed}:
            simulate = config["datasets"].get(dataset, {}).get("simulate")
            coefficients = (simulate or {}).get("readers", {}).get("coefficients")
            if not isinstance(coefficients, Mapping) or design not in formulas:
                continue  # simulation_checks says what it should be
            effects = coefficients.keys() - {"intercept"}
            if lost := sorted(effects - set(formulas[design].fixed)):
                found.append(
                    f"{where} → recovery: the design {design} has no {lost[0]}, which the readers "
                    f"of {dataset} have; add it to the formula as it is"
                )
    return found


def _not_given(config: dict, lm: str, used: list[str]) -> list[str]:
    """Return the measures among `used` that an LM does not give."""
    own = config["lms"][lm]
    scale = config["scales"].get(config["scale"], {})
    entry = {**scale, **configuration.inherited(config, own), **own}
    if "ngram" in own or "interpolate" in own:
        entry = {}
    if "surprisals" in own:  # of a table are what it is said to have
        entry = {"measures": own["surprisals"].get("measures")}
    given = {*names.ALWAYS, *map(str, entry.get("measures") or ())}
    given |= {f"surprisal_context_{n}" for n in entry.get("context") or ()}
    given |= set() if "surprisals" in own else {names.OF_FOILS}
    asked = [names.measure_of(names.split(name).stem) for name in used]
    return [measure for measure in dict.fromkeys(asked) if measure not in given]


def _beyond(formula: Formula | None, given: tuple[str, ...]) -> str:
    """Return the first name of an LM in a formula that is none of `given`, or names the LM."""
    for name in names.used(formula) if formula else ():
        parts = names.split(name)
        if parts.of_lm and (parts.lm or names.measure_of(parts.stem) not in given):
            return name
    return ""
