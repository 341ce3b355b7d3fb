"""Layers of the package use those below them alone, and rules and scripts only wire."""

import ast
import re
from pathlib import Path

import pytest

from project import ROOT

SOURCE = ROOT / "src" / "recency"
#: Each layer may use those before it, and the modules outside of layers.
LAYERS = [
    {"attention"},
    {"networks"},
    {"text", "figures", "reading", "scoring"},
    {"regression"},
    {"simulation", "export"},
    {"evaluations"},
    {"workflow"},
    {"command"},
]
#: Imports within a layer.
ACROSS = {("scoring", "reading")}


def imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "recency"}


def folder_of(name: str) -> str | None:
    """Return the folder of a module, None for a module outside of layers."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and (SOURCE / parts[1]).is_dir() else None


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.name))
def test_imports_go_down(path):
    layers = {name: number for number, names in enumerate(LAYERS) for name in names}
    parts = path.relative_to(SOURCE).parts
    here = parts[0] if len(parts) > 1 else None
    if parts == ("__main__.py",):  # `python -m recency`: no module may import it
        assert {folder_of(name) for name in imports(path)} == {"command"}
        return
    if here is None:  # for all layers, so it uses none
        assert {folder_of(name) for name in imports(path)} <= {None}, path
        return
    for there in filter(None, map(folder_of, imports(path))):
        below = layers[there] < layers[here]
        across = there == here or (here, there) in ACROSS
        assert below or across, f"{path} uses {there}, which is not below {here}"


def test_no_module_hides_one_that_users_have():
    taken = {"datasets", "surprisal", "evaluate", "tokenizers", "transformers", "optuna"}
    top = {path.stem for path in (ROOT / "src").iterdir()}
    assert top & taken == set() and "recency" in top


CODE = [*ROOT.glob("src/**/*.py"), *ROOT.glob("workflow/**/*.py"), *ROOT.glob("tests/**/*.py")]
CODE += [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("rules/*.smk"), ROOT / "Snakefile"]


def test_rules_hold_no_python_but_calls():
    """No function is defined in a rule file, and nothing decided there, but to find the package itself."""
    for path in [*ROOT.glob("rules/*.smk"), ROOT / "Snakefile"]:
        text = re.sub(r"(?ms)^HERE = .*?^sys\.path", "", path.read_text())
        for number, line in enumerate(text.splitlines(), 1):
            wrong = re.match(r"\s*(def|class|if|elif|else|while|try|with|return)\b.*:\s*$", line)
            loop = re.match(r"for \w+ in .*:$", line)
            inside = re.search(r"\bfor \w[\w, ]* in\b", line.partition("#")[0].split('"')[0])
            assert not wrong and (loop or not inside), f"{path}, line {number}: {line}"


def test_scripts_only_wire():
    """A script imports, and hands Snakemake's files to one function of the package."""
    for path in ROOT.glob("workflow/scripts/**/*.py"):
        tree = ast.parse(path.read_text())
        kinds = {type(node) for node in tree.body[1:]}
        assert kinds <= {ast.Import, ast.ImportFrom, ast.If}, path
        assert len(path.read_text().splitlines()) <= 30, path
