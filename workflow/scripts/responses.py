"""Read how long each subject took for each word of a reading-time corpus; nothing is filtered."""

from collections.abc import Mapping
from pathlib import Path

import datasets
import job
import pandas as pd
from datasets.contracts import check_responses
from datasets.reading import nearest


def main(
    files: Mapping[str, str | Path],
    words: str | Path,
    parser: str,
    measure: str,
    options: Mapping,
    out: str | Path,
) -> None:
    """Write subject, word_id, time_ms and the columns that filters use, one row a response.

    `files` is role → path, `words` contract 1, `parser` a module of datasets/, `measure` one of its
    MEASURES, `options` its own keyword arguments.
    """
    module = datasets.parser(parser)
    if module.MEASURES is not None and measure not in module.MEASURES:
        raise job.InputError(
            f"measures → {measure}: parser {parser} has no such measure; "
            f"{nearest(measure, module.MEASURES)}It has: {', '.join(module.MEASURES)}"
        )
    chosen = datasets.accepted(module, module.responses, dict(options or {}))
    known = pd.read_parquet(words)
    paths = {role: Path(path) for role, path in files.items()}
    frame = module.responses(paths, known, measure, **chosen)
    frame = check_responses(frame, known, f"parser {parser}, {measure}")
    with job.whole(out) as part:
        frame.to_parquet(part, compression="zstd", index=False)


if __name__ == "__main__":
    with job.logged(snakemake.log[0]):
        settings = dict(snakemake.params)
        files = dict(zip(settings.pop("roles"), snakemake.input.files, strict=True))
        known = snakemake.input.words
        main(files=files, words=known, out=snakemake.output[0], **settings)
