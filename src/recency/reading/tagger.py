"""Train a part-of-speech tagger on a treebank, and apply it to words of a dataset.

The tagger is NLTK's averaged perceptron (Collins, 2002; Honnibal, 2013) on universal tags, for
treebanks of any language. Words are split as in treebanks (`can't` into `ca` and `n't`), tagged in
order, and the tags of a word's parts are combined by `parts_of_speech.of`.
"""

import json
import random
from pathlib import Path

import pandas as pd

from readingtimes import parts_of_speech
from readingtimes.files import atomic
from recency.errors import InputError

KNOWN = 0.5
"""Minimum share of a corpus's words in the treebank: EWT has 90 % of English words, 17 % of German ones."""
EPOCHS = 5
SEED = 1
"""Random seed of the order of sentences."""


def train(treebank: str | Path, tagger: str | Path, quality: str | Path) -> None:
    """Train a tagger on a treebank's training set, and evaluate it on its test set.

    `treebank` is the table of rule treebank, and `tagger` the file to write. `quality` gets
    part_of_speech, words (in the test set), found (words tagged so) and right (correctly tagged so),
    with a row `all`.
    """
    from nltk.tag.perceptron import PerceptronTagger

    table = pd.read_parquet(treebank, columns=["split", "sentence", "word", "upos"])
    parts = {split: _sentences(part) for split, part in table.groupby("split", sort=False)}
    perceptron = PerceptronTagger(load=False)
    random.seed(SEED)  # NLTK shuffles with Python's generator
    perceptron.train(parts["train"], nr_iter=EPOCHS)
    rows = _quality(perceptron, parts["test"])
    weights, tag_dictionary, tags = perceptron.encode_json_obj()
    with atomic(tagger) as path:
        model = {"weights": weights, "known": tag_dictionary, "tags": sorted(tags)}
        model["vocabulary"] = sorted({word.lower() for part in parts["train"] for word, _ in part})
        path.write_text(json.dumps(model, ensure_ascii=False, sort_keys=True), encoding="utf-8")
    with atomic(quality) as path:
        rows.to_csv(path, index=False, lineterminator="\n")


def tag(words: pd.DataFrame, tagger: str | Path) -> pd.Series:
    """Return noun, verb or other for each word (contract 1), by a tagger written by `train`.

    Raises InputError if the treebank has too few of the words to be in their language.
    """
    from nltk.tag.perceptron import PerceptronTagger

    model = json.loads(Path(tagger).read_text(encoding="utf-8"))
    trained = PerceptronTagger.decode_json_obj((model["weights"], model["known"], model["tags"]))
    parts = [part.lower() for word in words.word for part in parts_of_speech.parts(word)]
    letters = [part for part in parts if part.isalpha()]
    there = set(model["vocabulary"])
    share = sum(part in there for part in letters) / max(1, len(letters))
    if letters and share < KNOWN:
        raise InputError(
            f"the treebank that the tagger is trained on has {share:.0%} of these words: one of their "
            "language has most; name that one as `tagger`"
        )
    tags_found: list[str] = []
    for _, sentence in words.groupby("sentence", sort=False).word:
        parts = [parts_of_speech.parts(word) for word in sentence]
        tags = iter(
            [predicted for _, predicted in trained.tag([part for word in parts for part in word])]
        )
        tags_found += [parts_of_speech.of([next(tags) for _ in word]) for word in parts]
    return pd.Series(tags_found, index=words.index, dtype="str")


def _sentences(table: pd.DataFrame) -> list[list[tuple[str, str]]]:
    """Return the sentences of a split as lists of (word, tag)."""
    groups = table.groupby("sentence", sort=False)
    return [list(zip(sentence.word, sentence.upos, strict=True)) for _, sentence in groups]


def _quality(tagger, sentences: list[list[tuple[str, str]]]) -> pd.DataFrame:
    """Count a tagger's correct tags of nouns, verbs and other words."""
    gold = [parts_of_speech.of([tag]) for sentence in sentences for _, tag in sentence]
    guessed = [
        parts_of_speech.of([tag])
        for sentence in sentences
        for _, tag in tagger.tag([word for word, _ in sentence])
    ]
    pairs = pd.DataFrame({"told": gold, "found": guessed})
    right = pairs[pairs.told == pairs.found]
    counts = pd.DataFrame(
        {
            "words": pairs.told.value_counts(),
            "found": pairs.found.value_counts(),
            "right": right.told.value_counts(),
        }
    ).reindex(["noun", "verb", "other"])
    counts.loc["all"] = counts.sum()
    return counts.fillna(0).astype("int64").rename_axis("part_of_speech").reset_index()
