"""Effect sizes, marginal means, intervals of predictions and influence: lme4's figures, and refits."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from crosslmm import anova, lme4, lmer
from crosslmm.errors import InputError
from test_lmer import in_r, reading

FORMULA = "rt ~ length * condition + (1 + length | reader) + (1 | text)"


@pytest.fixture(scope="module")
def data():
    data = reading().rename(columns={"reading.time": "rt"})
    return data.assign(hit=(data["rt"] > 340) * 1, count=(data["rt"] // 60).astype(int))


@pytest.fixture(scope="module")
def fit(data):
    return lmer(FORMULA, data, reml=True, engine="search", ddf="Satterthwaite")


@pytest.fixture(scope="module")
def in_lme4(data):
    """Return R's variances of fixed and random effects, means of a grid with SE, and predictions."""
    lme4._r()
    from rpy2 import robjects

    run = robjects.r("""function(data) {
      data$condition <- factor(data$condition)
      m <- lmer(rt ~ length * condition + (1 + length | reader) + (1 | text), data, REML = TRUE,
                control = lmerControl("bobyqa", optCtrl = list(rhoend = 1e-10)))
      X <- model.matrix(m)
      S <- VarCorr(m)
      Z <- cbind(1, data$length)
      random <- mean(rowSums((Z %*% S$reader) * Z)) + S$text[1]
      levels <- levels(data$condition)
      grid <- data.frame(length = mean(data$length), condition = factor(levels, levels))
      at <- model.matrix(~ length * condition, grid)
      new <- model.matrix(~ length * condition, data.frame(length = c(2, 9), condition =
                          factor(levels[c(1, 3)], levels)))
      of_new <- rowSums((cbind(1, c(2, 9)) %*% S$reader) * cbind(1, c(2, 9))) + S$text[1]
      V <- as.matrix(vcov(m))
      list(c(var(as.numeric(X %*% fixef(m))), random, sigma(m)^2),
           as.numeric(at %*% fixef(m)), sqrt(diag(at %*% V %*% t(at))),
           as.numeric(new %*% fixef(m)), sqrt(diag(new %*% V %*% t(new))),
           sqrt(diag(new %*% V %*% t(new)) + of_new + sigma(m)^2),
           fixef(m) * apply(X, 2, sd) / sd(data$rt), levels)
    }""")
    return run(in_r(data[["rt", "length", "condition", "reader", "text"]]))


def test_r_squared_and_icc_are_of_lme4s_variances(fit, in_lme4):
    fixed, random, residual = in_lme4[0]
    total = fixed + random + residual
    expected = [fixed / total, (fixed + random) / total, random / (random + residual)]
    assert fit.r2()[["marginal", "conditional", "icc"]].tolist() == pytest.approx(
        expected, rel=1e-4
    )


def test_r_squared_of_events_and_counts(data):
    hits = lmer("hit ~ length + (1 | reader)", data, family="binomial")
    fixed = np.var(hits.fixed["estimate"]["length"] * data["length"], ddof=1)
    random = hits.random["variance"].iloc[0]
    assert hits.r2()["icc"] == pytest.approx(random / (random + np.pi**2 / 3))
    assert hits.r2()["marginal"] == pytest.approx(fixed / (fixed + random + np.pi**2 / 3))
    counts = lmer("count ~ length + (1 | reader)", data, family="poisson")
    # The mean count of the model, integrated over new readers.
    mean = counts.simulate(400, seed=1).to_numpy().mean()
    random = counts.random["variance"].iloc[0]
    assert counts.r2()["icc"] == pytest.approx(random / (random + np.log1p(1 / mean)), rel=0.02)


def test_standardised_effects(fit, in_lme4, data):
    table = fit.standardised()
    assert table["estimate"].to_numpy() == pytest.approx(np.array(in_lme4[6])[1:], rel=1e-4)
    assert table["t"].to_numpy() == pytest.approx((table["estimate"] / table["se"]).to_numpy())
    moved = data.assign(length=3 * data["length"] + 1e3, rt=data["rt"] / 7)
    other = lmer("rt ~ length + (1 | reader)", moved, engine="search").standardised()
    same = lmer("rt ~ length + (1 | reader)", data, engine="search").standardised()
    assert other.to_numpy() == pytest.approx(same.to_numpy(), rel=1e-5)


