"""Compute reading measures per word from fixations and areas of interest of any corpus.

Rows are fixations in temporal order. `columns` maps to the columns of the table: `subject`; `item` (the
text; several columns form one label); `duration`; and the fixated word, either `position` (its number
in the text, from `first`) or `x` and `y` (pixels; the areas have `left`, `right`, `top` and `bottom`).
Optional: `word` (the fixated word, verifies the alignment), `onset` (orders fixations), `trial` (for
texts that are read again: first-pass times are of the first trial only).

words: role `areas`, a table of the words of each text, read as by the parser `table` with the options
under `areas:`; by default, words of the fixations' column `word`.

responses: role `fixations`; also `areas` if words are found by pixels.

Options: `first`: number of a text's first word; `ignored`: labels of `word` that are not words
(buttons); `unit`: ms or s; `unmatched: dropped`: drop fixations on unknown words or texts; `rows`,
`members`, `separator`, `encoding`, `missing`, `frame`, `sheet` as in `table`. Fixations off the text
are dropped and do not end a pass, as in pymovements.

Responses have every word of a text that a subject read (0 ms: not fixated), `words_since_fixation` and
`previous_fixated`, computed over words in reading order by first pass.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.names import nearest
from recency.reading import fixations
from recency.reading.contracts import padded
from recency.reading.formats import anything, fixation_table
from recency.reading.formats.anything import Style
from recency.reading.formats.fixation_table import Labels
from recency.reading.joins.index import spelling
from recency.reading.options import one_of
from recency.reading.own import texts
from recency.reading.own.columns import labels
from recency.reading.parsers import table as tables
from recency.reading.strict_tables import Table, warn

MEASURES = ("FFD", "FP", "GP", "TFT")
COLUMNS = {
    "responses": {
        "words_since_fixation": ("number", "distance from the word fixated before, words"),
        "previous_fixated": ("flag", "whether the word before was fixated"),
    }
}
CHOICES = {"unit": ("ms", "s"), "unmatched": ("refused", "dropped")}

#: The names under `columns:`, read without importing the parser.
KEYS = ("subject", "item", "trial", "word", "position", "duration", "onset", "x", "y")

_NAMED, _NUMBERS = KEYS[:4], KEYS[4:]
_BOX = ("left", "right", "top", "bottom")
_UNITS = {"ms": 1.0, "s": 1000.0}
_SHOWN = 5
#: Minimum share of a text that the last reading must reach.
_FAR = 2 / 3


def words(
    files: dict[str, Path],
    *,
    columns: Mapping | None = None,
    areas: Mapping | None = None,
    first: int = 1,
    ignored: Sequence[str] = (),
    sentences: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    frame: str | None = None,
    missing: Sequence[str] | None = None,
    members: str | None = None,
    rows: Mapping | None = None,
) -> pd.DataFrame:
    """Read the texts from the table of areas, or from the fixations' words."""
    if "areas" in files:
        options = dict(areas or {})
        mapped = {n: c for n, c in (options.pop("columns", None) or {}).items() if n not in _BOX}
        return tables.words({"areas": files["areas"]}, columns=mapped, **options)
    path = _fixation_file(files)
    named, numbers = _mapped(columns, ["item", "position", "word"])
    if "position" not in numbers or "word" not in named:
        raise InputError(
            f"{path}: without a table of areas (words: {{areas: …}}) the words are those of the "
            "fixations; map `word` and `position` in options → columns"
        )
    style = Style(separator, encoding, sheet, frame, members=members, rows=rows)
    labels, values, line = fixation_table.read(path, style, named, numbers, missing)
    places, item, word = values["position"], labels["item"], labels["word"]
    there = _on_text(places, first) & (item.codes >= 0) & ~_is_ignored(word, ignored)
    table = pd.DataFrame(
        {
            "item": item.codes[there],
            "position": places[there].astype("int64") - first + 1,
            "word": word.codes[there],
        },
        index=line[there],
    ).drop_duplicates()
    table["item"] = np.array([*item.values, ""], dtype=object)[table["item"]]
    table["word"] = np.array([*word.values, ""], dtype=object)[table.word]
    table = table.astype({"item": "str", "word": "str"})
    return texts.build(texts.Rows(Table(path, table), table), sentences, table[[]])


