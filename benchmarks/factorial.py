"""Experiments with items and conditions: size and power of claims about LMs, by endpoint and design.

python benchmarks/factorial.py [--repeats 60] [--draws 100] [--quick] [--out FILE]

Readers' times depend on the expectations of one LM, whose surprisal differs between the conditions of an item.
LM `a` is close to it, `b` is further away, and `c` is as close as `a`. Each study is judged by endpoints:

crossed, stimuli    the primary endpoint: a stimulus is drawn and left out with all its conditions
crossed, versions   the same, with the conditions of a stimulus drawn as if they were independent
conditional         the exploratory partition by the fit to the fit partition, resampled by subject or version

Power is the share of studies in which the 95 % interval of a − b lies above 0, size that in which the interval of
a − c excludes 0 (nominal 5 %), coverage that in which the interval of a − b has the mean over studies. The table
is docs/endpoint/factorial.csv; it is written after each setting, and settings that are in it are not run again.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import checkout
import numpy as np
import pandas as pd
from scipy import stats

checkout.use()

from crosslmm import lmer
from crosslmm.factors import Levels
from crosslmm.formula import parse
from crosslmm.stats.bootstrap import interval
from crosslmm.stats.crossed_samples import Scores, Tables
from recency.reading.observations import partition
from recency.regression import crossed
from recency.regression.covered_endpoints import NotCrossed
from recency.regression.predictors import Rows

LMS = {"a": 0.95, "b": 0.75, "c": 0.95}
"""LM → correlation of its surprisal with that of the readers, within items."""
RANDOM = "(1 + surprisal | subject) + (1 | {})"
PAIRS = ("ab", "ac")
ENDPOINTS = ("crossed, stimuli", "crossed, versions", "conditional")


@dataclass(frozen=True)
class Setting:
    """A design of `items` × `conditions`, read by `readers`."""

    readers: int = 48
    items: int = 48
    conditions: int = 2
    latin: bool = True
    """each reader reads an item in one condition"""
    regions: int = 1
    """words with a response, of each text"""
    effect: float = 6.0
    """ms per bit"""
    item_sd: float = 25.0
    """of items, ms"""


def settings() -> list[Setting]:
    """Return the settings, one property changed at a time."""
    base = Setting()
    changes = [{}, {"items": 12}, {"items": 24}, {"items": 108}, {"items": 216, "readers": 24}]
    changes += [{"readers": 24}, {"readers": 108}, {"readers": 216, "items": 24}]
    changes += [{"conditions": 3}, {"conditions": 4}, {"latin": False}, {"regions": 3}]
    changes += [{"latin": False, "conditions": 4, "items": 24}, {"effect": 0.0}, {"item_sd": 80.0}]
    return [replace(base, **change) for change in changes]


WITH_VERSIONS = [Setting(), Setting(conditions=3), Setting(conditions=4), Setting(latin=False)]
"""Settings in which versions are drawn too."""


def study(setting: Setting, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the observations (reader, stimulus, version, word, ms), and the words' surprisals."""
    random = np.random.default_rng([seed, *(int(10 * v) for v in asdict(setting).values())])
    I, C, R, P = setting.items, setting.conditions, setting.readers, setting.regions
    condition = np.linspace(-2.5, 2.5, C)[:, None]
    true = 8 + condition + random.normal(0, 1.5, (I, C, P))
    words = pd.DataFrame(
        {
            "stimulus": np.repeat(np.arange(I), C * P),
            "version": np.repeat(np.arange(I * C), P),
            "true": true.ravel(),
        }
    )
    spread = true.std()
    for lm, r in LMS.items():
        noise = random.normal(0, spread * np.sqrt(1 / r**2 - 1), true.shape)
        words[lm] = (true + noise).ravel()
    word, reader = words.index.to_numpy(), np.arange(R)
    of_condition = (words.version - words.stimulus * C).to_numpy()
    read = np.ones((R, len(word)), dtype=bool)
    if setting.latin:
        read = (reader[:, None] + words.stimulus.to_numpy()) % C == of_condition
    subject, word = np.nonzero(read)
    slopes = setting.effect + random.normal(0, 2, R)
    ms = 350 + random.normal(0, 40, R)[subject]
    ms += random.normal(0, setting.item_sd, I)[words.stimulus.to_numpy()[word]]
    ms += slopes[subject] * (words.true.to_numpy()[word] - 8)
    ms += random.normal(0, 80, len(ms))
    frame = words.loc[word, ["stimulus", "version"]].reset_index(drop=True)
    return frame.assign(subject=subject, word=word, ms=ms), words


def crossed_cells(frame: pd.DataFrame, words: pd.DataFrame, unit: str, draws: int) -> dict:
    """Return LM → ΔLogLik with its sums, by the crossed bootstrap of subjects and `unit`."""
    groups = {
        name: Levels(frame[column].to_numpy(), [str(k) for k in range(frame[column].max() + 1)])
        for name, column in (("subject", "subject"), ("sentence", unit))
    }
    tables = {}
    for lm in (None, *LMS):
        full = f"time_ms ~ surprisal + {RANDOM.format('sentence')}"
        formula = parse(full if lm else "time_ms ~ 1 + (1 | subject) + (1 | sentence)")
        values = {} if lm is None else {"surprisal": stats.zscore(words[lm])[frame.word]}
        rows = Rows(values, frame.ms.to_numpy(), groups, frame.word.to_numpy())
        tables[lm] = crossed.scores(formula, rows, values, draws, name="study")
    return collect_gains(tables)


