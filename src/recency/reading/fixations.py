"""Eye-tracking measures, from a record of fixations or of words in reading order."""

import numpy as np
import pandas as pd


def since_fixation(fixated: pd.Series) -> np.ndarray:
    """Count, for each row, the rows back to the last fixated one: 1 after a fixated row.

    This is the paper's wdelta where only one row a word is recorded: a running count over the rows
    of the file, through sentences and subjects, as if the row before the first were fixated.
    """
    rows = np.arange(len(fixated))
    last = np.maximum.accumulate(np.where(fixated.to_numpy(dtype=bool), rows, -1))
    return rows - np.concatenate([[-1], last[:-1]])


def previous_fixated(fixated: pd.Series, texts: list[pd.Series]) -> pd.Series:
    """Say of each row whether the row before is of the same text and subject, and fixated."""
    before = fixated.shift(1, fill_value=False).astype(bool)
    for key in texts:
        before &= key == key.shift(1)
    return before


def with_history(frame: pd.DataFrame, fixated: pd.Series, text: pd.Series) -> pd.DataFrame:
    """Add words_since_fixation and previous_fixated, counted over the rows of `frame`.

    Rows are a subject's words in reading order, with the column `subject`; `text` names the item
    or sentence of each, before whose first word none was fixated.
    """
    before = previous_fixated(fixated, [frame.subject, text])
    return frame.assign(words_since_fixation=since_fixation(fixated), previous_fixated=before)


def measure(
    subject: np.ndarray,
    text: np.ndarray,
    place: np.ndarray,
    duration: np.ndarray,
    breaks: np.ndarray,
) -> pd.DataFrame:
    """Sum fixation durations in ms to scan-path, first-pass and go-past times (Appendix A).

    One row a fixation on a word, in order of time within subject and text; `place` is the word's
    place in the text, and `breaks` says where a glance off the screen came before. Returned, row by
    row: `visit` (all fixations until another word is fixated), `FFD` (the first fixation of first
    pass), `FP`, `GP`, `TFT` (all fixations on the word), each on the row where its sum starts and 0
    elsewhere (FFD, FP and GP start where a word further right than all before is entered), and
    `words_since_fixation` (the words from the fixation before to this one: 0 on the same word or at
    the start of a text, negative after a regression). A break ends all sums but the total: the
    first-pass and go-past times go on at the next word that is further right than all before.
    """
    n = len(place)
    duration = np.asarray(duration, dtype=np.float64)
    trial, starts = _trials(subject, text)
    entry, frontier = _frontiers(np.asarray(place), starts)
    distance = np.diff(place, prepend=place[:1]).astype(np.int64)
    distance[starts] = 0
    breaks = np.asarray(breaks, dtype=bool) & ~starts
    # A word's first pass ends when it is left, and its regression path at a break alone.
    left = np.cumsum(~entry & ((distance != 0) | breaks))
    ended = np.cumsum(~entry & breaks)
    visit = _last(starts | (distance != 0) | breaks)
    first_pass, open_ = left == left[frontier], ended == ended[frontier]
    total, rank = _totals(trial, np.asarray(place), duration)
    first = np.bincount(frontier[first_pass], duration[first_pass], n)
    return pd.DataFrame(
        {
            "visit": np.bincount(visit, duration, n),
            "FFD": np.where(first > 0, duration, 0.0),
            "FP": first,
            "GP": np.bincount(frontier[open_], duration[open_], n),
            "TFT": np.where(rank, total, 0.0),
            "words_since_fixation": distance,
        }
    )


def _trials(subject: np.ndarray, text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each row's reading of a text, and whether the row begins one."""
    codes = pd.factorize(subject)[0].astype(np.int64), pd.factorize(text)[0].astype(np.int64)
    pair = codes[0] * (codes[1].max(initial=0) + 1) + codes[1]
    starts = np.ones(len(pair), dtype=bool)
    starts[1:] = pair[1:] != pair[:-1]
    return pair, starts


def _last(marked: np.ndarray) -> np.ndarray:
    """Return, for each row, the last marked row up to it."""
    return np.maximum.accumulate(np.where(marked, np.arange(len(marked)), 0))


def _frontiers(place: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where a word further right than all before is entered, and the last such row of each."""
    reading = np.cumsum(starts)
    low = int(place.min(initial=0))
    width = int(place.max(initial=0)) - low + 1
    furthest = np.maximum.accumulate(reading * width + (place - low)) - reading * width + low
    entry = starts.copy()
    entry[1:] |= place[1:] > furthest[:-1]
    return entry, _last(entry)


def _totals(
    trial: np.ndarray, place: np.ndarray, duration: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's total time on its word, and whether it is the first on that word."""
    low = place.min(initial=0)
    word = trial * (place.max(initial=0) - low + 1) + (place - low)
    codes, words = pd.factorize(word)
    first = np.zeros(len(codes), dtype=bool)
    first[np.unique(codes, return_index=True)[1]] = True
    return np.bincount(codes, duration, len(words))[codes], first


def presented(fixations: pd.DataFrame, words: pd.DataFrame) -> pd.DataFrame:
    """Add, to fixated words, those of the same subject and item that were not: 0 ms.

    `fixations` has subject, word_id, time_ms and further columns, which stay empty (false, if they
    are flags) for the words added. Order: subjects and items as in `fixations`, then words as read.
    """
    items = fixations.word_id.map(words.set_index("word_id")["item"])
    read = pd.DataFrame({"subject": fixations.subject, "item": items}).drop_duplicates()
    rows = read.merge(words[["item", "word_id"]], on="item", how="left").drop(columns="item")
    rows = rows.merge(fixations[fixations.time_ms > 0], on=["subject", "word_id"], how="left")
    for name in fixations.columns[fixations.dtypes == bool]:
        rows[name] = rows[name].eq(True)
    return rows.assign(time_ms=rows.time_ms.fillna(0.0))
