"""Write the table of all tables and figures in docs/fidelity.md from data/published/inventory.

.venv/bin/python setup/inventory_page.py, after a change of an inventory. `read` is for tests, too.
"""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "fidelity.md"
FOLDER = ROOT / "data" / "published" / "inventory"
#: Files of the inventory, in the order of the page's sections.
STUDIES = ("clark2025", "devarda_marelli2024", "working_memory2026", "masked2023", "thesis")
STATUS = {
    "reproduced": "reproduced here",
    "runs": "runs",
    "needs": "needs",
    "not covered": "not covered",
}
TITLE = "## Every table and figure"
HEAD = f"""{TITLE}

Targets are in config.yaml unless another config is named. *reproduced here*: values published / here; *runs*: it ran here, not
at the paper's size; *needs*: missing for the study's own result; *not covered*: no target. The open study has small LMs.
Rows, columns, panels and published values of each are in [data/published/inventory](../data/published/README.md#inventory).
This table is generated from it.

| study | table or figure | target | status | differs |
|---|---|---|---|---|
"""


def read() -> list[dict]:
    """Return the entries of all studies, each with its `study`, in the order of the page."""
    files = [yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8")) for name in STUDIES]
    return [{"study": file["study"], **entry} for file in files for entry in file["entries"]]


def status(entry: dict) -> str:
    """Return an entry's status in words."""
    text = STATUS[entry["status"]]
    if entry["status"] == "reproduced":
        pairs = [f"{n['of']} {n['published']:,} / {n['here']:,}" for n in entry["numbers"]]
        text += f": {', '.join(pairs)}"
    elif entry["status"] == "not covered":
        text += f": {entry['reason']}"
    text += f" {entry['where']}" if "where" in entry else ""
    if "needs" in entry:
        text += f" {entry['needs']}" if text == "needs" else f"; needs {entry['needs']}"
    return text


def section() -> str:
    """Return the section: a row per entry."""
    lines = []
    for entry in read():
        config = f" ({entry['config']})" if "config" in entry else ""
        names = ", ".join(f"`{name}`" for name in entry.get("targets", []))
        differs = "; ".join(entry.get("deviations", []))
        cells = [entry["study"], entry["place"], (names or "–") + config, status(entry), differs]
        lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8").partition(TITLE)[0]
    PAGE.write_text(page + section(), encoding="utf-8")
