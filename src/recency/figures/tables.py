"""A table of cells as an HTML page or a LaTeX tabular; cells may have small lines beneath.

Templates and pandas' Styler would not shorten this module and need additional packages.
"""

import html
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from readingtimes.files import atomic
from recency.errors import InputError
from recency.figures.paths import Files

#: Content security policy of pages: images within them, and nothing else.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
WIDE = 10  # columns; tables with more have a small font
LONG = 90  # lines; a LaTeX table with more spans several pages
LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "\N{MINUS SIGN}": "$-$", "\N{EN DASH}": "--", "Δ": r"$\Delta$",
    "†": r"\textdagger{}", "²": "$^2$", "×": r"$\times$", "…": r"\ldots{}",
}  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """Text, and smaller lines beneath it ("499.0", "published 499.0", "0.0")."""

    text: str = ""
    below: tuple[str, ...] = ()
    bold: bool = False
    span: int = 1
    left: bool = False


Row = list[Cell | str]


@dataclass(frozen=True)
class Table:
    """A header, rows (with rules above those in `rules`, by index), and notes beneath.

    The header is one row, with its first `left` columns (or columns with these names) left-aligned,
    or several rows. Plain text is a cell, aligned like its column's last header cell.
    """

    title: str
    header: Row | list[Row]
    rows: list[Row]
    notes: list[str]
    rules: tuple[int, ...] = ()
    left: int | Collection[str] = 1

    def __post_init__(self):
        several = isinstance(self.header[0], list)
        top = self.header if several else [header(self.header, self.left)]
        top = [[c if isinstance(c, Cell) else Cell(c) for c in row] for row in top]
        left = [cell.left for cell in top[-1] for _ in range(cell.span)]
        object.__setattr__(self, "header", top)
        object.__setattr__(self, "rows", [_cells(row, left) for row in self.rows])


def _cells(row: Row, left: list[bool]) -> list[Cell]:
    """Return a row's texts as cells, left-aligned in left-aligned columns."""
    cells: list[Cell] = []
    for cell in row:
        column = sum(before.span for before in cells)
        cells.append(cell if isinstance(cell, Cell) else Cell(cell, left=left[column]))
    return cells


def header(texts: Iterable[str], left: int | Collection[str] = 1) -> list[Cell]:
    """Return a header row, with its first `left` columns, or these names, left-aligned."""
    by_name = not isinstance(left, int)
    return [
        Cell(text, left=text in left if by_name else index < left)
        for index, text in enumerate(texts)
    ]


def body(table: Table) -> str:
    """Return the HTML of a table and its notes, without the surrounding page."""
    kind = "scroll wide" if _width(table) > WIDE else "scroll"
    lines = [f"<div class='{kind}'><table>", "<thead>"]
    for row in table.header:
        lines.append(f"<tr>{''.join(_th(cell) for cell in row)}</tr>")
    lines += ["</thead>", "<tbody>"]
    for index, row in enumerate(table.rows):
        rule = " class='rule'" if index in table.rules else ""
        lines.append(f"<tr{rule}>{''.join(_td(cell) for cell in row)}</tr>")
    lines += ["</tbody>", "</table></div>"]
    lines += [f"<p class='note'>{html.escape(_sentence(note))}</p>" for note in table.notes]
    return "\n".join(lines)


def _width(table: Table) -> int:
    """Return the number of columns."""
    return sum(cell.span for cell in table.header[-1])


def _th(cell: Cell) -> str:
    span = f" colspan='{cell.span}'" if cell.span > 1 else ""
    kind = " class='text'" if cell.left else ""
    return f"<th{span}{kind}>{html.escape(cell.text)}</th>"


def _td(cell: Cell) -> str:
    text = html.escape(cell.text)
    text = f"<b>{text}</b>" if cell.bold else text
    below = "".join(f"<small>{html.escape(line) or '&nbsp;'}</small>" for line in cell.below)
    span = f" colspan='{cell.span}'" if cell.span > 1 else ""
    kind = " class='text'" if cell.left else ""
    return f"<td{span}{kind}>{text}{below}</td>"


def _sentence(text: str) -> str:
    if not text.startswith("p:"):  # p values stay in lower case
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def page(title: str, parts: Iterable[str]) -> str:
    """Return a self-contained HTML page of tables."""
    return document(title, [f"<h1>{html.escape(title)}</h1>", *parts], "numbers")


