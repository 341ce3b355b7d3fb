"""Write the stimuli of the simulated reading experiments: stories outside the training data."""

from itertools import pairwise

import pandas as pd

from readingtimes.files import atomic
from recency.simulation import text as simulate_text


def stimuli(seed: int, stories: int, **settings: float) -> pd.DataFrame:
    """Generate stories to read, one row per word in reading order.

    Columns: item (the story), sentence (from 1, unique over the stories), position (from 1 within
    the sentence), word (with its punctuation).
    """
    rows, sentence = [], 0
    generated = simulate_text.stories(
        stories, seed, simulate_text.STIMULI, simulate_text.rates(**settings)
    )
    for number, story in enumerate(generated, start=1):
        item = f"story-{number:02d}"
        for start, end in pairwise([*story.sentences, len(story.words)]):
            sentence += 1
            words = enumerate(story.words[start:end], start=1)
            rows.extend((item, sentence, position, word) for position, word in words)
    return pd.DataFrame(rows, columns=["item", "sentence", "position", "word"])


def dependencies(seed: int, stories: int, **settings: float) -> pd.DataFrame:
    """Return the grammar's dependencies of the same stories, with heads after their dependents.

    Columns: kind (subject, object, coreference), head, dependent (both word_id, counted from 0 over
    the stories in reading order), feature (number, or a pronoun's gender or number).
    """
    rows, offset = [], 0
    generated = simulate_text.stories(
        stories, seed, simulate_text.STIMULI, simulate_text.rates(**settings)
    )
    for story in generated:
        rows.extend(
            (d.kind, d.head + offset, d.dependent + offset, d.feature) for d in story.dependencies
        )
        offset += len(story.words)
    return pd.DataFrame(rows, columns=["kind", "head", "dependent", "feature"])


def main(out: str, stories: int, seed: int, **settings: float) -> None:
    """Write the stimuli as CSV; `settings` are those of the training text, for the same language."""
    with atomic(out) as part:
        stimuli(seed, stories, **settings).to_csv(part, index=False, lineterminator="\n")
