"""Kept checkpoints as LMs, and experiments with steps: names, settings, plans, and what is refused."""

import re

import pytest
import yaml

from project import SCHEMA, TINY, copy_project, load, merged, plan, planned
from recency import config as configuration
from recency import grids
from recency.workflow.config import checks
from recency.workflow.plan.study import Study

KEPT = """
recipes: {demo: {checkpoints: [5, 20]}}
run: [along]
experiments:
  along:
    title: Along the training
    lms: [Pythia, dVM-I, ALiBi-mix-TI]
    baseline: Pythia
    steps: all
    seeds: [1, 2]
    responses: {spr: [simulated_spr.SPR]}
    attention: simulated_spr
"""
OWN = """
lms:
  p-5: {checkpoint_of: Pythia, step: 5}
  mix-20: {checkpoint_of: ALiBi-mix-TI, step: 20, label: early}
  p-5-dVM: {bias: dVM, applied: inference, weights: p-5}
"""


@pytest.fixture
def config():
    """Return the tiny study, of 40 steps, whose trainings keep two."""
    return merged(load(*TINY), yaml.safe_load(KEPT))


def test_a_kept_checkpoint_has_all_of_its_lm(config, tmp_path):
    checks.check(merged(config, yaml.safe_load(OWN)), SCHEMA)
    study = Study(config, tmp_path, dry_run=True)
    own, trained = study.lms["mix-20"], study.lms["ALiBi-mix-TI"]
    for key in ("bias", "architecture", "corpus", "tokenizer", "recipe", "seed", "bos", "applied"):
        assert own[key] == trained[key], key
    assert (own["label"], study.lms["p-5"]["label"]) == ("early", "no bias, step 5")
    assert study.opening("mix-20")["bias"] is None  # its bias is in its weights
    assert study.opening("p-5-dVM")["bias"]["form"] == "exponential"
    assert study.weights("mix-20")[0] == "<results>/lms/mix-20/config.json"
    assert study.weights("p-5-dVM") == study.weights("p-5")
    assert study.trained_as("p-5-dVM") == study.trained_as("p-5") == "Pythia"
    assert {"p-5", "mix-20"} <= set(study.lms_that_are("kept"))
    assert {"p-5", "mix-20", "p-5-dVM"}.isdisjoint(study.lms_that_are("trained"))
    # Another seed's is the same step of the training from that seed; scored otherwise, its weights.
    name = grids.lm_variant(config, "mix-20", {"seed": 2, "bos": False})
    made = configuration.language_model(config, name)
    assert made["weights"] == "mix-20@seed=2" and not made["bos"] and made["bias"] == own["bias"]
    assert made["checkpoint_of"] == "ALiBi-mix-TI@seed=2" and made["step"] == 20


def test_steps_are_written_out_with_seeds(config):
    checks.check(config, SCHEMA)
    grid = grids.expand(config)["along"]["lms"]
    assert len(grid) == 3 * 2 * 3 and set(grid) == set(config["experiments"]["along"]["lms"])
    lms = config["lms"]
    assert lms["Pythia@step=5"] == {
        "checkpoint_of": "Pythia",
        "step": 5,
        "label": "no bias, step 5",
    }
    assert lms["Pythia@seed=2,step=5"]["checkpoint_of"] == "Pythia@seed=2"
    other = configuration.language_model(config, "dVM-I@seed=2,step=20")
    assert other["weights"] == "Pythia@seed=2,step=20" and other["applied"] == "inference"
    # The last step is the LM itself, with its files.
    assert grid["ALiBi-mix-TI@seed=2"]["step"] == 40 and "ALiBi-mix-TI@step=40" not in lms
    pairs = grids.baselines(grid, config["experiments"]["along"]["baseline"])
    assert pairs["dVM-I@seed=2,step=20"] == "Pythia@seed=2,step=20"
    assert pairs["ALiBi-mix-TI"] == "Pythia"


