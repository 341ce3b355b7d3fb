"""A made corpus of one's own, in many shapes: two texts, four sentences, three readers, and its tables."""

import pandas as pd

from readingtimes.contracts import check_responses, check_words
from readingtimes.parsers import table as parser

TEXTS = {
    "harbour": ["The tide turned, slowly.", "Nobody came."],
    "mill": ["Mr. Ash sold the mill.", "He left."],
}
WORDS = [
    (item, s, p, word)
    for item, sentences in TEXTS.items()
    for s, sentence in enumerate(sentences, 1)
    for p, word in enumerate(sentence.split(), 1)
]
SUBJECTS = ("p1", "p2", "p10")


def words():
    """Give a row a word: item, sentence (anew in each item), position, place in the item, length."""
    frame = pd.DataFrame(WORDS, columns=["item", "sentence", "position", "word"])
    frame["place"] = frame.groupby("item").cumcount() + 1
    return frame.assign(nchar=frame.word.str.len())


def ms(subject, place):
    """Give the time of a subject for the word at a place in the file, from 0."""
    return 200 + 10 * place + 100 * SUBJECTS.index(subject)


def readings():
    """Give a row a subject and word, with rt."""
    parts = [
        words().assign(subject=subject, rt=[ms(subject, n) for n in range(len(WORDS))])
        for subject in SUBJECTS
    ]
    return pd.concat(parts, ignore_index=True)


def save(frame, path):
    """Write a table by its name's ending."""
    writers = {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".gz": lambda: frame.to_csv(path, index=False),
        ".tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        ".xlsx": lambda: frame.to_excel(path, index=False),
        ".parquet": lambda: frame.to_parquet(path),
        ".feather": lambda: frame.to_feather(path),
    }
    writers[path.suffix]()
    return path


def parsed(path, measure="SPR", words_path=None, **options):
    """Read words and responses by the parser, checked; options as the config has them."""
    names = {"columns", "separator", "encoding", "decimal", "sheet", "frame", "missing"}
    of_words = {
        k: v for k, v in options.items() if k in names | {"sentences", "phrases", "subjects"}
    }
    known = parser.words({"table": words_path or path}, measures=(measure,), **of_words)
    known = check_words(known, "words")
    of_times = {k: v for k, v in options.items() if k not in ("sentences", "phrases")}
    times = parser.responses({"table": path}, known, measure, **of_times)
    return known, check_responses(times, known, measure)


def right(known, times):
    """Assert that words and times are those that were made, whatever the table's shape."""
    assert known.word.tolist() == [word for *_, word in WORDS]
    assert known["item"].tolist() == [item for item, *_ in WORDS]
    assert known.sentence.diff().fillna(0).astype(bool).tolist() == [
        n > 0 and WORDS[n][:2] != WORDS[n - 1][:2] for n in range(len(WORDS))
    ]
    assert known.position.tolist() == [p for _, _, p, _ in WORDS]
    found = {(row.subject, row.word_id): row.time_ms for row in times.itertuples()}
    subjects = {name: f"p{int(name[1:]):02d}" for name in SUBJECTS}
    assert found == {(subjects[s], n): ms(s, n) for s in SUBJECTS for n in range(len(WORDS))}
