"""What pages claim in words follows from the intervals of their files, by the rule for claims."""

import re
from pathlib import Path

import pandas as pd

from crosslmm.stats import claims

DOCS = Path(__file__).resolve().parents[1] / "docs"


def said(page):
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


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
    assert others.difference.nlargest(2).index.tolist() == ["ALiBi-1-TI", "forget gates"]
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
    for (kind, lm), cells in zip(data, shown, strict=True):
        names = [
            (folder, other)
            for folder in ("by_fixation", "readers-memory")
            for other in (lm, f"{lm}-others")
        ]
        for cell, (folder, other) in zip(cells, names, strict=True):
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
