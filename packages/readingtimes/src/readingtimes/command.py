"""The command `readingtimes`: list corpora, write one as tables, describe a table."""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from readingtimes import loading
from readingtimes.errors import InputError, warnings_in_lines
from readingtimes.files import atomic, write_parquet


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0, or 2 for invalid input."""
    with contextlib.suppress(AttributeError):
        if sys.stdout.isatty():  # Windows' code pages lack characters
            sys.stdout.reconfigure(errors="replace")
        else:  # a table must not lose any
            sys.stdout.reconfigure(encoding="utf-8")
    parser = argparse.ArgumentParser("readingtimes", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the corpora, one a line")
    load = commands.add_parser("load", help="write the words and responses of a corpus as Parquet")
    load.add_argument("--csv", action="store_true", help="as CSV instead")
    load.add_argument("name", help="a corpus, as `list` has them")
    load.add_argument("--measure", action="append", help="one measure, such as FP; default: all")
    load.add_argument("--words", action="store_true", help="only the words")
    load.add_argument("--all", action="store_true", help="without the filters of the definition")
    load.add_argument("--mirror", action="append", default=[], help="a folder with copies")
    load.add_argument("--out", type=Path, default=Path(), help="folder to write to")
    describe = commands.add_parser(
        "describe", help="what a table holds, and whether it can be read"
    )
    describe.add_argument("file", type=Path)
    describe.add_argument("--words", type=Path, help="the table of words, if `file` has none")
    asked = vars(parser.parse_args(argv))
    try:
        with warnings_in_lines():
            {"list": _list, "load": _load, "describe": _describe}[asked.pop("command")](**asked)
    except (InputError, OSError) as error:
        print(f"readingtimes: {error}", file=sys.stderr)
        return 2
    return 0


def _list() -> None:
    """Print name, language, measures and citation of each corpus."""
    for name in loading.corpora():
        entry = loading.definition(name)
        language, measures = entry.get("language", "en"), ", ".join(entry["measures"])
        print(f"{name:24} {language!s:4} {measures:40} {entry.get('cite', '')}")


def _load(
    name: str,
    measure: list[str] | None,
    words: bool,
    all: bool,
    mirror: list[str],
    out: Path,
    csv: bool,
) -> None:
    """Write <name>.words.parquet (.csv), and <name>.<measure>.parquet for each measure."""
    asked = [] if words else measure
    text, responses = loading.load(name, asked, as_published=not all, mirrors=mirror)
    for part, table in {"words": text, **responses}.items():
        path = out / f"{name}.{part}.{'csv' if csv else 'parquet'}"
        if csv:
            with atomic(path) as partial:
                table.to_csv(partial, index=False, lineterminator="\n")
        else:
            write_parquet(table, path)
        print(f"{path}: {len(table):,} rows")


def _describe(file: Path, words: Path | None) -> None:
    """Print a table's columns, what they are taken for, and how its rows were read."""
    from readingtimes.own import begin, columns

    table = begin.described(file)
    other = begin.described(words) if words else None
    entry = begin.entry(table, other, None, None, set())
    lines = [f"{file}: {len(table.table.frame):,} rows", *columns.shown(table.columns)]
    lines += [*table.notes, *entry.notes]
    print("\n".join(lines))
    if entry.against:
        raise InputError(f"{file}: {'; '.join(entry.against)}")


if __name__ == "__main__":
    sys.exit(main())
