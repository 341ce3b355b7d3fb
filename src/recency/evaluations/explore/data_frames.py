"""The explorer for data frames, without the workflow: `recency.explore`."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from readingtimes.frames import in_pandas, warn_of
from readingtimes.names import nearest
from recency.errors import InputError
from recency.evaluations.explore import self_contained, view_data
from recency.evaluations.explore.view_data import Contents, packed

BITS = "_bits"
"""Suffix of columns with surprisal or other measures in bits."""
UNITS = {"_ms": "ms", "_uv": "µV"}
"""Suffix of response columns → their unit."""
KEYS = ("word_id", "subject")
TITLE = "Words"
FITTED = "they need regressions, which the workflow fits (docs/explorer.md)"


class Page:
    """A page of words, surprisals and responses: displayed in Jupyter, or saved.

    Attributes
    ----------
    html
        The page as one self-contained file.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.html = self_contained.page(contents)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file.

        Parameters
        ----------
        path : path
            The HTML file.

        Returns
        -------
        Path
            The same path.
        """
        self_contained.write(path, self._contents)
        return Path(path)

    def _repr_html_(self) -> str:
        frame = "width:100%;height:900px;border:0"
        return (
            f'<iframe title="Explorer" style="{frame}" srcdoc="{html.escape(self.html)}"></iframe>'
        )


def explore(
    words: pd.DataFrame,
    surprisals: pd.DataFrame | Mapping[str, Any] | None = None,
    times: pd.DataFrame | None = None,
    *,
    title: str = TITLE,
    command: str = "recency.explore(words, surprisals, times)",
) -> Page:
    """Show words with their surprisals and responses as a page.

    Parameters
    ----------
    words : data frame
        One row per word, in reading order: word, and optionally item (the text), sentence, position,
        pos, and `frequency` in bits. Columns ending in _bits are surprisals, columns ending in _ms
        and _uv mean responses.
    surprisals : data frame or mapping, optional
        LM → surprisal in bits with one value per word: an array, or the output of
        `recency.surprisal`; or a data frame with a column per LM, and optionally word_id, the
        words' row numbers from 0.
    times : data frame, optional
        One row per observation: word_id, optionally subject, and responses in columns ending in _ms
        or _uv, such as time_ms.
    title : str
        Title of the page.
    command : str
        Command that recreates the page, shown on it.

    Returns
    -------
    Page
        Jupyter displays it; `save(path)` writes it to a file.

    Raises
    ------
    InputError
        If a column is missing or not numeric, or numbers of words do not agree.

    Examples
    --------
    >>> page = recency.explore(words, {"GPT-2": recency.surprisal(words, "gpt2")})
    >>> page.save("words.html")
    """
    words, surprisals, times = in_pandas(words), in_pandas(surprisals), in_pandas(times)
    frame = _words(words)
    for what, table in (("words", words), ("surprisals", surprisals), ("times", times)):
        if isinstance(table, pd.DataFrame):
            warn_of(table, what, _ending(table, [BITS, *UNITS]))
    n = len(frame)
    lms = {_stem(c, BITS): _numbers(words[c], f"words: {c}") for c in _ending(words, [BITS])}
    lms |= _surprisals(surprisals, n)
    means = {c: _numbers(words[c], f"words: {c}") for c in _ending(words, UNITS)}
    observed = {name: (values, np.isfinite(values).astype(int)) for name, values in means.items()}
    if times is not None:
        observed |= _means(times, n)
    frequency = None
    if "frequency" in words:
        frequency = ("frequency (bits)", _numbers(words["frequency"], "words: frequency"))
    contents = Contents(title, command, [{"key": name, "label": name} for name in lms])
    contents.datasets = [view_data.dataset("words", title, frame, list(lms.values()), frequency)]
    for name, (values, counts) in observed.items():
        ending = next(end for end in UNITS if name.endswith(end))
        contents.responses.append(
            {"key": name, "label": _stem(name, ending), "measure": name, "dataset": 0}
            | {"unit": UNITS[ending], "mean": packed(values), "n": packed(counts)}
        )
    if not lms:
        contents.missing.append("Surprisals: none was given")
    if not observed:
        contents.missing.append("Responses: none was given")
    contents.missing.append(f"Residuals, contributions to ΔLogLik, readers and ranking: {FITTED}")
    return Page(contents)


def _words(words: pd.DataFrame) -> pd.DataFrame:
    """Return item, sentence, position and word; missing columns are derived from the order."""
    if "word" not in words:
        raise InputError(f"words: no column {nearest('word', words.columns)}")
    lacking = words["word"].isna().to_numpy()
    if lacking.any():
        raise InputError(f"words: row {int(lacking.argmax())} has no word")
    frame = pd.DataFrame({"word": words["word"].astype(str).to_numpy()})
    frame["item"] = words["item"].astype(str).to_numpy() if "item" in words else "text"
    if "sentence" in words:
        frame["sentence"] = pd.factorize(
            pd.MultiIndex.from_arrays([frame["item"], words["sentence"].astype(str)])
        )[0]
        frame["sentence"] += 1
    else:
        frame["sentence"] = pd.factorize(frame["item"])[0] + 1
    if "position" in words:
        frame["position"] = _numbers(words["position"], "words: position")
    else:
        frame["position"] = frame.groupby("sentence").cumcount() + 1
    if "pos" in words:
        frame["pos"] = words["pos"].astype(str).to_numpy()
    view_data.checked_words(frame, "words")
    return frame


def _surprisals(given: pd.DataFrame | Mapping[str, Any] | None, n: int) -> dict[str, np.ndarray]:
    """Return LM → surprisal (n,)."""
    if given is None:
        return {}
    if isinstance(given, pd.DataFrame):
        table = _order_rows(given, n, "surprisals")
        numeric = [c for c in table.select_dtypes("number") if c not in KEYS]
        named = _ending(table, [BITS]) or numeric
        if not named:
            raise InputError("surprisals: no numeric column; give one column per LM")
        given = {_stem(name, BITS): table[name] for name in named}
    columns = {}
    for lm, values in given.items():
        values = in_pandas(values)
        if isinstance(values, pd.DataFrame):
            if "surprisal_bits" not in values:
                raise InputError(f"surprisals: {lm}: no column surprisal_bits")
            values = _order_rows(values, n, f"surprisals: {lm}")["surprisal_bits"]
        columns[str(lm)] = _numbers(values, f"surprisals: {lm}")
        if len(columns[str(lm)]) != n:
            raise InputError(
                f"surprisals: {lm} has {len(columns[str(lm)]):,} values for {n:,} words; give one per word"
            )
    return columns


def _means(times: pd.DataFrame, n: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return response → the mean (n,) of each word over its observations, and their number (n,)."""
    named = _ending(times, UNITS)
    if "word_id" not in times or not named:
        raise InputError(
            "times: a column word_id and responses in columns that end in _ms or _uv are needed; there "
            f"are {', '.join(map(str, times.columns))}"
        )
    word_id = _word_ids(times["word_id"], n, "times")
    means = {}
    for name in named:
        values = _numbers(times[name], f"times: {name}")
        there = np.isfinite(values)
        sums, counts = view_data.by_word(word_id[there], values[there], n)
        means[name] = (sums / np.maximum(counts, 1), counts)
    return means


