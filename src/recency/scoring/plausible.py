"""Check that surprisal is plausible for its words: language, sign, size, rows, unit.

The checks need only the words and the surprisal, so that networks, n-grams, mixes and tables are checked in the
same way, in any language. A word's surprisal is predicted from its length, its frequency in the text, its repetitions
and its other occurrences; all LMs, weak and strong, follow these with r = .5 to .95. Likelihood ratios then find the
stretches of words in which surprisal is a neighbour's, unrelated, or in another unit. The unit of the whole follows
from its shape, which no unit changes: the stronger an LM, the less its surprisal follows length and frequency, the
more it varies, and the lower its mean is. benchmarks/plausibility.py has the fit, and what is found
(docs/surprisal/plausible.csv).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes import languages, text_languages
from recency import history, overrides
from recency.scoring.results import UNITS, UNKNOWN, Result

#: Reasons in the ledger for words that an LM or a list of counts does not have.
UNLISTED = (*UNKNOWN, "not in the list")
#: Largest share of unknown words; observed: up to .14 in the LM's language, .58 or more in another.
UNKNOWN_SHARE = 0.35
#: Largest ratio of tokens to characters in non-Latin scripts; more means bytes, not characters.
TOKENS_PER_CHARACTER = 1.1
_LATIN = 0x24F
#: Fewest words for any check, and for those by prediction.
LEAST, LEAST_PREDICTED = 50, 400
#: Standard errors by which a neighbour's length must correlate more with surprisal than the word's
#: own.
CERTAIN = 4.0
LAGS = (-2, -1, 0, 1, 2)
#: Least correlation of corrected with plain surprisal; largest difference of a text's sums: share,
#: bits.
SAME, APART, BOUNDARY = 0.5, 0.1, 40.0
#: Tolerance of negative surprisal by rounding, bits.
ROUNDING = 1e-3
#: Least correlation of surprisal with its prediction; shuffled surprisal has up to .2, LMs have .48 or more.
RELATED = 0.25
#: Least log-likelihood ratios of a stretch; right surprisal has up to 13, 18 and 23.
SHIFTED, UNRELATED, RESCALED = 16.0, 24.0, 30.0
#: That of a shift of surprisal that was computed here: networks after two updates, which follow little but
#: the number of tokens, have up to 17.
SHIFTED_HERE = 24.0
#: Most of a word's squared residual, for outliers.
OUTLIER = 9.0
#: Fewest different words in a row with one value.
CONSTANT = 20
#: Fewest words that were filled with 0; least mean length of these, in standard deviations above that of all
#: words (words that an LM predicts are short).
FILLED, LONGER = 5, 0.25
#: Least effect of punctuation after the word on √surprisal, as a share of its mean; sums over tokens have -.1 and
#: more, means over tokens -.28 and less.
OF_MEANS, MARKED = -0.2, 20
#: Largest difference between a text and the others in the log of its mean against what its words and shape say.
TEXTS_APART = 0.3
#: log mean bits = a + b log(sd / mean of √surprisal) + c r + d (sd of words' lengths), at most that of unigrams.
SHAPE, UNIGRAMS = (-0.286, -0.722, 1.752, 0.205), np.log(11.0)
#: Largest deviation from it in languages other than English, on which it was fitted.
ANY_LANGUAGE = 0.9
#: Weight of a word's own prediction against its other occurrences.
_SHRUNK = 4.0
_EDGES = re.compile(r"^\W+|\W+$")


def require_plausible(
    words: pd.DataFrame,
    result: Result,
    *,
    lm: str,
    dataset: str,
    accept: Collection[str] = (),
    unit: str | None = None,
) -> None:
    """Raise InputError if surprisal contradicts its words, its unit or its rows.

    Parameters
    ----------
    words : DataFrame
        Contract 1, W rows.
    result : Result
        Contract 3 of these words, in bits, and the ledger; what an LM like it would give is added to its notes.
    lm, dataset : str
        Names in the config, for messages.
    accept : collection of str
        Checks that may fail: "language" of the dataset, "surprisal" of the LM.
    unit : {"bits", "nats", "log10", "probability"}, optional
        Declared unit of given surprisal; None: it was computed here, and only sign, size and rows are checked.
    """
    name = f"{lm} on {dataset}" if lm else dataset
    if problem := other_language(words, result):
        way_out = "Use an LM, or a unigram model, of the dataset's language"
        where = f"datasets → {dataset}"
        overrides.refuse("language", name, problem, way_out, where, accept)
    fit = prediction(words, _bits(result.table))
    if contradiction := _contradiction(words, result.table, unit, fit):
        where = f"lms → {lm}" + (", or its entry of lms_from" if unit is not None else "")
        overrides.refuse("surprisal", name, *contradiction, where, accept)
    elif unit is not None and fit is not None:
        result.notes.append(f"plausible: {_compared(fit)}")


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
        The declared unit of given surprisal.
    """
    return _contradiction(words, table, unit, prediction(words, _bits(table)))


