"""Conditions and effects by item: codings against R, pooling against lme4 and dense algebra, and surprisal that underpredicts by a known factor."""

import json
import math
import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "regression"))
from made_readers import DESIGN, files, parted, readings, texts
from scipy import stats

from project import ROOT, SCHEMA, assert_is_refused, load, merged, show
from recency.errors import InputError
from recency.evaluations.conditions import compute, view
from recency.figures import comparison
from recency.regression import fit as regression
from recency.workflow.config import checks

ITEMS, READERS, BITS, SPILLED, FACTOR = 20, 60, 6.0, 3.0, 4.0
FILLERS = DESIGN | {
    "formula": "time_ms ~ length + surprisal + previous_surprisal + (1 + surprisal | subject) + (1 | sentence)",
    "of_interest": ["surprisal", "previous_surprisal"],
}
CONTRAST = {"contrast": "npz", "label": "NP/Z", "region": None}
CONTRAST |= {"high": "condition == 'amb'", "low": "condition == 'unamb'"}
LMS = [{"lm": "lm", "label": "LM", "bias": {"form": "none"}, "applied": "none"}]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Write fillers, their fit, and garden paths that cost FACTOR times what surprisal says."""
    folder = tmp_path_factory.mktemp("effects")
    fillers = texts(folder / "fillers", sentences=60)
    rows = readings(fillers, lambda bits: BITS * bits, subjects=READERS)
    before = np.where(fillers.item == fillers.item.shift(), fillers.bits.shift(), 0.0)
    rows["time_ms"] += SPILLED * before[rows.word_id]
    parted(folder / "fillers", rows, fillers)
    regression.main(files(folder / "fillers"), folder / "fit.json", lm="lm", design=FILLERS,
                    model="full", confirm=False)  # fmt: skip
    random = np.random.default_rng(5)
    words = pd.DataFrame({"word_id": np.arange(ITEMS * 10, dtype=np.int32)})
    words["stimulus"] = np.repeat([f"{n}" for n in range(ITEMS)], 10)
    words["condition"] = np.tile(np.repeat(["amb", "unamb"], 5), ITEMS)
    words["item"] = words.stimulus + " " + words.condition
    words["sentence"] = words.word_id // 5
    words["position"] = np.tile([1, 2, 3, 4, 5], 2 * ITEMS)
    words["region"] = words.position.map({3: "critical", 4: "spillover_1"})
    words["word"] = "word"
    bits = np.repeat(random.gamma(3, 2.5, (ITEMS, 1, 5)), 2, axis=1).ravel()
    bits += random.normal(0, 0.5, len(words))
    more = np.repeat(random.gamma(4, 1.5, ITEMS), 10)
    bits += more * ((words.condition == "amb") & (words.position == 3))
    words.to_parquet(folder / "words.parquet")
    surprisal = words[["word_id"]].assign(surprisal_bits=bits, corrected_bits=np.nan)
    surprisal.to_parquet(folder / "lm.parquet")
    cost = FACTOR * (BITS * bits + SPILLED * np.append(0, bits[:-1]))
    cost += np.repeat(random.normal(0, 15, ITEMS), 10) * (words.condition == "amb")
    read = words[words.region.notna()]
    seen = [
        read[(read.condition == "amb") == ((read.stimulus.astype(int) + n) % 2 == 0)]
        for n in range(READERS)
    ]
    observations = pd.concat(each.assign(subject=f"s{n:02}") for n, each in enumerate(seen))
    time = 300 + cost[observations.word_id] + random.normal(0, 60, len(observations))
    time += random.normal(0, 40, READERS)[observations.subject.str[1:].astype(int)]
    time += np.repeat(random.normal(0, 20, ITEMS), 10)[observations.word_id]
    observations["time_ms"] = time
    observations[["subject", "word_id", "time_ms"]].to_parquet(folder / "observed.parquet")
    return folder, words, observations, np.asarray(bits)


def run(study, **changed):
    folder = study[0]
    given = {
        "lms": LMS, "contrasts": [CONTRAST],
        "regions": ["critical", "spillover_1"],
        "surprisals": [folder / "lm.parquet"], "fillers": [folder / "fit.json"],
    }  # fmt: skip
    given |= changed
    out = [folder / name for name in ("conditions.csv", "effects.csv", "effects_by_item.csv")]
    surprisals = given.pop("surprisals")
    compute.main(folder / "words.parquet", [folder / "observed.parquet"], surprisals, *out, **given)
    return pd.read_csv(out[1]), pd.read_csv(out[2])


@pytest.fixture(scope="module")
def results(study):
    return run(study)


@pytest.fixture(scope="module")
def critical(study):
    """Return the rows of the critical word, made with pandas alone."""
    observations = study[2]
    rows = observations[observations.region == "critical"]
    return pd.DataFrame(
        {
            "y": rows.time_ms.to_numpy(),
            "contrast": np.where(rows.condition == "amb", 0.5, -0.5),
            "subject": rows.subject.to_numpy(),
            "item": rows.stimulus.to_numpy(),
        }
    )


def test_a_known_factor_of_underprediction_is_recovered(study, results):
    totals, items = results
    bits = study[3].reshape(ITEMS, 2, 5)
    for region, place in (("critical", 2), ("spillover_1", 3)):
        differences = bits[:, 0] - bits[:, 1]
        truth = BITS * differences[:, place] + SPILLED * differences[:, place - 1]
        row = totals[(totals.region == region) & (totals.source == "lm")].iloc[0]
        readers = totals[(totals.region == region) & (totals.source == "readers")].iloc[0]
        assert row.low < truth.mean() < row.high and row["items"] == ITEMS
        assert readers.low < FACTOR * truth.mean() < readers.high
        assert row.excess == pytest.approx(readers.effect - row.effect)
        assert row.excess_low < (FACTOR - 1) * truth.mean() < row.excess_high
        assert row.share_low < 1 / FACTOR < row.share_high < 0.5
        own = items[(items.region == region) & (items.source == "lm")].set_index("item")
        covered = (own.low < truth[own.index]) & (truth[own.index] < own.high)
        assert covered.mean() > 0.8


def test_predictions_are_coefficients_times_differences(study, results):
    """By hand from the fit's file; the covariance of its two coefficients is lme4's own formula's."""
    record = json.loads((study[0] / "fit.json").read_text())
    index = [effect["term"] for effect in record["fixed"]].index
    places = [index("surprisal"), index("previous_surprisal")]
    sd = np.array([record["scaling"][n]["sd"] for n in ("surprisal", "previous_surprisal")])
    slopes = np.array([record["fixed"][p]["estimate"] for p in places]) / sd
    V = np.array(record["covariance"])[np.ix_(places, places)] / np.outer(sd, sd)
    assert np.sqrt(np.diagonal(record["covariance"])) == pytest.approx(
        [effect["se"] for effect in record["fixed"]]
    )
    bits = study[3].reshape(ITEMS, 2, 5)
    d = (bits[:, 0] - bits[:, 1])[:, [2, 1]]
    _, items = results
    own = items[(items.region == "critical") & (items.source == "lm")].set_index("item")
    own = own.loc[range(ITEMS)]
    assert own.effect.to_numpy() == pytest.approx(d @ slopes)
    half = 1.959964 * np.sqrt(np.einsum("ij,jk,ik->i", d, V, d))
    assert (own.high - own.effect).to_numpy() == pytest.approx(half, rel=1e-5)
    totals, _ = results
    row = totals[(totals.region == "critical") & (totals.source == "lm")].iloc[0]
    mean = d.mean(0)
    assert row.high - row.effect == pytest.approx(1.959964 * np.sqrt(mean @ V @ mean), rel=1e-5)


