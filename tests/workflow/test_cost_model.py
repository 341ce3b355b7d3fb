"""What each job asks for."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest
from jobs_arguments import called
from loaded import scripts, study_of
from project import TINY, copy_project, load, plan, snakemake

from recency.scoring.lm_spec import LMSpec
from recency.workflow import batches, cost_model

#: Rules whose functions take an LM, but run no network on a GPU: n-grams, and an export's self-test.
NO_NETWORK = {"ngram_rank_metrics", "export"}


def test_every_rule_that_runs_a_network_is_known():
    """By their functions: those that take an LM as jobs open it, without `train`, which makes one."""
    found = set()
    for rule, path in scripts().items():
        if function := called(path):
            parameters = inspect.signature(function[0]).parameters.values()
            if any(parameter.annotation is LMSpec for parameter in parameters):
                found.add(rule)
    assert found - NO_NETWORK == cost_model.NETWORKS
    assert len(found) > 15


@pytest.fixture
def study():
    config = load(*TINY)
    config["recipes"] |= {
        "gpu": config["recipes"]["demo"] | {"device": "cuda", "gpus": 2},
        "auto": config["recipes"]["demo"] | {"device": "auto", "gpus": 2},
    }
    for name in ("gpu", "auto"):
        config["lms"][name] = config["lms"]["Pythia"] | {"recipe": name}
        config["lms"][f"{name}-I"] = {
            "label": name,
            "weights": name,
            "bias": "dVM",
            "applied": "inference",
        }
    return study_of(config)


@pytest.mark.parametrize(
    ("lm", "here", "runs", "trains"),
    [
        ("Pythia", 8, 0, 0),
        ("gpu", 0, 1, 2),
        ("gpu-I", 0, 1, 2),
        ("auto", 0, 0, 0),
        ("auto", 1, 1, 1),
        ("auto-I", 8, 1, 2),
    ],
)
def test_a_job_asks_for_the_gpus_of_its_lm_s_recipe(study, monkeypatch, lm, here, runs, trains):
    monkeypatch.setattr(cost_model, "gpus_here", lambda: here)
    assert (cost_model.gpus(study, lm), cost_model.gpus(study, lm, trains=True)) == (runs, trains)


def test_the_number_of_gpus_is_no_parameter_of_a_training(study):
    """Or a training would run again on another machine."""
    whole = study.config["recipes"]["gpu"]
    expected = {key: value for key, value in whole.items() if key != "gpus"}
    assert study.recipe("gpu") == study.recipe("gpu-I") == expected != whole


@pytest.mark.merge
def test_jobs_of_a_plan_ask_for_gpus(tmp_path):
    """Trainings and scoring of networks on `cuda` do, fits and n-grams never."""
    folder = copy_project(tmp_path / "study")
    (folder / "gpu.yaml").write_text("recipes: {demo: {device: cuda, gpus: 2, micro_batch: 1}}\n")
    text = plan(folder, "--nolock", configs=[*TINY, "gpu.yaml"]).stdout
    asked = {}
    for block in re.split(r"^(?:local)?rule ", text, flags=re.MULTILINE)[1:]:
        kind = batches.kind_of(block.partition(":")[0])
        asked.setdefault(kind, set()).update(re.findall(r"\bgpu=(\d+)", block))
    assert asked["train"] == {"2"} and asked["surprisal"] == {"1"}
    others = asked.keys() - {"train"} - cost_model.NETWORKS
    assert len(others) > 10 and all(asked[kind] == set() for kind in others)
    cpu = plan(folder, "--nolock", configs=TINY).stdout
    assert not re.search(r"\bgpu=[1-9]", cpu)
    own = plan(folder, "--nolock", "--set-resources", "train:gpu=1", configs=[*TINY, "gpu.yaml"])
    assert "gpu=2" not in own.stdout


@pytest.mark.merge
def test_two_processes_train_for_a_recipe_s_gpus(finished, tmp_path):
    """Through the rule, with two GPUs that PyTorch does not find: on the CPU, with gloo."""
    folder = copy_project(tmp_path / "study")
    (folder / "two.yaml").write_text("recipes: {demo: {device: auto, gpus: 2, micro_batch: 1}}\n")
    weights = "results/tiny/cores/lms/Pythia/model.safetensors"
    configs = [*TINY, "two.yaml"]
    run = snakemake(folder, weights, configs=configs, CUDA_VISIBLE_DEVICES="0,1")
    assert run.returncode == 0, run.stdout[-3000:]
    assert "gpu=2" in run.stdout
    got, alone = (
        pd.read_csv(top / weights.replace("model.safetensors", "training.csv"))
        for top in (folder, finished)
    )
    assert len(alone) == 40
    np.testing.assert_allclose(got.loss_nats, alone.loss_nats, rtol=1e-4)


def test_the_masked_lms_of_the_pile_train_on_eight_gpus():
    study = study_of(load())
    lms = study.experiment("mlm_pile")["lms"]
    assert len(lms) > 5 and {cost_model.gpus(study, lm, trains=True) for lm in lms} == {8}
    assert {cost_model.gpus(study, lm) for lm in lms} == {1}
