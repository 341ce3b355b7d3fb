"""The results of scoring: the table of contract 3, and the ledger of alignment issues.

Check that surprisal is plausible for its words: language, sign, size, unit, numbering.

The checks need only the words and the surprisal, so that networks, n-grams, mixes and tables are
checked in the same way. The unit is inferred from frequent words: the mean of 1/p over a word's
occurrences is about the inverse of its relative frequency, so log2(mean(2**surprisal)) is its
unigram surprisal under any LM. Nats read as bits give about 0.7 times that, bits read as nats about
1.5 times.
"""

import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic, write_parquet
from recency import history, overrides
from recency.errors import InputError

#: Nats per unit.
UNITS = {"bits": np.log(2), "nats": 1.0, "log10": np.log(10)}
#: Reasons in the ledger for words with the probability of all unknown words.
UNKNOWN = ("unknown", "has the unknown token")
LEDGER = ["word_id", "item", "word", "tokens", "reason", "treatment"]


@dataclass
class Result:
    """Surprisal of words, with alignment issues and the error of the whitespace correction."""

    table: pd.DataFrame  # one row per word, in the words' order
    ledger: pd.DataFrame  # columns LEDGER
    texts: int = 0  # texts whose whitespace correction was checked
    discrepancy: float = 0.0  # largest deviation from the text's sum, in the unit
    notes: list[str] = field(default_factory=list)  # for the log
    tokens: pd.DataFrame | None = None  # one row per token, on request

    def __post_init__(self):
        """Refuse infinite surprisal; NaN is that of words without a context or a value."""
        if (column := next((n for n in self.table if n.startswith("surprisal_")), None)) is None:
            return
        values = self.table[column].to_numpy(np.float64)
        if (odd := np.isinf(values)).any():
            raise InputError(
                f"{int(odd.sum()):,} words have an infinite surprisal, word_id "
                f"{self.table.word_id[odd].iloc[0]} first: the LM gives them no probability; take an LM "
                "that knows all words"
            )

    def write(self, out: Path, ledger: Path | None = None, name: str = "") -> None:
        """Write the table (Parquet), the ledger (CSV), and the notes (log)."""
        for note in self.notes:
            print(f"{name}: {note}" if name else note, file=sys.stderr)
        write_parquet(self.table, out)
        if ledger:
            with atomic(ledger) as part:
                self.ledger.to_csv(part, index=False, lineterminator="\n")


def nats(unit: str) -> float:
    """Return the nats per unit; raise InputError for an unknown unit."""
    if unit not in UNITS:
        raise InputError(f"unit {unit!r} is none of {', '.join(UNITS)}")
    return UNITS[unit]


def table(
    words: pd.DataFrame,
    plain: np.ndarray,
    corrected: np.ndarray,
    tokens: np.ndarray,
    context: np.ndarray,
    unit: str = "bits",
) -> pd.DataFrame:
    """Build contract 3 from surprisal in nats; columns are named by the unit."""
    nats(unit)
    return pd.DataFrame(
        {
            "word_id": words["word_id"].to_numpy(np.int32),
            f"surprisal_{unit}": plain / UNITS[unit],
            f"corrected_{unit}": corrected / UNITS[unit],
            "tokens": np.asarray(tokens, dtype=np.int32),
            "context_tokens": np.asarray(context, dtype=np.int32),
        }
    )


def ledger(words: pd.DataFrame, rows: list[tuple[int, str, str, str]]) -> pd.DataFrame:
    """Build the ledger from (row of `words`, tokens, reason, treatment)."""
    number = [row[0] for row in rows]
    return pd.DataFrame(
        {
            "word_id": words["word_id"].to_numpy(np.int32)[number],
            "item": words["item"].to_numpy()[number],
            "word": words["word"].to_numpy()[number],
            "tokens": [row[1] for row in rows],
            "reason": [row[2] for row in rows],
            "treatment": [row[3] for row in rows],
        },
        columns=LEDGER,
    ).astype({"tokens": "str", "reason": "str", "treatment": "str"})


