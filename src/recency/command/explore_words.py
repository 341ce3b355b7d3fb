"""`recency explore`: write an explorer page for tables of words, surprisals and times."""

import shlex

import recency
from recency.command import table_files
from recency.errors import InputError


def run(words: str, surprisals: str | None, times: str | None, title: str, out: str) -> None:
    """Write the page to `out`, and print its path."""
    if not out.endswith(".html"):
        raise InputError(f"--out {out}: the name of a page must end in .html")
    options = {"--surprisals": surprisals, "--times": times, "--title": title, "--out": out}
    given = [part for name, value in options.items() if value for part in (name, value)]
    tables = [
        None if name is None else table_files.read(name) for name in (words, surprisals, times)
    ]
    command = shlex.join(["recency", "explore", words, *given])
    recency.explore(*tables, title=title or words, command=command).save(out)
    print(f"{out}: open it in a browser")
