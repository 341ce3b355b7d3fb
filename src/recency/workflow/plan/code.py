"""Code dependencies of a rule: every module that its function can reach.

The closure of a rule's module (its parameter `main`), or of its script, consists of the modules of this
package that it imports, directly or indirectly, anywhere in a file; modules selected by name (recency.plugins.load: forms of bias, parsers,
readers of text); and other files (such as R code) next to a module that names them. Other installed
packages that provide plugins are followed in the same way. The syntax tree of each module is hashed
without docstrings, so that comments, docstrings and formatting are ignored.

`track` adds the fingerprints of its closure to the parameters of every rule: Snakemake compares them
with those of the last run and reports changes.
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
from recency.errors import REFUSALS

PACKAGE = "recency"
#: Packages of this repository that it builds on.
BELOW = ("crosslmm", "readingtimes")
ROOT = Path(__file__).resolve().parents[2]
#: Modules that cannot change a result → reason; they are in no closure.
EXEMPT = {
    "recency": "re-exports public names; modules of the package import the originals",
    "recency.attention": "re-exports public names, as `recency` does",
    "crosslmm": "re-exports public names, as `recency` does",
    "crosslmm.errors": "the error class; modules that raise it are tracked",
    "crosslmm.public": "loads public names for users",
    "crosslmm.stats": "re-exports public names, as `recency` does",
    "recency.public": "loads public names for users",
    "recency.attention.short_texts": "texts and tolerances by which a network is refused",
    "recency.damage": "names a damaged file in an error",
    "recency.devices": "reserves GPUs, whose results differ by rounding alone",
    "recency.digests": "SHA-256 of files, for recency.lineage",
    "recency.errors": "the error class; modules that raise it are tracked",
    "readingtimes": "loads public names for users",
    "readingtimes.errors": "the error class; modules that raise it are tracked",
    "recency.history": "provenance of a model, written next to it and compared with texts",
    "recency.lineage": "refuses a file, or records what it is",
    "readingtimes.names": "suggests the nearest name in an error",
    "recency.passages": "passages of a text, for recency.history",
    "recency.passage_hashes": "hashes of passages, for recency.history",
    "readingtimes.progress": "prints the progress of a job",
    "recency.heap": "returns freed memory to the system",
    "recency.networks.config_values": "refuses a checkpoint, or alters nothing",
    "recency.networks.self_test": "refuses a checkpoint, or alters nothing",
    "recency.networks.sizes": "refuses a checkpoint, or alters nothing",
    "recency.networks.stored_tensors": "refuses a checkpoint, or alters nothing",
    "recency.networks.tested": "records that a checkpoint was not refused",
    "recency.networks.stopping": "when a training stops, to be continued without a difference",
    "recency.scoring.finite": "refuses a probability, or alters nothing",
    "recency.workflow.engine.job": "logs and display of errors",
}
#: Extensions of page sources that count if they are next to the module that names them.
PARTS_OF_PAGES = (".js", ".css", ".html")
#: Package → names of the modules that a job selects from it.
Chosen = Mapping[str, Collection[str]]


#: Cache of `_find_cached`.
_known: dict[str, list] = {}


def track(rules, choose: Callable[[str, object], Chosen], memory: Path | None = None) -> None:
    """Add the fingerprints of its code to the parameters of every rule.

    `choose(rule, wildcards)` returns the modules that a job selects by name, per package; if it omits
    a package, all its modules count. Results are cached in the file `memory`, which is valid as long
    as no file of the package changes.
    """
    if memory is not None:
        remember(memory)
    for rule in rules:
        if not rule.script:
            continue
        starts = starts_of(Path(str(rule.basedir), rule.script), rule.params.get("main"))
        modules, packages = reached(starts)
        rule.set_params(*(f"{name} {digest}" for name, digest in modules.items()))
        if packages:
            rule.set_params(_chooser(starts, rule.name, choose))


def starts_of(script: Path, main: str | None) -> tuple[Path, ...]:
    """Return where the closure of a rule begins: its script, and the module of `main`, the last.

    `main` names a module below this package, or a function of it as `module:function`. Importing a
    module imports its parent packages.
    """
    modules = sorted(_with_parents(f"{PACKAGE}.{main.partition(':')[0]}")) if main else []
    return (script.resolve(), *map(file_of, modules))


def _chooser(
    starts: tuple[Path, ...], rule: str, choose: Callable
) -> Callable[[object], list[str]]:
    """Return a function of wildcards: the fingerprints of the modules that a job selects."""

    def code(wildcards) -> list[str]:
        chosen = choose(rule, wildcards)
        return list(
            _fingerprints_of_chosen(
                starts, tuple((p, tuple(sorted(n))) for p, n in sorted(chosen.items()))
            )
        )

    return code


def fingerprints(starts: tuple[Path, ...], chosen: Chosen | None = None) -> dict[str, str]:
    """Return module → fingerprint of all modules that these files depend on, and theirs."""
    modules, _ = reached(starts)
    pairs = tuple((p, tuple(sorted(n))) for p, n in sorted((chosen or {}).items()))
    selected = _fingerprints_of_chosen(starts, pairs)
    return modules | dict(line.rsplit(" ", 1) for line in selected)


def remember(memory: Path) -> None:
    """Read the cache in a file if it is of the package's current code; update it when this process ends."""
    from readingtimes.files import atomic

    files = sorted(path for path in ROOT.rglob("*") if path.is_file())
    files = [path for path in files if path.suffix != ".pyc"]
    state = hashlib.sha256()
    for package, folder in _roots().items():
        if package != PACKAGE:
            files += sorted(
                [folder.with_suffix(".py"), *folder.rglob("*.py"), *folder.rglob("*.R")]
            )
    for path in filter(Path.is_file, files):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        name = path.relative_to(ROOT) if ROOT in path.parents else path
        state.update(f"{name} {digest}\n".encode())
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
            with contextlib.suppress(OSError, *REFUSALS), atomic(memory) as path:
                path.write_text(json.dumps({"state": now, "found": _known}))

    atexit.register(write)