def copy_scores(surprisal: Path, scores_ledger: Path, out: Path, ledger: Path) -> None:
    """Copy another LM's surprisal and ledger of a dataset."""
    write_parquet(pd.read_parquet(surprisal), out)
    with atomic(ledger) as part:
        part.write_bytes(Path(scores_ledger).read_bytes())


#: Reasons in the ledger for words that an LM or a list of counts does not have.
UNLISTED = (*UNKNOWN, "not in the list")
#: Largest share of unknown words; observed: up to .14 in the LM's language, .58 or more in another.
UNKNOWN_SHARE = 0.35
#: Largest ratio of tokens to characters in non-Latin scripts; more means bytes, not characters.
TOKENS_PER_CHARACTER = 1.1
_LATIN = 0x24F
#: Fewest words for any check, and words per passage in the check of numbering.
LEAST, PASSAGE = 50, 300
#: Standard errors by which a neighbour's length must correlate more with surprisal than the word's
#: own.
CERTAIN = 4.0
LAGS = (-2, -1, 0, 1, 2)
#: Least correlation of corrected with plain surprisal; largest difference of a text's sums: share,
#: bits.
SAME, APART, BOUNDARY = 0.5, 0.1, 40.0
#: For the unit: fewest words, least share of distinct words, and occurrences of a frequent word.
LEAST_OF_UNIT, DIFFERENT, FREQUENT = 2_000, 1 / 3, 10
#: Range of `unit_scale` for natural text in bits; nats read as bits have up to .81, bits as nats
#: from 1.42.
SCALE = (0.86, 1.40)
#: Tolerance of negative surprisal by rounding, bits.
ROUNDING = 1e-3
#: Bits per unit.
_UNITS = {"bits": 1.0, "nats": 1 / np.log(2), "log10": np.log2(10)}


def require_plausible(
    words: pd.DataFrame,
    result: Result,
    *,
    lm: str,
    dataset: str,
    accept: Collection[str] = (),
    unit: str | None = None,
) -> None:
    """Raise InputError if surprisal contradicts its words, its unit or its numbering.

    Parameters
    ----------
    words : DataFrame
        Contract 1, W rows.
    result : Result
        Contract 3 of these words, in bits, and the ledger.
    lm, dataset : str
        Names in the config, for messages.
    accept : collection of str
        Checks that may fail: "language" of the dataset, "surprisal" of the LM.
    unit : {"bits", "nats", "log10"}, optional
        Declared unit of a table's surprisal; checked only if given.
    """
    name = f"{lm} on {dataset}" if lm else dataset
    if problem := other_language(words, result):
        way_out = "Use an LM, or a unigram model, of the dataset's language"
        where = f"datasets → {dataset}"
        overrides.refuse("language", name, problem, way_out, where, accept)
    if contradiction := implausible(words, result.table, unit):
        overrides.refuse("surprisal", name, *contradiction, f"lms → {lm}", accept)


def require_unseen(
    words: str | Path, dataset: str, lm: str, model: str | Path, accept: Collection[str] = ()
) -> None:
    """Raise InputError if an LM was trained on most of a dataset's texts (`recency.history`).

    Parameters
    ----------
    words : str or Path
        Contract 1.
    dataset, lm : str
        Names in the config, for messages.
    model : str or Path
        The LM's folder or file.
    accept : collection of str
        Checks that may fail: "trained_on" of the LM.
    """
    if problem := history.seen(words, dataset, lm, model):
        way_out = "Evaluate it on a text that it was not trained on"
        overrides.refuse("trained_on", lm, f"it {problem}", way_out, f"lms → {lm}", accept)


