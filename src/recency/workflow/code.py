"""What a rule's result depends on in code: every module that its script can reach, found.

The closure of a script are the modules of this package that it imports, and those that they
import, wherever in the file the import stands; modules that are chosen by name
(recency.plugins.load: forms of bias, parsers, readers of text); and files of other kinds that
stand beside a module and are named in it (R's code). Other installed packages that provide plugins
are followed in the same way. Of each the syntax tree without docstrings is hashed, so that comments,
docstrings and formatting don't count.

`track` gives every rule the fingerprints of its closure as parameters: Snakemake compares them
with those of the last run, and says which have changed.
"""

import ast
import atexit
import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from recency import plugins
from recency.errors import InputError

PACKAGE = "recency"
ROOT = Path(__file__).resolve().parents[1]
#: Modules that cannot change a result, each with its reason: they are in no closure.
EXEMPT = {
    "recency": "offers public names; modules here import from where they stand",
    "recency.attention": "offers public names, as `recency` does",
    "recency.mixed": "offers public names, as `recency` does",
    "recency.stats": "offers public names, as `recency` does",
    "recency.public": "loads public names for those outside",
    "recency.checksums": "refuses a file, or alters nothing",
    "recency.damage": "names a damaged file in an error",
    "recency.errors": "the error class; whoever raises it is tracked",
    "recency.history": "what a model was made from: written next to it, and compared with a text",
    "recency.names": "the nearest known name, in an error",
    "recency.passages": "numbers of the passages that recency.history compares",
    "recency.progress": "prints how far a job is",
    "recency.heap": "what freed memory a process keeps",
    "recency.networks.sizes": "refuses a checkpoint, or alters nothing",
    "recency.networks.stopping": "when a training ends that goes on later, as it would have",
    "recency.workflow.job": "logs, and how an error is shown",
}
#: Endings of files that a page is put together from, where they lie next to the module that names them.
PARTS_OF_PAGES = (".js", ".css", ".html")
#: package → names of the modules that a job chooses of it.
Chosen = Mapping[str, Collection[str]]


#: What was found of scripts, by `_found`.
_known: dict[str, list] = {}


def track(rules, choose: Callable[[str, object], Chosen], memory: Path | None = None) -> None:
    """Make the code of its script a parameter of every rule that has one.

    `choose(rule, wildcards)` says which modules a job takes of each package whose modules are
    chosen by name; of a package that it says nothing of, all count. What is found is kept in the
    file `memory` for the next run, which uses it if no file of the package is another.
    """
    if memory is not None and memory.parent.is_dir():
        remember(memory)
    for rule in rules:
        if not rule.script:
            continue
        script = Path(str(rule.basedir), rule.script).resolve()
        modules, packages = reached(script)
        rule.set_params(*(f"{name} {digest}" for name, digest in modules.items()))
        if packages:
            rule.set_params(_chooser(script, rule.name, choose))


def _chooser(script: Path, rule: str, choose: Callable) -> Callable[[object], list[str]]:
    """Return the function of wildcards that gives the fingerprints of what a job chooses."""

    def code(wildcards) -> list[str]:
        chosen = choose(rule, wildcards)
        return list(
            _chosen(script, tuple((p, tuple(sorted(n))) for p, n in sorted(chosen.items())))
        )

    return code


def fingerprints(script: Path, chosen: Chosen | None = None) -> dict[str, str]:
    """Return module → fingerprint of all that a script depends on."""
    modules, _ = reached(Path(script).resolve())
    pairs = tuple((p, tuple(sorted(n))) for p, n in sorted((chosen or {}).items()))
    found = _chosen(Path(script).resolve(), pairs)
    return modules | dict(each.rsplit(" ", 1) for each in found)


def remember(memory: Path) -> None:
    """Read what a file keeps of the package as it is now; what is found is kept there when this process ends."""
    from recency.files import atomic

    files = sorted(path for path in ROOT.rglob("*") if path.is_file())
    files = [path for path in files if path.suffix != ".pyc"]
    state = hashlib.sha256()
    for package, folder in _roots().items():
        if package != PACKAGE:
            files += sorted(
                [folder.with_suffix(".py"), *folder.rglob("*.py"), *folder.rglob("*.R")]
            )
    for path in filter(Path.is_file, files):
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        name = path.relative_to(ROOT) if ROOT in path.parents else path
        state.update(f"{name} {found}\n".encode())
    now = state.hexdigest()
    try:
        kept = json.loads(memory.read_text())
    except (OSError, ValueError):
        kept = {}
    if kept.get("state") == now:
        _known.update(kept["found"])
    before = len(_known)

    def write() -> None:
        if len(_known) > before:
            with contextlib.suppress(OSError, InputError), atomic(memory) as path:
                path.write_text(json.dumps({"state": now, "found": _known}))

    atexit.register(write)


