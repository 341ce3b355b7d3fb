"""Read the words of a reading-time corpus (contract 1)."""

from collections.abc import Mapping
from pathlib import Path

import datasets
import job
from datasets.contracts import check_words


def main(files: Mapping[str, str | Path], parser: str, options: Mapping, out: str | Path) -> None:
    """Write item, sentence, position, word_id and word, as the parser reads them.

    `files` is role → path, `parser` a module of datasets/, `options` its own keyword arguments.
    """
    module = datasets.parser(parser)
    chosen = datasets.accepted(module, module.words, dict(options or {}))
    frame = module.words({role: Path(path) for role, path in files.items()}, **chosen)
    frame = check_words(frame, f"parser {parser}")
    with job.whole(out) as part:
        frame.to_parquet(part, compression="zstd", index=False)


if __name__ == "__main__":
    with job.logged(snakemake.log[0]):
        settings = dict(snakemake.params)
        files = dict(zip(settings.pop("roles"), snakemake.input.files, strict=True))
        main(files=files, out=snakemake.output[0], **settings)
