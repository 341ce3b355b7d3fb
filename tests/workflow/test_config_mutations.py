"""Configs with faults drawn at random: refused in lines that a person can read, or accepted and right."""

import pytest
import yaml

import mutated_configs
from project import ROOT, load
from recency.workflow.config import loading

pytestmark = pytest.mark.merge

MANY = 200


@pytest.fixture(autouse=True)
def corpus_files_are_read_once(monkeypatch):
    """Give what corpus files say as a copy of one reading: they are the same for all."""
    files, entries = loading.corpus_files(ROOT), yaml.safe_dump(loading.corpus_files(ROOT))
    monkeypatch.setattr(loading, "corpus_files", lambda root: files)
    yield
    assert yaml.safe_dump(files) == entries  # nothing wrote into it


@pytest.mark.parametrize("seed", range(2))
def test_no_fault_is_shown_as_a_trace(seed):
    accepted = refused = 0
    for done, config in mutated_configs.cases(MANY // 2, seed):
        study, lines = mutated_configs.outcome(config)  # raises what is no InputError
        assert all(0 < len(line) < 300 for line in lines), done
        assert study or len(lines) < 50
        accepted, refused = accepted + bool(study), refused + (not study)
    assert refused > MANY / 4 and accepted > MANY / 20


def test_what_is_drawn_is_the_same_each_time_and_changes_the_config():
    first, second = ([done for done, _ in mutated_configs.cases(8, 3)] for _ in range(2))
    assert first == second and len(set(first)) == 8
    sound = [load(*names) for names in mutated_configs.STUDIES]
    assert any(config not in sound for _, config in mutated_configs.cases(3, 1))