@pytest.mark.merge
def test_a_plan_has_curves_and_no_verdict(tmp_path):
    folder = copy_project(tmp_path / "project")
    (folder / "kept.yaml").write_text(KEPT)
    run = plan(folder, configs=[*TINY, "kept.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    jobs = planned(run.stdout)
    # Two networks from two seeds, and the readers' own; two steps of each are kept.
    assert (jobs["train"], jobs["checkpoint"]) == (2 * 2 + 1, 2 * 2 * 2)
    assert jobs["surprisal"] == 3 * 2 * 3 + 1
    assert jobs["regression"] == 3 * 2 * 3 + 1
    assert jobs["attention_by_distance"] == 3 * 2 * 3
    assert jobs["learning_curves"] == jobs["figure_curves"] == jobs["table_curves"] == 1
    assert jobs["figure_training"] == jobs["report_page"] == 1
    flood = {"verdict", "permutation", "delta_loglik", "table_delta_loglik", "figure_delta_loglik"}
    assert flood.isdisjoint(jobs) and "figure_attention_by_distance" not in jobs


@pytest.mark.merge
def test_a_curve_of_one_point_is_planned_where_it_is_asked_for(tmp_path):
    """Of a study whose trainings keep nothing: `run` may not select it, and the listing has it."""
    run = plan(copy_project(tmp_path / "project"), "curves", configs=TINY)
    assert run.returncode == 0 and "checkpoint" not in planned(run.stdout), run.stdout[-2000:]


FAULTS = {
    "lms: {x: {checkpoint_of: Pythia, step: 6}}": (
        "lms → x → checkpoint_of → step: the training of 'Pythia' does not save step 6: recipes → demo → "
        "checkpoints has 5, 20"
    ),
    "lms: {x: {checkpoint_of: Pythia}}": "`step` is missing: `checkpoint_of` and `step` go together",
    "lms: {x: {step: 5}}": "`checkpoint_of` is missing: `checkpoint_of` and `step` go together",
    "lms: {x: {checkpoint_of: Pythja, step: 5}}": "no lm is called 'Pythja'; did you mean 'Pythia'?",
    "lms: {x: {checkpoint_of: gpt2, step: 5}}": (
        "'gpt2' is not trained here; if the Hub has revisions of it, name one: `checkpoint: "
        "gpt2@<revision>`"
    ),
    "lms: {x: {checkpoint_of: dVM-I, step: 5}}": "'dVM-I' has the weights of 'Pythia'; name that",
    "lms: {x: {checkpoint_of: y, step: 5}, y: {checkpoint_of: Pythia, step: 5}}": (
        "'y' is itself a checkpoint; name the trained LM, 'Pythia'"
    ),
    "lms: {x: {checkpoint_of: x, step: 5}}": "'x' is itself a checkpoint",
    "lms: {x: {checkpoint_of: Pythia, step: 5, bias: dVM}}": "it cannot be combined with `checkpoint_of`; to apply a bias, name this LM in `weights` of another LM",
    "lms: {x: {checkpoint_of: Pythia, step: 5, seed: 2}}": "with `checkpoint_of` nothing is trained, so this key has no effect; remove it",
    "lms: {x: {checkpoint_of: ALiBi-mix-TI, step: 5}, y: {weights: x, bias: dVM, applied: inference}}": (
        "lms → y → weights: 'x' is itself a biased LM"
    ),
    "experiments: {along: {steps: [5, 6]}}": "along → steps: the training of 'Pythia' does not save step 6",
    "experiments: {along: {steps: [5, 5]}}": "along → steps",
    "experiments: {along: {lms: [Pythia, gpt2]}}": "along → steps: 'gpt2' is not trained here",
    "experiments: {along: {compare: [[dVM-I, Pythia]]}}": "along → steps: `steps` cannot be combined with `compare`; use two experiments",
    "experiments: {along: {sensitivity: {bos: [true]}}}": "along → steps: `steps` cannot be combined with `sensitivity`; use two experiments",
    "recipes: {demo: {checkpoints: []}}": "along → steps: the training of 'Pythia' stores no checkpoints",
    "datasets: {simulated_spr: {partitioned: false}}": "along → steps: all of simulated_spr.SPR is fitted",
    "lms: {dVM-TI: {bias: dVM, recipe: other}}\nrecipes: {other: {steps: 40, batch_sequences: 2, sequence_length: 64, "
    "micro_batch: 2, order: shuffled, learning_rate: 1, minimum_learning_rate: 0, warmup_steps: 0, schedule: linear, "
    "betas: [0.9, 0.9], epsilon: 1, weight_decay: 0, clip: 1, precision: fp32, checkpoints: [5, 20], device: cpu}}\n"
    "experiments: {along: {lms: [Pythia, dVM-TI]}}": (
        "along → steps: a step is 256 tokens to 'Pythia' and 128 to 'dVM-TI'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("overlay", FAULTS)
def test_what_cannot_be_is_said_when_the_config_is_read(config, overlay):
    from test_config_faults import said

    lines = said(merged(config, yaml.safe_load(overlay)))
    assert any(FAULTS[overlay] in line for line in lines), lines
    assert all(len(line) < 300 and re.match(r"[\w.]+ → ", line) for line in lines), lines


def test_the_last_step_needs_no_checkpoint(config):
    config["experiments"]["along"]["steps"] = [5, 40]
    checks.check(config, SCHEMA)