def _find_cached(starts: tuple[Path, ...], chosen: object, find: Callable[[], list]) -> list:
    """Return the result of `find` for some files, cached by their text."""
    texts = [hashlib.sha256(path.read_bytes()).hexdigest() for path in starts]
    key = json.dumps([[os.path.relpath(path, ROOT) for path in starts], texts, chosen])
    if key not in _known:
        _known[key] = find()
    return _known[key]


@cache
def reached(starts: tuple[Path, ...]) -> tuple[dict[str, str], frozenset[str]]:
    """Return the fingerprints of files and their imports, and the packages from which they select modules."""

    def find() -> list:
        modules, packages = _closure(starts)
        return [modules, sorted(packages)]

    modules, packages = _find_cached(starts, None, find)
    return modules, frozenset(packages)


@cache
def _fingerprints_of_chosen(
    starts: tuple[Path, ...], chosen: tuple[tuple[str, tuple[str, ...]], ...]
) -> tuple[str, ...]:
    """Return the fingerprints of the modules selected by name, without those of `starts`."""
    return tuple(_find_cached(starts, chosen, lambda: list(_choice(starts, chosen))))


def _choice(
    starts: tuple[Path, ...], chosen: tuple[tuple[str, tuple[str, ...]], ...]
) -> tuple[str, ...]:
    imported, packages = reached(starts)
    names, done = dict(chosen), set()
    prints: dict[str, str] = {}
    while todo := packages - done:  # a selected module may select others
        for package in todo:
            paths = _files(package, names.get(package))
            # Importing a module imports its parent packages.
            names_of = (_with_parents(name_of(path)) for path in paths)
            paths += [file_of(name) for name in set().union(*names_of)]
            modules, more = _closure(paths)
            prints |= modules
            packages |= more
        done |= todo
    return tuple(
        f"{name} {digest}" for name, digest in sorted(prints.items()) if name not in imported
    )


def _files(package: str, wanted: Collection[str] | None) -> list[Path]:
    """Return the files of the `wanted` plugins of a package (None: all), ours and other packages'."""
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


def set_untracked_aside() -> None:
    """Set plugins of other packages aside whose code cannot be followed."""
    for kind in plugins.KINDS.values():
        for name in plugins.provided(kind.package):
            path = plugins.file(kind.package, name)
            is_folder = path.name == "__init__.py"
            try:
                _closure(sorted(path.parent.rglob("[a-z]*.py")) if is_folder else [path])
            except (ValueError, SyntaxError, OSError) as error:
                plugins.set_aside(kind.package, name, error)


def _closure(start: Collection[Path]) -> tuple[dict[str, str], frozenset[str]]:
    """Follow the imports of some files; see `reached`."""
    prints: dict[str, str] = {}
    packages: set[str] = set()
    todo = list(start)
    while todo:
        path = todo.pop()
        name = name_of(path)
        if name in prints or name in EXEMPT:
            continue
        prints[name] = fingerprint(path)
        if path.suffix == ".py":
            imported, chosen, named_files = _reads(path)
            packages |= chosen
            if f"{PACKAGE}.plugins" in imported:
                prints |= _literals(path)
            todo += [file_of(module) for module in imported]
            todo += named_files
    return dict(sorted(prints.items())), frozenset(packages)


def name_of(path: Path) -> str:
    """Return a file's name in closures: the dotted name of a module, or the file name."""
    for package, folder in _roots().items():
        if folder in path.parents or path == folder.with_suffix(".py"):
            parts = [package, *path.with_suffix("").relative_to(folder).parts]
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            return ".".join(parts) + ("" if path.suffix == ".py" else path.suffix)
    return path.name


def _roots() -> dict[str, Path]:
    """Return the folders of this project's packages and of packages that provide plugins."""
    others = {name: plugins.folder(name) for name in (*BELOW, *plugins.providers())}
    return {PACKAGE: ROOT, **others}


def file_of(module: str) -> Path | None:
    """Return the file of a module in this package or one that provides plugins, else None."""
    first, *parts = module.split(".")
    root = ROOT if first == PACKAGE else _roots().get(first)
    if root is None:
        return None
    path = root.joinpath(*parts)
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path if path.is_file() else None  # a package may lack __init__.py