@pytest.mark.merge
def test_pooled_effects_are_lme4s(critical, tmp_path):
    from crosslmm import lme4

    lme4.start()
    from rpy2 import robjects

    critical.to_csv(tmp_path / "rows.csv", index=False)
    coef = robjects.r("""function(path) {
        data <- read.csv(path)
        fit <- lme4::lmer(y ~ contrast + (1 + contrast | subject) + (1 + contrast | item), data,
                          REML = TRUE, control = lme4::lmerControl(calc.derivs = FALSE,
                          optCtrl = list(xtol_abs = 1e-10, ftol_abs = 1e-12)))
        found <- coef(fit)$item
        c(found[order(as.integer(rownames(found))), "contrast"], sqrt(diag(as.matrix(vcov(fit))))[2])
    }""")(str(tmp_path / "rows.csv"))
    *effects, se = coef
    found = compute.pooled(critical)
    own = found.items.loc[[f"{n}" for n in range(ITEMS)], "estimate"]
    assert own.to_numpy() == pytest.approx(effects, abs=0.02)
    assert found.se == pytest.approx(se, rel=1e-3)


def test_standard_errors_are_those_of_dense_algebra(critical):
    """Of beta-hat + b-hat - (beta + b), by the covariance V of y, of n rows by n."""
    rows = critical[critical.item.astype(int) < 6]
    rows = rows[rows.subject < "s15"].reset_index(drop=True)
    fit = compute.lmer(compute.FORMULA, rows, engine="search", reml=True)
    X = np.column_stack([np.ones(len(rows)), rows.contrast])
    V, G = fit.sigma**2 * np.eye(len(rows)), {}
    for group in ("subject", "item"):
        sd = fit.random.loc[fit.random.group == group, "sd"].to_numpy()
        G[group] = np.outer(sd, sd) * fit.correlations[group].fillna(0).to_numpy()
        same = rows[group].to_numpy()[:, None] == rows[group].to_numpy()
        V += same * (X @ G[group] @ X.T)
    W = np.linalg.inv(V)
    beta = np.linalg.inv(X.T @ W @ X)
    P = W - W @ X @ beta @ X.T @ W
    items = list(fit.modes["item"].index)
    expected = []
    for item in items:
        C = (X * (rows.item == item).to_numpy()[:, None]) @ G["item"][:, 1]  # cov(y, b)
        b = G["item"][1, 1] - C @ P @ C
        expected.append(beta[1, 1] + b - 2 * (beta @ X.T @ W @ C)[1])
    found = compute.standard_errors(fit, rows, items)
    assert found == pytest.approx(np.sqrt(expected), rel=1e-6)


