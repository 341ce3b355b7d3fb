"""Provenance of a language model: its texts, seed, code and initial weights.

A network's history is part of its config.json, so that checkpoints, exports and networks initialised
from it inherit it; that of an n-gram model is a file next to it. Passages of the texts
(recency.passages) are files in the same folder. The history does not affect computations.
"""

import functools
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from recency import passages
from recency.errors import InputError

#: The history's key in a config.json.
KEY = "training_history"
#: Largest share of an evaluated text's passages that may be in a model's training text. Unrelated texts
#: share up to 6 %, parts of one corpus up to 13 % (Radford et al. 2019), and training texts 100 %.
MOST_SEEN = 0.5
#: Smallest share that is noted.
NOTED = 0.001


def text_of(info: str | Path) -> Path | None:
    """Return the text of tokens by their description; None for pretokenized corpora."""
    text = Path(info).parent.parent / "text.parquet"
    return text if text.is_file() else None


def of_training(
    folder: Path,
    tokens: Path,
    info: Path,
    specification: Mapping,
    changes: Mapping,
    held_out: Path | None = None,
    vectors: Path | None = None,
    made: Mapping[str, Path | None] | None = None,
) -> dict:
    """Return the history of a network before training, and write its passages to `folder`.

    Parameters
    ----------
    folder : Path
        The network's folder.
    tokens, info : Path
        The training text's tokens and their description.
    specification : Mapping
        The training's specification, with `seed`, `recipe`, `code`, and the tokens' SHA-256.
    changes : Mapping
        Return value of `recency.networks.states.changes`.
    held_out : Path, optional
        Validation tokens.
    vectors : Path, optional
        Weights that provide the initial vectors.
    made : Mapping, optional
        Files of the passages of both texts, `tokens` and `held_out` (rule passages). Without them the
        passages are computed, once per text.

    Raises
    ------
    InputError
        If most of the validation text is in the training text.
    """
    corpus = info.parent.parent.name
    record = {"corpus": corpus, "tokens": tokens.name, "sha256": specification["tokens"]["sha256"]}
    history = {
        "texts": [record],
        "seed": specification["seed"],
        "recipe": dict(specification["recipe"]),
        "code": dict(specification["code"]),
        **changes,
    }
    for old in folder.glob("passages-*.npy"):
        old.unlink()
    made = made or {}
    if text := text_of(info):
        training_passages = passages.of_training_text(text, made.get("tokens"))
        record["passages"] = training_passages.save(_make_folder(folder))
    if vectors:
        source = read(vectors)
        history["starting_weights"] = {"sha256": specification["vectors"], "history": source}
        _copy_passages(vectors.parent, folder, source)
    if held_out and (text := text_of(held_out)):
        named = f"the validation text {text.parent.name}"
        held_out_passages = passages.of_training_text(text, made.get("held_out"))
        _require_unseen(named, lambda version: held_out_passages, folder.name, history, folder)
    return history


def of_ngrams(
    text: str | Path,
    out: str | Path,
    starting: Iterable[str | Path] = (),
    made: str | Path | None = None,
) -> dict:
    """Write the history of an n-gram model next to its file, and return it.

    `starting` are n-gram models that it extends, and `made` the file of the text's passages.
    """
    text, out = Path(text), Path(out)
    training_passages = passages.of_training_text(text, made)
    record = {
        "corpus": text.parent.name,
        "passages": training_passages.save(_make_folder(out.parent)),
    }
    before = [read(path) for path in starting]
    for path, history in zip(starting, before):
        _copy_passages(Path(path).parent, out.parent, history)
    history = {
        "texts": [record, *(earlier for old in before for earlier in (old or {}).get("texts", []))]
    }
    content = json.dumps(history, indent=1) + "\n"
    passages.write_whole(_next_to(out), lambda part: part.write_text(content, encoding="utf-8"))
    return history


def read(model: str | Path) -> dict | None:
    """Return a model's history, None if it has none.

    Parameters
    ----------
    model : str or Path
        A folder with a config.json, a file in such a folder, or an n-gram model's file. Names on the
        Hub have no history.
    """
    path = Path(model)
    file, key = _next_to(path), None
    if not file.is_file():
        file, key = (path if path.is_dir() else path.parent) / "config.json", KEY
    try:
        history = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # reported when the model is opened
        return None
    return history if key is None else history.get(key)


