"""Mazes: foils whose surprisal is known, choices counted by hand, contrasts against scipy."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from scipy import stats

from project import SCHEMA, load, merged, show
from readingtimes.contracts import word_table
from recency.errors import REFUSALS
from recency.evaluations.contrasts import paired
from recency.evaluations.contrasts.paired import mark
from recency.evaluations.maze import choices, view
from recency.networks import architectures
from recency.scoring import foils, ngram_surprisal
from recency.scoring.surprisal import Model, score_words
from recency.workflow.config import checks
from small_networks import MIX, TINY, byte_tokenizer

SENTENCES = ["the dog sat", "the dog ran away", "a cat sat"]
FOILS = ["", "ran", "dog", "", "", "a", "cat", None, "the", "ran"]
NONE = {"form": "none"}
#: A bigram model: log10 p, words, log10 backoff.
ARPA = r"""\data\
ngram 1=8
ngram 2=4

\1-grams:
-2.0	<unk>
0	<s>	-0.3
-0.8	the	-0.2
-0.9	dog	-0.1
-1.0	sat	0
-1.1	ran	0
-1.2	a	-0.4
-1.3	cat	0

\2-grams:
-0.1	<s> the
-0.2	the dog
-0.3	dog sat
-0.4	dog ran

\end\
"""


def made():
    split = [text.split() for text in SENTENCES]
    sizes = [len(each) for each in split]
    words = word_table(
        np.repeat(["a", "a", "b"], sizes),
        np.repeat([1, 2, 3], sizes),
        [word for each in split for word in each],
    )
    return words.assign(foil=[each or None for each in FOILS])


def test_texts_have_one_foil_each_behind_what_stands_before_it():
    words = made()
    texts, at, owners = foils.build_texts(words)
    assert texts.word[at].tolist() == ["ran", "dog", "a", "cat", "the", "ran"]
    assert owners.tolist() == [1, 2, 5, 6, 8, 9]
    assert texts[texts["item"] == "2"].word.tolist() == ["the", "dog", "sat", "the", "dog", "a"]
    assert texts.groupby("item", sort=False).size().tolist() == [2, 3, 6, 7, 2, 3]
    assert texts[texts["item"] == "2"].sentence.nunique() == 2 and "foil" not in texts
    whole, at, _ = foils.build_texts(words, whole=True)
    assert whole[whole["item"] == "0"].word.tolist() == [
        "the",
        "ran",
        "sat",
        "the",
        "dog",
        "ran",
        "away",
    ]
    assert whole.word[at].tolist() == ["ran", "dog", "a", "cat", "the", "ran"]
    with pytest.raises(REFUSALS, match=r"foil of word 1 \('dog', item a\) is 'two words'"):
        foils.build_texts(words.assign(foil=words.foil.replace("ran", "two words")))


def test_foils_of_ngrams_are_what_the_model_lists(tmp_path):
    """And an n-gram must lose against a foil that it knows better than the word."""
    (tmp_path / "m.arpa").write_text(ARPA)
    made().to_parquet(tmp_path / "w.parquet")
    ngram_surprisal.main(tmp_path / "w.parquet", tmp_path / "m.arpa", tmp_path / "s.parquet", context="sentence")  # fmt: skip
    found = pd.read_parquet(tmp_path / "s.parquet")
    # the|ran: -0.2 - 1.1; dog|dog: -0.1 - 0.9; dog|a; dog ran|cat: -1.3; a|the: -0.4 - 0.8; cat|ran
    log10 = [math.nan, -1.3, -1.0, math.nan, math.nan, -1.3, -1.3, math.nan, -1.2, -1.1]
    assert found[foils.COLUMN].to_numpy() == pytest.approx(
        -np.array(log10) * math.log2(10), nan_ok=True
    )
    right = (found[foils.COLUMN] > found.surprisal_bits)[found[foils.COLUMN].notna()]
    # away is unknown (-2.0) and cat no likelier behind a (-1.7) than `the` (-1.2): both are lost.
    assert right.tolist() == [True, True, True, False, False, True]


def test_foils_of_networks_are_those_of_their_logits():
    tokenizer = byte_tokenizer([" ".join(SENTENCES)] * 2)
    network = architectures.new(TINY, MIX, tokenizer.get_vocab_size(), seed=0).eval()
    words = made()
    model = Model(network, tokenizer, bos_token="<|endoftext|>")
    found = foils.surprisal(words, lambda texts: score_words(texts, model).table)
    start = tokenizer.token_to_id("<|endoftext|>")
    for row in np.flatnonzero(words.foil.notna()):
        item = words[(words["item"] == words["item"][row]) & (words.word_id < row)]
        before = [start, *tokenizer.encode(" ".join(item.word)).ids]
        ids = [start, *tokenizer.encode(" ".join([*item.word, words.foil[row]])).ids]
        with torch.no_grad():
            logits = network(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        bits = -sum(logits[k - 1, ids[k]].item() for k in range(len(before), len(ids)))
        assert found[row] == pytest.approx(bits / math.log(2), rel=1e-4)
    assert np.isnan(found[words.foil.isna()]).all()


LMS = [
    {"lm": name, "label": name.upper(), "bias": NONE, "applied": "none"}
    for name in ("good", "bad", "table", "shy")
]


def maze(tmp_path, **settings):
    """Make 20 items of two versions and three words, LMs good, bad and shy (all ties), and readers."""
    size = 20 * 2 * 3
    words = pd.DataFrame({"word_id": range(size), "position": np.tile([1, 2, 3], 40), "word": "w"})
    words["frame"] = np.repeat([f"{k}" for k in range(20)], 6)
    words["item"] = np.repeat([f"{k}" for k in range(40)], 3)
    words["condition"] = np.tile(np.repeat(["hard", "easy"], 3), 20)
    words["foil"] = words.word.where(words.position > 1)
    words.to_parquet(tmp_path / "words.parquet")
    random = np.random.default_rng(4)
    plain = 8 + random.normal(size=size) + 3 * ((words.condition == "hard") & (words.position == 3))
    files = []
    wrong = (words.position == 2) & (words.index % 4 == 0)  # of `good`, 20 of 80
    for name, sign in (("good", 1), ("bad", -1), ("shy", 0), ("table", None)):
        path = tmp_path / name / "made.parquet"
        path.parent.mkdir()
        files.append(path)
        frame = pd.DataFrame({"word_id": range(size), "surprisal_bits": plain})
        if sign is not None:
            foil = plain + sign * np.where(wrong, -1.0, 2.0)
            frame[foils.COLUMN] = foil.where(words.foil.notna())
        frame.to_parquet(path)
    readers = pd.concat(
        words.assign(subject=s, correct=(words.word_id + s) % 5 > 0) for s in range(5)
    )
    readers["time_ms"] = np.exp(6 + 0.1 * readers.subject + 0.02 * plain.reindex(readers.index))
    readers.to_parquet(tmp_path / "choices.parquet")
    readers.to_parquet(tmp_path / "fit.parquet")
    paths = {name: tmp_path / f"{name}.csv" for name in ("maze", "contrasts")}
    choices.main(
        tmp_path / "words.parquet", files, paths["maze"], paths["contrasts"], LMS, "good", "frame",
        condition="condition", choices=tmp_path / "choices.parquet",
        times=[tmp_path / "fit.parquet"], **{"contrasts": [CONTRAST]} | settings,
    )  # fmt: skip
    return words, plain, paths


CONTRAST = {"contrast": "last", "label": "Last", "region": "position == 3"}
CONTRAST |= {"high": "condition == 'hard'", "low": "condition == 'easy'"}


def test_accuracy_is_that_of_a_count_by_hand(tmp_path):
    words, plain, paths = maze(tmp_path)
    rows = pd.read_csv(paths["maze"]).set_index(["lm", "level", "group"]).sort_index()
    overall = rows.xs("overall", level="level").droplevel("group")
    wrong = ((words.position == 2) & (words.index % 4 == 0)).sum()
    assert overall.accuracy["good"] == pytest.approx(100 * (80 - wrong) / 80)
    assert overall.accuracy["bad"] == pytest.approx(100 * wrong / 80)
    assert overall.accuracy["shy"] == 0  # ties are no choices
    assert overall.accuracy["readers"] == pytest.approx(80) and overall.words["good"] == 80
    assert overall.difference["bad"] == pytest.approx(
        overall.accuracy["bad"] - overall.accuracy["good"]
    )
    assert (
        overall.difference_low["bad"] <= overall.difference["bad"] <= overall.difference_high["bad"]
    )
    assert overall.perplexity["good"] == pytest.approx(2 ** plain.mean())
    assert rows.accuracy["good", "position", "3"] == 100
    assert rows.loc[("table", "not run")].index.tolist() == [choices.NO_FOILS]
    assert {level for _, level, _ in rows.index} == {"overall", "condition", "position", "not run"}


def test_a_filter_says_which_words_count(tmp_path):
    _, _, paths = maze(tmp_path, filter="condition == 'easy' and position == 3", contrasts=[])
    overall = pd.read_csv(paths["maze"]).query("level == 'overall'").set_index("lm")
    assert overall.words["good"] == 20 and overall.accuracy["good"] == 100


def test_contrasts_are_scipys(tmp_path):
    words, plain, paths = maze(tmp_path)
    found = pd.read_csv(paths["contrasts"]).set_index("lm")
    last = plain[words.position == 3].to_numpy().reshape(20, 2)
    expected = stats.ttest_rel(last[:, 0], last[:, 1])
    for lm in ("good", "bad", "shy"):
        assert (found.t[lm], found.p[lm]) == pytest.approx((expected.statistic, expected.pvalue))
        assert found.difference[lm] == pytest.approx((last[:, 0] - last[:, 1]).mean())
        assert found["items"][lm] == 20 and found.passed[lm]
    assert found.difference["readers"] == pytest.approx(0.02 * found.difference["good"])
    backwards = CONTRAST | {"high": CONTRAST["low"], "low": CONTRAST["high"]}
    turned = paired.tested(words, {"lm": plain.to_numpy()}, [backwards], "frame").iloc[0]
    assert turned.t == pytest.approx(-expected.statistic) and not turned.passed
    assert mark(turned.t, turned.p) == "X"
    nowhere = CONTRAST | {"region": "position == 4"}
    with pytest.raises(
        REFUSALS, match="contrasts → last → region: no word has position == 4; position is 1, 2, 3"
    ):
        paired.tested(words, {"lm": plain.to_numpy()}, [nowhere], "frame")


def test_tables_and_figure_name_what_is_not_run(tmp_path):
    _, _, paths = maze(tmp_path)
    ends = [tmp_path / f"out.{end}" for end in ("csv", "html", "tex")]
    told = tmp_path / "published.csv"
    told.write_text("quantity,value,p\nspearman of accuracy and perplexity,-0.56,0.036\n")
    show(view.table_maze, maze=paths["maze"], out=ends, baseline="good", published=told)
    page = ends[1].read_text()
    assert "Not run: TABLE (no surprisal of the foils)" in page
    assert "published −0.56 (p 0.036), in English" in page and "80 words with a foil" in page
    show(
        view.table_maze_contrasts,
        contrasts=paths["contrasts"],
        maze=paths["maze"],
        out=ends,
        lms=LMS,
    )
    assert pd.read_csv(ends[0]).mark.tolist() == ["***"] * 4
    show(
        view.figure_maze, maze=paths["maze"], out=[tmp_path / "f.svg", tmp_path / "f.csv"], lms=LMS
    )
    drawn = pd.read_csv(tmp_path / "f.csv")
    assert set(drawn.lm) == {"good", "bad", "shy", "readers"}


FAULTS = {
    "dataset: ucl_spr": "maze → dataset: 'ucl_spr' has no column foil",
    "dataset: mze": "no dataset is called 'mze'; did you mean 'maze'?",
    "dataset: maze, measure: FP": "maze → measure: 'maze' has no measure 'FP'",
    "dataset: maze, by: fram": "maze → by: the words have no column 'fram'",
    "dataset: maze, filter: condtion == 'a'": "maze → filter: no column 'condtion'; did you mean 'condition'?",
    "dataset: maze, contrasts: {a: {high: offset, low: offset == 1}}": (
        "maze → contrasts → a → high: it is not true or false"
    ),
}


@pytest.mark.merge
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_met_when_the_config_is_read(fault):
    config = load()
    experiment = {"title": "M", "lms": ["Pythia"], "baseline": "Pythia"}
    experiment["maze"] = yaml.safe_load("{" + fault + "}")
    with pytest.raises(REFUSALS) as error:
        checks.check(merged(config, {"experiments": {"mine": experiment}}), SCHEMA)
    assert FAULTS[fault] in str(error.value)
