"""`recency describe`: describe a table and draft its config entry."""

import itertools
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from readingtimes import parsers, text_languages
from readingtimes.contracts import check_words
from readingtimes.downloads import addresses
from readingtimes.files import atomic
from readingtimes.own import begin, columns, item_entry, roles
from readingtimes.own.begin import Described, Entry
from readingtimes.own.roles import Scores
from recency import config as configuration
from recency.command.lists import CHECKOUT
from recency.errors import REFUSALS, InputError
from recency.scoring import plausible, results, surprisal_table
from recency.workflow.config import loading

#: Number of parameters in an LM's name, such as pythia-2.8b.
_SIZE = re.compile(r"(?<![a-z\d])(\d+(?:[._]\d+)?)([mb])(?![a-z])")


def find(root: Path, name: str) -> pd.DataFrame | None:
    """Return a dataset's words (contract 1), None if its files are missing.

    They are read from the newest `results/**/datasets/<name>/words.parquet`, else from the dataset's
    own files, local or in the folders of $RECENCY_MIRROR.
    """
    paths = sorted(root.glob(f"results/*/*/datasets/{name}/words.parquet"), key=os.path.getmtime)
    if paths:
        return pd.read_parquet(paths[-1])
    config = loading.load(root)
    if name not in config["datasets"]:
        return None
    owner = config["datasets"][configuration.owner_of_words(config, name)]
    files = {role: _place(root, file) for role, file in owner["words"].items()}
    if None in files.values():
        return None
    module = parsers.parser(owner["parser"])
    options = parsers.accepted(module, module.words, owner.get("options", {}))
    return check_words(module.words(files, **options), name)


def _place(root: Path, file: dict) -> Path | None:
    """Return the path of a file: local, downloaded, or in a mirror; gzipped or not."""
    names = [file["local"]] if "local" in file else []
    if "url" in file:
        parts = addresses.split_url(file["url"])
        names.append(f"{parts.hostname}{parts.path}")
    if "stand_in" in file:
        names.append(file["stand_in"]["path"])
    folders = [root, root / "data" / "downloads"]
    folders += [
        Path(mirror) for mirror in os.environ.get("RECENCY_MIRROR", "").split(os.pathsep) if mirror
    ]
    places = [folder / (name + end) for folder in folders for name in names for end in ("", ".gz")]
    return next((path for path in places if path.is_file()), None)


def run(file: str, words: str | None, out: str | None) -> None:
    """Print the description of a table as YAML comments and its entry; or write the entry to `out`.

    `words` is the file of the words, or a dataset, if `file` has only times or surprisals.
    """
    table = begin.described(Path(file))
    other = begin.described(Path(words)) if words and Path(words).exists() else None
    dataset = words if words and other is None else None
    if dataset is not None and os.path.sep in dataset:
        raise InputError(f"--words {words}: file not found")
    lines = _about(table) + (_about(other) if other else [])
    dataset_info = None if dataset is None else _find_words(dataset, lines)
    items = item_entry.entry(table, other, _datasets()) if dataset is None else None
    scores = roles.find(table.columns, table.roles, table.table.frame)
    if items is not None:
        lines += items.notes
        paths = (_path_for_workflow(words if other else file), _path_for_workflow(file))
        write = partial(item_entry.written, files=paths)
        _refuse_doubtful(file, lines, items, write)
        text = write(items)
        use = _check_command(items.name, out)
    elif scores is not None and not table.roles.measures:
        text = _surprisals(table, other, dataset_info, dataset, scores, lines)
        use = "name it in the `lms` of an experiment"
    else:
        entry = begin.entry(table, other, dataset, dataset_info, _datasets())
        lines += [_guesses(table, entry), *table.notes, *entry.notes]
        paths = (_path_for_workflow(words if other else file), _path_for_workflow(file))
        write = partial(begin.written, files=paths, dataset=dataset)
        _refuse_doubtful(file, lines, entry, write)
        text = write(entry)
        use = _check_command(entry.name, out)
    if out is None:
        print(*_comments([*lines, f"next: {use}"]), text, sep="\n", end="")
        return
    with atomic(out) as part:
        part.write_text(text, encoding="utf-8")
    print("\n".join([*lines, f"written to {out}; next: {use}"]))


