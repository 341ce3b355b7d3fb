"""Rule simulate_power: the smallest lead of an LM over another that 80 % of studies detect.

The simulated readers follow LM a's expectations more closely than LM b's
(recency.simulation.studies). Each study computes the lead, ΔLogLik of a minus that of b, by the
primary endpoint (recency.regression.crossed) and judges the claim that a is better by its interval,
as the verdict does (crosslmm.stats.claims).
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from crosslmm.stats import claims
from crosslmm.stats.crossed_samples import Scores
from crosslmm.stats.proportions import wilson
from readingtimes.progress import progress
from recency.figures.paths import File, write_csv
from recency.simulation.repeats import Finished, in_processes
from recency.simulation.studies import Settings, simulate
from recency.simulation.study_scores import (
    BASELINES,
    FULL,
    crossed_scores,
    observations,
    partition,
    total,
)

LMS = ("a", "b")
POWER = 0.8
PER = 1000
"""Number of observations to which leads are scaled."""
COLUMNS = [
    *("subjects", "sentences", "seeds", "responses", "repeats", "n", "delta_loglik_b"),
    *("lead", "lead_per_1000", "lead_relative", "se"),
    *("chance", "chance_low", "chance_high"),
    *("detectable", "detectable_per_1000", "detectable_relative"),
]


def main(
    out: File,
    *,
    subjects: Sequence[int],
    sentences: Sequence[int],
    seeds: Sequence[int],
    responses: int,
    closeness: Mapping[str, float],
    readers: Mapping[str, Any] | None = None,
    repeats: int = 40,
    draws: int = 50,
    seed: int = 0,
    processes: int = 1,
    name: str = "power",
    code: Mapping[str, str] | None = None,
) -> None:
    """Write a row of COLUMNS per number of subjects, sentences and seeds (CSV).

    Parameters
    ----------
    out
        The table.
    subjects, sentences, seeds
        Numbers of subjects and sentences of each response, and of training seeds of each LM.
    responses
        Number of responses, each with its own subjects and sentences.
    closeness
        Correlation of LMs ``a`` and ``b`` with readers' expectations.
    readers
        Other attributes of recency.simulation.studies.Settings.
    repeats
        Number of studies per number of subjects and sentences.
    draws
        Draws of each crossed bootstrap.
    seed
        Seed of all random numbers.
    processes
        Number of processes.
    name
        Name of this study of power in messages.
    code
        Fingerprints of the code; a stopped job resumes only with the same code.

    Notes
    -----
    The last lines of the log state the smallest lead that 80 % of studies would detect.
    """
    specification = {
        "subjects": [*subjects], "sentences": [*sentences], "seeds": [*seeds],
        "responses": responses, "closeness": dict(closeness), "readers": dict(readers or {}),
        "repeats": repeats, "draws": draws, "seed": seed, "code": dict(code or {}),
    }  # fmt: skip
    path = Path(out)
    finished = Finished(path.with_name(f".{path.stem}.state.jsonl"), specification)
    common = Settings(**{**(readers or {}), "responses": responses, "seeds": max(seeds)})
    sizes = list(product(subjects, sentences))
    left = [size for size in sizes if _part(size) not in finished.results]
    jobs = [
        (replace(common, subjects=n, sentences=m), dict(closeness), [*seeds], repeat, seed, draws)
        for n, m in left
        for repeat in range(repeats)
    ]
    results = in_processes(leads, jobs, processes)
    shown, done = progress(len(jobs), name, "studies"), 0
    for size in left:
        studies = []
        for _ in range(repeats):
            studies.append(next(results))
            done += 1
            shown.update(done, f"{size[0]} subjects, {size[1]} sentences")
        finished.add(_part(size), studies)
    rows = [
        {"subjects": size[0], "sentences": size[1], "seeds": many, "responses": responses}
        | summary([study[index] for study in finished.results[_part(size)]])
        for index, many in enumerate(seeds)
        for size in sizes
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    write_csv(out, table, float_format="%.6g")
    for line in sentences_of(table, name):
        print(line, flush=True)
        print(line, file=sys.stderr)
    finished.remove()


def _part(size: tuple[int, int]) -> str:
    return "{} subjects, {} sentences".format(*size)


def leads(
    settings: Settings,
    closeness: Mapping[str, float],
    seeds: Sequence[int],
    repeat: int,
    seed: int,
    draws: int,
) -> list[dict[str, float]]:
    """Simulate one study; return its lead for each number of training seeds.

    Returns
    -------
    list of dict
        lead, low, high and se (nats), delta_loglik_b (nats) and n, the number of observations.
    """
    random = np.random.default_rng([seed, settings.subjects, settings.sentences, repeat])
    totals: list[dict[str, Scores]] = [{} for _ in seeds]
    kept = partition(settings.subjects, settings.sentences) != 3
    every = slice(None)
    for number, response in enumerate(simulate(settings, closeness, random)):
        stream, baseline = (seed, f"{repeat}.{number}"), None
        for lm in LMS:
            by_seed = []
            for training in range(settings.seeds):
                scored = observations(response, lm, training, every, every, kept)
                cells = scored.cells(FULL)
                if baseline is None:
                    baseline = crossed_scores(scored.cells(BASELINES["all"]), draws, stream)[0]
                by_seed.append(crossed_scores(cells, draws, stream)[0] - baseline)
            for index, many in enumerate(seeds):
                scores = total(np.array(by_seed[:many]), cells.n, str(number))
                earlier = totals[index].get(lm)
                totals[index][lm] = scores if earlier is None else earlier + scores
    leads_by_seeds = []
    for by_lm in totals:
        lead = by_lm["a"] - by_lm["b"]
        ends = lead.ends()
        row = {"lead": lead.value} | {name: ends[name] for name in ("low", "high", "se")}
        leads_by_seeds.append(row | {"delta_loglik_b": by_lm["b"].value, "n": lead.n})
    return leads_by_seeds


def summary(studies: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the results of studies of one size, without the size.

    The detectable lead is that by which the simulated ones have to be raised, or may be lowered, for
    80 % of the studies to detect theirs: whose interval is above 0. Relative values are shares of b's
    mean ΔLogLik, NaN where it is not positive.
    """
    frame = pd.DataFrame(studies)
    mean = frame.mean()
    lacking = (frame.high - frame.low) / 2 - (frame.lead - mean.lead)
    detectable = float(np.quantile(lacking, POWER))
    hits = [claims.leads(low, high) for low, high in zip(frame.low, frame.high, strict=True)]
    chance = float(np.mean(hits))
    low, high = wilson(chance, len(hits))
    row = {"repeats": len(frame), "n": int(mean.n), "delta_loglik_b": mean.delta_loglik_b}
    row |= {"se": mean.se, "chance": chance}
    row |= {"chance_low": min(low, chance), "chance_high": max(high, chance)}
    for name, value in (("lead", mean.lead), ("detectable", detectable)):
        row[name] = value
        row[f"{name}_per_1000"] = value / mean.n * PER
        positive = mean.delta_loglik_b > 0
        row[f"{name}_relative"] = value / mean.delta_loglik_b if positive else math.nan
    return row


def sentences_of(table: pd.DataFrame, name: str) -> Iterable[str]:
    """Yield a sentence per row: the detectable lead, and the share of studies that detect theirs."""
    for _, row in table.iterrows():
        seeds = f"{row.seeds:.0f} seed{'s' if row.seeds > 1 else ''}"
        responses = f"{row.responses:.0f} response{'s' if row.responses > 1 else ''}"
        share = f"{100 * row.detectable_relative:.0f} % of LM b's ΔLogLik"
        if math.isnan(row.detectable_relative):
            share = "LM b's ΔLogLik is not positive"
        yield (
            f"{name}: {row.subjects:.0f} subjects, {row.sentences:.0f} sentences, {responses}, "
            f"{seeds}: {100 * POWER:.0f} % of such studies detect a lead of {row.detectable:.1f} "
            f"nats ({row.detectable_per_1000:.2f} per {PER:,} observations, {share}); "
            f"{100 * row.chance:.0f} % of the simulated studies detect their lead of "
            f"{row.lead:.1f} nats"
        )
