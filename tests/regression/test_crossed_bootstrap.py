"""The crossed bootstrap: models that it covers, refusals, and scores against fits made by hand."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from crosslmm.factors import Levels
from crosslmm.fitting import fit_model
from crosslmm.formula import column, parse
from crosslmm.stats.crossed_samples import WITHOUT, deviations
from recency.endpoints import UNIT, WITHOUT_GROUP
from recency.regression import crossed
from recency.regression.predictors import Rows
from test_mixed_model import simulate

FIXED = "time_ms ~ length + surprisal"
BOTH = f"{FIXED} + (1 + length | subject) + (1 | sentence)"


def readings(subjects=14, sentences=12, words=4, texts=4, seed=1, keep=0.9):
    """Return rows whose sentences are nested in texts, `item`, and words in sentences, `word`."""
    predictors, y, groups = simulate(
        seed, subjects=subjects, sentences=sentences, words=words, keep=keep
    )
    sentence = groups["sentence"].codes
    random = np.random.default_rng(seed)
    word = sentence * words + random.integers(0, words, len(y))
    texts = min(texts, sentences)
    item = sentence * texts // sentences
    groups["item"] = Levels(item, [f"text {t}" for t in range(texts)])
    groups["word"] = Levels(word, [f"w{w}" for w in range(sentences * words)])
    groups["speaker"] = Levels(random.integers(0, 5, len(y)), list("abcde"))
    y = y + random.normal(0, 20, texts)[item]
    return Rows(predictors, y, groups, word)


def scores(formula, rows, draws=120, **more):
    formula = parse(formula)
    return crossed.scores(formula, rows, rows.predictors, draws, **more)


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        (f"{BOTH} + (1 | word)", "no third grouping factor"),
        (f"{BOTH} + (1 | sentence:subject)", "no nested grouping factor"),
        (f"{BOTH} + (1 | sentence:subject) + (1 | item:subject)", "no nested grouping factor"),
        (f"{FIXED} + (1 | sentence)", r"no effect varies by subject; add '\(1 \| subject\)', or"),
        (f"{FIXED} + (1 | item) + (1 | sentence)", "no effect varies by subject"),
        (f"{FIXED} + (1 | subject) + (1 | speaker)", "speaker is crossed with sentences"),
    ],
)
def test_models_that_are_not_covered(formula, says):
    with pytest.raises(crossed.NotCrossed, match=says) as refusal:
        scores(formula, readings())
    assert "set `bootstrap: given_fits`" in str(refusal.value)
    assert formula.split("+")[-1].strip() in str(refusal.value)


@pytest.mark.parametrize(
    ("shape", "formula", "says"),
    [
        ({"subjects": 7}, BOTH, "7 subjects are too few .* needs 8"),
        ({"sentences": 7}, BOTH, "7 sentences are too few"),
        ({"sentences": 7}, f"{FIXED} + (1 | subject)", "7 sentences are too few"),
        ({"sentences": 7}, BOTH.replace("sentence", "word"), "7 sentences are too few"),
        ({"texts": 4}, BOTH.replace("sentence", "item"), "4 levels of item are too few"),
    ],
)
def test_too_few_units(shape, formula, says):
    with pytest.raises(crossed.NotCrossed, match=says):
        scores(formula, readings(**shape), label="GPT-2")
    with pytest.raises(crossed.NotCrossed, match="^GPT-2: "):
        scores(formula, readings(**shape), label="GPT-2")


def test_a_cell_that_is_never_left_out():
    with pytest.raises(crossed.NotCrossed, match="left out by none of 3 draws; ask for more"):
        scores(BOTH, readings(), draws=3)


def test_a_model_without_residuals():
    rows = readings()
    rows.y = 2 * rows.predictors["length"]
    with pytest.raises(crossed.NotCrossed, match="the model has no finite likelihood: "):
        scores(f"{FIXED} + (1 | subject)", rows)


def test_refits_that_fail_are_counted(monkeypatch):
    """One in ten is left out of the mean; more are an error."""
    fit, calls = crossed.Cells.fit, []

    def failing(every):
        def of_sample(self, times_a, times_b, start=None, enough=1e-10):
            calls.append(start)
            if start is not None and len(calls) % every == 0:
                raise np.linalg.LinAlgError
            return fit(self, times_a, times_b, start, enough)

        return of_sample

    monkeypatch.setattr(crossed.Cells, "fit", failing(20))
    assert np.isfinite(scores(BOTH, readings()).loglik).all()
    monkeypatch.setattr(crossed.Cells, "fit", failing(5))
    with pytest.raises(crossed.NotCrossed, match=r"\d+ of 120 draws have no finite likelihood"):
        scores(BOTH, readings())


def test_columns_and_cells():
    rows = readings(keep=0.4)
    table = scores(BOTH, rows)
    assert tuple(table.columns) == crossed.COLUMNS
    assert table.n.sum() == len(rows.y)
    pairs = {
        (rows.groups["subject"].names[s], rows.groups["sentence"].names[h])
        for s, h in zip(rows.groups["subject"].codes, rows.groups["sentence"].codes, strict=True)
    }
    assert set(zip(table.subject, table.unit, strict=True)) == pairs
    assert table.equals(table.sort_values(["subject", "unit"], ignore_index=True))


@pytest.mark.merge
def test_the_seed_decides():
    rows = readings()
    one, again = scores(BOTH, rows, seed=3, name="Provo"), scores(BOTH, rows, seed=3, name="Provo")
    assert one.equals(again)
    for other in ({"seed": 4, "name": "Provo"}, {"seed": 3, "name": "Dundee"}):
        assert not np.allclose(one.loglik, scores(BOTH, rows, **other).loglik)


@pytest.mark.merge
def test_models_of_a_dataset_have_the_same_draws():
    """The draws' error is then the same, so that differences are more precise."""
    rows = readings()
    rows.predictors["noise"] = np.random.default_rng(0).normal(size=len(rows.y))
    base = scores(BOTH, rows)
    noisy = BOTH.replace("surprisal", "surprisal + noise")
    same, other = scores(noisy, rows), scores(noisy, rows, seed=1)
    assert np.std(same.loglik - base.loglik) < 0.7 * np.std(other.loglik - base.loglik)


