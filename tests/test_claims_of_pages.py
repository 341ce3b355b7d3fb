"""What pages claim in words follows from the intervals of their files, by the rule for claims."""

import math
import re

import pandas as pd

from crosslmm.stats import claims
from written import DOCS, cells, number, percent, said


def test_pretrained_networks_with_a_bias_at_inference():
    rows = pd.read_csv(DOCS / "pretrained" / "smollm2.csv").set_index("bias")
    low, high = (rows[f"difference_{end}_simultaneous"] for end in ("low", "high"))
    others = rows.index.drop("no bias")
    # The table has no interval in percent: a lead of 10 % is compared with the low end of the whole.
    tenth = 0.1 * rows.low["no bias"]
    judged = {bias: claims.judge(low[bias], high[bias], tenth) for bias in others}
    assert len(others) == 14 and set(judged.values()) == {claims.RULED_OUT}
    behind = {bias for bias in others if claims.leads(-high[bias], -low[bias])}
    assert set(others) - behind == {"ALiBi-1/256", "dVM"}
    text = said("pretrained.md")
    assert "a lead of 10 % is ruled out for all 14" in text
    assert "no bias leads all of them but a slope of 1/256 and dVM, which are open" in text
    for bias, value in re.findall(r"\| ([\w/-]+) \| [^|]+ \| ([−+]\S+ \(\S+ to \S+\)) \|", text):
        ends = (f"{end[bias]:,.0f}".replace("-", "−") for end in (low, high))
        assert value.endswith(f"({' to '.join(ends)})"), bias
    responses = [name.removesuffix(" low") for name in rows if name.endswith(" low")]
    assert len(responses) == 9 and not any((rows[f"{r} low"] > 0).any() for r in responses)
    # Less context is less information beyond five words, although its effect declines more slowly.
    low, high = (rows[f"beyond_5_words_bits_{end}"] for end in ("low", "high"))
    assert low[["no bias", "dVM"]].min() > 0 > high[["ALiBi-1/4", "ALiBi-mix", "window-20"]].max()
    windows = ["window-2", "window-5"]
    assert low[windows].max() < 0 < high[windows].min()
    assert (rows.half_life_words[[*windows, "window-20"]] > rows.half_life_words["no bias"]).all()


def test_theories_of_memory():
    rows = pd.read_csv(DOCS / "open-study" / "theories.csv").set_index("label")
    others = rows.drop(index="no bias")
    assert len(others) == 10
    assert ((others.difference_low < 0) & (others.difference_high > 0)).all()
    first, second = others.difference.nlargest(2).index
    assert (first, second) == ("ALiBi-1-TI", "forget gates")
    text = said("open-study/theories.md")
    ends = {
        name: [
            number(others[column][name])
            for column in ("difference", "difference_low", "difference_high")
        ]
        for name in (first, second)
    }
    assert "{} nats above no bias (95 % interval {} to {})".format(*ends[first]) in text
    assert "forget gates follow with {} ({} to {})".format(*ends[second]) in text
    beyond = pd.read_csv(DOCS / "open-study" / "theories_beyond.csv").set_index("lm").loc["LSTM"]
    for kind in ("over_no_bias", "no_bias_over", "over_mix"):
        low, high = beyond[f"low_{kind}"], beyond[f"high_{kind}"]
        assert low > 0  # by itself, but not by the 3.1 standard errors of 28 comparisons
        assert beyond[f"delta_loglik_{kind}"] < 3.12 * (high - low) / (2 * 1.96)
    assert "none has an interval that excludes zero" in said("open-study/theories.md")


