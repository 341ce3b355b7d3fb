"""Cross-validation of a regression: its folds, its scores by hand, and made data whose answer is known."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_readers import MIXED, columns, files, parted, readings, texts
from scipy.stats import norm

from recency.errors import InputError
from recency.evaluations.cross_validation import delta_loglik, figure, table
from recency.mixed.levels import levels
from recency.mixed.model import lmer
from recency.regression import folds
from recency.regression.folds import assigned


def scored(folder, model="full", by="sentence", many=5, seed=1, design=MIXED, **changed):
    path = folder / f"cv.{by}.{model}.json"
    folds.main(
        replace(files(folder, lm=model == "full"), **changed), out=path,
        out_observations=path.with_suffix(".parquet"), lm="lm", design=design, model=model, by=by,
        folds=many, seed=seed,
    )  # fmt: skip
    return json.loads(path.read_text()), pd.read_parquet(path.with_suffix(".parquet"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    words = texts(folder)
    parted(folder, readings(words, lambda bits: 3 * bits), words)
    return folder


def test_folds_hold_whole_levels_and_are_even():
    group = levels(np.array(["b", "a", "c", "a", "d", "e", "f", "g", "c"]))
    fold = assigned(group, 3, seed=4)
    assert (fold == assigned(group, 3, seed=4)).all()
    of = {name: set(fold[group.codes == code]) for code, name in enumerate(group.names)}
    assert all(len(there) == 1 for there in of.values())
    sizes = np.bincount([next(iter(there)) for there in of.values()])
    assert sorted(sizes) == [2, 2, 3]
    draws = {tuple(assigned(group, 3, seed=seed)) for seed in range(20)}
    assert len(draws) > 15
    with pytest.raises(
        InputError, match="8 folds by item need as many of them, and there are 7; write 7"
    ):
        assigned(group, 8, seed=1, by="item")


@pytest.mark.parametrize("by", ["subject", "sentence", "item"])
def test_a_fold_is_scored_by_lme4s_fit_to_the_others(made, by):
    """Against lmer() on the rows of the other folds, its own predictions and scipy's densities."""
    record, parts = scored(made, by=by, many=4)
    rows = pd.concat([columns(made, name) for name in ("fit", "exploratory")], ignore_index=True)
    keys = ["subject", "word_id"]
    rows = parts.astype({"subject": str})[[*keys, "fold", "loglik", "loglik_at_zero"]].merge(
        rows, on=keys, validate="1:1"
    )
    assert len(rows) == len(parts) == record["n"]
    assert (rows.groupby(by).fold.nunique() == 1).all() and rows.fold.nunique() == 4
    for fold in range(4):
        train, test = rows[rows.fold != fold], rows[rows.fold == fold]
        # On rows that are scaled as those of the fit are: the likelihood is the same.
        fit = lmer("time_ms ~ length + surprisal + (1 | subject) + (1 | sentence)", train)
        mean = fit.predict(test).to_numpy()
        at_zero = norm.logpdf(test.time_ms, mean, fit.sigma)
        assert test.loglik_at_zero.to_numpy() == pytest.approx(at_zero, abs=1e-5)
        variance = np.full(len(test), fit.sigma**2)
        for group, name in (("subject", "subject"), ("sentence", "sentence")):
            new = ~test[name].isin(train[name])
            spread = fit.random.set_index("group").variance[group]
            variance += new.to_numpy() * spread
        predicted = norm.logpdf(test.time_ms, mean, np.sqrt(variance))
        assert test.loglik.to_numpy() == pytest.approx(predicted, abs=1e-5)
        of_fold = record["fits"][fold]
        assert (of_fold["n"], of_fold["n_fit"]) == (len(test), len(train))
        assert of_fold["predictive"] == pytest.approx(test.loglik.sum())
    assert record["at_zero"] == pytest.approx(parts.loglik_at_zero.sum())
    assert record["predictive"] >= record["at_zero"]  # the spread of what is new was left out


def test_all_observations_of_a_whole_dataset(made):
    _, parts = scored(made, by="item", many=8, exploratory=None)
    assert len(parts) == len(columns(made))


