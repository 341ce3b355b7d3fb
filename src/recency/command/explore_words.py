"""`recency explore`: tables of words, surprisals and times in, a page out."""

import shlex

import recency
from recency.command import table_files
from recency.errors import InputError


def run(words: str, surprisals: str | None, times: str | None, title: str, out: str) -> None:
    """Write the page to `out`, and say so."""
    if not out.endswith(".html"):
        raise InputError(f"--out {out}: a page ends in .html")
    options = {"--surprisals": surprisals, "--times": times, "--title": title, "--out": out}
    given = [part for name, value in options.items() if value for part in (name, value)]
    tables = [
        None if name is None else table_files.read(name) for name in (words, surprisals, times)
    ]
    command = shlex.join(["recency", "explore", words, *given])
    recency.explore(*tables, title=title or words, command=command).save(out)
    print(f"{out}: open it in a browser")
