"""Rule explore: an experiment's words, readers, contributions and ranking as one page.

No model is fitted: contributions to ΔLogLik come from the stored log-likelihoods of observations
and of the crossed bootstrap's cells, residuals from the stored baseline model. The held-out
partition is excluded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from crosslmm import families
from readingtimes.response_names import EVENT, RESPONSES
from recency.endpoints import CROSSED, DEFAULT_ALONE, ENDPOINTS
from recency.evaluations.explore import view_data
from recency.evaluations.explore.self_contained import write
from recency.evaluations.explore.view_data import Contents, packed
from recency.evaluations.reading_times.delta_loglik import contributions, crossed_parts
from recency.figures.paths import File, Files
from recency.figures.style import UNITS
from recency.regression.inputs import ROLES, Inputs
from recency.regression.prediction import predict, read_fit, rows_for
from recency.scoring.results import word_means

Gains = dict[str, list[np.ndarray | None]]


@dataclass
class Fits:
    """The files of an experiment's cells, by response and, within a response, by LM."""

    full: Sequence[File]
    base: Sequence[File]
    full_observations: Sequence[File]
    base_observations: Sequence[File]
    full_crossed: Sequence[File] = ()
    base_crossed: Sequence[File] = ()

    @classmethod
    def of_job(cls, given: dict[str, Any], threads: int) -> "Fits":
        """Take the input files with these names out of a job's arguments."""
        return cls(**{name: given.pop(name, ()) for name in cls.__dataclass_fields__})


def main(
    fits: Fits,
    files: Mapping[str, Any],
    words: Files,
    surprisals: Files,
    delta_loglik: File,
    intervals: File,
    not_run: File,
    out: File,
    *,
    title: str,
    command: str,
    lms: Sequence[Mapping[str, str]],
    cells: Sequence[Mapping[str, str]],
    datasets: Sequence[Mapping[str, str]],
    responses: Sequence[Mapping[str, Any]],
    endpoint: str,
    frequency: str,
    unigrams: Files = (),
    half_life: File | None = None,
    fixations: Files = (),
) -> None:
    """Write the page.

    Parameters
    ----------
    fits
        For each response and LM, in the order of `cells`.
    files
        `<role>_<number>`: inputs of each response's baseline model (recency.workflow.plan.regressions).
    words, unigrams
        Contract 1 and the unigram's contract 3 of each dataset; `unigrams` is empty if no design
        uses frequency.
    surprisals
        Contract 3 of each training and dataset, in the order of the cells' trainings.
    delta_loglik, intervals, not_run, half_life
        The experiment's tables; `half_life` where memory is measured.
    fixations
        Contract 4 of each dataset, where an LM has the contexts of readers.
    out
        The page.
    title, command
        Title of the experiment, and the command that writes the page again.
    lms, cells
        The ranked LMs (lm, label), and lm, dataset, measure, design and optionally seed and variant
        of each cell; training runs of one LM are averaged.
    datasets, responses
        dataset and label; design, dataset, measure, label and others (LMs named in its formula).
    endpoint, frequency
        Endpoint of the ranking; label of the unigram surprisal.
    """
    keys = [lm["lm"] for lm in lms]
    contents = Contents(title, command, [{"key": lm["lm"], "label": lm["label"]} for lm in lms])
    tables = [pd.read_parquet(path) for path in words]
    trainings = list(dict.fromkeys((c["lm"], c.get("variant", c["lm"])) for c in cells))
    bits = {Path(path).parts[-2:]: path for path in surprisals}
    for number, (about, table) in enumerate(zip(datasets, tables, strict=True)):
        name = f"{about['dataset']}.parquet"
        of_lm = {
            lm: [bits[variant, name] for trained_lm, variant in trainings if trained_lm == lm]
            for lm in keys
        }
        unigram = list(unigrams)[number] if unigrams else None
        contents.datasets.append(
            view_data.dataset(
                about["dataset"],
                about["label"],
                table,
                [_mean([_bits(path, len(table)) for path in of_lm[lm]]) for lm in keys],
                None if unigram is None else (frequency, _bits(unigram, len(table))),
                pd.read_parquet(list(fixations)[number]) if fixations else None,
            )
        )
    places = {about["dataset"]: number for number, about in enumerate(datasets)}
    for number, response in enumerate(responses):
        mine = [n for n, cell in enumerate(cells) if _response(cell) == _response(response)]
        paths = [files.get(f"{role}_{number}") for role in ROLES]
        others = dict(zip(response["others"], files.get(f"others_{number}", ()), strict=True))
        inputs = Inputs(**dict(zip(ROLES, paths, strict=True)), others=others)
        dataset = places[response["dataset"]]
        view = _average_responses(
            inputs, fits.base[mine[0]], len(tables[dataset]), contents, response["label"]
        )
        view |= _gains(
            fits, mine, cells, keys, tables[dataset], endpoint, contents, response["label"]
        )
        contents.responses.append(
            {"key": "{design}/{dataset}.{measure}".format(**response), "label": response["label"]}
            | {"measure": response["measure"], "dataset": dataset}
            | view
        )
    contents.ranking = _ranking(delta_loglik, intervals, responses, keys)
    contents.memory = _memory(half_life, keys)
    absent = pd.read_csv(not_run, keep_default_na=False)
    asked = set(absent.dataset) - set(places)
    contents.missing += [
        f"{row.dataset} {row.measure}: {row.reason}"
        for row in absent.itertuples()
        if row.dataset in asked
    ]
    if half_life is None:
        contents.missing.append("Memory: not measured; set `measured_memory` in the experiment")
    write(out, contents)


