"""Rule remember_lists: recognition and free recall of lists of words.

Recognition: each word of the list, and each of as many unstudied words (lures), is scored after the
list and a prompt, and after the prompt only. Free recall: the LM continues the list and another
prompt several times, with sampled tokens.

Lists of words to study, and as many unstudied words (lures) for each list.
"""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes import filters
from readingtimes.files import atomic
from recency.errors import InputError
from recency.scoring.foils import SCORED
from recency.scoring.lm_spec import LMSpec

#: Minimum number of letters of a dataset's words, since shorter words are mostly function words.
LEAST = 4
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True)
class WordList:
    """A list: the studied words, in order, and as many unstudied words."""

    studied: tuple[str, ...]
    lures: tuple[str, ...]


def read_pool(path: str | Path, filter: str | None = None) -> list[str]:
    """Return the words for lists, in alphabetical order.

    Parameters
    ----------
    path : path
        Words of a dataset (contract 1, .parquet), restricted to words of at least `LEAST` lower-case
        letters; or a text file with one word per line.
    filter : str, optional
        Condition on columns of the dataset's words.

    Raises
    ------
    InputError
        If a line is not one word, or a word occurs twice.
    """
    if Path(path).suffix == ".parquet":
        table = pd.read_parquet(path)
        if filter:
            held = filters.evaluated(table, "serial_position → filter", filter)
            table = table[held.fillna(False).to_numpy(bool)]
        words = table["word"].drop_duplicates()
        return sorted(words[[w.isalpha() and w.islower() and len(w) >= LEAST for w in words]])
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not (word := line.strip()):
            continue
        if not WORD.fullmatch(word):
            raise InputError(f"{path}, line {number}: {word!r} is not one word of letters")
        if word.lower() in seen:
            raise InputError(
                f"{path}, line {number}: {word!r} is already in line {seen[word.lower()]}; a list "
                "contains no word twice"
            )
        seen[word.lower()] = number
    return sorted(lines[number - 1].strip() for number in seen.values())


def draw_lists(pool: list[str], length: int, number: int, seed: int) -> list[WordList]:
    """Draw `number` lists of `length` words and as many lures, without repetition within a list."""
    if len(pool) < 2 * length:
        raise InputError(
            f"serial_position: {len(pool)} words to draw from, and a list of {length} needs "
            f"{2 * length}, half of them unstudied; supply more words or use shorter lists (lengths)"
        )
    random = np.random.default_rng((seed, length))
    drawn = [random.choice(pool, 2 * length, replace=False) for _ in range(number)]
    return [WordList(tuple(words[:length]), tuple(words[length:])) for words in drawn]


def list_as_words(words: tuple[str, ...]) -> list[str]:
    """Return a list's words as text, with commas between them and a final full stop."""
    return [f"{word}," for word in words[:-1]] + [f"{words[-1]}."]


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
        context = [*study.split(), *list_as_words(drawn.studied), *probe.split()]
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
    contexts = [[*study.split(), *list_as_words(drawn.studied), *prompt.split()] for drawn in lists]
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
