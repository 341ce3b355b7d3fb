"""Measured numbers in the sentences of pages are those of the stored files."""

import pandas as pd
import pytest
from scipy import stats

from crosslmm.stats import detection, multiple_tests
from recency.scoring import plausible
from written import DOCS, between, cells, number, percent, run_of, said


def test_mazes_lengths_and_ranks_of_the_open_study():
    text, folder = said("open-study/measures.md"), DOCS / "open-study"
    maze = pd.read_csv(folder / "maze.csv").query("level == 'overall'").set_index("label")
    told = "readers choose right for {:.0f} % of the words, LMs for at most {:.1f} %. Mixed slopes exceed no bias by {:.1f} points and slope 1/4 by {:.1f}"  # fmt: skip
    leads = (maze.difference[name] for name in ("ALiBi-mix-TI", "ALiBi-1/4-TI"))
    best = maze.drop("readers").accuracy.max()
    assert told.format(maze.accuracy["readers"], best, *leads) in text
    assert (maze.difference_low[["ALiBi-mix-TI", "ALiBi-1/4-TI"]] > 0).all()
    lengths = pd.read_csv(folder / "word_length.csv").query("level == 'overall'").set_index("label")
    steiger = lengths[["steiger_t", "steiger_p"]].drop("frequency in the text").dropna()
    steiger["holm"] = multiple_tests.holm(steiger.steiger_p.tolist())
    sure = steiger[steiger.holm < 0.05].steiger_t
    masked = {"masked LM", "masked LM, future removed"}
    assert len(steiger) == 12 and set(sure.index[sure > 0]) == {"FOFE-0.7", *masked}
    assert set(sure.index[sure < 0]) == {f"{n}-gram" for n in (2, 3, 4, 5)}
    assert f"with following context t = {steiger.steiger_t['masked LM']:.1f}" in text
    lstm = f"{steiger.holm['LSTM']:.2f}".removeprefix("0")
    assert f"the LSTM's p is {lstm}" in text
    ends = sure[sure > 0]
    thesis = said("thesis_measures.md")
    assert (
        f"(Steiger's t {ends.min():.1f} to {ends.max():.1f}, Holm's correction for twelve" in thesis
    )
    rho = lengths.rho.map("{:.3f}".format).str.removeprefix("0")
    told = f"LSTM's {rho['LSTM']} (t {steiger.steiger_t['LSTM']:.1f}, p {lstm})"
    assert told in thesis and f"FOFE-0.7 {rho['FOFE-0.7']}, the masked LM {rho['masked LM']} and {rho['masked LM, future removed']}" in thesis  # fmt: skip
    ranks = pd.read_csv(folder / "rank_metrics.csv")
    networks = ranks[~ranks.label.str.contains("gram")]
    assert networks.perplexity.corr(networks.mean_log_rank, method="spearman") == pytest.approx(1)
    families = pd.read_csv(folder / "families.csv").pivot_table("gap", ["family", "response"], "design")  # fmt: skip
    t, p = stats.ttest_rel(families["with"], families["without"])
    assert f"paired t({len(families) - 1}) = {number(t, 2)}, p {f'{p:.2f}'[1:]}" in text
    rare = pd.read_csv(folder / "rare_words_begun.csv").pivot_table("ppl", "label", "class")["all"]
    plain, begun = rare["LBL2"], rare["LBL2, random vectors of rare words"]
    assert f"a quarter higher ({plain:.0f} and {begun:.0f})" in text
    assert begun / plain - 1 == pytest.approx(0.25, abs=0.02)
    pairs = pd.read_csv(folder / "rare_words.csv")
    mixed = pairs[pairs.set.str.startswith("RW") & (pairs.label == "ALiBi-mix-TI")]
    mixed = mixed.set_index("similarity").spearman
    built = mixed.drop("without")
    ends = (f"{v:.2f}".removeprefix("0") for v in (mixed["without"], built.min(), built.max()))
    assert "(ALiBi-mix-TI: from {} to {} to {}), where only 33 pairs".format(*ends) in text
    assert set(pairs[pairs.set.str.startswith("RW")].known_pairs) == {33}


