"""CDLM: an n-gram model times a log-linear model of earlier words (Singh, Greenberg & Klakow 2016).

p(w_{i+1} | h) = p_n(w_{i+1} | h) exp(E_{w_{i+1}} · s_i) / Z(h), where p_n is an n-gram model of order n,
s_i = v_{w_{i-n+1}} + Σ_k T_k v_{w_{i-n+1-k}}, k = 1 … M - n - 1, and Z sums over the vocabulary. M is the range in words:
with n = 3, M = 4 has v alone, and each further distance a matrix T_k (chapter 2 of the thesis).
"""

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from recency.errors import InputError, first_line
from recency.files import atomic

#: Contexts whose distributions over the vocabulary are in memory at once.
AT_ONCE = 256
FIELDS = ("E", "v", "T")
_AGAIN = "train it again, or get the file again"


@dataclass
class Base:
    """An n-gram model as arrays of log-probabilities (nats).

    `words` is the output vocabulary; the input-only word <s> has the number after them.
    """

    words: list[str]
    unigrams: np.ndarray  # (V,)
    orders: list[dict]  # from order 2: contexts (c, k), backoff (c,), first (c + 1,), next, nats

    def __post_init__(self):
        self.index = {word: number for number, word in enumerate(self.words)}
        self.rows = [
            {tuple(context): row for row, context in enumerate(table["contexts"].tolist())}
            for table in self.orders
        ]

    @property
    def order(self) -> int:
        """The order n."""
        return len(self.orders) + 1

    def ids(self, sentence: Sequence[str]) -> list[int]:
        """Return word ids; unknown words map to <unk>."""
        unknown = self.index["<unk>"]
        return [self.index.get(word, unknown) for word in sentence]

    def distributions(self, contexts: np.ndarray, dtype: type = float) -> np.ndarray:
        """Return ln p (contexts, V) after `contexts` (contexts, n - 1), latest word last."""
        nats = np.tile(self.unigrams.astype(dtype), (len(contexts), 1))
        for row, context in enumerate(contexts.tolist()):
            for k, (table, rows) in enumerate(zip(self.orders, self.rows), 1):
                if (entry := rows.get(tuple(context[-k:]))) is None:
                    continue
                nats[row] += table["backoff"][entry]
                listed = slice(table["first"][entry], table["first"][entry + 1])
                nats[row, table["next"][listed]] = table["nats"][listed]
        return nats


def read_base(arpa: str | Path) -> Base:
    """Read an ARPA file of order 2 or more."""
    from recency.scoring import ngram

    ngram.require_complete(Path(arpa))
    order = ngram.read_order(Path(arpa))
    if order < 2:
        raise InputError(f"{arpa} has only 1-grams; a CDLM needs a model of order 2 or more")
    listed: list[list] = [[] for _ in range(order)]
    for size, line in _read_ngrams(Path(arpa)):
        listed[size - 1].append(line)
    words = [parts[1] for parts in listed[0] if parts[1] != ngram.BEGIN]
    number = {word: index for index, word in enumerate([*words, ngram.BEGIN])}
    unigrams = np.array([float(p[0]) for p in listed[0] if p[1] != ngram.BEGIN]) * np.log(10)
    orders = []
    for k in range(1, order):  # contexts of k words
        backoff = {
            tuple(number[word] for word in parts[1].split(" ")): float(parts[2])
            for parts in listed[k - 1]
            if len(parts) > 2
        }
        contexts = {context: row for row, context in enumerate(backoff)}
        rows, following, nats = [], [], []
        for parts in listed[k]:
            *context, word = (number[part] for part in parts[1].split(" "))
            if word < len(words):
                rows.append(contexts[tuple(context)])
                following.append(word)
                nats.append(float(parts[0]))
        by = np.argsort(rows, kind="stable")
        counts = np.bincount(rows, minlength=len(contexts))
        orders.append(
            {
                "contexts": np.array(list(contexts), np.int32),
                "backoff": np.array(list(backoff.values())) * np.log(10),
                "first": np.concatenate([[0], counts.cumsum()]),
                "next": np.array(following, np.int32)[by],
                "nats": np.array(nats)[by] * np.log(10),
            }
        )
    return Base(words, unigrams, orders)


def _read_ngrams(arpa: Path):
    """Yield the order and the fields of each n-gram in an ARPA file."""
    from recency.scoring.ngram import open_text

    size = 0
    with open_text(arpa) as lines:
        for line in lines:
            if line.startswith("\\"):
                size = int(line[1 : line.index("-")]) if line.endswith("-grams:\n") else 0
            elif size and line != "\n":
                yield size, line.rstrip("\n").split("\t")