def document(title: str, body: Iterable[str], kind: str = "") -> str:
    """Return a self-contained HTML page without scripts, in the style of all pages; `kind` is its class."""
    here = Path(__file__).parent
    style = "".join(
        (here / name).read_text(encoding="utf-8") for name in ("colours.css", "page.css")
    )
    return "\n".join(
        [
            "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(title)}</title>", f"<style>{style}</style>", "</head>",
            f"<body class='{kind}'>" if kind else "<body>", *body, "</body>", "</html>", "",
        ]
    )  # fmt: skip


def latex(table: Table) -> str:
    r"""Return a tabular for \input; wide tables are scaled to the page, with notes beneath.

    It needs the packages booktabs and adjustbox; \textbf for bold, \scriptsize for lines beneath. A
    table with more than LONG lines is a longtable, which spans pages and needs that package.
    """
    aligned = "".join(
        "l" if cell.left or i == 0 else "r" for i, cell in enumerate(table.header[-1])
    )
    rows = _tex_rows(table)
    small = [r"\setlength{\tabcolsep}{3pt}\renewcommand{\arraystretch}{0.8}%"]
    small = small if _width(table) > WIDE else []
    if len(rows) > LONG:
        lines = [f"% {tex(table.title)}; needs \\usepackage{{booktabs,longtable}}"]
        lines += [r"\begingroup\footnotesize%", *small]
        lines += [rf"\begin{{longtable}}{{@{{}}{aligned}@{{}}}}", r"\toprule"]
        lines += [*_tex_header(table), r"\midrule", r"\endhead", *rows, r"\bottomrule"]
        lines += [r"\end{longtable}", r"\endgroup"]
    else:
        lines = [f"% {tex(table.title)}; needs \\usepackage{{booktabs,adjustbox}}"]
        lines.append(r"\begin{adjustbox}{max width=\linewidth, max totalheight=0.85\textheight}%")
        lines += [*small, rf"\begin{{tabular}}{{@{{}}{aligned}@{{}}}}", r"\toprule"]
        lines += [*_tex_header(table), r"\midrule", *rows, r"\bottomrule"]
        lines += [r"\end{tabular}", r"\end{adjustbox}"]
    for note in table.notes:
        lines.append(rf"\par\smallskip{{\footnotesize {tex(_sentence(note))}\par}}")
    return "\n".join([*lines, ""])


def _tex_header(table: Table) -> list[str]:
    """Return the lines of the header, with rules under cells that span columns."""
    lines = []
    for row in table.header:
        lines.append(" & ".join(_tex_head(cell) for cell in row) + r" \\")
        column, rules = 1, []
        for cell in row:
            if cell.span > 1:
                rules.append(rf"\cmidrule(lr){{{column}-{column + cell.span - 1}}}")
            column += cell.span
        if rules:
            lines.append("".join(rules))
    return lines


def _tex_rows(table: Table) -> list[str]:
    """Return the lines of the rows, with lines beneath a row in small type."""
    lines = []
    for index, row in enumerate(table.rows):
        if index in table.rules:
            lines.append(r"\midrule")
        lines.append(" & ".join(_tex_cell(cell, cell.text, cell.bold) for cell in row) + r" \\")
        for k in range(max((len(cell.below) for cell in row), default=0)):
            texts = [cell.below[k] if k < len(cell.below) else "" for cell in row]
            small = [rf"\scriptsize {tex(text)}" if text else "" for text in texts]
            lines.append(" & ".join(small) + r" \\")
    return lines


def _tex_head(cell: Cell) -> str:
    return (
        rf"\multicolumn{{{cell.span}}}{{c}}{{{tex(cell.text)}}}"
        if cell.span > 1
        else tex(cell.text)
    )


def _tex_cell(cell: Cell, text: str, bold: bool) -> str:
    text = rf"\textbf{{{tex(text)}}}" if bold else tex(text)
    return rf"\multicolumn{{{cell.span}}}{{l}}{{{text}}}" if cell.span > 1 else text


def tex(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(LATEX.get(character, character) for character in text)


def write(out: Files, table: Table, data: pd.DataFrame) -> None:
    """Write `data` to the .csv of `out`, the table to its .html and .tex."""
    for path in map(Path, out):
        with atomic(path) as temporary:
            if path.suffix == ".csv":
                data.to_csv(temporary, index=False, lineterminator="\n")
            elif path.suffix == ".html":
                temporary.write_text(page(table.title, [body(table)]), encoding="utf-8")
            elif path.suffix == ".tex":
                temporary.write_text(latex(table), encoding="utf-8")
            else:
                raise InputError(f"{path}: a table must be written as .csv, .html or .tex")
