"""Score words with n-gram models: ARPA files, and KenLM binaries through its `query`.

CDLM: an n-gram model times a log-linear model of earlier words (Singh, Greenberg & Klakow 2016).

p(w_{i+1} | h) = p_n(w_{i+1} | h) exp(E_{w_{i+1}} · s_i) / Z(h), where p_n is an n-gram model of order n,
s_i = v_{w_{i-n+1}} + Σ_k T_k v_{w_{i-n+1-k}}, k = 1 … M - n - 1, and Z sums over the vocabulary. M is the range in words:
with n = 3, M = 4 has v alone, and each further distance a matrix T_k (chapter 2 of the thesis).

Normalise or split words for n-gram models, in the same way in training text and datasets.
"""

import gzip
import math
import re
import subprocess
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from readingtimes import scripts
from readingtimes.files import atomic
from recency.errors import REFUSALS, InputError, first_line
from recency.scoring.finite import require_finite

BEGIN, UNKNOWN = "<s>", "<unk>"
#: First bytes of KenLM's binaries.
_BINARY = b"mmap lm http://kheafield.com/code"


@dataclass
class Scored:
    """Scores of a sentence's words."""

    log10: list[float]  # log10 p(word | context)
    context: list[int]  # context words in the longest n-gram that the model lists
    known: list[bool]  # whether the word is in the vocabulary


def is_ngram(path: str | Path) -> bool:
    """Return whether a file is an ARPA file (gzipped or not), a KenLM binary or a CDLM."""
    path = Path(path)
    if not path.is_file():
        return False
    if is_model(path):
        return True
    with open_text(path, "rb") as file:
        head = file.read(len(_BINARY))
    return head == _BINARY or head.lstrip().startswith(b"\\data\\")


def score(path: str | Path, sentences: Sequence[Sequence[str]], bos: bool = True) -> list[Scored]:
    """Score sentences, the units of context; `bos` puts <s> before each.

    Only the n-grams of the sentences are read from an ARPA file, so that memory does not depend on
    the model's size. Raises InputError if the file is of another kind or damaged.
    """
    path = Path(path)
    scored = _score(path, sentences, bos)
    require_finite(np.array([log10 for part in scored for log10 in part.log10], float), str(path))
    return scored


def _score(path: Path, sentences: Sequence[Sequence[str]], bos: bool) -> list[Scored]:
    """Score sentences with a model of any kind."""
    if is_model(path):
        return score_cdlm(path, sentences, bos)
    with open_text(path, "rb") as file:
        binary = file.read(len(_BINARY)) == _BINARY
    if binary:
        return _score_binary(path, sentences, bos)
    order, distance = read_order(path), read_distance(path)
    if distance > 1:
        return _score_at_distance(path, sentences, bos, order, distance)
    return _score_arpa(path, sentences, bos, order)


#: Bytes of an ARPA file that are read at once.
BLOCK = 1 << 24


def read_blocks(path: Path) -> Iterator[tuple[int, pa.Table]]:
    """Yield the n-grams of an ARPA file in blocks: order, and a table of its lines' fields as bytes.

    The columns are log10, ngram and, if any line has one, backoff. Once all are read, their numbers are
    compared with the file's header.

    Raises
    ------
    InputError
        If a line is no entry, or the file lists fewer or more n-grams than its header states.
    """
    stated: dict[int, int] = {}
    listed: Counter[int] = Counter()
    order, ended, rest = 0, False, b""
    try:
        with open_text(path, "rb") as file:
            while True:
                block = file.read(BLOCK)
                whole, _, rest = (rest + block).rpartition(b"\n") if block else (rest, b"", b"")
                whole.decode("utf-8")
                # A line that begins with a backslash begins a section.
                for number, part in enumerate(_parts(whole)):
                    if number:
                        mark, _, part = part.partition(b"\n")
                        is_section = mark.endswith(b"-grams:")
                        order = int(mark[1 : mark.index(b"-")]) if is_section else 0
                        ended = mark.startswith(b"\\end\\")
                    if not order:
                        stated |= _sizes(part)
                    elif lines := _without_blank(part):
                        table = _fields(path, lines)
                        listed[order] += len(table)
                        yield order, table
                if not block:
                    break
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        if isinstance(error, REFUSALS):
            raise
        raise InputError(f"{path} is damaged ({error}); make or download it again") from None
    for size in sorted(stated.keys() | listed.keys()):
        if listed[size] != stated.get(size, 0):
            raise InputError(
                f"{path} lists {listed[size]:,} {size}-grams, and its header states "
                f"{stated.get(size, 0):,}: it was cut, or edited; make or download it again"
            )
    if not ended:
        raise InputError(f"{path} does not end with \\end\\: it was cut; make or download it again")


