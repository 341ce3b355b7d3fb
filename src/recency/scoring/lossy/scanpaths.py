"""The context of a word for one reader: the words that this reader had seen before fixating it.

A word is scored where the reader first fixates it. Its context is the words before it in the text
that the reader had seen by then, in the order of the text: fixated words, words within `span` words
to the right of a fixation, and, if `skipped` is "seen", the words that a saccade jumped over, as if
read from where it began. Other words are absent, or masks in a masked LM. Words after the scored one
that were fixated before it are left out, since an LM predicts a word from those before it. A word
that no fixation reached has no context and no row.

With `of: another`, a control, the words are those that a reader fixated, and their contexts what
another reader of the same text had seen by then: before fixating the word or, if that reader never
did, before first fixating a later one.

Each word of a context has an age: its distance in the text (`words`), the number of fixations since
it was last seen (`fixations`, 1: the last one), or the time since then (`ms`, at least 1, from the
end of that fixation to the scored word's onset). A form of erasure reads the age as its distance, so
that words fixated again are remembered longer, except by the age in words.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd

from readingtimes.contracts import check_fixations
from readingtimes.names import nearest
from recency.errors import InputError
from recency.networks.erasures import ContextWords
from recency.scoring.lossy.lossy_readers import Item
from recency.scoring.lossy.lossy_settings import Lossy

SKIPPED = ("absent", "masked", "seen")
AGES = ("words", "fixations", "ms")
OF = ("own", "another")
#: Retention of every word, for contexts without erasure: one pattern per word.
RETAINED = {"form": "truncation", "words": 2**31}


@dataclass(frozen=True)
class ReaderContext:
    """Settings of the contexts of readers.

    Attributes
    ----------
    skipped
        Treatment of words that were not seen: "absent", "masked" (masked LMs); or "seen": skipped
        words count as seen.
    span
        Number of words to the right of a fixation that are seen.
    age
        Unit of age for forms of erasure: "words", "fixations" or "ms".
    of
        Whose fixations give the contexts: the reader's "own", or "another" reader's of the same text.
    seed
        Seed of the assignment of other readers, which is drawn by text.
    """

    skipped: str = "absent"
    span: int = 0
    age: str = "words"
    of: str = "own"
    seed: int = 1


def check(settings: Mapping[str, Any] | ReaderContext | None) -> ReaderContext:
    """Return checked settings; InputError for an unknown key or an impossible value."""
    if isinstance(settings, ReaderContext):
        return settings
    names = [one.name for one in fields(ReaderContext)]
    for name in settings or {}:
        if name not in names:
            raise InputError(f"reader: no setting is called {nearest(str(name), names)}")
    checked = ReaderContext(**(settings or {}))
    for name, choices in (("skipped", SKIPPED), ("age", AGES), ("of", OF)):
        if getattr(checked, name) not in choices:
            raise InputError(
                f"reader: {name} is {getattr(checked, name)!r}, and is {', '.join(choices)}"
            )
    for name, unit in (("span", "number of words"), ("seed", "whole number")):
        value = getattr(checked, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise InputError(f"reader: {name} is {value!r}, and is a {unit} from 0 on")
    return checked


def erasure(lossy: Lossy | None, settings: ReaderContext, masked: bool) -> Lossy:
    """Return the erasure of contexts: that of `lossy`, or none; words not seen are treated likewise.

    Raises InputError for masks in a causal LM, and for two different treatments.
    """
    stated = {"absent": "deleted", "masked": "masked", "seen": None}[settings.skipped]
    if stated == "masked" and not masked:
        raise InputError(
            "reader: `skipped: masked` is for masked LMs; a causal one has no mask, and its skipped words "
            "are `absent` or `seen`"
        )
    if lossy is None:
        return Lossy(RETAINED, samples=1, erased=stated)
    if stated and lossy.erased not in (None, stated):
        raise InputError(
            f"reader: skipped words are {settings.skipped}, and lossy → erased is {lossy.erased}; words "
            "not seen and words forgotten have one treatment: leave `erased` out"
        )
    return Lossy(**{**vars(lossy), "erased": stated or lossy.erased})


@dataclass
class ReaderItem(Item):
    """A text as one reader saw it; `contexts` maps a word to its context words and their ages."""

    subject: str = ""
    contexts: Mapping[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    #: The word fixated before the first fixation of each, -1 for none.
    previous: Mapping[int, int] = field(default_factory=dict)

    def scored(self) -> list[int]:
        """Return the words that have a context: those that were fixated."""
        return sorted(self.contexts)

    @property
    def oldest(self) -> int:
        """The largest age of a context word."""
        return max(
            (int(np.ceil(age.max(initial=0))) for _, age in self.contexts.values()), default=0
        )

    def context(self, word: int, reach: int | None = None) -> tuple[np.ndarray, ContextWords]:
        """Return the numbers of the context words of a word up to the age `reach`, and their data."""
        numbers, age = self.contexts[word]
        if reach is not None:
            numbers, age = numbers[age <= reach], age[age <= reach]
        features = (self.frequency, self.position)
        return numbers, ContextWords(age, *(f if f is None else f[numbers] for f in features))


def find_previous(place: np.ndarray) -> dict[int, int]:
    """Return fixated word → the word fixated before its first fixation, -1 for none.

    `place` (fixations,) has the number of each fixated word, in temporal order.
    """
    previous: dict[int, int] = {}
    before = -1
    for word in place.tolist():
        previous.setdefault(word, before)
        before = word
    return previous


def contexts_of(
    place: np.ndarray,
    onset: np.ndarray,
    duration: np.ndarray,
    words: int,
    settings: ReaderContext,
    asked: Iterable[int] | None = None,
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return the contexts of words for a reader of one text.

    Parameters
    ----------
    place : ndarray (fixations,)
        Number of the fixated word in the text, in temporal order.
    onset, duration : ndarray (fixations,)
        Times, ms.
    words : int
        Number of words of the text.
    settings : ReaderContext
    asked : iterable of int, optional
        The words; default those that the reader fixated. The context of any other is that of the
        moment at which the reader first fixated a later word, or stopped.

    Returns
    -------
    dict
        Word → the numbers (k,) of its context words, ascending, and their ages (k,).
    """
    first: dict[int, int] = {}
    for number, word in enumerate(place.tolist()):
        first.setdefault(word, number)
    furthest = np.maximum.accumulate(place)
    due: dict[int, list[int]] = {}  # the words whose contexts are those before each fixation
    for word in first if asked is None else asked:
        due.setdefault(first.get(word, int(np.searchsorted(furthest, word))), []).append(word)
    ends = onset + duration
    seen = np.zeros(words, bool)
    last = np.full(words, -1)  # the fixation in which each word was last seen
    until = np.full(words, onset[0])  # the end of that fixation
    contexts: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for number, (target, begin) in enumerate(zip([*place.tolist(), -1], [*onset, ends[-1]])):
        if settings.skipped == "seen" and first.get(target) == number:
            skipped = np.flatnonzero(~seen[:target])
            seen[skipped], last[skipped] = True, number - 1
            if number:
                until[skipped] = ends[number - 1]
        for word in due.get(number, ()):
            numbers = np.flatnonzero(seen[:word])
            if settings.age == "words":
                age = (word - numbers).astype(float)
            elif settings.age == "fixations":
                age = (number - last[numbers]).astype(float)
            else:
                age = np.maximum(1.0, begin - until[numbers])
            contexts[word] = numbers, age
        if number < len(place):
            view = slice(target, target + settings.span + 1)
            seen[view], last[view], until[view] = True, number, ends[number]
    return contexts


