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


def sections(text: str) -> str:
    r"""Return Markdown of headings, paragraphs, lists and `code` as HTML, without the first heading.

    >>> sections("# A\n\n## B\n\nOne `x < y`.\n\n- two")
    '<h4>B</h4>\n<p>One <code>x &lt; y</code>.</p>\n<ul><li>two</li></ul>'
    """
    parts = []
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.startswith("# "):
            continue
        inside = re.sub(r"`(.+?)`", r"<code>\1</code>", html.escape(block, quote=False))
        if block.startswith("## "):
            parts.append(f"<h4>{inside.removeprefix('## ')}</h4>")
        elif block.startswith("- "):
            items = re.split(r"^- ", inside, flags=re.MULTILINE)[1:]
            parts.append(f"<ul>{''.join(f'<li>{item.strip()}</li>' for item in items)}</ul>")
        else:
            parts.append(f"<p>{inside}</p>")
    return "\n".join(parts)
