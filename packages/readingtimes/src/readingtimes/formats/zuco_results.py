"""ZuCo's results files, results<reader>_<task>.mat, with one sentence per element of `sentenceData`.

An element has `content`, the sentence, and `word`: for each word `content` and FFD, GD (first pass),
GPT (go past), TRT (total) in ms, empty if the word was not fixated; `word` is NaN if the reader has no
data for the sentence. Readers Z… are of ZuCo 1.0, Y… of 2.0; the tasks are SR (film
reviews), NR (Wikipedia) and TSR (task-specific reading). All readers of a task have its sentences
in the same order.

Files of MATLAB 7.3 (HDF5: ZuCo 2.0) are refused: reading them takes h5py, which this project lacks.
"""

import io
import multiprocessing
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from readingtimes.contracts import one_of, padded, same_words, word_table
from readingtimes.errors import InputError
from readingtimes.fixations import with_history
from readingtimes.names import hint
from readingtimes.strict_tables import warn

COLUMNS = {"FFD": "FFD", "FP": "GD", "GP": "GPT", "TFT": "TRT"}
TASKS = ("zuco1_SR", "zuco1_NR", "zuco1_TSR", "zuco2_NR", "zuco2_TSR")

_NAME = re.compile(r"results([ZY][A-Z]{2})_(SR|NR|TSR)\.mat")
# Two words that the source's export garbled.
_SPOILED = {"emp11111ty": "empty", "film.1": "film."}

Sentence = tuple[tuple[str, ...], np.ndarray]
"""A sentence as one reader has it: its words and their times (words, COLUMNS) in ms, 0: not fixated."""


def are_results(files: Mapping[str, str | Path]) -> bool:
    """Return whether files are results, or zips of them, by their first bytes."""
    return all(_begin(Path(path)).startswith((b"MATLAB", b"PK")) for path in files.values())


def words(files: Mapping[str, str | Path], tasks: Sequence[str]) -> pd.DataFrame:
    """Read the sentences, one item each, by task and number."""
    texts = _texts(_read(files, tasks))
    numbers = np.repeat(np.arange(1, len(texts) + 1), [len(text) for text in texts.values()])
    items = padded(pd.Series(numbers).astype("str"))
    return word_table(items, numbers, [word for text in texts.values() for word in text])


def responses(
    files: Mapping[str, str | Path], words: pd.DataFrame, measure: str, tasks: Sequence[str]
) -> pd.DataFrame:
    """Read `measure` in ms: FFD, FP (first pass), GP (go past) or TFT (total)."""
    where = ", ".join(str(path) for path in files.values())
    readings = _read(files, tasks)
    texts = _texts(readings)
    same_words([word for text in texts.values() for word in text], words, where)
    firsts = dict(zip(texts, np.cumsum([0, *map(len, texts.values())]), strict=False))
    frames, other = [], 0
    for (task, reader), sentences in readings.items():
        for number, (tokens, times) in sentences.items():
            key = task, number
            if tokens != texts[key]:
                other += 1
                continue
            frame = pd.DataFrame(times, columns=list(COLUMNS))
            frame["word_id"] = np.arange(firsts[key], firsts[key] + len(tokens))
            frames.append(frame.assign(subject=reader, sentence=f"{task} {number}"))
    if other:
        warn(where, f"{other:,} sentences dropped, with other words than most readers' there")
    frame = pd.concat(frames, ignore_index=True)
    frame = frame.sort_values(["subject", "word_id"], kind="stable").reset_index(drop=True)
    out = frame[["subject"]].assign(word_id=frame.word_id.astype("int32"), time_ms=frame[measure])
    return with_history(out, frame.FP > 0, frame.sentence)


def _texts(
    readings: Mapping[tuple[str, str], Mapping[int, Sentence]],
) -> dict[tuple[str, int], tuple[str, ...]]:
    """Return each sentence's most frequent version among readers (of ties, the first)."""
    versions: dict[tuple[str, int], dict[tuple[str, ...], int]] = {}
    for (task, _), sentences in readings.items():
        for number, (tokens, _) in sentences.items():
            counts = versions.setdefault((task, number), {})
            counts[tokens] = counts.get(tokens, 0) + 1
    order = sorted(versions, key=lambda key: (TASKS.index(key[0]), key[1]))
    return {key: max(versions[key], key=versions[key].get) for key in order}


def _read(
    files: Mapping[str, str | Path], tasks: Sequence[str]
) -> dict[tuple[str, str], dict[int, Sentence]]:
    """Read (task, reader) → number → sentence for these tasks, sorted by name."""
    for task in tasks:
        one_of("tasks", task, TASKS)
    readings, seen = {}, {}
    for path, member in _find_files(files):
        where = str(path) if member is None else f"{path}/{member}"
        name = path.name if member is None else PurePosixPath(member).name
        match = _NAME.fullmatch(name)
        if match is None:
            raise InputError(f"{where}: the name is not results<reader>_<SR, NR or TSR>.mat")
        key = f"zuco{1 if match[1][0] == 'Z' else 2}_{match[2]}", match[1]
        if key in seen:
            raise InputError(f"{where}: there is {seen[key]} already, of the same reader and task")
        seen[key] = where
        if key[0] in tasks:
            readings[key] = _sentences(where, path, member)
    if not readings:
        there = ", ".join(sorted({task for task, _ in seen})) or "none"
        raise InputError(
            f"{', '.join(map(str, files.values()))}: no results of {', '.join(tasks)}; the files "
            f"are of: {there} (`tasks` in the dataset's options says which are read)"
        )
    return dict(sorted(readings.items(), key=lambda item: (TASKS.index(item[0][0]), item[0][1])))