def _check_command(dataset: str, out: str | None) -> str:
    """Return the command that checks a dataset, whose entry is in `out` or will be saved."""
    return f"./run check_{dataset} --configfile config/open.yaml {out or 'mine.yaml'}"


def _comments(lines: list[str]) -> list[str]:
    """Return lines as comments of YAML, which has no control characters."""
    control = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
    return [f"# {control.sub(lambda each: repr(each[0])[1:-1], line)}".rstrip() for line in lines]


def _refuse_doubtful(
    file: str, lines: list[str], entry: Entry, write: Callable[[Entry], str]
) -> None:
    """Raise InputError, after printing two readings as comments, if something speaks against the best."""
    if not entry.against:
        return
    print(*_comments([*lines, *begin.readings(entry, write)]), sep="\n")
    two = "both readings above" if entry.second else "the reading above"
    raise InputError(
        f"{file}: something speaks against {two}, so no entry is written: {entry.against[0]}. Correct the "
        "table, or take the entry above with the lines that are right"
    )


def _find_words(dataset: str, lines: list[str]) -> pd.DataFrame | None:
    """Return a dataset's words if available; otherwise add a line."""
    root = _checkout()
    path = find(root, dataset) if root else None
    if path is None:
        lines.append(f"the words of {dataset} are missing: the join is not tested")
    return path


def _surprisals(
    table: Described,
    other: Described | None,
    parsed_words: pd.DataFrame | None,
    dataset: str | None,
    scores: Scores,
    lines: list[str],
) -> str:
    """Return the YAML of a table of surprisals; add findings to the lines."""
    if other is not None:
        parsed_words = begin.words_of(other)
    if parsed_words is not None:
        try:
            lines += _describe_scores(table.path, parsed_words, scores)
        except REFUSALS as error:
            print(*_comments([*lines, *_lms(table, scores)]), sep="\n")
            raise InputError(f"no entry is written: {' '.join(str(error).split())}") from None
    unit = f"{scores.unit}; not stated in the table (mean {scores.mean:.3g}): check it"
    names = ", ".join(f"{lm} in {column}" for lm, column in scores.columns.items())
    lines.append(f"{scores.value} ({scores.unit if scores.is_stated else unit}): {names}")
    lines += [f"left out: {column}" for column in scores.left_out]
    return "\n".join(_lms(table, scores)) + "\n"


def _describe_scores(path: Path, words: pd.DataFrame, scores: Scores) -> list[str]:
    """Return lines on the join and on each LM; a unit that the table does not state becomes the likeliest.

    LMs whose surprisals do not fit the words are left out; raises InputError if there is no other.
    """
    lines: list[str] = []
    bits_of: dict[str, pd.Series] = {}
    wrong: dict[str, Exception] = {}
    for lm, column in scores.columns.items():
        try:
            scored = _score(path, words, scores, column, is_first=not bits_of)
            if not bits_of:
                lines += [*scored.notes, *begin.rows_as_read(words, scored.table, "surprisal")]
            declared = "probability" if scores.value == "probability" else scores.unit
            plausible.require_plausible(words, scored, lm=lm, dataset=path.name, unit=declared)
        except REFUSALS as error:
            wrong[lm] = error
            continue
        lines += [f"{lm}: {note}" for note in scored.notes if note.startswith("plausible")]
        bits_of[lm] = scored.table.surprisal_bits
    if wrong and not bits_of:
        raise next(iter(wrong.values()))
    for lm, error in wrong.items():
        del scores.columns[lm]
        lines.append(f"left out: {' '.join(str(error).split())}")
    return lines + _swapped(bits_of)


def _score(
    path: Path, words: pd.DataFrame, scores: Scores, column: str, is_first: bool
) -> results.Result:
    """Return an LM's surprisal; the first one decides on a unit that the table does not state."""
    settings = {"columns": {scores.value: column, **scores.keys}, "missing": 1.0}
    scored = surprisal_table.score(words, path, unit=scores.unit, **settings)
    if is_first and not scores.is_stated and scores.value != "probability":
        bits = scored.table.surprisal_bits.to_numpy(float)
        likely = plausible.likely_unit(words, bits, scores.unit)
        if likely != scores.unit:
            scores.unit = likely
            return surprisal_table.score(words, path, unit=likely, **settings)
    return scored