def test_the_memory_of_a_reader():
    text, pairs = said("readers-memory.md"), {}
    for path in sorted((DOCS / "readers-memory").rglob("*.csv")):
        rows = pd.read_csv(path)
        rows = rows[(rows.dataset == "all") & rows.against.notna()]
        for row in rows.itertuples():
            ends = (row.low, row.high) if pd.isna(row.low_all) else (row.low_all, row.high_all)
            key, smallest = (path.parent.name, path.stem), 0.5 * row.n / 1000
            pairs[*key, row.lm, row.against] = row.delta_loglik, *ends, smallest
            pairs[*key, row.against, row.lm] = -row.delta_loglik, -ends[1], -ends[0], smallest

    def written(value, low, high, _):
        return f"{value:.0f} ({low:.0f} to {high:.0f})".replace("-", "−")

    data = [
        ("own", "small"),
        ("own", "alibi"),
        ("own", "smollm2"),
        ("ucl", "small"),
        ("ucl", "alibi"),
    ]
    shown = re.findall(r"\| ([−\d]+ \([^|]*\)) " * 4 + r"\|", text)
    led = set()
    for (kind, lm), row in zip(data, shown, strict=True):
        names = [
            (folder, other)
            for folder in ("by_fixation", "readers-memory")
            for other in (lm, f"{lm}-others")
        ]
        for cell, (folder, other) in zip(row, names, strict=True):
            found = pairs[folder, f"{kind}_{lm}", f"{lm}-reader", other]
            assert cell == written(*found)
            if found[1] > 0 or found[2] < 0:
                led.add((folder, kind, lm, "others" if other != lm else "whole", found[1] > 0))
    small = {(kind, lm) for kind, lm in data if lm != "smollm2"}
    both = ("by_fixation", "readers-memory")
    expected = {(folder, *each, "others", True) for folder in both for each in small}
    expected |= {("by_fixation", "own", lm, "whole", False) for lm in ("small", "alibi", "smollm2")}
    assert led == expected | {("readers-memory", "own", "smollm2", "whole", False)}
    assert all(pairs["by_fixation", f"{kind}_{lm}", lm, f"{lm}-others"][1] > 0 for kind, lm in data)
    of_others = {
        (k, lm): pairs["readers-memory", f"{k}_{lm}", lm, f"{lm}-others"] for k, lm in data
    }
    assert {key for key, ends in of_others.items() if ends[1] > 0} == {("own", "smollm2")}
    retention = {key[2:]: ends for key, ends in pairs.items() if key[1] == "retention"}
    assert not any(low > 0 or high < 0 for _, low, high, _ in retention.values())
    judged = {
        lm: claims.judge(*ends[1:]) for (lm, of), ends in retention.items() if of == "small-reader"
    }
    ruled_out = {lm for lm, claim in judged.items() if claim == claims.RULED_OUT}
    assert len(judged) == 5 and ruled_out == {"small-fading-2", "small-fading-8"}


def test_entropy_beyond_surprisal():
    rows = pd.read_csv(DOCS / "surprisal" / "word_entropy.csv")
    assert len(rows) == 6 and ((rows.low < 0) & (rows.high > 0)).all()
    assert "whether it does is open" in said("surprisal.md")
    table = re.findall(
        r"^\| next (\w+) \| (UCL \w+) \| (.*) \| (.*) \|$",
        (DOCS / "surprisal.md").read_text(),
        re.MULTILINE,
    )
    assert len(table) == 6
    for row, (kind, response, effect, gain) in zip(rows.itertuples(), table, strict=True):
        assert (f"{kind}_entropy", response) == (row.experiment, row.response)
        for text, values, digits in (
            (effect, (row.ms_per_bit, row.ms_low, row.ms_high), 2),
            (gain, (row.delta_loglik, row.low, row.high), 0),
        ):
            value, low, high = (f"{v:.{digits}f}".replace("-", "−") for v in values)
            assert text == f"{value} ({low} to {high})"


def test_endpoints_of_factorial_experiments():
    rows = pd.read_csv(DOCS / "endpoint" / "factorial.csv")
    page = (DOCS / "endpoint.md").read_text()
    table = re.findall(r"^\| (\d+) \| (\d+) \| (\d) \| (.*?) \| ([\d |]+) \|$", page, re.MULTILINE)
    designs = ["readers", "items", "conditions", "latin", "regions", "effect", "item_sd"]
    assert len(table) == len(rows[designs].drop_duplicates()) == 15
    for *design, other, values in table:
        readers, items, conditions = map(int, design)
        same = rows[
            (rows.readers == readers) & (rows["items"] == items) & (rows.conditions == conditions)
            & (rows.latin != ("complete" in other)) & ((rows.regions == 3) == ("three" in other))
            & ((rows.effect == 0) == ("no effect" in other)) & ((rows.item_sd == 80) == ("sd 80" in other))
        ].set_index("endpoint")  # fmt: skip
        shown = [
            f"{100 * same.loc[endpoint, name]:.0f}"
            for endpoint in ("crossed, stimuli", "conditional")
            for name in ("size", "power", "coverage")
        ]
        assert values.split(" | ") == shown, (design, other)
    crossed = rows[rows.endpoint == "crossed, stimuli"]
    assert crossed["size"].max() < 0.085 and crossed.coverage.min() > 0.915
    few = crossed[(crossed["items"] <= 24) & crossed.latin]
    assert few.power.max() <= 0.1 and set(few.readers) == {48, 216}
    conditional = rows[rows.endpoint == "conditional"]
    assert conditional["size"].max() == 0.1
    assert (conditional.coverage.min().round(2), conditional.coverage.max().round(2)) == (
        0.92,
        0.98,
    )
    both = conditional.set_index(designs).power - crossed.set_index(designs).power
    assert (both < 0).sum() == 11 and both.round(2).max() == 0.22
    versions = rows[rows.endpoint == "crossed, versions"]
    assert versions.power.round(2).tolist() == [0.15, 0.17, 0.25, 0.17]


