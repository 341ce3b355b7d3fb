"""Rule fixations: the fixations of a reading-time corpus (contract 4), for contexts of readers."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from readingtimes import fixations, parsers
from readingtimes.contracts import check_fixations
from readingtimes.files import write_parquet
from recency.errors import InputError

#: Least share of first-pass times that fixations of the same readings give.
LEAST = 0.95


def main(
    files: Mapping[str, str | Path],
    words: str | Path,
    responses: str | Path,
    measure: str,
    parser: str,
    options: Mapping,
    out: str | Path,
) -> None:
    """Write subject, item, order, word_id, onset_ms and duration_ms, one row per fixation on a word.

    The measure of the fixations is compared with the responses. Without fixations in the files, words
    with a first-pass time count as fixated once each in reading order, and the log says so.

    Parameters
    ----------
    files : mapping
        Role → path of the fixations, or of the responses.
    words, responses : path
        Contracts 1 and 2; the responses are unfiltered.
    measure : str
        The measure of the responses: FP, GD or FFD.
    parser, options
        Module of readingtimes.parsers, and its options.
    out : path

    Raises
    ------
    InputError
        If fewer than the share LEAST of the responses are those of the fixations.
    """
    module = parsers.parser(parser)
    table, times = pd.read_parquet(words), pd.read_parquet(responses)
    paths = {role: Path(path) for role, path in files.items()}
    frame = None
    if hasattr(module, "read_fixations"):
        given = parsers.accepted(module, module.responses, dict(options or {}))
        frame = module.read_fixations(paths, table, **given)
    if frame is None:
        frame = check_fixations(fixations.assume_reading_order(times, table), table, measure)
        note = (
            f"the files have no fixations: the order is assumed, each of {len(frame):,} words with a "
            f"time {measure} as fixated once, in reading order"
        )
    else:
        frame = check_fixations(frame, table, f"parser {parser}, fixations")
        share, count = fixations.agreement(frame, table, times, measure)
        note = f"{share:.2%} of {count:,} times {measure} are those of the fixations"
        if not share >= LEAST:
            raise InputError(
                f"{' and '.join(map(str, paths.values()))}: {note}, which are to be at least {LEAST:.0%}: they "
                "are of other readings; compare subjects and texts of both files"
            )
    print(
        f"{len(frame):,} fixations of {frame.subject.nunique():,} subjects; {note}", file=sys.stderr
    )
    write_parquet(frame, out)
