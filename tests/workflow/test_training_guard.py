"""Finished LMs are not trained again for their code alone, but when asked to, nor are half-done ones refused late."""

import csv
import json
import re
import shlex

import pytest

from project import TINY, plan, planned, snakemake
from recency import history
from recency.workflow.engine import training_guard

pytestmark = pytest.mark.apart
LMS = "results/tiny/cores/lms"
LOSS = "src/recency/networks/loss.py"


def edit(study, file, *change):
    """Replace text in a file, or add a statement."""
    path = study / file
    text = path.read_text()
    assert not change or change[0] in text
    path.write_text(text.replace(*change) if change else f"{text}\nCHANGED = 1\n")


def state(study):
    """Return what tells trainings apart: the time and bytes of checkpoints and their states."""
    files = [*(study / LMS).glob(".*.state.pt"), *(study / LMS).glob("*/model.safetensors")]
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


@pytest.mark.merge
def test_a_run_stops_before_it_throws_finished_lms_away(study):
    """The plan says why; the run does nothing; the command that it prints keeps the LMs."""
    before = state(study)
    edit(study, LOSS)
    run = plan(study, configs=TINY)
    assert planned(run.stdout)["train"] == 3
    assert (
        len(re.findall(r"reason: .*before: 'recency\.networks\.loss \w{12}' now: ", run.stdout))
        == 3
    )

    run = snakemake(study, "--nocolor", configs=TINY)
    assert run.returncode != 0 and "Traceback" not in run.stdout, run.stdout[-3000:]
    assert (
        "nothing was started: 3 finished LMs would be trained again only because code has"
        in run.stdout
    )
    assert "ALiBi-mix-TI, Pythia, reader (recency.networks.loss)" in run.stdout
    assert "--config retrain=true" in run.stdout and "rule train" not in run.stdout
    assert state(study) == before

    keep = shlex.split(re.search(r"\./run (.*--touch.*)$", run.stdout, re.MULTILINE)[1])
    at = keep.index("--configfile")
    run = snakemake(study, "--nocolor", *keep[:at], configs=keep[at + 1 :])
    assert run.returncode == 0, run.stdout[-3000:]
    assert state(study) == before
    # What was made from the LMs is up to date as well.
    run = plan(study, configs=TINY)
    assert "Nothing to be done" in run.stdout, run.stdout[-3000:]


@pytest.mark.merge
def test_a_change_of_earlier_code_stops_a_run_too(study):
    """Tokens that would be made anew would train LMs anew: kept, both are as they were."""
    edit(study, "src/recency/text/tokens.py")
    run = snakemake(study, "--nocolor", configs=TINY)
    assert "3 finished LMs" in run.stdout and "(recency.text.tokens)" in run.stdout
    keep = shlex.split(re.search(r"\./run (.*) --touch", run.stdout)[1])
    before = state(study)
    # One of them alone: the others' tokens are still to be made.
    run = snakemake(
        study, "--nocolor", *(file for file in keep if "reader" in file), "--touch", configs=TINY
    )
    assert run.returncode == 0 and state(study) == before, run.stdout[-3000:]
    jobs = planned(plan(study, configs=TINY).stdout)
    assert (jobs["train"], jobs["tokenize_text"]) == (2, 1)


@pytest.mark.merge
def test_lms_trained_without_passages_are_not_trained_again_for_them(study):
    """The set of inputs differs from that of an earlier release, by nothing that changes a weight."""
    before = state(study)
    rules = (study / "rules" / "lms.smk").read_text()
    lines = re.search(r" +passages=.*?\n( +held_out_passages=.*?\n        \),\n)", rules, re.DOTALL)
    edit(study, "rules/lms.smk", lines[0], "")
    edit(study, LOSS)
    run = snakemake(study, "--nocolor", configs=TINY)
    assert run.returncode != 0 and "3 finished LMs would be trained again only" in run.stdout
    assert state(study) == before