def _contradiction(
    words: pd.DataFrame, table: pd.DataFrame, unit: str | None, fit: Prediction | None
) -> tuple[str, str] | None:
    """Return what `implausible` does, by the prediction of this surprisal."""
    bits = _bits(table)
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
    rows = "Check which words the surprisals belong to: rows, or the first position"
    if problem := _neighbours_length(words, bits):
        return problem, rows
    if problem := _contradicts_corrected(words, table):
        return problem, "Check the corrected column: its rows and its unit"
    if unit is not None and (problem := _constant(words, bits)):
        return problem, "Check the table: an editor may have filled cells"
    if unit is not None and (problem := _zeros(words, bits)):
        return problem, "Leave their cells empty: without a probability they have no surprisal"
    if fit is None:
        return None
    if unit is not None and fit.r < RELATED:
        problem = (
            f"surprisal is unrelated to its words: it follows their length and frequency with r = {fit.r:.2f}, "
            "that of any LM with .5 or more"
        )
        return problem, rows
    if unit is None:
        return _odd_stretch(words, fit, unit)
    if fit.of_marks < OF_MEANS:
        problem = (
            f"words before a punctuation mark have {-fit.of_marks:.0%} less of √surprisal than others, as means "
            "over a word's tokens have, and sums do not"
        )
        return problem, "Give the sum over the tokens of each word"
    found = _other_unit(fit, unit) or _odd_stretch(words, fit, unit)
    return found or _odd_text(words, bits, fit, unit)


def likely_unit(words: pd.DataFrame, bits: np.ndarray, unit: str) -> str:
    """Return the likeliest unit of surprisal that was read as `unit`; itself if it cannot be told.

    Parameters
    ----------
    words : DataFrame
        Contract 1, W rows.
    bits : array, shape (W,)
        Surprisal if the unit is `unit`, NaN where missing.
    """
    fit = prediction(words, bits)
    if fit is None or fit.r < RELATED or not fit.is_english:
        return unit
    apart = _apart(fit, unit)
    return min(apart, key=apart.__getitem__)


def _neighbours_length(words: pd.DataFrame, bits: np.ndarray) -> str:
    """Describe surprisal that correlates with a neighbour's length more than with the word's own, over all words."""
    item, length = words["item"].to_numpy(), words.word.str.len().to_numpy(np.float64)
    rows = np.arange(2, max(len(words) - 2, 2))
    around = pd.DataFrame({lag: words.word.to_numpy()[rows + lag] for lag in (-1, 0, 1)})
    rows = rows[~around.duplicated().to_numpy()]  # texts repeated over conditions count once
    rows = rows[(item[rows - 2] == item[rows]) & (item[rows + 2] == item[rows])]
    rows = rows[np.isfinite(bits[rows])]
    r = {lag: _correlation(bits[rows], length[rows + lag]) for lag in LAGS}
    best = max(r, key=lambda lag: -1.0 if np.isnan(r[lag]) else r[lag])
    if len(rows) < LEAST or np.isnan(r[0]) or best == 0:
        return ""
    certain = CERTAIN / np.sqrt(len(rows))
    if r[best] <= certain or r[best] <= r[0] + certain * np.sqrt(2):
        return ""
    shown = ", ".join(f"{lag:+d}: {r[lag]:.2f}" if lag else f"0: {r[0]:.2f}" for lag in LAGS)
    return (
        f"{_stretch(words, rows[[0, -1]])} surprisal is {_off(best)}. Correlation with the length of the word "
        f"k places on ({len(rows):,} words), k: r = {shown}"
    )


