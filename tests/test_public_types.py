"""The public functions are annotated in full, and the script for the type checker uses them all."""

import ast
import importlib
import inspect

import pytest

from project import ROOT

PACKAGES = ["recency", "recency.attention", "crosslmm", "crosslmm.stats"]
PUBLIC = [
    (package, name)
    for package in PACKAGES
    for name in importlib.import_module(package).__all__
    if name not in ("attention", "stats")
]


def functions(item):
    """Yield a function, or the public methods that a class defines."""
    if inspect.isclass(item):
        yield from (f for n, f in vars(item).items() if inspect.isfunction(f) and n[0] != "_")
    else:
        yield item


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_public_functions_are_annotated(package, name):
    item = getattr(importlib.import_module(package), name)
    for function in functions(item):
        signature = inspect.signature(function)
        assert signature.return_annotation is not signature.empty, function
        parameters = [p for p in signature.parameters.values() if p.name != "self"]
        assert [p.name for p in parameters if p.annotation is p.empty] == [], function


def test_the_typed_script_uses_every_public_name():
    tree = ast.parse((ROOT / "tests" / "typed_use.py").read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert {name for _, name in PUBLIC} - used == set()


def test_a_package_offers_what_its_stub_imports():
    """The stub is the one list of names; `__version__` is all that it adds."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        with open(f"{module.__file__}i", encoding="utf-8") as stub:
            tree = ast.parse(stub.read())
        imported = [a for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names]
        # `import x as x` offers a name to type checkers; without `as` it would not.
        assert all(alias.name == alias.asname for alias in imported)
        assert [alias.name for alias in imported] == module.__all__
