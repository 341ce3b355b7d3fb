"""Write a page of docs/ as a notebook: text, Python, commands and the files that are to be made.

    python setup/notebook.py docs/tutorial.md docs/tutorial.ipynb
    python setup/notebook.py --check docs/tutorial.md docs/tutorial.ipynb

A block ```python is a cell; ```sh is one of `%%bash`; a block with title="FILE" is one of `%%writefile`.
Any other block, and a command with title="…", stays text: it is not to be run as it stands.
"""

import json
import re
import sys
from pathlib import Path

_BLOCK = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FIRST = """\
# From the project's folder, with its tools on the path.
import os

%cd -q ..
os.environ["PATH"] = f"{os.getcwd()}/.venv/bin:" + os.environ["PATH"]
"""


def cells(page: str) -> list[dict]:
    """Return the cells of a page: of Markdown, and of code where there is something to run."""
    found, text, place = [_cell("code", _FIRST)], "", 0
    for block in _BLOCK.finditer(page):
        text += page[place : block.start()]
        place = block.end()
        source = code(*block.groups())
        if source is None:
            text += block[0]
            continue
        found += [_cell("markdown", text), _cell("code", source)]
        text = ""
    text += page[place:]
    return [cell for cell in [*found, _cell("markdown", text)] if cell["source"]]


def code(language: str, title: str | None, content: str) -> str | None:
    """Return what a notebook runs for a block, None where it runs nothing."""
    if language == "python":
        return content
    if language == "sh" and title is None:
        return f"%%bash\n{content}"
    if title is not None and language in ("yaml", "text"):
        return f"%%writefile {title}\n{content}"
    return None


def notebook(page: str) -> str:
    """Return a page as a notebook's JSON, without outputs."""
    made = cells(page)
    for number, cell in enumerate(made):
        cell["id"] = f"cell-{number}"
    about = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    whole = {"cells": made, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, source: str) -> dict:
    cell = {"cell_type": kind, "id": "", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": source.strip("\n").splitlines(keepends=True)}


def main(arguments: list[str]) -> None:
    """Write the notebook; with --check, end with an error where it is not the page's."""
    *check, page, out = arguments
    made = notebook(Path(page).read_text(encoding="utf-8"))
    if not check:
        Path(out).write_text(made, encoding="utf-8")
    elif Path(out).read_text(encoding="utf-8") != made:
        sys.exit(f"{out} is not what {page} says: make notebook")


if __name__ == "__main__":
    main(sys.argv[1:])