def test_retention_of_what_a_reader_fixated():
    rows = pd.read_csv(DOCS / "readers-memory" / "retention.csv")
    rows = rows[(rows.dataset == "all") & (rows.against == "small-reader")].set_index("lm")
    seen = rows.delta_loglik.idxmax()
    assert "seen" in seen or "skipped" in seen
    best = rows.loc[seen]
    told = between(best.delta_loglik, best.low_all, best.high_all).replace(" (", " nats above own fixations (")  # fmt: skip
    text = said("readers-memory.md")
    assert f"skipped words as seen, {told}" in text
    lead = 0.5 * best.n / 1000
    assert f"A lead of {lead:.0f} nats (0.5 per 1,000 observations)" in text


def test_search_and_perplexity_of_a_pretrained_network():
    text = said("pretrained.md")
    trials = pd.read_csv(DOCS / "pretrained" / "search.csv").nlargest(5, "loglik")
    ends = f"from {trials.decay.min():.1f} to {trials.decay.max():.1f}"
    assert f"decays {ends}, which are not identified" in text
    (weight,) = {f"{weight:.2f}".removeprefix("0") for weight in trials.weight.nlargest(1)}
    every = pd.read_csv(DOCS / "pretrained" / "search.csv")
    identity = every.loglik[every.weight.idxmin()]  # hardly any bias
    assert f"a weight of {weight} (5.6 nats above no bias" in text
    assert trials.loglik.max() - identity == pytest.approx(5.6, abs=0.3)
    rows = pd.read_csv(DOCS / "pretrained" / "smollm2.csv").set_index("bias")
    steep = rows.perplexity[["ALiBi-1", "ALiBi-4", "ALiBi-16"]]
    contrasts = pd.read_csv(DOCS / "open-study" / "contrasts.csv").set_index("analysis")
    same = contrasts.observations["without_geco"]  # of the same nine responses
    assert f"({same:,} observations" in text and f"for all {len(rows) - 1}" in text
    beyond = rows.beyond_5_words_bits
    told = "the last five give {:.2f} bits about the next one without a bias, {:.2f} with dVM"
    assert told.format(beyond["no bias"], beyond["dVM"]) in text
    half = rows.half_life_words
    told = (
        "halves within {:.1f} words, with a window of 5 within {:.1f}, with one of 20 within {:.1f}"
    )
    assert told.format(*half[["no bias", "window-5", "window-20"]]) in text
    told = "from {:.0f} to {:,.0f} or more (up to {:,.0f})"
    assert told.format(rows.perplexity["no bias"], steep.min(), steep.max()) in text


def test_endpoints_with_few_subjects_and_varying_slopes():
    rows = pd.read_csv(DOCS / "endpoint" / "candidates.csv")
    rows = (
        rows[rows.baseline == "all"]
        .set_index(["data", "interval", "likelihood", "setting"])
        .sort_index()
    )
    few = [
        rows.power[data, "two_way", "marginal", "subjects=10"] for data in ("crossed", "in_sample")
    ]
    told = "the crossed endpoint has a power of {} %, in-sample marginal likelihood of {} %"
    assert told.format(*map(percent, few)) in said("endpoint.md")
    for likelihood in ("fixed_effects", "modelblocks"):
        power = rows.power["held_out", "given_fits", likelihood]
        assert power["slope_sd=1.5"] < power["default"] / 2


