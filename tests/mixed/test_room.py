"""The room mixed is of use to anybody: it takes nothing from the rest of the project."""

import ast
from pathlib import Path

import pytest

ROOM = Path(__file__).resolve().parents[2] / "src" / "recency" / "mixed"
ALLOWED = (
    "recency.errors",
    "recency.files",
    "recency.mixed",
    "recency.names",
    "recency.plugins",
    "recency.progress",
    "recency.public",
)


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_nothing_of_this_project_is_imported(path):
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    ours = [name for name in names if name.split(".")[0] == "recency"]
    assert [name for name in ours if not name.startswith(ALLOWED)] == []


def test_no_word_of_reading_times_is_left():
    text = "\n".join(path.read_text() for path in ROOM.iterdir() if path.is_file())
    for word in ("time_ms", "surprisal", "sentence_", "unigram", "told", "reading time"):
        assert word not in text, word
