"""Read the unfiltered responses of a reading-time corpus."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from readingtimes import parsers
from readingtimes.contracts import check_responses
from readingtimes.errors import kept_warnings
from readingtimes.files import write_parquet
from readingtimes.measures import read


def main(
    files: Mapping[str, str | Path],
    words: str | Path,
    parser: str,
    measure: str,
    options: Mapping,
    out: str | Path,
) -> None:
    """Write subject, word_id, time_ms and the columns for filters, one row per response.

    `files` is role → path, `words` the path of the table of words (contract 1), `parser` a module of
    readingtimes.parsers, `measure` one of its MEASURES or one that follows from them, `options` its
    keyword arguments.
    """
    module = parsers.parser(parser)
    chosen = parsers.accepted(module, module.responses, dict(options or {}))
    words_table = pd.read_parquet(words)
    paths = {role: Path(path) for role, path in files.items()}
    with kept_warnings() as notes:
        frame = read(module, paths, words_table, measure, chosen)
    frame = check_responses(frame, words_table, f"parser {parser}, {measure}")
    if notes:
        frame.attrs["notes"] = notes  # for the check's page
    write_parquet(frame, out)