def test_sentences_on_factorial_experiments_and_bias():
    text = said("endpoint.md")
    rows = pd.read_csv(DOCS / "endpoint" / "factorial.csv")
    by = {name: rows[rows.endpoint == name] for name in rows.endpoint.unique()}

    def ends(values):
        return f"{percent(values.min())} to {percent(values.max())}"

    crossed, conditional = by["crossed, stimuli"], by["conditional"]
    least = percent(crossed.coverage.min())
    assert f"({ends(crossed['size'])} %) and covers in {least} % or more" in text
    few = crossed[(crossed["items"] <= 24) & crossed.latin].power
    assert f"with 24 items or fewer, each read in one condition, it hardly ever finds an LM better ({ends(few)} %)" in text  # fmt: skip
    told = f"holds them, too ({ends(conditional['size'])} %; {ends(conditional.coverage)} %)"
    assert told.replace("holds them", "The conditional endpoint holds them") in text
    readers = conditional[(conditional.readers == 216) & (conditional["items"] == 24)].power.item()
    own = crossed[(crossed.readers == 216) & (crossed["items"] == 24)].power.item()
    assert f"it finds more ({percent(readers)} instead of {percent(own)} %)" in text
    designs = ["readers", "items", "conditions", "latin", "regions", "effect", "item_sd"]
    versions = by["crossed, versions"].set_index(designs).power
    stimuli = crossed.set_index(designs).power[versions.index]
    two, four, whole = (
        [
            percent(of.xs((c, latin), level=("conditions", "latin")).iloc[0])
            for of in (versions, stimuli)
        ]
        for c, latin in ((2, True), (4, True), (2, False))
    )
    assert f"with two conditions ({two[0]} instead of {two[1]} %; complete: {whole[0]} instead of {whole[1]})" in text  # fmt: skip
    assert f"With four it does not ({four[0]} and {four[1]} %)" in text
    bias = pd.read_csv(DOCS / "endpoint" / "candidates.csv").query(
        "baseline == 'all' and data == 'crossed' and likelihood == 'marginal'"
    )
    bias = bias.set_index("setting").delta_loglik_a_bias.map(lambda value: f"{-value:.1f}")
    told = f"1.0 with three seeds, {bias['subjects=10']} with ten subjects, {bias['slope_sd=1']} and {bias['slope_sd=1.5']} with slope sds"  # fmt: skip
    assert told in text


def test_intervals_of_few_seeds():
    text = said("how_sure.md")
    rows = pd.read_csv(DOCS / "endpoint" / "dependence.csv").query("by_seed > 0").by_larger
    assert f"{rows.min():.0f} to {rows.max():.0f} %)." in text
    two, three = stats.t.ppf(0.975, [1, 2])
    assert f"extends up to {two:.1f} `se` on either side, with three {three:.1f}" in text


def test_contexts_of_readers():
    run, text = run_of("reader_contexts.amd-epyc-25-1-core"), said("lossy.md")
    told = f"The {run['contexts']:,} contexts of Provo's 84 readers take `small-english` {run['seconds']:.0f} s of one core, {run['ratio_vs_one_by_one']} times faster"  # fmt: skip
    assert told in text and f"leaves at most {run['largest_ratio']}" in text


def test_corrections_of_the_theories_comparisons():
    text = said("open-study/theories.md")
    beyond = pd.read_csv(DOCS / "open-study" / "theories_beyond.csv")
    count = int(beyond.filter(regex="^delta_loglik").notna().sum().sum())
    bonferroni = stats.norm.ppf(1 - 0.025 / count)
    assert (
        f"{count} comparisons, and with a correction for them ({bonferroni:.1f} standard errors)"
        in text
    )


