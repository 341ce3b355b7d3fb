"""Predictors of one's own: columns, functions of them, words before and after, other LMs' surprisal."""

import json

import numpy as np
import pandas as pd
import pytest

from crosslmm.design import basis_of
from crosslmm.model import lmer
from recency.errors import InputError
from recency.regression import fit as regression
from recency.regression import prediction, random_effects
from recency.regression import predictor_names as names
from recency.regression.coding import raw
from recency.regression.designs import formula_of
from recency.regression.inputs import Inputs
from recency.regression.texts import read_texts, shifted, word_values

DESIGN = {
    "of_interest": ["surprisal"],
    "base": "all",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Write 10 readers of 40 sentences in 4 items: words with cloze and frame, rows with condition."""
    folder = tmp_path_factory.mktemp("own")
    random = np.random.default_rng(5)
    position, sentence = np.tile(np.arange(1, 9), 40), np.repeat(np.arange(40), 8)
    n = len(position)
    words = pd.DataFrame({"item": [f"t{s // 10}" for s in sentence], "sentence": sentence})
    words["position"], words["word_id"] = position, np.arange(n)
    words["word"] = ["w" * k for k in random.integers(1, 11, n)]
    words["cloze"] = random.uniform(0.01, 1, n)
    words.loc[[9, 50], "cloze"] = np.nan
    words["frame"] = random.choice(list("uvwxyz"), n)
    words["kind"] = random.choice(["open", "closed class"], n)
    words = words.astype({"sentence": "int32", "position": "int32", "word_id": "int32"})
    words.to_parquet(folder / "words.parquet", index=False)
    bits = {name: random.gamma(4, 2, n) for name in ("lm", "other", "unigram")}
    for name, values in bits.items():
        frame = pd.DataFrame({"word_id": np.arange(n), "surprisal_bits": values})
        frame["entropy_bits"], frame["rank"] = random.gamma(3, 1, n), random.integers(1, 99, n)
        frame["surprisal_context_2_bits"] = values + 1
        frame.to_parquet(folder / f"{name}.parquet", index=False)
    subject, word = np.divmod(np.arange(10 * n), n)
    rows = pd.DataFrame({"subject": [f"s{s}" for s in subject], "word_id": word})
    rows["previous_fixated"] = True
    rows["condition"] = np.array(["low", "mid", "high"])[(subject + sentence[word]) % 3]
    rows["load"] = random.normal(0, 1, len(rows))
    effect = {"low": 0, "mid": 15, "high": 40}
    time = 300 + random.normal(0, 40, 10)[subject] + 4 * bits["lm"][word] + 3 * bits["other"][word]
    time += 20 * np.log(words.cloze.fillna(0.5).to_numpy())[word] + 12 * rows["load"].to_numpy()
    time += rows.condition.map(effect).to_numpy() + random.normal(0, 30, len(rows))
    frames = {name: random.normal(0, 15) for name in "uvwxyz"}
    rows["time_ms"] = time + words.frame.map(frames).to_numpy()[word]
    part = (subject + sentence[word]) % 4
    for name, parts in {"fit": (0, 1), "exploratory": (2,), "held_out": (3,)}.items():
        rows[np.isin(part, parts)].to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def run(study, out, formula, model="full", lm="lm", others=(), second_lm=None, **design):
    regression.main(
        Inputs(
            words=study / "words.parquet",
            fit=study / "fit.parquet",
            exploratory=study / "exploratory.parquet",
            surprisal=lm and study / f"{lm}.parquet",
            others={name: study / f"{name}.parquet" for name in others},
            second_lm=second_lm,
        ),
        out=out / "out.json",
        lm=lm or "none",
        design=DESIGN | {"formula": formula} | design,
        model=model,
    )
    return json.loads((out / "out.json").read_text())


def table(study, partition="fit"):
    """Return a partition with all that is known of its words, for lme4 itself."""
    rows = pd.read_parquet(study / f"{partition}.parquet")
    words = pd.read_parquet(study / "words.parquet")
    words["length"] = words.word.str.len()
    for lm, column in (("lm", "surprisal"), ("other", "other")):
        frame = pd.read_parquet(study / f"{lm}.parquet")
        words[column], words[f"entropy_{lm}"] = frame.surprisal_bits, frame.entropy_bits
    for k in (1, 2):
        words[f"before{k}"] = words.groupby("item").surprisal.shift(k, fill_value=0)
    words["after"] = words.groupby("item").length.shift(-1, fill_value=0)
    return rows.merge(words, on="word_id")


def test_names_are_taken_apart():
    assert names.split("surprisal") == names.Name("surprisal")
    assert names.split("previous_cloze") == names.Name("cloze", -1)
    assert names.split("previous12_length") == names.Name("length", -12)
    assert names.split("next_surprisal[GPT-2@seed=2]") == names.Name("surprisal", 1, "GPT-2@seed=2")
    assert names.split("next") == names.Name("next") and names.split("previous_").shift == 0
    assert names.quoted("a + surprisal[x-1] + `b[c]`") == "a + `surprisal[x-1]` + `b[c]`"
    assert names.Name("renyi_0.5_bits").of_lm and not names.Name("rankle").of_lm


def test_words_before_and_after_by_hand(tmp_path):
    words = pd.DataFrame(
        {
            "item": ["a", "a", "a", "b", "b"],
            "sentence": [0, 0, 1, 2, 2],
            "position": [1, 2, 1, 1, 2],
            "word_id": range(5),
            "word": ["The", "cat,", "A", "naïve", "I"],
            "cloze": [0.1, np.nan, 0.3, 0.4, 0.5],
            "kind": ["d", "n", "d", "a", "p"],
        }
    )
    words.to_parquet(tmp_path / "words.parquet")
    lm = pd.DataFrame({"word_id": range(5), "surprisal_bits": [np.nan, 2.0, 4.0, 8.0, 16.0]})
    lm.assign(entropy_bits=[1.0, 2, 3, 4, 5]).to_parquet(tmp_path / "lm.parquet")
    files = [tmp_path / "words.parquet", None, tmp_path / "lm.parquet", "plain", True]
    in_item = read_texts(*files, {"B": tmp_path / "lm.parquet"})
    expected = {
        "previous2_length": [0, 0, 3, 0, 0],
        "previous_length": [0, 3, 4, 0, 5],
        "next_length": [4, 1, 0, 1, 0],
        "next2_surprisal": [4, 0, 0, 0, 0],
        "previous2_surprisal": [0, 0, 0, 0, 0],  # a text's first word has none
        "previous_surprisal[B]": [0, 0, 2, 0, 8],
        "previous_entropy": [0, 1, 2, 0, 4],
        "entropy_bits[B]": [1, 2, 3, 4, 5],
        "previous_cloze": [0, 0.1, np.nan, 0, 0.4],
        "previous_kind": ["none", "d", "n", "none", "a"],
        "next_word": ["cat,", "A", "none", "I", "none"],
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(word_values(in_item, name), np.array(values), err_msg=name)
    in_sentence = read_texts(*files, None, "sentence")
    for name, values in {
        "previous_length": [0, 3, 0, 0, 5],
        "next_length": [4, 0, 0, 1, 0],
        "previous2_length": [0, 0, 0, 0, 0],
    }.items():
        np.testing.assert_array_equal(word_values(in_sentence, name), values, err_msg=name)
    by_fixation = read_texts(*files, {"B": tmp_path / "lm.parquet"}, "fixation")
    rows = pd.DataFrame(
        {
            "subject": list("ssrrs"),
            "word_id": [1, 2, 2, 3, 4],
            "words_since_fixation": [1, 2, 1, 2, 0],
        }
    )  # word 3 begins a text; nothing of its text was fixated before 4
    for name, values in {
        "previous_length": [3, 3, 4, 0, 0],
        "previous_surprisal": [0, 0, 2, 0, 0],
        "previous_surprisal[B]": [0, 0, 2, 0, 0],
        "previous_kind": ["d", "d", "n", "none", "none"],
        "length": [4, 1, 1, 5, 1],
    }.items():
        np.testing.assert_array_equal(raw(name, rows, by_fixation, "rows"), np.array(values), name)
    for name, frame in (
        ("previous2_length", rows),
        ("next_length", rows),
        ("previous_length", rows[["subject", "word_id"]]),
    ):
        with pytest.raises(InputError, match="with `spillover: fixation`, "):
            raw(name, frame, by_fixation, "rows")
    assert word_values(in_item, "clozee") is None and word_values(in_item, "next_clozee") is None
    with pytest.raises(InputError, match=r"lm.parquet has no 'entropy_reduction'; did you mean"):
        word_values(in_item, "entropy_reduction")
    assert shifted(np.arange(3.0), 9, np.zeros(3)).tolist() == [0, 0, 0]


def test_poly_is_r_s(study):
    from rpy2 import robjects

    x = np.random.default_rng(0).gamma(3, 2, 60) + 100
    values = np.append(x, x[:20])
    ours = basis_of(x, 4, "x", np.where(np.arange(60) < 20, 2.0, 1.0))
    robjects.globalenv["x"] = robjects.FloatVector(values)
    robjects.globalenv["new"] = robjects.FloatVector(x + 1)
    theirs = np.array(robjects.r("unclass(poly(x, 4))")).reshape(len(values), 4)
    np.testing.assert_allclose(ours.values(values), theirs, atol=1e-9)
    theirs = np.array(robjects.r("predict(poly(x, 4), new)")).reshape(len(x), 4)
    np.testing.assert_allclose(ours.values(x + 1), theirs, atol=1e-8)
    with pytest.raises(InputError, match="2 different values have polynomials up to degree 1"):
        basis_of(np.array([1.0, 2.0, 2.0]), 2, "x")


FORMULAS = {
    "time_ms ~ log(cloze) + condition*surprisal + (1 | subject) + (1 | frame)": None,
    "time_ms ~ poly(cloze, 2) + load + surprisal + (1 + load | subject) + (1 | word)": None,
    "time_ms ~ I(cloze * length) + scale(load) + surprisal + (1 | subject) + (surprisal | frame)": (
        None
    ),
    "time_ms ~ kind + surprisal + previous_surprisal + previous2_surprisal + next_length"
    " + (1 | subject)": (
        "time_ms ~ kind + surprisal + before1 + before2 + after + (1 | subject)"
    ),
    "time_ms ~ surprisal + surprisal[other] + entropy[other] + (1 | subject) + (1 | frame)": (
        "time_ms ~ surprisal + other + entropy_other + (1 | subject) + (1 | frame)"
    ),
    "time_ms ~ surprisal + entropy + (1 | subject) + (1 | frame) + (1 | sentence)": (
        "time_ms ~ surprisal + entropy_lm + (1 | subject) + (1 | frame) + (1 | sentence)"
    ),
    "time_ms ~ load + surprisal + (1 | subject) + (1 | subject:condition)": None,
}  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_fits_are_lme4_s_own(study, tmp_path, formula):
    ours = run(study, tmp_path, formula, others=["other"])
    rows = table(study)
    theirs = lmer(FORMULAS[formula] or formula, rows, engine="lme4")
    assert ours["loglik"]["fit"] == pytest.approx(theirs.loglik, abs=1e-3)
    assert ours["n"]["fit"] == theirs.nobs
    assert len(ours["fixed"]) == len(theirs.fixed)
    # From the JSON file alone, on rows that were not fitted.
    files = {"other": study / "other.parquet"}
    rows_of = study / "held_out.parquet"
    read = Inputs(study / "words.parquet", rows_of, surprisal=study / "lm.parquet", others=files)
    texts = read.texts(ours)
    held_out = prediction.rows_for(ours, rows_of, texts)
    others = table(study, "held_out")
    if "cloze" in formula:
        others = others[others.cloze.notna()]
        assert held_out.dropped["rows"] == held_out.dropped["cloze"] > 0
    expected = theirs.predict(others)
    np.testing.assert_allclose(prediction.predict(ours, held_out), expected, atol=0.2)


def test_effects_are_recovered(study, tmp_path):
    formula = (
        "time_ms ~ log(cloze) + load + condition + surprisal + surprisal[other]"
        " + (1 | subject) + (1 | frame)"
    )
    full = run(study, tmp_path, formula, others=["other"])
    found = {e["term"]: e["estimate"] / full["scaling"][e["term"]]["sd"] for e in full["fixed"][1:]}
    errors = {e["term"]: e["se"] / full["scaling"][e["term"]]["sd"] for e in full["fixed"][1:]}
    truth = {"`log(cloze)`": 20, "load": 12, "surprisal": 4, "`surprisal[other]`": 3}
    reference = full["reference"]["condition"].removeprefix("condition_")
    effect = {"low": 0, "mid": 15, "high": 40}
    levels = [level for level in effect if level != reference]
    truth |= {f"condition_{level}": effect[level] - effect[reference] for level in levels}
    for term, value in truth.items():
        assert found[term] == pytest.approx(value, abs=3.5 * errors[term]), term
    assert full["converged"], full["note"]


def test_the_base_has_the_same_rows_and_nothing_of_the_lm(study, tmp_path):
    formula = (
        "time_ms ~ log(cloze) + length + surprisal + I(surprisal^2) + entropy + previous_rank"
        " + surprisal[other] + (1 + entropy + length | subject)"
    )
    full = run(study, tmp_path, formula, others=["other"])
    base = run(study, tmp_path, formula, "base", lm=None, others=["other"])
    assert base["formula"] == (
        "time_ms ~ 1 + `log(cloze)` + length + `surprisal[other]` + (1 + length | subject)"
    )
    assert base["n"] == full["n"] and base["dropped"] == full["dropped"]
    fixed = run(study, tmp_path, formula, "base", others=["other"], base="fixed")
    assert "entropy" in fixed["formula"] and "surprisal^2" not in fixed["formula"]
    # What is missing counts even where the base has no such term.
    asked = {"of_interest": ["surprisal", "log(cloze)"], "others": ["other"]}
    without = run(study, tmp_path, formula, "base", **asked)
    assert "cloze" not in without["formula"] and without["n"] == full["n"]


def test_two_lms_in_one_model_have_each_other_s_terms(study, tmp_path):
    formula = "time_ms ~ length*surprisal + entropy + (1 + surprisal | subject) + (1 | sentence)"
    both = run(study, tmp_path, formula, others=["other"], second_lm="other")
    assert [effect["term"] for effect in both["fixed"]] == [
        "(Intercept)", "length", "surprisal", "entropy", "`surprisal[other]`", "`entropy[other]`",
        "length:surprisal", "length:`surprisal[other]`",
    ]  # fmt: skip
    assert both["random"]["subject"]["terms"] == ["(Intercept)", "surprisal", "`surprisal[other]`"]
    assert both["second_lm"] == "other" and "lme4's optimiser" not in both["note"]
    rows = table(study)
    theirs = lmer(
        "time_ms ~ length*surprisal + length*other + entropy_lm + entropy_other"
        " + (1 + surprisal + other | subject) + (1 | sentence)",
        rows,
        engine="lme4",
    )
    assert both["loglik"]["fit"] == pytest.approx(theirs.loglik, abs=0.05)


def test_the_structure_of_coded_terms_is_searched(study, tmp_path):
    text = (
        "time_ms ~ poly(cloze, 2) + scale(load) + condition + surprisal"
        " + (1 + load | subject) + (1 | frame)"
    )
    design = DESIGN | {"formula": text}
    path = study / "fit.parquet"
    random_effects.main(
        Inputs(
            words=study / "words.parquet",
            fit=path,
            surprisal=study / "lm.parquet",
        ),
        out=[tmp_path / "path.csv"],
        design=design,
        maximal="(1 + scale(load) + surprisal | subject) + (1 | frame)",
    )
    last = pd.read_csv(tmp_path / "path.csv").iloc[-1]
    assert "| frame)" in last.formula and last.converged


@pytest.mark.parametrize(
    "formula,message",
    [
        ("time_ms ~ clozee + surprisal + (1 | subject)", "did you mean 'cloze'"),
        ("time_ms ~ log(clozee) + surprisal + (1 | subject)", "did you mean 'cloze'"),
        ("time_ms ~ previous_clozee + surprisal + (1 | subject)", "did you mean 'previous_cloze'"),
        ("time_ms ~ previous_load + surprisal + (1 | subject)", "load is no column of the words"),
        ("time_ms ~ surprisal + (1 | framee)", "no grouping variable is called 'framee'; did you"),
        ("time_ms ~ surprisal + surprisl[other] + (1 | subject)", "an LM gives no 'surprisl'"),
        ("time_ms ~ log(load) + surprisal + (1 | subject)", r"log\(load\) is nan where load -"),
        ("time_ms ~ log(kind) + surprisal + (1 | subject)", "kind has names such as"),
        ("time_ms ~ pmi + surprisal + (1 | subject)", "lm.parquet has no 'pmi'; known"),
        ("time_ms ~ poly(previous_kind, 2) + surprisal + (1 | subject)", "not numbers"),
    ],
)
def test_what_cannot_be_used_is_named(study, tmp_path, formula, message):
    with pytest.raises(InputError, match=message):
        run(study, tmp_path, formula)


def test_of_interest_is_a_term_or_what_terms_are_made_of():
    def base(interest, formula="surprisal + I(surprisal^2) + surprisal[B] + surprisal:length"):
        design = DESIGN | {"formula": f"time_ms ~ {formula} + (1 | subject)", "base": "fixed"}
        return formula_of(design | {"of_interest": interest}, "base").fixed[1:]

    assert base(["surprisal"]) == ("`surprisal[B]`",)
    assert base(["I(surprisal ^ 2)"]) == ("surprisal", "`surprisal[B]`", "surprisal:length")
    assert base(["surprisal[B]"]) == ("surprisal", "I(surprisal^2)", "surprisal:length")
    with pytest.raises(InputError, match="of_interest names 'surprise'"):
        base(["surprise"])


@pytest.fixture(scope="module")
def by_reader(study, tmp_path_factory):
    """Return the folder of a study with a value per reader and word in `reader` and in its rows."""
    folder, random = tmp_path_factory.mktemp("readers"), np.random.default_rng(8)
    rows = {part: pd.read_parquet(study / f"{part}.parquet") for part in ("fit", "exploratory")}
    words = pd.read_parquet(study / "words.parquet")
    values = pd.concat(rows.values(), ignore_index=True)[["subject", "word_id"]]
    values["surprisal_bits"] = random.gamma(4, 2, len(values))
    # A reader jumps back at random; of a text's words among the observations, some are the first.
    of_text = values.assign(item=words["item"].to_numpy()[values.word_id])
    of_text = of_text.sample(frac=1, random_state=1)
    previous = of_text.groupby(["subject", "item"]).word_id.shift(1, fill_value=-1)
    values["previous_word_id"] = previous.reindex(values.index).astype("int32")
    bits = values.set_index(["subject", "word_id"]).surprisal_bits
    before = values.set_index(["subject", "word_id"]).previous_word_id
    for part, frame in rows.items():
        keys = list(zip(frame.subject, frame.word_id))
        frame["mine"] = [bits[key] for key in keys]
        twice = [(s, before[s, w]) for s, w in keys]
        frame["mine_before"] = [bits[key] if key[1] >= 0 else 0.0 for key in twice]
        third = [(s, before[s, w] if w >= 0 else -1) for s, w in twice]
        frame["mine_before2"] = [bits[key] if key[1] >= 0 else 0.0 for key in third]
        frame["time_ms"] += 5 * frame.mine + 3 * frame.mine_before
        frame.to_parquet(folder / f"{part}.parquet", index=False)
    values.sample(frac=1, random_state=2).to_parquet(folder / "reader.parquet", index=False)
    for name in ("words", "lm", "other"):
        (folder / f"{name}.parquet").write_bytes((study / f"{name}.parquet").read_bytes())
    return folder


def test_surprisal_by_reader_is_that_of_the_reader_and_word(by_reader, tmp_path):
    """Spillover is of the word that the reader fixated before; as the rows' own columns have it."""
    formula = "time_ms ~ length + {0} + {1} + {2} + surprisal[other] + (1 + {0} | subject)"
    ours = formula.format("surprisal", "previous_surprisal", "previous2_surprisal")
    theirs = formula.format("mine", "mine_before", "mine_before2")
    fitted = run(by_reader, tmp_path, ours, lm="reader", others=["other"])
    named = run(
        by_reader, tmp_path, theirs, lm=None, others=["other"], of_interest=["mine", "mine_before"]
    )
    estimates = [[e["estimate"] for e in record["fixed"]] for record in (fitted, named)]
    np.testing.assert_allclose(*estimates, rtol=1e-5)
    assert abs(estimates[0][2]) > 5


@pytest.mark.parametrize(
    "formula, message",
    [
        (
            "time_ms ~ surprisal + next_surprisal + (1 | subject)",
            "next_surprisal is not defined for",
        ),
        ("time_ms ~ surprisal + entropy[reader] + (1 | subject)", "has no 'entropy'"),
    ],
)
def test_what_readers_do_not_have_is_refused(by_reader, tmp_path, formula, message):
    with pytest.raises(InputError, match=message):
        run(by_reader, tmp_path, formula, lm="reader", others=["reader"])


def test_observations_without_a_fixation_are_counted(by_reader, tmp_path):
    table = pd.read_parquet(by_reader / "reader.parquet")
    few = table[(table.subject != "s3") & (table.word_id != 40)]
    for name in ("words", "fit", "exploratory"):
        (tmp_path / f"{name}.parquet").write_bytes((by_reader / f"{name}.parquet").read_bytes())
    few.to_parquet(tmp_path / "reader.parquet", index=False)
    with pytest.raises(InputError, match=r"of words without a fixation .* \(1 readers have none"):
        run(tmp_path, tmp_path, "time_ms ~ surprisal + (1 | subject)", lm="reader")
