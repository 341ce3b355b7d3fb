"""The benchmark of plans: the plain Snakefile is as large as the plan that it stands beside."""

import pytest
import yaml

from project import planned, snakemake

pytestmark = pytest.mark.merge

PLAN = """Job stats:
job      count
-----  -------
all          1
fit          6
score        3
total       10

rule score:
    input: start
    output: a, b
"""


@pytest.fixture
def benchmark(load_benchmark, monkeypatch):
    module = load_benchmark("planning")
    monkeypatch.setattr(module, "snakemake", lambda *asked: snakemake(*asked).stdout)
    return module


def test_as_many_jobs_and_rules_and_nothing_to_be_done_once_finished(benchmark, tmp_path):
    plan = PLAN + "".join(f"rule fit:\n    input: a, b\n    output: c{n}, d{n}\n" for n in range(9))
    assert benchmark.write_plain(tmp_path, plan) == 10
    made = benchmark.snakemake(tmp_path, "-n")
    counts = planned(made)
    assert counts.pop("total") == sum(counts.values()) == 10
    assert len(counts) == 3 + 1  # and the rule that asks for all
    assert len(benchmark.paths(made, "output")) == 9 * 2  # as the plan's jobs have
    benchmark.finish(tmp_path)  # ends the test where something is left to do


def test_the_large_study_has_the_jobs_that_it_should(benchmark, tmp_path):
    benchmark.many_seeds(tmp_path / "large.yaml", 10_000)
    (experiment,) = yaml.safe_load((tmp_path / "large.yaml").read_text())["experiments"].values()
    fitted = len(experiment["seeds"]) * len(experiment["lms"])
    assert 10_000 <= fitted * sum(benchmark.JOBS.values()) < 10_000 + 4 * len(experiment["lms"])


def test_a_study_whose_files_are_all_there_has_nothing_to_do(benchmark, tmp_path):
    benchmark.copy_project(tmp_path / "study")
    benchmark.place(tmp_path / "study")
    # Ends the test where something is left to do.
    benchmark.finish(tmp_path / "study", "--config", "adopt=true")