def test_marginal_means_are_those_of_a_grid(fit, in_lme4):
    means = fit.means("condition")
    assert list(means.index) == list(in_lme4[7])
    assert means["estimate"].to_numpy() == pytest.approx(np.array(in_lme4[1]), rel=1e-5)
    assert means["se"].to_numpy() == pytest.approx(np.array(in_lme4[2]), rel=1e-4)
    half = stats.t.ppf(0.975, means["df"]) * means["se"]
    assert means["high"].to_numpy() == pytest.approx((means["estimate"] + half).to_numpy())
    contrast = fit.contrasts("condition")["estimate"].iloc[0]
    assert contrast == pytest.approx(means["estimate"].iloc[0] - means["estimate"].iloc[1])


def test_marginal_means_of_two_columns_and_of_events(data):
    data = data.assign(native=np.where(data["native"], "yes", "no"))
    fit = lmer("hit ~ condition * native + length + (1 | reader)", data, family="binomial")
    means = fit.means("condition", "native")
    assert list(means.columns) == ["estimate", "se", "low", "high", "response"] and len(means) == 6
    row = pd.DataFrame(
        {"condition": ["hard"], "native": ["yes"], "length": [data["length"].mean()]}
    )
    expected = fit.predict(row, random=False).iloc[0]
    assert means.loc[("hard", "yes"), "response"] == pytest.approx(expected)
    single = fit.means("condition")["estimate"]
    assert single["hard"] == pytest.approx(means.loc["hard", "estimate"].mean())


def test_intervals_of_predictions(data, in_lme4):
    fit = lmer(FORMULA, data, reml=True, engine="search")
    new = pd.DataFrame({"length": [2, 9], "condition": [in_lme4[7][0], in_lme4[7][2]]}, [5, 5])
    for kind, errors in (("confidence", in_lme4[4]), ("prediction", in_lme4[5])):
        table = fit.predict(new, random=False, interval=kind, level=0.9)
        half = stats.norm.ppf(0.95) * np.array(errors)
        middle = np.array(in_lme4[3])
        assert table["predicted"].to_numpy() == pytest.approx(middle, rel=1e-5)
        assert table["low"].to_numpy() == pytest.approx(middle - half, rel=1e-4)
        assert table["high"].to_numpy() == pytest.approx(middle + half, rel=1e-4)
        assert list(table.index) == [5, 5]


def test_prediction_intervals_cover_simulated_rows(data):
    fit = lmer("rt ~ length + (1 | reader)", data, family="lognormal", engine="search")
    table = fit.predict(random=False, interval="prediction", level=0.8)
    drawn = fit.simulate(200, seed=3).to_numpy()
    inside = (drawn > table[["low"]].to_numpy()) & (drawn < table[["high"]].to_numpy())
    assert inside.mean() == pytest.approx(0.8, abs=0.02)
    hits = lmer("hit ~ length + (1 | reader)", data, family="binomial")
    table = hits.predict(random=False, interval="confidence")
    assert ((table["low"] < table["predicted"]) & (table["predicted"] < table["high"])).all()
    assert table["high"].max() < 1


@pytest.mark.parametrize(
    "options", [{}, {"reml": True, "weights": "w"}, {"family": "lognormal"}], ids=str
)
def test_influence_is_that_of_refits(data, options):
    data = data.assign(w=np.where(data["native"], 1.0, 3.0))
    formula = "rt ~ length + condition + (1 + length | reader) + (1 | text)"
    whole = lmer(formula, data, engine="search", **options)
    table = whole.influence("reader")
    assert len(table) == data["reader"].nunique()
    for reader in table.index[:3]:
        rest = data[data["reader"] != reader]
        without = lmer(formula, rest, engine="search", **options)
        change = whole.fixed["estimate"] - without.fixed["estimate"]
        dfbetas = change / without.fixed["se"]
        assert table.loc[reader, list(whole.fixed.index)].to_numpy() == pytest.approx(
            dfbetas.to_numpy(), abs=1e-4
        )
        cooks = change @ np.linalg.inv(whole.covariance) @ change / len(change)
        assert table.loc[reader, "cooks_distance"] == pytest.approx(cooks, rel=1e-3)


