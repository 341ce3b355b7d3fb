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
    return align_texts(
        [words], tokenizer, [where], leading_space, kind, None if spaces is None else [spaces]
    )[0]


#: Characters that are aligned at once.
AT_ONCE = 200_000


def align_texts(
    texts: Sequence[list[str]],
    tokenizer,
    where: Sequence[str],
    leading_space: bool = False,
    kind: np.ndarray | None = None,
    spaces: Sequence[Sequence[bool]] | None = None,
) -> list[Text]:
    """Align several texts; `where` and `spaces` are by text, all else is as for `align`."""
    kind = kinds(tokenizer) if kind is None else kind
    aligned, part, size = [], [], 0
    for number, words in enumerate(texts):
        gaps = np.ones(len(words), int) if spaces is None else np.array(spaces[number], int)
        gaps[-1:] = 0
        part.append((words, gaps, where[number]))
        size += sum(map(len, words))
        if size >= AT_ONCE or number == len(texts) - 1:
            aligned += _align_part(part, tokenizer, leading_space, kind, spaces is not None)
            part, size = [], 0
    return aligned


def _align_part(
    part: list[tuple[list[str], np.ndarray, str]],
    tokenizer,
    leading_space: bool,
    kind: np.ndarray,
    has_spaces: bool,
) -> list[Text]:
    """Align texts as one: characters, words and tokens are numbered from the first text on."""
    words = [word for of_text, _, _ in part for word in of_text]
    _require_words(part)
    counts = np.array([len(of_text) for of_text, _, _ in part])
    strings = [
        " " * (leading_space and len(of_text) > 0)
        + "".join(word + " " * gap for word, gap in zip(of_text, gaps))
        for of_text, gaps, _ in part
    ]
    encodings = [as_text(tokenizer, string) for string in strings]
    tokens = np.array([len(encoding.ids) for encoding in encodings])
    ids = np.array([number for encoding in encodings for number in encoding.ids], dtype=np.int64)
    local = [pair for encoding in encodings for pair in encoding.offsets]
    local = np.array(local, dtype=np.int64).reshape(-1, 2)
    lengths = np.array([len(string) for string in strings])
    starts, first_word = np.cumsum(lengths) - lengths, np.cumsum(counts) - counts
    of_token = np.repeat(np.arange(len(part)), tokens)
    spans = local + starts[of_token, None]

    # Characters from the end of each word's space on belong to the next word.
    sizes = np.array([len(word) for word in words], int)
    sizes += np.concatenate([gaps for _, gaps, _ in part])
    if leading_space:
        sizes[first_word[counts > 0]] += 1
    ends = np.cumsum(sizes)
    visible = _are_visible("".join(strings))
    places = np.arange(len(visible))
    # The nearest non-space character after (before) each character; one of another text is outside
    # of the token, whose end (start) is then taken.
    following = np.minimum.accumulate(np.where(visible, places, len(visible))[::-1])[::-1]
    preceding = np.maximum.accumulate(np.where(visible, places, -1))
    first = np.minimum(np.append(following, len(visible))[spans[:, 0]], spans[:, 1])
    before_end = starts[of_token] + np.maximum(local[:, 1] - 1, 0)
    last = np.maximum(preceding[before_end], first)
    final = (first_word + counts - 1)[of_token]
    word = np.minimum(np.searchsorted(ends, first, side="right"), final)
    reach = np.minimum(np.searchsorted(ends, last, side="right"), final)

    issues = _list_shared(word, reach, first_word, len(words))
    issues += _unusual(words, tokenizer, ids, spans, word, kind, first_word)
    if has_spaces:  # a word without a space before it need not begin with a marked token
        gaps = np.concatenate([gaps for _, gaps, _ in part])
        issues = [issue for issue in issues if issue.reason != UNMARKED or gaps[issue.word - 1]]
    by_text: list[list[Issue]] = [[] for _ in part]
    for issue in sorted(issues, key=lambda issue: issue.word):
        text = int(np.searchsorted(first_word, issue.word, side="right")) - 1
        issue.word -= int(first_word[text])
        by_text[text].append(issue)
    aligned, stop = [], np.cumsum(tokens)
    for text, end in enumerate(stop):
        at, shift = slice(end - tokens[text], end), first_word[text]
        parts = ids[at], word[at] - shift, int(counts[text]), by_text[text]
        aligned.append(Text(*parts, reach[at] - shift, local[at]))
    return aligned


