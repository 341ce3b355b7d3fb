"""Damages of a table: each row keeps the number of its true word in `truth`, which no join sees."""

import numpy as np
import pandas as pd

from readingtimes.contracts import word_table
from readingtimes.errors import InputError
from readingtimes.joins import engine


def table(words, value, subject=None):
    """Return a table of values with all the keys that words have: a row a word, in reading order."""
    made = words[["item", "sentence", "position", "word_id", "word"]].astype(
        {"item": str, "sentence": str}
    )
    made["place"] = words.groupby("item", sort=False).cumcount() + 1
    return made.assign(value=value, truth=words["word_id"])


def numbered(column, base):
    """Return numbers for labels, in order of appearance."""
    return pd.Series(pd.factorize(column)[0] + base, index=column.index).astype(str)


def moved(frame, names, by):
    """Move columns by rows; rows that get nothing are left out."""
    frame = frame.assign(**{name: frame[name].shift(by) for name in names}).dropna(subset=names)
    return frame.astype({n: "int64" for n in names if n in ("position", "place", "word_id")})


def permuted(frame, name, rng):
    """Give the labels of a column to each other."""
    labels = frame[name].unique()
    return frame.assign(**{name: frame[name].map(dict(zip(labels, rng.permutation(labels))))})


def swapped(frame, names, rng, pairs=3):
    """Exchange values of some columns between rows."""
    frame = frame.copy()
    at = rng.choice(len(frame), 2 * pairs, replace=False)
    for name in names:
        values = frame[name].to_numpy().copy()
        values[at] = values[at[::-1]]
        frame[name] = values
    return frame


