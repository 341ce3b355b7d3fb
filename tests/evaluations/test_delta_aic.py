"""ΔAIC of whole datasets: against statsmodels and scipy, its table, its figure, and their real data."""

import json

import numpy as np
import pandas as pd
import pytest

from item_means import DESIGN, fitted, items, observed
from project import ROOT, load, show
from recency.errors import REFUSALS
from recency.evaluations.item_means import delta_aic, view
from recency.figures import comparison

DVM = load()["biases"]["dVM-2024"]
PUBLISHED = ROOT / "data" / "published" / "devarda_marelli2024_daic.csv"
LMS = [
    {"lm": "gpt2", "label": "gpt2", "bias": {"form": "none"}, "applied": "none"},
    {"lm": "gpt2-dVM", "label": "gpt2-dVM", "bias": DVM, "applied": "inference"},
]


def scored(out, name, seed, lacking=True):
    """Write made surprisal: a Hub model without a beginning gives a text's first word none."""
    table = pd.read_parquet(out["words"])
    bits = np.random.default_rng(seed).gamma(4, 2, len(table))
    bits[(~table["item"].duplicated()).to_numpy() & lacking] = np.nan
    path = out["words"].with_name(f"{name}.parquet")
    pd.DataFrame({"word_id": table.word_id, "surprisal_bits": bits}).to_parquet(path)
    return path