def draw_others(readers: int, draws: np.random.Generator) -> np.ndarray:
    """Return another reader's number for each of `readers` (at least two), each of them once."""
    order = draws.permutation(readers)
    others = np.empty(readers, int)
    others[order] = np.roll(order, 1)
    return others


def readings(
    words: pd.DataFrame,
    rows: Sequence[np.ndarray],
    items: Sequence[Item],
    fixations: pd.DataFrame,
    settings: ReaderContext,
) -> tuple[list[np.ndarray], list[ReaderItem], list[str]]:
    """Return each reading of a text by a subject: its rows in `words`, and the text as it was seen.

    A fixation on a word that has no token of its own counts for the word before it.

    Parameters
    ----------
    words : DataFrame
        Contract 1.
    rows, items : sequence
        The rows, and the words with tokens, of each text.
    fixations : DataFrame
        Contract 4.
    settings : ReaderContext

    Returns
    -------
    rows, items
        One per reading, texts in the order of `items`.
    notes : list of str
        Numbers of fixations and readings, for the log.

    Raises
    ------
    InputError
        For an invalid table, and, with `of: another`, for texts that one reader alone has read.
    """
    fixations = check_fixations(fixations, words, "fixations")
    row_of = pd.Series(np.arange(len(words)), words["word_id"]).loc[fixations.word_id].to_numpy()
    by_item = fixations.groupby("item", sort=False).indices
    draws = np.random.default_rng(settings.seed)
    read_rows, read_items = [], []
    for index, item in zip(rows, items, strict=True):
        name = str(words["item"].iloc[index[0]])
        if name not in by_item or not len(item.owners):
            continue
        here = by_item[name]
        within = np.searchsorted(index, row_of[here])
        place = np.maximum(np.searchsorted(item.owners, within, side="right") - 1, 0)
        of_item = fixations.iloc[here]
        onset, duration = of_item.onset_ms.to_numpy(), of_item.duration_ms.to_numpy()
        paths = of_item.groupby("subject", sort=False).indices
        seen_by = list(paths.values())
        if settings.of == "another":
            if len(paths) == 1:
                (alone,) = paths
                raise InputError(
                    f"reader: `of: another` takes the fixations of another reader, and the text {name} has "
                    f"been read by subject {alone} alone; leave such texts out"
                )
            seen_by = [seen_by[other] for other in draw_others(len(paths), draws)]
        for (subject, own), part in zip(paths.items(), seen_by, strict=True):
            previous = find_previous(place[own])
            contexts = contexts_of(
                place[part], onset[part], duration[part], len(item.owners), settings, previous
            )
            read_rows.append(index)
            read_items.append(
                ReaderItem(**vars(item), subject=subject, contexts=contexts, previous=previous)
            )
    subjects, scored = fixations.subject.nunique(), sum(len(i.contexts) for i in read_items)
    possible = sum(len(item.owners) for item in read_items)
    by_others = (
        "" if settings.of == "own" else f", fixations of another reader, seed {settings.seed}"
    )
    counts = (
        f"contexts of readers (skipped words {settings.skipped}, span {settings.span}, age in "
        f"{settings.age}{by_others}): {len(fixations):,} fixations of {subjects:,} subjects in {len(read_items):,} "
        f"readings; {scored:,} of {possible:,} words were fixated"
    )
    notes = [counts]
    pairs = fixations.groupby("subject", sort=False)["item"].nunique()
    if len(lacking := pairs[pairs < len(by_item)]):
        notes.append(
            f"{len(lacking):,} of {subjects:,} subjects have no fixation in some of the {len(by_item):,} "
            f"texts (subject {lacking.index[0]}: {int(lacking.iloc[0]):,} texts), and no surprisal there"
        )
    return read_rows, read_items, notes