def _fields(path: Path, lines: bytes) -> pa.Table:
    """Return the fields of lines: log10, ngram and, if any line has one, backoff."""
    names = ["log10", "ngram", "backoff"]
    try:
        table = csv.read_csv(
            pa.BufferReader(lines),
            csv.ReadOptions(
                autogenerate_column_names=True, use_threads=False, block_size=len(lines) + 1
            ),
            csv.ParseOptions(delimiter="\t", quote_char=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(("f0", "f1", "f2"), pa.binary()), null_values=[]
            ),
        )
        # Arrow also takes a carriage return for the end of a line.
        if len(table) == lines.count(b"\n") + 1 and table.num_columns in (2, 3):
            return table.rename_columns(names[: table.num_columns])
    except pa.ArrowInvalid:  # lines with and without a backoff weight
        pass
    rows = [line.split(b"\t") for line in lines.split(b"\n")]
    if any(len(row) < 2 for row in rows):
        _refuse_line(path)
    columns = [[row[n] if len(row) > n else b"0" for row in rows] for n in range(3)]
    return pa.table(dict(zip(names, (pa.array(c, pa.binary()) for c in columns), strict=True)))


def _parts(text: bytes) -> list[bytes]:
    """Split text before each line that begins with a backslash; the first part has none."""
    parts = (b"\n" + text).split(b"\n\\")
    return [parts[0][1:], *(b"\\" + part for part in parts[1:])]


def _without_blank(text: bytes) -> bytes:
    """Return lines without blank ones, and without a line feed at the end."""
    text = text.strip(b"\n")
    return re.sub(rb"\n+", b"\n", text) if b"\n\n" in text else text


def _sizes(text: bytes) -> dict[int, int]:
    """Return order → number of n-grams, of the lines of a header."""
    found = re.findall(rb"^ngram ([^=\n]*)=([^\n]*)$", text, re.MULTILINE)
    return {int(order): int(count) for order, count in found}


