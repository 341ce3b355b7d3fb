"""String similarities of two words, which weigh neighbours (chapter 5 of the thesis)."""

import math
from collections import Counter
from collections.abc import Callable

FREQUENT = 2  # characters of `mfk`
DECAY, LENGTH = 0.5, 2  # of the subsequence kernel
PREFIX, SCALE = 4, 0.1  # of Jaro-Winkler


def jaccard(a: str, b: str) -> float:
    """Return the Jaccard index of the words' character sets."""
    return len(set(a) & set(b)) / len(set(a) | set(b))


def jaro(a: str, b: str) -> float:
    """Return Jaro's (1989) similarity, from characters that match nearby and in order."""
    reach = max(0, max(len(a), len(b)) // 2 - 1)
    free, matched = [True] * len(b), []
    for index, character in enumerate(a):
        for other in range(max(0, index - reach), min(len(b), index + reach + 1)):
            if free[other] and b[other] == character:
                free[other] = False
                matched.append(character)
                break
    if not matched:
        return 0.0
    theirs = [character for character, left in zip(b, free) if not left]
    swapped = sum(x != y for x, y in zip(matched, theirs)) / 2
    m = len(matched)
    return (m / len(a) + m / len(b) + (m - swapped) / m) / 3


def jaro_winkler(a: str, b: str) -> float:
    """Return Winkler's (1990) similarity: Jaro's, raised by a common prefix of up to four."""
    same = 0
    while same < min(PREFIX, len(a), len(b)) and a[same] == b[same]:
        same += 1
    value = jaro(a, b)
    return value + same * SCALE * (1 - value)


def most_frequent(a: str, b: str) -> float:
    """Return the share of both words covered by common most frequent characters (Seker 2014)."""
    counts, other = (dict(Counter(word).most_common(FREQUENT)) for word in (a, b))
    return sum(
        counts[character] + other[character] for character in counts.keys() & other.keys()
    ) / (len(a) + len(b))


def subsequences(a: str, b: str) -> float:
    """Return the normalised subsequence kernel (Lodhi et al. 2002); 1 for identical words."""
    whole = math.sqrt(_kernel(a, a) * _kernel(b, b))
    return _kernel(a, b) / whole if whole else float(a == b)


def _kernel(a: str, b: str) -> float:
    """Return Σ DECAY^(spans) over common subsequences of LENGTH, by Lodhi's recursion."""
    before = [[1.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for _ in range(LENGTH - 1):
        table = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
        for i in range(1, len(a) + 1):
            running = 0.0
            for j in range(1, len(b) + 1):
                running *= DECAY
                if a[i - 1] == b[j - 1]:
                    running += DECAY**2 * before[i - 1][j - 1]
                table[i][j] = DECAY * table[i - 1][j] + running
        before = table
    return sum(DECAY**2 * before[i][j] for i, x in enumerate(a) for j, y in enumerate(b) if x == y)


def trigrams(word: str, marks: bool = False) -> set[str]:
    """Return a word's trigrams, with `marks` those of `^word$`; a shorter word has none."""
    letters = f"^{word}$" if marks else word
    return {letters[first : first + 3] for first in range(len(letters) - 2)}


def tversky(a: str, b: str) -> float:
    """Return Tversky's (1977) index of the trigrams of `^a$` and `^b$`, with both weights 1/2."""
    of_a, other = trigrams(a, marks=True), trigrams(b, marks=True)
    both = len(of_a & other)
    return both / (both + len(of_a - other) / 2 + len(other - of_a) / 2)


#: By their names in the thesis's tables.
SIMILARITIES: dict[str, Callable[[str, str], float]] = {
    "ji": jaccard,
    "jaro": jaro,
    "jw": jaro_winkler,
    "mfk": most_frequent,
    "ssk": subsequences,
    "tc": tversky,
    "1": lambda a, b: 1.0,
}
