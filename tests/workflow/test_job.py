"""What a job, and a run, say when a machine refuses something or a signal ends a job."""

import errno
import logging
import resource
import sys

import numpy as np
import pytest

import faulty
from project import TINY, snakemake
from recency.errors import InputError
from recency.workflow.engine import start
from recency.workflow.engine.job import logged, refused


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            OSError(errno.ENOSPC, "no space", "a.csv"),
            "^a.csv: the disk is full; free some space, then",
        ),
        (OSError(errno.EDQUOT, "quota", "a.csv"), "^a.csv: the disk quota is exceeded; free"),
        (PermissionError(errno.EACCES, "denied", "a.csv"), "^a.csv: permission denied"),
        (OSError(errno.EROFS, "read-only", "a.csv"), "^a.csv: the disk is read-only"),
        (MemoryError(), "no memory was left; use fewer --cores"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes"), "no memory was left"),
        (Exception("No space left on device (os error 28)"), "the disk is full"),  # of Rust
        (FileNotFoundError(errno.ENOENT, "absent", "a.csv"), None),
        (ValueError("of the code"), None),
    ],
)
def test_what_a_system_refuses_is_a_line(error, message):
    if message is None:
        assert refused(error) is None
        return
    wrapped = ValueError("somewhere else")
    wrapped.__cause__ = error
    for each in (error, wrapped):
        with pytest.raises(InputError, match=message):
            raise InputError(refused(each))
    assert refused(error).endswith("which continues from the completed jobs")


def test_a_file_that_may_not_grow(tmp_path, capfd):
    """A limit of the system's, met for real: the line is on the terminal, the traceback in the log."""

    def work():
        with logged(tmp_path / "log"), open(tmp_path / "large", "wb") as file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
            file.write(bytes(20_000))

    with pytest.raises(AssertionError):  # it ends with status 1
        faulty.forked(work)
    log = (tmp_path / "log").read_text()
    assert "Traceback" in log and "raise it (ulimit -f)" in log
    assert "raise it (ulimit -f), then repeat the command" in capfd.readouterr().err


def test_a_log_that_cannot_be_written(tmp_path, capsys):
    """On a full disk there is no room for the log either."""
    with pytest.raises(SystemExit), logged(tmp_path / "absent" / "job.log"):
        sys.stderr = open("/dev/full", "w", buffering=1)  # noqa: SIM115
        raise OSError(errno.ENOSPC, "no space", "a.csv")
    assert "error: a.csv: the disk is full; free some space" in capsys.readouterr().err
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit), logged(tmp_path / "file" / "job.log"):
        raise AssertionError("never reached")
    assert "File exists" in capsys.readouterr().err


def test_a_run_says_what_ended_a_job(tmp_path, caplog):
    log = tmp_path / "run.log"
    log.write_text(
        "Command 'x' died with <Signals.SIGKILL: 9>.\n… died with <Signals.SIGSEGV: 11>.\n"
    )
    with caplog.at_level(logging.ERROR):
        start.say_why([str(log), str(tmp_path / "absent.log")])
    first, second = (record.getMessage() for record in caplog.records)
    assert "SIGKILL: memory ran out, or a user killed it" in first and "SIGSEGV" in second
    assert all("repeat the command to continue" in each for each in (first, second))


@pytest.mark.merge
def test_a_job_killed_in_a_run_is_explained(study):
    """The words are in what the user sees, and what was complete is still there."""
    summary = study / "results" / "tiny" / "cores" / "summary.txt"
    before = {path: path.stat().st_mtime_ns for path in summary.parent.rglob("*.parquet")}
    summary.unlink()
    (study / "src" / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "if sys.orig_argv[-1].endswith('run.py'):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run = snakemake(study, "--nolock", str(summary.relative_to(study)), configs=TINY)
    assert run.returncode and "A job was killed by SIGKILL: memory ran out" in run.stdout
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


def test_a_disk_that_fills_up_while_numpy_writes(tmp_path, capsys):
    """NumPy's error has no number."""
    with pytest.raises(SystemExit), logged(tmp_path / "job.log"):
        np.zeros(100_000).tofile("/dev/full")
    assert "the disk is full; free some space" in capsys.readouterr().err
