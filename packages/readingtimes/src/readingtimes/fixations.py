"""Compute eye-tracking measures from fixations or from words in reading order."""

import numpy as np
import pandas as pd


def since_fixation(fixated: pd.Series) -> np.ndarray:
    """Count the rows since the last fixated row: 1 after a fixated row.

    This is the paper's wdelta for data with one row per word: a running count over the rows of the
    file, across sentences and subjects, as if the row before the first were fixated.
    """
    rows = np.arange(len(fixated))
    last = np.maximum.accumulate(np.where(fixated.to_numpy(dtype=bool), rows, -1))
    return rows - np.concatenate([[-1], last[:-1]])


def previous_fixated(fixated: pd.Series, texts: list[pd.Series]) -> pd.Series:
    """Return whether each row's previous row is of the same text and subject, and fixated."""
    before = fixated.shift(1, fill_value=False).astype(bool)
    for key in texts:
        before &= key == key.shift(1)
    return before


def with_history(frame: pd.DataFrame, fixated: pd.Series, text: pd.Series) -> pd.DataFrame:
    """Add words_since_fixation and previous_fixated, counted over the rows of `frame`.

    Rows are a subject's words in reading order, with the column `subject`; `text` is the item or
    sentence of each, before whose first word nothing was fixated.
    """
    before = previous_fixated(fixated, [frame.subject, text])
    return frame.assign(words_since_fixation=since_fixation(fixated), previous_fixated=before)


def measure(
    subject: np.ndarray,
    text: np.ndarray,
    position: np.ndarray,
    duration: np.ndarray,
    breaks: np.ndarray,
) -> pd.DataFrame:
    """Sum fixation durations (ms) to scan-path, first-pass and go-past times (Appendix A).

    Input has one row per fixation on a word, in temporal order within subject and text; `position` is the
    word's position in the text, and `breaks` whether a glance off the screen precedes. Columns of the
    result: `visit` (all fixations until another word is fixated), `FFD` (first fixation of first
    pass), `FP`, `GP`, `TFT` (all fixations on the word), each in the row where its sum starts and 0
    elsewhere (FFD, FP and GP start when a word to the right of all earlier ones is entered), and
    `words_since_fixation` (distance in words from the previous fixation: 0 on the same word or at the
    start of a text, negative after a regression). A break ends all sums except the total; first-pass
    and go-past times start again at the next word to the right of all earlier ones.
    """
    n = len(position)
    duration = np.asarray(duration, dtype=np.float64)
    trial, starts = _trials(subject, text)
    entry, frontier = _frontiers(np.asarray(position), starts)
    distance = np.diff(position, prepend=position[:1]).astype(np.int64)
    distance[starts] = 0
    breaks = np.asarray(breaks, dtype=bool) & ~starts
    # A word's first pass ends when it is left; its regression path also ends at a break.
    left = np.cumsum(~entry & ((distance != 0) | breaks))
    ended = np.cumsum(~entry & breaks)
    visit = _last(starts | (distance != 0) | breaks)
    first_pass, open_ = left == left[frontier], ended == ended[frontier]
    total, rank = _totals(trial, np.asarray(position), duration)
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
    """Return the last marked row up to each row."""
    return np.maximum.accumulate(np.where(marked, np.arange(len(marked)), 0))


