"""Bracketed trees, one per line or spread over several lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recency.errors import InputError

_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass
class Tree:
    """A constituent: its label with its children or its word."""

    label: str
    children: list[Tree]
    word: str | None = None

    def leaves(self) -> list[Tree]:
        """Return the words from left to right."""
        if self.word is not None:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]


def parse(text: str, where: str) -> list[Tree]:
    """Read all trees of a text; `where` (file, line) begins error messages."""
    trees, open_trees = [], []
    tokens = _TOKEN.findall(text)
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token == "(":
            label = tokens[position + 1] if position + 1 < len(tokens) else ")"
            named = label not in ("(", ")")
            open_trees.append(Tree(label if named else "", []))
            position += named
        elif token == ")":
            if not open_trees:
                raise InputError(f"{where}: a closing bracket has no opening bracket")
            tree = open_trees.pop()
            if tree.word is None and not tree.children:
                raise InputError(f"{where}: ({tree.label}) has neither a word nor a constituent")
            (open_trees[-1].children if open_trees else trees).append(tree)
        elif not open_trees or open_trees[-1].children or open_trees[-1].word is not None:
            raise InputError(f"{where}: {token!r} is not allowed here")
        else:
            open_trees[-1].word = token
        position += 1
    if open_trees:
        raise InputError(f"{where}: {len(open_trees)} brackets are not closed; is the file whole?")
    return trees
