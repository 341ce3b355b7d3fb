"""Where the time of a study went: benchmark files of every kind of job, in a table."""

from pathlib import Path

from project import ROOT
from recency.evaluations.report import page
from recency.workflow.plan import costs

HEAD = "s\th:m:s\tmax_rss\tmean_load\tcpu_time\n"


def test_times_are_added_up_by_kind(tmp_path):
    for name, rows in {
        "surprisal/a/provo_and_2_more": "10\t0:00:10\t300\t1\t8",
        "surprisal/b/brown": "30\t0:00:30\t500\t1\t22",
        "summary": "1\t0:00:01\t-\t-\t-",
        "regression/x/a.full": "5\t0:00:05\t100\t1\t10",
    }.items():
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{HEAD}{rows}\n")
    found = costs.read(tmp_path)
    assert found[:2] == [
        costs.Timings("surprisal", 2, 30, 40, 500),
        costs.Timings("regression", 1, 10, 5, 100),
    ]
    assert found[2] == costs.Timings("summary", 1, 0, 1, 0)
    table = costs.timing_lines(found, "results/x")
    assert table[2].split() == ["surprisal", "2", "30", "40", "500", "75.0%"]
    assert table[-1].split() == ["all", "4", "40", "46", "500", "100.0%"]
    assert costs.timing_lines([], "results/x") == ["no job of results/x has finished yet"]


def test_every_job_of_a_run_leaves_its_time(finished):
    """Each log has a benchmark beside it, and the report links to the table."""
    results = finished / "results" / "tiny" / "cores"
    logs = {path.relative_to(results / "logs").with_suffix("") for path in results.rglob("*.log")}
    times = (results / "benchmarks").rglob("*.tsv")
    assert logs == {path.relative_to(results / "benchmarks").with_suffix("") for path in times}
    assert page.TIMINGS == costs.FILE
    table = (results / costs.FILE).read_text().splitlines()
    assert table == costs.timing_lines(costs.read(results / "benchmarks"), "results/tiny/cores")
    assert {"train", "surprisal", "regression", "figure_perplexity"} <= {
        line.split()[0] for line in table if line
    }


def test_the_command_is_documented():
    for name in ("run", "docs/studies.md"):
        assert "./run timings" in Path(ROOT, name).read_text()