def _frontiers(position: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that enter a word to the right of all earlier ones, and the last such row up to each."""
    reading = np.cumsum(starts)
    low = int(position.min(initial=0))
    width = int(position.max(initial=0)) - low + 1
    furthest = np.maximum.accumulate(reading * width + (position - low)) - reading * width + low
    entry = starts.copy()
    entry[1:] |= position[1:] > furthest[:-1]
    return entry, _last(entry)


def _totals(
    trial: np.ndarray, position: np.ndarray, duration: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's total time on its word, and whether it is the first on that word."""
    low = position.min(initial=0)
    word = trial * (position.max(initial=0) - low + 1) + (position - low)
    codes, words = pd.factorize(word)
    first = np.zeros(len(codes), dtype=bool)
    first[np.unique(codes, return_index=True)[1]] = True
    return np.bincount(codes, duration, len(words))[codes], first


def as_table(
    subject: pd.Series,
    item: pd.Series,
    word_id: pd.Series,
    duration: pd.Series,
    onset: pd.Series | None = None,
) -> pd.DataFrame:
    """Build contract 4 from fixations (n,) in temporal order within subject and item, ms.

    Without `onset`, a fixation begins at the sum of the durations before it.
    """
    names = ("subject", "item", "word_id", "duration_ms")
    columns = (subject, item, word_id, duration)
    frame = pd.DataFrame({n: np.asarray(c) for n, c in zip(names, columns, strict=True)})
    reading = frame.groupby(["subject", "item"], sort=False)
    before = reading.duration_ms.cumsum() - frame.duration_ms
    return frame.assign(
        order=reading.cumcount() + 1, onset_ms=before if onset is None else np.asarray(onset)
    )


def assume_reading_order(responses: pd.DataFrame, words: pd.DataFrame) -> pd.DataFrame:
    """Build contract 4 from first-pass times: each word with one is fixated once, in text order.

    `responses` has subject, word_id and time_ms (0: not fixated in first pass).
    """
    rows = responses[responses.time_ms > 0].sort_values("word_id", kind="stable")
    item = rows.word_id.map(words.set_index("word_id")["item"])
    return as_table(rows.subject, item, rows.word_id, rows.time_ms)


def agreement(
    fixations: pd.DataFrame, words: pd.DataFrame, responses: pd.DataFrame, measure_name: str
) -> tuple[float, int]:
    """Return the share of responses that a measure of the fixations equals, and their number.

    Parameters
    ----------
    fixations : DataFrame
        Contract 4.
    words : DataFrame
        Contract 1.
    responses : DataFrame
        Contract 2; those of subjects and texts without fixations are left out.
    measure_name : str
        FFD, FP (or GD), GP or TFT.
    """
    place = fixations.word_id.map(pd.Series(np.arange(len(words)), words.word_id))
    keys = fixations.subject.to_numpy(), fixations["item"].to_numpy(), place.to_numpy()
    never = np.zeros(len(fixations), bool)
    column = {"GD": "FP"}.get(measure_name, measure_name)
    sums = measure(*keys, fixations.duration_ms.to_numpy(), never)[column]
    cells = ["subject", "word_id"]
    times = sums.groupby([fixations[name] for name in cells]).sum().rename("computed")
    rows = responses.assign(item=responses.word_id.map(words.set_index("word_id")["item"]))
    rows = rows.merge(fixations[["subject", "item"]].drop_duplicates(), on=["subject", "item"])
    rows = rows.merge(times, left_on=cells, right_index=True, how="left")
    same = np.isclose(rows.computed.fillna(0.0), rows.time_ms, atol=0.5)
    return float(same.mean()), len(rows)


def presented(fixations: pd.DataFrame, words: pd.DataFrame) -> pd.DataFrame:
    """Add unfixated words of the same subject and item, with 0 ms.

    `fixations` has subject, word_id, time_ms and further columns, which are empty (flags: false) for
    added words. Rows are in the order of subjects and items in `fixations`, then in reading order.
    """
    items = fixations.word_id.map(words.set_index("word_id")["item"])
    read = pd.DataFrame({"subject": fixations.subject, "item": items}).drop_duplicates()
    rows = read.merge(words[["item", "word_id"]], on="item", how="left").drop(columns="item")
    rows = rows.merge(fixations[fixations.time_ms > 0], on=["subject", "word_id"], how="left")
    for name in fixations.columns[fixations.dtypes == bool]:
        rows[name] = rows[name].eq(True)
    return rows.assign(time_ms=rows.time_ms.fillna(0.0))
