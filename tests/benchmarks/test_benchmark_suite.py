"""The benchmark of the tests: it runs those that are named and reports what takes the time."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def benchmark(load_benchmark, monkeypatch):
    module = load_benchmark("suite")
    return module


@pytest.mark.merge
def test_every_figure_is_printed(benchmark, monkeypatch, capfd):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    monkeypatch.setitem(benchmark.COMMANDS, "test", command)
    monkeypatch.setattr(benchmark.os, "sched_setaffinity", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["suite.py", "--cores", "2", "tests/text/test_words.py"])
    benchmark.main()
    result = json.loads(capfd.readouterr().out.splitlines()[-1])
    metrics = result["metrics"]
    assert result["named"] == ["tests/text/test_words.py"] and metrics["tests"] > 1
    assert metrics["of_text"] >= metrics["longest_test"] >= 0
    assert metrics["seconds"] > 0 and metrics["processor_seconds.tests"] > 0
    whole = metrics["processor_seconds_of_all"]
    assert metrics["seconds_at_full_use"] == pytest.approx(whole / 2, abs=0.01)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("/x/python -m pytest --numprocesses 4", "tests"),
        ("/x/python -u -c import sys;exec(eval(sys.stdin.readline()))", "tests"),
        ("/x/python -c from multiprocessing.forkserver import main; main(4)", "snakemake"),
        ("/x/python -m snakemake --cores 2", "snakemake"),
        ("/x/python /y/tests/job_server.py /y/socket", "jobs"),
        ("/x/python /y/.snakemake/scripts/tmp1.train.py", "jobs"),
        ("/usr/lib/gcc/cc1plus -quiet", "compilers"),
        ("/usr/lib/R/bin/exec/R --vanilla", "other"),
    ],
)
def test_kinds_of_processes(benchmark, words, expected):
    assert benchmark.kind(words) == expected
