"""Quality checks of a reading-time corpus: common faults in words and responses.

Checks return counts, correlations and findings, and change no data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from readingtimes.measures import MEASURES

OFFSETS = tuple(range(-3, 4))
_FURTHER = 4 / 3  # times the correlation that a next word's length needs; there are more of them
FEW_ITEMS = 8
"""Fewer items of an experiment than these are warned of."""

# UTF-8 read as Latin-1 or Windows-1252 ("â€™", "Ã©"), its control characters, markup, lost letters.
_DAMAGE = {
    "a character that was lost (U+FFFD)": "\ufffd",
    "UTF-8 read as another encoding": "â€|Ã[\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ©¨´¶¼]|Â[\x80-\xbf ]|ï»¿",
    "a control character or an invisible space": r"[\x00-\x1f\x7f-\x9f\xad\u200b\u2060\ufeff]",
    "an HTML entity or tag": r"&(?:#\d+|[a-z]{2,8});|</?[a-z]+\s*/?>",
    "percent-encoding": "%[0-9A-F]{2}",
    "a question mark inside a word": r"\w\?\w",
}


@dataclass(frozen=True)
class Finding:
    """A sentence about the corpus; a `warning` is a likely fault, a `note` may be intended."""

    level: str
    check: str
    text: str


def damaged(words: pd.Series) -> list[str]:
    """Describe each kind of damage by decoding, escapes or markup in words, of shape (W,)."""
    hits = {what: words.str.contains(pattern, regex=True) for what, pattern in _DAMAGE.items()}
    return [f"{what} in {_some(words[hit])}" for what, hit in hits.items() if hit.any()]


def words(frame: pd.DataFrame) -> list[Finding]:
    """Check words (contract 1): encoding, tokenisation, sentences."""
    problems = [Finding("warning", "encoding", text) for text in damaged(frame.word)]
    if (lost := frame.word.isin(["NA", "NaN", "N/A", "#N/A", "#NAME?"])).any():
        text = f"{_some(frame.word[lost])} stands as a word {lost.sum():,} times: was a word lost there?"
        problems.append(Finding("warning", "words", text))
    bare = frame.word.str.fullmatch(r"[\W_]+")
    if bare.mean() > 0.03:
        text = f"{bare.mean():.0%} of the words are punctuation alone, such as {_some(frame.word[bare])}"
        problems.append(Finding("warning", "words", f"{text}: the text seems to be tokenised"))
    if frame.word.str.contains(r"[.,;:?!]$", regex=True).mean() < 0.01:
        problems.append(Finding("note", "words", "hardly a word has punctuation: it was taken off"))
    if frame.word.str.contains("[a-z]").any() and not frame.word.str.contains("[A-Z]").any():
        problems.append(Finding("note", "words", "no word has a capital: the text was lower-cased"))
    sentences = frame.groupby("sentence", sort=False)
    texts = sentences.word.agg(" ".join)
    if again := int(texts.duplicated().sum()):
        problems.append(Finding("note", "sentences", f"{again:,} sentences repeat an earlier one"))
    if (
        "stimulus" in frame
        and "condition" in frame
        and (few := frame.stimulus.nunique()) < FEW_ITEMS
    ):
        text = f"{few} items: too few to tell their effects from those of the conditions; 8 or more are usual"
        problems.append(Finding("warning", "items", text))
    if "stimulus" in frame and "region" in frame:
        problems += _regions(frame)
    if (longest := int(sentences.size().max())) > 100:
        text = f"the longest has {longest} words: are its ends marked?"
        problems.append(Finding("warning", "sentences", text))
    return problems


def _regions(frame: pd.DataFrame) -> list[Finding]:
    """Note items whose conditions have other regions."""
    named = frame.assign(region=frame.region.where(frame.region != ""))
    regions = named.groupby(["stimulus", "item"], sort=False).region.nunique()
    spread = regions.groupby("stimulus", sort=False).agg(["min", "max"])
    uneven = spread[spread["min"] < spread["max"]]
    if uneven.empty:
        return []
    first = regions[uneven.index[0]]
    text = ", ".join(f"{item} {number}" for item, number in first.items())
    return [
        Finding(
            "note",
            "regions",
            f"{len(uneven):,} of {len(spread):,} items have more regions in one condition than in "
            f"another, such as {text}",
        )
    ]


def counts(words: pd.DataFrame, responses: pd.DataFrame, value: str) -> dict[str, float]:
    """Count observations and missing values of a measure; times in ms, amplitudes in µV."""
    values = responses[value]
    pairs = responses[["subject", "word_id"]].drop_duplicates()
    items = words.set_index("word_id")["item"]
    read = pairs.assign(item=pairs.word_id.map(items))[["subject", "item"]].drop_duplicates()
    expected = int(read["item"].map(items.groupby(items).size()).sum())
    real = values[values > 0] if value == "time_ms" else values
    answered = int(words.word_id.isin(responses.word_id).sum())
    per_subject = responses.groupby("subject").size()
    quantiles = real.quantile([0.01, 0.5, 0.99])
    return {
        "items": words["item"].nunique(),
        "sentences": words.sentence.nunique(),
        "words": len(words),
        "subjects": responses.subject.nunique(),
        "observations": len(responses),
        "observations of a subject, fewest": int(per_subject.min()),
        "observations of a subject, most": int(per_subject.max()),
        "words with an observation": answered,
        "words without": len(words) - answered,
        "subject × word of a text read, missing": expected - len(pairs),
        "empty values": int(responses.isna().sum().sum()),
        **{f"… of {name}": int(n) for name, n in responses.isna().sum().items() if n},
        "not fixated (0)": int((values == 0).sum()) if value == "time_ms" else 0,
        "mean": float(real.mean()),
        "standard deviation": float(real.std()) if len(real) > 1 else 0.0,
        "lowest": float(real.min()),
        "1 % are below": float(quantiles[0.01]),
        "median": float(quantiles[0.5]),
        "1 % are above": float(quantiles[0.99]),
        "highest": float(real.max()),
    }


def means(words: pd.DataFrame, responses: pd.DataFrame, value: str) -> pd.Series:
    """Return the mean response per row of `words`; NaN if there is none.

    Times are truncated at the 99th percentile, so that pauses do not dominate; unfixated words count
    as 0.
    """
    values = responses[value]
    if value == "time_ms" and (values > 0).any():
        values = values.clip(upper=values[values > 0].quantile(0.99))
    means = values.groupby(responses.word_id).mean()
    return means.reindex(words.word_id).set_axis(words.index)


def alignment(words: pd.DataFrame, mean: pd.Series, reach: int = 3) -> pd.DataFrame:
    """Correlate the mean response with the length of the word k positions later.

    Columns offset (k, up to `reach` either way), r, n. Correctly aligned times have their highest r at
    0. All offsets use the same words: those inside sentences with `reach` words of their item on either
    side.
    """
    rows, offsets = _inside(words, mean, reach), range(-reach, reach + 1)
    length = words.word.str.len().to_numpy(dtype=float)
    correlations = [
        _correlation(mean.to_numpy()[rows], length[rows + offset]) for offset in offsets
    ]
    return pd.DataFrame({"offset": offsets, "r": correlations, "n": len(rows)})


def with_frequency(words: pd.DataFrame, mean: pd.Series, unigram: pd.DataFrame) -> float:
    """Correlate the mean response with unigram surprisal (bits), for words inside sentences."""
    bits = unigram.set_index("word_id").surprisal_bits.reindex(words.word_id).to_numpy(dtype=float)
    rows = _inside(words, mean)
    rows = rows[np.isfinite(bits[rows])]
    return _correlation(mean.to_numpy()[rows], bits[rows])


def are_skipped(times: pd.Series) -> bool:
    """Return whether over 1 % of the times are 0: skipped words, as in eye tracking."""
    return bool((times == 0).mean() > 0.01)


def shifted(table: pd.DataFrame, skips: bool) -> list[Finding]:
    """Interpret the correlations of `alignment`.

    A warning means that times seem to belong to another word. Self-paced reading times also correlate
    with the length of the previous word (spillover), often more than with the word's own; this is a
    warning only if the word's own length has no additional effect.

    Parameters
    ----------
    table : DataFrame
        Columns offset, r, n, from `alignment`.
    skips : bool
        Whether words were skipped, as in eye tracking (`are_skipped`).
    """
    r, n = table.set_index("offset").r, int(table.n.iloc[0])
    if n < 50 or r.isna().all():
        return []
    chance = 3 / np.sqrt(n)
    own_r = max(r[0], 0.0)
    strongest = own_r if skips else max(own_r, r[-1])
    best = int(r.idxmax())
    if r[best] < chance:
        text = f"mean times go with word length at no offset (at best r = {r[best]:.2f})"
        return [Finding("note", "shifted", text)]
    problems = []
    for offset in (k for k in r.index if k and r[k] > chance * (1 if abs(k) == 1 else _FURTHER)):
        correlated = (
            f"r = {r[offset]:.2f} with the length of the word {_place(offset)}, {r[0]:.2f} with"
        )
        correlated += " its own"
        if offset > 0 and r[offset] >= strongest / 2:
            text = f"{correlated}: nobody can react to a word to come; some or all times stand"
            problems.append(Finding("warning", "shifted", f"{text} {_words(offset)} too early"))
        elif offset == -1 and not skips and r[offset] > own_r:
            if own_r + chance < r[offset] / 3:  # spillover up to twice the own effect is permitted
                text = f"{correlated}: times seem to stand one word too late"
                problems.append(Finding("warning", "shifted", text))
                continue
            text = (
                f"{correlated}: spillover, usual in self-paced reading, or times one word too late"
            )
            problems.append(Finding("note", "shifted", text))
        elif offset < 0 and offset == best:
            late = _words(-offset)
            if offset < -1 and not skips:  # with spillover, the word after correlates best
                late = f"{_words(-offset - 1)} (with spillover) or {late}"
            text = f"{correlated}: times seem to stand {late} too late"
            problems.append(Finding("warning", "shifted", text))
    return problems


def shifted_items(words: pd.DataFrame, mean: pd.Series) -> list[Finding]:
    """List items with shifted times in a corpus that is not shifted as a whole."""
    odd = []
    for item, part in words.groupby("item", sort=False):
        if len(part) < 40:
            continue
        table = alignment(part.reset_index(drop=True), mean[part.index].reset_index(drop=True))
        r, n = table.set_index("offset").r, int(table.n.iloc[0])
        if n < 40 or r.isna().any():
            continue
        others = r.drop(0)
        if others.max() > 3 / np.sqrt(n) and others.max() > r[0] + 3 * np.sqrt(2 / n):
            odd.append(f"{item} ({others.idxmax():+d})")
    if not odd:
        return []
    items = "1 item" if len(odd) == 1 else f"{len(odd):,} items"
    text = f"in {items} times go with another word's length: {', '.join(odd[:8])}"
    return [Finding("warning", "shifted", text + (" …" if len(odd) > 8 else ""))]


def responses(words: pd.DataFrame, frame: pd.DataFrame, value: str) -> list[Finding]:
    """Check the responses of a measure: repeats, order, units, rounding, constants, gaps."""
    problems = []
    keys = ["subject", "word_id", *(["fixation"] if "fixation" in frame else [])]
    if again := int(frame.duplicated(keys).sum()):
        text = f"{again:,} rows repeat an earlier one of the same subject and word"
        problems.append(Finding("warning", "repeats", text))
    if lost := int((~frame.word_id.isin(words.word_id)).sum()):
        problems.append(Finding("warning", "words", f"{lost:,} rows are of unknown words"))
    problems += _order(words, frame)
    if value == "time_ms":
        problems += _units(frame)
    problems += _constants(frame, value)
    unread = ~words.word_id.isin(frame.word_id)
    if unread.mean() > 0.2:
        text = f"{unread.mean():.0%} of the words have no observation"
        problems.append(Finding("note", "missing", text))
    few = frame.groupby("subject").size()
    few = few[few < few.median() / 4]
    if len(few):
        text = f"{len(few):,} subjects have under a quarter of the usual: {_some(few.index)}"
        problems.append(Finding("note", "missing", text))
    return problems


def between(measures: Mapping[str, pd.DataFrame]) -> list[Finding]:
    """Check that first fixation ≤ first pass ≤ right-bounded ≤ go past, and ≤ total time."""
    problems = []
    for short, long in [(name, long) for name, of in MEASURES.items() for long in of.at_most]:
        if short not in measures or long not in measures:
            continue
        pair = [measures[name][["subject", "word_id", "time_ms"]] for name in (short, long)]
        both = pair[0].merge(pair[1], on=["subject", "word_id"], suffixes=("", "_long"))
        if wrong := int((both.time_ms > both.time_ms_long + 1e-6).sum()):
            text = f"{short} is longer than {long} in {wrong:,} of {len(both):,} observations"
            problems.append(Finding("warning", "measures", text))
    return problems


def _order(words: pd.DataFrame, frame: pd.DataFrame) -> list[Finding]:
    """Check that rows are in the order in which words were read or fixated."""
    problems = []
    item = frame.word_id.map(words.set_index("word_id")["item"])
    if "fixation" in frame:
        numbers = frame.fixation.where(frame.fixation.notna() & (frame.fixation > 0))
        if again := int(
            pd.concat([frame.subject, item, numbers], axis=1).dropna().duplicated().sum()
        ):
            text = f"{again:,} numbers of fixations stand twice in a text of one subject"
            problems.append(Finding("warning", "order", text))
    else:
        # By subject, because in a file sorted by word others' rows are in between.
        subjects = frame.subject.to_numpy()
        before = pd.DataFrame({"item": item, "word_id": frame.word_id}).groupby(subjects).shift()
        follows = before["item"].notna() & (item == before["item"])
        if back := int((follows & (frame.word_id <= before["word_id"])).sum()):
            text = (
                f"{back:,} rows go back in the text: skipped words are counted over rows in order"
            )
            problems.append(Finding("warning", "order", text))
        blocks = (~follows).sum()
        pairs = pd.DataFrame({"subject": frame.subject, "item": item}).drop_duplicates()
        if blocks > len(pairs):
            text = f"{blocks - len(pairs):,} times a subject's text is in more than one piece"
            problems.append(Finding("warning", "order", text))
    if {"previous_fixated", "words_since_fixation"} <= set(frame.columns):
        flagged = frame.previous_fixated.fillna(False).astype(bool)
        if odd := int((flagged & (frame.words_since_fixation != 1)).sum()):
            text = f"{odd:,} rows say that the word before was fixated, and that it was not"
            problems.append(Finding("warning", "order", text))
    return problems


def _units(frame: pd.DataFrame) -> list[Finding]:
    """Check that subjects' times have the same magnitude, and their resolution."""
    times = frame.time_ms[frame.time_ms > 0]
    if times.empty:
        return []
    problems, median = [], times.median()
    medians = times.groupby(frame.subject).median()
    odd = medians[(medians < median / 15) | (medians > median * 8)]  # some press keys fast
    if len(odd):
        text = f"{len(odd):,} subjects have times of another size: {_some(odd.index)}"
        problems.append(Finding("warning", "units", text))
    integers = times[np.isclose(times % 1, 0)]
    if len(integers) > 0.9 * len(times):
        share = {step: float((integers % step == 0).mean()) for step in (1000, 100, 50, 20, 10)}
        step = next((step for step in share if share[step] > 0.9), 10)
        if share[step] > 0.5:
            text = f"{share[step]:.0%} of the times are multiples of {step} ms: they were rounded"
            problems.append(Finding("warning", "units", text))
    common = times.value_counts()
    if len(times) > 200 and common.iloc[0] > max(0.05 * len(times), 20):
        text = (
            f"{common.iloc[0] / len(times):.0%} of the times are {common.index[0]:g} ms: a limit?"
        )
        problems.append(Finding("warning", "units", text))
    return problems


