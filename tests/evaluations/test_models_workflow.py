"""Models on all the data, events and linking functions by Snakemake: from a table to tables and figures."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml

from checkpoints import checkpoint
from loaded import untracked
from masked_networks import roberta
from project import copy_project, plan, planned, snakemake

pytestmark = pytest.mark.merge

MIXED = {
    "formula": "time_ms ~ length + surprisal + (1 | subject) + (1 | sentence)",
    "of_interest": ["surprisal"],
    "base": "all",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}
SKIPPING = MIXED | {
    "family": "binomial",
    "formula": "event ~ length + surprisal + (1 | subject)",
}
FILE = {"table": {"local": "times.csv"}}
DATASET = {
    "label": "Made",
    "parser": "table",
    "options": {"columns": {"FP": "time"}, "eye_tracking": True},
    "words": FILE,
    "responses": FILE,
    "measures": {
        "FP": {"filters": ["fixated", "inside"]},
        "skip": {"of": "FP", "event": "time_ms == 0", "filters": ["inside"]},
    },
    "filters": {"fixated": "time_ms > 0", "inside": "not item_first"},
}
SELF_PACED = DATASET | {
    "task": "self_paced",
    "options": {"columns": {"SPR": "time"}},
    "measures": {"SPR": {"filters": ["fixated", "inside"]}},
}
HUB = {"checkpoint": "model", "bos": False}
LETTERS = {"label": "Letters", "files": ["letters.txt"], "reader": "plain"}
LETTERS |= {"options": {"plain": {"documents": "blank_line"}}}
TASK = {
    "label": "Made", "train": {"local": "task.tsv"}, "dev": {"local": "task.tsv"},
    "columns": {"sentence": "text", "label": "label"}, "labels": ["0", "1"], "measure": "matthews",
    "learning_rate": 1e-3, "batch": 8, "updates": 20, "warmup_updates": 2,
}  # fmt: skip
ABOUT = {"title": "Made", "lms": ["gpt2", "gpt2-dVM"], "baseline": "gpt2"}
MADE = {
    "study": "made",
    "run": ["whole", "parted", "masked", "linear"],
    "lms": {"gpt2": HUB, "gpt2-dVM": HUB, "rob": {"checkpoint": "rob"}},
    "corpora": {"letters": LETTERS},
    "glue_tasks": {"made": TASK},
    "fine_tuning": {"seeds": [1, 2], "epochs": 2},
    "designs": {
        "mixed": MIXED,
        "skipping": SKIPPING,
    },
    "datasets": {
        "made": DATASET,
        "made_whole": DATASET | {"partitioned": False},
        "paced": SELF_PACED,
    },
    "experiments": {
        "whole": ABOUT
        | {
            "responses": {"mixed": ["made_whole.FP"], "skipping": ["made_whole.skip"]},
        },
        "parted": ABOUT
        | {
            "lms": ["gpt2"],
            "responses": {"mixed": ["made.FP"], "skipping": ["made.skip"]},
        },
        "linear": ABOUT
        | {
            "responses": {"mixed": ["made.FP"]},
            "endpoint": "conditional",
            "sensitivity": {"linking": ["log", "linear", 2], "response": ["raw", "log"]},
        },
        "masked": ABOUT
        | {
            "lms": ["gpt2", "rob"],
            "glue": {"tasks": ["made"], "lms": ["rob"]},
            "length": {"corpus": "letters", "lengths": [16, 32, 64], "trained": 32, "lms": ["rob"]},
        },
    },
}


def corpus(path, subjects=8, sentences=24):
    """Write times of readers who skip a quarter of the words, the short ones rather."""
    random = np.random.default_rng(3)
    letters = list("abcdeilmnorstu")
    rows = []
    for sentence in range(sentences):
        size = int(random.integers(5, 9))
        words = ["".join(random.choice(letters, random.integers(1, 9))) for _ in range(size)]
        words[-1] += "."
        for subject in range(subjects):
            for place, word in enumerate(words, 1):
                skipped = random.random() < 1 / (1 + len(word) / 2)
                time = 0 if skipped else 180 + 8 * len(word) + random.gamma(4, 15) + 5 * subject
                rows.append((f"t{sentence // 4}", sentence, place, word, f"s{subject}", time))
    names = ["item", "sentence", "position", "word", "subject", "time"]
    frame = pd.DataFrame(rows, columns=names).sort_values(["subject", "sentence", "position"])
    frame.to_csv(path, index=False)
    return frame


def write(folder):
    """Write the study's config and all that it reads; return the corpus."""
    table = corpus(folder / "times.csv")
    words = table.drop_duplicates(["sentence", "position"])
    checkpoint(folder / "model", words.groupby("item").word.agg(" ".join))
    roberta(folder / "rob", list("abcde"), context=40)
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(list("abcde"), 90)) for _ in range(3)]
    (folder / "letters.txt").write_text("\n\n".join(texts))
    rows = [f"{' '.join(random.choice(list('abc'), 5))}\t{number % 2}" for number in range(16)]
    (folder / "task.tsv").write_text("text\tlabel\n" + "\n".join(rows))
    (folder / "made.yaml").write_text(yaml.safe_dump(MADE))
    return table


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = copy_project(tmp_path_factory.mktemp("models") / "project")
    table = write(folder)
    names = MADE["run"]
    run = snakemake(folder, "--nocolor", *names, configs=["made.yaml"])
    assert run.returncode == 0, run.stdout[-6000:]
    assert untracked(folder) == []
    again = plan(folder, *names, configs=["made.yaml"])
    assert "Nothing to be done" in again.stdout and not planned(again.stdout)
    return folder / "results" / "made" / "paper", table


