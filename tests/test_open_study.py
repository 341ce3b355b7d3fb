"""The pages of the open study agree with the files in their folder."""

import importlib.util
import itertools
import math
import re
from pathlib import Path

import pandas as pd
import pytest

from crosslmm.stats import claims
from project import ROOT, SCHEMA, load
from recency.workflow.config import checks
from written import DOCS, cells, tables

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "open-study"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
TEXT = "\n".join(PAGES.values())
NUMBER = re.compile(r"(?<![\w/.-])[-−+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?![\w/])")


def marked():
    """Return each table after `<!-- numbers of: FILE … -->` of any page: its files, its rows."""
    return [
        ([page.parent / name for name in files], rows)
        for page in FOLDER.parent.rglob("*.md")
        for files, _, rows in tables(page.relative_to(FOLDER.parent))
        if files
    ]


def numbers(cell):
    """Return the numbers in a cell, as (text, value, decimals)."""
    for text in NUMBER.findall(cell):
        plain = text.replace(",", "").replace("−", "-")
        yield text, float(plain), len(plain.partition(".")[2])


def values_of(sheets, first):
    """Return the numbers of the rows that have a name: (file, number of the row, column) → value."""
    names = [first, f"**{first}**", first.replace("/", "_")]  # a label, and an LM's key
    found = {}
    for number, sheet in enumerate(sheets):
        rows = sheet[sheet.isin(names).any(axis=1)]
        for place, row in enumerate(rows.to_dict("records")):
            found |= {
                (number, place, column): float(value)
                for column, value in row.items()
                if re.fullmatch(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", value)
            }
    return found


def test_numbers_of_marked_tables_are_in_their_files():
    """Each column's numbers are those of one column of the file, in the rows named by the first cell."""
    assert len(marked()) >= 11
    for files, rows in marked():
        sheets = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in files]
        possible = {}
        for first, *others in rows:
            values = values_of(sheets, first)
            assert values, (files, first)
            for place, (text, number, decimals) in (
                ((column, n), found)
                for column, cell in enumerate(others)
                for n, found in enumerate(numbers(cell))
            ):
                near = 0.5 * 10**-decimals + 1e-9
                same = {key for key, value in values.items() if abs(value - number) <= near}
                assert same, (files, first, text)
                possible[place] = possible.get(place, same) & same
                assert possible[place], (files, first, text, "is of another column")


