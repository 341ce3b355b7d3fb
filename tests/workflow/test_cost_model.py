"""What each job asks for."""

import inspect
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from jobs_arguments import called
from loaded import scripts, study_of
from project import ROOT, SOURCES, TINY, copy_project, environment, load, plan, snakemake
from recency.scoring.lm_spec import LMSpec
from recency.workflow.plan import batches, cost_model

#: Rules whose functions take an LM, but run no network on a GPU: n-grams, and an export's self-test.
NO_NETWORK = {"ngram_rank_metrics", "export"}


def test_every_rule_that_runs_a_network_is_known():
    """By their functions: those that take an LM as jobs open it, without `train`, which makes one."""
    found = set()
    for rule, (path, main) in scripts().items():
        if function := called(path, main):
            parameters = inspect.signature(function[0], eval_str=True).parameters.values()
            if any(parameter.annotation is LMSpec for parameter in parameters):
                found.add(rule)
    assert found - NO_NETWORK == cost_model.NETWORKS - {"train"}
    assert len(found) > 15


def test_every_rule_has_a_cost():
    rules = {batches.kind_of(rule) for rule in scripts()}
    assert len(rules) > 150
    assert rules - cost_model.by_rule().keys() == set()
    assert cost_model.COSTS.keys() - rules == set()  # and no others do


def job(rule, **wildcards):
    """Return a rule without outputs, and wildcards."""
    return SimpleNamespace(name=rule, output=[]), SimpleNamespace(**wildcards)


def test_the_work_of_the_paper_s_studies():
    """From the papers' numbers: tokens, parameters, examples; costs as docs/scaling.md states them."""
    model = cost_model.Model(study_of(load()))
    tokens, parameters = 1000 * 1024 * 2048, 27_326_976
    operations = model.loads.training("Pythia")
    assert operations == pytest.approx(6 * tokens * parameters, rel=0.002)  # 3.4 · 10¹⁷
    time = model.time(*job("train", lm="Pythia"))
    assert time.wall == pytest.approx(10 + operations / 5.8e13) and time.measured
    assert model.minutes(*job("train", lm="Pythia")) >= 1.5 * time.wall / 60
    # Three days of eight A100, which do a third of an H200's operations.
    of_pile = job("train", lm="MLM-baseline")
    assert model.gpus(*of_pile) == 8
    assert 72 * 3600 / 6 < model.time(*of_pile).wall < 72 * 3600 / 3
    assert model.minutes(*of_pile) == pytest.approx(2 * model.time(*of_pile).wall / 60, abs=1)
    # MNLI: 392,702 examples, ten epochs, five seeds; RTE is as much smaller.
    mnli, rte = (
        model.time(*job("fine_tune", lm="MLM-baseline", task=task)).gpu - 10
        for task in ("MNLI", "RTE")
    )
    assert mnli == pytest.approx(6 * 162e6 * 392_702 * 64 * 50 / 3.5e13, rel=0.01)
    assert mnli / rte == pytest.approx(392_702 / 2_490)
    # 6.5 G words of OpenWebText; 10¹¹ of the Pile.
    assert model.time(*job("estimate_ngrams", unigram="openwebtext")).core == 2 + 6.5e9 * 4e-7
    assert model.time(*job("tokenize_text", corpus="pile_text")).core == 2 + 1e11 * 4.3e-6
    assert model.size(*job("tokenize_text", corpus="pile_text"), "disk") > 4e11 / 1e6


def test_a_training_on_a_cpu_is_shared_by_its_threads():
    config = load()
    config["recipes"]["pythia"] |= {"device": "cpu", "precision": "fp32"}
    model = cost_model.Model(study_of(config))
    time = model.time(*job("train", lm="Pythia"), threads=4)
    assert time.core == pytest.approx(10 + model.loads.training("Pythia") / 0.7e11)
    assert time.wall == pytest.approx(10 + (time.core - 10) / 4)
    assert (time.gpu, time.measured) == (0, True)


def test_costs_on_a_gpu_are_measured_once_a_gpu_rehearsal_is_stored():
    """None is below what was measured; without a stored rehearsal all are estimates, and say so."""
    stored = sorted((ROOT / "benchmarks" / "results").glob("gpu_rehearsal.*.json"))
    assert bool(stored) == bool(cost_model.GPU)
    for path in stored:
        found = json.loads(path.read_text(encoding="utf-8"))
        assert found["hardware"] == cost_model.GPU
        per = {
            key.removeprefix("seconds_per_operation."): value
            for key, value in found["metrics"].items()
            if key.startswith("seconds_per_operation.")
        }
        (narrow, wide), (narrow_bf16, wide_bf16) = map(
            cost_model.TRAINING_GPU.get, ("fp32", "bf16")
        )
        whole = [
            value
            for key, value in per.items()
            if key in ("training.no_bias", "training.mixed_slopes")
        ]
        for cost, measured in (
            (narrow, per["training.narrow.fp32"]),
            (wide, per["fine_tuning"]),
            (narrow_bf16, max(per["training.narrow.bf16"], *whole)),
            (wide_bf16, per["training.wide.bf16"]),
            (cost_model.READING_GPU, per["reading"]),
        ):
            assert 1 <= cost / measured < 1.2


#: Overlays of the shipped studies; the first is the paper's.
STUDIES = [
    "",
    "config/open.yaml",
    "config/open.yaml config/masked-released.yaml",
    "config/ltcb.yaml",
    "config/ptb.yaml",
    "config/languages.yaml",
    "config/pretrained.yaml",
]


@pytest.mark.parametrize(
    "configs",
    [pytest.param(c, marks=pytest.mark.long if c else pytest.mark.merge) for c in STUDIES],
)
def test_every_request_has_a_margin_over_its_extrapolation(configs):
    """Of the jobs that are planned, as Snakemake resolves their resources."""
    words = [sys.executable, "setup/cost_table.py", "--json", *configs.split()]
    variables = environment() | {"PYTHONPATH": SOURCES}
    done = subprocess.run(
        words, cwd=ROOT, env=variables, capture_output=True, text=True, check=True
    )
    rows = json.loads(done.stdout.splitlines()[-1])
    assert len(rows) > 60 and all(row["known"] for row in rows)
    for row in rows:
        asked = row["asked"]
        assert asked["runtime"] * 60 >= 1.5 * row["seconds"] > 0, row
        assert asked["mem_mb"] >= 4_000 and asked["disk_mb"] >= 1_000, row
        assert (row["rule"] in cost_model.NETWORKS) == (asked["gpu"] is not None), row


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
    others = asked.keys() - cost_model.NETWORKS
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
