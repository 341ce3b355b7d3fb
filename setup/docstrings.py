"""Griffe extension for docstrings that are not written as Markdown: aligned lists, and angle brackets."""

import re

import griffe

#: A line of a list (a name, two or more spaces, a description), or its indented continuation.
_LISTED = re.compile(r"\S.*?\S {2,}\S| {4,}\S")
#: A placeholder outside code, which a browser would take for an element.
_PLACEHOLDER = re.compile(r"(?<!`)<(\w[\w ]*)>(?!`)")


def fenced(text: str) -> str:
    """Return a docstring as Markdown, with aligned lists as code and placeholders such as <name> as text."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.splitlines()
        if _LISTED.match(lines[0]) and all(_LISTED.match(line) for line in lines):
            parts.append(f"```text\n{paragraph}\n```")
        else:
            parts.append(_PLACEHOLDER.sub(r"&lt;\1&gt;", paragraph))
    return "\n\n".join(parts)


class Docstrings(griffe.Extension):
    """Rewrite docstrings when Griffe reads them."""

    def on_object(self, *, obj: griffe.Object, **others: object) -> None:
        """Rewrite an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
