"""A module's constant is found without reading the whole module, and is what the whole module says."""

import ast

import pytest

from project import ROOT
from recency import module_source

MODULES = sorted((ROOT / "src" / "recency").rglob("*.py"))


def whole(statements, name):
    """Return the first of a module's statements that defines a name."""
    for node in statements:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        named = {target.id for target in targets if isinstance(target, ast.Name)}
        if name in named or (isinstance(node, ast.FunctionDef) and node.name == name):
            return ast.dump(node)
    return None


def found(path, name):
    node = module_source.defined(path, name)
    return node and ast.dump(node)


@pytest.mark.merge
def test_every_module_s_constants_are_found_as_they_stand():
    names = {"PRODUCTS", "PARAMETERS", "COLUMNS", "EVALUATION", "main", "summary", "form"}
    defined = 0
    for path in MODULES:
        statements = ast.parse(path.read_text(encoding="utf-8")).body
        for name in names:
            expected = whole(statements, name)
            assert found(path, name) == expected, (path, name)
            defined += expected is not None
    assert defined > 100


@pytest.mark.parametrize(
    "text",
    [
        "NAME = {\n    'a': 1,\n# a comment\n}\nOTHER = 2\n",
        "NAME = (\n    1\n) + 2\nOTHER = 2\n",
        "NAME: dict = {}\n",
        "NAME = 1",
        "import os\n\n\n@os.one\ndef NAME(a,\n    b,\n):\n    return a\n\n\nOTHER = NAME(1, 2)\n",
        '"""Text:\nNAME = 1\n"""\nNAME = 2\n',
        '"""Text:\nNAME = 1\n"""\n',
        "ONE = 1\nNAME == ONE\nNAME = 3\n",
        "OTHER = NAME = 2\n",
        "if True:\n    NAME = 1\n",
        "NAMES = 1\nMY_NAME = 2\n",
        "class A:\n    NAME = 1\n\n\nNAME = '''\nOTHER = 1\n'''\n",
        "",
    ],
)
def test_however_it_is_written(tmp_path, text):
    path = tmp_path / "a.py"
    path.write_text(text)
    assert found(path, "NAME") == whole(ast.parse(text).body, "NAME")


def test_a_change_of_the_file_is_seen(tmp_path):
    path = tmp_path / "a.py"
    for value in (1, 22, 333):
        path.write_text(f"NAME = {value}\n")
        assert ast.literal_eval(module_source.defined(path, "NAME").value) == value