def test_a_draw_has_as_many_units_as_there_are():
    names = [f"s{n}" for n in range(40)]
    drawn = np.array([crossed.resampled(names, (0, "", draw)) for draw in range(2000)])
    assert (drawn.sum(1) == 40).all()
    assert (drawn == 0).mean() == pytest.approx((1 - 1 / 40) ** 40, abs=0.01)
    assert drawn.mean(0) == pytest.approx(1, abs=0.1)


@pytest.mark.merge
@pytest.mark.parametrize(
    "formula", [BOTH, BOTH.replace("sentence", "word"), f"{FIXED} + (1 | subject)"]
)
def test_the_order_of_rows_does_not_matter(formula):
    rows = readings()
    order = np.random.default_rng(0).permutation(len(rows.y))
    shuffled = Rows(
        {name: values[order] for name, values in rows.predictors.items()},
        rows.y[order],
        {name: Levels(group.codes[order], group.names) for name, group in rows.groups.items()},
        rows.word[order],
    )
    one, other = scores(formula, rows), scores(formula, shuffled)
    assert one.drop(columns="loglik").equals(other.drop(columns="loglik"))
    assert one.loglik.to_numpy() == pytest.approx(other.loglik.to_numpy(), abs=1e-6)


@pytest.mark.merge
@pytest.mark.parametrize("shape", [(16, 10), (10, 16)])
def test_both_factors_are_treated_the_same(shape):
    """With subjects and sentences exchanged, the table has its columns exchanged."""
    rows = readings(*shape)
    formula = f"{FIXED} + (1 | subject) + (1 | sentence)"
    swapped = {"subject": rows.groups["sentence"], "sentence": rows.groups["subject"]}
    other = scores(formula, Rows(rows.predictors, rows.y, swapped, rows.word))
    other = other.rename(columns={"subject": "unit", "unit": "subject"})
    one = scores(formula, rows).merge(other, on=["subject", "unit"], suffixes=("", "_swapped"))
    assert (one.n == one.n_swapped).all()
    assert one.loglik.to_numpy() == pytest.approx(one.loglik_swapped.to_numpy(), abs=1e-6)


