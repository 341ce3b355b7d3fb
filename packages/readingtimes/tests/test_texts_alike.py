"""Texts that share their words: a row whose word could be of either text gets none."""

from readingtimes.joins import index as labels
from readingtimes.joins import readings

PAIR = (
    "The son of the actress who shot herself was under investigation. "
    "The son of the actress who shot himself was under investigation."
)
AFTER = "The brother of the bride who embarrassed herself was ashamed."


def test_rows_of_the_second_of_two_texts_alike():
    """The first is missing, and its words before the difference are those of the second."""
    words = f"{PAIR} {AFTER}".split()
    rows = words[11:]
    row = readings.find(words, rows).row
    doubtful = readings.ambiguous([labels.spelling(word) for word in words], rows, row)
    kept = [(at, word) for at, word in enumerate(row, start=11) if word not in [-1, *doubtful]]
    assert kept and all(truth == word for truth, word in kept)
