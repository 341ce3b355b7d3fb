"""The tiers of the tests: a target that skips all of its tests fails."""

import re
import subprocess
from types import SimpleNamespace

import pytest

import conftest
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
    assert {
        "test",
        "test-merge",
        "test-peers",
        "test-long",
        "test-faults",
        "test-open",
        "test-slurm",
        "test-rotation",
    } == {target for target, _ in recipes}
    lax = {target for target, lines in recipes if "--require-tests" not in lines}
    assert lax == {"test", "test-rotation"}


@pytest.mark.parametrize(
    ("marker", "required", "expected"),
    [("peer", True, "failed"), ("peer", False, "skipped"), ("merge", True, "skipped")],
)
def test_a_test_without_its_peer_fails_where_peers_are_required(marker, required, expected):
    item = SimpleNamespace(
        get_closest_marker=lambda name: marker if name == marker else None,
        config=SimpleNamespace(getoption=lambda name: required),
    )
    report = SimpleNamespace(
        skipped=True, outcome="skipped", longrepr=("tests/a.py", 1, "Skipped: not installed: a")
    )
    hook = conftest.pytest_runtest_makereport(item)
    next(hook)
    with pytest.raises(StopIteration) as done:
        hook.send(report)
    assert done.value.value.outcome == expected


def test_no_test_is_skipped_for_a_package_without_being_marked_for_it():
    """`importorskip` elsewhere would be a comparison that no tier requires."""
    allowed = {
        "jinja2",
        "docutils.core",
        "rpy2.robjects",
        "snakemake_executor_plugin_cluster_generic",
    }
    skipped = {
        (path.name, name)
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"importorskip\(\s*[\"']([\w.]+)", path.read_text())
    }
    assert {pair for pair in skipped if pair[1] not in allowed} == set()


def test_ci_runs_a_long_target_of_the_day():
    recipes = subprocess.run(
        ["make", "-n", "test-rotation"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert re.search(
        r"MINUTES=12\s.*(docs|test-slurm|test-faults|test-open)$", recipes, re.DOTALL | re.MULTILINE
    )
    assert "make test-rotation" in (ROOT / ".ci" / "run").read_text()
