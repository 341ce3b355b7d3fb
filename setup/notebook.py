"""Convert a page of docs/ to a notebook: text, Python, commands and files to create.

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
# From the project's folder, with its tools on the path; in Colab it is installed first (ten minutes).
import os
import sys

if "google.colab" in sys.modules:
    if not os.path.exists("/content/recency"):
        !git clone -q https://github.com/OWNER/recency.git /content/recency
        !make -C /content/recency demo
    %cd -q /content/recency
else:
    %cd -q ..
os.environ["PATH"] = f"{os.getcwd()}/.venv/bin:" + os.environ["PATH"]
"""


def cells(page: str) -> list[dict]:
    """Return the cells of a page: Markdown, and code for blocks that can run."""
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
    """Return the code of a block's cell, None if there is nothing to run."""
    if language == "python":
        return content
    if language == "sh" and title is None:
        return f"%%bash\n{content}"
    if title is not None and language in ("yaml", "text"):
        return f"%%writefile {title}\n{content}"
    return None


def notebook(page: str) -> str:
    """Return a page as notebook JSON without outputs."""
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
    """Write the notebook; with --check, fail if it differs from the page."""
    *check, page, out = arguments
    made = notebook(Path(page).read_text(encoding="utf-8"))
    if not check:
        Path(out).write_text(made, encoding="utf-8")
    elif Path(out).read_text(encoding="utf-8") != made:
        sys.exit(f"{out} is not what {page} says: make notebook")


if __name__ == "__main__":
    main(sys.argv[1:])
