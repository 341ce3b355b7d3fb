"""Check the formulas of designs before anything runs: every name, and what goes with what.

What a dataset has is known from its parser, its filters and, of an own table, the file's header.
Nothing here needs torch or R.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from recency import config as configuration
from recency import plugins
from recency.errors import InputError
from recency.mixed.expressions import read
from recency.mixed.formula import Formula, without
from recency.names import near, nearest
from recency.regression import designs, names

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_NEAR = 0.8
"""How near a known name an unknown one must be where not all names can be known."""


@dataclass(frozen=True)
class Columns:
    """What words and responses of a dataset have, and whether that is all."""

    words: frozenset[str]
    responses: frozenset[str]
    complete: bool


def problems(config: dict, root: Path, known: Callable[[str, object, str], bool]) -> list[str]:
    """List what is wrong with designs and with what experiments, searches and power ask of them."""
    formulas: dict[str, Formula] = {}
    found = []
    for name, design in config["designs"].items():
        where = f"designs → {name}"
        try:
            formulas[name] = designs.read(design)
        except InputError as error:
            found.append(f"{where} → formula: {_short(error, design['formula'])}")
            continue
        found += _of_interest(where, design, formulas[name])
        for lm in names.lms(formulas[name]):
            known(f"{where} → formula", lm, "lms")
    found += _names(config, root, formulas)
    for name in config["experiments"]:
        found += _experiment(config, name, formulas, known)
    for name, search in config.get("searches", {}).items():
        for design in search.get("responses", {}):
            if odd := _beyond(formulas.get(design), ("surprisal", "corrected")):
                found.append(
                    f"searches → {name} → responses → {design}: a search knows no {odd}, only the "
                    "surprisal of the LM that it varies"
                )
    for name, settings in config.get("power", {}).items():
        if odd := _not_simulated(formulas.get(settings["design"])):
            found.append(
                f"power → {name} → design: {settings['design']} has {odd}; simulated readers have "
                "the workflow's own columns of words, as they are, by subject, sentence and item"
            )
    return list(dict.fromkeys(found))


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
            without(formula, [designs.term_of(text)], slopes=False)
        except InputError:
            found.append(
                f"{where} → of_interest: no fixed effect of the formula is called "
                f"{nearest(text, terms)}"
            )
    return found


def _uses(config: dict) -> Iterator[tuple[str, str, str]]:
    """Yield where a design is asked for, the design and the dataset."""
    for table in ("experiments", "searches"):
        for name in config.get(table, {}):
            try:
                asked = configuration.responses(config, name, table)
            except ValueError:  # said elsewhere: not dataset.measure
                continue
            for response in asked:
                yield f"{table} → {name}", response["design"], response["dataset"]


def _names(config: dict, root: Path, formulas: Mapping[str, Formula]) -> list[str]:
    """List the names in formulas that the datasets that they are used for do not have."""
    of_design: dict[str, list[str]] = {name: [] for name in formulas}
    for _, design, dataset in _uses(config):
        if dataset in config["datasets"] and design in of_design:
            of_design[design].append(dataset)
    found = []
    for name, formula in formulas.items():
        if not names.own(formula) and not names.unknown(formula, {}):
            continue
        said: set[str] = set()
        for dataset in dict.fromkeys(of_design[name] or config["datasets"]):
            for problem in _unknown(formula, columns_of(config, root, dataset)):
                if not of_design[name]:
                    said.add(problem)
                else:
                    found.append(f"designs → {name} → formula, for {dataset}: {problem}")
        if not of_design[name]:  # used by none: what no dataset has
            every = [
                set(_unknown(formula, columns_of(config, root, d))) for d in config["datasets"]
            ]
            common = set.intersection(*every) if every else set()
            found += [f"designs → {name} → formula: {problem}" for problem in sorted(common)]
    return found


def _unknown(formula: Formula, columns: Columns) -> list[str]:
    parts = {"words": columns.words, "responses": columns.responses}
    found = names.unknown(formula, parts)
    if columns.complete:
        return found
    every = {*names.PREDICTORS, *names.GROUPS, *names.EXTRA, *names.MEASURES, "pos"}
    every |= columns.words | columns.responses
    asked = {*names.used(formula), *names.grouping(formula)}
    mistyped = [n for n in asked if near(names.split(n).stem, every, _NEAR)]
    return [problem for problem in found if any(repr(name) in problem for name in mistyped)]


def columns_of(config: dict, root: Path, dataset: str) -> Columns:
    """Return what the words and the responses of a dataset have, as far as that can be known."""
    entry = config["datasets"][dataset]
    owner = config["datasets"].get(entry["words"].get("dataset"), entry)
    of_filters = {
        name
        for query in entry.get("filters", {}).values()
        for name in _IDENTIFIER.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "", query))
    }
    words, all_words = _part(owner, "words", root)
    responses, all_responses = _part(entry, "responses", root)
    responses |= of_filters | set(entry["measures"])
    return Columns(frozenset(words), frozenset(responses | words), all_words and all_responses)


def _part(entry: dict, part: str, root: Path) -> tuple[set[str], bool]:
    """Return the columns of a dataset's words or responses, and whether these are all."""
    if entry["parser"] != "table":
        return _spoken_of(entry["parser"]), False
    mapped = set(entry.get("options", {}).get("columns") or {})
    everything = True
    for file in entry[part].values():
        if not isinstance(file, Mapping) or "simulated" in file:
            continue
        header = _header(root / file["local"], entry) if "local" in file else None
        everything = everything and header is not None
        mapped |= set(header or ())
    return mapped, everything


