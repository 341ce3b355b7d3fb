"""The pages of the open study agree with the files in their folder."""

import importlib.util
import re
from pathlib import Path

import pandas as pd
import pytest

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


def test_the_page_is_filled_in_from_the_files():
    spec = importlib.util.spec_from_file_location("open_study", ROOT / "setup" / "open_study.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert PAGES["README.md"] == module.page(), "python setup/open_study.py"
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


def test_all_pairs_of_lms_are_stored():
    """Ten for each analysis, and the contrasts are among them."""
    pairs = pd.read_csv(FOLDER / "pairs.csv")
    assert (pairs.groupby("analysis").size() == 10).all() and pairs.analysis.nunique() == 3
    contrasts = pd.read_csv(FOLDER / "contrasts.csv").set_index("analysis")
    of = pairs.set_index(["analysis", "lm", "against"])
    for name, (lm, other) in {
        "slope-1": ("slope-1", "no-bias"),
        "mixed": ("mixed", "no-bias"),
    }.items():
        for analysis in pairs.analysis.unique():
            sign, key = (
                (1, (analysis, lm, other))
                if (analysis, lm, other) in of.index
                else (-1, (analysis, other, lm))
            )
            assert sign * of.value[key] == contrasts.difference[f"{analysis} {name}"]


def test_every_file_is_shown_and_every_link_has_its_file():
    named = set(re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", TEXT))
    shown = {name.partition("/")[0] for name in named if not name.startswith("..")}
    assert shown | {"README.md"} == {path.name for path in FOLDER.iterdir()}
    assert all((FOLDER / name).exists() for name in named)


def test_every_link_into_a_page_has_its_heading():
    for page, text in PAGES.items():
        for name, anchor in re.findall(r"\]\((\w+\.md)?#([\w-]+)\)", text):
            headings = re.findall(r"^#+ (.+)$", PAGES[name or page], re.MULTILINE)
            plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
            assert anchor in [heading.replace(" ", "-") for heading in plain], (page, name, anchor)


def test_surprisals_are_stored_whole():
    """Each LM of the overlay has every word of each dataset, from each seed."""
    config = load("config/open.yaml", "docs/open-study/stored.yaml")
    checks.check(config, SCHEMA)
    stored = pd.read_parquet(FOLDER / "surprisal.parquet")
    secondary, means = (config["experiments"][name] for name in ("secondary", "means"))
    lms = {config["lms"][lm]["surprisals"]["columns"]["surprisal"] for lm in secondary["lms"]}
    assert lms == set(config["experiments"]["recency_bias_secondary"]["lms"])
    assert lms == set(stored.columns) - {"dataset", "seed", "word_id", "tokens"}
    assert secondary["responses"] == config["experiments"]["recency_bias"]["responses"]
    words = stored.groupby(["dataset", "seed"], observed=True).word_id.agg(
        ["size", "nunique", "max"]
    )
    assert (words["size"] == words["nunique"]).all() and (words["max"] == words["size"] - 1).all()
    responses = [*secondary["responses"].values(), *means["responses"].values()]
    datasets = {response.partition(".")[0] for listed in responses for response in listed}
    seeds = set(stored.seed)
    assert seeds == set(secondary["seeds"])
    assert set(words.index) == {(name, seed) for name in datasets for seed in seeds}
    assert stored[list(lms)].notna().all(axis=None) and (stored[list(lms)] >= 0).all(axis=None)


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