# ---- against fits of rows that are really repeated, and dense normal densities ----

HALVES = [(0, 0), (0, 1), (1, 0), (1, 1)]
STRUCTURES = {
    "sentences": ("sentence", BOTH),
    "no second factor": ("sentence", f"{FIXED} + (1 + length | subject)"),
    "words within sentences": ("sentence", BOTH.replace("sentence", "word")),
    "sentences within texts": ("item", BOTH.replace("sentence", "item")),
    "a slope by text": ("item", BOTH.replace("1 | sentence", "1 + surprisal | item")),
}
#: Of experiments: texts are stimuli, their sentences the versions.
STIMULI = {
    "stimuli": BOTH.replace("sentence", "item"),
    "versions of stimuli": BOTH,
    "no factor of stimuli": f"{FIXED} + (1 + length | subject)",
}


def halved(names, seed):
    """Draw half of the units, one to three times; each pair is left out by one draw of four."""
    axis = 0 if names[0].startswith("s") else 1
    chosen = np.arange(len(names)) % 2 == HALVES[seed[2]][axis]
    return np.where(chosen, 1 + np.arange(len(names)) % 3, 0)


def by_hand(formula, rows, unit, draw):
    """Fit the drawn units' rows, repeated under new names; return the left-out rows' density."""
    times = [halved(rows.groups[name].names, (0, "", draw)) for name in ("subject", unit)]
    codes = [rows.groups[name].codes for name in ("subject", unit)]
    index, copies = [], []
    for row in range(len(rows.y)):
        for s in range(times[0][codes[0][row]]):
            for t in range(times[1][codes[1][row]]):
                index.append(row)
                copies.append((s, t))
    index, copies = np.array(index), np.array(copies).T
    groups = {}
    for name, group in rows.groups.items():
        copy = copies[0] if name == "subject" else copies[1]
        names, new = np.unique(
            [f"{group.names[c]}.{k}" for c, k in zip(group.codes[index], copy, strict=True)],
            return_inverse=True,
        )
        groups[name] = Levels(new, names.tolist())
    columns = {name: values[index] for name, values in rows.predictors.items()}
    fit = fit_model(
        formula, columns, rows.y[index], groups, "cross_products", confirm=False
    ).summary
    left = (times[0][codes[0]] == 0) & (times[1][codes[1]] == 0)
    n, columns = int(left.sum()), {k: values[left] for k, values in rows.predictors.items()}
    mean, V = np.zeros(n), fit.sigma**2 * np.eye(n)
    for term, beta in fit.fixed.items():
        mean += beta * column(term, columns, n)
    for group, spread in fit.random.items():
        Z = np.column_stack([column(term, columns, n) for term in spread["columns"]])
        sd = np.array(spread["sd"])
        S = sd[:, None] * np.nan_to_num(np.array(spread["correlation"], dtype=float)) * sd
        level = rows.groups[group].codes[left]
        V += (level[:, None] == level) * (Z @ S @ Z.T)
    names = [
        {rows.groups[name].names[level] for level in np.flatnonzero(t == 0)}
        for name, t in zip(("subject", unit), times, strict=True)
    ]
    return multivariate_normal(mean, V).logpdf(rows.y[left]), n, names


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("shape", [(12, 10), (9, 16)])
def test_scores_are_those_of_repeated_rows_and_dense_densities(structure, shape, monkeypatch):
    unit, formula = STRUCTURES[structure]
    rows = readings(*shape, texts=8, words=3)
    monkeypatch.setattr(crossed, "resampled", halved)
    monkeypatch.setattr(crossed, "ENOUGH", 1e-10)
    table = scores(formula, rows, draws=len(HALVES))
    assert set(table.unit) == set(rows.groups[unit].names)
    for draw in range(len(HALVES)):
        expected, n, (subjects, units) = by_hand(parse(formula), rows, unit, draw)
        cells = table[table.subject.isin(subjects) & table.unit.isin(units)]
        assert cells.n.sum() == n
        assert cells.loglik.sum() == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("structure", STIMULI)