def test_all_observations_are_fitted_and_compared(results):
    folder, table = results
    rows = pd.read_csv(folder / "experiments" / "whole" / "table_delta_aic.csv")
    inside = table[(table.position > 1) | (table.sentence % 4 > 0)]
    assert rows.groupby("measure").n.first().to_dict() == {
        "FP": (inside.time > 0).sum(),
        "skip": len(inside),
    }
    assert rows.delta_aic.tolist()[::2] == [0, 0] and (rows.delta_aic.abs()[1::2] > 1e-6).all()
    assert rows.delta_bic.tolist() == pytest.approx(rows.delta_aic.tolist())  # as many parameters
    drawn = folder / "experiments" / "whole" / "figure_delta_aic.png"
    assert drawn.stat().st_size > 1000
    k = {"FP": 3 + 2 + 1, "skip": 3 + 1}
    assert rows.aic.to_numpy() == pytest.approx(
        2 * rows.measure.map(k).to_numpy() - 2 * rows.loglik.to_numpy()
    )


def test_times_and_events_are_in_one_table(results):
    folder, _ = results
    table = (folder / "experiments" / "parted" / "table_delta_loglik.html").read_text()
    assert "skip" in table and "FP" in table


def test_linking_functions_are_compared_with_lines(results):
    folder, _ = results
    where = folder / "experiments" / "linear"
    rows = pd.read_csv(where / "linearity.csv", dtype={"linking": str})
    assert (
        rows.groupby(["lm", "settings"]).linking.agg(list).tolist() == [["log", "linear", "2"]] * 4
    )
    for row in rows.itertuples():
        changed = {"linking": row.linking, "response": row.settings.removeprefix("times: ")}
        own = {"linking": "linear", "response": "raw"}
        names = [
            f"{key}={changed[key]}" for key in ("response", "linking") if changed[key] != own[key]
        ]
        linear = [name for name in names if "linking" not in name]
        fits = {}
        for key, settings in (("function", names), ("linear", linear)):
            design = f"mixed@{','.join(settings)}" if settings else "mixed"
            path = folder / "regression" / design / "made.FP" / f"{row.lm}.full.json"
            fits[key] = json.loads(path.read_text())
        difference = np.diff([fits[k]["loglik"]["exploratory"] for k in ("linear", "function")])[0]
        assert row.difference == pytest.approx(difference, abs=1e-7)
        if row.linking == "linear":
            assert row.difference == 0 and np.isnan(row.low)
        else:
            assert row.low < row.difference < row.high
    assert (where / "figure_linearity.svg").stat().st_size > 1000
    assert "x^2" in (where / "table_linearity.html").read_text()


def test_masked_lms_are_fine_tuned_and_read_by_length(results):
    folder, _ = results
    where = folder / "experiments" / "masked"
    rows = pd.read_csv(where / "table_glue.csv").set_index("task")
    assert rows.loc["made"].runs == 2 and rows.loc["made"].dev == 16
    epochs = pd.read_csv(folder / "glue" / "rob" / "made.csv")
    assert epochs.groupby("seed").epoch.max().to_dict() == {1: 2, 2: 2}
    lengths = pd.read_csv(where / "table_length.csv").set_index("length")
    assert (lengths.documents == 3).all() and lengths.difference[32] == 0
    assert lengths.ppl.notna().to_dict() == {16: True, 32: True, 64: False}
    for stem in ("figure_glue", "figure_length"):
        assert (where / f"{stem}.png").stat().st_size > 1000
