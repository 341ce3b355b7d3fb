"""Write the training text of the simulated study: stories in a small, English-like language."""

from collections.abc import Iterator
from dataclasses import fields, replace

import pyarrow as pa
import pyarrow.parquet as pq

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.simulation import grammar
from recency.simulation.grammar import Rates, Story

BLOCK = 5_000  # stories in a row group, about 6 MB of text
SCHEMA = pa.schema([("document", pa.string()), ("text", pa.string())])
TEXT, STIMULI = 0, 1  # streams: with the same seed, training and test stories differ


def rates(**settings: float) -> Rates:
    """Return the grammar's rates from settings; raise InputError for unknown or impossible ones."""
    names = {field.name for field in fields(Rates)}
    for name, value in settings.items():
        if name not in names:
            raise InputError(
                f"simulation: the grammar has no rate {name!r}; it has {', '.join(sorted(names))}"
            )
        if value < 0 or (name not in ("shortest", "longest") and value > 1):
            raise InputError(f"simulation: {name} is {value}, which is not a probability")
    chosen = replace(Rates(), **settings)
    if not 1 <= chosen.shortest <= chosen.longest:
        raise InputError(
            f"simulation: stories of {chosen.shortest} (shortest) to {chosen.longest} (longest) "
            "sentences are impossible; use 1 <= shortest <= longest"
        )
    return chosen


def stories(number: int, seed: int, stream: int, settings: Rates) -> Iterator[Story]:
    """Generate stories, each from its own seed: the first ones do not depend on the number."""
    for index in range(number):
        yield grammar.generate(settings, seed, stream, index)


def main(out: str, documents: int, seed: int, **settings: float) -> None:
    """Write `documents` stories; `settings` are rates of `simulation.grammar.Rates`."""
    chosen = rates(**settings)
    shown = progress(documents, "simulated text", "stories")
    with atomic(out) as part, pq.ParquetWriter(part, SCHEMA, compression="zstd") as file:
        names, texts = [], []
        for index, story in enumerate(stories(documents, seed, TEXT, chosen), start=1):
            names.append(f"story-{index:06d}")
            texts.append(" ".join(story.words))
            if len(texts) == BLOCK or index == documents:
                file.write_table(pa.table([names, texts], schema=SCHEMA))
                shown.update(index)
                names, texts = [], []
