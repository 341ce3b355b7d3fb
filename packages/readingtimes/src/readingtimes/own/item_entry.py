"""Draft an entry of `datasets:` for an experiment's table, test it, and format it as YAML.

Recognise the roles of columns in an experiment's table, by values, then by names.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import TYPE_CHECKING

import pandas as pd

from readingtimes import checks, gate
from readingtimes.contracts import check_responses, check_words, response_column
from readingtimes.errors import InputError
from readingtimes.joins.index import plain_label, spelling
from readingtimes.own import evidence
from readingtimes.own.begin import OF_BOTH, Described, Entry, entry_name, plain, style_options
from readingtimes.own.columns import Column
from readingtimes.own.item_texts import (
    CRITICAL,
    MARKERS,
    is_structure,
    occurrences,
    split_marked,
)
from readingtimes.own.roles import is_time, measure_of_name
from readingtimes.own.usual_names import LIST, snake
from readingtimes.parsers import table as parser
from readingtimes.response_names import TIME

if TYPE_CHECKING:
    from readingtimes.own.begin import Described


_WORDS = 4
"""Words that the texts of experiments have at least, as a median."""
_SHORT = 3
"""Words that a critical region has at most, as a median."""
_SHARE = 0.9
"""Share of the texts in which the critical words, or a marker, are found."""
_CONDITIONS = 20
_CELLS_PER_TEXT = 1.5
"""More cells per different text are rows of the words or regions of a text."""
_ITEM = re.compile(
    r"(item|stim(ulus)?|sent(ence)?|story|pair|set|quartet|triplet)_?(id|nr|num|no|number|index|label)?"
)
_CONDITION = re.compile(
    r"cond|type|level|frame|manip|context|ambig|predictab|constraint|cloze|beding"
)
_POSITION = re.compile(r"pos(ition)?|idx|index|place|word_?(nr|num|number|no)")
_TEXT_PART = {
    "context": r"context|preamble|frame|start|beginning|prime",
    "continuation": r"contin|rest|end|spill|after",
}
_REGION = (
    (r"spillover_\1", r"(?:spill(?:over)?|(?:^|_)spl?|post|after|plus)_?([1-9])(?:_|$)"),
    ("spillover_1", r"(^|_)(spill(over)?|post)(_|$)"),
    (CRITICAL, r"(^|_)(crit(ical)?|target|cw|disamb\w*|verb|noun)(_|$)"),
)  # fmt: skip
_AMPLITUDE = re.compile(
    r"(^|_)(n400|p600|n100|p200|lan|pnp|epn|lpc|elan|erp|amplitude|amp|uv|microvolts?)(_|$)"
)
_SCORE = re.compile(
    r"rating|score|accept|plausib|natural|judg|gramm|likert|skip|cloze|probab|prob(_|$)|response"
)
_CLOZE = re.compile(r"cloze|prob")


@dataclass
class ItemRoles:
    """The columns of an experiment, and how its critical region is named.

    Attributes
    ----------
    columns : dict
        Name of `columns:` → column, or columns.
    marker : str or None
        Signs around the critical region.
    measures : dict
        Measure → column.
    amplitudes, scores : list of str
        Measures in microvolts, and without a unit.
    regions : dict
        Measure → region, of those that are not critical.
    doubts : list of str
        Times whose region is not known.
    """

    columns: dict[str, str | list[str]]
    marker: str | None = None
    measures: dict[str, str] = field(default_factory=dict)
    amplitudes: list[str] = field(default_factory=list)
    scores: list[str] = field(default_factory=list)
    regions: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def used(self) -> set[str]:
        """Return the columns that have a role."""
        columns = {*self.measures.values()}
        for column in self.columns.values():
            columns |= {column} if isinstance(column, str) else set(column)
        return columns


def recognise(texts: Described, rows: Described) -> ItemRoles | None:
    """Return the columns of an experiment; None if the table has another shape.

    An experiment has a column of texts of several words each, one text per item and condition, and
    a critical region: a column of words that occur in the text, a marker, or a position. A table of
    phrases has several texts per item, and a table of words several words.

    Parameters
    ----------
    texts, rows : Described
        The table of the texts, and that of the responses; they may be the same.
    """
    frame, columns = texts.table.frame, texts.columns
    words = {
        c.name: _median_words(frame[c.name]) for c in columns if c.kind == "text" and c.distinct > 1
    }
    long = [name for name, median in words.items() if median >= _WORDS]
    short = [name for name, median in words.items() if 0 < median <= _SHORT]
    for roles in _regions(frame, columns, long, short):
        if _with_cells(roles, frame, columns):
            subject = rows.roles.of.get("subject")
            if subject is not None and subject not in roles.used():
                roles.columns["subject"] = subject
            _responses(roles, rows)
            return roles if roles.measures else None
    return None


def _median_words(column: pd.Series) -> float:
    return float(column.drop_duplicates().str.split().str.len().median())


def _regions(
    frame: pd.DataFrame, columns: list[Column], long: list[str], short: list[str]
) -> Iterator[ItemRoles]:
    """Yield combinations of columns for text and critical region, the most reliable first."""
    by_name = {column.name: column for column in columns}
    for sentence in long:
        for marker in MARKERS:
            if _is_marked(frame[sentence], marker):
                yield ItemRoles({"sentence": sentence} | _context(frame, long, sentence), marker)
        within = {name: _occurs(frame[sentence], frame[name]) for name in short}
        for name in sorted(within, key=within.get, reverse=True):
            if within[name] >= _SHARE:
                of = {"sentence": sentence, CRITICAL: name} | _context(frame, long, sentence)
                yield ItemRoles(of)
    for context in long:
        if re.search(_TEXT_PART["context"], snake(context)):
            rest = [n for n in [*long, *short] if re.search(_TEXT_PART["continuation"], snake(n))]
            named = [
                n for n in short if re.search(_REGION[-1][1] + "|word", snake(n)) and n not in rest
            ]
            for name in named:
                of = {"context": context, CRITICAL: name}
                yield ItemRoles(of | ({"continuation": rest[0]} if rest else {}))
    for sentence in long:
        longest = frame[sentence].str.split().str.len()
        for name, column in by_name.items():
            if (
                column.kind == "whole number"
                and _POSITION.search(snake(name))
                and not column.missing
            ):
                numbers = pd.to_numeric(frame[name])
                if numbers.between(0, longest).all() and column.distinct > 1:
                    yield ItemRoles({"sentence": sentence, "position": name})


def shared_columns(
    roles: ItemRoles, rows: Described, texts: Described
) -> dict[str, str | list[str]]:
    """Return the columns of responses by which they are joined to texts in another table.

    A column has the name of that of the texts, or another one and the same labels.

    Parameters
    ----------
    roles : ItemRoles
        Columns of the texts.
    rows, texts : Described
        The table of the responses, and that of the texts.
    """
    shared: dict[str, str | list[str]] = {}
    for name in ("stimulus", "condition", "sentence", CRITICAL):
        column = roles.columns.get(name)
        parts = [column] if isinstance(column, str) else column or []
        same = [_same_column(part, rows, texts) for part in parts]
        if same and all(same):
            shared[name] = same[0] if isinstance(column, str) else same
    return shared


def _same_column(name: str, rows: Described, texts: Described) -> str | None:
    """Return the column of responses that has the labels of a column of texts."""
    labels_of_texts = set(texts.table[name].map(plain_label))
    overlap = {}
    for column in rows.columns:
        labels = set(rows.table[column.name].drop_duplicates().map(plain_label))
        if snake(column.name) == snake(name) and labels & labels_of_texts:
            return column.name
        if (
            labels <= labels_of_texts
            and len(labels) > len(labels_of_texts) / 2
            and column.kind != "number"
        ):
            overlap[column.name] = len(labels)
    return max(overlap, key=overlap.get) if overlap else None


def _is_marked(text: pd.Series, marker: str) -> bool:
    distinct = text[text != ""].drop_duplicates()

    def fits(value: str) -> bool:
        try:
            split_marked(value, marker)
        except InputError:
            return False
        return True

    return bool(len(distinct) and distinct.map(fits).mean() >= _SHARE)


def _occurs(text: pd.Series, critical: pd.Series) -> float:
    """Return the share of distinct texts in which the words of another column occur."""
    pairs = pd.DataFrame({"text": text, "critical": critical}).drop_duplicates()
    pairs = pairs[pairs.critical.map(spelling) != ""]
    within = [bool(occurrences(t.split(), c.split())) for t, c in zip(pairs.text, pairs.critical)]
    return sum(within) / len(within) if within else 0.0


def _context(frame: pd.DataFrame, long: list[str], sentence: str) -> dict[str, str]:
    """Return the column of contexts before the sentences, by its name, if any."""
    for name in long:
        if name != sentence and re.search(r"context|preamble", snake(name)):
            inside = [a in b for a, b in zip(frame[name], frame[sentence])]
            if sum(inside) < 0.5 * len(inside):
                return {"context": name}
    return {}


def _with_cells(roles: ItemRoles, frame: pd.DataFrame, columns: list[Column]) -> bool:
    """Add stimulus and condition, which together have one text and region; return whether they do."""
    text = frame[sorted(roles.used())].agg("\n".join, axis=1)
    labelled = [
        c
        for c in columns
        if c.name not in roles.used() and not c.missing and c.kind in ("text", "whole number")
    ]
    parts = ["sentence"] if "sentence" in roles.columns else ["context", CRITICAL, "continuation"]
    whole = frame[[roles.columns[part] for part in parts if part in roles.columns]]
    texts = len(whole.drop_duplicates())
    items = [c.name for c in labelled if _ITEM.fullmatch(snake(c.name)) and c.distinct > 1]
    few = [c for c in labelled if 2 <= c.distinct <= _CONDITIONS and c.name not in items]
    few = [c.name for c in sorted(few, key=lambda c: not _CONDITION.search(snake(c.name)))]
    for item in items:
        if _is_one_text(frame, text, [item], texts):
            roles.columns = {"stimulus": item} | roles.columns
            return True
        for size in (1, 2):
            for those in combinations(few, size):
                if _is_one_text(frame, text, [item, *those], texts):
                    condition = those[0] if size == 1 else list(those)
                    roles.columns = {"stimulus": item, "condition": condition} | roles.columns
                    return True
    if items:  # several regions or texts per item and condition: another shape
        return False
    # Names in other languages: two columns that cross, each cell with a text of its own.
    few = [name for name in few if not LIST.search(snake(name))]
    crossed = [
        (item.name, name)
        for item, name in product(labelled, few)
        if item.distinct > frame[name].nunique()
        and item.distinct * frame[name].nunique() == texts
        and _is_one_text(frame, text, [item.name, name], texts)
    ]
    named = [pair for pair in crossed if _CONDITION.search(snake(pair[1]))] or crossed
    if len(named) == 1:
        roles.columns = dict(zip(("stimulus", "condition"), named[0], strict=True)) | roles.columns
        return True
    return text.nunique() == texts


def _is_one_text(frame: pd.DataFrame, text: pd.Series, keys: list[str], texts: int) -> bool:
    """Return whether each cell has one text and region, and cells are not words of the same texts."""
    counts = text.groupby([frame[key] for key in keys], sort=False).nunique()
    return bool((counts == 1).all()) and len(counts) <= _CELLS_PER_TEXT * texts


def _responses(roles: ItemRoles, rows: Described) -> None:
    """Find the responses: times, amplitudes, scores; those of spillover regions by their names."""
    free = [c for c in rows.columns if c.numeric and c.name not in roles.used() and c.distinct > 1]
    names = {c.name: snake(c.name) for c in free}
    for column in free:
        name = names[column.name]
        if _AMPLITUDE.search(name):
            kind = roles.amplitudes
            measure = next((m for m in re.findall(r"[np]\d00|lan|pnp|lpc", name)), "ERP").upper()
        elif is_time(column) and (measure := measure_of_name(column.name)):
            kind = None
        elif _SCORE.search(name) and not re.search(r"(^|_)(sd|se|n)(_|$)", name):
            kind, measure = roles.scores, re.sub(r"\W", "", column.name).capitalize()
        else:
            continue
        region = _region_of(name)
        if region not in (None, CRITICAL):
            measure = f"{measure}_{region}"
            roles.regions[measure] = region
        if measure in roles.measures:
            first, second = roles.measures[measure], column.name
            measure = re.sub(r"\W+", "_", second)
            if kind is None:
                roles.doubts.append(
                    f"{first!r} and {second!r} would both be times of the region {region or CRITICAL}: "
                    f"name the other region, as `regions: {{{measure}: spillover_1}}`"
                )
        roles.measures[measure] = column.name
        if kind is not None:
            kind.append(measure)
    scores = [m for m in roles.scores if _CLOZE.search(snake(roles.measures[m]))]
    if len(roles.measures) > len(
        scores
    ):  # with readers' responses, cloze is a property of the text
        for measure in scores:
            del roles.measures[measure]
            roles.scores.remove(measure)
    roles.regions = {m: region for m, region in roles.regions.items() if m in roles.measures}


def _region_of(name: str) -> str | None:
    """Return the region in the name of a column of responses."""
    for region, pattern in _REGION:
        if match := re.search(pattern, name):
            return match.expand(region)
    return None


_MOST = 24
_SHARED = ("marker", "shape", "join", *OF_BOTH)


def entry(
    rows: Described, texts: Described | None = None, taken: Collection[str] = ()
) -> Entry | None:
    """Return the tested entry of an experiment; None if the table has another shape.

    Parameters
    ----------
    rows : Described
        The table of the responses.
    texts : Described, optional
        That of the texts, if it is another.
    taken : collection of str
        Names of datasets that there are.
    """
    roles = recognise(texts or rows, rows)
    if roles is None:
        return None
    options = _options(roles, rows, texts)
    means = "subject" not in roles.columns
    result = Entry(entry_name(rows.path, taken), options, list(roles.measures), means)
    result.against = [
        *roles.doubts,
        *evidence.of_cells(rows, roles.used()),
        *_try_entry(result, rows, texts or rows),
    ]
    return result


def _options(roles: ItemRoles, rows: Described, texts: Described | None) -> dict:
    """Return the options of the parser."""
    of_texts = roles.columns if texts is None else {
        n: c for n, c in roles.columns.items() if n != "subject"
    }  # fmt: skip
    keys = {} if texts is None else shared_columns(roles, rows, texts)
    responses = keys | {n: c for n, c in roles.columns.items() if n == "subject"} | roles.measures
    factors = roles.columns.get("condition")
    own = roles.used() - set(factors if isinstance(factors, list) else [])  # factors are kept, too
    used = own.copy()
    for column in keys.values():
        used |= {column} if isinstance(column, str) else set(column)
    kept = _further(rows, used)
    if texts is None:
        columns = roles.columns | roles.measures | kept
    else:
        columns = {"words": of_texts | _further(texts, own), "responses": responses | kept}
    options: dict = {"shape": "items", "columns": columns}
    options |= {} if roles.marker is None else {"marker": roles.marker}
    if match := re.search(
        r"(?:^|_)([01])_?(?:idx|index|based)|zero", snake(str(roles.columns.get("position")))
    ):
        options["join"] = {"position": f"from {match[1] or 0}"}
    for key in ("scores", "amplitudes", "regions"):
        options |= {key: getattr(roles, key)} if getattr(roles, key) else {}
    numbers = [int(region[-1]) for region in roles.regions.values()]
    options |= {"spillover": max(numbers)} if max(numbers, default=0) > 2 else {}
    styles = style_options(rows, texts)
    times = set(roles.measures) - {*roles.scores, *roles.amplitudes}
    by_name = {column.name: column for column in rows.columns}
    if any(by_name[roles.measures[m]].middle < 40 for m in times):
        styles["unit"] = "s"
    return options | styles


def _further(table: Described, used: set) -> dict[str, str]:
    """Return the further columns that are kept, by name."""
    further: dict[str, str] = {}
    for column in table.columns:
        many = column.kind == "text" and column.distinct > max(50, len(table.table.frame) / 20)
        if column.name in used or column.distinct < 2 or many or column.name.startswith("unnamed_"):
            continue
        name = snake(column.name) or "column"
        name = f"own_{name}" if is_structure(name) or name[0].isdigit() else name
        if name not in further and len(further) < _MOST:
            further[name] = column.name
    return further


def _try_entry(entry: Entry, rows: Described, texts: Described) -> list[str]:
    """Parse with the options of an entry; return what speaks against it."""
    of_words = {k: v for k, v in entry.options.items() if k in (*_SHARED, "spillover")}
    of_rows = {k: v for k, v in entry.options.items() if k != "spillover"}
    lines: list[str] = []
    against: list[str] = []
    try:
        with contextlib.redirect_stderr(io.StringIO()) as messages:
            words = parser.words({"table": texts.path}, measures=entry.measures, **of_words)
            words = check_words(words, "words")
            for measure in entry.measures:
                responses = parser.responses({"table": rows.path}, words, measure, **of_rows)
                responses = check_responses(responses, words, measure)
                lines = lines or regions_as_read(words, responses, measure)
                against += [f.text for f in gate.findings(words, responses)]
    except InputError as error:
        return [" ".join(str(error).split())]
    stimuli = words.stimulus.nunique()
    conditions = words.condition.drop_duplicates().tolist() if "condition" in words else []
    shown = f" × {len(conditions)} conditions ({', '.join(conditions[:6])})" if conditions else ""
    readers = "means" if entry.means else f"{responses.subject.nunique():,} subjects"
    texts_read = f"{words['item'].nunique():,} texts, {len(words):,} words"
    entry.notes = [
        f"read as an experiment: {stimuli:,} stimuli{shown}, {texts_read}; {readers}",
        *(finding.text for finding in checks.words(words) if finding.check == "items"),
        *lines,
        *dict.fromkeys(messages.getvalue().splitlines()),
    ]
    return list(dict.fromkeys(against))


def regions_as_read(words: pd.DataFrame, responses: pd.DataFrame, measure: str) -> list[str]:
    """Describe three responses: the first, the middle and the last one.

    Parameters
    ----------
    words, responses : DataFrame
        Contracts 1 and 2.
    measure : str
        What was measured.
    """
    value = response_column(responses, measure)
    unit = {TIME: " ms", "amplitude_uv": " µV"}.get(value, "")
    lines = []
    for at in dict.fromkeys([0, len(responses) // 2, len(responses) - 1]):
        row = responses.iloc[at]
        first, span = int(row.word_id), int(row.get("span", 1))
        text = words[words["item"] == words["item"].iloc[first]]
        before = " ".join(text.word[text.word_id < first].tail(3))
        region = " ".join(words.word.iloc[first : first + span])
        dots = "… " if (text.word_id < first).sum() > 3 else ""
        reader = "" if row.subject == "mean" else f", subject {row.subject}"
        lines.append(
            f"  {dots}{before} [{region}] ({words.region.iloc[first]}) of text {text['item'].iloc[0]!r}"
            f"{reader}: {measure} {row[value]:g}{unit}"
        )
    return ["three rows as read:", *lines]


def written(entry: Entry, files: tuple[str, str]) -> str:
    """Return an entry as YAML.

    Parameters
    ----------
    entry : Entry
        As `entry` returns it.
    files : tuple of str
        The files of the texts and of the responses.
    """
    options = dict(entry.options)
    columns = options.pop("columns")
    texts, rows = files
    lines = [
        "datasets:",
        f"  {entry.name}:",
        f"    label: {plain(entry.name)}",
        "    parser: table",
    ]
    lines += ["    options:", f"      shape: {options.pop('shape')}"]
    lines.append("      columns:")
    for name, column in columns.items():
        comment = _COMMENTS.get(name, "")
        lines.append(f"        {plain(name)}: {plain(column)}{comment}")
    comments = {"marker": "  # around the critical region", "scores": "  # without a unit"}
    lines += [
        f"      {key}: {plain(value)}{comments.get(key, '')}" for key, value in options.items()
    ]
    shared = f"&{entry.name} " if texts == rows else ""
    lines.append(f"    words: {{table: {shared}{{local: {plain(texts)}}}}}")
    reference = f"*{entry.name}" if shared else f"{{local: {plain(rows)}}}"
    lines.append(f"    responses: {{table: {reference}}}")
    unlike = {*entry.options.get("scores", ()), *entry.options.get("amplitudes", ())}
    timed = [] if entry.means else [m for m in entry.measures if m not in unlike]
    listed = ", ".join(
        f"{m}: {{filters: [{'times' if m in timed else ''}]}}" for m in entry.measures
    )
    lines.append(f"    measures: {{{listed}}}")
    if timed:
        lines.append(f'    filters: {{times: "{evidence.FILTER}"}}')
    if entry.means:
        lines.append("    partitioned: false  # one response per text: all are fitted")
    return "\n".join(lines) + "\n"


_COMMENTS = {
    "stimulus": "  # of formulas: (1 | stimulus); `item` is a stimulus in a condition",
    "critical": "  # the words that responses are to",
}
