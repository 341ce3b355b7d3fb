"""`recency surprisal`: score texts and write one row per word."""

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
    units: str | None = None,
    **settings: Any,
) -> None:
    """Score the words of files and write the table; `settings` are those of `recency.surprisal`.

    `units` is a mark in the texts that separates units, which are scored in place of words.
    """
    table_files.check_ending(out)
    check(settings)
    described = None if bias is None else parse_bias(bias)
    files = files or [table_files.STANDARD]
    opening = {"allow_pickle": allow_pickle, "precision": weights}
    if units is None:
        table = score(read_words(files, lines), model, described, settings, opening)
    else:
        items, texts = read_units(files, lines, units)
        settings["units"] = texts
        table = score(["".join(of_text) for of_text in texts], model, described, settings, opening)
        table["item"] = [items[int(number) - 1] for number in table["item"]]
    table_files.write(table, out)


def parse_bias(text: str) -> dict[str, Any]:
    """Parse and check a bias, `form:parameter=value:…`.

    Values are in JSON (0.5, [0,1], true), or words without quotes: linear:slopes=mix.
    """
    form, parameters = _parse_settings(text, "--bias", "form", "linear:slopes=0.5:layers=[0,1]")
    return recency.attention.bias(form, **parameters)


def parse_lossy(text: str) -> dict[str, Any]:
    """Parse the settings of lossy contexts, `form:parameter=value:…`.

    Other settings (`samples`, `tolerance` …) are written like the form's parameters.
    """
    from recency.scoring.lossy.lossy_settings import Lossy

    form, parameters = _parse_settings(
        text, "--lossy", "form", "exponential:half_life=3:samples=64"
    )
    settings = {
        name: parameters.pop(name)
        for name in list(parameters)
        if name in Lossy.__dataclass_fields__
    }
    return {"erasure": {"form": form, **parameters}, **settings}


def parse_word_entropy(text: str) -> dict[str, Any]:
    """Parse the settings of word entropy, `method:setting=value:…`."""
    method, settings = _parse_settings(
        text, "--word-entropy", "method", "sampling:samples=64:seed=1"
    )
    return {"method": method, **settings}


def _parse_settings(text: str, option: str, first: str, example: str) -> tuple[str, dict[str, Any]]:
    """Return the text before the first colon, called `first`, and the parameters after it."""
    form, *pairs = text.split(":")
    parameters: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals and value) or name in (first, *parameters):
            raise InputError(
                f"{option} {text!r}: {pair!r} must be parameter=value, each parameter once; "
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
    """Parse lists in the settings, and refuse unknown measures before a model is opened."""
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
    """Split texts at white space; return item, word and start of the word in its text.

    An item is named by its file, or with `lines` by `file:line` (for standard input, the line). Empty
    lines are skipped. InputError if a text has no words.
    """
    import pandas as pd

    from recency.scoring.texts import START, split

    rows = [(item, *word) for item, text in _read_texts(files, lines) for word in split(text)]
    frame = pd.DataFrame(rows, columns=["item", START, "word"])
    return frame.astype({"item": "str", START: "int32", "word": "str"})


def read_units(files: Sequence[str], lines: bool, mark: str) -> tuple[list[str], list[list[str]]]:
    """Return the items, as `read_words` names them, and the units of each, between marks."""
    if not mark.strip():
        raise InputError(f"--units {mark!r}: name a mark that separates units, such as |")
    texts = [(item, text.strip()) for item, text in _read_texts(files, lines)]
    units = [[unit for unit in text.split(mark) if unit] for _, text in texts]
    return [item for item, _ in texts], units


def _read_texts(files: Sequence[str], lines: bool) -> list[tuple[str, str]]:
    """Return item and text of files, or of their lines; InputError if a file has no words."""
    twice = {name for name in files if files.count(name) > 1}
    if twice:
        raise InputError(f"{table_files.shown(min(twice))} is named twice")
    texts = []
    for name in files:
        content = table_files.text(name)
        if not content.strip():
            raise InputError(f"{table_files.shown(name)} has no words")
        standard = name == table_files.STANDARD
        item = "stdin" if standard else os.fsencode(name).decode("utf-8", "replace")
        if lines:
            prefix = "" if standard else f"{item}:"
            numbered = enumerate(content.split("\n"), 1)
            texts += [(f"{prefix}{number}", line) for number, line in numbered if line.strip()]
        else:
            texts.append((item, content))
    return texts


def score(
    words: pd.DataFrame | list[str],
    model: str,
    bias: dict[str, Any] | None,
    settings: dict[str, Any],
    opening: dict[str, Any],
) -> pd.DataFrame:
    """Return the result of `recency.surprisal`, with a progress bar if standard error is a terminal."""
    opened = open_model(model, bias, opening)
    if isinstance(opened, str):
        return recency.surprisal(words, opened, bias=bias, **settings)
    from tqdm import tqdm

    with tqdm(unit=" windows", leave=False, disable=None) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        return recency.surprisal(words, opened, report=report, **settings)


def open_model(model: str, bias: dict[str, Any] | None, opening: dict[str, Any]) -> Any:
    """Open a network with its bias; return the path of an n-gram model as it is."""
    with _lean_imports():
        from recency import embedded
        from recency.scoring import ngram

        if ngram.is_ngram(model):  # fast
            return model
        from transformers.utils import logging

        logging.set_verbosity_error()
        if not sys.stderr.isatty():
            logging.disable_progress_bar()  # of loading and downloading
        if embedded.is_embedded(model):
            print(embedded.NOTE.format(name=model), file=sys.stderr)
        return recency.load(model, bias, **opening)


@contextmanager
def _lean_imports() -> Iterator[None]:
    """Reduce the processor time of imports (6.0 s → 3.8 s for a text of three words).

    Importing PyTorch and transformers creates a million permanent objects, which the garbage collector
    would scan repeatedly; and OpenMP's threads spin while waiting unless the environment is set before
    PyTorch is loaded.
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
