"""Captions as HTML: paragraphs, lists, **bold**, *slanted* and ``code`` of reStructuredText.

Other markup has no effect. Labels can thus contain any text (`.. raw:: html`, `.. include::`, a
link, an image), which remains text; no setting of docutils guarantees this.
"""

import html
import re

#: Replacements of * and ` in labels when they are inserted into captions.
OWN = {"*": "\ue000", "`": "\ue001"}
MARKS = (
    (r"``(.+?)``", r"<code>\1</code>"),
    (r"\*\*(.+?)\*\*", r"<b>\1</b>"),
    (r"(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])", r"<i>\1</i>"),
)


def plain(text: str) -> str:
    """Protect the characters of a label from being read as markup.

    >>> marked(plain("**bold**")) + marked("**bold**")
    '**bold**<b>bold</b>'
    """
    for mark, replacement in OWN.items():
        text = text.replace(mark, replacement)
    return text


def marked(text: str) -> str:
    """Return the text of one paragraph as escaped HTML."""
    markup = html.escape(" ".join(text.split()))
    for pattern, put in MARKS:
        markup = re.sub(pattern, put, markup)
    for mark, replacement in OWN.items():
        markup = markup.replace(replacement, mark)
    return markup


def paragraphs(text: str) -> str:
    """Return paragraphs, separated by empty lines, as HTML; lines beginning with "- " are a list."""
    parts = []
    for block in re.split(r"\n\s*\n", text.strip()):
        items = re.split(r"^- ", block, flags=re.MULTILINE)
        if items[0].strip():
            parts.append(f"<p>{marked(items[0])}</p>")
        if len(items) > 1:
            parts.append(f"<ul>{''.join(f'<li>{marked(item)}</li>' for item in items[1:])}</ul>")
    return "\n".join(parts)
