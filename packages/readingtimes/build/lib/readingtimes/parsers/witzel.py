"""English G-maze and self-paced reading (Witzel, Witzel & Forster, 2012): single sentences.

words: for the maze a table of sentences (list, item, sentence), for self-paced reading its times,
because three sentences are spelled differently there. A sentence in both lists of materials is one
item. Words have `frame`, the item number shared by its versions, and `offset`, the distance in words
from the first word in which versions differ (null in an item with one version). With the maze's times
in a role `foils`, each word has its `foil`, the distractor (null for x-x-x), its length foil_length in
characters, and `condition`, the type in the times. responses, distinguished by their columns:
- maze: list, subject, item, type, word_num (from 0), word, rt, correct (0: the distractor was chosen,
  and the trial ended). They have `correct` (a flag) and `type` (practice, filler, …);
- self-paced: list, subject, item, word_num (from 1), word, rt, question_correct. They have `answer`: c
  correct, e wrong, - no question.

Times are raw, in ms: filters should exclude slow ones and the maze's first word, which has no real
alternative.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.contracts import look_up, padded, word_table
from readingtimes.errors import InputError
from readingtimes.strict_tables import Table, first_rows, header, only, read, warn

MEASURES = ("Maze", "SPR")
COLUMNS = {
    "words": {
        "foil": ("text", "the distractor shown with the word", {"role": "foils"}),
        "foil_length": ("number", "the distractor's length, characters", {"role": "foils"}),
        "condition": ("text", "the type of the item's trials", {"role": "foils"}),
        "frame": ("text", "the item's number, which its versions share"),
        "offset": ("number", "distance from where the item's versions differ, words"),
    },
    "responses": {
        "correct": ("flag", "whether the word was chosen", {"measures": ("Maze",)}),
        "type": ("text", "the trial's type: practice, filler …", {"measures": ("Maze",)}),
        "answer": ("text", "the answer: c right, e wrong, - no question", {"measures": ("SPR",)}),
    },
}
NO_WORD = "x-x-x"  # the alternative of the first word

_KEYS = ["list", "item"]
_ANSWERS = {"1": "c", "0": "e", "NA": "-"}


def words(files: dict[str, Path]) -> pd.DataFrame:
    """Read the sentences, one item each, by number and, if the lists differ, by list."""
    files = dict(files)
    foils = files.pop("foils", None)
    path = only(files, "words of witzel")
    if "word_num" in header(path):
        texts = _spoken(path)
    else:
        table = read(path, [*_KEYS, "sentence"]).once(_KEYS)
        keys = [table.numbers(key, integer=True) for key in _KEYS]
        texts = pd.Series(table["sentence"].str.split().to_numpy(), pd.MultiIndex.from_arrays(keys))
    frame = texts.rename("words").rename_axis(_KEYS).reset_index().sort_values(["item", "list"])
    frame["text"] = frame.words.str.join(" ")
    many = frame.groupby("item").text.transform("nunique") > 1
    names = frame["item"].map("{:03d}".format)
    frame["name"] = names.mask(many, names + "/" + frame.list.astype("str"))
    frame = frame.drop_duplicates("name")
    apart = frame.groupby("item").words.agg(_first_apart)
    frame = frame.assign(sentence=range(1, len(frame) + 1), frame=names).explode("words")
    result = word_table(frame.name.to_numpy(), frame.sentence.to_numpy(), frame.words.to_numpy())
    result["frame"] = frame.frame.to_numpy("str")
    result["offset"] = result.position.to_numpy() - frame["item"].map(apart).to_numpy(float)
    if foils is None:
        return result
    keys = [frame.list.to_numpy(), frame["item"].to_numpy(), result.position.to_numpy() - 1]
    return result.assign(**_foils(foils, pd.MultiIndex.from_arrays(keys)))


def responses(files: dict[str, Path], words: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Read the time of each choice (Maze) or key press (SPR), ms."""
    path = only(files, "responses of witzel")
    maze = measure == "Maze"
    columns = ["type", "correct"] if maze else ["question_correct"]
    keys = ["subject", "item", "word_num"]
    table = read(path, ["list", *keys, "word", "rt", *columns]).once(keys)
    frame = pd.DataFrame({key: table.numbers(key, integer=True) for key in (*_KEYS, "word_num")})
    frame["position"] = frame.word_num + maze
    frame["word"] = table["word"]
    out = pd.DataFrame({"subject": padded(_subjects(table["subject"]))})
    out["word_id"] = _word_ids(table, frame, words)
    out["time_ms"] = table.numbers("rt")
    if maze:
        right = table.numbers("correct", integer=True)
        if (odd := ~right.isin([0, 1])).any():
            line = right.index[odd][0]
            table.fail(line, f"correct is {table['correct'][line]!r}, expected 0 or 1")
        out["correct"], out["type"] = right == 1, table["type"]
    else:
        answers = table["question_correct"]
        if (odd := ~answers.isin(list(_ANSWERS))).any():
            line = answers.index[odd][0]
            table.fail(line, f"question_correct is {answers[line]!r}, expected 1, 0 or NA")
        out["answer"] = answers.map(_ANSWERS)
    _complete(path, frame.assign(subject=out.subject), out, words)
    return out.reset_index(drop=True)