@cache
def _reads(path: Path) -> tuple[frozenset[str], frozenset[str], tuple[Path, ...]]:
    """Return the modules that a file imports, the packages it selects from, and the files it names.

    Raises ValueError, with file and line, if a name cannot be resolved statically.
    """
    imported: set[str] = set()
    chosen, named_files = set(), set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in _imported_names(path, node):
                imported |= _with_parents(name)
        elif isinstance(node, ast.Call) and _is_of_plugins(node.func, "load"):
            if not (node.args and isinstance(node.args[0], ast.Constant)):
                raise _undetermined(path, node, "plugins.load needs its package written out")
            chosen.add(node.args[0].value)
        # A bare extension, as of an output, names no file.
        elif isinstance(node, ast.Constant) and str(node.value)[1:].endswith(".R"):
            named_files.add(path.with_name(node.value))
        elif isinstance(node, ast.Constant) and str(node.value)[1:].endswith(PARTS_OF_PAGES):
            part = path.parent / node.value
            named_files |= {part} if part.is_file() else set()
    return frozenset(imported), frozenset(chosen), tuple(sorted(named_files))


def _literals(path: Path) -> dict[str, str]:
    """Return the fingerprints of the plugin constants that a file reads by `plugins.constant`.

    Only calls with literal package and constant count. The plugins' files need not be in the closure
    of a file that reads only their constants.
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


def _imported_names(path: Path, node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the dotted names of an import: modules, or names in one."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
        for package in {PACKAGE, *BELOW}.intersection(names):
            raise _undetermined(path, node, f"`import {package}` names no module; import that")
        return names
    module = node.module
    if node.level and ROOT in path.parents:
        raise _undetermined(path, node, "imports are absolute in this project")
    if node.level:
        name = name_of(path)
        parent = name if path.name == "__init__.py" else name.rpartition(".")[0]
        module = resolve_name("." * node.level + (module or ""), parent)
    names = [f"{module}.{alias.name}" for alias in node.names]
    offers = module in {PACKAGE, *BELOW} or (module in EXEMPT and _offers(module))
    if offers and not all(map(file_of, names)):
        raise _undetermined(path, node, f"`from {module} import` is for modules; name the module")
    package = module.partition(".")[0]
    if (
        module == f"{package}.plugins"
        and package in {PACKAGE, *BELOW}
        and f"{module}.load" in names
    ):
        raise _undetermined(
            path, node, f"write `from {package} import plugins` and call plugins.load"
        )
    return names


@cache
def _offers(module: str) -> bool:
    """Return whether a module is a package that re-exports public names (recency.public)."""
    return "lazily" in {getattr(n, "id", "") for n in ast.walk(_tree(file_of(module)))}


def _undetermined(path: Path, node: ast.stmt | ast.expr, why: str) -> ValueError:
    return ValueError(f"{path}:{node.lineno}: the code dependencies cannot be determined: {why}")


def _with_parents(name: str) -> set[str]:
    """Return a dotted name and its parent packages that are modules of this project."""
    parts = name.split(".")
    names = {".".join(parts[: end + 1]) for end in range(len(parts))}
    return {parent for parent in names if file_of(parent) is not None}


def _is_of_plugins(function: ast.expr, name: str) -> bool:
    """Return whether a called function is the one of recency.plugins with this name."""
    named = isinstance(function, ast.Attribute) and function.attr == name
    return named and isinstance(function.value, ast.Name) and function.value.id == "plugins"


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def fingerprint(path: Path) -> str:
    """Return a hash of a file's code, twelve hexadecimal digits.

    Python: the syntax tree without docstrings, independent of the version of Python; R: the lines
    without comments; other files: all bytes.
    """
    if path.suffix == ".py":
        text = "\n".join(_serialise_tree(_tree(path), []))
    elif path.suffix in PARTS_OF_PAGES:
        text = path.read_text(encoding="utf-8")
    else:
        lines = path.read_text(encoding="utf-8").splitlines()
        text = "\n".join(line.strip() for line in lines if not line.lstrip().startswith("#"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _serialise_tree(node: ast.AST, lines: list[str]) -> list[str]:
    """Serialise a syntax tree depth first: types of nodes and their values."""
    lines.append(type(node).__name__)
    for field in node._fields:
        value = getattr(node, field, None)
        if field == "body" and _has_docstring(node):
            value = value[1:]
        if isinstance(value, list):
            if value:
                lines.append(f"{field} {len(value)}")
            for item in value:
                if isinstance(item, ast.AST):
                    _serialise_tree(item, lines)
                else:
                    lines.append(repr(item))
        elif isinstance(value, ast.AST):
            lines.append(f"{field} 1")
            _serialise_tree(value, lines)
        elif value is not None or isinstance(node, ast.Constant):
            lines.append(f"{field} {value!r}")
    return lines


def _has_docstring(node: ast.AST) -> bool:
    """Return whether a node's body begins with a docstring."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None
