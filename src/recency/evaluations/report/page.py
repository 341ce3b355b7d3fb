"""The report's page: the answer, each experiment, the provenance, and missing results.

One self-contained file without scripts: figures are embedded as images, and its content security
policy forbids everything else. Links lead to files in the same folder.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

from readingtimes.files import atomic
from recency import history, plugins
from recency.errors import InputError
from recency.evaluations.report import answer
from recency.evaluations.report.doubts import lines as doubtful_lines
from recency.evaluations.report.doubts import section
from recency.evaluations.report.prose import paragraphs, sections
from recency.figures import comparison, hover, tables
from recency.figures.paths import File, Files
from recency.figures.tables import Table

#: Written next to the page when a run ends, so that the page itself does not depend on timings.
TIMINGS = "timings.txt"
#: Number of characters above which a caption is folded.
LONG = 400
#: Packages whose versions are listed, if installed.
PACKAGES = (
    *("recency", "snakemake", "torch", "transformers", "tokenizers"),
    *("numpy", "scipy", "pandas", "pyarrow", "matplotlib", "rpy2"),
)


def main(
    *,
    out: File,
    shown: Files,
    verdicts: Files,
    others: Files,
    not_run: File,
    delta_loglik: Files = (),
    methods: Files = (),
    checks: Files = (),
    histories: Files = (),
    study: str,
    notes: Sequence[str],
    doubts: Mapping | None = None,
    experiments: Sequence[Mapping],
    corpora: Sequence[Mapping],
    made: Sequence[tuple[str, str]],
    lms: Sequence[tuple[str, str, str]],
    labels: Mapping[str, str],
) -> None:
    """Write the report to `out`; all paths are of files below its folder.

    `experiments` are dicts of name, title, ranked (whether it has a verdict), explorer (its page,
    or ""), shown (figures and tables: title, caption) and summaries (module, heading), in order;
    `shown`, `verdicts` and `others` are their files, in the same order. `corpora` have label,
    dataset, measures, cite, licence, check. `made` are (setting, value) of the study, `lms` are
    (label, bias, training), `labels` maps dataset → label. `checks` are the corpora's check pages
    to link to; `histories` are networks' config.json, whose code changes are added to `notes`.
    `doubts` are findings of the linter, with those that fits noted in `delta_loglik`
    (recency.evaluations.report.doubts). `methods` are the ranked experiments' methods sections.
    """
    folder = Path(out).parent
    files, verdict_files, tabled = iter(shown), iter(verdicts), iter(others)
    described = iter(methods)
    parts = []
    for experiment in experiments:
        parts.append(
            {
                **experiment,
                "files": [(output, Path(next(files))) for output in experiment["shown"]],
                "verdict": _read(next(verdict_files)) if experiment["ranked"] else None,
                "methods": next(described, None) if experiment["ranked"] else None,
                "tables": [
                    _summary(output, next(tabled), experiment["title"])
                    for output in experiment["summaries"]
                ],
            }
        )
    lead = _lead(parts)
    absent = comparison.reasons(not_run)
    doubtful = section(*doubtful_lines(doubts or {}, delta_loglik))
    lines = [*_answer(parts, lead, study, [*notes, *history.notes(histories)], doubtful)]
    for number, part in enumerate(parts, 1):
        lines += _experiment(part, number, folder, part is lead)
    lines += _provenance(made, lms, corpora, set(absent.dataset))
    lines += _absent(absent, labels)
    with atomic(out) as path:
        path.write_text(_page(_title(lead, study), lines, parts), encoding="utf-8")


def _lead(parts: Sequence[dict]) -> dict | None:
    """Return the experiment for the answer: of the ranked ones, that with the most LMs."""
    ranked = [part for part in parts if part["verdict"]]
    ranked.sort(key=lambda part: -len(part["verdict"]["ranking"]))
    return next(iter([*ranked, *parts]), None)


def _title(lead: Mapping | None, study: str) -> str:
    """Return the title of the experiment that the first screen answers, else the study's name."""
    return study if lead is None else str(lead["title"])