def require_unseen(text: str | Path, name: str, models: Mapping[str, str | Path]) -> None:
    """Refuse to evaluate models on their training text, and note smaller overlaps.

    Parameters
    ----------
    text : str or Path
        A Parquet file of documents or of words.
    name : str
        Name of the text in errors.
    models : Mapping
        Name → folder or file, as `read` takes it.

    Raises
    ------
    InputError
        If more than half of the text's passages are in one model's training text.
    """
    histories = {lm: read(path) for lm, path in models.items()}
    if unknown := [lm for lm, history in histories.items() if history is None]:
        print(f"{', '.join(unknown)}: unknown training text", file=sys.stderr)
    if not any(histories.values()):
        return
    text_passages = _passages_of(text)
    for lm, history in histories.items():
        _require_unseen(name, text_passages, lm, history, _folder(models[lm]))


def seen(words: str | Path, dataset: str, lm: str, model: str | Path) -> str:
    """Describe an LM's training on most of a dataset's texts.

    Parameters
    ----------
    words : str or Path
        Contract 1.
    dataset, lm : str
        Their names in the config, for notes.
    model : str or Path
        The LM's folder or file.

    Returns
    -------
    str
        The share of the texts in its training text; "" if it is at most half, or unknown.
    """
    if not (history := read(model)):
        return ""
    return next(_most_seen(dataset, _passages_of(words), lm, history, _folder(model)), "")


#: Version of the hashes → passages of a text.
_Versions = Callable[[int], passages.Passages]


def _passages_of(text: str | Path) -> _Versions:
    """Return a function that hashes a text once for each version."""
    return functools.cache(functools.partial(passages.of_file, text))


def _folder(model: str | Path) -> Path:
    """Return the folder of a model, given as the folder or a file in it."""
    return Path(model) if Path(model).is_dir() else Path(model).parent


def _require_unseen(
    name: str, text: _Versions, lm: str, history: Mapping | None, folder: Path
) -> None:
    for seen in _most_seen(name, text, lm, history, folder):
        raise InputError(f"{lm} {seen}; use a text that it was not trained on")


def _most_seen(
    name: str, text: _Versions, lm: str, history: Mapping | None, folder: Path
) -> Iterator[str]:
    """Yield training texts that contain most of a text's passages; note smaller shares on stderr."""
    for record in texts(history):
        if "passages" not in record:
            print(
                f"{lm}: {record['corpus']} has no passages to compare {name} with", file=sys.stderr
            )
            continue
        seen = passages.load(folder, record["passages"])
        share = text(seen.version).share_in(seen)
        if share is None:
            print(f"{lm}: {name} is too short to compare with {record['corpus']}", file=sys.stderr)
        elif share > MOST_SEEN:
            yield (
                f"was trained on {share:.0%} of {name} (passages of {passages.LENGTH} words that are "
                f"in {record['corpus']})"
            )
        elif share >= NOTED:
            print(
                f"{lm} was trained on {share:.1%} of {name} ({record['corpus']})", file=sys.stderr
            )


def texts(history: Mapping | None) -> Iterator[dict]:
    """Yield the records of all texts in a history, including those of initial weights."""
    while history:
        yield from history.get("texts", [])
        history = history.get("starting_weights", {}).get("history")


def changes_of_code(history: Mapping | None, step: int | None = None) -> list[str]:
    """Return a sentence for each change of the training code during a training.

    Parameters
    ----------
    history : Mapping or None
        A network's history.
    step : int, optional
        Step of the weights; later changes are ignored.
    """
    changed = (history or {}).get("resumed", [])
    return [
        f"From step {change['step'] + 1:,} on it was trained by changed code ({', '.join(modules)}), "
        "which `resume: true` declared equivalent."
        for change in changed
        if (modules := changed_modules(change)) and (step is None or change["step"] < step)
    ]


def notes(models: Iterable[str | Path]) -> list[str]:
    """Return a line for each network whose code changed during its training.

    `models` are files in folders named as the networks.
    """
    return [
        f"{Path(model).parent.name}: {line}"
        for model in models
        for line in changes_of_code(read(model))
    ]


def changed_modules(change: Mapping) -> list[str]:
    """Return the modules whose fingerprints differ between two states of the code."""
    before, now = change["begun_by"], change["goes_on_by"]
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def copy_passages(source: Path, folder: Path) -> None:
    """Copy the passages in a folder's history from another folder."""
    _copy_passages(source, folder, read(folder))


def _copy_passages(source: Path, folder: Path, history: Mapping | None) -> None:
    for record in texts(history):
        name = Path(record.get("passages", {}).get("file", "")).name
        if name and source != folder and (source / name).is_file():
            shutil.copyfile(source / name, _make_folder(folder) / name)


def _next_to(model: Path) -> Path:
    """Return the path of an n-gram model's history."""
    return model.with_name(f"{model.name}.history.json")


def _make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