def compared(out, seeds, **cell):
    """Fit and compare LMs (name → seed of its surprisal) on one response; return the rows."""
    surprisal = [scored(out, name, seed) for name, seed in seeds.items()]
    n, place = len(seeds), {"dataset": "items_ucl_spr", "measure": "SPR", "design": "d"} | cell
    delta_aic.main(
        fits=[fitted(out, name) for name in seeds],
        words=[out["words"]] * n,
        observations=[out["fit"]] * n,
        surprisal=surprisal,
        out=out["words"].with_name("delta_aic.csv"),
        cells=[{"lm": name} | place for name in seeds],
        baseline=next(iter(seeds)),
    )
    return pd.read_csv(out["words"].with_name("delta_aic.csv"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("items")
    return observed(folder / "made", items(folder / "items.tsv"))


def test_all_observations_are_fitted(corpus):
    rows = pd.read_parquet(corpus["fit"])
    assert set(rows.partition) == {"fit"} and len(rows) == len(pd.read_parquet(corpus["responses"]))
    assert corpus["counts"].read_text() == (
        f"step,kept,dropped\npresented,{len(rows)},0\nfit,{len(rows)},\nexploratory,0,\nheld_out,0,\n"
    )
    assert {path.name for path in corpus["fit"].parent.glob("*held*")} == set()


def test_aic_and_correlations_are_those_of_statsmodels_and_scipy(corpus):
    import statsmodels.api as sm
    from scipy.stats import pearsonr

    rows = compared(corpus, {"gpt2": 1, "gpt2-dVM": 2}).set_index("lm")
    raw = pd.read_csv(corpus["words"].parents[1] / "items.tsv", sep="\t")
    fits = {}
    for name in ("gpt2", "gpt2-dVM"):
        raw["bits"] = pd.read_parquet(corpus["words"].with_name(f"{name}.parquet")).surprisal_bits
        kept = raw[raw.rt.notna()]
        # In nats, as they had it: the unit changes no likelihood.
        predictors = kept[["length", "log_freq"]].assign(nats=kept.bits * np.log(2))
        fits[name] = sm.OLS(kept.rt, sm.add_constant(predictors)).fit()
        row = rows.loc[name]
        assert row.n == len(kept)
        assert row.aic == pytest.approx(fits[name].aic + 2)  # sigma counts, as in R
        assert row.mean_surprisal_nats == pytest.approx(predictors.nats.mean())
        assert row.r_frequency == pytest.approx(pearsonr(kept.bits, kept.log_freq)[0])
        assert row.r_response == pytest.approx(pearsonr(kept.bits, kept.rt)[0])
    delta = fits["gpt2-dVM"].aic - fits["gpt2"].aic
    assert abs(delta) > 1e-3 and rows.delta_aic["gpt2"] == 0
    assert rows.delta_aic["gpt2-dVM"] == pytest.approx(delta)
    # The ratio of the likelihoods, since both models have as many parameters.
    ratio = np.exp(-abs(fits["gpt2-dVM"].llf - fits["gpt2"].llf))
    assert rows.relative_likelihood["gpt2-dVM"] == pytest.approx(ratio)
    assert rows.words_per_text["gpt2"] == pytest.approx(len(raw) / raw.sent_id.nunique())


def test_a_fit_of_other_words_is_refused(corpus, tmp_path):
    out = observed(tmp_path / "less", corpus["words"].parents[1] / "items.tsv")
    pd.read_parquet(out["fit"]).iloc[1:].to_parquet(out["fit"])
    for each, name in ((corpus, "gpt2"), (out, "gpt2-dVM")):
        scored(each, name, 1)
    cell = {"dataset": "d", "measure": "SPR", "design": "x"}
    with pytest.raises(REFUSALS, match="they used different observations"):
        delta_aic.main(
            fits=[fitted(corpus, "gpt2"), fitted(out, "gpt2-dVM")],
            words=[corpus["words"], out["words"]],
            observations=[corpus["fit"], out["fit"]],
            surprisal=[each["words"].with_name("gpt2.parquet") for each in (corpus, corpus)],
            out=tmp_path / "t.csv",
            cells=[{"lm": lm} | cell for lm in ("gpt2", "gpt2-dVM")],
            baseline="gpt2",
        )


def test_a_whole_fit_tells_nothing_of_other_partitions(corpus):
    scored(corpus, "gpt2", 1)
    record = json.loads(fitted(corpus, "gpt2").read_text())
    assert record["n"]["exploratory"] == 0 and record["loglik"]["exploratory"] is None
    assert record["aic"] == pytest.approx(2 * 5 - 2 * record["loglik"]["fit"])
    rows = pd.read_parquet(corpus["words"].with_name("gpt2.full.parquet"))
    assert set(rows.partition) == {"fit"} and len(rows) == record["n"]["fit"]
    assert rows.loglik_in_sample.sum() == pytest.approx(record["loglik"]["fit"])


def test_regressions_that_failed_are_said_to_have_failed(tmp_path):
    path = tmp_path / "delta_aic.csv"
    row = dict.fromkeys(delta_aic.COLUMNS, np.nan)
    row |= {"lm": "a", "dataset": "d", "measure": "SPR", "design": "x", "n": 9, "note": "no levels"}
    pd.DataFrame([row]).to_csv(path, index=False)
    lm = {"lm": "a", "label": "LM a", "bias": {"form": "none"}, "applied": "none"}
    response = {"dataset": "d", "measure": "SPR", "label": "D"}
    rows, _, missing = show(view.read, path=path, lms=[lm], responses=[response])
    assert missing == ["failed: LM a on D SPR (no levels)"]
    assert missing[0] in view.layout(rows, "b", missing).notes


@pytest.mark.parametrize(
    "formula,said",
    [
        ("time_ms ~ unigram + surprisal", "'unigram', but no unigram model was given"),
        ("time_ms ~ foil_length + surprisal", "'foil_length', which the dataset's words do not"),
    ],
)
def test_predictors_that_are_not_there(corpus, formula, said):
    scored(corpus, "gpt2", 1)
    with pytest.raises(REFUSALS, match=said):
        fitted(corpus, "gpt2", DESIGN | {"formula": formula})


def test_a_frequency_that_an_observation_lacks_is_named(tmp_path):
    path = items(tmp_path / "items.tsv", sentences=5)
    lines = path.read_text().splitlines()
    cells = lines[2].split("\t")
    lines[2] = "\t".join([*cells[:3], "NA", *cells[4:]])
    path.write_text("\n".join(lines) + "\n")
    out = observed(tmp_path / "made", path)
    scored(out, "gpt2", 1)
    with pytest.raises(REFUSALS, match="log_frequency is missing for word_id 1, in the dataset"):
        fitted(out, "gpt2")


@pytest.mark.parametrize(
    "delta,said",
    [
        (-1.99, "both have substantial"),
        (2, "both have substantial"),
        (-3, "somewhat less"),
        (4.31, "considerably less"),
        (-7, "considerably less"),
        (8, "little support"),
        (-10, "essentially none"),
        (float("nan"), ""),
    ],
)
def test_readings(delta, said):
    """Burnham & Anderson (2004), as section 3.3 has them: to 2, 4 to 7, from 10."""
    found = view.reading(delta)
    assert found.startswith(said) and bool(found) == bool(said)


RESPONSES = [
    {"dataset": name, "measure": measure, "label": load()["datasets"][name]["label"]}
    for name, measure in (("items_provo", "FP"), ("items_ucl_spr", "SPR"), ("items_brown", "SPR"))
]


def drawn(folder, values):
    """Write the table and the figure of made ΔAIC (response → value); return where."""
    rows = [
        {
            **dict.fromkeys(delta_aic.COLUMNS[4:], 0.5),
            "lm": lm, "dataset": name, "measure": measure, "design": "d", "n": 1726, "note": "",
            "aic": 1000 + delta, "delta_aic": delta, "relative_likelihood": np.exp(-abs(delta) / 2),
            "words_per_text": 5.0 + place,
        }
        for place, ((name, measure), value) in enumerate(values.items())
        for lm, delta in (("gpt2", 0.0), ("gpt2-dVM", value))
    ]  # fmt: skip
    pd.DataFrame(rows)[delta_aic.COLUMNS].to_csv(folder / "delta_aic.csv", index=False)
    (folder / "not_run.csv").write_text("dataset,measure,reason\nitems_brown,SPR,no file\n")
    given = {
        "delta_aic": folder / "delta_aic.csv",
        "lms": LMS,
        "responses": RESPONSES,
        "baseline": "gpt2",
        "published": PUBLISHED,
        "not_run": folder / "not_run.csv",
    }
    table = [folder / f"table.{ending}" for ending in ("csv", "html", "tex")]
    figure = [folder / f"figure.{ending}" for ending in ("csv", "svg", "png", "pdf")]
    show(view.table_delta_aic, **given, out=table)
    show(view.figure_delta_aic, **given, out=figure)
    return folder


@pytest.mark.merge
def test_table_and_figure_have_published_beside_reproduced(tmp_path):
    values = {("items_ucl_spr", "SPR"): 1.5, ("items_provo", "FP"): -13.5}
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        drawn(tmp_path / name, values)
    rows = pd.read_csv(tmp_path / "a" / "table.csv", keep_default_na=False)
    assert rows.response.tolist() == ["Provo (items) FP"] * 2 + ["UCL (items) SPR"] * 2
    assert rows.lm.tolist() == ["gpt2", "gpt2-dVM"] * 2
    assert rows.published.tolist() == ["", "-13.72", "", "-0.06"]
    assert float(rows.difference[1]) == pytest.approx(0.22)
    assert rows.reading[0] == "" and rows.reading[1].startswith("essentially none")
    page = (tmp_path / "a" / "table.html").read_text()
    for text in ("published 2,659", "\N{MINUS SIGN}13.72", "Not run: Brown (items) SPR (no file)"):
        assert text in page, text
    svg = (tmp_path / "a" / "figure.svg").read_text()
    assert svg.count('id="gpt2-dVM"') == 4 and svg.count('id="gpt2"') == 3  # the baseline has no D
    assert svg.count('id="published gpt2-dVM"') == 1
    for path in (tmp_path / "a").glob("figure.*"):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_nothing_was_run(tmp_path):
    rows = pd.DataFrame(columns=delta_aic.COLUMNS)
    rows.to_csv(tmp_path / "delta_aic.csv", index=False)
    show(
        view.figure_delta_aic,
        delta_aic=tmp_path / "delta_aic.csv",
        out=[tmp_path / "f.svg"],
        lms=LMS,
        responses=RESPONSES,
        baseline="gpt2",
    )
    assert (tmp_path / "f.svg").stat().st_size > 500


def test_published_values_find_their_responses():
    config = load()
    experiment = config["experiments"]["devarda_marelli"]
    labels = {
        f"{config['datasets'][response.split('.')[0]]['label']} {response.split('.')[1]}"
        for response in experiment["responses"]["frequency_means"]
    }
    there = comparison.table(PUBLISHED, ["lm", "corpus_measure", "n_words", "delta_aic"])
    assert set(there.corpus_measure) == labels and set(there.lm) <= set(experiment["lms"])


@pytest.mark.merge
def test_number_of_words_is_the_published_one(shared_data, tmp_path):
    """N of section 3.2, all six; AIC on the real words is that of statsmodels; r of Appendix A."""
    import statsmodels.api as sm

    config = load()
    there = pd.read_csv(PUBLISHED).set_index("corpus_measure")
    lengths = {}
    for response in config["experiments"]["devarda_marelli"]["responses"]["frequency_means"]:
        name, measure = response.split(".")
        dataset = config["datasets"][name]
        path = shared_data / (dataset["words"]["items"]["stand_in"]["path"] + ".gz")
        filters = [
            {"name": step, "keep": dataset["filters"][step]}
            for step in dataset["measures"][measure]["filters"]
        ]
        accept = dataset.get("accept", [])
        out = observed(tmp_path / name, path, measure, filters, accept, **dataset["options"])
        (row,) = compared(out, {"gpt2": 1}).itertuples()
        label = f"{dataset['label']} {measure}"
        assert row.n == there.n_words[label], label
        lengths[label] = row.words_per_text
        raw = pd.read_csv(path, sep="\t", keep_default_na=False, na_values=["NA"])
        raw["bits"] = pd.read_parquet(out["words"].with_name("gpt2.parquet")).surprisal_bits
        raw = raw[raw.rt.notna()]
        if len(raw) > row.n:  # Brown, Natural Stories: neither the second word nor the last
            last = raw.groupby("sent_id").word_pos.transform("max")
            raw = raw[(raw.word_pos > 2) & (raw.word_pos < last)]
        fit = sm.OLS(raw.rt, sm.add_constant(raw[["length", "log_freq", "bits"]])).fit()
        assert row.aic == pytest.approx(fit.aic + 2, abs=1e-6)
        assert row.r_response == pytest.approx(np.corrcoef(raw.bits, raw.rt)[0, 1])
    r = delta_aic.correlation(
        there.delta_aic.to_numpy(), pd.Series(lengths)[there.index].to_numpy()
    )
    assert round(r, 2) == -0.77


def test_brown_is_scored_by_sentence(shared_data):
    from readingtimes.parsers.devarda_marelli2024 import words as parsed

    files = {"items": shared_data / "devarda_marelli2024" / "brown.tsv.gz"}
    assert parsed(files)["item"].nunique() == 13
    assert parsed(files, documents=False)["item"].nunique() == 450
    options = load()["datasets"]["items_brown"]["options"]
    assert options == {"texts": False, "documents": False, "corpus": "brown"}