def _swapped(bits: dict[str, pd.Series]) -> list[str]:
    """Return a line for each LM with more surprisal than a smaller one of its family, by their names."""
    lines, means = [], pd.DataFrame(bits).dropna().mean()
    for lm, other in itertools.permutations(bits, 2):
        sizes = [_SIZE.search(name.lower()) for name in (lm, other)]
        if None in sizes or len({_SIZE.sub("", name.lower()) for name in (lm, other)}) > 1:
            continue
        large, small = (float(n[1].replace("_", ".")) * 1000 ** (n[2] == "b") for n in sizes)
        if large > small and means[lm] > 1.02 * means[other]:
            lines.append(
                f"{lm} has more surprisal ({means[lm]:.3g} bits a word) than the smaller {other} "
                f"({means[other]:.3g}): are their columns swapped?"
            )
    return lines


def _lms(table: Described, scores: Scores) -> list[str]:
    """Return the entry of `lms`, or of `lms_from` if the table has several LMs."""
    plain = begin.plain
    comment = "" if scores.is_stated else "  # bits, nats or log10: not stated in the table"
    unit = [] if scores.value == "probability" else [f"    unit: {scores.unit}{comment}"]
    keys = ", ".join(f"{key}: {plain(column)}" for key, column in scores.keys.items())
    table_line = f"    table: {{local: {plain(_path_for_workflow(str(table.path)))}}}"
    taken = set(loading.load(root)["lms"]) if (root := _checkout()) else set()
    if len(scores.columns) > 1:
        name = begin.entry_name(table.path, ())
        named = {f"{lm}_{name}" if lm in taken else lm: c for lm, c in scores.columns.items()}
        listed = [f"      {plain(lm)}: {plain(column)}" for lm, column in named.items()]
        value = [] if scores.value == "surprisal" else [f"    value: {scores.value}"]
        lines = ["lms_from:", f"  {name}:", table_line, *unit, *value, f"    keys: {{{keys}}}"]
        return [*lines, "    columns:", *listed]
    ((lm, column),) = scores.columns.items()
    lm = f"{lm}_table" if lm in taken else lm
    inner = [table_line, *unit, f"    columns: {{{scores.value}: {plain(column)}, {keys}}}"]
    return ["lms:", f"  {lm}:", f"    label: {plain(lm)}", "    surprisals:"] + [
        f"  {line}" for line in inner
    ]


def _about(table: Described) -> list[str]:
    """Return lines that describe a table, and the language of its words."""
    size = f"{len(table.table.frame):,} rows, {len(table.columns)} columns"
    lines = [f"{table.path}: {size}", "", *columns.shown(table.columns), ""]
    if "word" in table.roles.of:
        code = text_languages.guess(table.table[table.roles.of["word"]].head(5000))
        lines += (
            [f"language: {code}; the LMs and the unigram model must have this language"]
            if code
            else []
        )
    return lines


def _guesses(times: Described, entry: Entry) -> str:
    """Return a line on the columns of times."""
    unit = "s" if times.roles.seconds else "ms"
    named = ", ".join(f"{name} in {column}" for name, column in times.roles.measures.items())
    kind = ", one column per subject" if times.roles.wide else ""
    kind = ", means over readers" if entry.means else kind
    return f"times ({unit}): {named}{kind}"


def _checkout() -> Path | None:
    """Return the checkout that contains the working directory, if any."""
    for root in (Path.cwd(), *Path.cwd().parents):
        if all((root / name).is_file() for name in CHECKOUT):
            return root
    return None


def _datasets() -> set[str]:
    """Return the names of the datasets in the checkout that contains the working directory."""
    root = _checkout()
    files = loading.corpus_files(root).values() if root else ()
    return {name for content in files for name in content.get("datasets", {})}


def _path_for_workflow(file: str) -> str:
    """Return a file's path for the workflow: relative to the checkout, or absolute."""
    path = Path(os.path.abspath(file))
    for root in path.parents:
        if all((root / name).is_file() for name in CHECKOUT):
            return path.relative_to(root).as_posix()
    return path.as_posix()
