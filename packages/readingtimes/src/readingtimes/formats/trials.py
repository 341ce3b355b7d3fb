"""Words from the rows that an experiment's software writes, one a screen or one a trial.

Such a file has rows of practice, of questions and of instructions among those of words, and may have
a trial's words and times as lists in one row.
"""

import ast
import html
import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import pandas as pd

from readingtimes.strict_tables import Table, warn

_NOTHING = ("", ".", "0", "na", "nan", "none", "null", "undefined", "false", "no", "n")
"""A cell of a column of marks that marks nothing, in lower case."""
_PRACTICE = re.compile(r"practi[cs]|(?<![a-z])prac(?![a-z])", re.IGNORECASE)
_TRAINING = re.compile(
    r"(?:training|warm[\W_]?up|tutorial|example|demo)"
    r"(?:[\W_]*(?:trial|block|phase|item|sentence)s?)?\W*\d*",
    re.IGNORECASE,
)
"""Labels that are of practice as a whole; within a longer one the words may be of anything."""
_READER = re.compile(
    r"(?!.*response)(?:.*(?:subj|particip|prolific|worker|reader)|run_?id$|ppt?$)", re.IGNORECASE
)
_WORD = re.compile(
    r"(?:current_?|stim_?|spr_?)?(?:word|token|segment|chunk)s?(?:_?text)?", re.IGNORECASE
)
_TEXT = re.compile(r"sentence|text|passage|words|story|stim", re.IGNORECASE)
_TIME = re.compile(r"(?:^|[._ ])(?:rts?|times?|latenc(?:y|ies)|durations?)(?![a-z])", re.IGNORECASE)
_MARKUP = re.compile(r"<[^>]*>")
_LABEL, _LABELS = 40, 200
"""Most characters of a label, and most labels of a column of them."""
_COLUMNS, _MARKS = 3, (";", "|", ",", " ")
"""Numbered columns that are a list, at least, and marks between the elements of a list in a cell."""
_LETTER, _LABELS_OF_KINDS = re.compile(r"[^\W_]"), 5
"""What a word has, and words on masked screens at least."""
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "None", ".")
_RISING = 4
"""Numbers of a list that can show whether they rise."""


def has_readers(names: Iterable[str]) -> bool:
    """Return whether a column names readers."""
    return any(_READER.match(name) for name in names)


def of_words(
    table: Table, kind: str | None, chosen: Collection[str], missing: Sequence[str] = ()
) -> Table:
    """Leave out rows that are not of words, or of practice, and give each word of a list a row.

    Parameters
    ----------
    table : Table
        All rows and columns of the file.
    kind : str or None
        The column that has the kind of each row, such as the program's part that wrote it.
    chosen : collection of str
        Columns by which the user chooses rows (`rows:`): they leave out none here.
    missing : sequence of str
        What the program writes where there is no word, the likeliest first; one that is used leaves
        the others to be words, as None may be.

    Raises
    ------
    InputError
        If a trial has more or fewer times than words.
    """
    lists = {name: _lists(table[name]) for name in table.frame.columns}
    lists = {name: cells for name, cells in lists.items() if cells}
    times = {name: c for name, c in lists.items() if _is_time(name) and _are_times(c)}
    if times:
        if (found := _words_of_lists(table, lists, times)) is None:
            lines = [line for line in table.frame.index if any(line in c for c in times.values())]
            table.fail(lines[0], f"{next(iter(times))} is a list, and no column has its words")
        name, words, times = found
        lines = {line for cells in times.values() for line in cells}
        table = _without_kinds(table, ~table.frame.index.isin(lines), kind, "a list of times")
        table = _without_practice(table, {*lists, name}, chosen)
        return _unroll(table, lists, times, name, words)
    if _column_of_words(table) is None:
        table = _with_shown_words(table)
    if (word := _column_of_words(table)) is not None:
        spelled = next((m for m in missing if (table[word] == m).any()), "")
        table = _without_kinds(table, table[word].isin(["", spelled]), kind, "a word")
        if kind in table and kind not in chosen:
            table = _of_timed_kinds(table, kind)
    return _without_practice(table, {word}, chosen)


