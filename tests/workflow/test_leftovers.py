"""What killed jobs left half written goes when a run begins, and nothing else does."""

import os
import subprocess
import sys
import time

import pytest

from project import TINY, snakemake
from readingtimes.files import atomic
from recency.workflow.engine import start


def ended() -> int:
    """Return the number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


def test_what_goes_and_what_stays(tmp_path):
    dead, folder = ended(), tmp_path / "lms"
    (folder / f".exports.{dead}").mkdir(parents=True)
    (folder / f".exports.{dead}" / "table.csv").touch()
    gone = [folder / f".a.{dead}.parquet", folder / f"..Pythia.state.{dead}.pt"]
    stays = [
        folder / f".a.{os.getpid()}.parquet",
        folder / ".Pythia.state.pt",
        folder / ".5-gram.part",
    ]
    stays += [folder / "lm.5" / "model.bin", folder / f"a.{dead}.parquet"]
    (folder / "lm.5").mkdir()
    for path in (*gone, *stays):
        path.touch()
    removed = start.sweep([tmp_path, tmp_path / "absent"], here=True)
    assert set(removed) == {*gone, folder / f".exports.{dead}"}
    assert not any(path.exists() for path in removed) and all(path.exists() for path in stays)


def test_another_machines_jobs_may_still_write(tmp_path):
    fresh, old = (tmp_path / f".{name}.{ended()}.csv" for name in "ab")
    for path in (fresh, old):
        path.touch()
    os.utime(old, (time.time() - 2 * start.QUIET,) * 2)
    assert start.sweep([tmp_path], here=False) == [old] and fresh.exists()


def test_files_of_the_future_are_dated_now(tmp_path):
    """Those that another machine's clock, a little ahead, has just dated stay as they are."""
    now = time.time()
    for name, when in {"past": now - 9, "ahead": now + 5, "future": now + 9e5}.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (when, when))
    assert start.date_now([tmp_path, tmp_path / "absent"]) == 1
    dated = {path.name: path.stat().st_mtime for path in tmp_path.iterdir()}
    assert dated["past"] < now < dated["ahead"] and now - 1 < dated["future"] < time.time() + 1


def test_a_killed_writers_file_is_one(tmp_path):
    """The names are those that readingtimes.files.atomic gives."""
    path = tmp_path / "words.parquet"
    writer = os.fork()
    if writer == 0:
        with atomic(path) as part:
            part.write_bytes(b"half")
            os._exit(9)
    os.waitpid(writer, 0)
    (left,) = tmp_path.iterdir()
    assert start.sweep([tmp_path], here=True) == [left]


@pytest.mark.merge
def test_a_run_removes_them_and_says_so(study):
    summary = study / "results" / "tiny" / "cores" / "summary.txt"
    left = summary.with_name(f".summary.{ended()}.txt")
    left.touch()
    expected = summary.read_bytes()
    summary.unlink()
    run = snakemake(study, "--nolock", str(summary.relative_to(study)), configs=TINY)
    assert (
        run.returncode == 0
        and f"Removed partial files of killed jobs: {left.relative_to(study)}" in run.stdout
    ), run.stdout
    assert not left.exists() and summary.read_bytes() == expected
