"""An extension of Griffe: examples and aligned lists in docstrings are shown as they stand there."""

import re

import griffe

#: A line of a list: a name, two spaces or more, what it is. Or the line after it, further in.
_LISTED = re.compile(r"\S.*?\S {2,}\S| {4,}\S")


def fenced(text: str) -> str:
    """Return a docstring as Markdown: paragraphs are text, examples and aligned lists code."""
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
    """Rewrites every docstring as it is read."""

    def on_object(self, *, obj: griffe.Object, **others: object) -> None:
        """Change an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