def rows_of_words(table: Table) -> Table | None:
    """Return a row per word of a table with a row per trial, None if it is none.

    A trial's times are a list in a cell (`312;298`, `[312, 298]`), or columns that are numbered from 1
    (`RT1`, `RT2` …); its words are, too, or a text. Most trials have as many times as words.

    Raises
    ------
    InputError
        If a trial has more or fewer times than words.
    """
    groups = _numbered_columns(table)
    lists = {name: _numbered_cells(table, columns) for name, columns in groups.items()}
    of_cells = [name for name in table.frame.columns if _is_time(name)]
    lists |= {n: of for n in of_cells if (of := _lists(table[n]) or _delimited_lists(table, n))}
    times = {name: c for name, c in lists.items() if _is_time(name) and _are_times(c)}
    if not times:
        return None
    of_cells = [name for name in table.frame.columns if not _is_time(name)]
    lists |= {n: of for n in of_cells if (of := _lists(table[n]) or _delimited_lists(table, n))}
    frame = table.frame.assign(**{n: "" for n in groups if n not in table})
    whole = replace(table, frame=frame.drop(columns=[c for of in groups.values() for c in of]))
    if (found := _words_of_lists(whole, lists, times, fitting=True)) is None:
        return None
    name, words, times = found
    for column in times.keys() & groups.keys():  # whose last times may be missing
        for line, cells in times[column].items():
            cells += [None] * (min(len(words[line]), len(groups[column])) - len(cells))
    lines = {line for cells in times.values() for line in cells}
    whole = whole.without(
        ~pd.Series(whole.frame.index.isin(lines), whole.frame.index), "without times"
    )
    return _unroll(whole, lists, times, name, words)


def _numbered_columns(table: Table) -> dict[str, list[str]]:
    """Return name → columns of times or words that it names with each of the numbers from 0 or 1."""
    groups: dict[str, dict[int, str]] = {}
    for column in table.frame.columns:
        if (match := re.fullmatch(r"(\D*?)[._ ]?(\d{1,3})", column)) is not None:
            groups.setdefault(match[1], {})[int(match[2])] = column
    return {
        name: [of[number] for number in sorted(of)]
        for name, of in groups.items()
        if len(of) >= _COLUMNS
        and sorted(of) in ([*range(len(of))], [*range(1, len(of) + 1)])
        and (_is_time(name) or _WORD.fullmatch(name) or name.lower() == "w")
    }


def _numbered_cells(table: Table, columns: list[str]) -> dict:
    """Return line → the cells of numbered columns, without the empty ones behind a trial's last."""
    found = {}
    for line, *cells in table.frame[columns].itertuples(name=None):
        while cells and cells[-1] in MISSING:
            cells.pop()
        if cells:
            found[line] = [_number(cell) for cell in cells]
    return found


def _delimited_lists(table: Table, name: str) -> dict:
    """Return line → list of a column's cells that are lists with a mark; {} if they are none.

    InputError for a cell that is none among those of times.
    """
    cells = table[name][~table[name].isin(MISSING)]
    for mark in _MARKS:
        if cells.empty or not cells.str.contains(mark, regex=False).mean() > 0.9:
            continue
        lists = {line: [part.strip() for part in cell.split(mark)] for line, cell in cells.items()}
        if not _is_time(name):
            if mark == " " or any(" " in part for of in lists.values() for part in of):
                return {}  # a text
            return lists
        numbers = {line: [*map(_number, of)] for line, of in lists.items()}
        wrong = [line for line, of in numbers.items() if any(isinstance(v, str) for v in of)]
        if len(wrong) > 0.1 * len(cells):
            continue
        if wrong:
            table.fail(wrong[0], f"{name} is {cells[wrong[0]][:60]!r}, no list of numbers")
        return numbers
    return {}


def _number(cell: str) -> float | str | None:
    """Return a cell as a number, with a decimal point or comma, None if it is missing."""
    try:
        return None if cell in MISSING else float(cell.replace(",", "."))
    except ValueError:
        return cell


def _with_shown_words(table: Table) -> Table:
    """Return a table with the one word that each screen of markup shows, in a column `word`.

    Other words of a screen may be masked, as by `___`.
    """
    for name in table.frame.columns:
        texts = table[name].drop_duplicates()
        if not (_TEXT.search(name) and texts.str.contains(_MARKUP).any()):
            continue
        shown = {t: [*filter(_LETTER.search, _plain_text(t).split())] for t in texts}
        words = table[name].map({t: w[0] if len(w) == 1 else "" for t, w in shown.items()})
        given = words[words != ""]
        if len(given) > len(words) / 3 and given.nunique() > _LABELS_OF_KINDS:
            return replace(table, frame=table.frame.assign(word=words.astype("str")))
    return table


def _plain_text(markup: str) -> str:
    return html.unescape(_MARKUP.sub(" ", markup))


