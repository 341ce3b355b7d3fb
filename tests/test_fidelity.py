"""The table of all tables and figures of the studies names every numbered target, and no other."""

import re

import pytest
import yaml

from project import ROOT

PAGE = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
STATUS = ("runs", "needs", "not covered", "illustration")
NUMBERED = re.compile(r"(table|figure)\d")
#: config.yaml has the targets of the studies, too.
BASE = [ROOT / "config.yaml", *sorted((ROOT / "studies").glob("*.yaml"))]


def names(*paths, key):
    """Return the names in a table of configs."""
    configs = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths)
    return {name for config in configs for name in config.get(key, {})}


def rows():
    """Return study, table or figure, target and status of each row."""
    table = PAGE.split("## Every table and figure", 1)[1]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def test_every_row_has_a_status_and_stands_once():
    found = rows()
    assert len(found) > 30 and {len(row) for row in found} == {4}
    assert all(row[3].startswith(STATUS) for row in found)
    assert len({tuple(row[:2]) for row in found}) == len(found)
    for study, what, target, status in found:
        assert target != "–" or not status.startswith("runs"), (study, what)


@pytest.mark.merge
def test_every_numbered_target_has_a_row_and_every_named_target_exists():
    shown = {}
    for _, _, target, _ in rows():
        configs = re.findall(r"\((config\.\w+\.yaml)\)", target)
        shown |= dict.fromkeys(re.findall(r"`(\w+)`", target), configs)
    every = names(*BASE, *sorted(ROOT.glob("config.*.yaml")), key="targets")
    numbered = {name for name in every if NUMBERED.search(name)}
    assert len(numbered) > 25
    assert not numbered - shown.keys(), "rows of docs/fidelity.md that are missing"
    for name, configs in shown.items():
        paths = [ROOT / config for config in configs] or BASE
        assert name in names(*paths, key="targets") | names(*paths, key="experiments"), name