def test_candidate_endpoints():
    rows = pd.read_csv(DOCS / "endpoint" / "candidates.csv")
    likelihoods = {
        "marginal": "marginal",
        "marginal over subjects": "marginal_subject",
        "fixed effects only": "fixed_effects",
        "conditional": "conditional",
        "the script's": "modelblocks",
    }
    # The interval by which the workflow judges: in-sample, the page has the two-way one.
    data = {
        "crossed": ("crossed", "two_way"),
        "in-sample": ("in_sample", "two_way"),
        "exploratory": ("held_out", "given_fits"),
    }
    shown = cells("endpoint.md", "baseline", "likelihood", "observations")
    for baseline, likelihood, scored, *values in shown:
        where, interval = data[scored]
        same = rows[
            (rows.baseline == baseline.strip("`"))
            & (rows.likelihood == likelihoods[likelihood.strip("*")])
            & (rows.data == where)
            & (rows.interval == interval)
        ].set_index("setting")
        default, weights = same.loc["default"], same.repeats / same.repeats.sum()
        size, power, coverage = (
            percent((same[name] * weights).sum()) for name in ("size", "power", "coverage_lead")
        )
        ends = f"{percent(same.power.min())} to {percent(same.power.max())}"
        expected = [f"{default.separation:.1f}".replace("-", "−"), size, power, ends, coverage]
        assert [value.strip("*") for value in values] == expected, (likelihood, scored)
        assert same.repeats.sum() == 692
    crossed = rows[(rows.baseline == "all") & (rows.data == "crossed")]
    power = crossed.groupby("likelihood").power.mean()
    assert set(power.nlargest(2).index) == {"marginal", "marginal_subject"}
    bias = crossed[crossed.likelihood == "marginal"].set_index("setting").delta_loglik_a_bias
    said_of = {"seeds=3": 1.0, "subjects=10": 2.1, "slope_sd=1": 2.1, "slope_sd=1.5": 3.7}
    assert (bias[list(said_of)].round(1) == [-value for value in said_of.values()]).all()
    others = bias.drop(list(said_of))
    assert (others.max().round(1), others.min().round(1)) == (-0.4, -0.7)
    assert "0.4 to 0.7 nats per 1,000 observations too low, 1.0 with three seeds" in said(
        "endpoint.md"
    )
    covered = crossed[crossed.likelihood == "marginal"].coverage_lead
    given = rows[
        (rows.baseline == "all")
        & (rows.interval == "given_fits")
        & rows.likelihood.isin(["conditional", "marginal"])
    ].coverage_lead
    ends = "{} to {} % by setting, the crossed interval in {} to {} %"
    ends = ends.format(*map(percent, (given.min(), given.max(), covered.min(), covered.max())))
    assert ends in said("how_sure.md")


def test_false_positives_of_permutation_tests():
    rows = pd.read_csv(DOCS / "endpoint" / "tests.csv").groupby("test")["size"].agg(["min", "max"])
    text, of = said("endpoint.md"), {name: row.map(percent) for name, row in rows.iterrows()}
    for test in ("observation", "subject", "sentence"):
        assert f"by {test} {of[test]['min']} to {of[test]['max']} %" in text
    assert f"The larger of the last two has up to {of['larger']['max']} %" in text
    up_to = f"up to {of['subject']['max']} and {of['sentence']['max']} % false positives"
    assert up_to in said("how_sure.md")