def _column_of_words(table: Table) -> str | None:
    """Return the column of single words by its name, None without one."""
    named = [name for name in table.frame.columns if _WORD.fullmatch(name)]
    return next((name for name in named if table[name].nunique() > 1), None)


def _is_time(name: str) -> bool:
    """Return whether a column has the name of times: key_resp.rt, Reaction Time, readingTimes."""
    return _TIME.search(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)) is not None


def _without_kinds(table: Table, out: pd.Series, kind: str | None, what: str) -> Table:
    """Leave out rows, and say how many of each kind."""
    out = pd.Series(out, index=table.frame.index)
    if out.all():
        return table
    if kind not in table:
        return table.without(out, f"without {what}")
    for value in table[kind][out].unique():
        of_kind = out.loc[table.frame.index] & (table[kind] == value)
        table = table.without(of_kind, f"without {what}, whose {kind} is {value or 'empty'}")
    return table


def _of_timed_kinds(table: Table, kind: str) -> Table:
    """Leave out the kinds of rows that have no time, such as a screen that only shows the word.

    Of several kinds that have, each may time the same words: they are no texts of their own, and
    without their column a word's second time is refused.
    """
    columns = [name for name in table.frame.columns if _is_time(name) and name != kind]
    if not columns:
        return table
    numbers = table.frame[columns].apply(pd.to_numeric, errors="coerce")
    timed = numbers.notna().any(axis=1).groupby(table[kind]).transform("any")
    table = _without_kinds(table, ~timed, kind, "a time") if timed.any() else table
    if len(several := [*table[kind].unique()]) < 2:
        return table
    names = ", ".join(several[:5])
    warn(table.path, f"words of several {kind}: {names}; options → rows → {kind} chooses one")
    return replace(table, frame=table.frame.drop(columns=kind))


def are_missing(cells: pd.Series) -> pd.Series:
    """Return whether cells are empty, or have a usual spelling of a missing value."""
    return cells.isin(MISSING)


def practice(table: Table, others: Collection[str | None]) -> tuple[str, pd.Series] | None:
    """Return the first column that says which rows are of practice, and whether each is; None without one.

    Parameters
    ----------
    table : Table
        All rows.
    others : collection of str
        Columns that do not say it, such as that of the words.
    """
    marks = _practice_marks(table, others)
    return next(((name, marked) for name, (_, marked) in marks.items()), None)


def _without_practice(
    table: Table, others: Collection[str | None], chosen: Collection[str]
) -> Table:
    """Leave out the rows of practice."""
    marks = _practice_marks(table, others)
    if marks.keys() & {*chosen}:
        return table
    for name, (why, marked) in marks.items():
        way = f"{why} (to keep them, list what you want in options → rows → {name})"
        table = table.without(marked[table.frame.index], way)
    return table


def _practice_marks(
    table: Table, others: Collection[str | None]
) -> dict[str, tuple[str, pd.Series]]:
    """Return column → why, and which rows a label, or a cell of a column of that name, says are of practice.

    What all rows of each reader have, such as the name of the experiment, says nothing.
    """
    readers = next((name for name in table.frame.columns if _READER.match(name)), None)
    marks = {}
    for name in table.frame.columns:
        if name in others or table[name].nunique() > _LABELS:
            continue
        labels = [label for label in table[name].unique() if len(label) <= _LABEL]
        if _PRACTICE.search(name):
            labels = [label for label in labels if label.casefold() not in _NOTHING]
        else:
            labels = [
                label
                for label in labels
                if _TRAINING.fullmatch(label)
                or (_PRACTICE.search(label) and len(label.split()) < 4)
            ]
        marked = table[name].isin(labels)
        of_readers = [marked] if readers is None else [m for _, m in marked.groupby(table[readers])]
        if any(of.any() and not of.all() for of in of_readers):
            marks[name] = f"of practice: {name} is {' or '.join(labels[:3])}", marked
    return marks


def _lists(cells: pd.Series) -> dict:
    """Return line → list of the cells that hold a list, as JSON or Python write it."""
    found = {}
    for line, cell in cells[cells.str.startswith("[")].items():
        for parse in (json.loads, ast.literal_eval):
            try:
                value = parse(cell)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
            if isinstance(value, list) and value:
                found[line] = value
            break
    return found


def _are_times(lists: dict) -> bool:
    """Return whether lists hold numbers alone, and several somewhere."""
    numbers = all(
        v is None or (isinstance(v, (int, float)) and not isinstance(v, bool))
        for of in lists.values()
        for v in of
    )
    return numbers and any(len(of) > 1 for of in lists.values())


