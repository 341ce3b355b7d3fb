"""Text for perplexities: a sentence a line, its words parted by blanks, as PTB's of Mikolov et al. (2010)."""

from collections.abc import Iterator
from pathlib import Path

from recency.errors import InputError
from recency.text.readers.plain import lines
from recency.text.utf8 import decoded_file

#: How the text writes the words that it left out of its vocabulary, and how it is read: KenLM has
#: <unk> for itself and would drop it from the text.
UNKNOWN, READ_AS = "<unk>", "[unk]"


def read(paths: list[Path], words: int = 0) -> Iterator[tuple[str, str]]:
    """Yield each line that has words as a document; all of the files must have so many `words`.

    Raises InputError, with both numbers, where they have others: tables of perplexities compare
    only on the same words.
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
            f"{', '.join(map(str, paths))}: {count:,} words, not the {words:,} that published "
            "perplexities are of; place the split that they name"
        )
