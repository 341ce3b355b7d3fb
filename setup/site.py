"""MkDocs hook: add pages from the root folder, rewrite links out of docs/, convert formulas to MathML."""

import html
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
#: File in the root folder → its page on the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "config/README.md": "config.md",
}
GLOSSARY = "glossary.md"
#: Folder → rank of its pages in the search, below that of pages which explain.
BOOSTS = {"forms": 0.5, "config": 0.1}
_ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")
_NAME = re.compile(r"\[[\w/-]+(\.md|/)\]")  # a link whose text is a file name
_FENCED = re.compile(r"^(```.*?^```[^\n]*$)", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"<code>.*?</code>")  # in a table, | is written \|
_FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)


def on_config(config):
    """Replace folders in the navigation by their pages."""
    config.nav = list(with_pages_of_folders(config.nav))
    return config


def with_pages_of_folders(nav: list) -> Iterator:
    """Yield entries of a navigation, with the pages of a folder in place of `folder/`."""
    for entry in nav:
        if isinstance(entry, str) and entry.endswith("/"):
            yield from (f"{entry}{path.name}" for path in sorted((DOCS / entry).glob("*.md")))
        elif isinstance(entry, dict):
            yield {
                title: list(with_pages_of_folders(inner)) if isinstance(inner, list) else inner
                for title, inner in entry.items()
            }
        else:
            yield entry


def on_files(files, config):
    """Add files from the root folder as pages."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=linked(text, name, page)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Rewrite links for the site."""
    source = page.file.src_uri
    if source == GLOSSARY:
        page.meta["search"] = {"boost": 4}  # the meaning of a term is found first
        markdown = _with_headings(markdown)
    if boost := BOOSTS.get(source.partition("/")[0]):
        page.meta["search"] = {"boost": boost}
    return markdown if source in PAGES.values() else linked(markdown, f"docs/{source}", source)


def on_page_content(content, page, config, files):
    """Convert formulas to MathML and unescape bars in table cells."""
    content = _FORMULA.sub(lambda found: _mathml(found[1], found[2]), content)
    return _CODE.sub(lambda found: found[0].replace(r"\|", "|"), content)


def _with_headings(glossary: str) -> str:
    """Return the glossary with its rows as sections, which the search finds by their terms."""
    head, _, rows = glossary.partition("|---|---|\n")
    head = head.rpartition("| term |")[0]
    return head + _ROW.sub(lambda row: f"### {row[1]}\n\n{row[2]}\n", rows).replace(r"\|", "|")


def linked(text: str, file: str, page: str) -> str:
    """Return the Markdown of `file` with links rewritten for `page`.

    `file` is relative to the root folder (empty: a file in it). Links to pages are rewritten, links to
    other files become plain text. Broken links stay, and mkdocs reports them.
    """

    def replaced(found: re.Match) -> str:
        label, target = found[1], found[2]
        if target.startswith(("#", "http:", "https:", "mailto:")):
            return found[0]
        path, hash_, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
        if path in PAGES:
            there = PAGES[path]
        elif path.startswith("docs/"):
            there = path.removeprefix("docs/")
            if (ROOT / path).is_dir():
                there += "/README.md"
        elif (ROOT / path).exists():
            return label[1:-1]
        else:
            return found[0]
        there = posixpath.relpath(there, posixpath.dirname(page) or ".")
        if _NAME.fullmatch(label) and not anchor:
            label = f"[{_title(ROOT / path)}]"
        return f"{label}({there}{hash_}{anchor})"

    parts = _FENCED.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(replaced, part) for part in parts)


def _title(path: Path) -> str:
    """Return a page's first heading."""
    path = path / "README.md" if path.is_dir() else path
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _mathml(tag: str, formula: str) -> str:
    r"""Convert a formula \(…\) or \[…\] of arithmatex to MathML."""
    latex = html.unescape(formula).strip()[2:-2]
    if tag == "span":
        return convert(latex)
    return f'<div class="formula">{convert(latex, display="block")}</div>'
