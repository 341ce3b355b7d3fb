"""The rehearsal of the papers' studies: its extrapolation, its stand-ins, its stored table."""

import json

import pytest

from project import ROOT, load


@pytest.mark.parametrize(
    ("power", "least", "taken"), [(1.0, 0.0, 1.0), (0.62, 0.0, 0.62), (0.5, 1.0, 1.0), (3, 0, 1.2)]
)
def test_growth_is_extrapolated_by_its_power(load_benchmark, power, least, taken):
    """Through the largest two of three sizes; no faster than N^1.2, and for times never below N."""
    sizes = [1_000, 4_000, 16_000]
    values = [5 + 0.01 * size**power for size in sizes]
    found = load_benchmark("rehearsal").extrapolated(sizes, values, 1e6, least)
    slope = (values[2] - values[1]) / (16_000**taken - 4_000**taken)
    assert found == pytest.approx(values[2] + slope * (1e6**taken - 16_000**taken))


def test_what_does_not_grow_stays(load_benchmark):
    assert load_benchmark("rehearsal").extrapolated([1, 4, 16], [240, 242, 241], 1e9) == 242


def test_only_networks_are_made_small(load_benchmark):
    overlay = load_benchmark("stand_ins").overlay(load())
    changed = {"study", "scales", "architectures", "recipes", "tokenizers", "unigrams"}
    changed |= {"fine_tuning", "probe", "searches", "experiments"}
    assert overlay.keys() == changed
    assert {"measured_memory"} == {key for each in overlay["experiments"].values() for key in each}
    assert all(recipe["device"] == "cpu" for recipe in overlay["recipes"].values())


def test_the_stored_rehearsal_has_no_fault(load_benchmark):
    """And the page has its table."""
    stored = sorted((ROOT / "benchmarks" / "results").glob("rehearsal.*.json"))
    if not stored:
        pytest.skip("no rehearsal of all studies is stored yet")
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    tables = []
    for path in stored:
        metrics = json.loads(path.read_text(encoding="utf-8"))["metrics"]
        assert metrics["failed"] == 0 and metrics["faults"] == []
        assert metrics["least_margin"] >= 1.5 and len(metrics["rules"]) > 100
        tables.append(load_benchmark("rehearsal").markdown(metrics["rules"]))
    assert any(table in page for table in tables)
