"""The inventory of the papers' tables and figures: what targets make is what it says, and the page shows it."""

import re

import pandas as pd
import pytest
import yaml

import inventory
import last_jobs
from project import ROOT, load

#: config.yaml has the targets of the studies, too.
BASE = [ROOT / "config.yaml", *sorted((ROOT / "studies").glob("*.yaml"))]
ENTRIES = inventory.module().read()
DESCRIBED = [entry for entry in ENTRIES if "outputs" in entry]


def place(entry) -> str:
    return f"{entry['study']}, {entry['place']}"


def entries_of(*paths, key):
    """Return name → entry in a table of configs."""
    found = {}
    for path in paths:
        table = yaml.safe_load(path.read_text(encoding="utf-8")).get(key, {})
        found |= {name: found.get(name, {}) | entry for name, entry in table.items()}
    return found


def test_the_page_shows_the_inventory():
    made = inventory.module()
    assert made.PAGE.read_text(encoding="utf-8").endswith(made.section()), "setup/inventory_page.py"


def test_entries_have_a_status_its_reason_and_stand_once():
    assert len(ENTRIES) > 40 and len({place(entry) for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        needed = {"reproduced": "numbers", "needs": "needs", "not covered": "reason"}
        assert needed.get(entry["status"], "status") in entry, place(entry)
        assert (entry["status"] == "not covered") == ("targets" not in entry), place(entry)
        assert entry["status"] in inventory.module().STATUS


@pytest.mark.merge
def test_every_numbered_target_is_in_the_inventory_by_its_number():
    every = entries_of(*BASE, *sorted(ROOT.glob("config/*.yaml")), key="targets")
    others = entries_of(*BASE, *sorted(ROOT.glob("config/*.yaml")), key="experiments")
    listed = {name: entry for entry in ENTRIES for name in entry.get("targets", [])}
    assert len(every) > 25 and not every.keys() - listed.keys()
    searches = {f"search_{name}" for name in entries_of(*BASE, key="searches")}
    assert listed.keys() <= every.keys() | others.keys() | searches
    for name, target in every.items():
        label, where = target["label"], listed[name]["place"]
        label = (
            label.partition(" of ")[0] if re.search(r"\d", label.partition(" of ")[0]) else label
        )
        assert label.startswith(where) or _numbers(label) <= _numbers(where), (name, where)


def _numbers(text: str) -> set[str]:
    """Return the numbers of tables or figures in a text, with those of ranges: 6.7 to 6.9."""
    found = set(re.findall(r"\d+(?:\.\d+)?", text))
    for chapter, first, last in re.findall(r"(\d+)\.(\d+) to \1\.(\d+)", text):
        found |= {f"{chapter}.{n}" for n in range(int(first), int(last) + 1)}
    return found


#: Published files that no entry shows → why.
SHOWN_ELSEWHERE = {
    "thesis_tables3_3_and_4_2_ptb.csv": "the values of two other files, compared by a test of perplexity",
}
#: Columns of numbers that name a row.
NAMES = {"thesis_rare_words.csv": {"table"}}


def test_every_published_value_of_a_described_study_is_shown_somewhere():
    shown = {
        (published["file"], column)
        for entry in DESCRIBED
        for published in entry.get("published", [])
        for column in published["values"]
    }
    files = {file for file, _ in shown}
    names = ("clark2025", "devarda", "wm2026", "mlm", "thesis")
    every = {path.name for path in inventory.PUBLISHED.glob("*.csv") if path.name.startswith(names)}
    assert files == every - SHOWN_ELSEWHERE.keys() and SHOWN_ELSEWHERE.keys() <= every
    for file in sorted(files):
        table = pd.read_csv(inventory.PUBLISHED / file)
        numeric = {
            column
            for column in table
            if table[column].dtype.kind in "if" and table[column].notna().any()
        }
        of_file = {column for name, column in shown if name == file}
        assert numeric - NAMES.get(file, set()) <= of_file, file


@pytest.mark.merge
@pytest.mark.parametrize("entry", DESCRIBED, ids=place)
def test_targets_make_what_the_inventory_says_and_a_lost_part_is_found(entry, tmp_path):
    """With every row, panel and published value; without one of them it is a problem."""
    config = load(*([entry["config"]] if "config" in entry else []))
    tables = last_jobs.make(config, entry["targets"], list(entry["outputs"]), tmp_path)
    assert list(inventory.problems(entry, tables)) == []
    for output, columns in entry["outputs"].items():
        for stated, expected in columns.items():
            column = stated.partition(", ")[0]
            less = inventory.without(tables[output], column, expected[-1])
            assert list(inventory.problems(entry, tables | {output: less})), (output, column)
    for published in entry.get("published", []):
        for output in published["shown"]:
            column = published.get("column", "published")
            table = tables[output].assign(**{column: pd.NA})
            assert list(inventory.problems(entry, tables | {output: table})), (output, column)