def test_false_positives_of_intervals_by_setting():
    rows, text = pd.read_csv(DOCS / "endpoint" / "dependence.csv"), said("how_sure.md")
    assert f"all {len(rows)} settings" in text and (rows.repeats == 400).all()
    by_seed = rows[rows.by_seed > 0].groupby("seeds").by_larger.agg(["min", "max"])
    assert by_seed.loc[2, "max"] < 2.5 and by_seed["max"].max() < 5.5
    skewed = rows[rows.noise == "lognormal"].by_larger
    assert 8.5 <= skewed.min() and skewed.max() <= 11
    shared = rows[rows.share & (rows.by_seed == 0) & (rows.noise != "lognormal")]
    ends = shared.by_larger.agg(["min", "max"]) + 1e-9  # 4.25 is 4.3
    assert "{:.1f} to {:.1f} %".format(*ends) in text
    nothing = (rows.by_subject == 0) & (rows.by_text == 0) & (rows.by_sentence == 0)
    others = rows[~nothing & ~rows.share & (rows.by_seed == 0) & (rows.noise != "lognormal")]
    low, high, median = (
        getattr(others.by_larger, name)() + 1e-9 for name in ("min", "max", "median")
    )
    assert f"{low:.1f} to {high:.1f} %, median {median:.1f}" in text


def test_order_of_the_theories():
    rows = pd.read_csv(DOCS / "open-study" / "theories.csv").set_index("label")
    text = said("open-study/theories.md")

    def rho(rows, *columns):
        value = rows[list(columns)].corr(method="spearman").iloc[0, 1]
        return f"{value:.2f}".replace("0.", ".").replace("-", "−")

    transformers = rows.drop(["LSTM", "state space"])
    assert len(transformers) == 9
    assert f"is {rho(rows, 'perplexity', 'delta_loglik')} over the eleven LMs" in text
    of_nine = rho(transformers, "half_life_words", "delta_loglik")
    with_quality = rho(transformers, "half_life_words", "perplexity")
    assert (
        f"half-life and ΔLogLik is {of_nine}, that of half-life and perplexity {with_quality}"
        in text
    )
    assert (
        f"all eleven LMs half-life and ΔLogLik have {rho(rows, 'half_life_words', 'delta_loglik')}"
        in text
    )
    assert (
        rows.half_life_words.idxmin() == rows.delta_loglik.idxmin() == "LSTM"
    )  # ALiBi-1 has the same to 0.01
    beyond = pd.read_csv(DOCS / "open-study" / "theories_beyond.csv").set_index("lm")
    columns = [c for c in beyond if c.startswith("delta_loglik")]
    assert f"for the {int(beyond[columns].notna().sum().sum())} comparisons" in text
    for label in beyond.index.intersection(transformers.index):
        lows = beyond.loc[label, ["low_over_no_bias", "low_over_mix"]].dropna()
        assert (lows < 0).all(), label
    retained = pd.read_csv(DOCS / "open-study" / "theories_retention.csv")
    half = (
        retained[retained.source == "measured_memory"]
        .groupby("lm")
        .half_left_words.first()
        .dropna()
    )
    others = half.drop("surprisal-gated-TI")
    gated = half["surprisal-gated-TI"]
    assert len(half) == 10 and "lossy" not in " ".join(half.index)
    told = f"has fallen to half of its mean at two to five words by {math.ceil(others.max())} words (surprisal-gated: {gated:.0f}; lossy"
    assert told in text
    text_half = retained[retained.source == "triggering"].groupby("lm").half_left_words.first()
    assert half.max() < text_half["they … they"] and text_half.isna().sum() == 2


def test_pretrained_networks_beyond_the_endpoint():
    text = said("pretrained.md")
    rows = pd.read_csv(DOCS / "pretrained" / "smollm2.csv").set_index("bias")
    for bias, shown in (
        ("ALiBi-mix", "{} nats less with mixed slopes ({} to {})"),
        ("dVM", "{} with dVM ({} to {})"),
    ):
        ends = [-rows[name][bias] for name in ("A-maze", "A-maze high", "A-maze low")]
        assert shown.format(*(f"{abs(end):,.0f}" for end in ends)) in text
    means = pd.read_csv(DOCS / "pretrained" / "smollm2_means.csv")
    means = means.set_index(["dataset", means.lm.str.removeprefix("smollm2")]).delta_aic
    for dataset, name in {
        "items_natural_stories": "Natural Stories",
        "items_meco": "MECO",
        "items_provo": "Provo",
        "items_ucl": "UCL eye tracking",
        "items_ucl_spr": "self-paced",
    }.items():
        both = [number(means[dataset, f"-{bias}-I"], 1, sign=True) for bias in ("dVM", "ALiBi-mix")]
        assert f"{name} {' and '.join(both)}" in text
    trials = pd.read_csv(DOCS / "pretrained" / "search.csv").nlargest(5, "loglik")
    assert trials.loglik.max() - trials.loglik.min() < 1.5
    assert f"decays from {trials.decay.min():.1f} to" in text and (
        trials.weight.round(2).between(0.40, 0.41).all()
    )


