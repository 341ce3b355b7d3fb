"""Eye-tracking measures, from a record of fixations or of words in reading order."""

from dataclasses import dataclass

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


@dataclass
class _Pass:
    """What is being summed while one subject reads one text."""

    visit: int  # the row where the word now fixated was entered
    frontier: int  # the row where the rightmost word so far was entered
    furthest: int  # that word's place
    first_pass: bool  # whether that word has not been left since


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
    visit, first, past = (np.zeros(len(place)) for _ in range(3))
    distance = np.zeros(len(place), dtype=np.int64)
    now, frontier_open = None, True
    for row in range(len(place)):
        if now is None or subject[row] != subject[row - 1] or text[row] != text[row - 1]:
            now, frontier_open = _Pass(row, row, place[row], True), True
        else:
            distance[row] = place[row] - place[row - 1]
            if breaks[row]:
                now.first_pass = frontier_open = False
            if distance[row] or breaks[row]:
                now.visit = row
            if place[row] > now.furthest:
                now.frontier, now.furthest, now.first_pass = row, place[row], True
                frontier_open = True
            elif distance[row]:
                now.first_pass = False
        visit[now.visit] += duration[row]
        if now.first_pass:
            first[now.frontier] += duration[row]
        if frontier_open:
            past[now.frontier] += duration[row]
    on_word = pd.DataFrame({"subject": subject, "text": text, "place": place, "ms": duration})
    words = on_word.groupby(["subject", "text", "place"], sort=False).ms
    return pd.DataFrame(
        {
            "visit": visit,
            "FFD": np.where(first > 0, duration, 0.0),
            "FP": first,
            "GP": past,
            "TFT": words.transform("sum").where(words.cumcount() == 0, 0.0),
            "words_since_fixation": distance,
        }
    )


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