def in_sentences_of(frame, size):
    """Divide texts into sentences of another size, numbered in each item; positions within these."""
    place = frame["place"] - 1
    return frame.assign(sentence=(place // size + 1).astype(str), position=place % size + 1)


def cut(frame, share, of="rows"):
    """Leave out the last part of the rows, or of each text."""
    if of == "rows":
        return frame.iloc[: int(len(frame) * share)]
    size = frame.groupby("item")["place"].transform("max")
    return frame[frame["place"] <= size * share]


def from_second_half(frame, name, by):
    """Move the numbers of the second half of each text."""
    size = frame.groupby("item")["place"].transform("max")
    late = frame["place"] > size / 2
    return frame.assign(**{name: frame[name] + np.where(late, by, 0)})


def without_first(frame):
    """Leave out the first word of each sentence, and count the others from 1."""
    return frame[frame["position"] > 1].assign(position=lambda d: d["position"] - 1)


def one_word_lost(frame):
    """Leave out one word of each text, and count the others on."""
    frame = frame[frame["place"] != 5]
    for name, unit in (("position", ["item", "sentence"]), ("place", ["item"])):
        frame = frame.assign(**{name: frame.groupby(unit, sort=False).cumcount() + 1})
    return frame.assign(word_id=np.arange(len(frame)))


def upper(frame):
    """Write words in capitals, without punctuation."""
    return frame.assign(word=frame["word"].str.upper().str.replace(r"[^\w]", "", regex=True))


#: What is done to a table: (frame, rng) → frame.
DAMAGES = {
    "nothing": lambda f, r: f,
    "position from 0": lambda f, r: f.assign(position=f.position - 1, place=f.place - 1),
    "position from 2": lambda f, r: f.assign(position=f.position + 1, place=f.place + 1),
    "position from 3": lambda f, r: f.assign(position=f.position + 2, place=f.place + 2),
    "word_id from 1": lambda f, r: f.assign(word_id=f.word_id + 1),
    "word_id from 2": lambda f, r: f.assign(word_id=f.word_id + 2),
    "word_id from 7": lambda f, r: f.assign(word_id=f.word_id + 7),
    "sentence from 0": lambda f, r: f.assign(sentence=numbered(f["item"] + " " + f.sentence, 0)),
    "sentence from 2": lambda f, r: f.assign(sentence=numbered(f["item"] + " " + f.sentence, 2)),
    "sentence from 100": lambda f, r: f.assign(
        sentence=numbered(f["item"] + " " + f.sentence, 100)
    ),
    "sentences by name": lambda f, r: f.assign(sentence="s" + numbered(f["item"] + f.sentence, 1)),
    "sentences in their item": lambda f, r: f.assign(
        sentence=f.groupby("item", sort=False).sentence.transform(lambda s: numbered(s, 1))
    ),
    "sentences in their item from 0": lambda f, r: f.assign(
        sentence=f.groupby("item", sort=False).sentence.transform(lambda s: numbered(s, 0))
    ),
    "items from 0": lambda f, r: f.assign(item=numbered(f["item"], 0)),
    "items from 2": lambda f, r: f.assign(item=numbered(f["item"], 2)),
    "items by name": lambda f, r: f.assign(item="text " + numbered(f["item"], 1) + "x"),
    "items permuted": lambda f, r: permuted(f, "item", r),
    "sentences permuted": lambda f, r: permuted(f, "sentence", r),
    "items turned": lambda f, r: f.assign(
        item=f["item"].map(dict(zip(f["item"].unique(), f["item"].unique()[::-1])))
    ),
    "rows shuffled": lambda f, r: f.sample(frac=1, random_state=3),
    "rows turned": lambda f, r: f.iloc[::-1],
    "texts shuffled": lambda f, r: pd.concat(
        [f[f["item"] == name] for name in r.permutation(f["item"].unique())]
    ),
    "sentences of 10 words": lambda f, r: in_sentences_of(f, 10),
    "sentences of 17 words": lambda f, r: in_sentences_of(f, 17),
    "two sentences joined": lambda f, r: f.assign(
        sentence=(numbered(f["item"] + f.sentence, 0).astype(int) // 2).astype(str)
    ),
    "cut after half": lambda f, r: cut(f, 0.5),
    "texts cut after half": lambda f, r: cut(f, 0.5, "texts"),
    "first text left out": lambda f, r: f[f["item"] != f["item"].iloc[0]],
    "first text left out, numbered anew": lambda f, r: f[f["item"] != f["item"].iloc[0]].assign(
        item=lambda d: numbered(d["item"], 1), word_id=lambda d: np.arange(len(d))
    ),
    "first words left out": lambda f, r: f[f["position"] > 1],
    "first words left out, counted anew": lambda f, r: without_first(f),
    "one word lost": lambda f, r: one_word_lost(f),
    "half of the rows": lambda f, r: f.sample(frac=0.5, random_state=4).sort_index(),
    "a fifth of the rows left out": lambda f, r: f.sample(frac=0.8, random_state=5).sort_index(),
    "a tenth of the rows left out": lambda f, r: f.sample(frac=0.9, random_state=5).sort_index(),
    "a few rows left out": lambda f, r: f.sample(frac=0.98, random_state=5).sort_index(),
    "positions one on": lambda f, r: moved(f, ["position", "place", "word_id"], 1),
    "positions one back": lambda f, r: moved(f, ["position", "place", "word_id"], -1),
    "words one on": lambda f, r: moved(f, ["word"], 1),
    "words one back": lambda f, r: moved(f, ["word"], -1),
    "late positions one on": lambda f, r: from_second_half(
        from_second_half(from_second_half(f, "position", 1), "place", 1), "word_id", 1
    ),
    "late positions one back": lambda f, r: from_second_half(
        from_second_half(from_second_half(f, "position", -1), "place", -1), "word_id", -1
    ),
    "rows exchanged but for keys": lambda f, r: swapped(f, ["word", "value", "truth"], r),
    "words shuffled": lambda f, r: f.assign(word=r.permutation(f.word.to_numpy())),
    "words in capitals": lambda f, r: upper(f),
    "words as bytes": lambda f, r: f.assign(word="b'" + f.word + "'"),
    "every tenth word another": lambda f, r: f.assign(
        word=np.where(np.arange(len(f)) % 10 == 4, "qwertz", f.word)
    ),
    "a text twice": lambda f, r: pd.concat(
        [f, f[f["item"] == f["item"].iloc[0]].assign(item="9x")]
    ),
    "practice before": lambda f, r: pd.concat(
        [f.head(12).assign(item="practice", word="practise", truth=-1), f]
    ),
    "another corpus": lambda f, r: f.assign(word=f.word.to_numpy()[::-1], truth=-1),
}
#: Damages that only words can show.
OF_WORDS = {"another corpus", "rows exchanged but for keys"}
#: Damages after which the words say nothing, or another thing than the values.
OF_KEYS = {"words one on", "words one back"}
#: Which keys a table has.
VIEWS = {
    "word_id": ["word_id"],
    "word_id and word": ["word_id", "word"],
    "item and place": ["item", "place"],
    "item, place and word": ["item", "place", "word"],
    "sentence and position": ["sentence", "position"],
    "sentence, position and word": ["sentence", "position", "word"],
    "item, sentence and position": ["item", "sentence", "position"],
    "all": ["item", "sentence", "position", "word"],
    "item and word": ["item", "word"],
    "word": ["word"],
}


def check(words, value, damage, view, kind):
    """Join a damaged table; return the share of rows with a word, all of them true, or None if refused."""
    frame = DAMAGES[damage](table(words, value), np.random.default_rng(7))
    frame = frame.reset_index(drop=True)
    rows = frame[[*VIEWS[view], "value"]].rename(columns={"place": "position"})
    try:
        made = engine.join(words, rows, "table", kind=kind, partial=True)
        if made.whole is None and pd.Series(made.row[made.row >= 0]).duplicated().any():
            raise InputError("a second value of a word")  # as all that use the engine do
    except InputError as error:
        assert "\n" not in str(error) and len(str(error)) < 900
        return None
    row = np.where(made.misplaced, -1, made.row)
    has, truth = row >= 0, frame["truth"].to_numpy()
    wrong = has & (row != truth)
    assert not wrong.any(), f"{wrong.sum()} of {has.sum()} rows are wrong: {made.report}"
    return float(has.mean())


def made_corpus(seed=5, texts=6):
    """Make texts of words of many lengths; values follow length and frequency, as surprisals do."""
    rng = np.random.default_rng(seed)
    vocabulary = [
        "".join(rng.choice(list("abcdefghiklmnoprst"), n)) for n in rng.integers(1, 12, 900)
    ]
    share = 1 / np.arange(1, 901)
    share /= share.sum()
    items, sentences, words, number = [], [], [], 0
    for text in range(1, texts + 1):
        for _ in range(int(rng.integers(8, 14))):
            number += 1
            chosen = rng.choice(900, int(rng.integers(5, 19)), p=share)
            spelled = [vocabulary[c] for c in chosen]
            spelled[-1] += "."
            items += [str(text)] * len(spelled)
            sentences += [number] * len(spelled)
            words += spelled
    frame = word_table(items, sentences, words)
    count = frame.groupby("word")["word"].transform("size")
    value = np.log2(len(frame) / count) + 0.3 * frame.word.str.len() + rng.normal(0, 1, len(frame))
    return frame, value.clip(lower=0.1)
