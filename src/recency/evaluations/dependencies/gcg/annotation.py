"""Annotated stories: trees published without words, combined with the words and their positions."""

import re
from dataclasses import dataclass
from pathlib import Path

from recency.errors import InputError
from recency.evaluations.dependencies.gcg.categories import is_bracket, parse
from recency.evaluations.dependencies.gcg.trees import Tree
from recency.evaluations.dependencies.gcg.trees import parse as read_trees

#: Placeholder of a word in trees published without words; mark of a new story.
LEAF, STORY = "LEAF!", "!ARTICLE"
OPENING = ("``", "`")  # quotation marks of the Penn Treebank
_CODE = re.compile(r"(.+)/(\d+)\.(\d+)(?:\.\w+)?")


@dataclass
class Sentence:
    """A tree with its words, their positions (story, word of the story from 1), and its number."""

    tree: Tree
    words: list[str]
    places: list[tuple[int, int]]
    number: int  # in its story, from 0

    def is_punctuation(self, token: int) -> bool:
        """Return whether a token is punctuation (or a bracket such as -LRB-)."""
        word = self.words[token]
        return is_bracket(word) or not any(letter.isalnum() for letter in word)

    def follows_quotation_mark(self, token: int) -> bool:
        """Return whether an opening quotation mark directly precedes a token."""
        return token > 0 and self.words[token - 1] in OPENING

    def coreference(self) -> list[tuple[int, tuple[int, int]]]:
        """Return (token from 0, (sentence of the story from 0, token from 0) of its antecedent)."""
        tags = [parse(leaf.label).antecedent for leaf in self.tree.leaves()]
        return [(token, (tag[0], tag[1] - 1)) for token, tag in enumerate(tags) if tag]


def read(trees: Path, leaves: Path) -> list[list[Sentence]]:
    """Read stories of sentences from one tree per line and a treebank with words `/story.word`.

    `leaves` are Penn trees (traces are skipped) in the same order; `word/1.10.2` is a part of the
    tenth word of story 1. Raises InputError where the numbers of words differ, or where a tree has
    different words.
    """
    words = _leaves(leaves)
    stories: list[list[Sentence]] = []
    used = 0
    for line, text in enumerate(Path(trees).read_text(encoding="utf-8").splitlines(), 1):
        if text.strip() == STORY:
            stories.append([])
            continue
        where = f"{trees}, line {line}"
        for tree in read_trees(text, where):
            if not stories:
                raise InputError(f"{where}: a tree precedes the first {STORY}")
            tokens = tree.leaves()
            here = words[used : used + len(tokens)]
            used += len(tokens)
            if len(here) < len(tokens):
                raise InputError(f"{where}: {leaves} ends before; it has {len(words):,} words")
            for leaf, (word, _) in zip(tokens, here):
                if leaf.word not in (LEAF, word):
                    raise InputError(f"{where}: {leaf.word!r} is {word!r} in {leaves}")
            spelled, places = [word for word, _ in here], [position for _, position in here]
            if len({story for story, _ in places}) > 1:
                raise InputError(f"{where}: the sentence spans two stories of {leaves}")
            stories[-1].append(Sentence(tree, spelled, places, len(stories[-1])))
    if used != len(words):
        raise InputError(
            f"{trees} has {used:,} words, {leaves} {len(words):,}; download both again"
        )
    return stories


def _leaves(path: Path) -> list[tuple[str, tuple[int, int]]]:
    """Return the words of a treebank with their positions."""
    leaves = []
    for tree in read_trees(Path(path).read_text(encoding="utf-8"), str(path)):
        for leaf in tree.leaves():
            if leaf.label == "-NONE-":
                continue
            match = _CODE.fullmatch(leaf.word)
            if match is None:
                raise InputError(
                    f"{path}: {leaf.word!r} is not word/story.number, as in moors/1.21"
                )
            leaves.append((match[1], (int(match[2]), int(match[3]))))
    return leaves
