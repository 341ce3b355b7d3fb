"""The parts of the 2025 BabyLM challenge evaluation, and readers of their files.

Each item of a zero-shot part has candidate texts whose endings, the completions, are scored. The
first candidate is correct.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recency.errors import InputError
from recency.text.utf8 import decoded

ADDRESS = "https://osf.io/ryjfm (evaluation_data; EWoK after its terms are accepted)"
#: Splits of entity tracking, averaged after items.
SPLITS = ("regular", "ambiref", "move_contents")
_COMPS = {
    "comps_base": "base",
    "comps_wugs": "wugs",
    "comps_wugs_dist-before": "wugs_dist_before",
    "comps_wugs_dist-in-between": "wugs_dist_in_between",
}


@dataclass(frozen=True)
class Item:
    """One item of a zero-shot part.

    Attributes
    ----------
    group
        The subset over which accuracy is computed.
    candidates
        Texts, each with the character at which its completion begins.
    ratio
        Share of people who chose the first candidate (WUG).
    """

    group: str
    candidates: tuple[tuple[str, int], ...]
    ratio: float | None = None


@dataclass(frozen=True)
class Part:
    """A part of the evaluation: its label, its paths below the folder, and a parser of its items."""

    label: str
    places: tuple[str, ...]
    score: str = "accuracy"
    item: Callable[[Mapping[str, Any], str], Item] | None = None


def _blimp(row: Mapping[str, Any], stem: str) -> Item:
    group = row["UID"] if "field" in row else stem
    return Item(group, ((row["sentence_good"], 0), (row["sentence_bad"], 0)))


def _ewok(row: Mapping[str, Any], stem: str) -> Item:
    context = row["Context1"]
    texts = (f"{context} {row[target]}" for target in ("Target1", "Target2"))
    return Item(row["Domain"], tuple((text, len(context)) for text in texts))


def _entity_tracking(row: Mapping[str, Any], stem: str) -> Item:
    if not stem.startswith(SPLITS):
        raise KeyError(f"a file of this name; they begin with {', '.join(SPLITS)}")
    prefix = row["input_prefix"]
    candidates = tuple((prefix + option, len(prefix)) for option in row["options"])
    return Item(f"{stem}_{row['numops']}_ops", candidates)


def _wug(row: Mapping[str, Any], stem: str) -> Item:
    texts = tuple((text, 0) for text in row["sentences"].split("\t"))
    return Item("all", texts, float(row["ratio"]))


def _comps(row: Mapping[str, Any], stem: str) -> Item:
    if stem not in _COMPS:
        raise KeyError(f"a file of this name; they are {', '.join(_COMPS)}")
    prefixes = (row[f"prefix_{kind}"] for kind in ("acceptable", "unacceptable"))
    phrase = row["property_phrase"]
    return Item(_COMPS[stem], tuple((f"{prefix} {phrase}", len(prefix) + 1) for prefix in prefixes))


PARTS = {
    "blimp": Part("BLiMP", ("blimp_filtered", "blimp_fast"), item=_blimp),
    "supplement": Part("BLiMP supplement", ("supplement_filtered", "supplement_fast"), item=_blimp),
    "ewok": Part("EWoK", ("ewok_filtered", "ewok_fast"), item=_ewok),
    "entity_tracking": Part(
        "Entity tracking", ("entity_tracking", "entity_tracking_fast"), item=_entity_tracking
    ),
    "wug_adj": Part("WUG, adjectives", ("wug_adj_nominalization",), "correlation", _wug),
    "wug_past": Part("WUG, past tense", ("wug_past_tense",), "correlation", _wug),
    "comps": Part("COMPS", ("comps",), item=_comps),
    "reading": Part("Reading", ("reading/reading_data.csv",), "reading"),
    "aoa": Part("Age of acquisition", ("aoa",), "aoa"),
}
ZERO_SHOT = [name for name, part in PARTS.items() if part.item]
#: Files for the age of acquisition: contexts of words, and the share of children who know each.
WORDS, CHILDREN = "cdi_childes.json", "cdi_human.csv"


def files(folder: str | Path, name: str) -> list[Path]:
    """Return the files of a part below a folder, or an empty list.

    Parameters
    ----------
    folder : str or Path
        The challenge's `full_eval` or `fast_eval`.
    name : str
        One of `PARTS`.
    """
    for path in (Path(folder, file) for file in PARTS[name].places):
        if path.is_file():
            return [path]
        if name == "aoa":
            paths = [path / file for file in (WORDS, CHILDREN)]
            return paths if all(file.is_file() for file in paths) else []
        if paths := sorted(path.rglob("*.jsonl")):
            return paths
    return []


def items(path: str | Path, name: str, first: int | None = None) -> Iterator[Item]:
    """Yield the items of a file of JSON lines.

    Parameters
    ----------
    path : str or Path
        The file.
    name : str
        One of `ZERO_SHOT`.
    first : int, optional
        Number of lines to read; all by default.

    Raises
    ------
    InputError
        Names the file, the line and the fault.
    """
    path, read = Path(path), PARTS[name].item
    lines = decoded(path.read_bytes(), path).splitlines()[:first]
    if not any(line.strip() for line in lines):
        raise InputError(f"{path} has no items; supply the whole file")
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            item = read(json.loads(line), path.stem)
        except json.JSONDecodeError as error:
            raise InputError(f"{where}: not JSON ({error.msg}); each line is one object") from None
        except KeyError as error:
            raise InputError(
                f"{where}: {PARTS[name].label} has no {error.args[0]}; see {ADDRESS}"
            ) from None
        except (TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{where}: no item of {PARTS[name].label} ({error}); see {ADDRESS}"
            ) from None
        texts = [text for text, _ in item.candidates]
        if len(texts) < 2 or not all(isinstance(value, str) and value.strip() for value in texts):
            raise InputError(
                f"{where}: {len(texts)} candidates, or an empty one; two or more are needed"
            )
        yield item
