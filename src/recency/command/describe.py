"""`recency describe`: what a table holds, and the dataset's YAML to begin from."""

from __future__ import annotations

import os
from pathlib import Path

from recency.command.lists import CHECKOUT
from recency.errors import InputError
from recency.files import atomic
from recency.reading.own import begin, profile
from recency.reading.own.begin import Described, Entry


def run(file: str, words: str | None, out: str | None) -> None:
    """Print what a table holds as YAML's comments, and below it the entry; or write that to `out`.

    `words` is the file of the words, or the dataset that has them, where `file` has times alone.
    """
    times = begin.described(Path(file))
    other = begin.described(Path(words)) if words and Path(words).exists() else None
    dataset = words if words and other is None else None
    if dataset is not None and os.path.sep in dataset:
        raise InputError(f"--words {words}: there is no such file")
    lines = _about(times) + (_about(other) if other else [])
    made = begin.entry(times, other, dataset, _datasets())
    lines += [_guesses(times, made)]
    lines += made.notes
    if made.problem and out is not None:
        lines.append(f"to be corrected: {made.problem}")
    text = begin.written(made, (_named(words if other else file), _named(file)), dataset)
    use = f"look at it: ./run check_{made.name} --configfile config.open.yaml {out or 'mine.yaml'}"
    if out is None:
        print("".join(f"# {line}".rstrip() + "\n" for line in [*lines, use]) + text, end="")
        return
    with atomic(out) as part:
        part.write_text(text, encoding="utf-8")
    print("\n".join([*lines, f"written to {out}; {use}"]))


def _about(table: Described) -> list[str]:
    """Give what a table holds, in lines."""
    size = f"{len(table.table.frame):,} rows, {len(table.columns)} columns"
    return [f"{table.path}: {size}", "", *profile.shown(table.columns), ""]


def _guesses(times: Described, made: Entry) -> str:
    """Give the columns of times in a line."""
    unit = "s" if times.roles.seconds else "ms"
    named = ", ".join(f"{name} in {column}" for name, column in times.roles.measures.items())
    kind = ", a column a subject" if times.roles.wide else ""
    kind = ", means over readers" if made.means else kind
    return f"times ({unit}): {named}{kind}"


def _datasets() -> set[str]:
    """Return the names of the datasets that the checkout around the working directory has."""
    from recency.workflow import loading

    for root in (Path.cwd(), *Path.cwd().parents):
        if all((root / name).is_file() for name in CHECKOUT):
            files = loading.corpus_files(root).values()
            return {name for content in files for name in content.get("datasets", {})}
    return set()


def _named(file: str) -> str:
    """Give a file's path as the workflow finds it: from the checkout's folder, or in full."""
    path = Path(os.path.abspath(file))
    for root in path.parents:
        if all((root / name).is_file() for name in CHECKOUT):
            return path.relative_to(root).as_posix()
    return path.as_posix()
