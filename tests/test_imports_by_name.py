"""Imports by dynamic name: which modules may do so, and which are plug-ins of another package."""

import ast
from pathlib import Path

import pytest

from recency import plugins
from recency.workflow.plan import code

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted([*ROOT.glob("src/recency/**/*.py"), *ROOT.glob("packages/*/src/**/*.py")])


def called_in(name):
    """Return the files of the package, and the workflow's scripts, that call a function of a name."""
    found = set()
    for path in [*MODULES, *(ROOT / "workflow").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", None))
                if called == name:
                    found.add(path.relative_to(ROOT).as_posix())
    return found


@pytest.mark.merge
def test_modules_are_imported_by_name_in_one_place():
    """Elsewhere, workflow.code would not see what a rule depends on."""
    below = "packages/crosslmm/src/crosslmm"
    allowed = {"src/recency/plugins.py", f"{below}/plugins.py", f"{below}/public.py"}
    above = "packages/readingtimes/src/readingtimes"
    allowed |= {f"{above}/plugins.py", f"{above}/__init__.py", "workflow/scripts/run.py"}
    assert called_in("import_module") == allowed
    assert called_in("__import__") == set()
    # It opens what it has just written, as those will who get it.
    assert called_in("exec_module") == {"src/recency/export/write.py"}


@pytest.mark.merge
def test_near_names_are_guessed_in_one_place():
    below = "packages/crosslmm/src/crosslmm/errors.py"
    assert called_in("get_close_matches") == {
        "packages/readingtimes/src/readingtimes/names.py",
        below,
    }


@pytest.mark.parametrize("kind", plugins.KINDS)
def test_a_folder_of_plug_ins_has_nothing_else(kind):
    package, beside = plugins.KINDS[kind].package, {"__init__"}
    if kind == "evaluations":
        beside |= {"job_state", "registry", "summary", "dataset_check", "report"}
    paths = [*plugins.folder(package).glob("*.py"), *plugins.folder(package).glob("*/__init__.py")]
    modules = {path.parent.name if path.name == "__init__.py" else path.stem for path in paths}
    own = package.rpartition(".")[2]
    assert modules - beside - {own} == set(plugins.names(package)) - {own}


def test_minimal_pairs_depend_on_no_reader_of_training_text():
    found = code.fingerprints((code.file_of("recency.evaluations.minimal_pairs.pairs"),))
    assert "recency.text.utf8" in found
    assert not [name for name in found if name.startswith("recency.text.readers")]