def compared(folder, out, labels=("made",)):
    """Collect the folder's full and base models, one response a label."""
    cells = [
        {"lm": "lm", "label": "LM", "dataset": name, "measure": "SPR", "design": "d"}
        for name in labels
    ]
    paths = [[folder / f"cv.sentence.{model}.{ending}"] * len(cells)
             for ending in ("json", "parquet") for model in ("full", "base")]  # fmt: skip
    delta_loglik.main(*paths, out, cells=cells)
    return pd.read_csv(out)


@pytest.mark.merge
def test_an_effect_helps_and_noise_does_not(tmp_path):
    """Noise costs about what its parameter does, so ΔLogLik is below 0 on average over draws."""
    gains = []
    for seed in range(12):
        folder = tmp_path / str(seed)
        words = texts(folder, sentences=20, seed=seed)
        rows = readings(words, lambda bits: 0 * bits, subjects=6, seed=seed)
        parted(folder, rows, words)
        for model in ("full", "base"):
            scored(folder, model, seed=seed)
        (row,) = compared(folder, folder / "cv.csv").itertuples()
        gains.append(row.delta_loglik)
    assert np.mean(gains) < 0 and np.max(gains) < 3
    folder = tmp_path / "effect"
    words = texts(folder, sentences=20)
    parted(folder, readings(words, lambda bits: 5 * bits, subjects=6), words)
    for model in ("full", "base"):
        scored(folder, model)
    (row,) = compared(folder, folder / "cv.csv").itertuples()
    assert row.low_sentence > 10 and row.low_subject > 10 and row.folds_better == 5
    assert row.delta_loglik_per_observation == pytest.approx(row.delta_loglik / row.n)


@pytest.mark.merge
def test_table_and_figure(made, tmp_path):
    for model in ("full", "base"):
        scored(made, model)
    rows = compared(made, tmp_path / "cv.csv", ("one", "two"))
    assert rows.unit.tolist() == ["time_ms"] * 2
    given = {
        "cross_validation": tmp_path / "cv.csv",
        "lms": [{"lm": "lm", "label": "LM", "bias": {"form": "none"}, "applied": "none"}],
        "responses": [
            {"dataset": name, "measure": "SPR", "label": name} for name in ("one", "two", "lost")
        ],
    }
    for stem in "ab":
        endings = ("pdf", "svg", "png", "csv")
        figure.main(**given, baseline="lm", out=[tmp_path / f"{stem}.{e}" for e in endings])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    svg = (tmp_path / "a.svg").read_text()
    assert svg.count('id="dot lm"') == svg.count('id="subject lm"') == 2
    table.main(**given, out=[tmp_path / f"t.{ending}" for ending in ("csv", "html", "tex")])
    page = (tmp_path / "t.html").read_text()
    assert "5 folds of whole sentences, drawn from seed 1" in page and "Not run: lost SPR" in page
    assert table.summary(tmp_path / "t.csv").rows[0][0].text == "LM"


def test_models_of_other_folds_are_not_compared(made, tmp_path):
    scored(made, "full", seed=1)
    scored(made, "base", seed=2)
    with pytest.raises(InputError, match="has seed 1, .* 2: they used different folds"):
        compared(made, tmp_path / "cv.csv")


def test_words_means_have_folds_of_words_alone(made):
    means = MIXED | {"engine": "ols", "formula": "time_ms ~ length + surprisal"}
    _, parts = scored(made, design=means)
    assert len(parts) == len(pd.read_parquet(made / "words.parquet"))
    with pytest.raises(InputError, match="no folds by subject"):
        scored(made, by="subject", design=means)


def test_a_fold_without_a_fit_leaves_a_reason(made):
    design = MIXED | {"engine": "gam", "formula": 'time_ms ~ s(surprisal, bs="cr", k=900)'}
    record, parts = scored(made, design=design)
    assert record["predictive"] is None and record["marginal"] is None and not record["converged"]
    assert record["note"].startswith("mgcv: ") and parts.loglik.isna().all()