def _require_words(part: list[tuple[list[str], np.ndarray, str]]) -> None:
    """Raise an InputError at the first word without characters."""
    for words, _, where in part:
        if not all(map(str.strip, words)):
            number = next(n for n, word in enumerate(words, 1) if not word.strip())
            raise InputError(f"{where}word {number} ({words[number - 1]!r}) is empty")


def _are_visible(text: str) -> np.ndarray:
    """Return which characters are no white space, (characters,)."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    different, which = np.unique(codes, return_inverse=True)
    return np.array([not chr(code).isspace() for code in different], dtype=bool)[which]


def as_text(tokenizer, text: str):
    """Encode a text without reading the string of a special token as that token."""
    before = tokenizer.encode_special_tokens
    tokenizer.encode_special_tokens = True
    try:
        return tokenizer.encode(text, add_special_tokens=False)
    finally:
        tokenizer.encode_special_tokens = before


def _list_shared(
    word: np.ndarray, reach: np.ndarray, first_word: np.ndarray, words: int
) -> list[Issue]:
    """List the words that share a token with a neighbour or have no token."""
    issues, covered = [], set()
    owned = np.zeros(words, dtype=bool)
    owned[word] = True
    for token in np.flatnonzero(reach > word):
        following = range(int(word[token]) + 1, int(reach[token]) + 1)
        covered.update(following)
        text = np.searchsorted(first_word, word[token], side="right") - 1
        last = following[-1] + 1 - int(first_word[text])
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


def _unusual(words, tokenizer, ids, spans, word, kind, first_word) -> list[Issue]:
    """List the words with special tokens or split characters, or changed by the tokenizer."""
    issues = []
    unknown = getattr(tokenizer.model, "unk_token", None)
    unknown = None if unknown is None else tokenizer.token_to_id(unknown)
    added = tokenizer.get_added_tokens_decoder()
    special = [number for number in added if number != unknown]
    marked = (kind == SPACE).any()
    begins = np.append(True, np.diff(word) > 0)
    is_first = np.zeros(len(words) + 1, dtype=bool)
    is_first[first_word] = True
    affected = {
        "has the unknown token": ids == unknown if unknown is not None else np.zeros(0, bool),
        "is read as a special token": np.isin(ids, special),
        "has a character in several tokens": np.append(
            False, (spans[1:, 0] < spans[:-1, 1]) & (word[1:] == word[:-1])
        ),
        UNMARKED: begins
        & ~is_first[word]
        & (kind[np.minimum(ids, len(kind) - 1)] == REST)
        & marked,
    }
    for reason, where in affected.items():
        for number in np.unique(word[np.flatnonzero(where)]):
            treatment = "corrected is not a probability" if reason == UNMARKED else "kept"
            issues.append(Issue(int(number), reason, treatment))
    typed = [token.content for token in added.values() if token.special]
    of_type = {}
    for shown in dict.fromkeys(words):
        of_word = _unusual_type(shown, typed, tokenizer.normalizer)
        if of_word:
            of_type[shown] = of_word
    for number in [number for number, shown in enumerate(words) if shown in of_type]:
        for reason, treatment in of_type[words[number]]:
            if treatment != "is text" or not np.isin(ids[word == number], special).any():
                issues.append(Issue(number, reason, treatment))
    return issues


def _unusual_type(word: str, special: list[str], normalizer) -> list[tuple[str, str]]:
    """Return reason and treatment of irregularities that each token of a word type has."""
    issues = [
        (f"has the special token's string {string}", "is text")
        for string in special
        if string in word
    ]
    if any(map(str.isspace, word)):
        issues.append(("has white space within", "kept"))
    if normalizer is not None:
        read = normalizer.normalize_str(word).replace("▁", " ").strip()
        if read != word.strip():
            issues.append((f"is read as {read!r}", "kept"))
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
