"""Griffe extension that shows examples and aligned lists in docstrings verbatim."""

import re

import griffe

#: A line of a list (a name, two or more spaces, a description), or its indented continuation.
_LISTED = re.compile(r"\S.*?\S {2,}\S| {4,}\S")


def fenced(text: str) -> str:
    """Return a docstring as Markdown, with examples and aligned lists as code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.splitlines()
        if lines[0].lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{paragraph}\n```")
        elif _LISTED.match(lines[0]) and all(_LISTED.match(line) for line in lines):
            parts.append(f"```text\n{paragraph}\n```")
        else:
            parts.append(paragraph)
    return "\n\n".join(parts)


class Docstrings(griffe.Extension):
    """Rewrite docstrings when Griffe reads them."""

    def on_object(self, *, obj: griffe.Object, **others: object) -> None:
        """Rewrite an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
