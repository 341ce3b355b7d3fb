"""Text with one sentence per line and words separated by blanks, such as PTB of Mikolov et al. (2010)."""

from collections.abc import Iterator
from pathlib import Path

from recency.errors import InputError
from recency.text.readers.plain import lines
from recency.text.utf8 import decoded_file

#: Token for unknown words in the text, and its replacement, because KenLM reserves <unk> and would drop
#: it from the text.
UNKNOWN, READ_AS = "<unk>", "[unk]"


def read(paths: list[Path], words: int = 0) -> Iterator[tuple[str, str]]:
    """Yield each non-empty line as a document; the files must have `words` words in total.

    Raises InputError, with both numbers, otherwise: perplexities are comparable only on the same words.
    """
    count = number = 0
    for path in paths:
        for line in lines(decoded_file(path)):
            line_words = [READ_AS if word == UNKNOWN else word for word in line.split()]
            if line_words:
                number, count = number + 1, count + len(line_words)
                yield f"line-{number}", " ".join(line_words)
    if words and count != words:
        raise InputError(
            f"{', '.join(map(str, paths))}: {count:,} words, not the {words:,} of published "
            "perplexities; supply the published split"
        )
