"""Real corpora read a second way, by the parser `table`: the same words and responses."""

from pathlib import Path

import pandas as pd
import pytest

from project import ROOT
from readingtimes import parsers
from readingtimes.contracts import check_responses, check_words
from readingtimes.parsers import table
from recency import config as configuration
from recency.reading import responses as responses_rule
from recency.reading import words as words_rule
from recency.workflow.config import checks, loading
from recency.workflow.plan.study import Study

DATA = ROOT.parent / "shared" / "data"
needs_data = pytest.mark.skipif(not (DATA / "ucl").is_dir(), reason="no real data here")


def by_parser(name, measure, words, responses, **options):
    parser = parsers.parser(name)
    known = check_words(parser.words({"t": DATA / words}), name)
    files = {role: DATA / file for role, file in responses.items()}
    return known, check_responses(parser.responses(files, known, measure, **options), known, name)


def both(known, times):
    """Write words and times as one plain table, as a user might have it."""
    return known.merge(times, on="word_id").sort_values(["subject", "word_id"], kind="stable")


@pytest.mark.merge
@needs_data
@pytest.mark.parametrize("corpus", ["ucl_spr", "ucl_eye_tracking"])
def test_ucl_as_one_plain_table(tmp_path, corpus):
    measure = "SPR" if corpus == "ucl_spr" else "GP"
    file = "selfpacedreading.RT.rebuilt" if corpus == "ucl_spr" else "eyetracking.RT"
    known, times = by_parser(corpus, measure, "ucl/stimuli.txt", {"t": f"ucl/{file}.txt.gz"})
    frame = times.merge(known, on="word_id", how="left").drop(columns="word_id")
    frame.to_csv(tmp_path / "ucl.csv.gz", index=False)
    more = [name for name in times if name not in ("subject", "word_id", "time_ms")]
    columns = {name: name for name in more if name == "correct"}
    options = {"columns": columns, "parser": "table", "eye_tracking": corpus != "ucl_spr"}
    files, option = (
        {"t": tmp_path / "ucl.csv.gz"},
        {k: options[k] for k in ("columns", "eye_tracking")},
    )
    made = tmp_path / "words.parquet"
    words_rule.main(files=files, parser="table", options=option, out=made, measures=[measure])
    out = tmp_path / "responses.parquet"
    responses_rule.main(
        files=files, words=made, parser="table", measure=measure, options=option, out=out
    )
    own = pd.read_parquet(made)
    found = pd.read_parquet(out)
    if corpus == "ucl_spr":  # readers' sentences come in their own order; words are a few of all
        pd.testing.assert_frame_equal(own, known)
        pd.testing.assert_frame_equal(found[list(times)], times)
        return
    by = own.merge(known, on=["item", "sentence", "position", "word"], suffixes=("", "_ucl"))
    assert len(by) == len(own) == times.word_id.nunique()
    found["word_id"] = found.word_id.map(by.set_index("word_id").word_id_ucl).astype("int32")
    pd.testing.assert_frame_equal(found[list(times)], times)


@needs_data
def test_natural_stories_times_on_the_words_that_are_there(tmp_path):
    known, times = by_parser(
        "natural_stories",
        "SPR",
        "naturalstories/all_stories.tok",
        {"times": "naturalstories/naturalstories_batch2_RTs.tsv.gz"},
    )
    place = known.groupby("item").cumcount() + 1
    frame = times.assign(
        zone=times.word_id.map(place), story=times.word_id.map(known["item"].astype(int))
    )
    path = tmp_path / "mine.tsv"
    frame[["subject", "story", "zone", "time_ms", "correct"]].to_csv(path, sep="\t", index=False)
    columns = {"item": "story", "position": "zone", "SPR": "time_ms", "correct": "correct"}
    found = table.responses({"t": path}, known, "SPR", columns=columns)
    by = ["subject", "word_id"]
    names = [*by, "time_ms", "correct"]
    pd.testing.assert_frame_equal(
        check_responses(found, known, "mine")[names].sort_values(by, ignore_index=True),
        times[names].sort_values(by, ignore_index=True),
    )


@needs_data
def test_meco_s_means_with_missing_values_left_in(tmp_path, capsys):
    path = DATA / "devarda_marelli2024" / "meco.tsv.gz"
    raw = pd.read_csv(path, sep="\t")
    columns = {"item": "sent_id", "position": "word_pos", "FP": "rt", "given_length": "length"}
    known = table.words({"t": path}, columns=columns, sentences="punctuation", measures=["FP"])
    known = check_words(known, "meco")
    times = check_responses(table.responses({"t": path}, known, "FP", columns=columns), known, "m")
    lacking = raw.rt.isna()
    assert 0 < lacking.sum() == len(raw) - len(times)
    assert f"{lacking.sum()} of 2,108 responses of FP dropped" in capsys.readouterr().err
    assert known.word.tolist() == raw.word.astype(str).tolist() and set(times.subject) == {"mean"}
    assert times.time_ms.tolist() == raw.rt[~lacking].tolist()
    assert known.given_length.isna().sum() == raw["length"].isna().sum()


def shared(**entry):
    """Give a config with a dataset `mine` on the words of Natural Stories."""
    config = loading.load(ROOT)
    config["datasets"]["mine"] = {
        "label": "Mine",
        "parser": "table",
        "words": {"dataset": "natural_stories"},
        "responses": {"table": {"local": "README.md"}},
        "measures": {"SPR": {"filters": []}},
    } | entry
    return config


@pytest.mark.merge
def test_a_dataset_on_another_s_words_has_its_files_and_parser():
    config = shared()
    checks.check(config, ROOT / "config.schema.yaml")
    study = Study(config, ROOT)
    files = study.files
    assert files.dataset("mine", "words") == files.dataset("natural_stories", "words")
    assert files.with_words("mine")["parser"] == "natural_stories"
    assert files.origins("mine")[0] == files.origins("natural_stories")[0]

    class Wildcards:
        dataset = "mine"

    chosen = configuration.chosen(config, Wildcards, Path(ROOT))
    assert chosen[configuration.PARSERS] == ["table", "natural_stories"]


@pytest.mark.merge
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"dataset": "natural_storis"}, "no dataset is called 'natural_storis'; did you mean"),
        ({"dataset": "mine"}, "'mine' itself uses the words of another dataset"),
        ({"dataset": 3}, "3 is not of type 'string'"),
        ({"dataset": "provo", "norms": {"local": "x"}}, "unknown key 'norms'"),
    ],
)
def test_words_that_no_dataset_has_are_refused(words, message):
    with pytest.raises(Exception, match=message):
        checks.check(shared(words=words), ROOT / "config.schema.yaml")
