"""Read the words of a reading-time corpus into a table (contract 1)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from readingtimes import parsers, predictor_tables
from readingtimes.contracts import check_words
from readingtimes.errors import kept_warnings
from readingtimes.files import write_parquet
from recency.errors import REFUSALS, InputError
from recency.reading.tagger import tag


@contextmanager
def _naming(files: Mapping[str, str | Path]) -> Iterator[None]:
    """Add the file names to errors without one."""
    try:
        yield
    except REFUSALS as error:
        if any(str(path) in str(error) for path in files.values()):
            raise
        raise InputError(f"{', '.join(map(str, files.values()))}: {error}") from error


def read(module, parser: str, files: Mapping[str, Path], options: Mapping) -> pd.DataFrame:
    """Read and check words by a parser's module; errors name the files."""
    with _naming(files):
        return check_words(module.words(files, **options), f"parser {parser}")


def main(
    files: Mapping[str, str | Path],
    parser: str,
    options: Mapping,
    out: str | Path,
    measures: Sequence[str] = (),
    tagger: Sequence[str | Path] = (),
    predictors: Sequence[Mapping] = (),
) -> None:
    """Write the words of a dataset: contract 1 and the parser's further columns.

    Parameters
    ----------
    files : mapping of str to path
        Role → file.
    parser, options : str, mapping
        A module of `readingtimes.parsers`, and its keyword arguments.
    out : path
        The Parquet file to write.
    measures : sequence of str
        The dataset's measures, for parsers of tables with both words and measures.
    tagger : sequence of path
        At most one file of `recency.reading.tagger`, for the column `pos`.
    predictors : sequence of mapping
        Tables of further columns: parameters of `predictor_tables.attach`.
    """
    module = parsers.parser(parser)
    chosen = parsers.accepted(module, module.words, dict(options or {}))
    if module.MEASURES is None:
        chosen["measures"] = list(measures)
    with kept_warnings() as notes:
        frame = read(module, parser, {role: Path(path) for role, path in files.items()}, chosen)
    with _naming(files):
        if tagger and "pos" in frame:
            raise InputError(
                "the words have parts of speech of their own (pos); leave the dataset's `tagger` out, or "
                "the role or column that they are read from"
            )
        for trained in tagger:
            frame = frame.assign(pos=tag(frame, trained))
    for table in predictors:
        frame = predictor_tables.attach(frame, **table)
    if notes:
        frame.attrs["notes"] = notes  # for the check's page
    write_parquet(frame, out)
