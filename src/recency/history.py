"""What a language model was made from: its texts, seed, code and starting weights.

A network's history is a part of its config.json, so that checkpoints, exports, and networks that are
trained on from it carry it along; an n-gram model's is a file next to it. Passages of the texts
(recency.passages) are in files in the same folder. None of it changes what a model computes.
"""

import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from recency import passages
from recency.errors import InputError

#: The history's key in a config.json.
KEY = "training_history"
#: The largest share of an evaluated text's passages that a model may have been trained on. Unrelated
#: texts share up to 6 %, parts of one corpus up to 13 % (Radford et al. 2019), a text of a training text
#: all; halfway no text that was set aside is refused, and none that was trained on passes.
MOST_SEEN = 0.5
#: The least share that is worth a note.
NOTED = 0.001


def text_of(info: str | Path) -> Path | None:
    """Return the text that tokens were made from, by the description of these; None of tokens alone."""
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
) -> dict:
    """Return the history of a network that is about to be trained, its passages written to `folder`.

    Parameters
    ----------
    folder : Path
        The network's folder.
    tokens, info : Path
        The training text's tokens and their description.
    specification : Mapping
        The training's specification, with `seed`, `code`, and the tokens' SHA-256.
    changes : Mapping
        What `recency.networks.states.changes` returns.
    held_out : Path, optional
        The tokens that the training is validated on.
    vectors : Path, optional
        The weights whose vectors the training begins with.

    Raises
    ------
    InputError
        Where most of the validation text is in the training text.
    """
    corpus = info.parent.parent.name
    record = {"corpus": corpus, "tokens": tokens.name, "sha256": specification["tokens"]["sha256"]}
    history = {
        "texts": [record],
        "seed": specification["seed"],
        "code": dict(specification["code"]),
        **changes,
    }
    for old in folder.glob("passages-*.npy"):
        old.unlink()
    if text := text_of(info):
        record["passages"] = passages.of_file(text).save(_made(folder))
    if vectors:
        source = read(vectors)
        history["starting_weights"] = {"sha256": specification["vectors"], "history": source}
        _copy_passages(vectors.parent, folder, source)
    if held_out and (text := text_of(held_out)):
        named = f"the validation text {text.parent.name}"
        _require_unseen(named, passages.of_file(text), folder.name, history, folder)
    return history


def of_ngrams(text: str | Path, out: str | Path, starting: Iterable[str | Path] = ()) -> dict:
    """Write the history of an n-gram model next to its file, and return it.

    `starting` are n-gram models that it was made from.
    """
    text, out = Path(text), Path(out)
    record = {
        "corpus": text.parent.name,
        "passages": passages.of_file(text).save(_made(out.parent)),
    }
    before = [read(path) for path in starting]
    for path, history in zip(starting, before):
        _copy_passages(Path(path).parent, out.parent, history)
    history = {
        "texts": [record, *(each for old in before for each in (old or {}).get("texts", []))]
    }
    told = json.dumps(history, indent=1) + "\n"
    passages.write_whole(_next_to(out), lambda part: part.write_text(told, encoding="utf-8"))
    return history


def read(model: str | Path) -> dict | None:
    """Return a model's history; None where none was written.

    Parameters
    ----------
    model : str or Path
        A folder with a config.json, a file in such a folder, or an n-gram model's file. Of a name on
        the Hub nothing is read.
    """
    path = Path(model)
    file, key = _next_to(path), None
    if not file.is_file():
        file, key = (path if path.is_dir() else path.parent) / "config.json", KEY
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # whoever opens the model says what is wrong
        return None
    return found if key is None else found.get(key)


def require_unseen(text: str | Path, name: str, models: Mapping[str, str | Path]) -> None:
    """Refuse to evaluate models on a text that they were trained on; note what they have seen of it.

    Parameters
    ----------
    text : str or Path
        A Parquet file of documents or of words.
    name : str
        How an error calls the text.
    models : Mapping
        Name → folder or file, as `read` takes it.

    Raises
    ------
    InputError
        Where more than half of the text's passages are in one model's training text.
    """
    histories = {lm: read(path) for lm, path in models.items()}
    if unknown := [lm for lm, history in histories.items() if history is None]:
        print(f"{', '.join(unknown)}: no history says what it was trained on", file=sys.stderr)
    if not any(histories.values()):
        return
    own = passages.of_file(text)
    for lm, history in histories.items():
        _require_unseen(name, own, lm, history, _folder(models[lm]))


def seen(words: str | Path, dataset: str, lm: str, model: str | Path) -> str:
    """Describe the training on a dataset's texts of an LM that has seen most of them.

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
        How much of the texts it was trained on; "" where that is half at most, or where no history
        says what it was trained on.
    """
    if not (history := read(model)):
        return ""
    return next(_most_seen(dataset, passages.of_file(words), lm, history, _folder(model)), "")


def _folder(model: str | Path) -> Path:
    """Return the folder of a model that is one, or a file in it."""
    return Path(model) if Path(model).is_dir() else Path(model).parent


def _require_unseen(
    name: str, text: passages.Passages, lm: str, history: Mapping | None, folder: Path
) -> None:
    for found in _most_seen(name, text, lm, history, folder):
        raise InputError(f"{lm} {found}; evaluate it on a text that it was not trained on")


def _most_seen(
    name: str, text: passages.Passages, lm: str, history: Mapping | None, folder: Path
) -> Iterator[str]:
    """Yield each training text that has most of a text's passages; note smaller shares on stderr."""
    for record in texts(history):
        if "passages" not in record:
            print(
                f"{lm}: {record['corpus']} has no passages to compare {name} with", file=sys.stderr
            )
            continue
        share = text.share_in(passages.load(folder, record["passages"]))
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
    """Yield the records of all texts in a history, those of the starting weights with them."""
    while history:
        yield from history.get("texts", [])
        history = history.get("starting_weights", {}).get("history")


def changes_of_code(history: Mapping | None, step: int | None = None) -> list[str]:
    """Return a sentence for each change of the code that a network was trained by.

    Parameters
    ----------
    history : Mapping or None
        A network's history.
    step : int, optional
        The step whose weights are meant; later changes do not count.
    """
    changed = (history or {}).get("resumed", [])
    return [
        f"From step {each['step'] + 1:,} on it was trained by other code ({', '.join(modules)}), "
        "which `resume: true` declared to change nothing."
        for each in changed
        if (modules := changed_modules(each)) and (step is None or each["step"] < step)
    ]


def notes(models: Iterable[str | Path]) -> list[str]:
    """Return a line for each network whose code changed while it was trained.

    `models` are files in their folders, which have the networks' names.
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
    """Copy the passages that the history in a folder's config.json names to it, from another folder."""
    _copy_passages(source, folder, read(folder))


def _copy_passages(source: Path, folder: Path, history: Mapping | None) -> None:
    for record in texts(history):
        name = Path(record.get("passages", {}).get("file", "")).name
        if name and source != folder and (source / name).is_file():
            shutil.copyfile(source / name, _made(folder) / name)


def _next_to(model: Path) -> Path:
    """Return where an n-gram model's history is."""
    return model.with_name(f"{model.name}.history.json")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