def _bits(path: File, words: int) -> np.ndarray:
    """Return the surprisal of each word (words,); where it is by reader, the mean over readers."""
    return word_means(pd.read_parquet(path), words)["surprisal_bits"].to_numpy(float)


def _mean(columns: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the mean over training runs, or None without any."""
    return np.mean(columns, axis=0) if columns else None


def _response(cell: Mapping[str, str]) -> tuple[str, ...]:
    return cell["design"], cell["dataset"], cell["measure"]


def _average_responses(
    inputs: Inputs, base: File, n: int, contents: Contents, label: str
) -> dict[str, Any]:
    """Return the mean response and residual (n,) of each word, excluding the held-out partition."""
    paths = [path for path in (inputs.fit, inputs.exploratory) if path is not None]
    frame = pd.concat([pd.read_parquet(path) for path in paths], ignore_index=True)
    value = next(name for name in (*RESPONSES, EVENT) if name in frame)
    word_id = frame["word_id"].to_numpy()
    sums, counts = view_data.by_word(word_id, frame[value].to_numpy(float), n)
    unit = "share of readers" if value == EVENT else UNITS[value]
    view = {"unit": unit, "mean": packed(sums / np.maximum(counts, 1)), "n": packed(counts)}
    record = read_fit(base)
    if not record["converged"]:
        contents.missing.append(
            f"{label}: no residuals, since the baseline model gives no prediction"
        )
        return view
    texts = inputs.texts(record)
    parts = [rows_for(record, path, texts) for path in paths]
    residuals = np.concatenate([rows.y - predict(record, rows) for rows in parts])
    sums, counts = view_data.by_word(np.concatenate([rows.word for rows in parts]), residuals, n)
    is_log = record["response"] == "log" or families.of(record) == families.LOGNORMAL
    return view | {
        "residual": packed(sums / np.maximum(counts, 1)),
        "residual_unit": f"log {unit}" if is_log else unit,
    }


def _gains(
    fits: Fits,
    mine: Sequence[int],
    cells: Sequence[Mapping],
    keys: Sequence[str],
    words: pd.DataFrame,
    endpoint: str,
    contents: Contents,
    label: str,
) -> dict[str, Any]:
    """Return contributions to ΔLogLik by word and by reader, and by the endpoint's cells."""
    single_endpoint = DEFAULT_ALONE if endpoint == CROSSED else endpoint
    parts = {
        n: contributions(fits.full_observations[n], fits.base_observations[n], single_endpoint)
        for n in mine
    }
    some = parts[mine[0]]
    gains = _by_lm(
        {n: part["delta_loglik"].to_numpy(float) for n, part in parts.items()}, cells, keys
    )
    for lm, values in zip(contents.lms, gains, strict=True):
        if values is None:
            contents.missing.append(f"{label}: {lm['label']} has no fit, or its model failed")
    word_id, n = some["word_id"].to_numpy(), len(words)
    view: dict[str, Any] = {
        "scored": packed(np.bincount(word_id, minlength=n)),
        "gain": [
            None
            if gain is None
            else packed(view_data.by_word(word_id, gain, n)[0], view_data.BY_WORD)
            for gain in gains
        ],
        "total": [None if gain is None else float(gain.sum()) for gain in gains],
        "noise": view_data.noise(word_id, gains),
        "likelihood": ENDPOINTS[single_endpoint].of,
        "readers": view_data.grouped(some["subject"].astype(str), gains, some["n"]),
    }
    names, slopes, unit = view["readers"]["names"], [], ""
    for lm in keys:
        by_lm = [
            view_data.reader_slopes(read_fit(fits.full[n]), names)
            for n in mine
            if cells[n]["lm"] == lm
        ]
        there = [gain for gain in by_lm if gain is not None]
        slopes.append(packed(np.mean([gain[0] for gain in there], axis=0)) if there else None)
        unit = there[0][1] if there else unit
    view["slopes"] = {"unit": unit, "values": slopes}
    if endpoint == CROSSED:
        view["crossed"] = _crossed_contributions(fits, mine, cells, keys, words)
    return view


def _crossed_contributions(
    fits: Fits,
    mine: Sequence[int],
    cells: Sequence[Mapping],
    keys: Sequence[str],
    words: pd.DataFrame,
) -> dict[str, Any]:
    """Return the endpoint's contributions by sentence, text and reader; it has none by word."""
    parts = {n: crossed_parts(fits.full_crossed[n], fits.base_crossed[n]) for n in mine}
    some = parts[mine[0]]
    gains = _by_lm(
        {n: part["delta_loglik"].to_numpy(float) for n, part in parts.items()}, cells, keys
    )
    first = words.drop_duplicates("sentence")
    texts = dict(zip(first["sentence"].astype(str), first["item"].astype(str), strict=True))
    unit, groups = some["sentence"].astype(str), {"likelihood": ENDPOINTS[CROSSED].of}
    groups["reader"] = view_data.grouped(some["subject"].astype(str), gains, some["n"])
    if not unit.isin(list(texts)).all():  # levels of a larger factor
        return groups | {"unit": view_data.grouped(unit, gains, some["n"])}
    groups["sentence"] = view_data.grouped(unit, gains, some["n"])
    return groups | {"text": view_data.grouped(unit.map(texts), gains, some["n"])}


def _by_lm(
    parts: Mapping[int, np.ndarray], cells: Sequence[Mapping], keys: Sequence[str]
) -> list[np.ndarray | None]:
    """Return the mean over an LM's training runs, or None if one has a non-finite value."""
    means = []
    for lm in keys:
        values = [part for n, part in parts.items() if cells[n]["lm"] == lm]
        mean = _mean(values)
        means.append(mean if mean is not None and np.isfinite(mean).all() else None)
    return means


def _ranking(
    delta_loglik: File, intervals: File, responses: Sequence[Mapping], keys: Sequence[str]
) -> list[dict]:
    """Return each LM's ΔLogLik with its interval, by response and (-1) over all responses."""
    frame = pd.read_csv(intervals, keep_default_na=False, na_values=[""], dtype={"lm": str})
    frame = frame[frame["kind"] == "own"] if len(frame) else pd.read_csv(delta_loglik)
    places = {_response(response): number for number, response in enumerate(responses)}
    several = len(places) > 1
    rows = []
    for row in frame.to_dict("records"):
        all_of_them = row["dataset"] == "all"
        response = -1 if all_of_them else places.get(_response(row))
        if row["lm"] in keys and response is not None and (several or not all_of_them):
            ends = {name: _number(row.get(name)) for name in ("low", "high")}
            rows.append(
                {"response": response, "lm": keys.index(row["lm"]), "n": int(row["n"])}
                | {"value": _number(row["delta_loglik"]), **ends}
                | {"by": row["by"] if isinstance(row.get("by"), str) else ""}
            )
    return rows


def _memory(half_life: File | None, keys: Sequence[str]) -> list[dict]:
    """Return each LM's measured half-life in words; a one-sided bound has no value."""
    if half_life is None:
        return []
    frame = pd.read_csv(half_life)
    ends = {"half_life": "half_life_words", "low": "half_life_low", "high": "half_life_high"}
    return [
        {"lm": keys.index(row["lm"])} | {key: _number(row[name]) for key, name in ends.items()}
        for row in frame.to_dict("records")
        if row["lm"] in keys
    ]


def _number(value: Any) -> float | None:
    """Return a finite number, or None for numbers that JSON cannot represent."""
    number = float(value) if value is not None else np.nan
    return number if np.isfinite(number) else None
