"""Words of a text against the tokens of a tokenizer, by character offsets."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from recency.errors import InputError

#: Kinds of tokens: the rest, those that begin with the space before a word, those that end a text.
REST, SPACE, END = 0, 1, 2
#: How byte-level and SentencePiece vocabularies write that space.
MARKS = ("Ġ", "▁")
UNMARKED = "does not begin with a word-initial token"


@dataclass
class Issue:
    """What was out of the ordinary in a word's alignment, and what was done about it."""

    word: int  # its number within the text
    reason: str
    treatment: str


@dataclass
class Text:
    """One item: its token ids, and for each token the number of its word within the item."""

    ids: np.ndarray  # int64 (tokens,)
    word: np.ndarray  # int64 (tokens,), not decreasing
    words: int
    issues: list[Issue] = field(default_factory=list)
    last: np.ndarray | None = None  # int64 (tokens,): the last word that the token reaches into
    spans: np.ndarray | None = None  # int64 (tokens, 2): its characters in the joined words


def align(
    words: list[str],
    tokenizer,
    where: str = "",
    leading_space: bool = False,
    kind: np.ndarray | None = None,
    spaces: Sequence[bool] | None = None,
) -> Text:
    """Tokenise words, by default joined by single spaces, and give each token the word it lies in.

    `tokenizer` is a `tokenizers.Tokenizer`. A token belongs to the word of its first character
    that is not a space, so that the space before a word counts with the word; with `leading_space`
    the first word has one too. Nothing is re-joined, re-cased or stripped. A word may end up with
    no token of its own: `issues` say so, and what else was out of the ordinary. `kind` is that of
    `kinds`, for many texts; `spaces` says which words have a space behind them, if not all have.
    The string of a special token is text like any other. Raises InputError for an empty word.
    """
    for number, word in enumerate(words, 1):
        if not word.strip():
            raise InputError(f"{where}word {number} ({word!r}) is empty")
    gaps = np.ones(len(words), int) if spaces is None else np.array(spaces, int)
    gaps[-1:] = 0
    text = " " * leading_space + "".join(word + " " * gap for word, gap in zip(words, gaps))
    encoding = as_text(tokenizer, text)
    ids = np.asarray(encoding.ids, dtype=np.int64)
    spans = np.asarray(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    ends = np.cumsum([len(word) for word in words] + gaps) + leading_space  # behind the next space
    visible = np.array([not character.isspace() for character in text])
    places = np.arange(len(text))
    # The next (previous) place from each that is no space.
    following = np.minimum.accumulate(np.where(visible, places, len(text))[::-1])[::-1]
    preceding = np.maximum.accumulate(np.where(visible, places, -1))
    first = np.minimum(np.append(following, len(text))[spans[:, 0]], spans[:, 1])
    word = np.minimum(np.searchsorted(ends, first, side="right"), len(words) - 1)
    last = np.maximum(preceding[np.maximum(spans[:, 1] - 1, 0)], first)
    reach = np.minimum(np.searchsorted(ends, last, side="right"), len(words) - 1)
    kind = kinds(tokenizer) if kind is None else kind
    issues = _shared(word, reach, len(words)) + _unusual(words, tokenizer, ids, spans, word, kind)
    if spaces is not None:  # a word that nothing stands before is not meant to begin like one
        issues = [each for each in issues if each.reason != UNMARKED or gaps[each.word - 1]]
    return Text(ids, word, len(words), sorted(issues, key=lambda each: each.word), reach, spans)


def as_text(tokenizer, text: str):
    """Encode a text without reading the string of a special token as that token."""
    before = tokenizer.encode_special_tokens
    tokenizer.encode_special_tokens = True
    try:
        return tokenizer.encode(text, add_special_tokens=False)
    finally:
        tokenizer.encode_special_tokens = before


def _shared(word: np.ndarray, reach: np.ndarray, words: int) -> list[Issue]:
    """Say which words share a token with a neighbour, or have none."""
    issues, covered = [], set()
    owned = np.zeros(words, dtype=bool)
    owned[word] = True
    for token in np.flatnonzero(reach > word):
        behind = range(int(word[token]) + 1, int(reach[token]) + 1)
        covered.update(behind)
        last = behind[-1] + 1
        issues.append(Issue(int(word[token]), f"a token reaches into word {last}", "has all of it"))
        for number in behind:
            if owned[number]:
                issues.append(Issue(number, "begins in the token before", "has the rest"))
            else:
                issues.append(Issue(number, "merged with the word before", "null"))
    for number in np.flatnonzero(~owned):
        if int(number) not in covered:
            issues.append(Issue(int(number), "dropped by the tokenizer", "null"))
    return issues


def _unusual(words, tokenizer, ids, spans, word, kind) -> list[Issue]:
    """Say which words have unknown or special tokens, split characters, or were rewritten."""
    issues = []
    unknown = getattr(tokenizer.model, "unk_token", None)
    unknown = None if unknown is None else tokenizer.token_to_id(unknown)
    added = tokenizer.get_added_tokens_decoder()
    special = [number for number in added if number != unknown]
    typed = [token.content for token in added.values() if token.special]
    marked = (kind == SPACE).any()
    begins = np.append(True, np.diff(word) > 0)
    found = {
        "has the unknown token": ids == unknown if unknown is not None else np.zeros(0, bool),
        "is read as a special token": np.isin(ids, special),
        "has a character in several tokens": np.append(
            False, (spans[1:, 0] < spans[:-1, 1]) & (word[1:] == word[:-1])
        ),
        UNMARKED: begins & (word > 0) & (kind[np.minimum(ids, len(kind) - 1)] == REST) & marked,
    }
    for reason, where in found.items():
        for number in np.unique(word[np.flatnonzero(where)]):
            treatment = "corrected is not a probability" if reason == UNMARKED else "kept"
            issues.append(Issue(int(number), reason, treatment))
    normalizer = tokenizer.normalizer
    joined = " ".join(words)
    typed = [string for string in typed if string in joined]
    for number, each in enumerate(words):
        for string in typed:
            if string in each and not np.isin(ids[word == number], special).any():
                issues.append(Issue(number, f"has the special token's string {string}", "is text"))
        if any(character.isspace() for character in each):
            issues.append(Issue(number, "has white space within", "kept"))
        if normalizer is not None:
            read = normalizer.normalize_str(each).replace("▁", " ").strip()
            if read != each.strip():
                issues.append(Issue(number, f"is read as {read!r}", "kept"))
    return issues


def kinds(tokenizer) -> np.ndarray:
    """Return the kind of each entry of the vocabulary: SPACE, END (added tokens) or REST.

    Pimentel & Meister's (2024) B, tokens that begin a word, is all that is not REST.
    """
    kind = np.zeros(tokenizer.get_vocab_size(with_added_tokens=True), dtype=np.int8)
    for number in tokenizer.get_added_tokens_decoder():
        if number < len(kind):
            kind[number] = END
    for token, number in tokenizer.get_vocab(with_added_tokens=True).items():
        if token.startswith(MARKS) and number < len(kind):
            kind[number] = SPACE
    return kind
