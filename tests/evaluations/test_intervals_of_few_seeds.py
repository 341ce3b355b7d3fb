"""Intervals of measures of LMs with few training seeds, by simulation."""

import numpy as np
import pandas as pd
import pytest

from recency.evaluations.context_information import view as information
from recency.evaluations.measured_memory import half_life
from recency.evaluations.serial_position import view as serial_position

UNITS, MEAN = 12, 50.0


def of_surprisal(seeds, number):
    tables = [pd.DataFrame({"place": range(UNITS), "kept": 9, "bits": bits}) for bits in seeds]
    row = information.beyond(tables, seed=number).iloc[-1]
    return row["low"], row["high"]


def of_changes(seeds, number):
    columns = {"place": range(UNITS), "distance": 1}
    tables = [pd.DataFrame(columns | {"change_bits": bits}) for bits in seeds]
    memory = half_life.measured(*tables, seed=number)
    return memory.low[0], memory.high[0]


def of_lists(seeds, number):
    index = pd.MultiIndex.from_product(
        [[7], range(UNITS), [True, False], range(1, 8)], names=serial_position.READ[:4]
    )
    table = index.to_frame(index=False).assign(recalled=np.nan)
    tables = [table.assign(recognized=percent[table["list"]]) for percent in seeds]
    curve, summary = serial_position.curves(tables, number)
    ends = summary.mean_low[0], summary.mean_high[0]
    assert (curve.low[0], curve.high[0]) == pytest.approx(ends)
    return ends


@pytest.mark.merge
@pytest.mark.parametrize("interval", [of_surprisal, of_changes, of_lists])
def test_intervals_of_two_seeds_cover_the_true_value(interval):
    """Seeds vary most; resampling the two seeds would cover 52 %."""
    random, covered, repeats = np.random.default_rng(1), 0, 300
    for number in range(repeats):
        units = random.normal(MEAN, 1, UNITS)
        seeds = units + random.normal(0, 2, (2, 1)) + random.normal(0, 0.3, (2, UNITS))
        low, high = interval(seeds, number)
        covered += low < MEAN < high
    assert 0.92 <= covered / repeats <= 0.99


def test_intervals_of_percentages_and_absolute_changes_have_possible_values_only():
    seeds = np.array([[1.0], [9.0]]) + np.zeros(UNITS)
    assert of_changes(seeds, 0)[0] == 0 and of_changes(seeds, 0)[1] > 9
    assert of_lists(seeds * 10, 0) == (0, 100)
