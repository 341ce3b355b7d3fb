"""`recency surprisal`: texts in, a row a word out."""

from __future__ import annotations

import gc
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import recency
from recency import form_parameters
from recency.command import table_files
from recency.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def run(
    files: Sequence[str],
    model: str,
    bias: str | None = None,
    allow_pickle: bool = False,
    weights: str = "float32",
    lines: bool = False,
    out: str = table_files.STANDARD,
    **settings: Any,
) -> None:
    """Score the words of files and write the table; `settings` are those of `recency.surprisal`."""
    table_files.check_ending(out)
    check(settings)
    described = None if bias is None else parse_bias(bias)
    words = read_words(files or [table_files.STANDARD], lines)
    opening = {"allow_pickle": allow_pickle, "precision": weights}
    table_files.write(score(words, model, described, settings, opening), out)


def parse_bias(text: str) -> dict[str, Any]:
    """Return the bias that `form:parameter=value:…` describes, checked.

    Values are as in JSON (0.5, [0,1], true), and words without quotes: linear:slopes=mix.
    """
    form, parameters = _parsed(text, "--bias", "form", "linear:slopes=0.5:layers=[0,1]")
    return recency.attention.bias(form, **parameters)


def parse_lossy(text: str) -> dict[str, Any]:
    """Return the lossy contexts that `form:parameter=value:…` describes.

    Settings of lossy contexts (`samples`, `tolerance` …) are written as the form's parameters are.
    """
    from recency.scoring.lossy.lossy_settings import Lossy

    form, parameters = _parsed(text, "--lossy", "form", "exponential:half_life=3:samples=64")
    settings = {
        name: parameters.pop(name)
        for name in list(parameters)
        if name in Lossy.__dataclass_fields__
    }
    return {"erasure": {"form": form, **parameters}, **settings}


def parse_word_entropy(text: str) -> dict[str, Any]:
    """Return the settings of word entropy that `method:setting=value:…` describes."""
    method, settings = _parsed(text, "--word-entropy", "method", "sampling:samples=64:seed=1")
    return {"method": method, **settings}


def _parsed(text: str, option: str, first: str, example: str) -> tuple[str, dict[str, Any]]:
    """Return what stands before the first colon, called `first`, and the parameters after it."""
    form, *pairs = text.split(":")
    parameters: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals and value) or name in (first, *parameters):
            raise InputError(
                f"{option} {text!r}: {pair!r} is not parameter=value, each parameter once; "
                f"write {example}"
            )
        parameters[name] = _value(value)
        if isinstance(parameters[name], float) and not math.isfinite(parameters[name]):
            raise InputError(f"{option} {text!r}: {name} is not finite")
    return form, parameters


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def check(settings: dict[str, Any]) -> None:
    """Read the lists among the settings, and refuse unknown measures before a model is opened."""
    from recency.scoring import measures
    from recency.scoring.lossy import lossy_settings
    from recency.scoring.next_word import word_entropy_settings

    if "measures" in settings:
        settings["measures"] = [name.strip() for name in settings["measures"].split(",")]
    if "word_entropy" in settings:
        settings["word_entropy"] = parse_word_entropy(settings["word_entropy"])
    if "context" in settings:
        lengths = [text.strip() for text in settings["context"].split(",")]
        settings["context"] = [int(text) if text.isdecimal() else text for text in lengths]
    measures.check(settings.get("measures"), settings.get("context"))
    if "lossy" in settings:
        settings["lossy"] = parse_lossy(settings["lossy"])
        erasure = settings["lossy"]["erasure"]
        form_parameters.check(lossy_settings.FORMS, "erasure", erasure)
        settings["lossy"] = lossy_settings.check(settings["lossy"])
    if "word_entropy" in settings:
        word_entropy_settings.check(settings["word_entropy"])


def read_words(files: Sequence[str], lines: bool) -> pd.DataFrame:
    """Return item and word of every text, split at white space, and where each word begins in it.

    An item is named by its file, as it was given, or with `lines` by `file:line`, of standard input
    by the line alone. Empty lines are no texts. InputError where a text has no words.
    """
    import pandas as pd

    from recency.scoring.texts import START, split

    twice = {name for name in files if files.count(name) > 1}
    if twice:
        raise InputError(f"{table_files.shown(min(twice))} is named twice")
    rows: list[tuple[str, int, str]] = []
    for name in files:
        before, content = len(rows), table_files.text(name)
        standard = name == table_files.STANDARD
        item = "stdin" if standard else os.fsencode(name).decode("utf-8", "replace")
        if lines:
            prefix = "" if standard else f"{item}:"
            for number, line in enumerate(content.split("\n"), 1):
                rows += [(f"{prefix}{number}", *each) for each in split(line)]
        else:
            rows += [(item, *each) for each in split(content)]
        if len(rows) == before:
            raise InputError(f"{table_files.shown(name)} has no words")
    frame = pd.DataFrame(rows, columns=["item", START, "word"])
    return frame.astype({"item": "str", START: "int32", "word": "str"})


def score(
    words: pd.DataFrame,
    model: str,
    bias: dict[str, Any] | None,
    settings: dict[str, Any],
    opening: dict[str, Any],
) -> pd.DataFrame:
    """Return what `recency.surprisal` does, with a progress bar where standard error is a terminal."""
    with _lean_imports():
        from recency.scoring import ngram

        if ngram.is_ngram(model):  # a moment's work
            return recency.surprisal(words, model, bias=bias, **settings)
        from tqdm import tqdm
        from transformers.utils import logging

        logging.set_verbosity_error()
        if not sys.stderr.isatty():
            logging.disable_progress_bar()  # those of opening and downloading
        opened = recency.load(model, bias, **opening)
    with tqdm(unit=" windows", leave=False, disable=None) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        return recency.surprisal(words, opened, report=report, **settings)


@contextmanager
def _lean_imports() -> Iterator[None]:
    """Spare a third of the processor time of a short text: 6.0 s → 3.8 s for three words.

    Importing PyTorch and transformers makes a million objects that stay, over which the garbage
    collector goes again and again; and OpenMP's threads spin while they wait for work, unless the
    environment says how they are to wait before PyTorch is loaded.
    """
    if "torch" not in sys.modules:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()
