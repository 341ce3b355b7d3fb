"""Read the unfiltered responses of a reading-time corpus."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from readingtimes import parsers
from readingtimes.contracts import check_responses
from readingtimes.files import write_parquet
from readingtimes.names import hint
from recency.errors import InputError


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
    readingtimes.parsers, `measure` one of its MEASURES, `options` its keyword arguments.
    """
    module = parsers.parser(parser)
    if module.MEASURES is not None and measure not in module.MEASURES:
        raise InputError(
            f"measures → {measure}: parser {parser} has no such measure; "
            f"{hint(measure, module.MEASURES)}It has: {', '.join(module.MEASURES)}"
        )
    chosen = parsers.accepted(module, module.responses, dict(options or {}))
    words_table = pd.read_parquet(words)
    paths = {role: Path(path) for role, path in files.items()}
    frame = module.responses(paths, words_table, measure, **chosen)
    frame = check_responses(frame, words_table, f"parser {parser}, {measure}")
    write_parquet(frame, out)
