"""Every view of the explorer in a browser: its numbers are the tables', hostile text is text."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import recency
from browsing import browser, opened, walked  # noqa: F401, a fixture
from explorer_walks import in_browser, walked_pages
from project import ROOT
from recency.evaluations.explore import self_contained, view_data
from recency.scoring.lossy import scanpaths

pytestmark = pytest.mark.merge

VIEWS = ("text", "words", "scatter", "sources", "readers", "lms", "memory")
DATA = ROOT / "src/recency/evaluations/explore/explore_data.js"
HOSTILE = "</script><script>window.hostile=1</script><img src=x onerror=window.hostile=1>\u202e"
A, B = "ALiBi-mix-TI", "Pythia"
SPR = "spr/simulated_spr.SPR"


def number(value):
    """Write a number as the page does."""
    if pd.isna(value):
        return "–"
    if float(value).is_integer():
        return f"{value:,.0f}".replace("-", "−")
    digits = max(0, min(6, 3 - int(np.floor(np.log10(abs(value))))))
    return f"{value:.{digits}f}".replace("-", "−")


def shown_number(text):
    return float(text.replace("−", "-").replace(",", ""))


@pytest.fixture(scope="module")
def results(finished):
    return finished / "results" / "tiny" / "cores"


def contributions(results, lm):
    """Return what an LM adds to each observation's conditional log-likelihood."""
    folder = results / "regression" / "spr" / "simulated_spr.SPR"
    full, base = (
        pd.read_parquet(folder / f"{name}.parquet") for name in (f"{lm}.full", "none.base")
    )
    return full.assign(gain=full.loglik - base.loglik)


