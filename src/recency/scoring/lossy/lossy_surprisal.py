"""Lossy-context surprisal: the expected surprisal of a word when context words may be erased.

S(w_i) = E_r[-log p(w_i | r)], where r is the set of retained context words; each is retained
independently, with a probability given by the form of erasure (Futrell, Gibson & Levy 2020; Hahn et
al. 2022). Erased words are deleted from the network's input or replaced by its mask; the begin token
is never erased.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.scoring import alignment, results
from recency.scoring.foils import SCORED
from recency.scoring.lossy import lossy_readers, rational_erasure, scanpaths
from recency.scoring.lossy.lossy_estimates import DRAWN_AS, PILOT, Estimates, Writing
from recency.scoring.lossy.lossy_readers import Item
from recency.scoring.lossy.lossy_settings import Lossy
from recency.scoring.results import Result
from recency.scoring.texts import VARIANTS

#: Column of the words with their unigram surprisal, bits, from which frequencies are computed.
UNIGRAM = "unigram_bits"
#: Key of a table's `attrs` with the settings, which include optimised weights.
KEY = "lossy"
#: Contexts scored at once.
CONTEXTS_AT_ONCE = 4096


def score(
    words: pd.DataFrame,
    rows: Sequence[np.ndarray],
    texts: Sequence[alignment.Text],
    model,
    lossy: Lossy,
    *,
    bos: bool | str = True,
    stride: int | None = None,
    unit: str = "bits",
    correction: str = VARIANTS[0],
    spaces: np.ndarray | None = None,
    metric: str = "within_word_l2r",
    future: str = "seen",
    report: Callable[[int, int], None] = lambda done, total: None,
    fixations: pd.DataFrame | None = None,
    seen: scanpaths.ReaderContext | None = None,
    **options,
) -> Result:
    """Return the lossy-context surprisal of words, or of the words that readers fixated.

    Parameters
    ----------
    words : DataFrame
        Contract 1, W rows; with a column `unigram_bits` (unigram surprisal) if the form of erasure
        reads frequencies. An optional boolean column `scored` selects the words to score.
    rows : sequence of ndarray
        The rows of each text.
    texts : sequence of alignment.Text
        The tokens of each text.
    model : recency.scoring.surprisal.Model
        A causal or a masked network.
    lossy : Lossy
        How words are erased.
    report : callable
        Called with the numbers of finished and of all words.
    fixations : DataFrame, optional
        Contract 4, for contexts of readers.
    seen : scanpaths.ReaderContext, optional
        The settings of contexts of readers.
    **options
        Other settings of `recency.scoring.surprisal.score_words`.

    Returns
    -------
    Result
        Contract 3 with `surprisal_standard_error_<unit>` as its last column, 0 where the
        expectation is exact. `context_tokens` is the rounded expected number. `table.attrs` has the
        settings. With `fixations`, a row per subject and fixated word, with `subject` first and
        `previous_word_id`, the word fixated before its first fixation (-1: none), last.

    Raises
    ------
    InputError
        If the standard errors of more than a share MISSED of the words exceed the tolerance (tested
        on PILOT words first); if a form needs frequencies and there are none; for an unreachable
        budget; and without a begin token.
    """
    items = [_item(words, index, text, lossy.form) for index, text in zip(rows, texts, strict=True)]
    table_words, text_rows, notes = words, rows, []
    if fixations is not None:
        source, items, notes = scanpaths.readings(words, rows, items, fixations, seen)
        names = [name for name in ("item", "word_id", DRAWN_AS, SCORED) if name in words]
        table_words = words[names].iloc[np.concatenate(source)]
        ends = np.cumsum([0, *map(len, source)])
        rows = [np.arange(*ends[n : n + 2]) for n in range(len(source))]
        spaces = None if spaces is None else spaces[np.concatenate(source)]
    reader = _reader(model, items, lossy, bos, stride, metric, future, options)
    if lossy.erasure["form"] == "resource_rational" and lossy.form.intercept is None:
        weights, lines = rational_erasure.search(items, reader, lossy)
        lossy = replace(lossy, erasure=weights)
        notes += lines
    estimates = Estimates(
        table_words, rows, items, reader, lossy, Writing(unit, correction, spaces, model.kind)
    )
    scored = np.ones(len(table_words), bool)
    if SCORED in words:
        scored = table_words[SCORED].to_numpy(bool)
    asked = [
        (number, word)
        for number, (index, item) in enumerate(zip(rows, items, strict=True))
        for word in item.scored()
        if scored[index[item.owners[word]]]
    ]
    tolerance = None if lossy.tolerance is None else lossy.tolerance * np.log(2)
    every = max(1, len(asked) // PILOT)
    pilot = asked[every // 2 :: every][:PILOT] if tolerance is not None else []
    total = len(asked)
    estimates.add(pilot, tolerance)
    estimates.require_tolerance(tolerance, f"of {len(pilot)} words tried")
    left = sorted(set(asked) - set(pilot))
    at_once = max(16, CONTEXTS_AT_ONCE // lossy.samples)
    for first in range(0, len(left), at_once):
        report(len(pilot) + first, total)
        estimates.add(left[first : first + at_once], tolerance)
    report(total, total)
    notes += estimates.require_tolerance(tolerance, f"of {total:,} words")
    table = estimates.table()
    if fixations is not None:
        table = _of_readers(table, rows, items)
    table.attrs[KEY] = {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in vars(lossy).items()
    }
    issues = [
        (index[issue.word], _pieces(model, text, issue.word), issue.reason, issue.treatment)
        for index, text in zip(text_rows, texts, strict=True)
        for issue in text.issues
    ]
    counted = estimates.notes()
    notes = [*counted[lossy.erasure == scanpaths.RETAINED :], *notes]  # without retention, if whole
    notes.insert(0, f"{len(issues):,} entries in the alignment ledger, {len(words):,} words")
    return Result(table, results.ledger(words, issues), notes=notes)


def _of_readers(table: pd.DataFrame, rows: Sequence[np.ndarray], items: Sequence) -> pd.DataFrame:
    """Return the rows of fixated words, with `subject` and `previous_word_id`."""
    subject, previous, chosen = [], [], []
    word_id = table["word_id"].to_numpy()
    for index, item in zip(rows, items, strict=True):
        scored = np.array(item.scored())
        before = np.array([item.previous[word] for word in scored])
        chosen.append(index[item.owners[scored]])
        previous.append(np.where(before < 0, -1, word_id[index[item.owners[before]]]))
        subject += [item.subject] * len(scored)
    table = table.iloc[np.concatenate(chosen)].reset_index(drop=True)
    table.insert(0, "subject", pd.Series(subject, dtype="str"))
    return table.assign(previous_word_id=np.concatenate(previous).astype(np.int32))


def with_unigram(words: pd.DataFrame, path: str) -> pd.DataFrame:
    """Add unigram surprisal to words, from a file of contract 3 with the same words."""
    table = pd.read_parquet(path, columns=["word_id", "surprisal_bits"])
    if not np.array_equal(table["word_id"], words["word_id"]):
        raise InputError(f"{path}: its words are not those of the dataset; compute it again")
    return words.assign(**{UNIGRAM: table["surprisal_bits"].to_numpy()})


def _pieces(model, text: alignment.Text, word: int) -> str:
    """Return the tokens of a word as in the vocabulary."""
    return " ".join(
        model.tokenizer.id_to_token(int(piece)) for piece in text.ids[text.word == word]
    )


def _item(words: pd.DataFrame, rows: np.ndarray, text: alignment.Text, form) -> Item:
    """Return a text with the features that a form of erasure reads."""
    owners, first = np.unique(text.word, return_index=True)
    item = Item(text, owners, np.append(first, len(text.ids)))
    part = words.iloc[rows[owners]] if len(owners) else words.iloc[:0]
    if "frequency" in form.features:
        if UNIGRAM not in words:
            raise InputError(
                f"lossy: the erasure reads frequencies, and the words have no column {UNIGRAM} (unigram "
                "surprisal, bits), as an n-gram model of order 1 or a list of counts gives"
            )
        bits = part[UNIGRAM].to_numpy(float)
        if not np.isfinite(bits).all():
            word = part["word"].iloc[int(np.argmin(np.isfinite(bits)))]
            raise InputError(f"lossy: the word {word!r} has no {UNIGRAM}, which the erasure reads")
        item.frequency = 9.0 - bits * np.log10(2)
    if "position" in form.features:
        whole = words.iloc[rows]
        sentence = whole["sentence"] if "sentence" in whole else pd.Series(0, whole.index)
        item.position = (sentence.groupby(sentence.to_numpy()).cumcount() + 1).to_numpy()[owners]
    return item


def _reader(model, items, lossy: Lossy, bos, stride, metric, future, options: dict):
    """Return the reader for a kind of network."""
    if options.pop("tuned_lens", None) is not None:
        raise InputError("lossy: `tuned_lens` is for the measure layer_surprisal; leave it out")
    if isinstance(model, lossy_readers.NgramWords):
        return lossy_readers.NgramReader(model, items, bool(bos))
    if model.masked:
        if options.pop("precision", "fp32") != "fp32":
            raise InputError("`precision` is for causal LMs; leave it out for a masked one")
        erased = lossy.erased or "masked"
        return lossy_readers.MaskedReader(model, items, metric, future, erased, **options)
    if lossy.erased == "masked":
        raise InputError(
            "lossy: `erased: masked` is for masked LMs; a causal one has no mask, and its erased words are "
            "`deleted`"
        )
    return lossy_readers.CausalReader(model, items, bos, stride, **options)
