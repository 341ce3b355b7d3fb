"""What `recency describe` makes of a table: the truth, a message that names the damage, or neither."""

import contextlib
import io
import re
from pathlib import Path

import pandas as pd
import yaml

from lab_damages import Made
from readingtimes.contracts import check_responses, check_words
from readingtimes.errors import InputError
from readingtimes.own.begin import OF_BOTH
from readingtimes.parsers import table as parser
from recency.command.main import main


def verdict(made: Made, path: Path) -> tuple[str, str]:
    """Describe a table; return right, named, noted, vague or quiet, and the message."""
    path.write_bytes(made.data())
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["describe", str(path)])
    if status:
        assert yaml.safe_load(out.getvalue() or "#") is None
        hit = made.named and re.search(made.named, err.getvalue())
        return ("named" if hit else "vague"), err.getvalue().strip()
    try:
        wrong = _wrong(made, out.getvalue())
    except InputError as error:
        wrong = f"not read by its entry: {error}"
    if not wrong:
        return "right", ""
    notes = "\n".join(re.findall("#.*", out.getvalue()))
    hit = made.named and re.search(made.named, notes)
    return ("noted" if hit else "quiet"), wrong


def _label(text) -> str:
    """Return a label as it is compared: numbers without the zeros before them."""
    return str(text).lstrip("0") or "0"


def _wrong(made: Made, text: str) -> str:
    """Return how words or times that an entry reads differ from the truth, "" if they do not."""
    words, times, measure = _read(text)
    if measure != made.lab.measure:
        return f"{measure}, not {made.lab.measure}"
    words = words.assign(place=words.groupby("item", sort=False).cumcount() + 1)
    true = made.truth.drop_duplicates(["text", "place"]).sort_values(["text", "place"])
    expected = true.groupby("text", sort=False).word.agg(tuple)
    found = words.groupby("item", sort=False).word.agg(tuple)
    if sorted(found) != sorted(expected):
        other = min(set(found) ^ set(expected))
        return f"{len(found)} texts, not {len(expected)}; {' '.join(other)[:60]!r}"
    if "sentence" in made.cells and _starts(words, found, "item") != _starts(
        true, expected, "text"
    ):
        return "sentences begin elsewhere"
    rows = words.iloc[times.word_id.to_numpy()]
    got = _times(times.subject, rows["item"].map(found), rows.place, times.time_ms)
    told = made.truth[made.truth.time.notna()]
    want = _times(told.subject, told.text.map(expected), told.place, told.time)
    if len(got) != len(want):
        return f"{len(got)} times, not {len(want)}"
    for key, time in want.items():
        if key not in got or abs(got[key] - time) > 1e-6 * max(1, time):
            return f"{got.get(key)}, not {time}: {key[0]}, {key[1][key[2] - 1]!r}"
    return ""


def _starts(rows: pd.DataFrame, texts: pd.Series, text: str) -> set:
    """Return the text and place of each sentence's first word."""
    first = rows[(rows.sentence != rows.sentence.shift()) | (rows[text] != rows[text].shift())]
    return set(zip(first[text].map(texts), first.place, strict=True))


def _times(subjects, texts, places, times) -> dict:
    """Return (subject, words of the text, place) → time."""
    keys = zip(map(_label, subjects), texts, places, strict=True)
    return dict(zip(keys, times, strict=True))


def _read(text: str) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Read words and times of the first measure by an entry."""
    ((_, entry),) = yaml.safe_load(text)["datasets"].items()
    options, measure = entry["options"], next(iter(entry["measures"]))
    of_words = {k: v for k, v in options.items() if k in (*OF_BOTH, "sentences", "phrases")}
    of_times = {k: v for k, v in options.items() if k not in ("sentences", "phrases")}
    files = {"table": entry["words"]["table"]["local"]}
    with contextlib.redirect_stderr(io.StringIO()):
        words = check_words(parser.words(files, measures=(measure,), **of_words), "words")
        times = parser.responses(files, words, measure, **of_times)
    return words, check_responses(times, words, measure), measure
