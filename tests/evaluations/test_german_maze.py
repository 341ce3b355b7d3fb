"""The German maze: 19 properties and the 2 × 2 design, on synthetic items whose answer is known."""

import copy
import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from project import ROOT, load, show
from readingtimes.parsers import table as parser
from recency.evaluations.contrasts.spec import listed
from recency.evaluations.maze import choices, view
from recency.evaluations.maze.spec import EVALUATION
from recency.scoring.foils import COLUMN
from recency.workflow.plan import costs
from recency.workflow.plan.study import Study

ITEMS, CONDITIONS = 12, ("predpre", "predpost", "nonpre", "nonpost")
#: Bits by condition and region that have all 19 properties: no other order of the two chains does.
BITS = {
    ("predpre", 1): 5, ("predpost", 1): 5, ("nonpre", 1): 3, ("nonpost", 1): 3,
    ("predpre", 2): 8, ("predpost", 2): 8, ("nonpre", 2): 8, ("nonpost", 2): 8,
    ("predpre", 4): 5, ("predpost", 4): 3, ("nonpre", 4): 7, ("nonpost", 4): 6,
    ("predpre", 5): 1, ("predpost", 5): 2, ("nonpre", 5): 4, ("nonpost", 5): 2,
}  # fmt: skip
WORDS = {1: ["Mann"], 2: ["las"], 3: ["den"], "noun": ["Text"], "modifier": ["gut", "geplanten"]}
LMS = [
    {"lm": name, "label": name, "bias": {"form": "none"}, "applied": "none"}
    for name in ("human", "reversed", "flat", "table")
]


def items():
    """Return the rows of an item file: a word each, the first of a sentence without a foil."""
    rows = []
    for item, condition in itertools.product(range(1, ITEMS + 1), CONDITIONS):
        order = ("modifier", "noun") if condition.endswith("pre") else ("noun", "modifier")
        regions = {0: ["Der"], 1: WORDS[1], 2: WORDS[2], 3: WORDS[3]}
        regions |= {4: WORDS[order[0]], 5: WORDS[order[1]], 6: ["gestern."]}
        words = [(region, word) for region, words in regions.items() for word in words]
        for position, (region, word) in enumerate(words, 1):
            foil = "" if position == 1 else "aber"
            rows.append((f"{item:02d}.{condition}", item, condition, position, word, foil, region))
    names = ["text", "item", "condition", "position", "word", "foil", "region"]
    return pd.DataFrame(rows, columns=names)


@pytest.fixture(scope="module")
def config():
    return load("config.yaml", "config/languages.yaml")


@pytest.fixture
def tested(tmp_path, config):
    """Return a function that runs an experiment's maze on the items, and what LMs' surprisals were."""
    items().to_csv(tmp_path / "items.csv", index=False)
    options = config["datasets"]["german_maze"]["options"]
    words = parser.words({"table": tmp_path / "items.csv"}, **options)
    words.to_parquet(tmp_path / "words.parquet")
    random = np.random.default_rng(0)
    mean = np.array([BITS.get(key, 4) for key in zip(words.condition, words.region)], float)
    noise = random.normal(0, 0.2, len(words))
    bits = {"human": mean + noise, "reversed": 10 - mean + noise, "flat": np.full(len(words), 5.0)}
    for name, values in bits.items():
        rows = pd.DataFrame({"word_id": words.word_id, "surprisal_bits": values})
        rows[COLUMN] = np.where(words.foil.isna(), np.nan, values + (1 if name == "human" else -1))
        (tmp_path / name).mkdir()
        rows.to_parquet(tmp_path / name / "d.parquet")

    def run(experiment):
        settings = config["experiments"][experiment]["maze"]
        out = tmp_path / f"{experiment}.csv", tmp_path / f"{experiment}_contrasts.csv"
        choices.main(
            tmp_path / "words.parquet", [tmp_path / name / "d.parquet" for name in bits], *out, LMS,
            "human", settings["by"], settings["filter"], settings["condition"],
            listed(settings["contrasts"]),
        )  # fmt: skip
        return out

    return run, words, bits, tmp_path


def test_all_nineteen_properties_are_passed_by_who_has_them_and_by_nobody_else(tested):
    run, words, bits, folder = tested
    maze, contrasts = run("german_maze")
    rows = pd.read_csv(contrasts)
    assert rows.contrast.nunique() == 19 and (rows["items"] == ITEMS).all()
    passed = rows.groupby("lm").passed.sum()
    assert passed.to_dict() == {"human": 19, "reversed": 0, "flat": 0}
    # One by hand: the modifier before the noun in a neutral context against behind it.
    mine = words.assign(bits=bits["human"])
    high, low = (
        mine[(mine.condition == c) & (mine.region == r)].groupby("frame").bits.mean()
        for c, r in (("nonpre", 4), ("nonpost", 5))
    )
    row = rows[(rows.lm == "human") & (rows.contrast == "m nonpre nonpost")].iloc[0]
    assert (row.t, row.p) == pytest.approx(tuple(stats.ttest_rel(high, low)))
    # Accuracy is of regions 1 to 5 and the four conditions; who has no foils is named.
    found = pd.read_csv(maze)
    overall = found[found.level == "overall"].set_index("lm")
    assert overall.accuracy.to_dict() == {"human": 100, "reversed": 0, "flat": 0}
    assert overall.words.unique() == [ITEMS * 4 * 6]
    assert set(found[found.level == "condition"].group) == set(CONDITIONS)
    assert found[found.level == "not run"].lm.tolist() == ["table"]
    show(
        view.table_maze_contrasts, contrasts=contrasts, maze=maze, out=[folder / "t.html"], lms=LMS
    )
    html = (folder / "t.html").read_text(encoding="utf-8")
    assert "m nonpre nonpost" in html and "Not run: table" in html


def test_the_effects_of_the_four_way_design_are_those_of_the_cell_means(tested):
    run, words, bits, _ = tested
    _, contrasts = run("german_maze_design")
    rows = pd.read_csv(contrasts).query("lm == 'human'").set_index("contrast").difference
    for region in (4, 5):
        # A region's words count the same within a condition: means over conditions of its words.
        mine = words.assign(bits=bits["human"])[words.region == region]
        weights = mine.groupby("condition").size()
        mean = mine.groupby("condition").bits.mean()
        sides = {
            "context": (["nonpre", "nonpost"], ["predpre", "predpost"]),
            "modification": (["predpre", "nonpre"], ["predpost", "nonpost"]),
            "interaction": (["predpre", "nonpost"], ["predpost", "nonpre"]),
        }
        for effect, both in sides.items():
            high, low = (np.average(mean[side], weights=weights[side]) for side in both)
            assert rows[f"{region} {effect}"] == pytest.approx(high - low)


def test_without_the_items_it_is_said_not_to_be_run(config):
    config = copy.deepcopy(config) | {"run": ["german_maze"]}
    for part in ("words", "responses"):
        config["datasets"]["german_maze"][part]["table"]["local"] = "nowhere.csv"
    study = Study(config, ROOT)
    assert not EVALUATION.applies(study, "german_maze")
    (line,) = study.left_out()
    assert "not run: German maze is not here" in line and "docs/thesis_measures.md" in line
    assert costs._absent(study, "german_maze") == " (without German maze: missing)"