def test_unpooled_effects_are_differences_of_means(critical):
    found = compute.unpooled(critical)
    item = critical[critical.item == "3"]
    high, low = (item.y[item.contrast == side] for side in (0.5, -0.5))
    interval = stats.ttest_ind(high, low, equal_var=False)
    assert found.estimate["3"] == pytest.approx(high.mean() - low.mean())
    assert found.estimate["3"] / found.se["3"] == pytest.approx(interval.statistic)


@pytest.mark.merge
def test_mean_effects_of_few_items_cover():
    """Of new items: eight, whose effects vary; a normal interval would cover 88 % of them."""
    random = np.random.default_rng(3)
    items, readers, repeats, inside = 8, 20, 200, {"t": 0, "normal": 0}
    grid = pd.MultiIndex.from_product([range(readers), range(items)]).to_frame(index=False)
    grid.columns = ["subject", "item"]
    grid["contrast"] = np.where((grid.subject + grid["item"]) % 2, 0.5, -0.5)
    for _ in range(repeats):
        slopes, level = random.normal(50, 60, items), random.normal(300, 30, readers)
        y = level[grid.subject] + slopes[grid["item"]] * grid.contrast
        rows = grid.assign(y=y + random.normal(0, 30, len(grid))).astype(
            {"subject": str, "item": str}
        )
        fit = compute.pooled(rows)
        for name, width in (("t", compute.t_width(items)), ("normal", compute.Z)):
            inside[name] += abs(fit.effect - 50) <= width * fit.se
    assert inside["normal"] / repeats < 0.93
    assert inside["t"] / repeats == pytest.approx(0.95, abs=0.03)


def test_fieller_s_interval_covers_and_is_missing_without_an_effect():
    random = np.random.default_rng(2)
    covered = 0
    for _ in range(2000):
        p, o = random.normal(20, 4), random.normal(80, 10)
        _, low, high = compute.share(p, 4, o, 10)
        covered += low <= 0.25 <= high
    assert covered / 2000 == pytest.approx(0.95, abs=0.015)
    ratio, low, high = compute.share(20, 4, 15, 10)
    assert ratio == pytest.approx(4 / 3) and math.isnan(low) and math.isnan(high)


def test_without_fillers_there_are_the_readers_alone(study):
    totals, items = run(study, fillers=[], regions=["critical"])
    assert totals.source.tolist() == ["readers"]
    assert set(items.source) == {"readers", "readers_unpooled"} and len(items) == 2 * ITEMS
    pooled, plain = (items[items.source == s].effect for s in ("readers", "readers_unpooled"))
    assert pooled.std() < plain.std()


@pytest.mark.parametrize("coding", compute.CODINGS)
def test_a_coding_s_effects_are_the_coefficients_of_r_s_contrasts(coding):
    """Of cell means without noise, by the contrast matrices of R and MASS."""
    from crosslmm import lme4

    lme4.start()
    from rpy2 import robjects

    means, C = np.array([300.0, 340.0, 310.0, 420.0]), 4
    of_r = {"treatment": "contr.treatment(4)", "sum": "contr.sum(4)",
            "helmert": "contr.helmert(4) %*% diag(1 / (2:4))", "successive": "MASS::contr.sdif(4)"}  # fmt: skip
    matrix = np.array(robjects.r(of_r[coding])).reshape(C, C - 1)
    expected = np.linalg.solve(np.column_stack([np.ones(C), matrix]), means)[1:]
    words = pd.DataFrame({"condition": list("abcd") * 3, "stimulus": np.repeat([1, 2, 3], 4)})
    frame = words.assign(
        word_id=words.index, time_ms=np.tile(means, 3) + 10 * words.stimulus, subject="s"
    )
    found = []
    for contrast in compute.coded(coding, "condition", list("abcd")):
        rows = compute.rows_of(frame, words, "time_ms", contrast | {"within": ""}, "stimulus", "")
        (effect,) = {round(e, 9) for e in compute.unpooled(rows).estimate}
        slope = np.polyfit(rows.contrast, rows.y, 1)[0]
        assert slope == pytest.approx(effect)
        found.append(effect)
    assert found[: C - 1] == pytest.approx(expected)
    assert len(found) == (C if coding == "sum" else C - 1)


