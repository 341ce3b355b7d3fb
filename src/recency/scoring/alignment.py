"""Align the words of a text with the tokens of a tokenizer, by character offsets."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from recency.errors import InputError

#: Kinds of tokens: others, those that begin with a space, those that end a text.
REST, SPACE, END = 0, 1, 2
#: The space as byte-level and SentencePiece vocabularies write it.
MARKS = ("Ġ", "▁")
UNMARKED = "does not begin with a word-initial token"


@dataclass
class Issue:
    """An irregularity in a word's alignment, and its treatment."""

    word: int  # number within the text
    reason: str
    treatment: str


@dataclass
class Text:
    """The tokens of one item, with the number of each token's word within the item."""

    ids: np.ndarray  # int64 (tokens,)
    word: np.ndarray  # int64 (tokens,), not decreasing
    words: int
    issues: list[Issue] = field(default_factory=list)
    last: np.ndarray | None = None  # int64 (tokens,): last word that the token reaches into
    spans: np.ndarray | None = None  # int64 (tokens, 2): characters in the joined words


def align(
    words: list[str],
    tokenizer,
    where: str = "",
    leading_space: bool = False,
    kind: np.ndarray | None = None,
    spaces: Sequence[bool] | None = None,
) -> Text:
    """Tokenise a text and assign each token to a word.

    A token belongs to the word of its first non-space character, so the space before a word counts
    with that word. Words are tokenised as they are; the string of a special token is ordinary text.

    Parameters
    ----------
    words : list of str
        The words, joined by single spaces.
    tokenizer : tokenizers.Tokenizer
    where : str
        Prefix of error messages.
    leading_space : bool
        Whether a space also precedes the first word.
    kind : ndarray, optional
        Return value of `kinds`, to compute it once for many texts.
    spaces : sequence of bool, optional
        Whether a space follows each word; by default, one follows every word.

    Returns
    -------
    Text
        Its `issues` list words without a token and other irregularities.

    Raises
    ------
    InputError
        For an empty word.
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
    ends = np.cumsum([len(word) for word in words] + gaps) + leading_space  # after the next space
    visible = np.array([not character.isspace() for character in text])
    places = np.arange(len(text))
    # The nearest non-space character after (before) each character.
    following = np.minimum.accumulate(np.where(visible, places, len(text))[::-1])[::-1]
    preceding = np.maximum.accumulate(np.where(visible, places, -1))
    first = np.minimum(np.append(following, len(text))[spans[:, 0]], spans[:, 1])
    word = np.minimum(np.searchsorted(ends, first, side="right"), len(words) - 1)
    last = np.maximum(preceding[np.maximum(spans[:, 1] - 1, 0)], first)
    reach = np.minimum(np.searchsorted(ends, last, side="right"), len(words) - 1)
    kind = kinds(tokenizer) if kind is None else kind
    issues = _list_shared(word, reach, len(words)) + _unusual(
        words, tokenizer, ids, spans, word, kind
    )
    if spaces is not None:  # a word without a space before it need not begin with a marked token
        issues = [issue for issue in issues if issue.reason != UNMARKED or gaps[issue.word - 1]]
    return Text(ids, word, len(words), sorted(issues, key=lambda issue: issue.word), reach, spans)


def as_text(tokenizer, text: str):
    """Encode a text without reading the string of a special token as that token."""
    before = tokenizer.encode_special_tokens
    tokenizer.encode_special_tokens = True
    try:
        return tokenizer.encode(text, add_special_tokens=False)
    finally:
        tokenizer.encode_special_tokens = before


def _list_shared(word: np.ndarray, reach: np.ndarray, words: int) -> list[Issue]:
    """List the words that share a token with a neighbour or have no token."""
    issues, covered = [], set()
    owned = np.zeros(words, dtype=bool)
    owned[word] = True
    for token in np.flatnonzero(reach > word):
        following = range(int(word[token]) + 1, int(reach[token]) + 1)
        covered.update(following)
        last = following[-1] + 1
        issues.append(Issue(int(word[token]), f"a token reaches into word {last}", "has all of it"))
        for number in following:
            if owned[number]:
                issues.append(Issue(number, "begins in the token before", "has the rest"))
            else:
                issues.append(Issue(number, "merged with the word before", "null"))
    for number in np.flatnonzero(~owned):
        if int(number) not in covered:
            issues.append(Issue(int(number), "dropped by the tokenizer", "null"))
    return issues


def _unusual(words, tokenizer, ids, spans, word, kind) -> list[Issue]:
    """List the words with special tokens or split characters, or changed by the tokenizer."""
    issues = []
    unknown = getattr(tokenizer.model, "unk_token", None)
    unknown = None if unknown is None else tokenizer.token_to_id(unknown)
    added = tokenizer.get_added_tokens_decoder()
    special = [number for number in added if number != unknown]
    typed = [token.content for token in added.values() if token.special]
    marked = (kind == SPACE).any()
    begins = np.append(True, np.diff(word) > 0)
    affected = {
        "has the unknown token": ids == unknown if unknown is not None else np.zeros(0, bool),
        "is read as a special token": np.isin(ids, special),
        "has a character in several tokens": np.append(
            False, (spans[1:, 0] < spans[:-1, 1]) & (word[1:] == word[:-1])
        ),
        UNMARKED: begins & (word > 0) & (kind[np.minimum(ids, len(kind) - 1)] == REST) & marked,
    }
    for reason, where in affected.items():
        for number in np.unique(word[np.flatnonzero(where)]):
            treatment = "corrected is not a probability" if reason == UNMARKED else "kept"
            issues.append(Issue(int(number), reason, treatment))
    normalizer = tokenizer.normalizer
    joined = " ".join(words)
    typed = [string for string in typed if string in joined]
    for number, shown in enumerate(words):
        for string in typed:
            if string in shown and not np.isin(ids[word == number], special).any():
                issues.append(Issue(number, f"has the special token's string {string}", "is text"))
        if any(character.isspace() for character in shown):
            issues.append(Issue(number, "has white space within", "kept"))
        if normalizer is not None:
            read = normalizer.normalize_str(shown).replace("▁", " ").strip()
            if read != shown.strip():
                issues.append(Issue(number, f"is read as {read!r}", "kept"))
    return issues


def kinds(tokenizer) -> np.ndarray:
    """Return the kind of each entry of the vocabulary: SPACE, END (added tokens) or REST.

    The word-initial tokens B of Pimentel & Meister (2024) are SPACE and END.
    """
    kind = np.zeros(tokenizer.get_vocab_size(with_added_tokens=True), dtype=np.int8)
    for number in tokenizer.get_added_tokens_decoder():
        if number < len(kind):
            kind[number] = END
    for token, number in tokenizer.get_vocab(with_added_tokens=True).items():
        if token.startswith(MARKS) and number < len(kind):
            kind[number] = SPACE
    return kind