def responses(
    files: dict[str, Path],
    words: pd.DataFrame,
    measure: str,
    *,
    columns: Mapping | None = None,
    areas: Mapping | None = None,
    first: int = 1,
    ignored: Sequence[str] = (),
    unit: str = "ms",
    unmatched: str = "refused",
    separator: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    frame: str | None = None,
    missing: Sequence[str] | None = None,
    members: str | None = None,
    rows: Mapping | None = None,
) -> pd.DataFrame:
    """Compute `measure` in ms: FFD, FP (first pass), GP (go past) or TFT (total) of fixations."""
    one_of("unit", unit, _UNITS)
    one_of("unmatched", unmatched, CHOICES["unmatched"])
    path = _fixation_file(files)
    named, numbers = _mapped(columns, ["subject", "item"])
    if "duration" not in numbers:
        numbers["duration"] = "duration"
    by_pixels = "position" not in numbers
    if by_pixels and not {"x", "y"} <= numbers.keys():
        raise InputError(f"{path}: map `position`, or `x` and `y`, in options → columns")
    style = Style(separator, encoding, sheet, frame, members=members, rows=rows)
    labels, values, line = fixation_table.read(path, style, named, numbers, missing)
    size = words.groupby("item", sort=False).size()
    item = _items(path, labels["item"], size, line, unmatched)
    if by_pixels:
        positions = _places_of_pixels(files, areas, item, size, values)
    else:
        positions = values["position"] - first
        positions[~_on_text(values["position"], first)] = -1
    positions = np.where(np.isfinite(positions), positions, -1).astype(np.int64)
    if "word" in labels:
        positions[_is_ignored(labels["word"], ignored)] = -1
    positions = _within(path, positions, item, size, line, unmatched)
    on_text = (positions >= 0) & (item >= 0) & (labels["subject"].codes >= 0)
    off = int((~on_text).sum())
    if off:
        warn(
            path,
            f"{off:,} of {len(positions):,} fixations are on no word of a text, and are left out",
        )
    if off == len(positions):
        raise InputError(f"{path}: no fixation is on a word of the texts")
    if "word" in labels:
        _same_words(
            path, words, size, item[on_text], positions[on_text], labels["word"].take(on_text)
        )
    duration = values["duration"][on_text] * _UNITS[unit]
    if not (np.isfinite(duration) & (duration >= 0)).all():
        at = int(np.argmax(~(np.isfinite(duration) & (duration >= 0))))
        raise InputError(
            f"{path}, line {line[on_text][at]}: {numbers['duration']} is {duration[at]}, which is no duration"
        )
    subject = labels["subject"].take(on_text)
    trial = labels["trial"].codes[on_text] if "trial" in labels else None
    onset = values["onset"][on_text] if "onset" in values else None
    order = fixation_table.in_order(path, subject.codes, item[on_text], trial, onset)
    if onset is not None:
        order = fixation_table.once(
            path, order, line[on_text], subject.codes, item[on_text], trial, onset
        )
    codes, text = subject.codes[order], item[on_text][order]
    breaks = np.zeros(len(order), dtype=bool)
    if trial is not None:
        breaks[1:] = trial[order][1:] != trial[order][:-1]
    arrays = (codes, text, positions[on_text][order], duration[order])
    _warn_of_a_cut(path, size, subject.values, *arrays[:3])
    return _of_words(measure, subject.values, size, *arrays, breaks)


def _warn_of_a_cut(
    path: Path,
    size: pd.Series,
    subjects: list[str],
    subject: np.ndarray,
    text: np.ndarray,
    position: np.ndarray,
) -> None:
    """Warn if the last reading ends far from the end of its text."""
    last = (subject == subject[-1]) & (text == text[-1])
    if position[last].max() + 1 < _FAR * size.iloc[text[-1]]:
        warn(
            path,
            f"the last fixations, of subject {subjects[subject[-1]]} in text {size.index[text[-1]]}, end "
            "far from the end of the text; if the file was cut off, get it again",
        )