@pytest.mark.merge
def test_contrasts_of_a_coding_are_those_of_the_conditions(study):
    by_name, _ = run(study)
    coded, _ = run(study, contrasts="treatment")
    assert coded.effect.to_numpy() == pytest.approx(-by_name.effect.to_numpy(), rel=1e-6)
    assert set(coded.contrast) == {"unamb \N{MINUS SIGN} amb"}
    other, _ = run(study, contrasts="treatment", levels=["unamb", "amb"])
    assert other.effect.to_numpy() == pytest.approx(by_name.effect.to_numpy(), rel=1e-6)
    whole, _ = run(study, contrasts="sum")
    halves = whole[whole.contrast.str.startswith("amb")].effect.to_numpy()
    assert 2 * halves == pytest.approx(by_name.effect.to_numpy(), rel=1e-6)
    assert run(study, contrasts=())[0].empty


def test_a_region_without_the_first_condition_has_no_differences():
    rows = [
        (region, condition, stimulus, 10.0 * number + stimulus)
        for region, conditions in (("x", "abc"), ("y", "bc"))
        for number, condition in enumerate(conditions)
        for stimulus in range(4)
    ]
    frame = pd.DataFrame(rows, columns=["region", "condition", "stimulus", "response"])
    found = pd.DataFrame(compute.summarise(frame, "response", "ms", "abc"), columns=compute.MEANS)
    found = found.set_index(["region", "condition"])
    assert found.difference["x"].tolist()[1:] == [10, 20]
    assert found.difference["y"].isna().all() and (found.pairs["y"] == 0).all()


def test_conditions_may_be_numbers(study, tmp_path):
    words = study[1].assign(condition=study[1].condition.map({"amb": 2, "unamb": 1}))
    words.to_parquet(tmp_path / "words.parquet")
    out = [tmp_path / name for name in ("conditions.csv", "effects.csv", "items.csv")]
    compute.main(
        tmp_path / "words.parquet", [study[0] / "observed.parquet"], [study[0] / "lm.parquet"], *out,
        lms=LMS, contrasts="treatment", regions=["critical"],
    )  # fmt: skip
    (row,) = pd.read_csv(out[1]).itertuples()
    by_name, _ = run(study, fillers=[], regions=["critical"])
    assert row.contrast == "2 \N{MINUS SIGN} 1" and row.effect == pytest.approx(by_name.effect[0])


def test_each_factor_of_a_condition_has_a_line_of_its_label(tmp_path):
    names = [f"{frame} {cloze}" for frame in ("active", "relative") for cloze in ("high", "low")]
    rows = [
        {"region": "critical", "condition": name, "variable": variable, "unit": unit, "mean": n}
        for n, name in enumerate(names)
        for variable, unit in ((compute.RESPONSE, "ms"), ("lm", "bits"))
    ]
    frame = pd.DataFrame(rows, columns=compute.MEANS)
    frame.to_csv(tmp_path / "conditions.csv", index=False)
    read = show(view.read_means, path=tmp_path / "conditions.csv", lms=LMS, measure="SPR")
    figure = view.draw_means(read, comparison.records(LMS, [])[0])
    figure.canvas.draw()
    for axes in figure.axes:
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
        assert [label.get_text() for label in axes.get_xticklabels()][1] == "active\nlow"
        gaps = [right.x0 - left.x1 for left, right in pairwise(boxes)]
        assert min(gaps) > 10


