"""Synthetic experiments: sentences by item and condition, a critical word, and responses to it."""

import pandas as pd

from readingtimes.contracts import check_responses, check_words
from readingtimes.parsers import table as parser

CONDITIONS = ("high", "medium", "low")
NOUNS = ("miller", "sailor", "keeper", "driver", "singer", "farmer", "porter", "hunter")
VERBS = ("opened", "painted", "carried", "followed", "repaired", "noticed")
CRITICAL = {"high": "gate", "medium": "wagon", "low": "violin"}


def cells(items=8, conditions=CONDITIONS):
    """Give a row an item and condition: item, condition, sentence, target, place (from 1), span."""
    rows = []
    for item in range(1, items + 1):
        noun, verb = NOUNS[item % len(NOUNS)], VERBS[item % len(VERBS)]
        start = f"Number {item}: the {noun} slowly {verb} the"
        for condition in conditions:
            target = CRITICAL[condition]
            rows.append((item, condition, f"{start} {target}, and went home.", target, 8))
    return pd.DataFrame(rows, columns=["item", "condition", "sentence", "target", "place"])


def rating(item, condition):
    """Give the response to an item in a condition, another one for each."""
    return round(1 + item / 100 + 2 * CONDITIONS.index(condition), 2)


def means(items=8):
    """Give the cells with `rating` and `cloze`."""
    frame = cells(items)
    own = [rating(i, c) for i, c in zip(frame["item"], frame.condition)]
    return frame.assign(
        rating=own, cloze=frame.condition.map({"high": 0.9, "medium": 0.4, "low": 0.0})
    )


def trials(items=8, subjects=6):
    """Give a row a subject and item, each item in one condition of a Latin square, with two times."""
    frame, parts = cells(items), []
    for subject in range(subjects):
        shown = [CONDITIONS[(i + subject) % 3] for i in frame["item"]]
        part = frame[frame.condition == shown].assign(subject=f"p{subject:02d}", list=subject % 3)
        part["rt_critical"] = (
            300 + 20 * subject + part["item"] + 50 * part.condition.map(CONDITIONS.index)
        )
        parts.append(part.assign(rt_spill1=part.rt_critical + 1000))
    return pd.concat(parts, ignore_index=True)


def parsed(path, measure, words_path=None, **options):
    """Read words and responses by the parser, checked."""
    shared = {
        k: v
        for k, v in options.items()
        if k in ("columns", "marker", "join", "missing", "unmatched")
    }
    of_words = {k: options[k] for k in ("spillover", "precritical", "sentences") if k in options}
    of_rows = {k: v for k, v in options.items() if k not in of_words}
    known = parser.words(
        {"table": words_path or path}, shape="items", measures=(measure,), **shared, **of_words
    )
    known = check_words(known, "words")
    found = parser.responses({"table": path}, known, measure, shape="items", **of_rows)
    return known, check_responses(found, known, measure)


def regions(known, item):
    """Give region → words of a text."""
    rows = known[(known["item"] == item) & known.region.notna()]
    return rows.groupby("region", sort=False).word.agg(" ".join).to_dict()
