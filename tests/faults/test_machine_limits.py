"""What a machine refuses: room, writing, memory, the right time. A line says it; the next run ends as any other."""

import os
import resource
import shutil
import subprocess
import time

import pytest
from test_killed_jobs import ALONE, parts, project, run

import faulty
from project import TINY, command, environment

pytestmark = pytest.mark.long

#: What most of these runs are of, so that they take a fifth of the study's time: all up to a trained LM's surprisal.
PART = "results/tiny/cores/surprisal/Pythia/simulated_spr.parquet"


@pytest.fixture
def disk(tmp_path):
    """Return a project whose `results` are a disk of their own, and what changes its mount options."""

    def mount(options):
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder / "results")]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    folder = project(tmp_path / "small")
    (folder / "results").mkdir()
    if (done := mount("size=100m")).returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    yield folder, lambda options: mount(f"remount,{options}")
    for _ in range(3):
        words = ["umount", "-l", str(folder / "results")]
        if subprocess.run(words, check=False, capture_output=True).returncode == 0:
            break


def ends_the_same(folder, finished, *targets):
    """Run the study, or targets of it: what there is then is that of an undisturbed run."""
    code, text = run(folder, *targets)
    assert code == 0, text[-4000:]
    made, whole = faulty.digests(folder), faulty.digests(finished)
    assert made == ({name: whole.get(name) for name in made} if targets else whole)
    assert set(targets) <= set(made) and parts(folder) == []


@pytest.mark.parametrize("kilobytes", [250, 1500, 3500, 5000])
def test_a_full_disk(disk, finished, kilobytes):
    folder, remount = disk
    remount(f"size={kilobytes}k")
    code, text = run(folder)
    assert code and "disk is full" in text and "repeat the command" in text, text[-3000:]
    remount("size=100m")
    ends_the_same(folder, finished)


def test_results_that_can_only_be_read(disk, finished):
    folder, remount = disk
    remount("ro")
    code, text = run(folder, PART)
    assert code and "nothing was started" in text and "on a disk that can only be read" in text, (
        text[-3000:]
    )
    remount("rw")
    ends_the_same(folder, finished, PART)


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        (resource.RLIMIT_FSIZE, 60_000, "raise it (ulimit -f)"),
        (resource.RLIMIT_AS, 1_400_000_000, "memory"),
    ],
    ids=["file size", "memory"],
)
def test_a_limit_of_the_system(finished, tmp_path, limit, value, said):
    """Of jobs alone: Snakemake itself needs more than a job of this study."""
    folder = project(tmp_path / "limited")
    with open(folder / "src" / "sitecustomize.py", "a") as file:
        file.write(
            "import os, resource, sys\n"
            "if os.path.exists('limited') and '/.snakemake/scripts/' in sys.orig_argv[-1]:\n"
            f"    resource.setrlimit({int(limit)}, ({value}, {value}))\n"
        )
    (folder / "limited").touch()
    code, text = run(folder, PART, **ALONE)
    assert code and said in text, text[-3000:]
    (folder / "limited").unlink()
    ends_the_same(folder, finished, PART)


@pytest.mark.parametrize("days", [-3, 3])
def test_a_clock_that_was_moved(finished, tmp_path, days):
    """Half of the study is made, then the clock is set back, or the first half is of the past."""
    folder = project(tmp_path / "moved")
    code, text = run(folder, "--until", "train", "--", PART)
    assert code == 0, text[-3000:]
    then = time.time() - days * 86400
    for path in (folder / "results").rglob("*"):
        os.utime(path, (then, then))
    ends_the_same(folder, finished, PART)
    code, text = run(folder, PART)
    assert code == 0 and "Nothing to be done" in text, text[-3000:]


def test_a_clock_that_is_set_back_while_it_runs(finished, tmp_path):
    """Each job of the second half has a clock that is three days behind."""
    library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
    if not os.path.exists(library):
        pytest.skip("libfaketime is not installed")
    folder = project(tmp_path / "back")
    code, text = run(folder, "--until", "train", "--", PART)
    assert code == 0, text[-3000:]
    behind = {"LD_PRELOAD": library, "FAKETIME": "-3d", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    run(folder, PART, **behind, **ALONE)
    ends_the_same(folder, finished, PART)


def test_results_without_the_right_to_write(finished, tmp_path):
    """As root without root's privileges, or as any user."""
    folder = project(tmp_path / "rights")
    results = folder / "results" / "tiny"
    results.mkdir(parents=True)
    results.chmod(0o555)
    words = command("--nolock", PART, configs=TINY)
    if os.getuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("setpriv is not here, and root may write anywhere")
        words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *words]
    process = faulty.started(folder, *words, environment=environment() | ALONE)
    assert process.wait() and "results/tiny is not writable for this account" in faulty.printed(
        folder
    )
    results.chmod(0o755)
    ends_the_same(folder, finished, PART)