def test_figures_and_tables_are_drawn(results, tmp_path):
    results[0].to_csv(tmp_path / "effects.csv", index=False)
    results[1].to_csv(tmp_path / "items.csv", index=False)
    given = {"effects": tmp_path / "effects.csv", "by_item": tmp_path / "items.csv"}
    outs = [[tmp_path / f"{n}.{end}" for end in ("svg", "pdf", "png", "csv")] for n in range(2)]
    view.figure_item_effects(**given, out=outs[0])
    show(view.figure_predicted_effects, **given, out=outs[1], lms=LMS)
    for out in outs:
        text = out[0].read_text()
        assert "NP/Z" in text and ("observed" in text or "partially pooled" in text)
    ends = [tmp_path / f"table.{end}" for end in ("csv", "html", "tex")]
    show(view.table_predicted_effects, effects=given["effects"], out=ends, lms=LMS)
    page = ends[1].read_text()
    assert "NP/Z, spillover 1" in page and "predicted / observed 0.2" in page
    assert view.summary_of_effects(ends[0]).rows[0][0].text == "NP/Z, critical"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"levels": ["amb", "other"]}, "levels: 'other' is no condition of the data; the data have amb, unamb"),
        ({"levels": ["amb"]}, "levels: 'unamb' is a condition of the data and not listed"),
        ({"levels": ["amb", "unamb", "x"]}, "levels: 'x' is no condition of the data; the data have amb, unamb"),
        ({"by": "conditions"}, "conditions → by: the words have no column conditions"),
        ({"stimulus": "stimulos"}, "conditions → stimulus: the words have no column stimulos"),
        ({"regions": ["crit"]}, "→ region: no word has region == 'crit'; region is critical, spillover_1"),
        ({"contrasts": [CONTRAST | {"low": "condition == 'unam'"}]}, "→ low: no word has condition == 'unam'; condition is amb, unamb"),
        ({"contrasts": [CONTRAST | {"low": "stimulus != ''", "high": "condition == 'amb'"}]}, "words are on both sides"),
        ({"contrasts": [CONTRAST | {"low": "stimulus == '1'", "high": "stimulus == '2'"}]}, "npz: 0 groups"),
    ],
)  # fmt: skip
def test_faults_of_a_table_are_named(study, changed, said):
    with pytest.raises(InputError) as error:
        run(study, **changed)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.update(response="log"), "must give coefficients in the response's unit"),
        (lambda r: r.update(family="lognormal"), "must give coefficients in the response's unit"),
        (lambda r: r.update(density={"link": "log"}, family="gamma"), "`link: identity`"),
        (lambda r: r["fixed"][2].update(term="length:surprisal"), "length:surprisal of the fillers' design combines"),
        (lambda r: r.update(fixed=[], note="singular"), "regression failed (singular)"),
        (lambda r: r.update(fixed=r["fixed"][:2]), "fit has no effect of an LM's predictors"),
        (lambda r: r.update(formula="amplitude_uv ~ surprisal"), "the fillers' response is amplitude_uv"),
    ],
)  # fmt: skip
def test_fillers_that_convert_nothing_are_refused(study, tmp_path, change, said):
    record = json.loads((study[0] / "fit.json").read_text())
    change(record)
    (tmp_path / "fit.json").write_text(json.dumps(record))
    with pytest.raises(InputError) as error:
        run(study, fillers=[tmp_path / "fit.json"])
    assert said in str(error.value) and "\n" not in str(error.value)


BASE = "{{experiments: {{exp1: {{conditions: {{dataset: provo, measure: {m}, {more}by: item, stimulus: item, contrasts: {{x: {{high: {high}, low: position == 3}}}}}}}}}}}}"
FAULTS = {
    BASE.format(m="FPP", more="", high="position == 2"): "measure: provo has no measure",
    BASE.format(m="skip", more="", high="position == 2").replace(
        "provo", "ucl_eye_tracking"
    ): "measure: skip is an event",
    BASE.format(m="FP", more="", high="position == 2").replace(
        "by: item", "by: frame"
    ): "by: the words of provo have no",
    BASE.format(m="FP", more="", high="position == 2").replace(
        "stimulus: item", "stimulus: frame"
    ): "stimulus: the words of provo have no",
    BASE.format(m="FP", more="", high="placee == 2"): "conditions → contrasts → x → high: ",
    BASE.format(
        m="FP", more="regions: [critical], ", high="position == 2"
    ): "conditions → regions: ",
    BASE.format(
        m="FP", more="fillers: provo.TFT, ", high="position == 2"
    ): "'provo.TFT' is in 0 designs of the experiment's `responses`",
}


@pytest.mark.parametrize("overlay", FAULTS, ids=range(len(FAULTS)))
def test_faults_of_a_config_are_refused_when_it_is_read(overlay):
    assert_is_refused(overlay, FAULTS[overlay])


def test_the_documentation_s_config_is_right():
    text = (ROOT / "docs" / "conditions.md").read_text()
    overlay = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[1])
    checks.check(merged(load("config/open.yaml"), overlay), SCHEMA)