def _constants(frame: pd.DataFrame, value: str) -> list[Finding]:
    """Check for constant columns, and for subjects with constant times."""
    problems = []
    if frame[value].nunique() == 1:
        text = f"every observation is {frame[value].iloc[0]:g}"
        problems.append(Finding("warning", "constants", text))
    if frame.subject.nunique() == 1:
        text = f"one subject ({frame.subject.iloc[0]}): item means, or one reader"
        problems.append(Finding("note", "constants", text))
    for name in frame.columns.difference([value, "subject", "word_id", "fixation"]):
        if frame[name].nunique(dropna=False) == 1:
            text = f"the column {name} is {frame[name].iloc[0]} in every row"
            problems.append(Finding("note", "constants", text))
    same = frame[frame[value] != 0].groupby("subject")[value].agg(["size", "nunique"])
    same = same[(same["size"] > 20) & (same["nunique"] == 1)]
    if len(same) and frame[value].nunique() > 1:
        text = f"{len(same):,} subjects have the same time throughout: {_some(same.index)}"
        problems.append(Finding("warning", "constants", text))
    return problems


def _inside(words: pd.DataFrame, mean: pd.Series, reach: int = 3) -> np.ndarray:
    """Return the rows inside a sentence that have a mean, and `reach` words of the item on either side."""
    item, sentence = words["item"].to_numpy(), words.sentence.to_numpy()
    rows = np.arange(reach, len(words) - reach)
    if not len(rows):
        return rows
    keep = (item[rows - reach] == item[rows]) & (item[rows + reach] == item[rows])
    keep &= (sentence[rows - 1] == sentence[rows]) & (sentence[rows + 1] == sentence[rows])
    return rows[keep & np.isfinite(mean.to_numpy(dtype=float)[rows])]


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return Pearson's r, NaN if one variable is constant."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def _some(values: Iterable) -> str:
    """Format the first five distinct values, and the number of others."""
    distinct = list(dict.fromkeys(map(str, values)))
    shown = ", ".join(distinct[:5])
    return f"{shown} and {len(distinct) - 5:,} more" if len(distinct) > 5 else shown


def _place(offset: int) -> str:
    return f"{abs(offset)} {'after' if offset > 0 else 'before'}"


def _words(number: int) -> str:
    return "one word" if number == 1 else f"{number} words"