def _found(script: Path, chosen: object, find: Callable[[], list]) -> list:
    """Return what `find` does of a script, found once for the same text of it, wherever the project is."""
    text = hashlib.sha256(script.read_bytes()).hexdigest()
    key = json.dumps([os.path.relpath(script, ROOT), text, chosen])
    if key not in _known:
        _known[key] = find()
    return _known[key]


@cache
def reached(script: Path) -> tuple[dict[str, str], frozenset[str]]:
    """Return the fingerprints of what a script imports, and the packages that it chooses from."""

    def find() -> list:
        modules, packages = _closure([script])
        return [modules, sorted(packages)]

    modules, packages = _found(script, None, find)
    return modules, frozenset(packages)


@cache
def _chosen(script: Path, chosen: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...]:
    """Return the fingerprints of the modules chosen by name, without what is reached anyway."""
    return tuple(_found(script, chosen, lambda: list(_choice(script, chosen))))


def _choice(script: Path, chosen: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...]:
    known, packages = reached(script)
    names, done = dict(chosen), set()
    found: dict[str, str] = {}
    while todo := packages - done:  # a chosen module may choose in its turn
        for package in todo:
            paths = _files(package, names.get(package))
            # Python imports the packages around a module with it.
            names_of = (_with_parents(name_of(path)) for path in paths)
            paths += [file_of(name) for name in set().union(*names_of)]
            modules, more = _closure(paths)
            found |= modules
            packages |= more
        done |= todo
    return tuple(f"{name} {digest}" for name, digest in sorted(found.items()) if name not in known)


def _files(package: str, wanted: Collection[str] | None) -> list[Path]:
    """Return the files of plugins of a package, ours and other packages'; of None of all plugins."""
    folder = file_of(package).parent
    if wanted is not None:
        ours = {name: folder / f"{name.replace('.', '/')}.py" for name in wanted}
        provided = {name.partition(".")[0] for name in wanted} & plugins.provided(package).keys()
        return [
            plugins.file(package, name) if name.partition(".")[0] in provided else path
            for name, path in ours.items()
        ]
    paths = sorted(folder.rglob("[a-z]*.py"))
    for name in plugins.provided(package):
        path = plugins.file(package, name)
        is_folder = path.name == "__init__.py"
        paths += sorted(path.parent.rglob("[a-z]*.py")) if is_folder else [path]
    return paths


def _closure(start: Collection[Path]) -> tuple[dict[str, str], frozenset[str]]:
    """Follow the imports of some files; see `reached`."""
    found: dict[str, str] = {}
    packages: set[str] = set()
    todo = list(start)
    while todo:
        path = todo.pop()
        name = name_of(path)
        if name in found or name in EXEMPT:
            continue
        found[name] = fingerprint(path)
        if path.suffix == ".py":
            imported, chosen, beside = _reads(path)
            packages |= chosen
            if f"{PACKAGE}.plugins" in imported:
                found |= _literals(path)
            todo += [file_of(module) for module in imported]
            todo += beside
    return dict(sorted(found.items())), frozenset(packages)


def name_of(path: Path) -> str:
    """Return a file's name in closures: a module's dotted name, or the file's own."""
    for package, folder in _roots().items():
        if folder in path.parents or path == folder.with_suffix(".py"):
            parts = [package, *path.with_suffix("").relative_to(folder).parts]
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            return ".".join(parts) + ("" if path.suffix == ".py" else path.suffix)
    return path.name


def _roots() -> dict[str, Path]:
    """Return the folder of this package, and of each other one that provides plugins."""
    return {PACKAGE: ROOT, **{name: plugins.folder(name) for name in plugins.providers()}}


def file_of(module: str) -> Path | None:
    """Return the file of a module of this package, or of one that provides plugins; else None."""
    first, *parts = module.split(".")
    root = ROOT if first == PACKAGE else _roots().get(first)
    if root is None:
        return None
    path = root.joinpath(*parts)
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path if path.is_file() else None  # another package may be a folder alone


