"""Read modules without importing them: their constants, and why they cannot be imported."""

import ast
import re
import warnings
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from recency.errors import first_line

_ENDS = ("sys.exit", "exit", "quit", "os._exit", "os.abort")


def problem(path: Path) -> str:
    """Return why a module can never be imported; "" if that is not certain.

    Parameters
    ----------
    path : Path
        A file of Python, which is read and not run.

    Returns
    -------
    str
        It is not text or not Python, or a statement that always runs raises an error or ends the
        program.
    """
    try:
        text = path.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, str(path), "exec", dont_inherit=True)
            tree = ast.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno or 1}: {error.msg}"
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return first_line(error)
    for node in tree.body:
        if reason := _never_passes(node):
            return f"line {node.lineno}: {reason}"
    return ""


def _never_passes(node: ast.stmt) -> str:
    """Return why a statement of a module always fails; "" if it may pass."""
    if isinstance(node, ast.Raise):
        return f"it raises {ast.unparse(node.exc) if node.exc else 'an error'} when it is imported"
    if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and not node.test.value:
        return "it raises AssertionError when it is imported"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = ast.unparse(node.value.func)
        return f"it ends the program when it is imported ({called})" if called in _ENDS else ""
    return ""


def is_installed(module: str) -> bool:
    """Return whether the top-level package of a module is installed."""
    try:
        return find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):  # no name of a module, or one that hides its origin
        return False


def is_literal(node: ast.stmt) -> bool:
    """Return whether the value of an assignment is a literal."""
    try:
        ast.literal_eval(node.value)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return False
    return True


@lru_cache(maxsize=1000)
def statements(path: Path, changed: int) -> list[ast.stmt]:
    """Return a module's statements, cached by its modification time `changed`."""
    return ast.parse(path.read_text(encoding="utf-8")).body


def defined(path: Path, name: str) -> ast.stmt | None:
    """Return the statement at a module's top level that defines `name`."""
    return _definition(path, path.stat().st_mtime_ns, name)


@lru_cache(maxsize=4000)
def _definition(path: Path, changed: int, name: str) -> ast.stmt | None:
    text = path.read_text(encoding="utf-8")
    if re.search(rf"\b{name}\b", text) is None:
        return None
    return _among(_beginning(text, name), name) or _among(statements(path, changed), name)


def _among(statements: list[ast.stmt], name: str) -> ast.stmt | None:
    for node in statements:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
        targets = [node.target] if isinstance(node, ast.AnnAssign) else []
        targets = node.targets if isinstance(node, ast.Assign) else targets
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return node
    return None


def _beginning(text: str, name: str) -> list[ast.stmt]:
    """Return a module's statements up to the one that defines `name`, if found.

    Parsing complete modules would dominate the start of a run.
    """
    if (match := re.search(rf"^(?:def )?{name}\b", text, re.MULTILINE)) is None:
        return []
    after = re.compile(r"^[^\s)\]}#]", re.MULTILINE).search(text, match.end())
    try:
        return ast.parse(text[: after.start()] if after else text).body
    except SyntaxError:  # the line is in a string
        return []
