"""Captions as HTML: paragraphs, lists, **bold**, *slanted* and ``code`` of reStructuredText.

Nothing else of it means anything here. A label can thus hold whatever it likes (`.. raw:: html`,
`.. include::`, a link, an image): it stays text, which docutils promises of no setting.
"""

import html
import re

#: Two of them stand for * and ` that are a label's own, from where labels are put into captions.
OWN = {"*": "\ue000", "`": "\ue001"}
MARKS = (
    (r"``(.+?)``", r"<code>\1</code>"),
    (r"\*\*(.+?)\*\*", r"<b>\1</b>"),
    (r"(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])", r"<i>\1</i>"),
)


def plain(text: str) -> str:
    """Keep a label's own marks from being read as markup.

    >>> marked(plain("**bold**")) + marked("**bold**")
    '**bold**<b>bold</b>'
    """
    for mark, replacement in OWN.items():
        text = text.replace(mark, replacement)
    return text


def marked(text: str) -> str:
    """Return text of one paragraph as HTML, all of it escaped."""
    markup = html.escape(" ".join(text.split()))
    for pattern, put in MARKS:
        markup = re.sub(pattern, put, markup)
    for mark, replacement in OWN.items():
        markup = markup.replace(replacement, mark)
    return markup


def paragraphs(text: str) -> str:
    """Return paragraphs, parted by empty lines, as HTML; lines that begin with "- " are a list."""
    parts = []
    for block in re.split(r"\n\s*\n", text.strip()):
        items = re.split(r"^- ", block, flags=re.MULTILINE)
        if items[0].strip():
            parts.append(f"<p>{marked(items[0])}</p>")
        if len(items) > 1:
            parts.append(f"<ul>{''.join(f'<li>{marked(item)}</li>' for item in items[1:])}</ul>")
    return "\n".join(parts)
