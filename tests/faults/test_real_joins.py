"""Every corpus and reference table that is here, damaged in every way: joined to the truth, or refused."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import read_everything
from join_damages import DAMAGES, OF_KEYS, OF_WORDS, VIEWS, check, made_corpus
from project import ROOT
from readingtimes import checks, parsers
from readingtimes.contracts import check_responses, check_words, response_column
from readingtimes.formats import anything
from recency.scoring import surprisal_table
from recency.workflow.config import loading

pytestmark = pytest.mark.long

CORPORA = (
    *("natural_stories", "provo", "ucl_spr", "ucl_eye_tracking", "meco", "zuco", "zuco_means"),
    *("potec", "maze", "maze_spr", "items_meco", "items_provo", "items_ucl", "items_ucl_spr"),
    *("items_brown", "items_natural_stories", "devarda2024"),
)


def corpus(name, folders):
    """Read a corpus: words, and the mean response to each."""
    entry = loading.load(ROOT)["datasets"][name]
    parts = {
        part: {role: read_everything.where(file, folders) for role, file in entry[part].items()}
        for part in ("words", "responses")
    }
    if None in {path for files in parts.values() for path in files.values()}:
        pytest.skip(f"the files of {name} are not here")
    parser, options = parsers.parser(entry["parser"]), entry.get("options", {})
    words = parser.words(parts["words"], **parsers.accepted(parser, parser.words, options))
    words = check_words(words, name)
    measure = next(m for m, each in entry["measures"].items() if "of" not in each)
    taken = parsers.accepted(parser, parser.responses, options)
    frame = check_responses(
        parser.responses(parts["responses"], words, measure, **taken), words, name
    )
    return words, checks.means(words, frame, response_column(frame, name)).fillna(0.0)


def joined_or_refused(words, value, kind):
    """Join under every damage and view; return how many joins were accepted."""
    accepted = 0
    for damage in DAMAGES:
        for view, keys in VIEWS.items():
            if damage in OF_WORDS and "word" not in keys:
                continue
            if damage in OF_KEYS and (kind != "surprisal" or keys in (["word"], ["item", "word"])):
                continue
            share = check(words, value, damage, view, kind)
            assert damage != "nothing" or share is None or share > 0.95, (view, share)
            accepted += share is not None
    return accepted


@pytest.mark.parametrize("name", CORPORA)
def test_no_damage_of_a_corpus_passes(shared_data, name):
    mirror = Path(os.environ.get("RECENCY_TEST_MIRROR", shared_data.parent / "mirror"))
    words, mean = corpus(name, [shared_data, *([mirror] if mirror.is_dir() else [])])
    assert joined_or_refused(words, mean, "time") > 100


@pytest.mark.parametrize("kind", ["surprisal", None])
def test_no_damage_of_a_made_corpus_passes(kind):
    """Every damage and view, with values and without; `tests/reading/test_joins.py` runs half of these."""
    words, value = made_corpus(seed=9)
    assert joined_or_refused(words, value, kind) > 100


@pytest.mark.parametrize("column", ["txl_surp", "ngram_surp", "grnn_surp"])
def test_no_damage_of_a_published_table_passes(shared_data, column):
    """Boyce & Levy (2023): words with a value in their table."""
    path = shared_data / "naturalstories_reference_lms" / "natural_stories_surprisals.rds"
    table = anything.read(path, anything.Style()).frame
    stories = shared_data / "naturalstories" / "all_stories.tok"
    words = check_words(parsers.parser("natural_stories").words({"stories": stories}), "words")
    columns = {"item": "Story_Num", "position": "Word_In_Story_Num", "word": "Word"}
    scored = surprisal_table.score(
        words, path, columns=columns | {"surprisal": column}, unit="bits", missing=0.15
    )
    assert len(table) == 9782
    value = scored.table["surprisal_bits"].fillna(scored.table["surprisal_bits"].mean())
    assert joined_or_refused(words, pd.Series(np.asarray(value)), "surprisal") > 100
