"""Size, power, bias and coverage of candidate endpoints of ΔLogLik, in simulated studies (docs/endpoint.md).

python benchmarks/endpoint.py [--processes 2] [--quick] [--out docs/endpoint]

Studies are simulated (recency.simulation.studies) with a default setting and with one factor at a
time changed. Every candidate (`endpoint_candidates`) ranks the same LMs in each study, and a claim
is judged by its interval as the verdict does (crosslmm.stats.claims). The folder gets
candidates.csv, tests.csv, and a figure and a table of them (`endpoint_views`). A stopped simulation
goes on with its next setting.
"""

import argparse
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import endpoint_candidates as candidates
import endpoint_views
import numpy as np
import pandas as pd
from endpoint_candidates import CANDIDATES, PER, TESTS
from endpoint_views import ALPHA, DEFAULT, INTERVALS

from crosslmm.stats.claims import leads
from crosslmm.stats.proportions import wilson
from readingtimes.progress import progress
from recency.figures.paths import File, write_csv
from recency.simulation.repeats import Finished, in_processes
from recency.simulation.studies import Settings

SIMULATION = {
    "closeness": {"a": 0.96, "b": 0.64},
    "readers": {"subjects": 30, "sentences": 60, "words": 12, "slope_sd": 0.5, "word_sd": 20},
    "vary": {
        "slope_sd": [0.15, 1, 1.5],
        "word_sd": [0],
        "subjects": [10, 90, 180],
        "responses": [3],
        "seeds": [3],
    },
    "repeats": 80,
    "draws": 40,
    "crossed_fixed": 15,
    "permutations": 999,
}
"""The settings of docs/endpoint.md."""
QUICK = {"vary": {"slope_sd": [1.5]}, "repeats": 4, "crossed_fixed": 1}
VARIED = ("subjects", "sentences", "slope_sd", "word_sd", "responses", "seeds")
COLUMNS = [
    *("setting", *VARIED, "baseline", "likelihood", "data", "interval", "repeats", "n"),
    *("delta_loglik_a", "delta_loglik_a_sd", "delta_loglik_a_bias", "delta_loglik_a_bias_se"),
    "coverage_delta_loglik_a",
    *("lead", "lead_sd", "separation", "lead_bias", "lead_bias_se", "coverage_lead"),
    *("size", "size_low", "size_high", "power", "power_low", "power_high", "reversed"),
]
TEST_COLUMNS = [
    *("setting", *VARIED, "test", "repeats"),
    *("size", "size_low", "size_high", "power", "power_low", "power_high"),
]


@dataclass(frozen=True)
class Setting:
    """A setting of the grid, and its number of simulated studies."""

    name: str
    settings: Settings
    repeats: int

    def columns(self) -> dict[str, Any]:
        """Return the setting's columns of the output."""
        values = asdict(self.settings)
        return {"setting": self.name} | {name: values[name] for name in VARIED}


def simulate_studies(
    out_candidates: File,
    out_tests: File,
    *,
    closeness: Mapping[str, float],
    readers: Mapping[str, Any],
    vary: Mapping[str, Sequence[float]],
    repeats: int,
    draws: int,
    permutations: int = 999,
    crossed_fixed: int = 0,
    seed: int = 0,
    processes: int = 1,
) -> None:
    """Write a row per setting, candidate and interval, and a row per setting and test.

    Parameters
    ----------
    out_candidates, out_tests
        CSV with COLUMNS and TEST_COLUMNS.
    closeness
        Correlation of LMs ``a`` and ``b`` with readers' expectations.
    readers
        The default setting: attributes of recency.simulation.studies.Settings.
    vary
        Other values of its attributes, one at a time.
    repeats
        Number of studies per setting; with several responses or seeds, which take proportionally
        longer, it is divided by their number.
    draws
        Draws of each crossed bootstrap.
    permutations
        Permutations of each test.
    crossed_fixed
        Number of the studies in which the baseline `fixed` is scored by the crossed bootstrap.
    seed
        Seed of all random numbers.
    processes
        Number of processes.
    """
    specification = {
        "closeness": dict(closeness), "readers": dict(readers),
        "vary": {name: [*values] for name, values in vary.items()},
        "repeats": repeats, "draws": draws, "permutations": permutations,
        "crossed_fixed": crossed_fixed, "seed": seed,
    }  # fmt: skip
    path = Path(out_candidates)
    finished = Finished(path.with_name(f".{path.stem}.state.jsonl"), specification)
    every = grid(readers, vary, repeats)
    left = [setting for setting in every if setting.name not in finished.results]
    shared = dict(closeness), seed, draws, permutations
    jobs = [
        (setting.settings, repeat, *shared, repeat < crossed_fixed)
        for setting in left
        for repeat in range(setting.repeats)
    ]
    results = in_processes(measured, jobs, processes)
    shown, done = progress(len(jobs), "endpoint", "studies"), 0
    for setting in left:
        studies = []
        for study in _first(results, setting.repeats):
            studies.append(study)
            done += 1
            shown.update(done, setting.name)
        rows, tests = summary(setting, studies), tested(setting, studies)
        finished.add(setting.name, {"candidates": rows, "tests": tests})
    for out, key, columns in (
        (out_candidates, "candidates", COLUMNS),
        (out_tests, "tests", TEST_COLUMNS),
    ):
        rows = [row for setting in every for row in finished.results[setting.name][key]]
        frame = pd.DataFrame(rows, columns=columns)
        write_csv(out, frame, float_format="%.6g")
    finished.remove()


