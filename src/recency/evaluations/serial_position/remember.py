"""Rule remember_lists: recognition and free recall of lists of words.

Recognition: each word of the list, and each of as many unstudied words (lures), is scored after the
list and a prompt, and after the prompt only. Free recall: the LM continues the list and another
prompt several times, with sampled tokens.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from recency.evaluations.serial_position.word_lists import (
    WORD,
    WordList,
    draw_lists,
    read_pool,
    written,
)
from recency.scoring.foils import SCORED
from recency.scoring.lm_spec import LMSpec

COLUMNS = ["length", "list", "studied", "position", "word", "surprisal_bits", "bare_bits"]
COLUMNS += ["recognized", "recalled", "first"]
NO_RECALL = "masked LMs generate no continuations, hence no recall"

Score = Callable[[pd.DataFrame], np.ndarray]
Continue = Callable[[list[list[str]]], list[str]]


def surprisals(contexts: Sequence[list[str]], probes: Sequence[str], score: Score) -> np.ndarray:
    """Return the surprisal (n,) in bits of each probe after its context."""
    sizes = np.array([len(context) + 1 for context in contexts])
    ends = sizes.cumsum() - 1
    words = [word for context, probe in zip(contexts, probes, strict=True) for word in (*context, probe)]  # fmt: skip
    text = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.repeat(ends - sizes + 1, sizes)
    table = pd.DataFrame(
        {
            "word_id": np.arange(len(words), dtype=np.int32),
            "item": text.astype(str),
            "sentence": text,
            "position": (np.arange(len(words)) - starts + 1).astype(np.int32),
            "word": words,
            SCORED: np.isin(np.arange(len(words)), ends),
        }
    )
    return score(table)[ends]


def recognition(
    lists: Sequence[WordList], study: str, probe: str, by: str, score: Score
) -> pd.DataFrame:
    """Return list, studied, position, word, surprisal_bits, bare_bits and recognized.

    `recognized` is the percentage of the list's lures with a lower score than the studied word,
    counting ties half: the area under the ROC curve for one word. The score is the negative
    surprisal after the list or, with `by` "likelihood_ratio", the decrease in surprisal due to the
    list in bits.
    """
    rows, contexts, bare = [], [], {}
    for number, drawn in enumerate(lists):
        context = [*study.split(), *written(drawn.studied), *probe.split()]
        for studied, words in ((True, drawn.studied), (False, drawn.lures)):
            rows += [(number, studied, position, word) for position, word in enumerate(words, 1)]
            contexts += [context] * len(words)
            bare |= dict.fromkeys(words)
    table = pd.DataFrame(rows, columns=["list", "studied", "position", "word"])
    table["surprisal_bits"] = surprisals(contexts, list(table.word), score)
    bare_bits = surprisals([probe.split()] * len(bare), list(bare), score)
    table["bare_bits"] = table.word.map(dict(zip(bare, bare_bits, strict=True)))
    strength = -table.surprisal_bits
    if by == "likelihood_ratio":
        strength += table.bare_bits
    table["recognized"] = np.nan
    for _, mine in table.groupby("list"):
        studied, lures = (strength[mine.index[mine.studied == side]] for side in (True, False))
        gaps = studied.to_numpy()[:, None] - lures.to_numpy()
        table.loc[studied.index, "recognized"] = 50 * (1 + np.sign(gaps)).mean(1)
    return table


def free_recall(
    lists: Sequence[WordList], study: str, prompt: str, samples: int, go_on: Continue
) -> pd.DataFrame:
    """Return list, studied, position, recalled and first, in percent of the samples.

    `first` is how often the word is the first of the list's words in a sample.
    """
    contexts = [[*study.split(), *written(drawn.studied), *prompt.split()] for drawn in lists]
    texts = go_on([context for context in contexts for _ in range(samples)])
    rows = []
    for number, drawn in enumerate(lists):
        recalled = [
            [word.lower() for word in WORD.findall(text)]
            for text in texts[number * samples : (number + 1) * samples]
        ]
        studied = {word.lower() for word in drawn.studied}
        firsts = [next((word for word in words if word in studied), None) for words in recalled]
        for side, words in ((True, drawn.studied), (False, drawn.lures)):
            for position, word in enumerate(words, 1):
                times = sum(word.lower() in spoken for spoken in recalled)
                first = firsts.count(word.lower())
                rows.append((number, side, position, 100 * times / samples, 100 * first / samples))
    return pd.DataFrame(rows, columns=["list", "studied", "position", "recalled", "first"])


def main(
    pool: str | Path,
    lm: LMSpec,
    out: str | Path,
    lengths: Sequence[int],
    lists: int,
    samples: int,
    temperature: float,
    score: str,
    study: str,
    probe: str,
    recall: str,
    seed: int,
    filter: str | None = None,
) -> None:
    """Write COLUMNS, one row per word of each list and per lure, to a Parquet file.

    Surprisals are in bits, `recognized`, `recalled` and `first` in percent. NaN if an LM generates
    no continuations (`NO_RECALL`), or `samples` is 0.
    """
    from readingtimes.progress import progress
    from recency.scoring.generation import continuations
    from recency.scoring.surprisal import score_words

    words = read_pool(pool, filter)
    drawn = {length: draw_lists(words, length, lists, seed) for length in lengths}
    opened = lm.open()
    if opened.masked and samples:
        print(f"{lm.name}: {NO_RECALL}", file=sys.stderr)
    frames = []
    for length, those in drawn.items():
        shown = progress(1, f"lists of {length} under {lm.name}", "windows")

        def report(done: int, total: int, shown=shown) -> None:
            shown.total = total
            shown.update(done)

        def scored(texts: pd.DataFrame, report=report) -> np.ndarray:
            table = score_words(texts, opened, report=report, **lm.reading).table
            return table["surprisal_bits"].to_numpy(float)

        def go_on(contexts: list[list[str]], length=length) -> list[str]:
            bar = progress(len(contexts), f"recall of {length} by {lm.name}", "texts")
            recalled = continuations(
                opened, contexts, 2 * length, temperature, seed, lm.bos, bar.update
            )
            return [text for text, _ in recalled]

        table = recognition(those, study, probe, score, scored)
        if samples and not opened.masked:
            recalled = free_recall(those, study, recall, samples, go_on)
            table = table.merge(recalled, on=["list", "studied", "position"], validate="1:1")
        else:
            table = table.assign(recalled=np.nan, first=np.nan)
        frames.append(table.assign(length=length))
    with atomic(out) as part:
        pd.concat(frames, ignore_index=True)[COLUMNS].to_parquet(
            part, index=False, compression="zstd"
        )