def _answer(
    parts: Sequence[dict], lead: dict | None, study: str, notes: Sequence[str], doubtful: str
) -> Iterator[str]:
    """Yield the first screen: the question, the verdict, the ranking figure and the table; then other verdicts."""
    title = html.escape(_title(lead, study))
    if lead is not None and len(parts) > 1:
        title = f"<a href='#experiment-{parts.index(lead) + 1}'>{title}</a>"
    yield f"<section id='answer'><h1>{title}</h1>"
    yield f"<p class='note'>Study {html.escape(study)}</p>"
    if lead is not None:
        yield answer.sentences(lead["verdict"]) if lead["verdict"] else ""
        for _, file in lead["files"] if lead["verdict"] else ():
            if file.stem == "table_effects":
                yield answer.effects(lead["verdict"], file.with_suffix(".csv"))
        figure = next((f for about, f in lead["files"] if f.suffix == ".svg"), None)
        image = _image(figure, lead["title"]) if figure else ""
        table = _ranking(lead["verdict"]) if lead["verdict"] else "".join(lead["tables"])
        yield f"<div class='lead'><figure>{image}</figure><div>{table}</div></div>"
    for note in notes:
        yield f"<p class='note warning'>{html.escape(note)}</p>"
    yield doubtful
    rest = [(n, part) for n, part in enumerate(parts, 1) if part is not lead and part["verdict"]]
    for number, part in rest:
        first = html.escape(" ".join(part["verdict"]["brief"]))
        title = html.escape(part["title"])
        yield f"<p><a href='#experiment-{number}'>{title}</a>: {first}</p>"
    yield "</section>"


def _ranking(verdict: Mapping) -> str:
    """Return the LMs' ranking as HTML; all notes except the first are folded."""
    text = tables.body(answer.ranking(verdict)).replace("class='", "class='ranking ", 1)
    table, *notes = re.split(r"(?=<p class='note'>)", text)
    return table + "".join(notes[:1]) + _fold_text("".join(notes[1:]))


def _fold_text(text: str) -> str:
    """Return text as a collapsible element, or "" without text."""
    return f"<details><summary>How to read it</summary>{text}</details>" if text else ""


def _experiment(part: Mapping, number: int, folder: Path, leads: bool) -> Iterator[str]:
    """Yield an experiment: its results, then its figures and tables with captions."""
    yield f"<section class='experiment' id='experiment-{number}'><h2>{html.escape(part['title'])}</h2>"
    if leads:
        yield "<p class='note'>The results are <a href='#answer'>at the top</a>.</p>"
    elif part["verdict"]:
        yield answer.sentences(part["verdict"]) + _ranking(part["verdict"])
    else:
        yield from part["tables"]
    if part.get("explorer"):
        yield f"<p><a href='{_address(part['explorer'])}'>Explore its words, readers and LMs</a></p>"
    for about, file in part["files"]:
        yield f"<h3>{html.escape(about['title'])}</h3>"
        caption = f"<figcaption>{_caption(about['caption'])}</figcaption>"
        inside = _image(file, about["title"]) if file.suffix == ".svg" else _table(file)
        yield f"<figure>{inside}{caption}</figure>"
        yield _links(file, folder)
    if part["methods"]:
        text = sections(Path(part["methods"]).read_text(encoding="utf-8"))
        yield f"<details class='methods'><summary>Methods, for a paper</summary>{text}</details>"
        yield _links(Path(part["methods"]), folder)
    yield "</section>"


def _provenance(
    provenance: Sequence[tuple[str, str]],
    lms: Sequence[tuple[str, str, str]],
    corpora: Sequence[Mapping],
    absent: set[str],
) -> Iterator[str]:
    """Yield the provenance of the study: settings, LMs, corpora with licences, versions."""
    yield "<section id='made'><h2>How it was made</h2>"
    yield _rows_as_table(("Setting", "Value"), [*provenance, ("Versions", _versions())])
    yield "<h3>Language models</h3>"
    yield _rows_as_table(("LM", "Bias on attention", "Trained on"), lms)
    if corpora:
        yield "<h3>Corpora</h3>"
        rows = [
            [*(corpus[key] for key in ("label", "measures", "cite", "licence"))]
            + ["not run" if corpus["dataset"] in absent else ""]
            for corpus in corpora
        ]
        heads = ("Corpus", "Measures", "Cite", "Licence", "")
        yield tables.body(Table("", list(heads), rows, [], left=heads))
        linked = [c for c in corpora if c["check"] and c["dataset"] not in absent]
        pages = ", ".join(
            f"<a href='{_address(corpus['check'])}'>{html.escape(corpus['label'])}</a>"
            for corpus in linked
        )
        yield (f"<p>Quality reports of the corpora: {pages}.</p>" if pages else "")
    yield f"<p>Computing times, after the end of the run: <a href='{_address(TIMINGS)}'>{TIMINGS}</a>.</p>"
    yield "</section>"


