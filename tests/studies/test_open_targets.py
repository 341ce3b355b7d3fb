"""Every target of the open study, from text to figures, with networks of twelve steps: `make test-open`.

Its data come from $RECENCY_MIRROR or the internet. It sees that no target is lost to a change that
the tests on simulated text and readers pass over; its numbers mean nothing.
"""

import os
from datetime import date

import pandas as pd
import pytest
import yaml

from project import ROOT, copy_project, load, plan, planned, snakemake
from recency.config import experiments_of

CONFIG = "config/open.yaml"
OVERLAY = yaml.safe_load((ROOT / CONFIG).read_text())
#: Of config.yaml's experiments those that the open study runs as they are.
EXPERIMENTS = [*OVERLAY["experiments"], "exp4"]
KEPT = [4, 8]
#: Settings of an experiment that cost time → smaller ones.
SMALLER = {
    "measured_memory": {"replacements": 10, "reach": 8},
    "context_information": {"words": 40, "context": 20},
    "temporal_correlation": {"reach": 100},
    "length": {"documents": 4},
}
DRAWS = 120
"""Of the crossed bootstrap: with fewer, some reader's sentence is left out by none."""
#: Experiments with a second seed, one of each kind: with checkpoints, nested models, means, repeated partitions.
TWO_SEEDS = ("open", "curves", "recency_bias", "recency_bias_means", "sensitivity", "theories")


def recipe(settings):
    """Return what makes a recipe's training short."""
    if "steps" not in settings:
        return {"epochs": 1}
    length = 32 if settings["order"] == "streams" else 128
    rows = {"batch_sequences": 4, "micro_batch": 4, "sequence_length": length}
    held_out = {"tokens": 4000, "every": 4}
    return rows | {"steps": 12, "warmup_steps": 2, "checkpoints": KEPT, "validation": held_out}


def small(config):
    """Return what is laid over the open study: short trainings, few data, one response a design."""
    recipes = {
        name: recipe(config["recipes"][name])
        for name in OVERLAY["recipes"]
        if config["recipes"][name]["device"] == "cpu"
    }
    steps = sorted({lm["step"] for lm in OVERLAY["lms"].values() if "step" in lm})
    lms = {
        name: {"step": KEPT[steps.index(lm["step"])]}
        for name, lm in OVERLAY["lms"].items()
        if "step" in lm
    }
    lms |= {name: {"lossy": {"samples": 8}} for name, lm in OVERLAY["lms"].items() if "lossy" in lm}
    experiments = {}
    for name in EXPERIMENTS:
        asked = config["experiments"][name]
        over = {"seeds": [1, 2] if name in TWO_SEEDS else [1]} if asked.get("seeds") else {}
        if "responses" in asked:
            over["responses"] = {k: v[:1] for k, v in asked["responses"].items()}
            over |= {} if "steps" in asked else {"draws": DRAWS}
        if "stride" in asked.get("sensitivity", {}):  # a stride of 1 is hundreds of passes a text
            over["sensitivity"] = {"stride": [None, 64]}
        experiments[name] = over | {key: SMALLER[key] for key in SMALLER if key in asked}
    return {
        "study": "small",
        "recipes": recipes,
        "lms": lms,
        "experiments": experiments,
        "minimal_pairs": {"blimp": {"sources": "pairs.tsv"}},
        "fine_tuning": {"epochs": 1, "examples": 60},
        "searches": {"open": {"trials": 5}},
        "probe": {"rank": 8, "epochs": 2, "sentences": 300},
    }


def write(folder):
    """Write a project with the small study into a folder; return its targets and overlays."""
    config = load(CONFIG)
    copy_project(folder)
    (folder / "small.yaml").write_text(yaml.safe_dump(small(config)))
    pairs = (folder / "data" / "sources" / "blimp.tsv").read_text().splitlines(keepends=True)
    (folder / "pairs.tsv").write_text("".join(pairs[:4]))
    numbered = [
        name for name, of in config["targets"].items() if set(experiments_of(of)) <= {*EXPERIMENTS}
    ]
    exported = ["export_provo", "export_ALiBi-mix-TI"]
    return [*EXPERIMENTS, *numbered, "search_open", *exported], [CONFIG, "small.yaml"]


@pytest.mark.merge
def test_every_target_is_planned(tmp_path):
    targets, configs = write(tmp_path / "study")
    run = plan(tmp_path / "study", *targets, configs=configs)
    assert run.returncode == 0, run.stdout[-3000:]
    jobs = planned(run.stdout)
    assert jobs["train"] > 40 and jobs["prepare_text"] > 4
    assert [target for target in targets if f"rule {target}:" not in run.stdout] == []


@pytest.mark.long
def test_every_target(tmp_path, request):
    """With `--minutes`, the experiment of the day alone."""
    folder = tmp_path / "study"
    targets, configs = write(folder)
    experiments = set(EXPERIMENTS)
    if request.config.getoption("minutes"):
        targets = [EXPERIMENTS[date.today().toordinal() // 4 % len(EXPERIMENTS)]]
        experiments = set(targets)
    mirrors = filter(None, os.environ.get("RECENCY_MIRROR", "").split(":"))
    mirrors = ":".join(os.path.abspath(each) for each in mirrors)
    asked = [*targets, "--cores", os.environ.get("CORES", "2"), "--keep-going"]
    run = snakemake(folder, *asked, configs=configs, RECENCY_MIRROR=mirrors)
    assert run.returncode == 0, run.stdout[-6000:]
    made = folder / "results" / "small" / "cores" / "experiments"
    assert experiments <= {path.name for path in made.iterdir()}
    for path in made.rglob("figure_*.csv"):
        assert len(pd.read_csv(path)), f"{path} has no row, and its figure nothing"
