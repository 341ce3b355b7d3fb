"""Mazes, ranks, length by type and families by Snakemake, of a network, an n-gram model and a table."""

import numpy as np
import pandas as pd
import pytest
import yaml

from checkpoints import checkpoint
from loaded import untracked
from project import copy_project, plan, planned, snakemake

pytestmark = pytest.mark.merge

FILE = {"table": {"local": "times.csv"}}
WORDS = ["the", "dog", "cat", "sat", "ran", "saw", "a", "bird", "under", "house", "quietly", "who"]
DESIGN = {
    "formula": "time_ms ~ length + surprisal + (1 | subject) + (1 | sentence)",
    "of_interest": ["surprisal"],
    "base": "all",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}
FOIL = DESIGN | {"formula": DESIGN["formula"].replace("surprisal", "surprisal + foil_surprisal")}
MADE = {
    "study": "made",
    "run": ["four"],
    "lms": {
        "net": {"checkpoint": "model", "bos": True},
        "kn": {"ngram": {"file": {"local": "kn.arpa"}}},
        "given": {"surprisals": {"table": {"local": "given.csv"}, "columns": {"word_id": "word_id", "surprisal": "bits"}, "unit": "bits"}},
    },
    "lexicons": {
        "list": {
            "label": "List", "base": {"local": "base.txt"}, "expanded": {"local": "new.txt"},
            "features": {"NRC": {"local": "nrc.txt"}, "VIEW": {"local": "view.tsv", "supplied": "views"}},
        }
    },
    "unigrams": {"list": {"counts": {"local": "counts.csv"}, "columns": ["word", "count"]}},
    "designs": {"plain": DESIGN, "foil": FOIL | {"of_interest": ["foil_surprisal"], "base": "fixed"}},
    "datasets": {
        "made": {
            "label": "Made",
            "parser": "table",
            "options": {"columns": {"Maze": "rt", "foil": "distractor", "frame": "frame", "condition": "condition", "correct": "correct"}},
            "words": FILE,
            "responses": FILE,
            "measures": {"Maze": {"filters": ["right"]}},
            "filters": {"right": "correct and position > 1"},
        }
    },
    "experiments": {
        "four": {
            "title": "Made",
            "lms": ["net", "kn", "given"],
            "baseline": "net",
            "responses": {"plain": ["made.Maze"]},
            "maze": {
                "dataset": "made", "measure": "Maze", "condition": "condition", "by": "frame",
                "contrasts": {"c": {"region": "position == 3", "high": "condition == 'hard'", "low": "condition == 'easy'"}},
            },
            "rank_metrics": {"dataset": "made", "sentences": 8, "least": 6, "kept": 3, "longest": 3},
            "turing_test": {"judgements": {"local": "judged.csv", "supplied": "people's ratings"}},
            "word_length": {"dataset": "made", "frequency": "list", "common": 10},
            "families": {"groups": {"both": ["net", "kn"]}},
        },
        "lexicon": {"title": "Words", "lms": ["net"], "baseline": "net", "abusive_words": {"lexicon": "list", "folds": 3}},
        "lists": {
            "title": "Lists", "lms": ["net"], "baseline": "net", "published": {"serial_position": "murdock1962_free_recall"},
            "serial_position": {"file": "pool.txt", "lengths": [7], "lists": 3, "samples": 2},
        },
        "foils": {"title": "Foils", "lms": ["net", "kn"], "baseline": "net", "responses": {"foil": ["made.Maze"]}},
    },
}  # fmt: skip
TARGETS = ["foils/delta_loglik.csv", "four/continuations.csv"]
TARGETS += [f"four/table_{each}.html" for each in ("maze", "maze_contrasts", "rank_metrics")]
TARGETS += [f"lists/{each}_serial_position.csv" for each in ("figure", "table")]
TARGETS += [f"four/table_{each}.html" for each in ("word_length", "families", "explained")]
TARGETS += [f"four/{each}.html" for each in ("table_turing_test", "table_turing_fits")]
TARGETS += ["four/figure_turing_test.svg"]
TARGETS += [f"lexicon/table_abusive_{each}.html" for each in ("words", "expansion", "cross_domain")]
ARPA = "\\data\\\nngram 1={n}\n\n\\1-grams:\n-3\t<unk>\n0\t<s>\n-1.5\t</s>\n{grams}\n\n\\end\\\n"


