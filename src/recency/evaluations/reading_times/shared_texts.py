"""Sentences and texts that several datasets share, found by their words.

Responses to the same sentences share what is particular to these words, whoever read them: their scores are
not independent (UCL's self-paced and eye-tracking times, Natural Stories and its maze). Sentences are the
same where their letters are; texts are the same if they share a sentence of `LONG` letters or more, and a
shorter sentence is the same only within a text. An experiment's conditions of one stimulus are one text.
Datasets with a text in common are one sample.
"""

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from readingtimes.contracts import whole_units
from recency.endpoints import UNIT
from recency.figures.paths import File

LONG = 20


@dataclass(frozen=True)
class Places:
    """Where a dataset's sentences stand among those of all.

    Attributes
    ----------
    sample
        The name of all datasets that share texts, one of theirs.
    sentence, text
        A dataset's sentence (its number as text) → the key of the same sentence, and of its text, in all
        datasets.
    of_item, of_stimulus
        A dataset's text, or stimulus → its text's key.
    """

    sample: str
    sentence: Mapping[str, str]
    text: Mapping[str, str]
    of_item: Mapping[str, str]
    of_stimulus: Mapping[str, str]

    def placed(self, cells: pd.DataFrame, dataset: str) -> pd.DataFrame:
        """Return cells (subject, sentence, …) with these keys, and their texts.

        Subjects of different datasets are different people. The attribute `unit` of cells says what they
        have in place of a sentence: an item or a stimulus is a text, and another factor's levels are
        the dataset's own. Sentences of a stimulus are drawn together.
        """
        unit, kind = cells["sentence"].astype(str), cells.attrs.get(UNIT, "sentence")
        if kind == "sentence":
            text = unit.map(self.text)
            sentence = text if self.of_stimulus else unit.map(self.sentence)
        else:
            keys = {"item": self.of_item, "stimulus": self.of_stimulus}.get(kind, {})
            sentence = text = unit.map(keys).astype(object).fillna(f"{dataset}\t{kind}\t" + unit)
        subject = f"{dataset}\t" + cells["subject"].astype(str)
        placed = cells.assign(subject=subject, sentence=sentence, text=text)
        placed.attrs = dict(cells.attrs)
        return placed


class _Groups:
    """Union of what belongs together; each group is named by its first member."""

    def __init__(self) -> None:
        self._of: dict[Hashable, Hashable] = {}

    def find(self, member: Hashable) -> Hashable:
        """Return the name of a member's group."""
        self._of.setdefault(member, member)
        path = []
        while self._of[member] != member:
            path.append(member)
            member = self._of[member]
        self._of.update(dict.fromkeys(path, member))
        return member

    def join(self, one: Hashable, other: Hashable) -> None:
        """Put two members into the group of the first."""
        self._of[self.find(other)] = self.find(one)


def of_files(words: Sequence[File]) -> dict[str, Places]:
    """Return dataset → the places of its sentences, from the workflow's files, in folders named as datasets."""
    return find({Path(path).parent.name: path for path in words})


def find(words: Mapping[str, File]) -> dict[str, Places]:
    """Return dataset → the places of its sentences.

    Parameters
    ----------
    words
        Dataset → its words (item, sentence, word), a Parquet file.
    """
    sentences, stimuli = {}, {}
    for dataset, path in words.items():
        columns = ["item", "sentence", "word"]
        columns += ["stimulus"] if "stimulus" in pq.read_schema(path).names else []
        table = pd.read_parquet(path, columns=columns)
        units = whole_units(table)
        stimuli[dataset] = table[["item"]].assign(stimulus=units.astype(str)).drop_duplicates()
        if units.name == "sentence":
            stimuli[dataset] = stimuli[dataset][:0]
        grouped = table.groupby("sentence", sort=False)
        letters = grouped["word"].agg(
            lambda spelled: re.sub(r"[\W_]", "", "".join(spelled)).lower()
        )
        sentences[dataset] = pd.DataFrame({"item": grouped["item"].first(), "letters": letters})
    texts, samples, first = _Groups(), _Groups(), {}
    for dataset, table in sentences.items():
        for item, letters in zip(table["item"], table["letters"], strict=True):
            text = (dataset, item)
            if len(letters) >= LONG and letters in first:
                texts.join(first[letters], text)
                samples.join(first[letters][0], dataset)
            elif len(letters) >= LONG:
                first[letters] = text
            samples.find(dataset)
        for _, versions in stimuli[dataset].groupby("stimulus")["item"]:
            for item in versions:
                texts.join((dataset, versions.iloc[0]), (dataset, item))
    found = {}
    for dataset, table in sentences.items():
        of_item = {
            item: "\t".join(map(str, texts.find((dataset, item))))
            for item in table["item"].unique()
        }
        times: Counter = Counter()
        keys, at = {}, {}
        for number, item, letters in table.itertuples(name=None):
            text = of_item[item]
            times[text, letters] += 1  # a sentence that is repeated in a text is another one
            keys[str(number)] = f"{text}\t{letters}\t{times[text, letters]}"
            at[str(number)] = text
        of_stimulus = {
            stimulus: of_item[item]
            for item, stimulus in stimuli[dataset].itertuples(index=False, name=None)
        }
        found[dataset] = Places(str(samples.find(dataset)), keys, at, of_item, of_stimulus)
    return found