@dataclass
class Prediction:
    """Prediction of the root of surprisal, whose residuals are about normal.

    Attributes
    ----------
    rows : array of int, shape (N,)
        The words with a value.
    root, by_word, expected : array, shape (N,)
        √surprisal, its prediction, and one that includes the word's other occurrences.
    noise : float
        Standard deviation of the residuals.
    r : float
        Correlation of √surprisal with its prediction by length, frequency and repetition alone.
    lengths : float
        Standard deviation of the words' lengths.
    of_marks : float
        Effect of punctuation after a word, as a share of the mean; NaN for few such words.
    is_english : bool
    """

    rows: np.ndarray
    root: np.ndarray
    by_word: np.ndarray
    expected: np.ndarray
    noise: float
    r: float
    lengths: float
    of_marks: float
    is_english: bool

    @property
    def deviation(self) -> float:
        """Return log(mean surprisal / `mean`)."""
        return float(np.log(np.mean(self.root**2) / self.mean))

    @property
    def mean(self) -> float:
        """Return the mean surprisal, in bits, that an LM whose surprisal has this shape gives."""
        shape = np.log(self.root.std() / self.root.mean())
        about = float(np.dot(SHAPE, (1.0, shape, self.r, self.lengths)))
        return float(np.exp(min(about, UNIGRAMS)))

    def likelihood(self, expected: np.ndarray | float, noise: float) -> np.ndarray:
        """Return the log-likelihood of each word's √surprisal, with bounded outliers; shape (N,)."""
        squared = np.square((self.root - expected) / noise)
        return -np.minimum(squared, OUTLIER) / 2 - np.log(noise)


def prediction(words: pd.DataFrame, bits: np.ndarray) -> Prediction | None:
    """Predict surprisal from its words alone; None for fewer than 400 words.

    Parameters
    ----------
    words : DataFrame
        Contract 1, W rows.
    bits : array, shape (W,)
        Surprisal, NaN where missing.
    """
    rows = np.flatnonzero(np.isfinite(bits))
    if len(rows) < LEAST_PREDICTED:
        return None
    features, plain = _features(words)
    root, inside = np.sqrt(np.clip(bits[rows], 0, None)), features[rows]
    by_word = _least_squares(inside, root)
    residual = pd.Series(root - by_word)
    occurrences = residual.groupby(plain[rows])
    others = occurrences.transform("sum") - residual
    others /= occurrences.transform("size") - 1 + _SHRUNK
    expected = _least_squares(np.column_stack([inside, others]), root)
    code = text_languages.code_of(words.word.head(5000))
    return Prediction(
        rows,
        root,
        by_word,
        expected,
        float(np.std(root - expected)) or 1e-9,
        _correlation(root, by_word),
        float(pd.Series(plain).str.len().std()),
        _of_marks(inside, root),
        code in (None, languages.DEFAULT),
    )


