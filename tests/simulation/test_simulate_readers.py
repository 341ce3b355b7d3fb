"""Simulated readers, and the recovery of what was put into them."""

import json

import numpy as np
import pandas as pd
import pytest

from recency.errors import InputError
from recency.evaluations.reading_times import recovery
from recency.simulation import readers
from recency.simulation import responses as simulate_readers
from recency.simulation import stimuli as simulate_stimuli
from recency.simulation.readers import SHORTEST, WORD_TERMS, residuals

COEFFICIENTS = {
    "intercept": 340.0,
    "length": 3.0,
    "position": -1.0,
    "unigram": 1.5,
    "surprisal": 4.0,
    "previous_surprisal": 3.0,
}
SKIPPING = {
    "intercept": 1.4,
    "length": 0.4,
    "unigram": 0.06,
    "surprisal": 0.06,
    "previous_fixated": -0.5,
    "subject_sd": 0.5,
}
READERS = {
    "subjects": 30,
    "seed": 5,
    "coefficients": COEFFICIENTS,
    "subject_sd": {},
    "sentence_sd": 0.0,
    "residual_sd": 95.0,
}


# The readers


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Words and made-up surprisals: frequencies of the text, and a skewed variable related to it."""
    folder = tmp_path_factory.mktemp("inputs")
    words = simulate_stimuli.stimuli(seed=2, stories=12)
    words.insert(0, "word_id", np.arange(len(words), dtype=np.int32))
    bare = words.word.str.strip('".,').str.lower()
    counts = bare.map(bare.value_counts())
    unigram = -np.log2(counts / len(words))
    draws = np.random.default_rng(1)
    surprisal = 0.4 * unigram + draws.gamma(1.5, 1.5, len(words))
    paths = {name: folder / f"{name}.parquet" for name in ("words", "surprisal", "unigram")}
    words.to_parquet(paths["words"])
    for name, bits in (("surprisal", surprisal), ("unigram", unigram)):
        frame = pd.DataFrame({"word_id": words.word_id, "surprisal_bits": bits})
        frame.to_parquet(paths[name])
    return paths


def simulate(inputs, folder, measure="SPR", **changes):
    paths = folder / f"{measure}.csv", folder / f"{measure}.json"
    settings = READERS | {"measure": measure, "reader": "reader"} | changes
    simulate_readers.main(**inputs, out_responses=paths[0], out_truth=paths[1], **settings)
    return pd.read_csv(paths[0]), json.loads(paths[1].read_text()), paths


def design(inputs, responses):
    """Give the predictors (natural units) of each response, worked out anew."""
    words = pd.read_parquet(inputs["words"])
    x = pd.DataFrame({"length": words.word.map(len), "position": words.position}, dtype=float)
    for name in ("unigram", "surprisal"):
        x[name] = pd.read_parquet(inputs[name]).surprisal_bits
    x["previous_surprisal"] = x.surprisal.groupby(words["item"]).shift(1, fill_value=0)
    return pd.concat([x] * responses.subject.nunique(), ignore_index=True)


def least_squares(x, y):
    """Regress y on z-scores of x; return (a fit as the regression writes it)."""
    scaling = {name: {"mean": x[name].mean(), "sd": x[name].std()} for name in x.columns}
    z = (x - x.mean()) / x.std()
    matrix = np.column_stack([np.ones(len(z)), z])
    estimate, *_ = np.linalg.lstsq(matrix, y, rcond=None)
    residual = y - matrix @ estimate
    sigma = np.sqrt(residual @ residual / (len(y) - matrix.shape[1]))
    se = sigma * np.sqrt(np.diag(np.linalg.inv(matrix.T @ matrix)))
    terms = ["(Intercept)", *x.columns]
    return {
        "lm": "reader",
        "fixed": [
            {"term": term, "estimate": b, "se": s}
            for term, b, s in zip(terms, estimate, se, strict=True)
        ],
        "scaling": scaling,
        "random": {"subject": {"terms": [], "sd": []}, "sentence": {"sd": 0.0}},
        "sigma": sigma,
        "n": len(y),
    }


def test_the_same_readers_every_time(inputs, tmp_path):
    first = simulate(inputs, tmp_path, subjects=3)[2]
    bytes_ = [path.read_bytes() for path in first]
    again = simulate(inputs, tmp_path, subjects=3)[2]
    assert [path.read_bytes() for path in again] == bytes_
    other = simulate(inputs, tmp_path, subjects=3, seed=6)[2]
    assert other[0].read_bytes() != bytes_[0]


def test_effects_come_back_from_least_squares(inputs, tmp_path):
    responses, truth, _ = simulate(inputs, tmp_path)
    x = design(inputs, responses)
    fit = least_squares(x, responses.time_ms.to_numpy(float))
    table = recovery.compare(truth, [fit], {}).query("part == 'fixed'").set_index("term")
    assert (abs(table.estimate - table.truth) < 4 * table.se).all()
    assert table.se.max() < 1
    assert table.estimate_per_unit["surprisal"] == pytest.approx(4, abs=0.6)
    assert table.covered.sum() >= 4
    assert fit["sigma"] == pytest.approx(95, rel=0.03)


def test_effects_come_back_from_eye_movements(inputs, tmp_path):
    effects = COEFFICIENTS | {"previous_fixated": -25.0}
    responses, truth, _ = simulate(
        inputs, tmp_path, "FP", coefficients=effects, skipping=SKIPPING, residual_sd=70
    )
    x = design(inputs, responses)
    x["previous_fixated"] = responses.previous_fixated.astype(float)
    seen = responses.fixated.to_numpy()
    fit = least_squares(x[seen], responses.time_ms[seen].to_numpy(float))
    table = recovery.compare(truth, [fit], {}).query("part == 'fixed'").set_index("term")
    assert (abs(table.estimate - table.truth) < 4 * table.se).all()
    assert table.estimate_per_unit["previous_fixated"] == pytest.approx(-25, abs=4)


def test_skipping(inputs, tmp_path):
    responses, _, _ = simulate(inputs, tmp_path, "FP", skipping=SKIPPING)
    assert list(responses) == [*readers.COLUMNS, *readers.OF_EYES]  # as checks know them
    assert (responses.time_ms[~responses.fixated] == 0).all()
    assert (responses.time_ms[responses.fixated] >= SHORTEST).all()
    assert 0.15 < 1 - responses.fixated.mean() < 0.5
    length = responses.word.str.len()
    assert responses.fixated[length >= 7].mean() > responses.fixated[length <= 3].mean() + 0.2
    groups = responses.groupby(["subject", "item"], sort=False)
    before = groups.fixated.shift(1, fill_value=False)
    assert (responses.previous_fixated == before).all()
    first = groups.cumcount() == 0
    since = groups.words_since_fixation.shift(1, fill_value=0).where(~before, 0) + 1
    assert (responses.words_since_fixation == since.where(~first, 1)).all()


def test_filters_have_something_to_do(inputs, tmp_path):
    responses, _, _ = simulate(inputs, tmp_path, slips=0.002, lapses=0.002, wrong=0.06)
    assert set(responses.correct) == {"c", "e", "-"}
    assert 0.01 < (responses.correct == "e").mean() < 0.06
    answers = responses.groupby(["subject", "sentence"]).correct.nunique()
    assert (answers == 1).all()
    assert 0.001 < (responses.time_ms <= 100).mean() < 0.004
    assert 0.001 < (responses.time_ms >= 3000).mean() < 0.004
    assert responses.subject.unique().tolist() == sorted(responses.subject.unique())


def test_each_subject_reads_some_of_the_texts(inputs, tmp_path):
    every, _, _ = simulate(inputs, tmp_path)
    some, truth, _ = simulate(inputs, tmp_path, items=3)
    assert (some.groupby("subject")["item"].nunique() == 3).all()
    assert some["item"].nunique() == every["item"].nunique() == 12
    assert truth["items"] == 3
    keys = ["subject", "sentence", "position"]
    both = some.merge(every, on=keys, suffixes=("", "_every"))
    assert len(both) == len(some) and (both.time_ms == both.time_ms_every).all()
    with pytest.raises(InputError, match="items is 13, but there are 12 texts"):
        simulate(inputs, tmp_path, items=13)


def test_subjects_and_sentences_vary_as_told(inputs, tmp_path):
    spread = {"intercept": 50.0, "surprisal": 6.0}
    responses, truth, _ = simulate(
        inputs, tmp_path, subjects=60, subject_sd=spread, subject_correlation=0.5, residual_sd=40
    )
    x = design(inputs, responses)
    slopes = []
    for _, rows in responses.groupby("subject"):
        z = x.loc[rows.index] - x.mean()
        matrix = np.column_stack([np.ones(len(z)), z])
        slopes.append(np.linalg.lstsq(matrix, rows.time_ms.to_numpy(float), rcond=None)[0])
    found = np.array(slopes)[:, [0, 4]]
    assert found.std(axis=0, ddof=1) == pytest.approx([50, 6], rel=0.25)
    assert 0.2 < np.corrcoef(found.T)[0, 1] < 0.8
    assert truth["random"]["subject"]["correlation"] == [[1, 0.5], [0.5, 1]]


def test_the_truth_is_whole(inputs, tmp_path):
    spread = {"intercept": 50.0, "surprisal": 2.0}
    _, truth, _ = simulate(inputs, tmp_path, "FP", subject_sd=spread, skipping=SKIPPING)
    assert {row["term"] for row in truth["fixed"]} == set(recovery.NAMES)
    assert all(row["unit"].startswith("ms") for row in truth["fixed"])
    assert truth["reader"] == "reader" and truth["seed"] == 5 and truth["measure"] == "FP"
    assert set(truth["centres"]) == set(WORD_TERMS)
    assert truth["random"]["subject"]["terms"] == ["(Intercept)", "surprisal"]
    assert truth["random"]["subject"]["sd"] == [50, 2]
    assert truth["random"]["sentence"]["sd"] == [0]
    assert truth["sigma"] == 95 and truth["skipping"] == SKIPPING


def test_residuals_have_mean_zero_and_the_sd_asked_for():
    noise = residuals(np.random.default_rng(1), (400, 1000), 95, 0.6)
    assert noise.mean() == pytest.approx(0, abs=1)
    assert noise.std() == pytest.approx(95, rel=0.02)
    assert (noise**3).mean() / noise.std() ** 3 == pytest.approx(2.26, rel=0.15)


def test_mistakes_are_named(inputs, tmp_path):
    with pytest.raises(InputError, match="coefficients has no term 'suprisal'"):
        simulate(inputs, tmp_path, coefficients={"suprisal": 1})
    with pytest.raises(InputError, match="coefficients has no term 'previous_fixated'"):
        simulate(inputs, tmp_path, coefficients={"previous_fixated": 1})
    with pytest.raises(InputError, match="cannot all have a correlation of 1"):
        sd = {"intercept": 1, "length": 1}
        simulate(inputs, tmp_path, subject_sd=sd, subject_correlation=1)


# Recovery


@pytest.fixture
def truth():
    values = {"(Intercept)": 300.0, "length": 3.0, "surprisal": 4.0}
    return {
        "reader": "B",
        "fixed": [{"term": t, "value": v, "unit": "ms"} for t, v in values.items()],
        "random": {
            "subject": {
                "terms": ["(Intercept)", "surprisal"],
                "sd": [50.0, 2.0],
                "correlation": [[1, 0.5], [0.5, 1]],
            },
            "sentence": {"terms": ["(Intercept)"], "sd": [10.0]},
        },
        "sigma": 95.0,
        "centres": {"length": 4.0, "surprisal": 6.0},
    }


SCALING = {"length": {"mean": 5.0, "sd": 2.0}, "surprisal": {"mean": 8.0, "sd": 3.0}}


def fit(lm, sd=3.0):
    scaling = {"length": {"mean": 5.0, "sd": 2.0}, "surprisal": {"mean": 8.0, "sd": sd}}
    estimates = {"(Intercept)": (312.0, 8.0), "length": (6.5, 0.4), "surprisal": (9.0, 0.5)}
    return {
        "lm": lm,
        "fixed": [{"term": t, "estimate": e, "se": s} for t, (e, s) in estimates.items()],
        "scaling": scaling,
        "random": {
            "subject": {"terms": ["(Intercept)", "surprisal"], "sd": [52.0, 5.0]},
            "sentence": {"sd": [9.0]},
        },
        "sigma": 96.0,
    }


def test_standardised_truth(truth):
    made = recovery.standardised(truth, SCALING)
    assert made["fixed"] == {"(Intercept)": 300 + 3 * 1 + 4 * 2, "length": 6, "surprisal": 12}
    # var(u0 + 2 u1) with sds 50 and 2 and covariance 50
    expected = {"(Intercept)": np.sqrt(2500 + 4 * 4 + 4 * 50), "surprisal": 6.0}
    assert made["subject"] == pytest.approx(expected)
    assert made["sentence"] == {"(Intercept)": 10.0} and made["residual"] == {"": 95.0}


def test_table_of_recovery(truth):
    table = recovery.compare(truth, [fit("A", sd=4.0), fit("B")], {"A": "LM A"})
    assert list(table.columns) == recovery.COLUMNS
    own = table[table.lm == "B"].set_index(["part", "term"])
    assert own.loc[("fixed", "length"), "covered"]
    assert not own.loc[("fixed", "surprisal"), "covered"]
    assert own.loc[("fixed", "surprisal"), "estimate_per_unit"] == 3.0
    assert own.loc[("fixed", "surprisal"), "truth_per_unit"] == 4.0
    assert own.loc[("residual sd", ""), "estimate"] == 96
    # Every LM is held to an sd of the readers' surprisal, which is B's.
    fixed = table[(table.part == "fixed") & (table.term == "surprisal")]
    assert fixed.truth.tolist() == [12, 12]
    assert table.label.unique().tolist() == ["LM A", "B"]


def test_a_base_fit_is_refused(truth):
    base = fit("B")
    base["fixed"] = base["fixed"][:2]
    with pytest.raises(InputError, match="the fit of B has no surprisal"):
        recovery.compare(truth, [base], {})


@pytest.mark.merge
def test_figure_of_recovery(truth, tmp_path):
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    fits = []
    for lm in ("A", "B"):
        fits.append(tmp_path / f"{lm}.json")
        fits[-1].write_text(json.dumps(fit(lm)))
    lms = [
        {"lm": "A", "label": "LM A", "bias": {"form": "none"}, "applied": "none"},
        {
            "lm": "B",
            "label": "LM B",
            "bias": {"form": "linear", "slopes": "mix"},
            "applied": "training",
        },
    ]
    runs = []
    for run in ("first", "second"):
        out = [tmp_path / run / f"recovery.{ending}" for ending in ("csv", "svg", "pdf", "png")]
        recovery.main(truth=tmp_path / "truth.json", fits=fits, out=out, lms=lms)
        runs.append([path.read_bytes() for path in out])
    assert runs[0] == runs[1]
    with pytest.raises(InputError, match="no fits to compare"):
        recovery.main(truth=tmp_path / "truth.json", fits=[], out=[])