def test_every_view_has_the_numbers_of_the_tables(browser, results, tmp_path):  # noqa: F811
    folder = results / "experiments" / "simulated"
    text = (folder / "explore.html").read_text()
    table = pd.read_parquet(results / "datasets" / "simulated_spr" / "words.parquet")
    bits = {
        lm: pd.read_parquet(results / "surprisal" / lm / "simulated_spr.parquet").surprisal_bits
        for lm in (A, B)
    }
    most = round(float(bits[A].median()), 3)  # bits of the words that the scatter plot selects
    chosen = {"response": SPR, "a": A, "b": B}
    steps = [
        {"view": "text", "colour": "gain", **chosen},
        {"press": "#next"},
        {"view": "words", "has": ""},
        {"view": "words", "has": "the", "length": "3 to 4"},
        {"view": "scatter", "has": "", "length": "", "x": "surprisal_a", "y": "mean", "range": f"0,{most},100,2000"},
        {"view": "words", "selected": "1"},
        {"view": "sources", "selected": "", "unit": "word", "top": "5"},
        {"view": "sources", "unit": "reader", "likelihood": "crossed"},
        {"view": "readers"},
        {"view": "lms"},
        {"view": "memory"},
    ]  # fmt: skip
    page = {"name": "study", "width": 1400, "height": 900, "text": text, "steps": steps}
    walk = walked_pages(browser, [page], tmp_path)["study"]
    seen = dict(zip(("start", "text", "next", "words", "filtered", "scatter", "selected", *VIEWS[3:4], "crossed", *VIEWS[4:]), walk["seen"], strict=True))  # fmt: skip
    assert not walk["hostile"] and walk["other"] == 0
    where = results / "observations" / "simulated_spr.SPR"
    read = pd.concat([pd.read_parquet(where / f"{p}.parquet") for p in ("fit", "exploratory")])
    mean = read.groupby("word_id").time_ms.mean()
    gains = {lm: contributions(results, lm) for lm in (A, B)}
    difference = gains[A].gain - gains[B].gain
    by_word = difference.groupby(gains[A].word_id).sum()

    # The word of the largest contribution, and its values
    largest = by_word.abs().idxmax()
    current = [word for word in seen["next"]["words"] if word[3] == "true"]
    assert [word[0] for word in current] == [table.word[largest]] and current[0][2]
    details = {row[0]: row[1:] for row in seen["next"]["details"]}
    assert details["Simulated SPR (ms)"][0] == number(mean.round(3)[largest])
    for lm, label in ((A, A), (B, "no bias")):
        gain = gains[lm].groupby("word_id").gain.sum()[largest]
        told = [shown_number(cell) for cell in details[label]]
        assert told == pytest.approx([bits[lm][largest], gain], rel=2e-3, abs=1e-3)

    # The table of words
    heads = seen["words"]["heads"]
    assert f"{len(table):,} of {len(table):,} words" in seen["words"]["text"]
    for place, row in enumerate(seen["words"]["rows"]):
        cells = dict(zip(heads, row, strict=True))
        assert cells["Word"] == table.word[place]
        assert shown_number(cells[f"Surprisal, {A} (bits)"]) == pytest.approx(bits[A][place], rel=2e-3, abs=1e-3)  # fmt: skip
        if place in mean:
            assert shown_number(cells["Mean over readers, Simulated SPR (ms)"]) == pytest.approx(mean[place], rel=1e-3)  # fmt: skip
    wanted = table.word.str.contains("the", case=False) & table.word.str.len().between(3, 4)
    assert f"{wanted.sum():,} of " in seen["filtered"]["text"]
    assert {row[0] for row in seen["filtered"]["rows"]} <= set(table.word[wanted])

    # The selection of the scatter plot
    brushed = bits[A].between(0, most) & mean.reindex(table.index).between(100, 2000)
    assert seen["scatter"]["charts"] == 1 and brushed.sum() > 3
    assert f"{brushed.sum():,} words are selected" in seen["scatter"]["text"]
    assert f"{brushed.sum():,} of " in seen["selected"]["text"]

    # The sources, by word and by reader of the endpoint
    total, top = difference.sum(), by_word.sort_values(ascending=difference.sum() < 0)
    half = int((np.sign(total) * top.cumsum() >= abs(total) / 2).argmax()) + 1
    rest = total - top[:5].sum()
    answer = seen["sources"]["text"]
    summary = pd.read_csv(folder / "delta_loglik.csv").set_index(["dataset", "lm"])
    told = summary.delta_loglik_conditional["simulated_spr"]
    assert total == pytest.approx(told[A] - told[B], rel=1e-9)
    sentence = answer[answer.index("ΔLogLik, ALiBi-mix-TI minus no bias (nats): ") :].split(
        ": ", 1
    )[1]
    assert shown_number(sentence.split()[0]) == pytest.approx(total, rel=2e-3, abs=0.02)
    assert f"Half of it comes from {half:,} (" in sentence
    assert "if all observations contributed the same, half would come from " in answer
    assert shown_number(sentence.split("largest it is ")[1].split(".\n")[0].rstrip(".")) == pytest.approx(rest, rel=5e-3, abs=0.02)  # fmt: skip
    assert seen["sources"]["rows"][0][0].startswith(table.word[top.index[0]])
    assert shown_number(seen["sources"]["rows"][0][1]) == pytest.approx(top.iloc[0], rel=2e-3)
    readers = pd.read_parquet(folder / "delta_loglik_by_subject.parquet")
    readers = readers[readers.dataset == "simulated_spr"].pivot(index="subject", columns="lm")
    gain = readers.delta_loglik[A] - readers.delta_loglik[B]
    for name, value, n in seen["crossed"]["rows"]:
        assert shown_number(value) == pytest.approx(gain[name], rel=2e-3, abs=2e-3)
        assert shown_number(n) == readers.n[A][name]
    assert len(seen["crossed"]["rows"]) == min(25, len(gain))

    # Readers' slopes
    fit = json.loads(
        (results / "regression" / "spr" / "simulated_spr.SPR" / f"{A}.full.json").read_text()
    )
    fixed = {each["term"]: each["estimate"] for each in fit["fixed"]}["surprisal"]
    place = fit["random"]["subject"]["terms"].index("surprisal")
    for name, slope, value, _ in seen["readers"]["rows"]:
        own = (fixed + fit["ranef"]["subject"][name][place]) / fit["scaling"]["surprisal"]["sd"]
        assert shown_number(slope) == pytest.approx(own, rel=2e-3, abs=1e-3)
        assert shown_number(value) == pytest.approx(gain[name], rel=2e-3, abs=2e-3)

    # The ranking
    intervals = pd.read_csv(folder / "delta_loglik_intervals.csv")
    own = intervals[intervals.kind == "own"].set_index(["dataset", "lm"])
    lms = dict(zip(summary.label, summary.index.get_level_values("lm")))
    names = {
        "All responses": "all",
        "Simulated SPR": "simulated_spr",
        "Simulated FP": "simulated_eye_tracking",
    }
    assert len(seen["lms"]["rows"]) == len(own)
    for label, response, *cells in seen["lms"]["rows"]:
        row = own.loc[(names[response], lms[label])]
        assert cells[:3] == [number(row[name]) for name in ("delta_loglik", "low", "high")]
        assert shown_number(cells[4]) == row.n
    assert "No memory was measured" in seen["memory"]["text"]
    assert "Memory: not measured" in seen["memory"]["missing"]
    assert seen["memory"]["command"].startswith(
        "./run explore_simulated --cores 1 --configfile config/demo.yaml"
    )


