"""Compact letter display: items that share a letter do not differ reliably."""

import itertools
from collections.abc import Callable


def groups(count: int, similar: Callable[[int, int], bool]) -> list[list[int]]:
    """Return groups of 0 … count - 1 in which two items share a group only if `similar` is true.

    All members of a group are pairwise similar; an item may be in several groups. Each pair that no
    group has yet starts a new one, which takes in, in order, all items similar to every member.

    >>> groups(4, lambda a, b: abs(a - b) < 2)
    [[0, 1], [1, 2], [2, 3]]
    """
    same = {
        frozenset((a, b)) for a, b in itertools.combinations(range(count), 2) if similar(a, b)
    }  # `similar` is called once for each pair, the lower index first
    left, chosen = dict.fromkeys(pair for pair in sorted(same, key=sorted)), []
    while left:
        group = sorted(next(iter(left)))
        for other in range(count):
            if other not in group and all(frozenset((other, one)) in same for one in group):
                group.append(other)
        chosen.append(sorted(group))
        for pair in itertools.combinations(group, 2):
            left.pop(frozenset(pair), None)
    grouped = {one for group in chosen for one in group}
    return sorted(chosen + [[one] for one in range(count) if one not in grouped])


def letters(count: int, similar: Callable[[int, int], bool]) -> list[str]:
    """Return the letters of 0 … count - 1: two items share one only where `similar` is true.

    >>> letters(4, lambda a, b: abs(a - b) < 2)
    ['a', 'ab', 'bc', 'c']
    """
    texts = [""] * count
    for number, group in enumerate(groups(count, similar)):
        for one in group:
            texts[one] += _letter(number)
    return texts


def _letter(number: int) -> str:
    """Return a … z, then A … Z, then numbers in brackets."""
    if number < 52:
        return chr(ord("a") + number) if number < 26 else chr(ord("A") + number - 26)
    return f"({number + 1})"
