"""Every package and every corpus has a licence, and docs/licences.md or the list of corpora has it."""

import importlib.util
import re

from project import ROOT

spec = importlib.util.spec_from_file_location("licences", ROOT / "setup" / "licences.py")
licences = importlib.util.module_from_spec(spec)
spec.loader.exec_module(licences)
DATASETS = (ROOT / "docs" / "corpora_list.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
ANEW = "python setup/licences.py >docs/licences.md writes the page anew"


def listed():
    rows = re.findall(r"^\| ([^|]+) \|(?: [^|]* \|)*$", PAGE, re.MULTILINE)
    lines = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| ")]
    assert len(rows) == len(lines)
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_every_locked_package_has_its_licence_on_the_page():
    page = {name: row for row, (names, *_) in listed().items() for name in names.split(", ")}
    for name in licences.locked():
        assert name in page, f"{name}: {ANEW}"
        told = licences.of_package(name)
        assert re.match(r"[A-Zpm]", page[name]), name
        assert told in (None, page[name]), f"{name}: {ANEW}"
    # What is copyleft is called, or a tool of the house, and named below the table.
    strict = {name for name in licences.locked() if "GPL" in page[name]}
    assert strict == {"codespell", "rpy2", "rpy2-rinterface", "rpy2-robjects", "docutils"}


def test_every_corpus_states_its_licence_or_is_given_by_its_owner():
    page, names = listed(), set()
    for table, name, _, licence, placed in licences.corpora():
        assert licence or placed, f"{name}: data/corpora names no licence"
        if table == "datasets":
            assert licence in DATASETS, name
            continue
        assert name in page, f"{name}: {ANEW}"
        assert page[name][-1] == licence or (not licence and "its owner" in page[name][-1]), name
        names.add(name)
    assert len(names) > 10