def test_the_address_holds_the_view(browser, results, tmp_path):  # noqa: F811
    page = results / "experiments" / "simulated" / "explore.html"
    rows = pd.read_csv(page.with_name("delta_loglik.csv"))
    last = rows.groupby("lm").delta_loglik.sum().idxmin()  # none that the page begins with
    label = rows.set_index("lm").label[last].iloc[0]

    def at(fragment):
        return opened(
            browser, SimpleNamespace(as_uri=lambda: f"{page.as_uri()}#{fragment}"), tmp_path
        )

    seen = at(f"view=readers&a={last}&b=&theme=dark")
    assert 'data-theme="dark"' in seen and 'data-drawn="readers"' in seen
    assert f"ΔLogLik, {label} over the baseline model" in seen
    assert f"#view=readers&amp;a={last}&amp;b='" in seen  # what it cites
    seen = at("view=lms&a=GPT-5&shape=round")
    assert "The address has entries that this page lacks: a “GPT-5”, shape." in seen


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_cut_on_screens_of_three_widths(browser, results, tmp_path, theme):  # noqa: F811
    text = (results / "experiments" / "simulated" / "explore.html").read_text()
    steps = [{"view": view, "theme": theme} for view in VIEWS]
    pages = [
        {"name": str(width), "width": width, "height": 800, "text": text, "steps": steps}
        for width in (360, 800, 1400)
    ]
    for width, walk in walked_pages(browser, pages, tmp_path).items():
        for seen in walk["seen"][1:]:
            assert seen["wide"] <= 0, (width, seen["step"])
            assert seen["theme"] == theme and seen["unlabelled"] == 0
            assert len(seen["selected"]) == 1
            # Of a screen of this width, controls leave the text at least half.
            assert seen.get("first") is None or seen["first"] < 844 / 2, (width, seen["step"])


def test_the_other_pages_of_a_run_fit_and_can_be_read(browser, results, tmp_path):  # noqa: F811
    """On screens of three widths and paper, light and dark."""
    pages = [results / "report.html", results / "summary.html", *results.rglob("check.html")]
    assert len(pages) >= 4
    for page in pages:
        for name, seen in walked(browser, page, tmp_path).items():
            assert seen["wide"] <= 0 and seen["faint"] == [], (page.name, name, seen["faint"])
            assert seen["letters"] >= 8 and seen["broken"] == 0, (page.name, name)


def test_paper_has_the_settings_and_every_column(browser, results, tmp_path):  # noqa: F811
    text = (results / "experiments" / "simulated" / "explore.html").read_text()
    assert text.count("@media print {") == text.count("@media screen {") == 1
    printed = text.replace("@media print {", "@media all {").replace(
        "@media screen", "@media print"
    )
    page = {
        "name": "paper",
        "width": 1032,
        "height": 700,
        "text": printed,
        "steps": [{"view": "words"}],
    }
    seen = walked_pages(browser, [page], tmp_path)["paper"]["seen"]
    assert seen[1]["wide"] <= 0 and seen[1]["rows"][0][0] and len(seen[1]["heads"]) > 8
    for named in ("Response: Simulated", "LM: ", "Compared with: "):
        assert named in seen[1]["settings"]
    assert "Colour: ΔLogLik" in seen[0]["settings"]
    shown = walked_pages(browser, [page | {"text": text}], tmp_path)["paper"]["seen"]
    assert shown[1]["settings"] == ""  # paper alone


def test_the_first_text_is_one_that_was_read(browser, tmp_path):  # noqa: F811
    words = pd.DataFrame({"word": ["w"] * 4000, "item": np.repeat(["unread", "read"], 2000)})
    times = pd.DataFrame({"word_id": range(2000, 4000), "time_ms": np.arange(2000) + 300.5})
    page = recency.explore(words, None, times).html
    steps = [{"view": "text", "page": "0"}]
    walk = {"name": "unread", "width": 900, "height": 700, "text": page, "steps": steps}
    seen = walked_pages(browser, [walk], tmp_path)["unread"]["seen"]
    assert all(word[2] for word in seen[0]["words"])
    assert not any(word[2] for word in seen[1]["words"])  # asked for


