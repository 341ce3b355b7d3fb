"""`recency verify`: follow results back to raw data, and compare every file with its record."""

import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from recency import digests, lineage
from recency.command import lists
from recency.errors import InputError
from recency.lineage import Record

AIDS = ("logs", "benchmarks", "status.", "timings.", "lineage", "checkpoints", "tensorboard", "passages-", "generation_config", "special_tokens_map")  # fmt: skip
"""Beginnings of names of files that tell of runs, or accompany a network."""


def run(paths: Sequence[str], configfile: Sequence[str] = (), config: Sequence[str] = ()) -> None:
    """Print the chain of results, or raise InputError at the first break.

    Parameters
    ----------
    paths
        Files or folders of results; default those of the study that the other arguments define,
        without them all below `results`.
    configfile, config
        Overlays on config.yaml, and single settings.
    """
    chosen = _select_files([Path(p).absolute() for p in paths or lists.results(configfile, config)])
    for root, files in chosen.items():
        reached = lineage.chain(root, files)
        project = next((p for p in root.parents if (p / "Snakefile").exists()), Path.cwd())
        broken, gone = breaks(root, reached, project)
        print("\n".join(description(root, reached, files)))
        if broken:
            first, *others = broken
            more = f" (and {len(others):,} more)" if others else ""
            raise InputError(
                f"the chain breaks at {os.path.relpath(root / first)}: {broken[first]}{more}; put the original "
                f"back, or make it again: rm {shlex.quote(os.path.relpath(root / first))}, and repeat the run"
            )
        if gone:
            more = f" and {len(gone) - 1:,} more" if len(gone) > 1 else ""
            print(f"  not there any more: {gone[0]}{more}")
        if files is None and (others := _without_record(root, reached)):
            more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
            print(f"  without a record, and read by nothing above: {others[0]}{more}")
        print("  every recorded file is as it was written, and made from the files that are there")


def _select_files(paths: Sequence[Path]) -> dict[Path, list[str] | None]:
    """Return folder of results → files in it that are followed; None for all."""
    chosen: dict[Path, list[str] | None] = {}
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist")
        root = lineage.root_of(path / "file" if path.is_dir() else path)
        if root is None:
            inside = sorted(marker.parents[1] for marker in path.rglob(_MARKER))
            if not inside:
                raise InputError(f"{path} is in no folder of results, and has none below it")
            chosen |= dict.fromkeys(inside)
        elif root == path:
            chosen[root] = None
        elif chosen.setdefault(root, []) is not None:
            chosen[root] += _recorded_files(root, path)
    return chosen


def _recorded_files(root: Path, path: Path) -> list[str]:
    """Return a file, or the files of a folder, that have records; paths are relative to `root`."""
    file = path.relative_to(root).as_posix()
    if lineage.read(root, file) is not None:
        return [file]
    inside = [name for name in lineage.records(root) if name.startswith(f"{file}/")]
    if not inside:
        raise InputError(f"{path}: the workflow has no record of it")
    return inside


_MARKER = f"{lineage.FOLDER}/{lineage.ROOT}"


def _without_record(root: Path, reached: Mapping[str, Record]) -> list[str]:
    """Return the files in a folder of results that no job has recorded, as far as they are no aids."""
    files = []
    for where, folders, names in os.walk(root):
        folder = Path(where).relative_to(root)
        folders[:] = [
            name
            for name in folders
            if name[0] != "." and name not in AIDS and (folder / name).as_posix() not in reached
        ]
        files += [
            (folder / name).as_posix()
            for name in names
            if name[0] != "." and not name.startswith(AIDS) and not name.endswith(".history.json")
        ]
    return sorted(set(files) - set(reached))


def breaks(
    root: Path, reached: Mapping[str, Record], project: Path
) -> tuple[dict[str, str], list[str]]:
    """Return file → fault of the files of a chain, all of which are read, and those that are gone."""
    paths = {file: root / file for file in reached if (root / file).exists()}
    outside = {name: project / name for record in reached.values() for name in record.outside}
    there = {name: path for name, path in outside.items() if path.exists()}
    with ThreadPoolExecutor() as pool:
        contents = dict(zip(paths, pool.map(digests.digest, paths.values()), strict=True))
        present = dict(zip(there, pool.map(digests.digest, there.values()), strict=True))
    checked: dict[tuple[Path | None, str], str] = {
        (None, name): present.get(name, "") for name in outside
    }
    faults = {
        file: lineage.problem(reached[file], root, file, content, checked)
        for file, content in contents.items()
    }
    for record in reached.values():
        for name in record.inputs:
            if name not in reached and (root / name).exists():
                faults[name] = "the workflow has no record of it"
    gone = sorted(reached.keys() - paths.keys()) + sorted(outside.keys() - there.keys())
    return {file: wrong for file, wrong in faults.items() if wrong}, gone


def description(
    root: Path, reached: Mapping[str, Record], files: Sequence[str] | None
) -> list[str]:
    """Return a line per kind of job from results to raw data; per file if `files` were named."""
    inputs = sorted({(name, value) for r in reached.values() for name, value in r.outside.items()})
    where = os.path.relpath(root)
    lines = [f"{where}: {len(reached):,} files, {len(inputs):,} inputs from elsewhere"]
    groups: dict[str, list[str]] = {}
    for file in reversed(_from_results(reached)):
        groups.setdefault(file if files else reached[file].rule, []).append(file)
    groups = dict(reversed(groups.items()))  # each after all that read it
    width = max(map(len, groups), default=0)
    for name, members in groups.items():
        read = {groups_of for file in members for groups_of in _names(reached, file, bool(files))}
        contents = "".join(f"{file} {reached[file].sha256}\n" for file in members)
        digest = hashlib.sha256(contents.encode()).hexdigest()[:12]
        count = "" if files else f"{len(members):>7,} file{'s' * (len(members) != 1):1}"
        adopted = "  adopted" if any(reached[file].adopted for file in members) else ""
        arrow = f"  ← {', '.join(sorted(read - {name}))}" if read - {name} else ""
        lines.append(f"  {name:{width}}{count}  {digest}{adopted}{arrow}")
    lines += [f"  input {name}  {value[:12]}" for name, value in inputs]
    return lines


def _names(reached: Mapping[str, Record], file: str, single: bool) -> list[str]:
    """Return the files, or the rules, that a file was made from."""
    inputs = [name for name in reached[file].inputs if name in reached]
    return inputs if single else [reached[name].rule for name in inputs]


def _from_results(reached: Mapping[str, Record]) -> list[str]:
    """Return the files of a chain, each before those that it was made from."""
    order: dict[str, None] = {}
    for start in reached:
        todo = [(start, False)]
        while todo:
            file, is_done = todo.pop()
            if is_done:
                order[file] = None
            elif file not in order and file in reached:
                todo.append((file, True))
                todo += [(name, False) for name in reached[file].inputs if name not in order]
    return list(order)[::-1]