def _unroll(
    table: Table,
    lists: dict[str, dict],
    times: dict[str, dict],
    name: str,
    words: dict[object, list[str]],
) -> Table:
    """Return a table with a row per word; a row is known by its line and the number of the word."""
    lines = [*table.frame.index]
    kept = _since_the_word_before(table, times, lines)
    for line in lines:
        for column, cells in kept.items():
            if len(cells.get(line, ())) != len(words[line]):
                table.fail(
                    line,
                    f"{column} has {len(cells.get(line, ())):,} times, and {name} "
                    f"{len(words[line]):,} words; each word needs one time",
                )
    numbers = [k for line in lines for k in range(1, len(words[line]) + 1)]
    frame = table.frame.drop(columns=[n for n in times if n not in kept])
    frame = frame.loc[[line for line in lines for _ in words[line]]]
    place = next(n for n in ("position", "word_position", "position_in_list") if n not in frame)
    new = {place: numbers}
    for column, cells in lists.items():  # such as the keys: one a word, too
        if column == name and not str(table[name][lines[0]]).startswith("["):
            continue  # a text, too, which may be the only name of a trial
        if column in frame and all(len(cells.get(li, ())) == len(words[li]) for li in lines):
            new[column] = [_text(v) for li in lines for v in kept.get(column, cells)[li]]
    new["word"] = [w for line in lines for w in words[line]]
    index = [f"{line}, word {k}" for line, k in zip(frame.index, numbers, strict=True)]
    frame = frame.assign(**new).astype("str").set_axis(index)
    names = [place, "word", *(n for n in frame.columns if n not in (place, "word"))]
    return replace(table, frame=frame[names])


def _words_of_lists(
    table: Table, lists: dict[str, dict], times: dict[str, dict], fitting: bool = False
) -> tuple[str, dict, dict[str, dict]] | None:
    """Return the column of words, line → words, and the lists of times that mostly are as long.

    Lists of words and texts are compared with each list of times, on the lines that have one; only those
    that fit are taken with `fitting`. None without any.
    """
    lines = [line for line in table.frame.index if any(line in cells for cells in times.values())]
    found = []
    for name in table.frame.columns:
        cells = lists.get(name, {})
        if name in times or len({str(v) for of in cells.values() for v in of}) in (1, 2):
            continue  # such as the same key again and again
        texts = table[name].to_dict()
        words = {
            line: [str(v) for v in cells[line]]
            if line in cells
            else _plain_text(texts[line]).split()
            for line in lines
        }
        fits = {
            n: sum(len(of) == len(words[line]) for line, of in c.items()) for n, c in times.items()
        }
        most = [n for n in times if 2 * fits[n] > len(times[n])]
        named = bool(_WORD.fullmatch(name) or _TEXT.search(name))
        if most or (named and not fitting):
            used = most or [max(fits, key=fits.get)]
            rank = (bool(most), bool(cells), named, max(fits.values()))
            found.append((rank, name, words, {n: times[n] for n in used}))
    if not found:
        return None
    return max(found, key=lambda each: each[0])[1:]


def _since_the_word_before(table: Table, times: dict[str, dict], lines: list) -> dict[str, dict]:
    """Return times that are each a word's own, of lists that may count from the trial's beginning.

    Times that rise in most trials are of a clock that ran on. Next to times that do not, as in
    jsPsych's plugin, they are their sums, and left out; alone, their differences are the times.
    """

    def rises(cells: dict) -> bool:
        given = ([v for v in cells.get(line, ()) if v is not None] for line in lines)
        of = [values for values in given if len(values) >= _RISING]
        return 2 * sum(all(a < b for a, b in pairwise(values)) for values in of) > len(of) > 1

    own = {name: cells for name, cells in times.items() if not rises(cells)}
    if own:
        return own
    name, cells = next(iter(times.items()))
    warn(
        table.path,
        f"{name} rises in each trial: times since its beginning, whose differences are those of "
        "words",
    )
    return {name: {line: _differences(table, name, line, cells.get(line, ())) for line in lines}}


def _differences(table: Table, name: str, line: int, clock: Sequence) -> list[float | None]:
    """Return the times between the readings of a clock; unknown next to one that is missing."""
    own = [None if a is None or b is None else round(b - a, 9) for a, b in pairwise([0, *clock])]
    if back := [v for v in own if v is not None and v < 0]:
        table.fail(line, f"{name} falls by {-back[0]:g}, and rises in other trials: a clock?")
    return own


def _text(value: object) -> str:
    """Return a value of a list as a cell."""
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