def _refuse_line(path: Path) -> None:
    """Raise InputError for the first line of an ARPA file that is no entry."""
    order = 0
    with open_text(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith(b"\\"):
                order = line.endswith(b"-grams:\n")
            elif order and line != b"\n" and b"\t" not in line:
                raise InputError(no_entry(path, number, line))


def no_entry(path: Path, number: int, line: bytes) -> str:
    """Return the message for a line that is no entry of an ARPA file."""
    shown = line.decode("utf-8", "replace").rstrip()
    return (
        f"{path}, line {number}: {shown!r} is not "
        "`log10 probability <tab> n-gram [<tab> log10 backoff]`"
    )


def read_entry(path: Path, row: Mapping[str, bytes]) -> tuple[float, float]:
    """Return log10 p and log10 backoff weight (0 if absent) of a row of fields.

    Raises InputError if they are no such numbers.
    """
    try:
        log10, weight = float(row["log10"]), float(row.get("backoff") or 0.0)
        if math.isfinite(weight) and -math.inf < log10 <= 0:
            return log10, weight
    except ValueError:
        pass
    raise InputError(no_entry(path, _last_line_of(path, row["ngram"]), b"\t".join(row.values())))


def _last_line_of(path: Path, ngram: bytes) -> int:
    """Return the number of the last line of an n-gram."""
    with open_text(path, "rb") as lines:
        return max(
            number
            for number, line in enumerate(lines, 1)
            if line.rstrip(b"\n").split(b"\t")[1:2] == [ngram]
        )


def _score_at_distance(
    path: Path, sentences: Sequence[Sequence[str]], bos: bool, order: int, distance: int
) -> list[Scored]:
    """Score by distance n-grams: split each sentence into `distance` sequences and score them."""
    parts = [sentence[first::distance] for sentence in sentences for first in range(distance)]
    scored, results = iter(_score_arpa(path, parts, bos, order)), []
    for sentence in sentences:
        whole = Scored(*([None] * len(sentence) for _ in range(3)))
        for first in range(distance):
            part = next(scored)
            for name in ("log10", "context", "known"):
                getattr(whole, name)[first::distance] = getattr(part, name)
        results.append(whole)
    return results


def _score_arpa(
    path: Path, sentences: Sequence[Sequence[str]], bos: bool, order: int
) -> list[Scored]:
    """Score sentences with an ARPA file."""
    wanted = _values({word for sentence in sentences for word in sentence} | {BEGIN, UNKNOWN})
    table: dict[str, tuple[float, float]] = {}
    streams, known = None, set()
    for size, block in read_blocks(path):
        if size > 1 and streams is None:  # all 1-grams are read
            streams, known = streams_of(path, table, sentences, bos), set(table)
            wanted = _values(_ngrams_of(streams, order))
        for row in block.filter(pc.is_in(block["ngram"], wanted)).to_pylist():
            words = row["ngram"].decode()
            if words in table:
                number = _last_line_of(path, row["ngram"])
                raise InputError(f"{path}, line {number}: {words!r} is listed twice")
            table[words] = read_entry(path, row)
    if streams is None:
        streams, known = streams_of(path, table, sentences, bos), set(table)
    results = []
    for stream, sentence in zip(streams, sentences, strict=True):
        pairs = [_log10(table, stream, position, order) for position in range(bos, len(stream))]
        is_listed = [word in known and word != UNKNOWN for word in sentence]
        results.append(Scored([p for p, _ in pairs], [seen for _, seen in pairs], is_listed))
    return results


def streams_of(
    path: Path, listed: Collection[str], sentences: Sequence[Sequence[str]], bos: bool
) -> list[list[str]]:
    """Return the sentences with <unk> for words that are not listed, after <s> with `bos`."""
    if UNKNOWN not in listed:
        raise InputError(f"{path} lists no {UNKNOWN} among its 1-grams; make it with KenLM's lmplz")
    return [
        [BEGIN] * bos + [word if word in listed else UNKNOWN for word in sentence]
        for sentence in sentences
    ]


def _values(ngrams: Collection[str]) -> pa.Array:
    """Return n-grams in the form in which they are looked up among a file's."""
    return pa.array([ngram.encode() for ngram in ngrams], pa.binary())


def _ngrams_of(streams: Sequence[Sequence[str]], order: int) -> set[str]:
    """Return the n-grams of sentences, from 2-grams to those of the model's order."""
    return {
        " ".join(stream[start : start + n])
        for stream in streams
        for n in range(2, order + 1)
        for start in range(len(stream) - n + 1)
    }


def _log10(
    table: dict[str, tuple[float, float]], stream: list[str], position: int, order: int
) -> tuple[float, int]:
    """Return log10 p of a word from the longest listed n-gram, and its number of context words."""
    backoff = 0.0
    for start in range(max(0, position - order + 1), position + 1):
        entry = table.get(" ".join(stream[start : position + 1]))
        if entry is not None:
            return entry[0] + backoff, position - start
        backoff += table.get(" ".join(stream[start:position]), (0.0, 0.0))[1]
    raise AssertionError("every word, or <unk>, is a 1-gram")


def read_order(path: Path) -> int:
    """Return the order in an ARPA file's header."""
    order = 0
    with open_text(path) as lines:
        for line in lines:
            if line.startswith("ngram "):
                order += 1
            elif line.startswith("\\1-grams:"):
                break
    if not order:
        raise InputError(f"{path} is neither an ARPA file nor a KenLM binary")
    return order


def read_distance(path: Path) -> int:
    """Return the distance in an ARPA file's header; 1 by default."""
    with open_text(path) as lines:
        for line in lines:
            if line.startswith("distance="):
                return int(line.partition("=")[2])
            if line.startswith("\\1-grams:"):
                break
    return 1


def _score_binary(path: Path, sentences: Sequence[Sequence[str]], bos: bool) -> list[Scored]:
    """Score sentences with a KenLM binary, by KenLM's `query`."""
    safe = [[UNKNOWN if len(w.split()) != 1 else w for w in words] for words in sentences]
    text = "\n".join(" ".join(sentence) for sentence in safe) + "\n"
    command = ["query", "-v", "word", *([] if bos else ["-n"]), str(path)]
    try:
        job = subprocess.run(
            command, input=text, capture_output=True, encoding="utf-8", check=False
        )
    except FileNotFoundError:
        raise InputError("KenLM's query is not on the PATH; `make setup` builds it") from None
    if job.returncode != 0:
        raise InputError(f"query failed on {path}: {job.stderr.strip().splitlines()[-1:]}")
    # One entry per word, and with <s> one per sentence for </s>, each `word=number length log10`.
    entries = [entry.rsplit(" ", 2) for entry in job.stdout.strip().split("\t") if entry]
    if len(entries) != sum(len(sentence) + bos for sentence in sentences):
        raise InputError(f"{path}: query returned other words than the input's")
    results, start = [], 0
    for sentence in sentences:
        scored = entries[start : start + len(sentence)]
        start += len(sentence) + bos
        log10 = [float(value) for _, _, value in scored]
        context = [int(length) - 1 for _, length, _ in scored]
        results.append(Scored(log10, context, [not word.endswith("=0") for word, _, _ in scored]))
    return results


def open_text(path: Path, mode: str = "rt"):
    """Open a file that may be gzipped."""
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    opener = gzip.open if zipped else open
    return opener(path, mode) if "b" in mode else opener(path, mode, encoding="utf-8", newline="\n")


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
    order = read_order(Path(arpa))
    if order < 2:
        raise InputError(f"{arpa} has only 1-grams; a CDLM needs a model of order 2 or more")
    listed: list[list] = [[] for _ in range(order)]
    for size, line in _read_ngrams(Path(arpa)):
        listed[size - 1].append(line)
    words = [parts[1] for parts in listed[0] if parts[1] != BEGIN]
    number = {word: index for index, word in enumerate([*words, BEGIN])}
    unigrams = np.array([float(p[0]) for p in listed[0] if p[1] != BEGIN]) * np.log(10)
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


def _read_ngrams(arpa: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the order and the fields of each n-gram in an ARPA file."""
    for size, block in read_blocks(arpa):
        for row in block.to_pylist():
            yield size, [field.decode() for field in row.values()]


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


def score_cdlm(path: str | Path, sentences: Sequence[Sequence[str]], bos: bool = True) -> list:
    """Score sentences with a CDLM, as `score` does with an n-gram model."""
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


#: Words as displayed; in lower case; in lower case without surrounding punctuation; as displayed,
#: with punctuation as separate words.
RULES = ("displayed", "lower", "bare", "split")
_SPLIT = re.compile(rf"{scripts.WORD}+(?:['’.,-]{scripts.WORD}+)*|[^\w\s]")


def split_word(word: str, rule: str = "displayed") -> list[str]:
    """Apply a rule to a displayed word; `split` may return several words.

    A word of only punctuation is unchanged. Raises InputError for an unknown rule.
    """
    if rule == "displayed":
        return [word]
    if rule == "lower":
        return [word.lower()]
    if rule == "split":
        return _SPLIT.findall(word) or [word]
    if rule != "bare":
        raise InputError(f"text_rule {rule!r} is none of {', '.join(RULES)}")
    short = word.replace("’", "'")
    kept = [n for n, char in enumerate(short) if unicodedata.category(char)[0] not in "PSZ"]
    return [(short[kept[0] : kept[-1] + 1] if kept else short).lower()]


def rewrite(text: str, rule: str) -> str:
    """Apply a rule to the words of a text and keep its lines."""
    if rule == "displayed":
        return text
    lines = text.split("\n")
    return "\n".join(
        " ".join(p for w in line.split() for p in split_word(w, rule)) for line in lines
    )
