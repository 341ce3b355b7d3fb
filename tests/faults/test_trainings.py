"""A training that is killed at any of its changes of files goes on to the same bytes."""

import itertools
import shutil
import signal

import pytest

import faulty
from recency.networks import train
from recency.workflow.engine import start
from training_job import RECIPE

#: Few steps, each with a state, two checkpoints and held-out text: all phases, in a moment.
PHASES = RECIPE | {"steps": 5, "checkpoints": [1, 4], "validation": {"tokens": 400, "every": 2}}


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize(
    "every", [pytest.param(8, marks=pytest.mark.merge), pytest.param(1, marks=pytest.mark.long)]
)
def test_a_training_killed_at_its_changes_of_files(every, job, tmp_path, monkeypatch):
    monkeypatch.setattr(train, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(train, "TIME_TO_SAVE", 1e9)
    lms = tmp_path / "lms"
    job |= {"recipe": PHASES, "out": lms / "lm" / "config.json"}
    train.main(**job)
    expected, left = contents(lms), set()

    def dies(number):
        faulty.die_at(number, lms)
        train.main(**job)

    for number in itertools.count(1, every):
        shutil.rmtree(lms)
        ended = faulty.forked(lambda at=number: dies(at))
        left |= {path.name for path in lms.rglob(".*")}
        if not ended:
            break
        assert ended == signal.SIGKILL
        start.sweep([lms], here=True)
        train.main(**job)
        assert contents(lms) == expected, number
    assert number > 60, "a training has more changes of files"
    # It died with a state, within a state, and within a checkpoint.
    assert ".lm.state.pt" in left and any(name.startswith("..lm.state.") for name in left)
    assert any(name.endswith(".part") for name in left)
