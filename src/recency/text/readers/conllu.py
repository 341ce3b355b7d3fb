"""Text of a treebank in CoNLL-U: sentences as written, or words separated by blanks.

Universal Dependencies has treebanks of more than 150 languages. `words: true` separates the treebank's
words, for n-grams and unigrams of languages without spaces, such as Chinese and Japanese.
"""

from collections.abc import Iterator
from pathlib import Path

from recency.errors import InputError
from recency.text.readers.plain import lines
from recency.text.utf8 import decoded_file

_TEXT, _DOCUMENT = "# text = ", "# newdoc"


def read(paths: list[Path], words: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each document (`# newdoc`, or the whole file), one sentence per line.

    With `words` the surface tokens are separated by blanks; otherwise a sentence is its `# text`. A
    file without sentences is an error.
    """
    for path in paths:
        name, number = path.name.removesuffix(".gz").removesuffix(".conllu"), 0
        held: list[str] = []
        for is_new, sentence in _sentences(path, words):
            if is_new and held:
                number += 1
                yield f"{name}-{number}", "\n".join(held)
                held = []
            held.append(sentence)
        if not held and not number:
            raise InputError(f"{path} has no sentences; is it a treebank in CoNLL-U?")
        yield f"{name}-{number + 1}", "\n".join(held)


def _sentences(path: Path, words: bool) -> Iterator[tuple[bool, str]]:
    """Yield (is_first_of_document, text) for each sentence."""
    tokens: list[str] = []
    text, is_new, last = "", False, 0
    for number, line in enumerate([*lines(decoded_file(path)), ""], 1):
        line = line.removesuffix("\r")
        if line.startswith(_DOCUMENT):
            is_new = True
        elif line.startswith(_TEXT):
            text = line.removeprefix(_TEXT).strip()
        elif line and not line.startswith("#"):
            fields = line.split("\t")
            if len(fields) < 2:
                raise InputError(f"{path}, line {number}: no tab-separated columns")
            first, _, end = fields[0].partition("-")
            if end:  # a multiword token, whose form is the surface text
                tokens.append(fields[1])
                last = int(end)
            elif first.isdigit() and int(first) > last:
                tokens.append(fields[1])
        elif not line.strip() and (tokens or text):
            if not text and not words:
                raise InputError(
                    f"{path}, line {number}: the previous sentence has no `# text`; use `words: true`"
                )
            yield (
                is_new,
                " ".join(token.replace(" ", "\u00a0") for token in tokens) if words else text,
            )
            tokens, text, is_new, last = [], "", False, 0