def _first_apart(versions: pd.Series) -> float:
    """Return the first position (from 1) at which versions differ, NaN for a single version."""
    places = zip(*versions)
    return next((n for n, words in enumerate(places, 1) if len(set(words)) > 1), math.nan)


def _foils(path: Path, keys: pd.MultiIndex) -> dict[str, np.ndarray]:
    """Find each word's distractor, its characters and its condition, by list, item and word_num."""
    type_column = ["type"] if "type" in header(path).rstrip("\r\n").split("\t") else []
    table = read(path, [*_KEYS, "word_num", "distractor", *type_column])
    names = [table.numbers(key, integer=True).rename(key) for key in (*_KEYS, "word_num")]
    foils = table["distractor"].groupby(names)
    if (many := foils.nunique() > 1).any():
        at = many.idxmax()
        raise InputError(
            f"{path}: word {at[2]} of item {at[1]}, list {at[0]}, has several distractors"
        )
    first_foils = foils.first().reindex(keys)
    if first_foils.isna().any():
        at = keys[first_foils.isna().argmax()]
        raise InputError(f"{path}: no row is word {at[2]} of item {at[1]}, list {at[0]}")
    columns = {
        "foil_length": first_foils.str.len().to_numpy(),
        "foil": first_foils.where(first_foils != NO_WORD).to_numpy(),
    }
    if type_column:
        columns["condition"] = table["type"].groupby(names).first().reindex(keys).to_numpy()
    return columns


def _spoken(path: Path) -> pd.Series:
    """Reconstruct sentences from times: lists of words by list and item."""
    table = read(path, [*_KEYS, "word_num", "word"])
    frame = pd.DataFrame({key: table.numbers(key, integer=True) for key in (*_KEYS, "word_num")})
    frame["word"] = table["word"]
    keys = [*_KEYS, "word_num"]
    first, other = first_rows(frame, keys, ["word"])
    if len(other):
        row = other.iloc[0]
        table.fail(row.name, f"word is {row.word!r}, before it was {row.word_first!r}")
    first = first.sort_values(keys)
    if (gap := first.word_num != first.groupby(_KEYS).cumcount() + 1).any():
        line = first.index[gap][0]
        table.fail(line, f"item {first['item'][line]} has no word before {first.word_num[line]}")
    return first.groupby(_KEYS).word.agg(list)


def _subjects(names: pd.Series) -> pd.Series:
    """Write `1_2` (list, number) as `1_02`, so that readers sort by number."""
    parts = names.str.extract(r"^(\d+)_(\d+)$")
    if parts.isna().any(axis=None):
        return names
    return parts[0] + "_" + parts[1].str.zfill(int(parts[1].str.len().max()))


def _word_ids(table: Table, frame: pd.DataFrame, words: pd.DataFrame) -> pd.Series:
    """Return each row's word_id by list, item and position; the words must agree."""
    name = frame["item"].map("{:03d}".format)
    names_in_list = name + "/" + frame.list.astype("str")
    name = name.mask(names_in_list.isin(words["item"]), names_in_list)
    matched = look_up(words, ("item", "position"), name, frame.position)
    if (wrong := matched.word.to_numpy() != frame.word.to_numpy()).any():
        line = frame.index[wrong][0]
        there = matched.word[line]
        there = repr(there) if isinstance(there, str) else "no such word"
        table.fail(
            line,
            f"word {frame.word_num[line]} of item {frame['item'][line]}, list {frame.list[line]}, "
            f"is {frame.word[line]!r}; the sentences have {there} ({wrong.sum():,} such rows)",
        )
    return matched.word_id.astype("int32")


def _complete(path: Path, frame: pd.DataFrame, out: pd.DataFrame, words: pd.DataFrame) -> None:
    """Raise InputError for a file that ends within a trial; report trials that lack words without an error."""
    trial = [frame.subject, frame["item"]]
    sentence = out.word_id.map(words.set_index("word_id").sentence)
    left = sentence.map(words.groupby("sentence").size()) - frame.position
    end = ~pd.concat(trial, axis=1).duplicated(keep="last")
    stopped = ~out.correct if "correct" in out else False
    short = end & (left > 0) & ~stopped
    gaps = frame.groupby(trial).position.transform("size") != frame.groupby(
        trial
    ).position.transform("max")
    if short.any() and short.iloc[-1]:
        at = frame.iloc[-1]
        raise InputError(
            f"{path} ends within a trial: subject {at.subject} has {at.position} words of item "
            f"{at['item']}; it looks cut off: get it again"
        )
    if (lacking := short | (gaps & end)).any():
        at = frame[lacking].iloc[0]
        warn(path, f"{lacking.sum():,} trials lack words (subject {at.subject}, item {at['item']})")