def _of_words(
    measure: str,
    subjects: list[str],
    size: pd.Series,
    subject: np.ndarray,
    text: np.ndarray,
    position: np.ndarray,
    duration: np.ndarray,
    breaks: np.ndarray,
) -> pd.DataFrame:
    """Return one row per word of each text that a subject read, in reading order."""
    sums = fixations.measure(subject, text, position, duration, breaks)
    starts = np.ones(len(text), dtype=bool)
    starts[1:] = (subject[1:] != subject[:-1]) | (text[1:] != text[:-1])
    lengths = size.to_numpy()[text[starts]]
    offset = np.concatenate([[0], np.cumsum(lengths)])
    cell = offset[np.cumsum(starts) - 1] + position
    total = int(offset[-1])
    # Each measure is in the row of the fixation that starts its sum, once per word.
    times = np.bincount(cell, sums[measure], total)
    passed = times > 0 if measure == "FP" else np.bincount(cell, sums.FP, total) > 0
    reading = pd.Series(np.repeat(np.arange(len(lengths), dtype=np.int32), lengths))
    begin = np.concatenate([[0], np.cumsum(size.to_numpy())])[:-1][text[starts]]
    word_id = np.arange(total) - np.repeat(offset[:-1] - begin, lengths)
    names = padded(pd.Series(subjects, dtype="str"))
    fixated = pd.Series(passed)
    return pd.DataFrame(
        {
            "subject": names.take(np.repeat(subject[starts], lengths)).reset_index(drop=True),
            "word_id": word_id.astype("int32"),
            "time_ms": times,
            "words_since_fixation": fixations.since_fixation(fixated),
            "previous_fixated": fixations.previous_fixated(fixated, [reading]),
        }
    )


def _fixation_file(files: Mapping[str, Path]) -> Path:
    """Return the one file of fixations."""
    others = [path for role, path in files.items() if role != "areas"]
    if len(others) != 1:
        raise InputError(
            f"fixations: one file of fixations is expected, and `areas`; the config names {', '.join(files) or 'none'}"
        )
    return Path(others[0])


def _mapped(columns: Mapping | None, needed: list[str]) -> tuple[dict, dict]:
    """Return name → columns of labels and name → column of numbers, from `columns`."""
    columns = dict(columns or {})
    if wrong := [name for name in columns if name not in KEYS]:
        raise InputError(f"options → columns: fixations have no {nearest(wrong[0], KEYS)}")
    named = {n: columns.get(n, n) for n in _NAMED if columns.get(n) or n in needed}
    named = {n: list(c) if isinstance(c, list) else [str(c)] for n, c in named.items()}
    return named, {n: str(columns[n]) for n in _NUMBERS if columns.get(n)}


def _on_text(position: np.ndarray, first: int) -> np.ndarray:
    """Return whether fixations have a word number."""
    return np.isfinite(position) & (position >= first)


def _is_ignored(word: Labels, ignored: Sequence[str]) -> np.ndarray:
    """Return whether fixations are on an ignored label."""
    left_out = np.array([value in ignored for value in word.values] + [False], dtype=bool)
    return left_out[word.codes]


def _items(
    path: Path, item: Labels, size: pd.Series, line: np.ndarray, unmatched: str
) -> np.ndarray:
    """Return the number of each fixation's text, -1 for unknown texts."""
    codes = size.index.get_indexer(pd.Index(item.values, dtype="str"))
    item_codes = np.append(codes, -1)[item.codes]
    lost = (item_codes < 0) & (item.codes >= 0)
    if lost.any() and unmatched != "dropped":
        at = int(np.argmax(lost))
        raise InputError(
            f"{path}, line {line[at]}: there is no text {item.values[item.codes[at]]!r} "
            f"({lost.sum():,} such fixations); the texts are {', '.join(map(str, size.index[:_SHOWN]))}"
            f"{', …' if len(size) > _SHOWN else ''}; `unmatched: dropped` leaves them out"
        )
    return item_codes


def _within(
    path: Path,
    position: np.ndarray,
    item: np.ndarray,
    size: pd.Series,
    line: np.ndarray,
    unmatched: str,
) -> np.ndarray:
    """Return positions; those beyond their text are refused or -1."""
    beyond = (position >= np.append(size.to_numpy(), 0)[item]) & (item >= 0)
    if beyond.any() and unmatched != "dropped":
        at = int(np.argmax(beyond))
        raise InputError(
            f"{path}, line {line[at]}: text {size.index[item[at]]} has {size.iloc[item[at]]:,} words, "
            f"and no word {position[at] + 1:,} ({beyond.sum():,} such fixations)"
        )
    return np.where(beyond, -1, position)


