"""The code that an exported checkpoint brings with it: one file, of the sources that made it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from pathlib import Path

from recency import errors, plugins
from recency.attention import biases
from recency.export import standalone
from recency.networks import architectures

FILE = "modeling_recency.py"
_HEADER = '''"""A language model whose attention scores are changed by distance: {form}

Made by recency (MIT licence) of the code that trained and scored this checkpoint; it needs torch and
transformers alone. AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True) uses it.
"""

from __future__ import annotations
'''


def source(form: str, config_class: type, model_class: type) -> str:
    """Return the text of FILE for a form of bias and a family's classes of recency.networks."""
    forms = plugins.folder(biases.__name__)
    own = forms / f"{form}.py"
    classes = ("_NEEDS_BIAS", config_class.__name__, model_class.__name__)
    parts = [
        _part(errors.__file__),
        _part(biases.__file__, lambda node: _name(node) in ("Affine", "Bias")),
        *(_part(forms / f"{other}.py", _is_function) for other in _others(own)),
        _part(own, lambda node: _name(node) != "PARAMETERS"),
        _part(standalone.__file__),
        _part(architectures.__file__, lambda node: _name(node) in classes),
    ]
    names = {
        each.id
        for _, nodes, _ in parts
        for node in nodes
        for each in ast.walk(node)
        if isinstance(each, ast.Name)
    }
    imports = dict.fromkeys(line for *_, own in parts for bound, line in own if bound in names)
    header = _HEADER.format(form=plugins.docstring(biases.__name__, form).splitlines()[0])
    bodies = [_segment(text, node) for text, nodes, _ in parts for node in nodes]
    return header + "\n" + "\n".join(sorted(imports)) + "\n\n\n" + "\n\n\n".join(bodies) + "\n"


def _part(path: str | Path, keep: Callable[[ast.AST], bool] = lambda node: True) -> tuple:
    """Return a module's text, the nodes to keep of it, and its imports as (name, line).

    Its docstring and what it imports from recency are left out: the file holds it all.
    """
    text = Path(path).read_text(encoding="utf-8")
    nodes, imports = [], []
    for place, node in enumerate(ast.parse(text).body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports += _lines(node)
        elif keep(node) and not (place == 0 and isinstance(node, ast.Expr)):
            nodes.append(node)
    return text, nodes, imports


def _lines(node: ast.Import | ast.ImportFrom) -> Iterable[tuple[str, str]]:
    """Return (name that is bound, line that imports it alone) of an import."""
    module = getattr(node, "module", None)
    for alias in node.names:
        if (module or alias.name).split(".")[0] in ("recency", "__future__"):
            continue
        line = ast.unparse(ast.ImportFrom(module, [alias]) if module else ast.Import([alias]))
        yield (alias.asname or alias.name).split(".")[0], line


def _others(path: Path) -> list[str]:
    """Return the forms whose functions a form uses."""
    return [
        node.module.rsplit(".", 1)[1]
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(f"{biases.__name__}.")
    ]


def _name(node: ast.AST) -> str | None:
    """Return the name that a definition or an assignment binds."""
    if isinstance(node, ast.Assign):
        return getattr(node.targets[0], "id", None)
    return getattr(node, "name", None)


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef)


def _segment(text: str, node: ast.AST) -> str:
    """Return the lines of a node, its decorators with it."""
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