def _header(path: Path, entry: dict) -> list[str] | None:
    """Return the columns of a local table; None where it is not there, or not read here."""
    if not path.exists():
        return None
    kind = path.suffix if path.suffix != ".gz" else path.with_suffix("").suffix
    try:
        if kind == ".parquet":
            import pyarrow.parquet as pq

            return pq.read_schema(path).names
        if kind not in (".csv", ".tsv", ".txt"):
            return None
        import pandas as pd

        options = entry.get("options", {})
        separator = options.get("separator") or {".csv": ",", ".tsv": "\t"}.get(kind)
        encoding = options.get("encoding", "utf-8")
        engine = "python" if separator is None else "c"
        frame = pd.read_csv(path, sep=separator, nrows=0, encoding=encoding, engine=engine)
        return [str(name) for name in frame.columns]
    except (OSError, ValueError, LookupError):  # the parser says what is wrong with the file
        return None


@cache
def _spoken_of(parser: str) -> set[str]:
    """Return the names in a parser's source that may be columns: its strings and keywords."""
    path = plugins.folder(configuration.PARSERS) / f"{parser}.py"
    if not path.exists():
        return set()
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
    return {name for name in found if _IDENTIFIER.fullmatch(name)}


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
    asked = experiment.get("responses", {})
    for design in (design for design in asked if design in formulas):
        here, formula = f"{where} → responses → {design}", formulas[design]
        of_lm = [n for n in names.used(formula) if names.of_own_lm(n)]
        lms = [lm for lm in experiment["lms"] if lm in config["lms"]]
        for lm in lms:
            found += [f"{here}: {p}" for p in _not_given(config, lm, of_lm)]
        for lm in names.lms(formula):
            named = [n for n in names.used(formula) if names.split(n).lm == lm]
            if lm in config["lms"]:
                found += [f"{here}: {p}" for p in _not_given(config, lm, named)]
            if lm in lms and any(f"{n}[{lm}]" in named for n in of_lm):
                found.append(
                    f"{here}: the formula has {lm!r} beside each LM, and it is one of them, so it "
                    "is compared with itself; take it out of `lms`"
                )
        if experiment.get("nested") and not of_lm:
            found.append(
                f"{here}: `nested` sets LMs side by side, and the formula has no surprisal"
            )
    return found + _nested(config, where, experiment, known) + _recovery(config, where, experiment, formulas)  # fmt: skip


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
            if simulate is None or design not in formulas:
                continue
            effects = simulate["readers"].get("coefficients", {}).keys() - {"intercept"}
            if lost := sorted(effects - set(formulas[design].fixed)):
                found.append(
                    f"{where} → recovery: the design {design} has no {lost[0]}, which the readers "
                    f"of {dataset} have; add it to the formula as it is"
                )
    return found


def _not_given(config: dict, lm: str, used: list[str]) -> list[str]:
    """Say which measures an LM does not give, and how it would."""
    own = config["lms"][lm]
    scale, trained = (
        config["scales"].get(config["scale"], {}),
        config["lms"].get(own.get("weights")),
    )
    entry = {**scale, **(trained or {}), **own}
    if "surprisals" in entry:  # a table may have any
        return []
    given = {*names.ALWAYS, *map(str, entry.get("measures") or ())}
    given |= {f"surprisal_context_{n}" for n in entry.get("context") or ()}
    found = []
    for name in used:
        measure = names.measure_of(names.split(name).stem)
        if measure not in given:
            context = re.fullmatch(r"surprisal_context_(\d+)", measure)
            way = f"context: [{context[1]}]" if context else f"measures: [{measure}]"
            found.append(f"{lm!r} gives no {measure}; write `{way}` in its entry or the scale's")
    return found


def _beyond(formula: Formula | None, given: tuple[str, ...]) -> str:
    """Return the first name of an LM in a formula that is none of `given`, or names the LM."""
    for name in names.used(formula) if formula else ():
        parts = names.split(name)
        if parts.of_lm and (parts.lm or names.measure_of(parts.stem) not in given):
            return name
    return ""


def _not_simulated(formula: Formula | None) -> str:
    """Return the first term or group of a formula that a study of power cannot have."""
    if formula is None:
        return ""
    for term in formula.predictors:
        stem = names.split(term).stem
        plain = read(term).kind == "name" and names.split(term).lm is None
        if term != "previous_fixated" and not (plain and stem in names.PREDICTORS[:4]):
            return term
    return next((group for group in formula.groups if group not in names.GROUPS), "")