def _same_words(
    path: Path,
    words: pd.DataFrame,
    size: pd.Series,
    item: np.ndarray,
    position: np.ndarray,
    word: Labels,
) -> None:
    """Raise InputError with the first word of each text that differs in the fixations."""
    begin = np.concatenate([[0], np.cumsum(size.to_numpy())])
    keys = pd.DataFrame({"item": item, "place": position, "word": word.codes}).drop_duplicates()
    keys = keys[keys.word >= 0]
    expected = words.word.to_numpy()[begin[keys["item"]] + keys.place.to_numpy()]
    named = np.array([*word.values, ""], dtype=object)[keys.word]
    differs = [spelling(str(a)) != spelling(str(b)) for a, b in zip(expected, named, strict=True)]
    if not any(differs):
        return
    wrong = keys.assign(known=expected, named=named)[differs].sort_values(["item", "place"])
    first_wrong = wrong.drop_duplicates("item")
    shown = "; ".join(
        f"text {size.index[row.item]}: word {row.place + 1} is {row.named!r}, in the text {row.known!r}"
        for row in first_wrong.head(_SHOWN).itertuples()
    )
    more = f" and {len(first_wrong) - _SHOWN} more texts" if len(first_wrong) > _SHOWN else ""
    raise InputError(
        f"{path}: fixations and texts do not align: {shown}{more}; check options → first and the "
        "columns of the texts"
    )


def _places_of_pixels(
    files: Mapping[str, Path],
    areas: Mapping | None,
    item: np.ndarray,
    size: pd.Series,
    values: Mapping,
) -> np.ndarray:
    """Return the position of the area that contains each fixation's pixel, from 0; NaN if none."""
    if "areas" not in files:
        raise InputError(
            "fixations by pixels (x, y) need the table of areas: responses → areas, as of the words"
        )
    boxes = _boxes(Path(files["areas"]), dict(areas or {}), size)
    positions = np.full(len(item), np.nan)
    x, y = values["x"], values["y"]
    order = np.argsort(item, kind="stable")
    bounds = np.searchsorted(item[order], np.arange(len(size) + 1))
    for code, item_boxes in boxes.groupby("code", sort=False):
        rows = order[bounds[code] : bounds[code + 1]]
        left, right, top, bottom = (item_boxes[name].to_numpy() for name in _BOX)
        for number, box in enumerate(zip(left, right, top, bottom, strict=True)):
            inside = (
                (x[rows] >= box[0]) & (x[rows] < box[1]) & (y[rows] >= box[2]) & (y[rows] < box[3])
            )
            positions[rows[inside & np.isnan(positions[rows])]] = number
    return positions


def _boxes(path: Path, options: dict, size: pd.Series) -> pd.DataFrame:
    """Read the areas' edges in pixels, in the order of the words of each text."""
    mapped = dict(options.get("columns") or {})
    columns = {name: str(mapped.get(name, name)) for name in _BOX}
    item = mapped.get("item", "item")
    parts = item if isinstance(item, list) else [item]
    position = mapped.get("position", "position")
    style = Style(
        options.get("separator"), options.get("encoding", "utf-8"), options.get("sheet"),
        options.get("frame"), members=options.get("members"), rows=options.get("rows"),
    )  # fmt: skip
    wanted = [*parts, *columns.values(), *([position] if position else [])]
    table = anything.read(path, style, lambda header: fixation_table.present(path, header, wanted))
    label = labels(table, parts[0])
    for part in parts[1:]:
        label = label + " " + labels(table, part)
    frame = pd.DataFrame({"code": size.index.get_indexer(pd.Index(label, dtype="str"))})
    for name, column in columns.items():
        frame[name] = table.numbers(column, minimum=None).to_numpy()
    if position:
        frame["position"] = table.numbers(position, integer=True).to_numpy()
        frame = frame.drop_duplicates(["code", "position"]).sort_values(["code", "position"])
    frame = frame[frame.code >= 0]
    counts = frame.groupby("code").size().reindex(range(len(size)), fill_value=0)
    if (wrong := counts.to_numpy() != size.to_numpy()).any():
        at = int(np.argmax(wrong))
        raise InputError(
            f"{path}: text {size.index[at]} has {size.iloc[at]:,} words and {counts[at]:,} areas"
        )
    return frame