def _first(results: Iterator[Any], many: int) -> Iterator[Any]:
    return (next(results) for _ in range(many))


def grid(
    readers: Mapping[str, Any], vary: Mapping[str, Sequence[float]], repeats: int
) -> list[Setting]:
    """Return the default setting, and the settings with one other value."""
    varied = {DEFAULT: {}} | {
        f"{name}={value:g}": {name: value} for name, values in vary.items() for value in values
    }
    every = {name: Settings(**{**readers, **changed}) for name, changed in varied.items()}
    return [
        Setting(name, settings, max(2, repeats // (settings.responses * settings.seeds)))
        for name, settings in every.items()
    ]


def measured(
    settings: Settings,
    repeat: int,
    closeness: Mapping[str, float],
    seed: int,
    draws: int,
    permutations: int,
    crossed_fixed: bool,
) -> dict[str, Any]:
    """Simulate a study; return the values needed for its summary.

    Returns
    -------
    dict
        ``scores``: by index in CANDIDATES, the ΔLogLik of a, and the leads of a over b and of b over
        c, each with its true value in nats per PER observations, and intervals by kind; ``p``: by
        pair the p values by test, and whether the first LM has the smaller errors.
    """
    study = candidates.run(settings, closeness, repeat, seed, draws, permutations, crossed_fixed)
    scores = {}
    for index, candidate in enumerate(CANDIDATES):
        if candidate not in study.scores:
            continue
        by_lm, truth = study.scores[candidate], study.truth[candidate.baseline, candidate.data]
        totals = {"delta_loglik_a": by_lm["a"]}
        totals |= {pair: by_lm[x] - by_lm[y] for pair, (x, y) in candidates.PAIRS.items()}
        scores[index] = {
            name: {
                "value": value.value,
                "ends": {k: candidates.ends(value, k) for k in INTERVALS[candidate.data]},
            }
            for name, value in totals.items()
        }
        scores[index]["delta_loglik_a"]["truth"] = truth["a"]
        scores[index]["lead"]["truth"] = truth["a"] - truth["b"]
        scores[index]["n"] = by_lm["a"].n
    return {"scores": scores, "p": study.p, "first_is_better": study.first_is_better}


def summary(setting: Setting, studies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows (COLUMNS) of a setting."""
    rows = []
    for index, candidate in enumerate(CANDIDATES):
        scored = [study["scores"][index] for study in studies if index in study["scores"]]
        if not scored:
            continue
        n = scored[0]["n"]
        row = setting.columns() | candidate._asdict() | {"repeats": len(scored), "n": n}
        for name in ("delta_loglik_a", "lead"):
            values = np.array([study[name]["value"] for study in scored])
            excess = values / n * PER - [study[name]["truth"] for study in scored]
            row |= {name: values.mean(), f"{name}_sd": _sd(values)}
            row |= {
                f"{name}_bias": excess.mean(),
                f"{name}_bias_se": _sd(excess) / math.sqrt(len(values)),
            }
        row["separation"] = row["lead"] / row["lead_sd"]
        for interval in INTERVALS[candidate.data]:
            total, lead, null = (
                [study[name]["ends"][interval] for study in scored]
                for name in ("delta_loglik_a", "lead", "null")
            )
            rows.append(
                row
                | {"interval": interval}
                | {
                    "coverage_delta_loglik_a": _share(
                        low <= row["delta_loglik_a"] <= high for low, high in total
                    )
                }
                | {"coverage_lead": _share(low <= row["lead"] <= high for low, high in lead)}
                | _chance("size", [low > 0 or high < 0 for low, high in null])
                | _chance("power", [leads(*ends) for ends in lead])
                | {"reversed": _share(leads(-high, -low) for low, high in lead)}
            )
    return [{name: _plain(row[name]) for name in COLUMNS} for row in rows]


def tested(setting: Setting, studies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows (TEST_COLUMNS) of a setting."""
    rows = []
    for test in TESTS:
        null = [study["p"]["null"][test] < ALPHA for study in studies]
        lead = [
            study["p"]["lead"][test] < ALPHA and study["first_is_better"]["lead"]
            for study in studies
        ]
        row = setting.columns() | {"test": test, "repeats": len(studies)}
        row |= _chance("size", null) | _chance("power", lead)
        rows.append({name: _plain(row[name]) for name in TEST_COLUMNS})
    return rows


def _chance(name: str, hits: Sequence[bool]) -> dict[str, float]:
    """Return the share of hits with its Wilson 95 % interval."""
    share = float(np.mean(hits))
    low, high = wilson(share, len(hits))
    return {name: share, f"{name}_low": min(low, share), f"{name}_high": max(high, share)}


def _share(hits: Iterator[bool]) -> float:
    return float(np.mean(list(hits)))


def _sd(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else math.nan


def _plain(value: Any) -> Any:
    """Return a number that JSON can represent."""
    return value.item() if isinstance(value, np.generic) else value


def main() -> None:
    """Simulate, and write the tables and the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--quick", action="store_true", help="half a minute: two settings, few studies"
    )
    parser.add_argument("--out", type=Path, default=Path("build/endpoint"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    files = [arguments.out / f"{name}.csv" for name in ("candidates", "tests")]
    settings = SIMULATION | (QUICK if arguments.quick else {})
    simulate_studies(*files, **settings, processes=arguments.processes)
    endpoint_views.write(*map(pd.read_csv, files), arguments.out)


if __name__ == "__main__":
    main()
