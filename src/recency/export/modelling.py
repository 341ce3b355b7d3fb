"""The code that an exported checkpoint brings with it: one file, of the sources that made it."""

import ast
from collections.abc import Callable, Iterable
from pathlib import Path

from recency import errors, files, plugins
from recency.attention import biases, content, logit_lens
from recency.errors import InputError
from recency.export import standalone, standalone_memories
from recency.networks import architectures, memories, recurrences, recurrent

FILE = "modeling_recency.py"
_BIASED = "A language model whose attention scores are changed by distance"
_RECURRENT = "A recurrent language model"
_HEADER = '''"""{what}: {form}

Made by recency (MIT licence) of the code that trained and scored this checkpoint; it needs torch and
transformers alone. AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True) uses it.
"""

from __future__ import annotations
'''


def source(form: str, config_class: type, model_class: type) -> str:
    """Return the text of FILE for a form of bias and a family's classes of recency.networks."""
    forms = plugins.folder(biases.__name__)
    form_file = _file(biases.__name__, form)
    classes = ("_NEEDS_BIAS", config_class.__name__, model_class.__name__)
    parts = [
        _part(errors.__file__),
        *(
            [_part(files.__file__, lambda node: _name(node) == "sha256")]
            if _uses(form_file, files)
            else []
        ),
        _part(biases.__file__, lambda node: _name(node) in ("Affine", "Bias")),
        *(_part(module.__file__) for module in (logit_lens, content) if _uses(form_file, module)),
        *(_part(forms / f"{other}.py", _is_function) for other in _others(form_file)),
        _part(form_file, lambda node: _name(node) != "PARAMETERS"),
        _part(standalone.__file__),
        _part(architectures.__file__, lambda node: _name(node) in classes),
    ]
    return _written(parts, _BIASED, plugins.docstring(biases.__name__, form))


def recurrent_source(form: str) -> str:
    """Return the text of FILE for a recurrent network with this form of memory."""
    form_file = _file(memories.__name__, form)
    left_out = ("new", "draw")
    parts = [
        _part(errors.__file__),
        _part(recurrences.__file__),
        _part(memories.__file__, lambda node: _name(node) != "build"),
        *(part for other, name in _other_memories(form_file) for part in _renamed(other, name)),
        _part(form_file, lambda node: _name(node) != "PARAMETERS"),
        _part(standalone_memories.__file__),
        _part(
            recurrent.__file__,
            lambda node: not isinstance(node, ast.Expr) and _name(node) not in left_out,
        ),
    ]
    return _written(parts, _RECURRENT, plugins.docstring(memories.__name__, form))


def _file(package: str, form: str) -> Path:
    """Return a form's file; InputError where it needs other modules of a package that provides it."""
    path, (top, *_) = plugins.file(package, form), plugins.dotted(package, form).split(".")
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        named = [alias.name for alias in getattr(node, "names", [])]
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else named
        inside = any(module.split(".")[0] == top for module in modules)
        if top != "recency" and (getattr(node, "level", 0) or inside):
            raise InputError(
                f"{path}, line {node.lineno}: an exported LM has its code in one file; put what the form "
                f"needs of {top} into its module"
            )
    return path


def _other_memories(path: Path) -> list[tuple[str, str]]:
    """Return (form, name) of each other form whose `Form` a form uses by a name of its own."""
    return [
        (node.module.rsplit(".", 1)[1], alias.asname)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(f"{memories.__name__}.")
        for alias in node.names
        if alias.asname
    ]


def _renamed(form: str, name: str) -> list[tuple]:
    """Return the parts of another form, whose class has this name from then on."""
    text = f"{name} = Form"
    path = plugins.folder(memories.__name__) / f"{form}.py"
    return [_part(path, lambda node: _name(node) != "PARAMETERS"), (text, ast.parse(text).body, [])]


def _written(parts: list[tuple], what: str, docstring: str) -> str:
    """Return parts as one file: its header, the imports that are used, the nodes in order."""
    names = {
        child.id
        for _, nodes, _ in parts
        for node in nodes
        for child in ast.walk(node)
        if isinstance(child, ast.Name)
    }
    imports = dict.fromkeys(
        line for *_, imported in parts for bound, line in imported if bound in names
    )
    header = _HEADER.format(what=what, form=docstring.splitlines()[0])
    bodies = [_segment(text, node) for text, nodes, _ in parts for node in nodes]
    return header + "\n" + "\n".join(sorted(imports)) + "\n\n\n" + "\n\n\n".join(bodies) + "\n"


def _part(path: str | Path, keep: Callable[[ast.AST], bool] = lambda node: True) -> tuple:
    """Return a module's text, the nodes to keep of it, and its imports as (name, line).

    Its docstring and what it imports from recency are left out: the file holds it all.
    """
    text = Path(path).read_text(encoding="utf-8")
    nodes, imports = [], []
    for index, node in enumerate(ast.parse(text).body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports += _lines(node)
        elif keep(node) and not (index == 0 and isinstance(node, ast.Expr)):
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


def _uses(path: Path, module) -> bool:
    """Say whether a form imports from a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(getattr(node, "module", None) == module.__name__ for node in tree.body)


def _name(node: ast.AST) -> str | None:
    """Return the name that a definition or an assignment binds."""
    if isinstance(node, ast.Assign):
        return getattr(node.targets[0], "id", None)
    return getattr(node, "name", None)


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef)


def _segment(text: str, node: ast.AST) -> str:
    """Return the lines of a node, its decorators with it."""
    first = min(
        [node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))]
    )
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