@pytest.mark.merge
def test_lms_are_trained_again_when_asked_and_only_if_something_changed(study):
    losses = study / LMS / "Pythia" / "training.csv"
    config = f"{LMS}/Pythia/config.json"
    before, states = losses.read_text(), state(study)

    # Nothing has changed: what was lost comes from the finished state, and no step is done.
    (study / LMS / "Pythia" / "model.safetensors").unlink()
    run = snakemake(study, "--nocolor", config, f"{LMS}/Pythia/model.safetensors", configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    assert losses.read_text() == before
    mine = study / LMS / ".Pythia.state.pt"
    assert state(study)[mine] == states[mine]

    # Another loss: its sum is doubled.
    edit(
        study,
        "src/recency/networks/training.py",
        "loss = self.loss_sum(",
        "loss = 2 * self.loss_sum(",
    )
    arguments = ("--nocolor", config, "--config", "retrain=true")
    run = snakemake(study, *arguments, configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    assert state(study)[mine] != states[mine]

    def first(text):
        return float(next(csv.DictReader(text.splitlines()))["loss_nats"])

    assert first(losses.read_text()) == pytest.approx(2 * first(before), rel=1e-6)
    assert history.read(study / config)["retrained"] == [["recency.networks.training"]]


@pytest.mark.merge
def test_another_recipe_trains_again_unasked(study):
    """Code has changed as well, but whoever writes another recipe wants another LM."""
    edit(study, LOSS)
    (study / "more.yaml").write_text("recipes: {demo: {steps: 2, warmup_steps: 1}}\n")
    run = snakemake(study, "--nocolor", f"{LMS}/Pythia/config.json", configs=[*TINY, "more.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    assert len((study / LMS / "Pythia" / "training.csv").read_text().splitlines()) == 1 + 2


@pytest.mark.merge
def test_a_run_stops_before_it_meets_a_state_that_it_cannot_go_on_from(study):
    """Of code and a recipe that are others by now; the command that it prints makes room."""
    import torch

    mine = study / LMS / ".Pythia.state.pt"
    half_done = torch.load(mine, weights_only=True) | {"optimizer": {}}
    torch.save(half_done, mine)
    (study / LMS / "Pythia" / "model.safetensors").unlink()
    edit(study, LOSS)
    (study / "more.yaml").write_text("recipes: {demo: {learning_rate: 0.5}}\n")
    asked = ("--nocolor", f"{LMS}/Pythia/model.safetensors")
    run = snakemake(study, *asked, configs=[*TINY, "more.yaml"])
    assert run.returncode and "rule train" not in run.stdout, run.stdout[-3000:]
    rate = json.loads(half_done["specification"])["recipe"]["learning_rate"]
    differs = (
        f"the code of recency.networks.loss, recipe.learning_rate: {rate} in the state, 0.5 now"
    )
    assert "nothing was started: a training would continue from" in run.stdout
    assert f"{LMS}/.Pythia.state.pt ({differs})" in run.stdout
    remove = re.search(r"To train from the start: rm (\S+)\. To continue", run.stdout)[1]
    (study / remove).unlink()
    run = snakemake(study, *asked, configs=[*TINY, "more.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]


@pytest.mark.merge
def test_a_half_done_training_is_let_go_on_by_other_code_when_that_is_declared(study):
    """What began it stays written down; how it goes on, tests/networks/test_training.py has."""
    import torch

    mine, weights = study / LMS / ".Pythia.state.pt", study / LMS / "Pythia" / "model.safetensors"
    torch.save(torch.load(mine, weights_only=True) | {"optimizer": {}}, mine)
    weights.unlink()
    edit(study, LOSS)
    asked = ("--nocolor", f"{LMS}/Pythia/model.safetensors")
    run = snakemake(study, *asked, configs=TINY)
    assert run.returncode and "rule train" not in run.stdout, run.stdout[-3000:]
    assert "repeat the command with --config resume=true" in run.stdout
    run = snakemake(study, *asked, "--config", "resume=true", configs=TINY)
    assert (
        "is continued (`resume: true`) despite changes: the code of recency.networks.loss"
        in run.stdout
    )
    said = json.loads((study / LMS / ".Pythia.state.pt.code.json").read_text())
    (change,) = said["resumed"]
    assert history.changed_modules(change) == ["recency.networks.loss"]


@pytest.mark.parametrize(
    ("before", "now", "modules"),
    [
        (["'recency.a 0123456789ab'"], ["'recency.a 0123456789ac'"], {"recency.a"}),
        ([], ["'recency.b 0123456789ab'"], {"recency.b"}),
        (
            ["['recency.a 0123456789ab', 'recency.b 0123456789ab']"],
            ["['recency.a 0123456789ac', 'recency.b 0123456789ab']"],
            {"recency.a"},
        ),
        (["1"], ["2"], None),
        (["1", "'recency.a 0123456789ab'"], ["'recency.a 0123456789ac'"], None),
        (["'a text'"], ["'recency.a 0123456789ac'"], None),
        (["{'steps': 40}"], ["{'steps': 41}"], None),
        (["nan"], ["inf"], None),
    ],
)
def test_parameters_tell_code_from_settings(before, now, modules):
    assert training_guard.changed_modules(before, now) == modules


def test_the_message_is_one_paragraph():
    found = {
        "A": ("lms/A/config.json", ["recency.networks.loss"]),
        "B": ("lms/B/config.json", ["recency.attention.biases.linear", "recency.networks.loss"]),
        "C": ("lms/C/config.json", ["recency.networks.loss"]),
    }
    assert training_guard.message(found, "./run x --touch") == (
        "nothing was started: 3 finished LMs would be trained again only because code has changed: "
        "A, C (recency.networks.loss); B (recency.attention.biases.linear, recency.networks.loss). "
        "To train again: the same command with --config retrain=true. If the change does not affect "
        "the weights, keep the LMs and their inputs: ./run x --touch"
    )