def _absent(absent, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield the missing results, a row for each corpus and reason."""
    yield "<section id='not-run'><h2>Not run</h2>"
    if absent.empty:
        yield "<p>All selected results were computed.</p></section>"
        return
    rows: dict[tuple[str, str], list[str]] = {}
    for row in absent.itertuples(index=False):
        rows.setdefault((row.dataset, row.reason), []).append(row.measure)
    yield _rows_as_table(
        ("Dataset", "Measures", "Reason"),
        [(labels.get(name, name), ", ".join(m), why) for (name, why), m in rows.items()],
    )
    yield "</section>"


def _page(title: str, lines: Iterable[str], parts: Sequence[Mapping]) -> str:
    """Return the page around the sections, with links to them."""
    links = [("#answer", "Answer")]
    links += [(f"#experiment-{n}", part["title"]) for n, part in enumerate(parts, 1)]
    links += [("#made", "How it was made"), ("#not-run", "Not run")]
    menu = "".join(f"<a href='{to}'>{html.escape(name)}</a>" for to, name in links)
    return tables.document(title, [f"<nav>{menu}</nav>", *filter(None, lines)])


def _image(path: Path, title: str) -> str:
    """Return a figure as an embedded image, in which an SVG cannot run scripts.

    Transparent elements over its points show their values as tooltips.
    """
    svg = path.read_text(encoding="utf-8")
    data = base64.b64encode(svg.encode()).decode("ascii")
    image = f"<img alt='{html.escape(title)}' src='data:image/svg+xml;base64,{data}'>"
    places = "".join(
        f"<i title='{html.escape(point.text)}' style='left:{point.x:.2%};top:{point.y:.2%}'></i>"
        for point in hover.points(svg)
    )
    width, height = hover.size(svg)
    return f"<div class='plot' style='--ratio:{width / height:.4f}'>{image}{places}</div>"


def _table(path: Path) -> str:
    """Return the body of a table's page."""
    text = path.read_text(encoding="utf-8")
    begin, end = text.find("</h1>"), text.rfind("</body>")
    if begin < 0 or end < 0:
        raise InputError(f"{path}: not a page of a table; delete the file to compute it again")
    return text[begin + len("</h1>") : end].strip()


def _caption(text: str) -> str:
    """Return a caption as HTML; long captions are folded after their bold title."""
    title = re.match(r"\s*\*\*.+?\*\*", text, re.DOTALL)
    if len(text) <= LONG or not title:
        return paragraphs(text)
    return paragraphs(title[0]) + _fold_text(paragraphs(text[title.end() :]))


def _links(path: Path, folder: Path) -> str:
    """Return links to the files of a figure or table, in the page's folder."""
    of_kind = {".svg": (".pdf", ".svg", ".png", ".csv"), ".md": (".md", ".tex", ".bib")}
    endings = of_kind.get(path.suffix, (".csv", ".tex"))
    at = path.relative_to(folder)
    names = [at.with_name(at.name.removesuffix(at.suffix) + ending) for ending in endings]
    links = "".join(
        f"<a href='{_address(name)}'>{end[1:].upper()}</a>" for name, end in zip(names, endings)
    )
    return f"<p class='files'>{links}</p>"


def _address(path: File) -> str:
    """Return a path as a relative address."""
    return "./" + html.escape(quote(str(path)))


def _rows_as_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of text as a table."""
    grid = [list(row) for row in rows]
    return tables.body(Table("", list(heads), grid, [], left=heads))


def _versions() -> str:
    """Return the versions of the installed packages."""
    installed = {d.name.lower(): d.version for d in metadata.distributions() if d.name}
    versions = [f"{name} {installed[name]}" for name in PACKAGES if name in installed]
    return ", ".join(versions)


def _read(path: File) -> dict:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def _summary(section: Mapping[str, str], path: File, title: str) -> str:
    """Return the summary table of another evaluation, in an experiment of this title."""
    module = plugins.load("recency.evaluations", section["module"], "evaluation", "PRODUCTS")
    heading = section["heading"]
    above = "" if heading == title else f"<h3>{html.escape(heading)}</h3>"
    return above + tables.body(getattr(module, section["function"])(path))
