"""The pages on the thesis: tables, numbers and claims follow from stored files and published values."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

DOCS = Path(__file__).resolve().parents[1] / "docs"
PUBLISHED = DOCS.parent / "data" / "published"
STORED = DOCS / "penn_treebank"
PAGE = (DOCS / "penn_treebank.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
MEASURES = " ".join((DOCS / "thesis_measures.md").read_text(encoding="utf-8").split())


def table(head):
    """Return the rows of the page's table whose header begins with `head`."""
    lines = re.search(rf"^\| {re.escape(head)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)[
        1
    ]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()]


def stored(number):
    rows = pd.read_csv(STORED / "tables.csv", dtype={"table": str})
    return rows[rows.table == number].set_index("label")


def published(number):
    rows = pd.read_csv(PUBLISHED / f"thesis_table{number.replace('.', '_')}.csv")
    return rows.set_index(rows.here.fillna(rows.label))


def cell(rows, printed):
    """Return the text of a cell: its seeds' perplexities, and the published ones in brackets."""
    seeds = "; ".join(
        f"{row.test_ppl:.1f}"
        + (f", {row.interpolated_ppl:.1f}" if row.interpolated_ppl > 0 else "")
        for row in rows.itertuples()
    )
    named = [
        f"{printed[column]:g}" for column in ("ppl", "ppl_interpolated") if printed[column] > 0
    ]
    whose = f"{printed.label}: " if printed.label != printed.name else ""
    return f"{seeds} ({whose}{', '.join(named)})"


def test_fading_memories_are_those_of_the_files():
    here, printed, seen = stored("3.3"), published("3.3"), 0
    for head, end in (("one layer", ""), ("two layers", ", 2 layers")):
        for name, *cells in table(head):
            for window, shown in zip((1, 2, 4), cells, strict=True):
                label = f"{name.replace(chr(92), '')}, n − 1 = {window}{end}"
                rows = here.loc[[label]]
                other = rows.differs.notna().any()  # a network that is not the config's
                stars = "*" if other else ""
                assert shown == stars + cell(rows, printed.loc[label]) + stars, label
                seen += len(here.loc[[label]])
    assert seen == len(here) == 34


def test_gated_memories_and_ngrams_are_those_of_the_files():
    gated, printed = stored("4.2"), published("4.2")
    names = ["RNN", "RNN, 3 layers", "LSTM", "D-LSTM", "LSRC(100)", "LSRC(200)", "D-LSRC(100)", "D-LSRC(200)"]  # fmt: skip
    for label, (_, shown) in zip(names, table("network"), strict=True):
        assert shown == cell(gated.loc[[label]], printed.loc[label]), label
    models, whole = {row[0]: row[1] for row in table("model")}, published("2.1")
    here = stored("2.1")
    for label in ("RNN 50", "RNN 145", "RNN 500", "CDLM 4", "CDLM 8"):
        assert models[label] == cell(here.loc[[label]], whole.loc[label]), label
    assert models["CDLM 7 + RNN 50"] == "121.3 (with RNNLM 50: 120.2)"
    for name, label in (
        ("KN2, KN3, KN5", "KN{}"),
        ("with a cache of the last 500 words", "KN{}+cache"),
    ):
        labels = [label.format(order) for order in (2, 3, 5)]
        shown = [f"{gated.test_ppl[each]:.1f}" for each in labels]
        values = [f"{printed.ppl[each]:g}" for each in labels]
        assert models[name].startswith(f"{', '.join(shown)} ({', '.join(values)}")
    skip = [f"Skip {span}" for span in range(4, 9)]
    ends = [(rows.iloc[0], rows.iloc[-1]) for rows in (here.test_ppl[skip], whole.ppl[skip])]
    assert models["Skip 4 to 8"] == "{:.1f} to {:.1f} ({:.1f} to {:.1f})".format(*ends[0], *ends[1])
    gain = 100 * (1 - here.test_ppl["Skip 8"] / gated.test_ppl["KN3"])
    theirs = 100 * (1 - whole.ppl["Skip 8"] / whole.ppl["KN3"])
    assert (
        f"gain {gain:.1f} % over KN3, which stands for UniSt3, the published ones {theirs:.1f} %"
        in TEXT
    )
    assert gated.test_ppl["RNN"] > gated.test_ppl["LSRC(100)"] > gated.test_ppl["LSTM"].max()


