"""`recency verify`: follow results back to raw data, and compare every file with its record."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from recency import digests, lineage
from recency.command import lists
from recency.errors import InputError
from recency.lineage import Record


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
    for root, files in _chosen(paths or lists.results(configfile, config)).items():
        reached = lineage.chain(root, files)
        broken = breaks(root, reached)
        print("\n".join(description(root, reached, files)))
        if broken:
            first, *others = broken
            more = f" ({len(others):,} more files are not as they were written)" if others else ""
            raise InputError(f"the chain breaks at {root / first}: {broken[first]}{more}")
        print("  every file is as it was written, and made from the files that are there")


def _chosen(paths: Sequence[str]) -> dict[Path, list[str] | None]:
    """Return folder of results → files in it that are followed; None for all."""
    chosen: dict[Path, list[str] | None] = {}
    for path in map(Path, paths):
        if (path / lineage.FOLDER / lineage.ROOT).exists():
            chosen[path] = None
            continue
        if not path.exists():
            raise InputError(f"{path} does not exist")
        root = lineage.root_of(path.absolute()) if not path.is_dir() else None
        if root is None:
            inside = sorted(marker.parents[1] for marker in path.rglob(_MARKER))
            if not inside:
                raise InputError(
                    f"{path} has no records of the workflow, and is in no folder of results"
                )
            chosen |= dict.fromkeys(inside)
            continue
        file = path.absolute().relative_to(root).as_posix()
        if lineage.read(root, file) is None:
            raise InputError(f"{path}: the workflow has no record of it")
        if root.is_relative_to(Path.cwd()):
            root = root.relative_to(Path.cwd())
        chosen.setdefault(root, [])
        if chosen[root] is not None:
            chosen[root].append(file)
    return chosen


_MARKER = f"{lineage.FOLDER}/{lineage.ROOT}"


def breaks(root: Path, reached: Mapping[str, Record]) -> dict[str, str]:
    """Return file → fault of the files of a chain, all of which are read; results first."""
    paths = {file: root / file for file in reached if (root / file).exists()}
    outside = sorted({name for r in reached.values() for name in r.outside if os.path.exists(name)})
    with ThreadPoolExecutor() as pool:
        contents = dict(zip(paths, pool.map(digests.digest, paths.values()), strict=True))
        present = dict(zip(outside, pool.map(digests.digest, outside), strict=True))
    checked: dict[tuple[Path | None, str], str] = {
        (None, name): present.get(name, "") for r in reached.values() for name in r.outside
    }
    faults = {
        file: lineage.problem(reached[file], root, file, content, checked)
        for file, content in contents.items()
    }
    return {file: wrong for file, wrong in faults.items() if wrong}


def description(
    root: Path, reached: Mapping[str, Record], files: Sequence[str] | None
) -> list[str]:
    """Return a line per kind of job from results to raw data; per file if `files` were named."""
    inputs = sorted({(name, value) for r in reached.values() for name, value in r.outside.items()})
    gone = sum(not (root / file).exists() for file in reached)
    lines = [
        f"{root}: {len(reached):,} files, {len(inputs):,} inputs from elsewhere"
        + (f"; {gone:,} of the files are no longer there" if gone else "")
    ]
    groups: dict[str, list[str]] = {}
    for file in reversed(_from_results(reached)):
        groups.setdefault(file if files else reached[file].rule, []).append(file)
    groups = dict(reversed(groups.items()))  # each after all that read it
    width = max(map(len, groups), default=0)
    for name, members in groups.items():
        read = {groups_of for file in members for groups_of in _names(reached, file, bool(files))}
        contents = "".join(f"{file} {reached[file].sha256}\n" for file in members)
        digest = hashlib.sha256(contents.encode()).hexdigest()[:12]
        count = "" if files else f"{len(members):>5,} file{'s' * (len(members) != 1):1}"
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