def test_arrow_keys_move_from_word_to_word(browser, tmp_path):  # noqa: F811
    page = recency.explore(pd.DataFrame({"word": list("abcd")}), {"LM": [1, 9, 3, 4]})
    steps = [
        {"press": "#next"},
        {"key": "ArrowRight"},
        {"key": "ArrowRight"},
        {"key": "ArrowRight"},
    ]
    walk = {"name": "keys", "width": 900, "height": 700, "text": page.html, "steps": steps}
    seen = walked_pages(browser, [walk], tmp_path)["keys"]["seen"]
    assert [word[0] for word in seen[1]["words"] if word[3]] == ["b"]
    assert ["LM", "9"] in seen[1]["details"] and ["LM", "3"] in seen[2]["details"]
    assert ["LM", "4"] in seen[3]["details"] and ["LM", "4"] in seen[4]["details"]  # the last word


def test_a_reader_s_path_shows_what_was_in_memory_at_a_word(browser, tmp_path):  # noqa: F811
    """Against the contexts that scoring uses: fixated before the first fixation of the word, and before it."""
    words = pd.DataFrame({"word": list("abcdefgh"), "item": list("11111222"), "sentence": 1})
    words = words.assign(position=[1, 2, 3, 4, 5, 1, 2, 3])
    paths = {"s1": {"1": [0, 2, 4, 1, 3], "2": [5, 7]}, "s2": {"1": [1, 1, 4]}}
    fixations = pd.DataFrame(
        [
            (subject, item, order, word)
            for subject, of in paths.items()
            for item, path in of.items()
            for order, word in enumerate(path, 1)
        ],
        columns=["subject", "item", "order", "word_id"],
    )
    contents = view_data.Contents("t", "", [{"key": "lm", "label": "LM"}])
    shuffled = fixations.sample(frac=1, random_state=1)
    contents.datasets = [view_data.dataset("d", "D", words, [np.arange(8.0)], None, shuffled)]
    text = self_contained.page(contents)
    steps = [
        {"view": "text", "word": "4"}, {"reader": "s1"}, {"word": "3"}, {"word": "7"}, {"word": "6"},
        {"reader": "s2", "word": "4"}, {"reader": ""},
    ]  # fmt: skip
    walk = {"name": "path", "width": 900, "height": 700, "text": text, "steps": steps}
    seen = walked_pages(browser, [walk], tmp_path)["path"]["seen"][1:]

    def marked(step, kind):
        return "".join(word[0] for word in seen[step]["words"] if kind in word[1].split())

    found = [(marked(step, "kept"), marked(step, "lost")) for step in range(len(steps))]
    assert found == [
        ("", ""),
        ("ac", "bd"),
        ("abc", ""),
        ("f", "g"),
        ("", ""),
        ("b", "acd"),
        ("", ""),
    ]
    assert "s1 came to “e” with fixation 3" in seen[1]["text"]
    assert "2 of the 4 words" in seen[1]["text"] and "s1 did not fixate “g”" in seen[4]["text"]
    path = np.array(paths["s1"]["1"])
    contexts = scanpaths.contexts_of(
        path, 100 * np.arange(5), np.full(5, 90), 5, scanpaths.ReaderContext()
    )
    for step, word in ((1, 4), (2, 3)):
        assert found[step][0] == "".join("abcde"[k] for k in contexts[word][0])


def test_hostile_text_is_text_in_every_view(browser, tmp_path):  # noqa: F811
    words = pd.DataFrame(
        {"word": [f"{HOSTILE}{n}" for n in range(40)], "item": HOSTILE, "pos": HOSTILE}
    )
    random = np.random.default_rng(0)
    times = pd.DataFrame({"word_id": range(40), f"{HOSTILE}_ms": random.normal(300, 40, 40)})
    lms = {HOSTILE + name: random.normal(8, 2, 40) for name in "ab"}
    page = recency.explore(words, lms, times, title=HOSTILE).html
    steps = [{"view": view, "word": "3"} for view in VIEWS]
    walk = {"name": "hostile", "width": 900, "height": 700, "text": page, "steps": steps}
    walk = walked_pages(browser, [walk], tmp_path)["hostile"]
    assert not walk["hostile"] and walk["other"] == 0
    assert walk["seen"][0]["title"] == HOSTILE and walk["seen"][1]["words"][0][0].startswith(
        "</script>"
    )
    assert walk["seen"][2]["rows"][0][0] == f"{HOSTILE}0"
    assert any(HOSTILE[:20] in head for head in walk["seen"][2]["heads"])