def test_claims_on_fading_memories():
    here, printed = stored("3.3"), published("3.3")
    mean = here.groupby(level=0).test_ppl.mean()
    apart = (mean - printed.ppl[mean.index]).rename("apart")
    order = ["FNN", "FOFE", "WI-SRNN*", "WI-SRNN", "WD-SRNN"]

    def of(name, window, layers):
        return f"{name}, n − 1 = {window}" + (", 2 layers" if layers == 2 else "")

    def values(window, layers):
        return [mean[of(name, window, layers)] for name in order]

    assert all(values(1, layers) == sorted(values(1, layers), reverse=True) for layers in (1, 2))
    one, two = values(2, 1), values(2, 2)
    assert one[0] > one[2] > one[1] > one[3] > one[4] and two[0] > two[1] > two[3] > two[2] > two[4]
    assert f"FOFE is {one[2] - one[1]:.1f} below WI-SRNN\\*" in TEXT
    assert f"WI-SRNN\\* is {two[3] - two[2]:.1f} below WI-SRNN" in TEXT
    above = [
        [round(apart[of(name, 4, layers)]) for name in ("WI-SRNN*", "WI-SRNN")] for layers in (1, 2)
    ]
    said = "{} and {} above the published values, with two {} and {}"
    assert said.format(*above[0], *above[1]) in TEXT
    word = apart[[of("WD-SRNN", window, layers) for window in (1, 2) for layers in (1, 2)]]
    *near, far = word.sort_values()
    assert (
        min(near) > 0
        and f"within {max(near) + 0.1:.1f} of the published values, {far:.1f} above with" in TEXT
    )
    assert word.idxmax() == of("WD-SRNN", 2, 2)
    better = pd.read_csv(STORED / "wd_pairs.csv").query("text == 'test'").iloc[0]
    ends = (100 * (1 - better[name]) for name in ("ratio", "high", "low", "published_ratio"))
    said = "{:.1f} % better with n − 1 = 2 than with 1 ([interval](penn_treebank/wd_pairs.csv) {:.1f} to {:.1f} over sentences; published {:.1f})"
    assert said.format(*ends) in TEXT
    seeds = here[here.index.duplicated(keep=False)].groupby(level=0).test_ppl
    between = (seeds.max() - seeds.min()).round(1)
    assert f"Seeds differ by {between.min()} to {between.max()}" in TEXT
    pairs = pd.read_csv(STORED / "pairs.csv").set_index("lm")
    first, second = pairs.loc["WI-SRNN*"], pairs.loc["WI-SRNN"]
    assert f"exceeds FOFE by {first.percent} % (interval {first.low} to {first.high})" in TEXT
    assert f"by {second.percent} % ({second.low} to {second.high}; one layer, two seeds)" in TEXT


def test_the_first_c_of_a_wd_srnn():
    rows = pd.read_csv(STORED / "first_c.csv")
    shown = [[name.replace("`", ""), value] for name, value in table("small network")]
    names = rows.network + rows.start.map(", start: {}".format).where(rows.start.notna(), "")
    assert shown == [[name, f"{value:.1f}"] for name, value in zip(names, rows.test_ppl)]
    vector, shared, separate = rows.test_ppl
    assert vector < shared < separate
    said = f"makes {separate - shared:.1f} of the {separate - vector:.1f} by which WD-SRNN exceeds"
    assert said in TEXT


def test_the_first_c_at_full_size():
    rows = pd.read_csv(STORED / "separate_first_c.csv").set_index("label").test_ppl
    printed, here = published("3.3").ppl, stored("3.3").test_ppl
    for name, one, separate, _, one_two, separate_two in table("WD-SRNN"):
        for label, shared, other in (
            (f"WD-SRNN, {name}", one, separate),
            (f"WD-SRNN, {name}, 2 layers", one_two, separate_two),
        ):
            assert here[label] < rows[label]
            assert shared == f"{here[label]:.1f} ({printed[label]:g})"
            assert other == f"{rows[label]:.1f}"


def test_small_networks_of_this_workflow():
    rows = pd.read_csv(STORED / "small.csv")
    shown = table("on half of the text")
    assert [row[:2] for row in shown] == [
        [r.network, f"{r.test_ppl:.1f}"] for r in rows.itertuples()
    ]
    for row, (*_, above) in zip(rows.itertuples(), shown, strict=True):
        said = f"{row.percent:.1f} % ({row.low:.1f} to {row.high:.1f})".replace("-", "−")
        assert above == ("" if row.network == "WD-SRNN" else said)
    low = rows.set_index("network").low
    assert low["WI-SRNN"] > 0 and low["WD-SRNN, text order"] > 0 > low["WD-SRNN, biases"]