def test_the_thesis_s_measures_of_the_open_study():
    text, folder = said("open-study/measures.md"), DOCS / "open-study"
    mazes = pd.read_csv(folder / "maze.csv")
    assert "nine comparisons, of one network each" in text and mazes.lm.nunique() >= 10
    families = pd.read_csv(folder / "families.csv")
    times = families[families.response.isin(["Provo FP", "Provo GP", "Provo TFT"])]
    best = times.groupby("family").best.unique()
    assert list(best["by width"]) == ["width 256"] and list(best["by steps"]) == ["no bias"]
    maze = families[(families.response == "Witzel Maze") & (families.family == "by steps")]
    assert set(maze.best) == {"no bias"}
    wide = families.pivot_table("gap", ["family", "response"], "design", sort=False)
    wider = int((wide["with"] > wide["without"]).sum())
    assert f"in {wider} of {len(wide)} cases" in text
    words = pd.read_csv(folder / "rare_words_begun.csv").pivot_table("ppl", "label", "class")
    made, random = words.loc["LBL2 with SWordSS"], words.loc["LBL2, random vectors of rare words"]
    once, seldom = (100 * (made[name] / random[name] - 1) for name in ("1", "2–10"))
    assert f"once falls by {-once:.0f} %, and that of words seen 2 to 10 times rises by {seldom:.0f} %" in text  # fmt: skip
    lstm = words.loc["LSTM with SWordSS"] / words.loc["LSTM"]
    falls = [100 * (1 - lstm[name]) for name in ("1", "2–10")]
    assert "the LSTM's falls by {:.0f} and {:.0f} %".format(*falls) in text
    rare = pd.read_csv(folder / "rare_words.csv")
    pairs = rare[rare.set.str.startswith("RW") & (rare.label == "no bias")].set_index("similarity")
    made = pairs.drop("without").spearman
    ends = (f"{v:.2f}".lstrip("0") for v in (pairs.spearman["without"], made.min(), made.max()))
    assert "rises from {} to {} to {} with".format(*ends) in text


def test_masked_networks_of_the_open_study():
    text, folder = said("open-study/masked_lms.md"), DOCS / "open-study"
    glue = pd.read_csv(folder / "mlm_glue.csv")
    perplexity = glue[glue.task == "ppl"].set_index("label")
    told = "perplexity is {} with ALiBi and the CLAP head, {} with ALiBi alone, {} with the head alone and {} with neither"  # fmt: skip
    names = ["zero-clap", "alibi", "learned-clap", "baseline"]
    assert told.format(*(number(perplexity.best[name]) for name in names)) in text
    ordered = perplexity.loc[[*names, "sinusoidal"]]
    assert (ordered.high.to_numpy()[:-1] < ordered.low.to_numpy()[1:]).all()
    published = perplexity.published_base
    own = "are {baseline} (learned positions) and {alibi} (ALiBi), {learned} and {zero} with the CLAP head"  # fmt: skip
    shown = {name.partition("-")[0]: number(published[name], 2) for name in names}
    assert own.format(**shown) in text
    length = pd.read_csv(folder / "mlm_length.csv").set_index(["label", "length"])
    falls = []
    for name in ("alibi", "zero-clap"):
        longer = length.loc[name].loc[[512, 1024, 2048]]
        assert (longer.high < 0).all() and longer.ppl.is_monotonic_decreasing
        row = length.loc[name, 8 * 256]
        falls += [100 * (1 - math.exp(row[end])) for end in ("difference", "high", "low")]
    told = "eight times the training length, there by {:.1f} % ({:.1f} to {:.1f}) and, with the head, by {:.1f} % ({:.1f} to {:.1f}; 40 documents"  # fmt: skip
    assert told.format(*falls) in text and set(length.documents) == {40}
    row = length.loc["sinusoidal", 8 * 256]
    worse = [percent(math.exp(row[end]) - 1) for end in ("difference", "low", "high")]
    assert "it is {} % ({} to {}) higher at eight times".format(*worse) in text
    for name, _, trained, longest in cells("open-study/masked_lms.md", "LM"):
        assert trained == number(length.ppl[name, 256])
        assert longest == (
            "–" if pd.isna(length.ppl[name, 2048]) else number(length.ppl[name, 2048])
        )
    assert length.ppl["baseline"][512:].isna().all() and length.ppl["learned-clap"][512:].isna().all()  # fmt: skip
    tuned = glue[glue.task != "ppl"]
    ended = tuned.groupby("task")[["runs", "ended"]].sum()
    assert (ended.runs == 15).all() and set(tuned.epochs) == {3} and set(tuned.train) == {1000}
    assert ended.ended.to_dict() == {"CoLA": 15, "MRPC": 15, "RTE": 5, "SST-2": 5, "STS-B": 4}
    assert "of fifteen fine-tunings (three epochs, 1,000 examples), all of CoLA and MRPC, five each of RTE and SST-2, four of STS-B" in text  # fmt: skip
    for task, share in (("CoLA", "68.9"), ("MRPC", "66.5")):
        assert {f"{x:.1f}" for x in tuned[tuned.task == task][["best", "majority"]].stack()} == {share}  # fmt: skip
        assert f"{task}'s {share}" in text
    # Shares of the majority class in GLUE's development sets.
    majority = {"CoLA": 69.1, "MRPC": 68.4, "RTE": 52.7}
    study = pd.read_csv(DOCS.parent / "data" / "published" / "mlm_clap_pile.csv")
    assert sum((study[task] == share).sum() for task, share in majority.items()) == 5
    assert "as are five of the study's own figures" in text