@cache
def _reads(path: Path) -> tuple[frozenset[str], frozenset[str], tuple[Path, ...]]:
    """Return what a file names: modules of this package, packages chosen from, files beside it.

    Raises ValueError, with file and line, where a name is written so that it can't be followed.
    """
    imported: set[str] = set()
    chosen, beside = set(), set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in _imported(path, node):
                imported |= _with_parents(name)
        elif isinstance(node, ast.Call) and _is_of_plugins(node.func, "load"):
            if not (node.args and isinstance(node.args[0], ast.Constant)):
                raise _lost(path, node, "plugins.load needs its package written out")
            chosen.add(node.args[0].value)
        # A bare ending, as of a file that is written, names none.
        elif isinstance(node, ast.Constant) and str(node.value)[1:].endswith(".R"):
            beside.add(path.with_name(node.value))
        elif isinstance(node, ast.Constant) and str(node.value)[1:].endswith(PARTS_OF_PAGES):
            part = path.parent / node.value
            beside |= {part} if part.is_file() else set()
    return frozenset(imported), frozenset(chosen), tuple(sorted(beside))


def _literals(path: Path) -> dict[str, str]:
    """Return the fingerprints of the plugins' literals that a file reads by `plugins.constant`.

    Those whose package and constant are written out count: the files of the plugins need not be
    in the closure of a file that reads their literals alone.
    """
    digests = {}
    for node in ast.walk(_tree(path)):
        is_read = isinstance(node, ast.Call) and _is_of_plugins(node.func, "constant")
        if not is_read or len(node.args) != 3:
            continue
        package, _, name = (getattr(argument, "value", None) for argument in node.args)
        if isinstance(package, str) and isinstance(name, str):
            values = [(n, plugins.literal(package, n, name)) for n in plugins.names(package)]
            digest = hashlib.sha256(repr(values).encode()).hexdigest()
            digests[f"{package}:{name}"] = digest[:12]
    return digests


def _imported(path: Path, node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the dotted names that an import names: modules, or what stands in one."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
        if PACKAGE in names:
            raise _lost(path, node, f"`import {PACKAGE}` names no module; import that")
        return names
    module = node.module
    if node.level and ROOT in path.parents:
        raise _lost(path, node, "imports are absolute in this project")
    if node.level:
        name = name_of(path)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        module = resolve_name("." * node.level + (module or ""), package)
    names = [f"{module}.{alias.name}" for alias in node.names]
    offers = module == PACKAGE or (module in EXEMPT and _offers(module))
    if offers and not all(map(file_of, names)):
        raise _lost(path, node, f"`from {module} import` is for modules; name the module")
    if f"{PACKAGE}.plugins.load" in names:
        raise _lost(path, node, "write `from recency import plugins` and call plugins.load")
    return names


@cache
def _offers(module: str) -> bool:
    """Say whether a module is a package that offers public names (recency.public)."""
    return "lazily" in {getattr(n, "id", "") for n in ast.walk(_tree(file_of(module)))}


def _lost(path: Path, node: ast.stmt | ast.expr, why: str) -> ValueError:
    return ValueError(f"{path}:{node.lineno}: what this code depends on can't be found: {why}")


def _with_parents(name: str) -> set[str]:
    """Return a dotted name and the packages that contain it, as far as they are modules of ours."""
    parts = name.split(".")
    names = {".".join(parts[: end + 1]) for end in range(len(parts))}
    return {each for each in names if file_of(each) is not None}


def _is_of_plugins(function: ast.expr, name: str) -> bool:
    """Say whether a called function is that of recency.plugins by this name."""
    named = isinstance(function, ast.Attribute) and function.attr == name
    return named and isinstance(function.value, ast.Name) and function.value.id == "plugins"


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def fingerprint(path: Path) -> str:
    """Return twelve hexadecimal digits of what a file computes.

    Of Python the syntax tree without docstrings counts, the same under every version of Python; of
    R the lines that are not comments, of other files all.
    """
    if path.suffix == ".py":
        text = "\n".join(_written(_tree(path), []))
    elif path.suffix in PARTS_OF_PAGES:
        text = path.read_text(encoding="utf-8")
    else:
        lines = path.read_text(encoding="utf-8").splitlines()
        text = "\n".join(line.strip() for line in lines if not line.lstrip().startswith("#"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _written(node: ast.AST, lines: list[str]) -> list[str]:
    """Write a syntax tree down, depth first: kinds of nodes and what they hold, if anything."""
    lines.append(type(node).__name__)
    for field in node._fields:
        value = getattr(node, field, None)
        if field == "body" and _documented(node):
            value = value[1:]
        if isinstance(value, list):
            if value:
                lines.append(f"{field} {len(value)}")
            for each in value:
                if isinstance(each, ast.AST):
                    _written(each, lines)
                else:
                    lines.append(repr(each))
        elif isinstance(value, ast.AST):
            lines.append(f"{field} 1")
            _written(value, lines)
        elif value is not None or isinstance(node, ast.Constant):
            lines.append(f"{field} {value!r}")
    return lines


def _documented(node: ast.AST) -> bool:
    """Say whether a node's body begins with a docstring."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None
