"""Rule dependencies: dependencies between the words of a dataset, from its annotated trees."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from readingtimes.files import atomic
from recency.errors import InputError
from recency.evaluations.dependencies.gcg import annotation
from recency.evaluations.dependencies.gcg.derivation import dependencies

FIRST, SECOND, COREFERENCE = TYPES = ("first_argument", "second_argument", "coreference")
COLUMNS = ["type", "item", "sentence", "head", "dependent"]
NUMBERS = {1: FIRST, 2: SECOND}

#: Every reading of the trees, by its name in the table of counts.
READINGS = {
    "graph": {"rule": "graph"},
    "categories": {"rule": "categories"},
    "categories, antecedents": {"rule": "categories", "antecedents": True},
    "categories, raising": {"rule": "categories", "raising": True},
    "categories, antecedents, raising": {
        "rule": "categories",
        "antecedents": True,
        "raising": True,
    },
}


def main(
    trees: str | Path,
    leaves: str | Path,
    words: str | Path,
    out: str | Path,
    counts: str | Path,
    options: Mapping | None = None,
) -> None:
    """Write the dependencies whose head follows its dependent, and their number by reading.

    `out` (Parquet) has type, item, sentence, head and dependent; the last two are word_ids of
    `words`. `counts` (CSV) has reading, type, tokens, words and chosen: the dependencies between
    tokens of the trees and between words of the dataset, for each of READINGS. `options` are those
    of the config: rule, antecedents and raising (gcg/derivation.py), and quoted: whether
    coreference of a word after an opening quotation mark counts. Third and later arguments, and
    arguments of punctuation, are excluded.
    """
    options = {"rule": "graph", "quoted": False} | dict(options or {})
    quoted = options.pop("quoted")
    wanted = {name: value for name, value in options.items() if value}
    stories = annotation.read(Path(trees), Path(leaves))
    table_words = _words(pd.read_parquet(words), Path(leaves))
    rows, chosen = [], []
    for name, reading in READINGS.items():
        tokens = _between_tokens(stories, quoted, **reading)
        word_pairs = _between_words(tokens, table_words)
        if reading == wanted:
            chosen = word_pairs
        by_token = Counter(pair[0] for pair in tokens)
        by_word = Counter(pair[0] for pair in word_pairs)
        rows += [(name, t, by_token[t], by_word[t], reading == wanted) for t in TYPES]
    table = pd.DataFrame(chosen, columns=COLUMNS).sort_values(
        ["head", "type", "dependent"], kind="stable"
    )
    with atomic(out) as path:
        table.to_parquet(path, compression="zstd", index=False)
    with atomic(counts) as path:
        pd.DataFrame(rows, columns=["reading", "type", "tokens", "words", "chosen"]).to_csv(
            path, index=False, lineterminator="\n"
        )


def _words(words: pd.DataFrame, leaves: Path) -> dict[tuple[int, int], tuple[int, str, int]]:
    """Return (story, number) → word_id, item and sentence; items are named by their number."""
    stories = pd.to_numeric(words["item"], errors="coerce")
    if stories.isna().any():
        item = words["item"][stories.isna()].iloc[0]
        raise InputError(f"{leaves} numbers its stories; the dataset has an item {item!r}")
    numbers = words.groupby("item", sort=False).cumcount() + 1
    places = zip(stories.astype(int), numbers)
    return dict(zip(places, zip(words.word_id, words["item"], words.sentence)))


Place = tuple[int, int]


def _between_tokens(
    stories: list[list[annotation.Sentence]], quoted: bool, **reading: bool | str
) -> list[tuple[str, Place, Place]]:
    """Return (type, position of the head, position of the dependent) where the head comes later."""
    pairs = []
    for story in stories:
        for sentence in story:
            for dependency in dependencies(sentence.tree, **reading):
                if sentence.is_punctuation(dependency.head):
                    continue
                if dependency.dependent < dependency.head and dependency.number in NUMBERS:
                    pair = (sentence.places[dependency.head], sentence.places[dependency.dependent])
                    pairs.append((NUMBERS[dependency.number], *pair))
            for token, (number, other) in sentence.coreference():
                if number >= len(story) or other >= len(story[number].places):
                    continue  # the tag points to no token
                if not quoted and sentence.follows_quotation_mark(token):
                    continue
                if (number, other) < (sentence.number, token):
                    pair = (sentence.places[token], story[number].places[other])
                    pairs.append((COREFERENCE, *pair))
    return pairs


def _between_words(tokens: list[tuple[str, Place, Place]], table_words: dict) -> list[tuple]:
    """Return distinct rows of COLUMNS, without dependencies within a word ("boar" and "'s")."""
    rows = {}
    for kind, head, dependent in tokens:
        for position in (head, dependent):
            if position not in table_words:
                raise InputError(
                    f"dependencies: story {position[0]} has a word {position[1]} in the trees but not "
                    "in the dataset; use the same version of both"
                )
        word, item, sentence = table_words[head]
        other = table_words[dependent][0]
        if other < word:
            rows[kind, word, other] = (kind, item, sentence, word, other)
    return list(rows.values())