def other_language(words: pd.DataFrame, result: Result) -> str:
    """Describe an LM's unknown words; "" if it seems to be of the words' language."""
    ledger = result.ledger
    if len(words) < LEAST:
        return ""
    unknown = ledger.word_id[ledger.reason.isin(UNLISTED)].drop_duplicates()
    if (share := len(unknown) / len(words)) > UNKNOWN_SHARE:
        shown = words.word[words.word_id.isin(unknown)].drop_duplicates().head(3)
        return (
            f"{share:.0%} of the {len(words):,} words are unknown to it, such as "
            f"{', '.join(map(repr, shown))}: is it of another language?"
        )
    other = words.word.map(_beyond_latin).to_numpy()
    if other.mean() < 0.5 or not result.table.tokens.any():
        return ""
    characters = int(words.word[other].str.len().sum())
    ratio = float(result.table.tokens.to_numpy()[other].sum() / characters)
    if ratio <= TOKENS_PER_CHARACTER:
        return ""
    return (
        f"it reads {ratio:.1f} tokens per character of words such as {words.word[other].iloc[0]!r}: "
        "its tokenizer does not know their script"
    )


def implausible(
    words: pd.DataFrame, table: pd.DataFrame, unit: str | None = None
) -> tuple[str, str] | None:
    """Return a contradiction in surprisal and a way out; None if it is plausible.

    Parameters
    ----------
    words : DataFrame
        Contract 1, W rows.
    table : DataFrame
        Contract 3 of these words, in bits; missing values are ignored.
    unit : str, optional
        The declared unit of a table.
    """
    bits = table.surprisal_bits.to_numpy(np.float64)
    there = np.isfinite(bits)
    if there.sum() < LEAST:
        return None
    least, most = float(bits[there].min()), float(bits[there].max())
    described = f"the mean of {there.sum():,} words is {bits[there].mean():.3g} bits"
    if least < -ROUNDING:
        way_out = "Give -log p, or declare the column as `logprob`"
        return f"a surprisal is {least:.4g} bits, below 0", way_out
    if most - least <= 1e-9 * most:
        return f"every word has the same surprisal, {most:.4g} bits", "Check the LM's scores"
    if most <= 1:
        way_out = "Declare the column as `probability`, or check the LM's scores"
        return f"no word has more than 1 bit ({described}): are these probabilities?", way_out
    if problem := describe_shift(words, bits):
        return problem, "Check which words the surprisals belong to: rows, or the first position"
    if problem := _contradicts_corrected(words, table):
        return problem, "Check the corrected column: its rows and its unit"
    return None if unit is None else _other_unit(words, bits, unit, described)


