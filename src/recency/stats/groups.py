"""Groups of things that cannot be told apart, as letters: a compact letter display."""

import itertools
from collections.abc import Callable


def groups(count: int, alike: Callable[[int, int], bool]) -> list[list[int]]:
    """Return groups of 0 … count - 1 so that two share a group where they are `alike`, nowhere else.

    A group holds none but alike ones; one may be in several. Each pair that no group has yet starts
    one, which takes in all that are alike to every member so far, in order.

    >>> groups(4, lambda a, b: abs(a - b) < 2)
    [[0, 1], [1, 2], [2, 3]]
    """
    same = {
        frozenset((a, b)) for a, b in itertools.combinations(range(count), 2) if alike(a, b)
    }  # asked once for each pair, the lower place first
    left, found = dict.fromkeys(pair for pair in sorted(same, key=sorted)), []
    while left:
        group = sorted(next(iter(left)))
        for other in range(count):
            if other not in group and all(frozenset((other, one)) in same for one in group):
                group.append(other)
        found.append(sorted(group))
        for pair in itertools.combinations(group, 2):
            left.pop(frozenset(pair), None)
    grouped = {one for group in found for one in group}
    return sorted(found + [[one] for one in range(count) if one not in grouped])


def letters(count: int, alike: Callable[[int, int], bool]) -> list[str]:
    """Return the letters of 0 … count - 1: two that are `alike` share one, others do not.

    >>> letters(4, lambda a, b: abs(a - b) < 2)
    ['a', 'ab', 'bc', 'c']
    """
    texts = [""] * count
    for number, group in enumerate(groups(count, alike)):
        for one in group:
            texts[one] += _letter(number)
    return texts


def _letter(number: int) -> str:
    """Return a … z, then A … Z, then numbers in brackets."""
    if number < 52:
        return chr(ord("a") + number) if number < 26 else chr(ord("A") + number - 26)
    return f"({number + 1})"
