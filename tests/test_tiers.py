"""The tiers of the tests: a target that skips all of its tests fails."""

import re
from types import SimpleNamespace

import conftest
import pytest
from project import ROOT


@pytest.mark.parametrize(
    ("required", "outcomes", "expected"),
    [
        (True, {"skipped": ["a"]}, 1),
        (True, {"skipped": ["a"], "passed": ["b"]}, 0),
        (False, {"skipped": ["a"]}, 0),
    ],
)
def test_tests_that_are_required_and_all_skipped_fail(required, outcomes, expected):
    terminal = SimpleNamespace(
        stats=outcomes, ensure_newline=lambda: None, write_line=lambda text, red: None
    )
    plugins = SimpleNamespace(get_plugin=lambda name: terminal)
    config = SimpleNamespace(getoption=lambda name: required, pluginmanager=plugins)
    session = SimpleNamespace(config=config, exitstatus=0)
    conftest.pytest_sessionfinish(session)
    assert session.exitstatus == expected


def test_every_other_target_than_test_requires_its_tests():
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", "")
    recipes = re.findall(r"^(test[\w-]*):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert {"test", "test-merge", "test-long", "test-faults", "test-open", "test-slurm"} == {
        target for target, _ in recipes
    }
    lax = {target for target, lines in recipes if "--require-tests" not in lines}
    assert lax == {"test"}