def corpus(folder):
    """Write times of eight readers, who choose wrongly now and then, and what LMs are made of."""
    random = np.random.default_rng(4)
    rows, position = [], 0
    for sentence in range(24):
        text = list(random.choice(WORDS, 8))
        for place, word in enumerate(text, 1):
            foil = "" if place == 1 else random.choice(WORDS)
            for subject in range(8):
                rt = 500 + 20 * len(word) + 9 * subject + random.gamma(3, 20)
                known = (f"i{sentence:02d}", sentence, place, word, f"s{subject}", round(rt, 1))
                condition = ("hard", "easy")[sentence % 2]
                rows.append(
                    (*known, foil, f"f{sentence // 2}", condition, int(random.random() < 0.95))
                )
            position += 1
    names = [
        "item",
        "sentence",
        "position",
        "word",
        "subject",
        "rt",
        "distractor",
        "frame",
        "condition",
        "correct",
    ]
    table = pd.DataFrame(rows, columns=names)
    table.sort_values(["subject", "sentence", "position"]).to_csv(folder / "times.csv", index=False)
    words = table.drop_duplicates(["sentence", "position"]).sort_values(["sentence", "position"])
    checkpoint(folder / "model", words.groupby("item").word.agg(" ".join))
    counts = words.word.value_counts()
    counts.rename_axis("word").rename("count").reset_index().to_csv(
        folder / "counts.csv", index=False
    )
    grams = "\n".join(f"{np.log10(n / len(words)):.4f}\t{w}" for w, n in counts.items())
    (folder / "kn.arpa").write_text(ARPA.format(n=len(counts) + 3, grams=grams))
    given = pd.DataFrame(
        {"word_id": range(len(words)), "bits": 3 + words.word.str.len().to_numpy()}
    )
    given.to_csv(folder / "given.csv", index=False)
    entries = [f"{word}{end}_noun" for word in WORDS for end in ("", "s")]
    base = "".join(f"{e}\t{str(n % 2 == 0).upper()}\n" for n, e in enumerate(entries))
    (folder / "base.txt").write_text(base)
    (folder / "new.txt").write_text("".join(f"{e}\t{len(e) - 8}\n" for e in entries))
    (folder / "nrc.txt").write_text("".join(f"{e}\t{len(e) % 3}\n" for e in entries))
    (folder / "pool.txt").write_text("\n".join(f"{one}{two}" for one in "abcd" for two in "abcd"))
    return words.reset_index(drop=True), counts


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = copy_project(tmp_path_factory.mktemp("thesis") / "project")
    words, counts = corpus(folder)
    (folder / "made.yaml").write_text(yaml.safe_dump(MADE))
    targets = [f"results/made/paper/experiments/{each}" for each in TARGETS]
    run = snakemake(folder, "--nocolor", *targets, configs=["made.yaml"])
    assert run.returncode == 0, run.stdout[-6000:]
    assert untracked(folder) == []
    again = plan(folder, *targets, configs=["made.yaml"])
    assert "Nothing to be done" in again.stdout and not planned(again.stdout)
    return folder / "results" / "made" / "paper", words, counts


def test_a_unigram_model_chooses_the_commoner_word(results):
    folder, words, counts = results
    rows = pd.read_csv(folder / "experiments" / "four" / "maze.csv").set_index(["lm", "level"])
    offered = words[words.distractor != ""]
    right = counts[offered.word].to_numpy() > counts[offered.distractor].to_numpy()
    assert rows.accuracy["kn", "overall"] == pytest.approx(100 * right.mean())
    assert rows.group["given", "not run"] and ("readers", "overall") in rows.index
    page = (folder / "experiments" / "four" / "table_maze.html").read_text()
    assert "Not run: given" in page
    contrasts = pd.read_csv(folder / "experiments" / "four" / "maze_contrasts.csv")
    assert set(contrasts.lm) == {"readers", "net", "kn"} and (contrasts["items"] == 12).all()


def test_foils_predict_times(results):
    folder, *_ = results
    found = pd.read_csv(folder / "experiments" / "foils" / "delta_loglik.csv")
    assert (
        len(found) == 2 and found.delta_loglik.abs().gt(1e-9).all() and set(found.base) == {"fixed"}
    )


def test_ranks_length_and_families_are_there(results):
    folder, words, _ = results
    where = folder / "experiments" / "four"
    ranks = pd.read_csv(where / "table_rank_metrics.csv").set_index("lm")
    assert ranks.words.to_dict() == {"net": 40, "kn": 40}
    key = pd.read_csv(where / "continuations_key.csv")
    assert key.lm.value_counts().to_dict() == {"original": 8, "net": 8}
    assert "judged.csv: people's ratings" in (where / "table_turing_test.html").read_text().replace(
        "&#x27;", "'"
    )
    lengths = pd.read_csv(where / "word_length.csv").query("level == 'overall'").set_index("lm")
    assert lengths.rho["given"] == pytest.approx(1)  # its surprisal is 3 bits more than the length
    assert lengths.types["kn"] == words.word.nunique()
    assert pd.read_csv(where / "table_families.csv").lms.tolist() == [2]
    shares = pd.read_csv(where / "table_explained.csv").set_index("lm")
    assert set(shares.index) == {"net", "kn"} and (shares.surprisal >= 0).all()
    assert (shares.readers > shares.surprisal).all()  # readers differ by 9 ms each


def test_abusive_words_are_classified_by_vectors_and_features(results):
    folder, *_ = results
    where = folder / "experiments" / "lexicon"
    rows = pd.read_csv(where / "table_abusive_words.csv").set_index("features")
    assert rows.f1["NRC"] > 0 and np.isnan(rows.f1["VIEW"])
    vectors = pd.read_parquet(
        next((folder / "abusive_words" / "vectors" / "net").glob("*.parquet"))
    )
    assert {"own", "made"} <= set(vectors.kind) and len(vectors) == 24
    assert "view.tsv: views" in (where / "table_abusive_words.html").read_text()
    assert "quietly" not in (where / "table_abusive_expansion.csv").read_text()


def test_lists_are_recognized_and_recalled(results):
    folder, *_ = results
    rows = pd.read_csv(folder / "experiments" / "lists" / "table_serial_position.csv")
    assert rows.task.tolist() == ["recognition", "recall"] and rows.lists.tolist() == [3, 3]
    assert rows["mean"].between(0, 100).all()
    lines = pd.read_csv(folder / "experiments" / "lists" / "figure_serial_position.csv")
    assert len(lines) == 14
