"""The display of a run: its state and terminal, and the logger plugin."""

import io
import logging
import os
import re
import subprocess
import sys
import time

import pytest

import snakemake_logger_plugin_recency as plugin
from project import SOURCES, snakemake
from readingtimes import progress
from recency.workflow.engine import run_status
from snakemake_logger_plugin_recency.terminal import Terminal

JOBS = {1: ("training", 600.0), 2: ("surprisal", 20.0), 3: ("surprisal", 20.0), 4: ("other", 10.0)}


def record(message="", level=logging.INFO, **extra):
    made = logging.LogRecord("snakemake", level, "", 0, message, (), None)
    made.__dict__ |= extra
    return made


def starts(number, rule, *wildcards, log=(), output=(), threads=1, ago=0.0):
    made = record(
        event="job_info", jobid=number, rule_name=rule, wildcards=dict(enumerate(wildcards)),
        log=[*map(str, log)], output=[*map(str, output)], threads=threads,
    )  # fmt: skip
    made.created -= ago
    return made


@pytest.fixture
def status(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return run_status.RunStatus(JOBS, 2, "full.log")


def test_jobs_are_counted_by_kind(status, tmp_path):
    (tmp_path / "fit.log").write_text("some line\nerror: words.csv, line 3: no time; add one\n")
    status.take(starts(2, "surprisal_of_provo", "Pythia"))
    status.take(record(event="job_finished", job_id=2))
    status.take(starts(1, "train", "Pythia"))
    status.take(starts(3, "surprisal", "Pythia", "ucl", log=["fit.log"]))
    failure = {"event": "job_error", "jobid": 3, "rule_name": "surprisal", "log": ["fit.log"]}
    status.take(record(level=logging.ERROR, **failure))
    status.take(starts(9, "all"))  # stands for others
    state = status.state()
    table = {kind.pop("kind"): tuple(kind.values()) for kind in state["kinds"]}
    keys = ("jobs", "done", "running", "failed", "left")
    assert tuple(state["kinds"][0]) == keys
    assert table == {
        "training": (1, 0, 1, 0, 0),
        "surprisal": (2, 1, 0, 1, 0),
        "other": (1, 0, 0, 0, 1),
    }
    assert [job["name"] for job in state["jobs"]] == ["train Pythia"]
    reason = "error: words.csv, line 3: no time; add one"
    assert state["failures"] == [{"name": "surprisal Pythia ucl", "log": "fit.log", "line": reason}]
    status.take(starts(3, "surprisal", "Pythia", "ucl"))  # a second attempt succeeds
    status.take(record(event="job_finished", job_id=3))
    assert status.state()["failures"] == []


@pytest.mark.parametrize(
    ("done", "records", "outcome"),
    [
        ((1, 2, 3, 4), [], "finished"),
        ((1, 2), [], "stopped"),
        ((1, 2), [record("Terminating processes on user request, this")], "stopped"),
        ((1, 2, 3, 4), [record("refused", logging.ERROR, event="error")], "failed"),
        ((1,), [record(event="job_error", jobid=2, rule_name="surprisal", log=[])], "failed"),
    ],
)
def test_the_end_of_a_run_says_how_it_ended(status, done, records, outcome):
    for number in done:
        status.take(record(event="job_finished", job_id=number))
    for each in records:
        status.take(each)
    assert status.state()["state"] == "running"
    status.end(time.time())
    state = status.state()
    assert state["state"] == outcome and state["left_s"] is None
    assert run_status.headline(state).startswith(outcome.capitalize())


def test_the_time_left_follows_the_runs_own_speed(status, tmp_path):
    assert status.state()["left_s"] == pytest.approx(650 / 2, abs=1)
    status.started -= 100.0  # 100 s for the 20 that were expected, on 2 cores
    status.take(record(event="job_finished", job_id=2))
    assert status.state()["left_s"] == pytest.approx(630 / 0.2, rel=0.02)
    (tmp_path / "train.log").write_text("train Pythia:  5%, 9,391 tokens/s, 1:30:05 left, loss 5\n")
    status.take(starts(1, "train", "Pythia", log=["train.log"]))
    assert status.state()["left_s"] == 5405  # as the training itself says


def test_a_training_has_its_last_line(status, tmp_path):
    log = tmp_path / "train.log"
    log.write_text("begins\ntrain Pythia:  5%, loss 5.1\n")
    status.take(starts(1, "train", "Pythia", log=[log], output=["lms/Pythia/training.csv"]))
    status.take(starts(2, "surprisal", "Pythia", log=[log]))
    first, *rows = run_status.table(status.state())
    assert "0 of 4 jobs done, 2 running" in first
    assert [row.strip() for row in rows][-1] == "train Pythia:  5%, loss 5.1" and len(rows) == 4


class Screen(io.StringIO):
    """A terminal: its lines after what was written, by the few controls that Terminal uses."""

    def isatty(self):
        return True

    def shown(self):
        rows, y, x = [""], 0, 0
        for part in re.findall(r"\x1b\[\d*[A-Z]|[\r\n]|[^\x1b\r\n]+", self.getvalue()):
            if part.endswith("J") and part[0] == "\x1b":
                rows[y:] = [rows[y][:x]]
            elif part[0] == "\x1b":
                y -= int(part[2:-1])
            elif part == "\r":
                x = 0
            elif part == "\n":
                y, x = y + 1, 0
                rows += [""] * (y + 1 - len(rows))
            else:
                rows[y] = rows[y][:x].ljust(x) + part + rows[y][x + len(part) :]
                x += len(part)
        return rows


def test_lines_are_written_over_and_messages_of_jobs_stay(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    terminal = Terminal(screen)
    for n in range(4):
        terminal.show([f"{n} of 3 jobs", "  training", "  other\x1b[2J"], "")
        if n == 1:
            screen.write("error: from a job, which knows of no lines\n")
    rows = screen.shown()
    assert [row for row in rows if "of 3 jobs" in row] == ["3 of 3 jobs"]
    assert any(row.startswith("error: from a job, which knows of no lines") for row in rows)
    assert not any("[2J" in row and "\ufffd" not in row for row in rows)
    terminal.say("Finished")
    assert [row for row in screen.shown() if row][-1] == "Finished"


def test_without_a_terminal_there_is_a_line_a_minute(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    terminal = Terminal(stream)
    for _ in range(130):
        terminal.show(["several", "lines"], "one line")
        clock[0] += 1.0
    assert stream.getvalue() == "one line\n" * 3


def test_the_plugin_leaves_the_choice_of_the_package_to_the_snakefile():
    plugins = "snakemake_executor_plugin_recency, snakemake_logger_plugin_recency"
    code = f"import sys, {plugins}; sys.exit('recency' in sys.modules)"
    subprocess.run(
        [sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": SOURCES}
    )
    assert plugin.QUIET == progress.IN_LOG


def test_progress_is_in_the_log_alone_under_the_plugin(monkeypatch, capsys):
    for variables, expected in (({}, 1), ({progress.IN_LOG: "1"}, 0)):
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            shown = progress.progress(10, "train x", "tokens", every=0.0)
            shown.update(1)
        printed = capsys.readouterr()
        assert printed.out.count("train x:") == expected and printed.err.count("train x:") == 1


SNAKEFILE = """
import os
import sys
from pathlib import Path

sys.path[:0] = "SRC".split(os.pathsep)
from recency.workflow.engine import run_status
from snakemake.logging import logger

onstart:
    jobs = {workflow.dag.jobid(job): (job.rule.name, 1.0) for job in workflow.dag.needrun_jobs()
            if job.rule.name != "all"}
    status = run_status.RunStatus(jobs, 2, log[0])
    logger.info("To make: all of it", extra={"run_status": status})

rule all:
    input: "good", "after"

rule good:
    output: "good"
    log: "good.log"
    shell: "touch {output}"

rule after:
    input: "good"
    output: "after"
    log: "after.log"
    shell: "echo 'error: words.csv: no words; add some' > {log}; [ -e allowed ] && touch {output}"
"""


@pytest.mark.merge
def test_a_run_is_quiet_and_its_failures_are_not(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("SRC", SOURCES))
    arguments = ("--nolock", "--logger=recency", "--show-failed-logs")
    run = snakemake(tmp_path, *arguments)
    assert run.returncode == 1
    assert "rule good:" not in run.stdout and "Select jobs" not in run.stdout
    assert "Error in rule after:" in run.stdout and "error: words.csv: no words" in run.stdout
    assert re.search(r"(?m)^Failed: 1 of 2 jobs done in .*; failed: after; full log: ", run.stdout)
    (log,) = (tmp_path / ".snakemake" / "log").iterdir()
    assert str(log) in run.stdout and "rule good:" in log.read_text()
    (tmp_path / "allowed").touch()
    run = snakemake(tmp_path, *arguments)
    assert run.returncode == 0, run.stdout
    assert re.search(r"(?m)^Finished: 1 of 1 jobs done in", run.stdout)
    assert len(run.stdout.splitlines()) <= 6, run.stdout
    assert "Nothing to be done" in snakemake(tmp_path, *arguments).stdout
    assert "rule after:" in snakemake(tmp_path, *arguments, "-n", "--forceall").stdout
    plan = snakemake(tmp_path, *arguments, "-n", "--forceall", "--quiet=rules").stdout
    assert plan.count("Job stats:") == 1 and re.search(r"(?m)^after +1$", plan)
    assert "rule after:" not in plan and "Host:" not in plan and "Reasons:" not in plan
    assert "rule after:" in snakemake(tmp_path, *arguments, "-p", "--forceall").stdout
