"""A study that is moved, or loses outputs; folders and accounts that are not as at home."""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from test_killed_jobs import ALONE, project, run

import faulty
from project import ROOT, TINY, copy_finished, environment

pytestmark = pytest.mark.long


def test_a_study_that_was_moved(finished, tmp_path):
    """With its folder, or its results alone, to a larger disk."""
    folder = copy_finished(finished, tmp_path / "here")
    moved = folder.rename(tmp_path / "there")
    code, text = run(moved)
    assert code == 0 and "Nothing to be done" in text, text[-3000:]
    (moved / "results").rename(tmp_path / "large")
    (moved / "results").symlink_to(tmp_path / "large")
    code, text = run(moved)
    assert code == 0 and "Nothing to be done" in text, text[-3000:]


def test_outputs_that_were_deleted_by_hand(finished, tmp_path):
    """What a run wants of them is made anew, as it was; a finished study misses nothing within it."""
    folder, expected = copy_finished(finished, tmp_path / "holes"), faulty.digests(finished)
    made = [name for name in sorted(expected) if "/lineage/" not in name]
    lost = random.Random(1).sample(made, 8)
    for name in lost:
        (folder / name).unlink()
        code, text = run(folder, name)
        assert code == 0 and (folder / name).exists(), (name, text[-3000:])
    assert faulty.digests(folder) == expected
    shutil.rmtree(folder / "results" / "tiny" / "cores" / "experiments")
    code, text = run(folder)
    assert code == 0 and faulty.digests(folder) == expected, text[-3000:]


def test_finished_work_without_what_is_kept_and_known(finished, tmp_path):
    """`.kept`, the trainings' states, and what Snakemake knows of the run, all gone."""
    folder = copy_finished(finished, tmp_path / "bare")
    for path in sorted((folder / "results").rglob(".*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(folder / ".snakemake")
    code, text = run(folder)
    assert code == 0, text[-3000:]
    assert faulty.digests(folder) == faulty.digests(finished)


@pytest.mark.parametrize("who", ["myself", "nobody"])
def test_an_odd_place_and_account(finished, tmp_path, who):
    """Spaces and letters that no code page has, umask 077, locale C, no HOME; and not root."""
    folder = project(tmp_path / "ünïcode und spaces — 'quoted' 語")
    known = environment()
    bare = {name: known[name] for name in ("PATH", "RPY2_CFFI_MODE", "OPENBLAS_NUM_THREADS")}
    shutil.copy(ROOT / "run", folder)
    words = ["./run", "--cores", "2", "--configfile", *TINY]
    if who == "nobody":
        # What is installed may lie in a folder that is root's own: it may be read, and no more.
        rights = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *rights]
        done = subprocess.run([*drop, sys.executable, "-c", ""], capture_output=True, check=False)
        if os.getuid() or done.returncode:
            pytest.skip("only root can become another account, with setpriv")
        words = [*drop, *words]
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 65534, 65534)
        for path in (tmp_path, *tmp_path.parents):
            if Path(tempfile.gettempdir()) in path.parents:
                path.chmod(0o755)
    for name in (".venv", ".tools"):
        (folder / name).symlink_to(ROOT / name)
    process = faulty.started(
        folder, *words, environment=bare | {"LC_ALL": "C"} | ALONE, umask=0o077
    )
    code = process.wait()
    assert code == 0, faulty.printed(folder)[-4000:]
    assert faulty.digests(folder) == faulty.digests(finished)