@pytest.fixture(scope="module")
def setup():
    """Return setup/open_study.py, imported."""
    spec = importlib.util.spec_from_file_location("open_study", ROOT / "setup" / "open_study.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_filled_in_from_the_files(setup):
    assert PAGES["README.md"] == setup.page(), "python setup/open_study.py"
    assert len(PAGES["README.md"].splitlines()) <= 250


def test_the_verdicts_in_the_answer_s_prose_are_those_of_the_files():
    """Setup fills in numbers and three verdicts; these are written out."""
    contrasts = pd.read_csv(FOLDER / "contrasts.csv").set_index("analysis")
    others = [f"secondary {lm}" for lm in ("slope-1", "mixed-inference", "slope-1-inference")]
    primary = contrasts.loc["primary"]
    assert primary.reverse == "ruled out" and primary.percent > 0 and primary.percent_high < 10
    assert set(contrasts.claim[["primary", *others]]) == {"ruled out"}
    assert contrasts.reverse["secondary slope-1-inference"] == "leads by less"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ends = f"{primary.percent_low:.1f} to {primary.percent_high:.1f}".replace("-", "−")
    assert f"is +{primary.percent:.1f} % ({ends})" in " ".join(readme.split())
    corpora = pd.read_csv(FOLDER / "by_corpus.csv").query("measure == 'all'").set_index("dataset")
    assert (corpora.low < 0).all() and (corpora.high > 0).all()
    pooled = pd.read_csv(FOLDER / "by_corpus_pooled.csv")
    assert (pooled.random_low < 0).all() and (pooled.random_high > 0).all()
    lms = pd.read_csv(FOLDER / "lms.csv").set_index("lm").drop("no-bias")
    assert (lms.low_all_over_baseline < 0).all()
    assert list(lms.index[lms.high_all_over_baseline < 0]) == ["slope-1-inference"]
    on_shared_texts = contrasts.loc["shared slope-1-inference"]
    assert on_shared_texts.low < 0 < on_shared_texts.high
    seeds = pd.read_csv(FOLDER / "by_corpus_first_four_seeds.csv").set_index("dataset")
    assert (seeds.low > 0).groupby(level=0).any().loc[lambda led: led].index.tolist() == [
        "geco_totals"
    ]
    shown = [
        row
        for row in cells("open-study/README.md", "finding (Clark et al. 2025)")
        if row[1] != "negative"
    ]
    assert [row[4] for row in shown] == ["no; no", "no; no", "no; yes", "no; no", "no; yes"]


def test_all_pairs_of_lms_are_stored(setup):
    """Ten for each analysis; the contrasts are among them, and their claims follow from the rule."""
    pairs = pd.read_csv(FOLDER / "pairs.csv")
    assert (pairs.groupby("analysis").size() == 10).all() and pairs.analysis.nunique() == 3
    contrasts = pd.read_csv(FOLDER / "contrasts.csv").set_index("analysis")
    of = pairs.set_index(["analysis", "lm", "against"])
    for (name, (lm, other)), analysis in itertools.product(
        setup.CONTRASTS.items(), pairs.analysis.unique()
    ):
        is_stored = (analysis, lm, other) in of.index
        pair = of.loc[(analysis, lm, other) if is_stored else (analysis, other, lm)]
        sign, row = (1 if is_stored else -1), contrasts.loc[f"{analysis} {name}"]
        ends = sorted(sign * pair[end] for end in ("low_all", "high_all"))
        shares = sorted(sign * 100 * pair[end] for end in ("share_low", "share_high"))
        assert (sign * pair.value, *ends) == (row.difference, row.low, row.high)
        assert shares == pytest.approx([row.percent_low, row.percent_high], abs=1e-4)
        assert pair.share * sign * 100 == pytest.approx(row.percent, abs=1e-4)
    for row in contrasts.dropna(subset="percent").itertuples():
        assert (
            row.low < row.difference < row.high and row.percent_low < row.percent < row.percent_high
        )
        assert row.percent == pytest.approx(100 * row.difference / row.baseline, abs=1e-4)
        assert row.claim == claims.judge_share(row.low, row.high, row.percent_high / 100, 0.188)
        assert row.reverse == claims.judge_share(-row.high, -row.low, -row.percent_low / 100, 0.188)


def test_the_page_s_sentences_on_pairs_and_on_the_paper_s_endpoint():
    page = " ".join(PAGES["README.md"].split())
    pairs = pd.read_csv(FOLDER / "pairs.csv").set_index("analysis").loc["secondary"]
    led = pairs[(pairs.low_all > 0) | (pairs.high_all < 0)]
    assert (led.against == "slope-1-inference").all() and (led.low_all > 0).all()
    assert set(led.lm) == {"no-bias", "mixed", "mixed-inference"}
    assert (
        "no bias, mixed slopes and mixed slopes at inference lead slope 1 at inference, no bias by less than 18.8 %, "
        "and no other pair of the five is separated" in page
    )
    contrasts = pd.read_csv(FOLDER / "contrasts.csv").set_index("analysis")[["claim", "reverse"]]
    names = ("mixed", "mixed-inference", "slope-1", "mixed-slope-1", "slope-1-inference")
    found = [tuple(contrasts.loc[f"shared_modelblocks {name}"]) for name in names]
    both, neither = ("ruled out", "ruled out"), ("open", "open")
    assert found == [both, both, neither, neither, ("ruled out", "open")]
    assert (
        "18.8 % is ruled out in both directions for mixed slopes alone, in training and at inference. For slope 1, and "
        "for mixed slopes against it, both directions are open; for slope 1 at inference it is open whether it is worse"
        in page
    )


def test_lms_at_the_same_perplexity():
    """No bias is interpolated between the steps around the perplexity; both differences are open."""
    matched = pd.read_csv(FOLDER / "matched.csv").set_index("lm")
    curves = pd.read_csv(FOLDER / "matched_curves.csv").query("dataset == 'all'")
    curves = curves.set_index(["quantity", "lm", "step"]).value
    assert set(matched.index) == {"ALiBi-mix-TI", "ALiBi-1-TI"} and (matched.seeds == 2).all()
    assert ((matched.low_all < 0) & (matched.high_all > 0)).all()
    for lm, row in matched.iterrows():
        assert row.perplexity == pytest.approx(curves["perplexity", lm, 5000])
        bits = [math.log2(curves["perplexity", "Pythia", step]) for step in (2500, 5000)]
        share = (math.log2(row.perplexity) - bits[0]) / (bits[1] - bits[0])
        first, last = (curves["delta_loglik", "Pythia", step] for step in (2500, 5000))
        assert 0 < share < 1 and row.step_against == pytest.approx(2500 * (1 + share))
        assert row.delta_loglik_against == pytest.approx(first + share * (last - first))
        assert row.difference == pytest.approx(row.delta_loglik - row.delta_loglik_against)
        assert row.delta_loglik == pytest.approx(curves["delta_loglik", lm, 5000])
    texts = pd.read_csv(FOLDER / "matched_curves.csv").query(
        "quantity == 'perplexity' and step == 5000"
    )
    ucl = texts[texts.dataset == "ucl_spr"].set_index("lm").value
    assert ucl["ALiBi-1-TI"] < ucl["Pythia"]


COMMANDS = {
    (*sorted(re.findall(r"(\S+\.yaml)", command)), targets)
    for page in DOCS.rglob("*.md")
    for targets, command in re.findall(
        r"^\./run (.*?)--cores \d (--configfile .*?docs/\S+\.yaml.*?)(?:  .*)?$",
        page.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}


@pytest.mark.parametrize("command", sorted(COMMANDS), ids=lambda command: command[-1] or "all")
def test_a_command_with_a_page_s_overlay_has_its_targets(command):
    *overlays, targets = command
    config = load(*overlays)
    checks.check(config, SCHEMA)
    known = {*config["experiments"], *config.get("targets", {})}
    assert set(targets.split()) <= known