def _order_rows(table: pd.DataFrame, n: int, where: str) -> pd.DataFrame:
    """Return the rows in the words' order, by word_id if present."""
    if "word_id" not in table:
        return table
    word_id = _word_ids(table["word_id"], n, where)
    twice = pd.Series(word_id).duplicated().to_numpy()
    if twice.any():
        raise InputError(f"{where}: word_id {word_id[twice.argmax()]} occurs twice")
    return table.set_axis(word_id, axis=0).reindex(range(n))


def _word_ids(column: pd.Series, n: int, where: str) -> np.ndarray:
    values = _numbers(column, f"{where}: word_id")
    wrong = ~((values >= 0) & (values < n) & (values == np.round(values)))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{where}: row {row}: word_id {column.iloc[row]} is not a row number of the {n:,} words, from 0"
        )
    return values.astype(int)


def _numbers(values: Any, where: str) -> np.ndarray:
    """Return numbers; raise InputError with the row of a value that is not a number."""
    column = pd.Series(values).reset_index(drop=True)
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = (numbers.isna() & column.notna()).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(f"{where}: row {row}: {column[row]!r} is not a number")
    return np.asarray(numbers.to_numpy(np.float64, na_value=np.nan))


def _ending(table: pd.DataFrame, endings: Any) -> list[str]:
    return [c for c in table if any(str(c).endswith(end) and str(c) != end for end in endings)]


def _stem(name: str, ending: str) -> str:
    return str(name).removesuffix(ending)