def test_an_effect_that_hangs_on_one_level_has_no_influence(data):
    """Without the reader that alone has the condition, its effect cannot be estimated."""
    readers = sorted(data["reader"].unique())
    data = data.assign(alone=(data["reader"] == readers[0]) * (data["length"] > 5) * 1.0)
    table = lmer("rt ~ alone + (1 | reader)", data, engine="search").influence("reader")
    assert table.loc[readers[0]].isna().all() and table.drop(readers[0]).notna().all(None)


def test_tables_for_papers(fit, data):
    lines = fit.to_markdown(digits=1).splitlines()
    assert lines[0] == "| Effect | Estimate | SE | df | t | p |" and len(lines) == 8
    row = fit.fixed.loc["length"]
    cells = [cell.strip() for cell in lines[3].strip("|").split("|")]
    assert cells[:4] == ["length", f"{row.estimate:.1f}", f"{row.se:.1f}", f"{row.df:.1f}"]
    assert cells[5] == "< .001"
    table = lmer("rt ~ I(length^2) + (1 | reader)", data, engine="search").to_latex()
    assert r"I(length\^{}2) & $" in table and "p" not in table.splitlines()[2].split(" & ")
    assert table.startswith(r"\begin{tabular}{lrrr}") and table.endswith(r"\end{tabular}")
    assert all(line.endswith(r"\\") for line in table.splitlines() if "&" in line)
    hits = lmer("hit ~ length + (1 | reader)", data, family="binomial")
    assert re.match(r"\| Effect \| Estimate \| SE \| z \| p \|", hits.to_markdown())


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda fit: fit.influence("readr"), "'readr'; did you mean 'reader'"),
        (lambda fit: fit.predict(interval="confidence"), "needs random=False"),
        (lambda fit: fit.predict(random=False, interval="both"), "interval is 'both'; known: con"),
        (lambda fit: fit.means("length"), "no categorical column"),
        (lambda fit: fit.means("condition", level=95), "level is 95"),
    ],
)
def test_what_is_refused(fit, ask, said):
    with pytest.raises(InputError, match=said):
        ask(fit)


def test_what_other_families_do_not_have(data):
    fits = {f: lmer("rt ~ length + (1 | reader)", data, family=f) for f in ("gamma",)}
    hits = lmer("hit ~ length + (1 | reader)", data, family="binomial")
    for ask in (
        fits["gamma"].r2,
        lambda: hits.influence("reader"),
        lambda: hits.predict(random=False, interval="prediction"),
        lambda: fits["gamma"].predict(random=False, interval="confidence"),
    ):
        with pytest.raises(InputError, match="family|supports linear"):
            ask()


def to_polars(table):
    polars = pytest.importorskip("polars")
    return polars.from_arrow(table)


@pytest.mark.parametrize("convert", [lambda table: table, to_polars], ids=["arrow", "polars"])
def test_frames_of_the_data_s_package_are_returned(data, convert):
    import pyarrow

    names = ["rt", "length", "condition", "reader"]
    given = convert(pyarrow.Table.from_pandas(data[names], preserve_index=False))
    formula = "rt ~ length + condition + (1 | reader)"
    plain, fit = (lmer(formula, d, engine="search", ddf="Satterthwaite") for d in (data, given))
    asks = {
        "term": lambda f: f.anova(),
        "contrast": lambda f: f.contrasts("condition"),
        "condition": lambda f: f.means("condition"),
        "parameter": lambda f: f.confint("fixed", method="wald"),
        "reader": lambda f: f.influence("reader"),
        "model": lambda f: anova(f, lmer("rt ~ length + (1 | reader)", data, engine="search")),
    }
    for name, ask in asks.items():
        table, expected = ask(fit), ask(plain)
        assert type(table) is type(given), name
        values = pyarrow.table(table).to_pandas().set_index(name)
        assert list(values.index) == list(expected.index)
        assert np.allclose(values, expected, equal_nan=True)
    assert np.array(fit.predict()).tolist() == plain.predict().tolist()
    assert type(fit.predict(given)) is type(given["rt"])
    assert isinstance(fit.predict(data), pd.Series) and isinstance(fit.fixed, pd.DataFrame)
