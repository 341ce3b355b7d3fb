"""Examples in Python of all pages run: here, by the test that the table names, or not for the reason given."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

import readingtimes
from project import ROOT, load
from recency.workflow.lint import Plan

PAGES = [
    *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "packages").glob("*/README.md"),
]  # fmt: skip
#: Page → the test of its blocks, or why they are not run.
ELSEWHERE = {
    "README.md": "tests/test_readme.py",
    "docs/additions.md": "tests/test_readme.py",
    "docs/library.md": "tests/test_library.py",
    "docs/memories.md": "tests/networks/test_memories.py",
    "docs/mixed_models.md": "tests/test_mixed_models_page.py",
    "docs/surprisal.md": "tests/test_library.py",
    "docs/tutorial.md": "tests/test_tutorial.py",
}
NOT_RUN = {
    "docs/masked_lms.md": "the released checkpoints are the user's",
    "docs/studies.md": "a Snakefile of the workflow as a module, of a repository",
}
HERE = {
    "docs/corpora.md", "docs/explorer.md", "docs/extensions.md", "docs/internals.md",
    "docs/lint.md", "docs/lossy.md",
    "packages/crosslmm/README.md", "packages/readingtimes/README.md",
}  # fmt: skip


def blocks(page):
    """Return a page's blocks of Python; a network of the Hub is one that is here."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^```python[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block.replace('"gpt2"', '"small-english"') for block in found]


def run(page, block, names):
    exec(compile(block, page, "exec"), names)  # noqa: S102, the page's own lines
    return names


def test_every_page_with_examples_is_tested_or_says_why_not():
    having = {str(path.relative_to(ROOT)) for path in PAGES if blocks(path.relative_to(ROOT))}
    assert having == {*ELSEWHERE, *NOT_RUN, *HERE}
    for page, test in ELSEWHERE.items():
        assert page.rpartition("/")[2] in (ROOT / test).read_text(encoding="utf-8"), test


@pytest.mark.merge
def test_words_readers_and_lms_as_one_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = pd.DataFrame({"item": 1, "word": ["The", "old", "man", "went", "down", "."]})
    words.assign(word_id=range(6)).to_csv("words.csv", index=False)
    times = pd.DataFrame({"subject": "a", "word_id": range(6), "time_ms": 300.0})
    run("docs/explorer.md", *blocks("docs/explorer.md"), {"times": times})
    assert "went" in (tmp_path / "words.html").read_text(encoding="utf-8")


def test_measures_inside_the_network():
    block, _ = blocks("docs/internals.md")  # the other is a module: tests/scoring/inside
    recorded = []
    names = run("docs/internals.md", block.replace("recency.surprisal(", "shown(", 1).replace(
        "import recency\n", "import recency\nshown = lambda *a, **k: recorded.append(recency.surprisal(*a, **k))\n",
    ), {"recorded": recorded})  # fmt: skip
    (table,) = recorded
    assert len(table) == 9
    assert all(any(name in column for column in table) for name in names["asked"])


def test_lossy_contexts_and_contexts_of_readers():
    first, second = blocks("docs/lossy.md")
    names = run("docs/lossy.md", f"import recency\n{first}", {})
    names["words"] = "The cat sat on the mat ."
    names["fixations"] = pd.DataFrame(
        {"subject": "a", "item": "1", "order": range(1, 8), "word_id": range(7),
         "onset_ms": np.arange(7) * 250.0, "duration_ms": 200.0}
    )  # fmt: skip
    run("docs/lossy.md", f"table = {second}", names)
    assert set(names["table"].subject) == {"a"} and names["table"].surprisal_bits.notna().sum() > 5


def test_the_measure_and_the_rule_of_other_packages():
    (measure,), (rule,) = blocks("docs/extensions.md"), blocks("docs/lint.md")
    named = run("docs/extensions.md", measure, {})
    p = torch.tensor([[0.5, 0.25, 0.25]])
    varentropy = float(named["statistic"](p.log(), None)[0])
    assert varentropy == pytest.approx(0.25 * np.log(2) ** 2)  # log₂ is 1, 2, 2: variance 1/4
    config = load("config/open.yaml")
    mazes = config["experiments"]["maze"]["responses"]
    config["experiments"]["maze"]["responses"] = {
        design: mazes[design][:1] for design in [*mazes][:1]
    }
    plan = Plan(config | {"run": ["open", "maze"]}, root=ROOT)
    found = run("docs/lint.md", rule, {})["one_corpus"](plan)
    assert [each.entry for each in found] == ["maze"]


def test_mixed_models_of_any_table(capsys):
    random = np.random.default_rng(1)
    data = pd.DataFrame(
        {"subject": np.repeat(np.arange(15), 40), "item": np.tile(np.arange(40), 15),
         "length": random.integers(1, 10, 600), "condition": random.choice(["a", "b"], 600)}
    )  # fmt: skip
    slope = random.normal(0, 4, 15)[data["subject"]]
    data["rt"] = 300 + (8 + slope) * data["length"] + 20 * random.normal(size=15)[data["subject"]]
    data["rt"] += 20 * random.normal(size=40)[data["item"]] + random.gamma(4, 20, 600)
    a, subjects = random.normal(1, 1, 600), data["subject"].to_numpy()
    given = {"data": data, "new": data.head(2), "a": a, "b": a - 0.2, "subjects": subjects,
             "scores": a, "clusters": subjects}  # fmt: skip
    run("packages/crosslmm/README.md", *blocks("packages/crosslmm/README.md"), given)
    assert "Pr(>Chisq)" in capsys.readouterr().out


@pytest.mark.parametrize("page", ["docs/corpora.md", "packages/readingtimes/README.md"])
def test_a_corpus_by_its_name(page, shared_data, tmp_path, monkeypatch):
    load_it = readingtimes.load
    asked = {"mirrors": [shared_data], "cache": tmp_path}
    monkeypatch.setattr(readingtimes, "load", lambda *a, **k: load_it(*a, **k, **asked))
    names = run(page, *blocks(page), {})
    assert {"FP"} <= names["responses"].keys() and len(names["words"]) > 2_000