def _features(words: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return predictors of surprisal, shape (W, 9), and the words without case and punctuation, shape (W,)."""
    word, item, sentence = words.word, words["item"], words.sentence
    plain = word.str.lower().str.replace(_EDGES, "", regex=True)
    pairs = plain.shift(1, fill_value="") + " " + plain
    first = np.r_[True, sentence.to_numpy()[1:] != sentence.to_numpy()[:-1]]
    length = plain.str.len().to_numpy(np.float64)
    columns = [
        np.ones(len(words)),
        np.log(plain.map(plain.value_counts()).to_numpy(np.float64)),
        np.sqrt(length),
        length,
        np.log1p(plain.groupby([item, plain]).cumcount().to_numpy()),  # repetitions in the text
        np.log1p(pairs.groupby([item, pairs]).cumcount().to_numpy()),
        first,
        word.str[:1].str.isupper().to_numpy() & ~first,
        word.str.contains(r"\W$").to_numpy(),
    ]
    return np.column_stack(columns).astype(np.float64), plain.to_numpy(str)


def _of_marks(features: np.ndarray, root: np.ndarray) -> float:
    """Return the effect of the last feature, punctuation after the word, as a share of the mean √surprisal."""
    if not MARKED <= features[:, -1].sum() <= len(features) - MARKED:
        return float("nan")
    effect = np.linalg.lstsq(features, root, rcond=None)[0][-1]
    return float(effect / root.mean())


def _least_squares(features: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the predictions of a linear regression, shape (N,)."""
    return features @ np.linalg.lstsq(features, values, rcond=None)[0]


def _odd_stretch(words: pd.DataFrame, fit: Prediction, unit: str | None) -> tuple[str, str] | None:
    """Return a stretch of words with another's, unrelated or rescaled surprisal, and a way out.

    Of surprisal that was computed here (`unit` None), a shift alone is looked for.
    """
    own = fit.likelihood(fit.expected, fit.noise)
    rows = "Check which words the surprisals belong to there"
    shifted = SHIFTED_HERE if unit is None else SHIFTED
    others = [
        (_off(lag), rows, shifted, fit.likelihood(np.roll(fit.expected, -lag), fit.noise))
        for lag in LAGS
        if lag
    ]
    if unit is not None:
        noise = float(np.hypot(fit.noise, fit.expected.std()))
        unrelated = fit.likelihood(fit.root.mean(), noise)
        others.append(("unrelated to its words", rows, UNRELATED, unrelated))
        for other, factor in _factors(unit).items():
            root = 1 / np.sqrt(factor)
            rescaled = fit.likelihood(root * fit.expected, root * fit.noise)
            if other != unit:
                others.append(
                    (f"of the size of {other}", "Give all texts in one unit", RESCALED, rescaled)
                )
    found = [(*_best_stretch(other - own), *about) for *about, other in others]
    gain, ends, what, way_out, limit = max(found, key=lambda each: each[0] / each[-1])
    if gain <= limit:
        return None
    problem = f"{_stretch(words, fit.rows[ends])} surprisal is {what}"
    return (
        f"{problem} (log-likelihood ratio {gain:.0f}; that of right surprisal is below {limit:.0f})",
        way_out,
    )


def _other_unit(fit: Prediction, unit: str) -> tuple[str, str] | None:
    """Return the contradiction of a unit that fits less well than another, and a way out."""
    apart = _apart(fit, unit)
    best = min(apart, key=apart.__getitem__)
    allowed = min(apart[best], ANY_LANGUAGE) if fit.is_english else ANY_LANGUAGE
    if abs(fit.deviation) <= allowed:
        return None
    if unit == "probability":
        return _compared(fit), "Check that the column has probabilities of whole words"
    if apart[best] > ANY_LANGUAGE:
        return _compared(fit), "Check the column: surprisal in any unit is of another size"
    return _compared(fit), f"Declare `unit: {best}`, which fits better, instead of {unit}"


def _apart(fit: Prediction, unit: str) -> dict[str, float]:
    """Return unit → how far the mean is from that of an LM like this one, if it is declared."""
    return {other: abs(fit.deviation + np.log(f)) for other, f in _factors(unit).items()}


def _factors(unit: str) -> dict[str, float]:
    """Return unit → the factor by which surprisal grows if it is declared instead of `unit`."""
    declared = UNITS.get(unit, UNITS["bits"])
    return {other: size / declared for other, size in UNITS.items()}


def _compared(fit: Prediction) -> str:
    mean = np.mean(fit.root**2)
    return (
        f"the mean of {len(fit.rows):,} words is {mean:.3g} bits; an LM whose surprisal follows length and "
        f"frequency with r = {fit.r:.2f}, as this one's, gives about {fit.mean:.2g}"
    )


def _constant(words: pd.DataFrame, bits: np.ndarray) -> str:
    """Describe a run of many different words with one value; "" without one."""
    rows = np.flatnonzero(np.isfinite(bits))
    run = pd.Series(np.cumsum(np.r_[True, np.diff(bits[rows]) != 0]))
    different = words.word.str.lower().iloc[rows].reset_index(drop=True).groupby(run).nunique()
    if different.max() < CONSTANT:
        return ""
    same = rows[(run == different.idxmax()).to_numpy()]
    return (
        f"{_stretch(words, same[[0, -1]])} all {len(same)} words have the surprisal "
        f"{bits[same[0]]:.4g} bits"
    )


def _zeros(words: pd.DataFrame, bits: np.ndarray) -> str:
    """Describe zeros that stand for no value: of all first words, or of words longer than most; "" without such."""
    zero = bits == 0
    if zero.sum() < FILLED:
        return ""
    shown = ", ".join(map(repr, words.word[zero].drop_duplicates()[:3]))
    for unit, called in (("item", "text"), ("sentence", "sentence")):
        first = ~words[unit].duplicated().to_numpy()
        if first.sum() >= FILLED and zero[first].all():
            return f"the first word of each {called} has 0 bits ({shown} …), as if it were certain"
    length = words.word.str.len()[np.isfinite(bits)]
    if length[zero[np.isfinite(bits)]].mean() < length.mean() + LONGER * length.std():
        return ""
    return (
        f"{zero.sum():,} words have 0 bits ({shown} …), as if they were certain, though they are longer than most: "
        "are they unknown words?"
    )


def _odd_text(
    words: pd.DataFrame, bits: np.ndarray, fit: Prediction, unit: str
) -> tuple[str, str] | None:
    """Return a text whose surprisal has another size than that of the others, and a way out."""
    item = words["item"].to_numpy()
    noise = np.var(fit.root - fit.by_word)
    counts = words["item"].iloc[fit.rows].value_counts()
    for name, count in counts[counts >= LEAST_PREDICTED].items():
        if len(fit.rows) - count < LEAST_PREDICTED:
            continue
        inside = item == name
        here, part = inside[fit.rows], prediction(words[inside], bits[inside])
        by_words = np.log(np.mean(fit.root[here] ** 2) / (np.mean(fit.by_word[here] ** 2) + noise))
        apart = (part.deviation - fit.deviation + by_words) / 2 / (1 - count / len(fit.rows))
        if abs(apart) > TEXTS_APART:
            problem = (
                f"text {name!r} has {np.exp(apart):.2g} times the surprisal that its words and that of the other "
                "texts say"
            )
            return problem, f"Give all texts in one unit, {unit}"
    return None


def _best_stretch(gains: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the largest sum over neighbouring elements, and the first and the last of them."""
    best, total, start, ends = -np.inf, 0.0, 0, (0, 0)
    for place, gain in enumerate(gains.tolist()):
        if total <= 0:
            total, start = 0.0, place
        total += gain
        if total > best:
            best, ends = total, (start, place)
    return best, np.array(ends)


def _stretch(words: pd.DataFrame, ends: np.ndarray) -> str:
    first, last = ends
    return (
        f"from {words.word.iloc[first]!r} (word_id {words.word_id.iloc[first]}) to {words.word.iloc[last]!r} "
        f"({words.word_id.iloc[last]})"
    )


def _off(lag: int) -> str:
    return f"{abs(lag)} word{'s' * (abs(lag) > 1)} too {'early' if lag > 0 else 'late'}"


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


def _bits(table: pd.DataFrame) -> np.ndarray:
    return table.surprisal_bits.to_numpy(np.float64)


def _beyond_latin(word: str) -> bool:
    """Return whether most letters of a word are outside the Latin script."""
    letters = [character for character in word if character.isalpha()]
    return sum(ord(character) > _LATIN for character in letters) > len(letters) / 2


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