def test_serial_position_of_a_pretrained_network():
    rows = pd.read_csv(DOCS / "pretrained" / "serial_position.csv").set_index("bias")
    recognised, recalled = (rows[rows.task == task] for task in ("recognition", "recall"))
    plain, steep, mixed = (recognised.loc[name] for name in ("no bias", "ALiBi-1/4", "ALiBi-mix"))
    assert (plain.mean_low > 50).all() and (plain.primacy_low > 0).all()
    assert (steep.recency_low > 0).all() and not (steep.primacy_low > 0).any()
    assert (mixed["mean"] < 55).all()
    assert recalled["mean"].max() < 2 and set(rows.lists) == {40}
    text = said("serial_position.md")
    assert "Recall is below 2 %" in text and "40 lists of each length" in text


def test_serial_position_of_the_open_study():
    rows = pd.read_csv(DOCS / "serial_position" / "open_study.csv")
    recognised, recalled = (rows[rows.task == task] for task in ("recognition", "recall"))
    assert recognised.lm.nunique() == 5
    assert ((recognised.mean_low < 50) & (recognised.mean_high > 50)).all()
    ends = "recognize {:.0f} to {:.0f} % of words, and no 95 % interval excludes chance"
    text = said("serial_position.md")
    assert ends.format(recognised["mean"].min(), recognised["mean"].max()) in text
    most = math.ceil(10 * recalled["mean"].max()) / 10
    lures = [math.ceil(10 * recalled.chance.agg(end)) / 10 for end in ("min", "max")]
    assert f"they recall at most {most} %, lures {lures[0]} to {lures[1]} %" in text