def test_false_positives_of_degrees_of_freedom():
    sizes, text = run_of("df_sizes.amd-epyc-25-1-process"), said("mixed_models.md")
    large, small = (
        pd.DataFrame({k: v for k, v in sizes.items() if k.endswith(f"{ms} ms")}) for ms in (90, 30)
    )
    exact = ["Satterthwaite", "Kenward-Roger"]
    ends = [100 * value for value in (large.loc[exact].min().min(), large.loc[exact].max().max())]
    assert (
        "{:.1f} to {:.1f} % with large slopes".format(*(round(v + 1e-9, 1) for v in ends)) in text
    )
    ends = [100 * value + 1e-9 for value in (small.loc[exact].min().min(), small.loc[exact].max().max())]  # fmt: skip
    assert "{:.1f} to {:.1f} % with small ones".format(*(round(v, 1) for v in ends)) in text
    ends = [100 * value for value in (large.loc["normal"].min(), large.loc["normal"].max())]
    assert "1.96$: {:.0f} to {:.1f} %)".format(*ends) in text
    assert (small.loc["Kenward-Roger"] <= small.loc["Satterthwaite"]).all()
    points = pd.DataFrame(run_of("regression_scale.amd-epyc-26-1-thread")["points"])
    least, most = points.evaluations.min(), points.evaluations.max()
    assert (least, most) == (3, 9) and "of which a fit has three to nine" in text
    large = run_of("large_models.amd-epyc-25-1-thread")
    told = "take {:.1f} s of one thread, of 5,000 and 50,000 {:.0f} s and {:.1f} GiB"
    times = large["unequal_seconds"], large["larger_seconds"], large["larger_mib"] / 1024
    assert told.format(*times) in text


def test_detectable_differences_in_standard_errors():
    t = stats.t.ppf(0.975, [1, 1e6])
    few, many = (detection.detectable(1.0, width) for width in t)
    assert f"{many:.2f} standard errors" in said("how_sure.md")
    assert f"({few:.1f} for two seeds, if only seeds vary)" in said("how_sure.md")


def test_cost_and_errors_of_measures():
    inside = run_of("internals.amd-epyc-25-1-thread")
    ratios = [value for key, value in inside.items() if key.endswith("ratio_vs_plain")]
    told = f"{min(ratios):.1f} to {max(ratios):.1f} times the time of surprisal alone"
    assert told in said("internals.md")
    entropy = run_of("word_entropy.amd-epyc-25-1-thread")
    errors = (entropy[f"gpt2.{kind}standard_error_bits"] for kind in ("", "plain_estimator."))
    told = "standard errors are .{:.0f} and .{:.0f} bits".format(*(100 * e for e in errors))
    assert told.replace(".6 and", ".06 and") in said("surprisal.md")


def test_rules_for_plausible_surprisal():
    text = said("surprisal.md")
    intercept, shape, r, lengths = plausible.SHAPE
    law = f"log mean bits = {number(intercept, 2)} {number(shape, 2)} log(sd / mean of √surprisal) {r:+.2f} r {lengths + 1e-9:+.2f} (sd"  # fmt: skip
    law = law.replace("0.", ".").replace(" −.72", " − .72").replace(" +", " + ")
    assert law in text
    assert f"log-likelihood ratio over 16 in a table, over {plausible.SHIFTED_HERE:.0f} in surprisal computed here" in text  # fmt: skip
    assert f"r < {plausible.RELATED:.2f}".replace("0.", ".") in text
    assert f"a run of {plausible.CONSTANT} different words" in text
    assert f"factor of {2.718281828**plausible.TEXTS_APART:.2f}" in text
    assert f"off by a factor of {2.718281828**plausible.ANY_LANGUAGE:.1f}" in text


def test_counts_of_dependencies_in_percent():
    published = None
    for reading, *counts in cells("attention_heads.md", "reading"):
        words = [cell.partition(" (") for cell in counts[1::2]]
        values = [int(value.replace(",", "")) for value, _, _ in words]
        if published is None:
            published = values
            continue
        for value, expected, (_, _, told) in zip(values, published, words, strict=True):
            apart = 100 * (value / expected - 1)
            if told:
                share = told.removesuffix(")")
                digits = 1 if "." in share else 0
                assert share in ("0", f"{number(apart, digits, sign=True)} %"), reading


def test_span_of_compensated_ngrams():
    rows = {row[0]: row[1] for row in cells("penn_treebank.md", "model")}
    spans = [float(rows[name].partition(",")[0]) for name in rows if name.startswith("CDLM") and "+" not in name]  # fmt: skip
    assert len(spans) >= 2 and spans == sorted(spans, reverse=True)
