"""Strict YAML reader for configs, with file and line in errors.

In addition to invalid YAML, it refuses duplicate keys (YAML drops the first silently), keys that are not
text, .nan and .inf, recursive or exploding aliases, and Snakemake's `__use_yte__`, which runs code.
`python -m recency.workflow.config.strict_yaml FILE…` checks files before Snakemake reads them.
"""

import math
import os
import sys
from pathlib import Path

import yaml

from recency.errors import REFUSALS, InputError

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast; every job reads these
LARGEST = 200_000  # maximum number of values, with aliases expanded
DEEPEST = 50  # maximum nesting of mappings and lists
_STRING, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"


def read(path: Path, name: str | Path) -> dict:
    """Return a file's mapping, empty for an empty file; errors call the file `name`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        loader = LOADER(text)
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 ({error.reason} at byte {error.start:,})") from None
    except (OSError, ValueError) as error:
        moved = path.parent / "config" / path.name.removeprefix("config.")
        if path.name.startswith("config.") and moved.is_file():
            raise InputError(f"{name}: it is {os.path.relpath(moved)} now") from None
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name}: the file cannot be read ({reason})") from None
    except yaml.YAMLError as error:
        raise InputError(f"{name}: not YAML in UTF-8 ({_plain(error)})") from None
    try:
        _refuse_depth(text, name)
        node = loader.get_single_node()
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise InputError(f"{name}: not a mapping of keys and values")
        _refuse(node, str(name), {})
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{name}, line {line}: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, REFUSALS):
            raise
        raise InputError(f"{name}: not YAML in UTF-8 ({_plain(error)})") from None
    finally:
        loader.dispose()


def _refuse_depth(text: str, name: str | Path) -> None:
    """Raise InputError for deep nesting, which would overflow the stack of libyaml's composer."""
    depth = 0
    for event in yaml.parse(text, LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST + 1:
            line = event.start_mark.line + 1
            raise InputError(f"{name}, line {line}: more than {DEEPEST} levels deep")


def _plain(error: Exception) -> str:
    """Return an error's message on one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= 120 else f"{text[:119]}…"


def _refuse(node: yaml.Node, name: str, sizes: dict[int, int]) -> int:
    """Raise InputError for forbidden content; return the number of values of a node."""
    if id(node) in sizes:
        if not sizes[id(node)]:
            raise InputError(f"{name}, line {_line(node)}: recursive alias")
        return sizes[id(node)]
    sizes[id(node)] = 0  # in progress
    size = 1
    if isinstance(node, yaml.MappingNode):
        _refuse_keys(node, name)
        children = [value for _, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        children = node.value
    else:
        _refuse_scalar(node, name)
        children = []
    for child in children:
        size += _refuse(child, name, sizes)
    if size > LARGEST:
        raise InputError(
            f"{name}, line {_line(node)}: more than {LARGEST:,} values after expansion of aliases"
        )
    sizes[id(node)] = size
    return size


def _refuse_keys(node: yaml.MappingNode, name: str) -> None:
    """Raise InputError for a key that is duplicate, not text, or runs code."""
    lines: dict[str, int] = {}
    for key, _ in node.value:
        where = f"{name}, line {_line(key)}"
        if key.tag == _MERGE:
            continue
        if not isinstance(key, yaml.ScalarNode) or key.tag != _STRING:
            written = f"the key {key.value}" if isinstance(key, yaml.ScalarNode) else "this key"
            raise InputError(f"{where}: {written[:60]} is not text; write it in quotes")
        if key.value == "__use_yte__":
            raise InputError(f"{where}: __use_yte__ would run code; a config is data")
        if key.value in lines:
            raise InputError(
                f"{where}: duplicate key {key.value[:60]!r}, first in line {lines[key.value]}; "
                "the first would be dropped"
            )
        lines[key.value] = _line(key)


def _refuse_scalar(node: yaml.ScalarNode, name: str) -> None:
    """Raise InputError for a number that is invalid or not finite."""
    if node.tag != "tag:yaml.org,2002:float":
        return
    text = node.value.replace("_", "").lower()
    infinite = text.lstrip("+-") in (".nan", ".inf")
    if infinite or (":" not in text and not math.isfinite(float(text))):
        raise InputError(f"{name}, line {_line(node)}: {node.value[:40]} is not a finite number")


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1


def main(names: list[str]) -> int:
    """Check files; print the first error, and return the exit status."""
    try:
        for name in names:
            read(Path(name), name)
    except REFUSALS as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
