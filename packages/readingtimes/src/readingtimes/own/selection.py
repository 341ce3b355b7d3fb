"""Choose a table's rows and words before its columns are guessed.

Rows of practice and of questions are among those of words, and a maze may have both of its words in
columns of their own, with the correct one named by a third.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import permutations

from readingtimes.errors import InputError
from readingtimes.formats import trials
from readingtimes.own.columns import Column, picked_name, with_picked
from readingtimes.own.roles import Roles
from readingtimes.own.usual_names import is_named, snake
from readingtimes.strict_tables import Table

_KINDS = 20
"""Most kinds of rows."""
_SIDES = (
    re.compile(r"(.*?_?)(left|links|l)(_.*)?"),
    re.compile(r"(.*?_?)(right|rechts|r)(_.*)?"),
)
_KEYS = tuple("qwertasdfgzxcvb"), tuple("yuiophjklnm")
_FEW = 10
"""Fewer different words are no column of them."""
_CORRECT = re.compile(r"corr|target|side|answer")


def rows_of_words(table: Table, columns: Sequence[Column], guessed: Roles) -> dict[str, list[str]]:
    """Return column → the labels whose rows are of words, {} if all rows are.

    A label is of other rows if none of them has a position, or a word, where all rows of the other labels
    have one; or if it is of practice.

    Parameters
    ----------
    table : Table
        All rows.
    columns : sequence of Column
        Its columns.
    guessed : Roles
        Their roles.
    """
    if (marks := trials.practice(table, {guessed.of.get("word")})) is not None:
        name, marked = marks
        return {name: [*table[name][~marked].unique()]}
    used = {*guessed.of.values(), *guessed.measures.values()}
    empties = (
        [trials.are_missing(table[guessed.of["position"]])] if "position" in guessed.of else []
    )
    empties += [table[guessed.of["word"]] == ""] if "word" in guessed.of else []
    for empty in empties:
        if not 0 < empty.mean() < 0.5:
            continue
        for column in columns:
            if column.name in used or not 2 <= column.distinct + (column.missing > 0) <= _KINDS:
                continue
            share = empty.groupby(table[column.name]).mean()
            if share.isin([0, 1]).all():
                return {column.name: [*share.index[share == 0]]}
    return {}


def with_correct_words(
    table: Table, columns: Sequence[Column], guessed: Roles
) -> tuple[Table, dict[str, Mapping[str, str]]]:
    """Return a maze's table with a column of its correct words, and that column → how it is made.

    The names of two columns of single words differ in left and right, and the values of a third, these
    words or keys on either side of a keyboard, say which is correct.

    Parameters
    ----------
    table : Table
        All rows.
    columns : sequence of Column
        Its columns.
    guessed : Roles
        Their roles.

    Raises
    ------
    InputError
        If no column says which is correct, or several do, with other words.
    """
    names = {snake(c.name): c.name for c in columns if c.kind == "text" and c.distinct > _FEW}
    for (left, one), (right, other) in permutations(names.items(), 2):
        ends = [side.fullmatch(name) for side, name in zip(_SIDES, (left, right), strict=True)]
        if None in ends or ends[0].group(1, 3) != ends[1].group(1, 3):
            continue
        phrases = any(table[name].str.contains(" ").mean() > 0.1 for name in (one, other))
        if phrases or is_named("word", guessed.of.get("word", "")):
            continue
        picks = []
        for column in columns:
            values = [*table[column.name].unique()]
            of_sides = {_side(value): value for value in values}
            if len(values) == 2 and of_sides.keys() == {0, 1}:
                picks.append({"by": column.name, of_sides[0]: one, of_sides[1]: other})
        picks.sort(key=lambda pick: not _CORRECT.search(snake(pick["by"])))
        if len(picks) > 1 and _CORRECT.search(snake(picks[0]["by"])):
            picks = picks[:1]  # the others may say what was chosen
        if len(picks) != 1:
            raise InputError(
                f"{table.path}: {one} and {other} look like the two words of a maze, and which is correct is "
                f"not clear; state it: `word: {{by: correct_side, left: {one}, right: {other}}}`, with the "
                "column and its values"
            )
        (pick,) = picks
        return with_picked(table, picked_name(pick), pick), {picked_name(pick): pick}
    return table, {}


def _side(value: str) -> int | None:
    """Return whether a value is of the left (0) or right (1), by its name or as a key, None if of neither."""
    plain = snake(value).removeprefix("arrow_").removeprefix("arrow").removeprefix("key_")
    for number, (side, keys) in enumerate(zip(_SIDES, _KEYS, strict=True)):
        if side.fullmatch(plain) or plain in keys:
            return number
    return None
