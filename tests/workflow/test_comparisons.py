"""Which pairs of LMs are tested on the held-out partition, and which intervals are asked for."""

from pathlib import Path

import yaml

from project import TINY, load, merged
from recency.workflow.plan import regressions
from recency.workflow.plan.study import Study

CHANGES = """
run: [asked]
experiments:
  asked:
    title: Pairs
    lms: [Pythia, ALiBi-mix-I, ALiBi-mix-TI, dVM-I]
    baseline: Pythia
    responses: {spr: [simulated_spr.SPR]}
    compare: [[ALiBi-mix-TI, dVM-I], [Pythia, dVM-I], [dVM-I, ALiBi-mix-TI]]
  seeded:
    title: Seeds
    lms: [Pythia, ALiBi-mix-TI]
    baseline: Pythia
    responses: {spr: [simulated_spr.SPR]}
    seeds: [1, 2]
"""


def study(**changes):
    config = merged(load(*TINY), yaml.safe_load(CHANGES))
    return Study(merged(config, changes), Path(), dry_run=True)


def pairs(study, experiment):
    return [(a, b) for _, a, b in regressions.comparisons(study, experiment)]


def test_every_lm_is_tested_against_the_baseline_and_compare_adds_pairs():
    assert pairs(study(), "asked") == [
        ("ALiBi-mix-I", "Pythia"),
        ("ALiBi-mix-TI", "Pythia"),
        ("dVM-I", "Pythia"),
        ("ALiBi-mix-TI", "dVM-I"),
    ]


def test_seeds_have_baselines_of_their_own():
    seeded = study()
    assert regressions.baselines(seeded, "seeded") == {
        "Pythia": "Pythia",
        "Pythia@seed=2": "Pythia@seed=2",
        "ALiBi-mix-TI": "Pythia",
        "ALiBi-mix-TI@seed=2": "Pythia@seed=2",
    }
    assert pairs(seeded, "seeded") == [
        ("ALiBi-mix-TI", "Pythia"),
        ("ALiBi-mix-TI@seed=2", "Pythia@seed=2"),
    ]


def test_without_a_held_out_partition_nothing_is_tested():
    whole = study(datasets={"simulated_spr": {"partitioned": False}})
    assert pairs(whole, "asked") == []