@pytest.mark.parametrize("lms, timed", [(0, False), (0, True), (1, False), (1, True)])
def test_a_page_that_lacks_parts_says_so_and_works(browser, tmp_path, lms, timed):  # noqa: F811
    words = pd.DataFrame({"word": [f"w{n}" for n in range(30)]})
    times = (
        pd.DataFrame({"word_id": range(30), "time_ms": np.arange(30) + 300.5}) if timed else None
    )
    page = recency.explore(words, {"LM": np.arange(30) / 7} if lms else None, times).html
    steps = [{"view": view} for view in VIEWS]
    walk = {"name": "lacks", "width": 900, "height": 700, "text": page, "steps": steps}
    seen = walked_pages(browser, [walk], tmp_path)["lacks"]["seen"]
    assert len(seen[1]["words"]) == 30 and len(seen[2]["rows"]) == 25
    for view in seen[4:7]:
        assert "need" in view["text"]
    assert ("Surprisals: none was given" in seen[0]["missing"]) is not bool(lms)
    assert ("Responses: none was given" in seen[0]["missing"]) is not timed


def test_the_page_s_statistics_are_numpy_s(browser, tmp_path):  # noqa: F811
    random = np.random.default_rng(4)
    x = random.gamma(2, 3, 400).round(1)  # with ties
    y = np.sin(x / 3) + random.normal(0, 0.2 + x / 20)
    gains = random.normal(0.2, 1, 300)
    body = f"""<script>{DATA.read_text()}</script><script>
        const [x, y, gains] = {json.dumps([x.tolist(), y.tolist(), gains.tolist()])}.map((each) => Float64Array.from(each));
        const {{ total, half, order, without }} = Explorer.shares(gains);
        const some = [0, 1].map((every) => Explorer.compared(gains.map((gain, u) => gain + (every ? 0 : u % 30 ? 0 : 60)), x.slice(0, 300).fill(4), 0.25));
        const out = {{ smooth: Explorer.smooth(x, y), total, half, order, without: without(10), some,
            csv: Explorer.csv([["a,b", 'say "x"', 1.5], ["", "−", "c\\nd"]]),
            numbers: [0.00012345, -12.3456, 123456, NaN, 0, 1e-9].map(Explorer.number) }};
        document.body.innerHTML = "<pre id=shown></pre>";
        document.querySelector("pre").textContent = JSON.stringify(out);
        </script>"""
    seen = in_browser(browser, body, tmp_path)
    order = np.argsort(-gains, kind="stable")
    cumulated = gains[order].cumsum()
    assert seen["order"] == order.tolist() and seen["total"] == pytest.approx(gains.sum())
    assert seen["half"] == (cumulated >= gains.sum() / 2).argmax() + 1
    few, alike = seen["some"]
    assert few["shrunk"] < 9 and few["alike"][0] > 80 and few["resampled"][0] > 1
    noise = random.normal(0, 1, (99, 300)) + gains.mean()
    noise = -np.sort(-noise)
    halves = (noise.cumsum(1) >= noise.sum(1, keepdims=True) / 2).argmax(1) + 1
    assert alike["alike"] == pytest.approx(np.quantile(halves, [0.025, 0.975]), abs=6)
    assert list(alike["curve"].values()) == pytest.approx(noise.cumsum(1).mean(0), abs=8)
    assert alike["alike"][0] <= seen["half"] <= alike["alike"][1] and alike["shrunk"] > 100
    assert seen["without"] == pytest.approx(gains.sum() - cumulated[9])
    assert seen["csv"] == '"a,b","say ""x""",1.5\r\n,−,"c\nd"\r\n'
    assert seen["numbers"] == ["0.000123", "−12.35", "123,456", "–", "0", "0.000000"]
    grid = np.linspace(x.min(), x.max(), 40)
    size = int(np.ceil(0.3 * len(x)))
    hats = []
    for at in grid:
        far = np.sort(np.abs(x - at))[size - 1] * 1.0001
        weights = np.clip(1 - (np.abs(x - at) / far) ** 3, 0, None) ** 3
        X = np.column_stack([np.ones_like(x), x - at])
        hats.append(np.linalg.solve(X.T * weights @ X, X.T * weights)[0])
    hats = np.array(hats)
    middle = hats @ y
    squares = (y - np.interp(x, grid, middle)) ** 2
    half = 1.959964 * np.sqrt(hats**2 @ squares)
    for name, wanted in (
        ("x", grid),
        ("middle", middle),
        ("low", middle - half),
        ("high", middle + half),
    ):
        np.testing.assert_allclose(
            [row[name] for row in seen["smooth"]], wanted, rtol=1e-6, atol=1e-9
        )
