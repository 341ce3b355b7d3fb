"""Checks during planning, of targets without products and of columns that tables lack.

They use the expanded study and the user's tables; jobs do not repeat them.
"""

import copy
import glob
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from readingtimes.names import nearest
from recency import config as configuration
from recency import plugins
from recency.errors import REFUSALS
from recency.networks import weight_files
from recency.reading import declared_columns
from recency.workflow.config import schema_checks
from recency.workflow.plan import products
from recency.workflow.plan.study import Study


def problems(study: Study) -> list[str]:
    """List targets that their experiment does not make, and columns that tables lack."""
    return [
        *_targets(study),
        *(p for name in study.config["datasets"] for p in _dataset(study, name)),
        *(p for name in _read(study) for p in _corpus(study, name)),
        *(p for name in study.config["lms"] for p in _checkpoint(study, name)),
    ]


def _checkpoint(study: Study, name: str) -> Iterator[str]:
    """Yield a missing local checkpoint, and weights whose checksum differs from the stated one.

    Jobs check those of the Hub.
    """
    lm = study.config["lms"][name]
    if "supplied" in lm and not study.dry_run and not Path(lm["checkpoint"]).exists():
        yield f"lms → {name}: there is no {lm['checkpoint']}: {lm['supplied']}"
    elif "sha256" in lm and Path(lm["checkpoint"]).exists():
        try:
            weight_files.verify(lm["checkpoint"], lm["sha256"], lm.get("allow_pickle", False))
        except REFUSALS as error:
            yield f"lms → {name}: {error}"


def _read(study: Study) -> list[str]:
    """Return the corpora on which LMs are trained, validated or compared."""
    named = [lm.get("corpus") for lm in study.config["lms"].values()]
    named += [r.get("validation", {}).get("corpus") for r in study.config["recipes"].values()]
    for experiment in study.config["experiments"].values():
        for asked in (part for part in experiment.values() if isinstance(part, dict)):
            named += [value for value in asked.values() if value in [*study.config["corpora"]]]
    return [name for name in dict.fromkeys(named) if name is not None]


def _corpus(study: Study, name: str) -> Iterator[str]:
    """Yield faults of a local text whose number of words is stated."""
    corpus = study.config["corpora"][name]
    words = corpus.get("options", {}).get("sentences", {}).get("words")
    local = corpus.get("file", {}).get("local", "")
    patterns = corpus.get("files", [glob.escape(local)])
    own = [pattern for pattern in patterns if isinstance(pattern, str)]
    files = sorted(path for pattern in own for path in glob.glob(pattern))
    if not words or not files:
        return
    from recency.text.readers import sentences

    try:
        for _ in sentences.read([Path(path) for path in files], words):
            pass
    except REFUSALS as error:
        yield f"corpora → {name}: {error}"


def _targets(study: Study) -> Iterator[str]:
    """Yield figures and tables of a target that its experiment does not make."""
    whole = copy.copy(study)  # as if no file were missing
    whole.dry_run = True
    stems: dict[str, list[str]] = {}
    asked = [
        (name, target, experiment)
        for name, target in study.targets.items()
        for experiment in configuration.experiments_of(target)
    ]
    for name, target, experiment in asked:
        if experiment not in stems:
            stems[experiment] = [
                s for p in products.of_experiment(whole, experiment) for s in p.stems
            ]
        for stem in target["of"]:
            if stem not in stems[experiment]:
                yield (
                    f"targets → {name} → of: the experiment {experiment} makes no "
                    f"{nearest(stem, stems[experiment])}"
                )


def _dataset(study: Study, name: str) -> Iterator[str]:
    """Yield columns that `columns:` names and the user's table lacks."""
    entry = study.config["datasets"][name]
    columns = entry.get("options", {}).get("columns") or {}
    if entry["parser"] != "table":
        return
    owner = declared_columns.owner_of_words(study.config, entry)
    there = {
        part: _header(of[part], entry) for part, of in (("words", owner), ("responses", entry))
    }
    if "simulate" in entry:
        there = _simulated_columns(entry["simulate"])
    if None in there.values():
        return
    both = list(dict.fromkeys([*there["words"], *there["responses"]]))
    where = f"datasets → {name} → options → columns"
    for key, column in columns.items():
        if key in there and isinstance(column, dict):
            for inner, one in column.items():
                yield from _lacking(f"{where} → {key} → {inner}", one, there[key])
        else:
            yield from _lacking(f"{where} → {key}", column, both)
    mapped = declared_columns.mapped(entry)
    for measure, settings in entry["measures"].items():
        measured = {measure, "time_ms"} & {*mapped, *there["responses"]}
        if "of" not in settings and not measured:
            yield (
                f"{where}: the measure {measure} has no column; write `{measure}: <column>`, "
                f"one of {', '.join(there['responses'])[:120]}"
            )


def _simulated_columns(settings: Mapping) -> dict[str, list[str]]:
    """Return the columns of simulated words and responses."""
    given, of_eyes = (
        plugins.literal("recency.simulation", "readers", name) for name in ("COLUMNS", "OF_EYES")
    )
    more = of_eyes if settings["readers"].get("skipping") is not None else ()
    return {"words": ["item", "sentence", "position", "word"], "responses": [*given, *more]}


def _lacking(where: str, column: object, header: list[str]) -> Iterator[str]:
    """Yield the columns that a header lacks; a name with a star is a pattern."""
    for label in column if isinstance(column, list) else [column]:
        there = any(name == label or fnmatchcase(name, str(label)) for name in header)
        if isinstance(label, str) and not there:
            yield f"{where}: the table has no column {nearest(label[:60], header)}"


def _header(files: Mapping, entry: Mapping) -> list[str] | None:
    """Return the columns of the single local table of words or responses, None if unknown."""
    local = [file.get("local") for file in files.values() if isinstance(file, dict)]
    if len(local) != 1 or not local[0]:
        return None
    return schema_checks.of_file(local[0], entry.get("options", {}))
