"""The package serves any data: it imports nothing that is built on it, and knows no reading times."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "crosslmm"


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.stem)
def test_packages_above_are_not_imported(path):
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.partition(".")[0])
    assert not names & {"recency", "readingtimes"}


def test_it_has_no_word_of_reading_times():
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.glob("*.py"))
    for word in ("time_ms", "surprisal", "sentence_", "unigram", "reading time"):
        assert word not in text, word