def collect_gains(tables: dict[str | None, pd.DataFrame]) -> dict[str, Scores]:
    """Return LM → ΔLogLik with its sums, from the scores of each LM and of the baseline (None)."""
    collected, base = Tables(), tables[None]
    for lm, table in tables.items():
        if lm is not None:
            gains = table[["subject", "n"]].assign(
                sentence=table.unit, delta_loglik=table.loglik - base.loglik
            )
            collected.add((lm, "times"), "study", gains)
    return {lm: scores for (lm, _), scores in collected.scores().items()}


def conditional_gains(setting: Setting, frame: pd.DataFrame, words: pd.DataFrame) -> pd.DataFrame:
    """Return ΔLogLik of each LM for the observations of the exploratory partition."""
    divided = frame.assign(
        sentence=frame.version, condition=frame.version - setting.conditions * frame.stimulus
    )
    part = partition(divided[["subject", "sentence", "stimulus", "condition"]])
    fit, left = frame[part == "fit"], frame[part == "exploratory"]
    loglik = {}
    for lm in (None, *LMS):
        terms = f"surprisal + {RANDOM}" if lm else "1 + (1 | subject) + (1 | {})"
        values = stats.zscore(words[lm]) if lm else np.zeros(len(words))
        given = [rows.assign(surprisal=values[rows.word]) for rows in (fit, left)]
        model = lmer(f"ms ~ {terms.format('stimulus')}", given[0], engine="search")
        loglik[lm] = stats.norm.logpdf(left.ms, model.predict(given[1]), model.sigma)
    gains = {lm: loglik[lm] - loglik[None] for lm in LMS}
    return left[["subject", "version"]].assign(**gains)


def differences(setting: Setting, draws: int, seed: int) -> list[dict]:
    """Return estimate and interval of a − b and a − c by each endpoint, of one study."""
    frame, words = study(setting, seed)
    rows = []
    for endpoint, unit in zip(ENDPOINTS, ("stimulus", "version", None), strict=True):
        if unit == "version" and setting not in WITH_VERSIONS:
            continue
        try:
            ends = (
                by_partition(setting, frame, words)
                if unit is None
                else by_draws(frame, words, unit, draws)
            )
        except NotCrossed:
            ends = dict.fromkeys(PAIRS, (np.nan, np.nan, np.nan))
        for pair, (value, low, high) in ends.items():
            rows.append(
                {"endpoint": endpoint, "pair": pair, "value": value, "low": low, "high": high}
            )
    return rows


def by_draws(frame: pd.DataFrame, words: pd.DataFrame, unit: str, draws: int) -> dict[str, tuple]:
    """Return pair → difference and the ends of its interval, by the crossed bootstrap."""
    scores = crossed_cells(frame, words, unit, draws)
    leads = {pair: scores[pair[0]] - scores[pair[1]] for pair in PAIRS}
    ends = {pair: lead.ends() for pair, lead in leads.items()}
    return {pair: (leads[pair].value, e["low"], e["high"]) for pair, e in ends.items()}


def by_partition(setting: Setting, frame: pd.DataFrame, words: pd.DataFrame) -> dict[str, tuple]:
    """Return the same on the exploratory partition: the wider of the intervals by subject and version."""
    gains, found = conditional_gains(setting, frame, words), {}
    for pair in PAIRS:
        lead = (gains[pair[0]] - gains[pair[1]]).to_numpy()
        both = [interval(lead, gains[by].to_numpy()) for by in ("subject", "version")]
        low, high = max(both, key=lambda ends: ends[1] - ends[0])
        found[pair] = lead.sum(), low, high
    return found


def table(setting: Setting, rows: pd.DataFrame) -> list[dict]:
    """Return power, size and coverage by endpoint."""
    result = []
    for endpoint in ENDPOINTS:
        mine = rows[rows.endpoint == endpoint].dropna(subset=["low"])
        if mine.empty:
            continue
        ab, ac = mine[mine.pair == "ab"], mine[mine.pair == "ac"]
        mean = ab.value.mean()
        result.append(
            asdict(setting)
            | {"endpoint": endpoint, "studies": len(ab), "lead": mean}
            | {"lead_over_sd": mean / ab.value.std(ddof=1)}
            | {"power": (ab.low > 0).mean(), "size": ((ac.low > 0) | (ac.high < 0)).mean()}
            | {"coverage": ((ab.low < mean) & (ab.high > mean)).mean()}
        )
    return result


def main() -> None:
    """Simulate, print and store the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=60, help="studies of each setting")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="a minute: two settings, few studies")
    parser.add_argument("--out", type=Path, help="the CSV to write, after each setting")
    arguments = parser.parse_args()
    chosen = [Setting(16, 16), Setting(16, 16, latin=False)] if arguments.quick else settings()
    repeats, draws = (4, 60) if arguments.quick else (arguments.repeats, arguments.draws)
    stored = arguments.out is not None and arguments.out.exists()
    rows = pd.read_csv(arguments.out).to_dict("records") if stored else []
    done = [Setting(**{key: row[key] for key in asdict(Setting())}) for row in rows]
    chosen = [setting for setting in chosen if setting not in done]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for setting in chosen:
            drawn = pool.map(partial(differences, setting, draws), range(repeats))
            made = table(setting, pd.DataFrame([row for study in drawn for row in study]))
            rows += made
            print(pd.DataFrame(made).round(2).to_string(index=False), flush=True)
            if arguments.out:
                pd.DataFrame(rows).to_csv(arguments.out, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