def test_a_stimulus_is_drawn_and_left_out_with_all_its_versions(structure, monkeypatch):
    """The score of a cell is the joint density of a subject's responses to all of them."""
    formula, rows = STIMULI[structure], readings(12, 20, texts=9, words=2)
    monkeypatch.setattr(crossed, "resampled", halved)
    monkeypatch.setattr(crossed, "ENOUGH", 1e-10)
    table = scores(formula, rows, draws=len(HALVES), stimuli=rows.groups["item"])
    assert set(table.unit) == set(rows.groups["item"].names)
    assert table.attrs[UNIT] == "stimulus"
    for draw in range(len(HALVES)):
        expected, n, (subjects, units) = by_hand(parse(formula), rows, "item", draw)
        cells = table[table.subject.isin(subjects) & table.unit.isin(units)]
        assert cells.n.sum() == n
        assert cells.loglik.sum() == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(
    ("formula", "unit"),
    [
        (BOTH, "sentence"),
        (BOTH.replace("sentence", "item"), "item"),
        (f"{FIXED} + (1 | subject)", "sentence"),
    ],
)
def test_what_the_units_are_is_recorded(formula, unit):
    assert scores(formula, readings(texts=9)).attrs[UNIT] == unit


def test_a_factor_across_stimuli_is_not_covered():
    rows = readings(sentences=16, texts=8)
    with pytest.raises(crossed.NotCrossed, match="speaker is crossed with stimuli"):
        scores(f"{FIXED} + (1 | subject) + (1 | speaker)", rows, stimuli=rows.groups["item"])


def test_samples_with_the_same_names_have_different_draws():
    """Subjects 1 to 20 and sentences 1 to 20 are not drawn together, in either orientation."""
    names, codes = [str(number) for number in range(20)], np.arange(20)
    formula = parse("y ~ x + (1 + x | subject) + (1 | sentence)")
    subject, sentence = (crossed._Axis(f, codes, codes, names) for f in crossed.factors_of(formula))
    seeds, turned = (
        crossed._seeds(axes, (1, "d")) for axes in ((subject, sentence), (sentence, subject))
    )
    assert seeds == turned[::-1] and seeds[0] != seeds[1]
    first, second = (crossed.resampled(names, (*seed, 0)) for seed in seeds)
    assert not np.array_equal(first, second)
    other = crossed._Axis(sentence.factor, codes, codes, [*names[:-1], "last"])
    assert crossed._seeds((subject, other), (1, "d")) == [(1, "d")] * 2


@pytest.mark.merge
def test_the_error_of_a_finite_number_of_draws_is_estimated():
    """As much as totals by other draws differ, and less for a difference of models with the same draws."""
    rows = readings()
    by_seed = [
        [scores(formula, rows, seed=seed) for formula in (BOTH, f"{FIXED} + (1 | subject)")]
        for seed in range(14)
    ]
    for choose in (
        lambda full, base: full,
        lambda full, base: full.assign(loglik=full.loglik - base.loglik),
    ):
        totals, errors = [], []
        for full, base in by_seed:
            frame = choose(full, base)
            if frame is not full:
                pairs = zip(full.attrs[WITHOUT_GROUP], base.attrs[WITHOUT_GROUP], strict=True)
                frame.attrs = {WITHOUT: [a - b for a, b in pairs]}
            totals.append(frame.loglik.sum())
            errors.append(np.linalg.norm(deviations([frame])))
        spread = np.std(totals, ddof=1)
        assert 0.6 * spread < np.sqrt(np.mean(np.square(errors))) < 1.7 * spread
    assert len(by_seed[0][0].attrs[WITHOUT_GROUP]) == crossed.GROUPS