def _find_files(files: Mapping[str, str | Path]) -> Iterator[tuple[Path, str | None]]:
    """Yield each results file: its path, or the path and member name in a zip."""
    for path in map(Path, files.values()):
        if not zipfile.is_zipfile(path):
            yield path, None
            continue
        try:
            with zipfile.ZipFile(path) as archive:
                names = [
                    n for n in archive.namelist() if n.endswith(".mat") and "__MACOSX" not in n
                ]
        except zipfile.BadZipFile as error:
            raise InputError(f"{path} is damaged ({error}); get it again") from error
        if not names:
            raise InputError(f"{path} has no .mat file")
        for name in sorted(names):
            yield path, name


def _sentences(where: str, path: Path, member: str | None) -> dict[int, Sentence]:
    """Read a results file: number (from 1) → sentence, without sentences that lack data.

    A process of its own reads it, since scipy may crash on a damaged one and take this one along.
    """
    kind = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"  # Windows
    with ProcessPoolExecutor(1, multiprocessing.get_context(kind)) as apart:
        try:
            sentences, odd = apart.submit(_parse, where, path, member).result()
        except BrokenProcessPool:
            raise InputError(f"{where} is damaged (scipy crashed on it); get it again") from None
    if odd:
        first = f"{odd[0][1]!r} in sentence {odd[0][0]} is one"
        warn(
            where, f"{len(odd):,} sentences dropped, with a word that is none or several ({first})"
        )
    if not sentences:
        raise InputError(f"{where} has no words in any sentence; get it again")
    return sentences


def _parse(
    where: str, path: Path, member: str | None
) -> tuple[dict[int, Sentence], list[tuple[int, str]]]:
    """Read a results file's sentences, and number → word for garbled words."""
    sentences, odd = {}, []
    for number, element in enumerate(_sentence_data(where, path, member), start=1):
        words = np.atleast_1d(_field(element, "word", f"{where}, sentence {number}"))
        if not all(hasattr(word, "_fieldnames") for word in words) or not len(words):
            continue
        tokens, times = _words(words, f"{where}, sentence {number}")
        if wrong := [token for token in tokens if len(token.split()) != 1]:
            odd.append((number, wrong[0]))
        else:
            sentences[number] = tokens, times
    return sentences, odd


def _sentence_data(where: str, path: Path, member: str | None) -> np.ndarray:
    """Return MATLAB's array `sentenceData` of a file, or of a zip's member."""
    from scipy.io import loadmat

    file: Path | io.BytesIO = path
    if member is not None:
        try:
            file = io.BytesIO(zipfile.ZipFile(path).read(member))
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise InputError(f"{path} is damaged ({error}); get it again") from error
    try:
        loaded = loadmat(
            file, squeeze_me=True, struct_as_record=False, variable_names=["sentenceData"]
        )
    except NotImplementedError as error:
        raise InputError(
            f"{where} is of MATLAB 7.3 (HDF5), which is not read here: save it in MATLAB by "
            f"save('{PurePosixPath(where).name}', 'sentenceData', '-v7'), or take ZuCo 1.0"
        ) from error
    except Exception as error:  # scipy raises various errors for damaged files
        raise InputError(f"{where} is damaged ({error}); get it again") from error
    if "sentenceData" not in loaded:
        raise InputError(f"{where} has no sentenceData; take the results… files of ZuCo")
    return np.atleast_1d(loaded["sentenceData"])


def _words(words: np.ndarray, where: str) -> Sentence:
    """Read the words of one sentence."""
    tokens, times = [], np.zeros((len(words), len(COLUMNS)))
    for number, word in enumerate(words):
        here = f"{where}, word {number + 1}"
        token = _field(word, "content", here)
        token = token.strip() if isinstance(token, str) else ""
        for spoiled, right in _SPOILED.items():
            token = token.replace(spoiled, right)
        tokens.append(token)
        for column, name in enumerate(COLUMNS.values()):
            times[number, column] = _time(_field(word, name, here), f"{here}, {name}")
    return tuple(tokens), times


def _time(value: Any, where: str) -> float:
    """Return a time in ms, 0 if it is empty or NaN."""
    number = np.asarray(value)
    if number.size == 0:
        return 0.0
    if number.size > 1 or number.dtype.kind not in "iuf":
        raise InputError(f"{where} is {value!r}, expected a number; get the file again")
    number = float(number.reshape(-1)[0])
    if np.isinf(number) or number < 0:
        raise InputError(f"{where} is {number:g}, expected a time in ms; get the file again")
    return 0.0 if np.isnan(number) else number


def _field(struct: Any, name: str, where: str) -> Any:
    if not hasattr(struct, name):
        there = ", ".join(getattr(struct, "_fieldnames", ())) or "none"
        raise InputError(
            f"{where}: no field {name}; {hint(name, there.split(', '))}It has: {there}"
        )
    return getattr(struct, name)


def _begin(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(6)
    except OSError:
        return b""  # reported when the file is read