def test_alternatives_are_those_of_the_file():
    rows, seen = pd.read_csv(STORED / "alternatives.csv").query("seed == 1"), 0
    for *_, last in table("setting"):
        what, _, shown = last.replace("\\", "").partition(": ")
        of_setting = rows[
            (rows.alternative == what) | (rows.setting + " " + rows.alternative == what)
        ]
        for network, value in re.findall(r"(W?[A-Z-]+\*?)(?: \(n − 1 = 1\))? (\d+\.\d)", shown):
            assert of_setting.set_index("network").test_ppl[network] == float(value), (
                what,
                network,
            )
            seen += 1
    assert seen == 19
    text_order = rows[(rows.network == "RNN") & (rows.alternative == "text")].test_ppl.item()
    assert f"the RNN had {text_order}" in TEXT


def test_length_and_surprisal_by_type():
    rows = pd.read_csv(DOCS / "open-study" / "word_length.csv").query("level == 'overall'")
    frequency = rows[rows.lm == "large"].rho.item()
    lms = rows[~rows.lm.isin(["small", "large"])].set_index("lm")
    higher = lms[lms.rho > frequency].sort_values("rho")
    assert list(higher.index) == ["LSTM", "FOFE-0_7", "MLM", "MLM-removed"] and len(lms) == 12

    def short(value):
        return f"{value:.3f}".lstrip("0")

    assert f"with frequency at ρ = {short(frequency)}" in MEASURES
    assert (higher.steiger_t > 1.96).all()  # with Holm's correction: tests/test_numbers_in_prose.py
    ngrams = lms[lms.index.str.startswith("KN")]
    others = lms.drop([*higher.index, *ngrams.index])
    assert (others.steiger_t.abs() < 1.96).all() and (ngrams.steiger_t < -1.96).all()
    for group in (others, ngrams):
        assert f"{short(group.rho.min())} to {short(group.rho.max())}" in MEASURES


def test_published_values_in_the_prose_of_measures():
    chapter_11 = pd.read_csv(PUBLISHED / "thesis_chapter11.csv").set_index("quantity").value
    length = pd.read_csv(PUBLISHED / "thesis_table8_1.csv").set_index("lm")
    for value in (chapter_11.iloc[0], length.rho["perplexity"]):
        assert f"(published −{abs(value):.2f})".replace("0.", ".") in MEASURES.replace(
            "published:", "published"
        )
    assert f"−{abs(length.t['LSTM']):.2f} for the LSTM" in MEASURES
    fits = pd.read_csv(PUBLISHED / "thesis_figure7_1.csv").adjusted_r2
    assert f"R² ({', '.join(f'{value:.3f}'.lstrip('0') for value in fits)})" in MEASURES
    gaps = pd.read_csv(PUBLISHED / "thesis_table9_3_pos_gap.csv").set_index("lm_family")
    without, with_tags = (gaps.filter(like=like).to_numpy().ravel() for like in ("_no_pos", "_pos"))
    with_tags = gaps[[name for name in gaps if "_no_" not in name]].to_numpy().ravel()
    test = stats.ttest_rel(with_tags, without)
    assert (
        f"t({len(without) - 1}) = {test.statistic:.1f}, p = {test.pvalue:.3f}".replace("0.", ".")
        in MEASURES
    )
    foils = pd.read_csv(DOCS / "open-study" / "maze.csv").query("level == 'overall'")
    (words,) = foils.iloc[:, 4].unique()  # of every LM
    assert f"{words:,.0f} words have a foil, {words - 144:,.0f} without last words" in MEASURES


def test_cubic_fits_without_the_estimate_for_humans():
    rows = pd.read_csv(PUBLISHED / "thesis_table7_2.csv").iloc[:-1]
    found = []
    for metric in ("perplexity", "mean_log_rank", "top_1"):
        x = rows[metric].astype(float)
        x = np.log(x) if metric == "perplexity" else x
        design = pd.concat([x**power for power in range(4)], axis=1).to_numpy()
        y = rows.score.to_numpy()
        left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        r2 = 1 - left @ left / ((y - y.mean()) ** 2).sum()
        found.append(f"{1 - (1 - r2) * (len(y) - 1) / (len(y) - 4):.3f}".lstrip("0"))
    assert f"the {len(rows)} LMs alone give {', '.join(found)}" in MEASURES
