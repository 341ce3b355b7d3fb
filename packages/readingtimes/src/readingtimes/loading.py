"""Read a public corpus by its name, from its definition: downloads, parser, checks and filters."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from readingtimes import parsers
from readingtimes.contracts import check_fixations, check_responses, check_words
from readingtimes.downloads import addresses, download
from readingtimes.errors import InputError
from readingtimes.files import sha256
from readingtimes.gate import require_usable
from readingtimes.measures import read, sources
from readingtimes.names import nearest
from readingtimes.observations import events, filtered, joined
from readingtimes.response_names import EVENT

#: Where downloaded files are kept.
CACHE = Path("~/.cache/readingtimes")


def corpora() -> list[str]:
    """Return the names of the corpora.

    Returns
    -------
    list of str
        Sorted; `definition` tells what each has.
    """
    return sorted(_definitions())


def definition(name: str) -> dict[str, Any]:
    """Return the definition of a corpus: parser, files, measures, filters, licence, citation.

    Parameters
    ----------
    name : str
        One of `corpora()`.

    Returns
    -------
    dict
        As a dataset's entry in a config.

    Raises
    ------
    InputError
        If no corpus has this name, with the nearest one.
    """
    if name not in _definitions():
        raise InputError(f"no corpus is called {nearest(name, corpora())}")
    return _definitions()[name]


def load(
    name: str,
    measures: Iterable[str] | None = None,
    *,
    as_published: bool = True,
    mirrors: Iterable[str | Path] = (),
    cache: str | Path = CACHE,
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Read a corpus: its words, and its responses to them.

    Parameters
    ----------
    name : str
        One of `corpora()`, such as "provo".
    measures : iterable of str, optional
        Measures to read, such as "FP", or one that follows from them, such as "RRT"; default: all that
        the definition has.
    as_published : bool
        Whether the definition's filters are applied, which are those of the studies that use the
        corpus (of a measure that follows from others, the first one's); False: all responses.
    mirrors : iterable of path
        Folders with copies of the files, as <host>/<path of the URL>.
    cache : path
        Folder of downloads, which are checked and kept.

    Returns
    -------
    words : DataFrame
        A row per word in reading order: item, sentence, position, word_id, word, and the corpus's
        further columns.
    responses : dict of str to DataFrame
        Measure → a row per response: subject, word_id, the value (time_ms, amplitude_uv, response or
        event), and the columns of its word.

    Raises
    ------
    InputError
        For an unknown name, a file that cannot be had or is another one, and data that fail a check:
        times that follow a neighbouring word, another unit or language, readers that are one.
    """
    entry = definition(name)
    asked = list(entry["measures"]) if measures is None else list(measures)
    for measure in asked:
        if not sources(measure, entry["measures"]):
            raise InputError(f"{name} has no measure called {nearest(measure, entry['measures'])}")
    owner = definition(entry["words"].get("dataset", name))
    words = _words(owner, mirrors, Path(cache).expanduser())
    files = _files(entry["responses"], mirrors, Path(cache).expanduser())
    return words, {m: _responses(name, entry, m, words, files, as_published) for m in asked}


def load_fixations(
    name: str, *, mirrors: Iterable[str | Path] = (), cache: str | Path = CACHE
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read a corpus with its fixations: its words, and each fixation on one.

    Parameters
    ----------
    name : str
        One of `corpora()` whose files have fixations, such as "provo" and "ucl_eye_tracking".
    mirrors, cache
        As for `load`.

    Returns
    -------
    words : DataFrame
        As from `load`.
    fixations : DataFrame
        A row per fixation in temporal order: subject, item, order, word_id, onset_ms, duration_ms.

    Raises
    ------
    InputError
        For a corpus without fixations, and as `load` does.
    """
    entry = definition(name)
    module, folder = parsers.parser(entry["parser"]), Path(cache).expanduser()
    words = _words(definition(entry["words"].get("dataset", name)), mirrors, folder)
    files = _files(entry.get("fixations", entry["responses"]), mirrors, folder)
    table = None
    if hasattr(module, "read_fixations"):
        options = parsers.accepted(module, module.responses, dict(entry.get("options", {})))
        table = module.read_fixations(files, words, **options)
    if table is None:
        raise InputError(
            f"{name} has no fixations in its files; take its first-pass times by `load`"
        )
    return words, check_fixations(table, words, f"{name}, fixations")


def _words(entry: Mapping[str, Any], mirrors: Iterable[str | Path], cache: Path) -> pd.DataFrame:
    """Read and check the words of a corpus."""
    module = parsers.parser(entry["parser"])
    options = parsers.accepted(module, module.words, dict(entry.get("options", {})))
    if module.MEASURES is None:
        options["measures"] = list(entry["measures"])
    files = _files(entry["words"], mirrors, cache)
    return check_words(module.words(files, **options), f"parser {entry['parser']}")


def _responses(
    name: str,
    entry: Mapping[str, Any],
    measure: str,
    words: pd.DataFrame,
    files: Mapping[str, Path],
    as_published: bool,
) -> pd.DataFrame:
    """Read, check and filter the responses of one measure."""
    settings = entry["measures"][sources(measure, entry["measures"])[0]]
    source = settings.get("of", measure)
    module = parsers.parser(entry["parser"])
    options = parsers.accepted(module, module.responses, dict(entry.get("options", {})))
    table = read(module, files, words, source, options)
    table = check_responses(table, words, f"{name}.{measure}")
    accept, offset = entry.get("accept", ()), options.get("offset")
    require_usable(words, table, f"{name}.{measure}", accept, offset, entry.get("language"))
    rows = joined(words, table)
    if as_published:
        steps = [{"name": f, "keep": entry["filters"][f]} for f in settings.get("filters", ())]
        rows, _ = filtered(rows, steps)
    if "event" in settings:
        rows[EVENT] = events(rows, settings["event"], f"{name}.{measure}")
    return rows.reset_index(drop=True)


def _files(
    entry: Mapping[str, Mapping[str, Any]], mirrors: Iterable[str | Path], cache: Path
) -> dict[str, Path]:
    """Return role → local file, downloaded if necessary."""
    paths, stand_ins = {}, addresses.with_stand_ins(_definitions())
    for role, file in entry.items():
        if "url" in file:
            parts = addresses.split_url(file["url"])
            name = parts.path.lstrip("/") + addresses.name_of(file, stand_ins)
            path = cache / str(parts.hostname) / name
        else:
            path = cache / Path(file.get("local", file.get("stand_in", {}).get("path", role))).name
        if not path.is_file():
            download.main(out=path, mirrors=mirrors, **{"url": None, **file})
        _require_same(path, file)
        paths[role] = path
    return paths


def _require_same(path: Path, file: Mapping[str, Any]) -> None:
    """Raise InputError for a file in the cache that is neither the original nor its stand-in."""
    known = {file.get("sha256"), file.get("stand_in", {}).get("sha256")} - {None}
    if file.get("sha256") and sha256(path) not in known:
        raise InputError(f"{path} is another file than was downloaded; delete it, and load again")


@cache
def _definitions() -> dict[str, dict[str, Any]]:
    """Return corpus → its definition, of all files in `corpora`."""
    import yaml

    found: dict[str, dict[str, Any]] = {}
    for path in sorted(Path(__file__).with_name("corpora").glob("*.yaml")):
        with open(path, encoding="utf-8") as file:
            found |= (yaml.safe_load(file) or {}).get("datasets", {})
    return found
