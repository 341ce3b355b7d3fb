"""Text of a treebank in CoNLL-U: its sentences as written, or their words parted by blanks.

Universal Dependencies have treebanks of more than 150 languages. `words: true` gives n-grams and unigrams
of languages that are written without spaces, such as Chinese and Japanese, words as the treebank has them.
"""

from collections.abc import Iterator
from pathlib import Path

from recency.errors import InputError
from recency.text.readers.plain import lines
from recency.text.utf8 import decoded_file

_TEXT, _DOCUMENT = "# text = ", "# newdoc"


def read(paths: list[Path], words: bool = False) -> Iterator[tuple[str, str]]:
    """Yield each document (`# newdoc`), a line a sentence; the whole file where it marks none.

    With `words` the tokens as they stand in the text are parted by blanks; without, a sentence is its
    `# text`. A file without sentences is an error.
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
    """Yield whether a document begins, and the text, of each sentence."""
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
                raise InputError(f"{path}, line {number}: no columns parted by tabs")
            first, _, end = fields[0].partition("-")
            if end:  # a token of several words: its own form is what is written
                tokens.append(fields[1])
                last = int(end)
            elif first.isdigit() and int(first) > last:
                tokens.append(fields[1])
        elif not line.strip() and (tokens or text):
            if not text and not words:
                raise InputError(
                    f"{path}, line {number}: the sentence before has no `# text`; take `words: true`"
                )
            yield (
                is_new,
                " ".join(token.replace(" ", "\u00a0") for token in tokens) if words else text,
            )
            tokens, text, is_new, last = [], "", False, 0