def describe_shift(words: pd.DataFrame, bits: np.ndarray) -> str:
    """Describe a shift, in which surprisal correlates with a neighbour's length; "" without one.

    Parameters
    ----------
    words : DataFrame
        Contract 1, W rows.
    bits : array, shape (W,)
        Surprisal, NaN where missing. All words are tested together, then by passage.
    """
    item, length = words["item"].to_numpy(), words.word.str.len().to_numpy(np.float64)
    rows = np.arange(2, max(len(words) - 2, 2))
    around = pd.DataFrame({lag: words.word.to_numpy()[rows + lag] for lag in (-1, 0, 1)})
    rows = rows[~around.duplicated().to_numpy()]  # texts repeated over conditions count once
    rows = rows[(item[rows - 2] == item[rows]) & (item[rows + 2] == item[rows])]
    rows = rows[np.isfinite(bits[rows])]
    passages = np.array_split(rows, max(len(rows) // PASSAGE, 1))
    for part in [rows, *passages]:
        r = {lag: _correlation(bits[part], length[part + lag]) for lag in LAGS}
        best = max(r, key=lambda lag: -1.0 if np.isnan(r[lag]) else r[lag])
        if len(part) < LEAST or np.isnan(r[0]) or best == 0:
            continue
        certain = CERTAIN / np.sqrt(len(part))
        if r[best] > certain and r[best] > r[0] + certain * np.sqrt(2):
            shown = ", ".join(
                f"{lag:+d}: {r[lag]:.2f}" if lag else f"0: {r[0]:.2f}" for lag in LAGS
            )
            off = f"{abs(best)} word{'s' * (abs(best) > 1)} too {'early' if best > 0 else 'late'}"
            first, last = words.word.iloc[part[0]], words.word.iloc[part[-1]]
            return (
                f"from {first!r} (word_id {part[0]}) to {last!r} ({part[-1]}) surprisal is "
                f"{off}. Correlation with the length of the word k places on ({len(part):,} words), "
                f"k: r = {shown}"
            )
    return ""


def unit_scale(words: pd.Series, bits: np.ndarray) -> float:
    """Return log2(mean(2**surprisal)) of frequent words relative to their unigram surprisal.

    Parameters
    ----------
    words : Series, shape (W,)
        A natural text's words.
    bits : array, shape (W,)
        Their surprisal; NaN is ignored.

    Returns
    -------
    float
        The median over the 30 most frequent words: about 1 in bits. NaN if the text is short or
        repeats itself, as lists of experimental sentences do.
    """
    lower = words.str.lower()
    if len(words) < LEAST_OF_UNIT or lower[:LEAST_OF_UNIT].nunique() < DIFFERENT * LEAST_OF_UNIT:
        return float("nan")
    frame = pd.DataFrame({"word": lower.to_numpy(), "bits": bits})
    frame = frame[np.isfinite(bits)]
    highest = float(frame.bits.max())
    frame["inverse"] = np.exp2(frame.bits - highest)
    of_word = frame.groupby("word").inverse.agg(["size", "mean"])
    of_word = of_word[of_word["size"] >= FREQUENT].nlargest(30, "size")
    if len(of_word) < 10:
        return float("nan")
    with np.errstate(divide="ignore"):
        mean = np.log2(of_word["mean"]) + highest
    return float((mean / -np.log2(of_word["size"] / len(frame))).median())


def _other_unit(
    words: pd.DataFrame, bits: np.ndarray, unit: str, described: str
) -> tuple[str, str] | None:
    ratio = unit_scale(words.word, bits)
    low, high = SCALE
    if np.isnan(ratio) or low <= ratio <= high:
        return None
    factors = {other: size / _UNITS[unit] for other, size in _UNITS.items()}
    best = min(
        factors, key=lambda other: abs(np.log(unit_scale(words.word, bits * factors[other])))
    )
    problem = (
        f"{described}; the scale of frequent words is {ratio:.2f}, and {low:.2f} to {high:.2f} in the "
        f"right unit"
    )
    if best == unit:
        return problem, "Check the unit and the LM's scores"
    fitting = unit_scale(words.word, bits * factors[best])
    way_out = f"Declare `unit: {best}`, with which the scale is {fitting:.2f}, instead of {unit}"
    return problem, way_out


def _contradicts_corrected(words: pd.DataFrame, table: pd.DataFrame) -> str:
    """Describe a contradiction of corrected and plain surprisal; "" without one."""
    pair = table[["surprisal_bits", "corrected_bits"]].astype("float64")
    pair = pair.assign(item=words["item"].to_numpy())
    pair = pair[np.isfinite(pair.surprisal_bits) & np.isfinite(pair.corrected_bits)]
    if len(pair) < LEAST:
        return ""
    plain, corrected = pair.surprisal_bits.to_numpy(), pair.corrected_bits.to_numpy()
    if (r := _correlation(plain, corrected)) < SAME:
        return f"corrected and plain surprisal have r = {r:.2f} over {len(pair):,} words"
    sums = pair.groupby("item", sort=False)[["surprisal_bits", "corrected_bits"]].sum()
    apart = (sums.corrected_bits - sums.surprisal_bits).abs()
    wrong = apart > APART * sums.surprisal_bits + BOUNDARY
    if not wrong.any():
        return ""
    first = sums[wrong].iloc[0]
    return (
        f"the corrected surprisal of text {sums.index[wrong][0]!r} sums to {first.corrected_bits:,.0f} "
        f"bits, the plain to {first.surprisal_bits:,.0f}; the correction only moves spaces between words"
    )


def _beyond_latin(word: str) -> bool:
    """Return whether most letters of a word are outside the Latin script."""
    letters = [character for character in word if character.isalpha()]
    return sum(ord(character) > _LATIN for character in letters) > len(letters) / 2


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