@dataclass
class Model:
    """A CDLM: base, E (V, C), v (V + 1, C) with <s> last, and T (M - n - 1, C, C)."""

    base: Base
    E: np.ndarray
    v: np.ndarray
    T: np.ndarray

    @property
    def reach(self) -> int:
        """The number of context words, M - 1."""
        return self.base.order + len(self.T)

    @property
    def parameters(self) -> int:
        """The number of parameters: E, v, T and the base's n-grams."""
        grams = len(self.base.unigrams) + sum(len(table["next"]) for table in self.base.orders)
        return grams + self.E.size + self.v.size + self.T.size

    def long_range_states(self, contexts: np.ndarray) -> np.ndarray:
        """Return s (contexts, C) for `contexts` (contexts, reach), latest word last."""
        back = contexts[:, ::-1][:, self.base.order - 1 :]  # beyond the base, the nearest first
        states = self.v[back[:, 0]]
        for k, matrix in enumerate(self.T, 1):
            states = states + self.v[back[:, k]] @ matrix.T
        return states

    def nats(self, contexts: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return -ln p of each word after its context."""
        scores = self.base.distributions(contexts[:, -(self.base.order - 1) :])
        scores += self.long_range_states(contexts) @ self.E.T
        top = scores.max(1)
        return top + np.log(np.exp(scores - top[:, None]).sum(1)) - scores[range(len(words)), words]

    def save(self, out: str | Path) -> None:
        """Write the model and its base to one NumPy file."""
        arrays = {name: getattr(self, name).astype(np.float32) for name in FIELDS}
        arrays |= {"words": np.array(self.base.words), "unigrams": self.base.unigrams}
        for k, table in enumerate(self.base.orders):
            arrays |= {f"{name}_{k}": values for name, values in table.items()}
        with atomic(out) as part, open(part, "wb") as file:
            np.savez(file, **arrays)


def training_examples(base: Base, sentences: Sequence[Sequence[int]], reach: int) -> tuple:
    """Return the contexts (words, reach) and the words of sentences, padded with <s>."""
    begin = len(base.words)
    contexts, words = [], []
    for sentence in sentences:
        padded = np.array([begin] * reach + list(sentence), np.int32)
        contexts.append(np.lib.stride_tricks.sliding_window_view(padded[:-1], reach))
        words.append(padded[reach:])
    return np.concatenate(contexts), np.concatenate(words)


def is_model(path: str | Path) -> bool:
    """Return whether a file was written by `Model.save`."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return {f"{name}.npy" for name in FIELDS} <= set(file.namelist())


def load(path: str | Path) -> Model:
    """Load a CDLM; raise InputError unless it has exactly the arrays of one."""
    try:
        with np.load(path, allow_pickle=False) as file:
            listed, arrays = file.files, dict(file)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} is damaged ({first_line(error)}); {_AGAIN}") from error
    names = ("contexts", "backoff", "first", "next", "nats")
    count = sum(name.startswith("contexts_") for name in arrays)
    needed = [
        "words",
        "unigrams",
        *FIELDS,
        *(f"{name}_{k}" for k in range(count) for name in names),
    ]
    if odd := sorted(set(needed) ^ set(listed)) or sorted(
        {n for n in listed if listed.count(n) > 1}
    ):
        raise InputError(
            f"{path}: {odd[0]} is missing, stored twice, or no part of a CDLM; {_AGAIN}"
        )
    orders = [{name: arrays[f"{name}_{k}"] for name in names} for k in range(count)]
    E, v, T = (arrays[name].astype(float) for name in FIELDS)
    words, width = len(arrays["words"]), E.shape[-1]
    shapes = {"unigrams": (words,), "E": (words, width), "v": (words + 1, width)}
    shapes["T"] = (len(T), width, width)
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise InputError(
                f"{path}: {name} has the shape {arrays[name].shape}, and {words:,} words need {shape}; {_AGAIN}"
            )
    return Model(Base(arrays["words"].tolist(), arrays["unigrams"], orders), E, v, T)


def score(path: str | Path, sentences: Sequence[Sequence[str]], bos: bool = True) -> list:
    """Score sentences as `recency.scoring.ngram.score` does."""
    from recency.scoring.ngram import Scored

    if not bos:
        raise InputError(
            f"{path} is a CDLM, which reads <s> before each text; leave out `bos: false`"
        )
    model = load(path)
    filled = [sentence for sentence in sentences if len(sentence)]
    ids = [model.base.ids(sentence) for sentence in filled]
    contexts, words = training_examples(model.base, ids, model.reach) if ids else ([], [])
    nats = [
        model.nats(contexts[start : start + AT_ONCE], words[start : start + AT_ONCE])
        for start in range(0, len(words), AT_ONCE)
    ]
    values = iter((-np.concatenate(nats) / np.log(10)).tolist() if nats else [])
    return [
        Scored(
            [next(values) for _ in sentence],
            [min(position + 1, model.reach) for position in range(len(sentence))],
            [word in model.base.index and word != "<unk>" for word in sentence],
        )
        for sentence in sentences
    ]