def test_choice_of_a_family():
    text, folder = said("regression.md"), DOCS / "families"
    rows = pd.read_csv(folder / "family_choice.csv")
    rows["response"] = rows.dataset + "." + rows.measure
    assert rows.converged.all() and rows.lm.nunique() == 5
    fit = 1000 * rows.pivot_table("loglik", "response", "family")
    above = fit.sub(fit.gaussian, axis=0)
    best = above.idxmax(axis=1).to_dict()
    assert best["ucl_spr.SPR"] == best["provo.FP"] == "shifted_lognormal"
    assert best["natural_stories.SPR"].startswith("exgaussian")
    assert best["ucl_eye_tracking.FP"].startswith("exgaussian")
    gains = above.max(axis=1)
    ends = f"{gains.min():.0f} to {gains.max():.0f} nats per 1,000 observations above the Gaussian"
    assert ends in text
    order = {
        response: each.pivot_table("delta_loglik", "lm", "family").corr(method="spearman").gaussian
        for response, each in rows.groupby("response")
    }
    rho = pd.DataFrame(order).round(2)
    paced = ["ucl_spr.SPR", "natural_stories.SPR"]
    skewed = rho.filter(like="exgaussian", axis=0)[paced]
    inverse = rho.loc["inverse_gaussian identity", "natural_stories.SPR"]
    rho.loc[skewed.index, paced] = rho.loc["inverse_gaussian identity", "natural_stories.SPR"] = (
        None
    )
    assert (rho.min().min(), rho.max().max()) == (0.8, 1)
    assert (skewed.min().min(), skewed.max().max(), inverse) == (-0.1, 0.7, -0.4)
    told = "with the Gaussian's is .8 to 1, except with the ex-Gaussian in self-paced reading (−.1 to .7) and the inverse Gaussian, identity link, in Natural Stories (−.4)"  # fmt: skip
    assert told in text and "five LMs from four trainings, conditional likelihood" in text
    means = rows[rows.response == "ucl_spr.SPR"].groupby("family").delta_loglik.mean()
    assert f"its mean is {means.min():.0f} to {means.max():.0f} nats by family" in text
    links = pd.read_csv(folder / "linking_choice.csv")
    fit = 1000 * links.pivot_table("loglik", ["dataset", "measure", "family", "lm"], "linking")
    widest = (fit.max(axis=1) - fit.min(axis=1)).max()
    assert links.converged.all() and f"at most {widest + 1e-9:.1f} nats per 1,000" in text


def test_differences_from_the_paper_that_are_not_explained():
    rows = pd.read_csv(DOCS / "endpoint" / "table2_values.csv")
    rows = rows[(rows.base == "all") & (rows.endpoint == "modelblocks")]
    assert (rows.groupby("response").lm.nunique() == 14).all()
    apart = (rows.delta_loglik - rows.published).groupby(rows.response).mean()
    said_of = ", ".join(f"{name} {number(value, sign=True)}" for name, value in apart.sort_values().items())  # fmt: skip
    order = ["UCL SPR", "UCL FP", "Provo FP", "UCL GP", "Provo SP", "Provo GP"]
    assert apart.sort_values().index.tolist() == order
    assert f"{said_of} nats" in said("endpoint.md")
    shares = {name: f"{abs(apart[name]):.0f} ({name.removeprefix('Provo ')})" for name in order}
    told = "is {Provo SP} and {Provo GP} nats above, {Provo FP} below".format(**shares)
    assert told in said("fidelity.md")


def test_simulated_readers_without_controls():
    rows = pd.read_csv(DOCS / "endpoint" / "scanpaths.csv", keep_default_na=False)
    text = said("readers-memory.md")
    both = rows[rows.baseline == "saccades"]
    absent = both[both.readers_use != "own"]
    assert f"no study claims memory that is not there (0 of {absent.studies.sum()})" in text
    assert (absent.claim == 0).all() and (both[both.ms_per_bit == 3].query("readers_use == 'own'").claim == 1).all()  # fmt: skip
    alone = rows[rows.baseline == "without"].set_index("readers_use")
    assert alone.claim["none"] == 0.2 and "Without saccades in the baseline a fifth" in text
    whole, another = alone.leads_whole["another"], alone.leads_another["whole"]
    misled = (
        f"own fixations beat the whole text if readers use another's ({100 * whole + 1e-9:.0f})"
    )
    assert misled in text and f"if they use the text ({percent(another)})" in text


def test_memory_that_text_requires():
    rows = pd.read_csv(DOCS / "open-study" / "triggering.csv")
    she = rows[(rows["first"] == "she") & (rows.second == "she")]
    text = said("measured_memory.md")
    for words, told in ((10, "times likelier ten words later"), (100, "times 100 words later")):
        row = she[(she.distance <= words) & (she.distance_to >= words)].iloc[0]
        assert f"{row.times:.1f} {told} ({row.low:.1f} to {row.high:.1f}" in text
    retained = pd.read_csv(DOCS / "open-study" / "theories_retention.csv")
    retained = retained[retained.source == "triggering"]
    retained = retained.set_index(["lm", retained.distance.round()])
    told = "is highest for *she* after eight words ({:.0f} %), {:.0f} % after 65 and {:.0f} % after 900"
    she = retained.percent["she … she"]
    assert she.idxmax() == 8
    assert told.format(*she[[8, 65, 935]]) in said("open-study/theories.md")
    half = retained.half_left_words["they … they"].iloc[0]
    assert f"for *they* it is 50 % after {half:.0f} words" in said("open-study/theories.md")
