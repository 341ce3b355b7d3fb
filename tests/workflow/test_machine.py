"""What a study needs, what a machine has, and what is said where that is too little."""

import os

import pytest

from project import ROOT, load
from recency.errors import InputError
from recency.workflow.engine import machine
from recency.workflow.engine.machine import Machine, Needs

TEN = {name: "pythia" for name in ("Pythia", "dVM-TI", "ALiBi-mix-TI", "ALiBi-1-TI")}
BIG = Machine(gpus=1, disk=500e9, memory=64e9)


def paper(trained=TEN, unigrams=("openwebtext",), downloads=(), present=0, config=None):
    return machine.needs(config or load(), trained, unigrams, downloads, present)


def test_needs_of_the_paper_s_study():
    needed = paper()
    assert needed.gpu == list(TEN) and needed.disk == 60e9 and needed.memory == 8e9
    assert machine.shortages(needed, BIG) == []
    assert paper(present=50e9).disk == pytest.approx(10e9)
    assert paper(present=99e9).disk == 0


def test_without_trainings_downloads_alone_count():
    """Table 1, a check of a corpus: no GPU, and no disk for models that are not made."""
    shard = {"byte_range": [0, 4196351999]}
    files = [shard, {"bytes": 1000}, {"sha256": "unknown size"}]
    needed = paper(trained={}, unigrams=[], downloads=files)
    assert needed == Needs(disk=4196353000, disk_for="downloads")
    assert machine.shortages(needed, Machine(gpus=0, disk=5e9, memory=1e9)) == []
    (said,) = machine.shortages(needed, Machine(gpus=0, disk=4e9, memory=1e9))
    assert said == "4.2 GB of free disk, for downloads: this machine has 4 GB"


def test_trainings_on_a_processor_need_no_gpu():
    config = load("config/open.yaml")
    needed = paper({"Pythia": "cores", "dVM-TI": "cores"}, ["open_english"], config=config)
    assert needed.gpu == [] and needed.memory == 1e9
    config["recipes"]["cores"]["device"] = "auto"
    assert paper({"Pythia": "cores"}, [], config=config).gpu == []
    config["recipes"]["cores"]["device"] = "cuda"
    assert paper({"Pythia": "cores"}, [], config=config).gpu == ["Pythia"]


def test_a_training_for_more_gpus_than_there_are():
    config = load()
    config["recipes"]["pythia"]["gpus"] = 8
    needed = paper(config=config)
    assert (needed.gpus, needed.gpus_for) == (8, "Pythia")
    said = machine.shortages(needed, Machine(gpus=4, disk=500e9, memory=64e9))
    (line,) = said
    assert line.startswith(
        "8 GPUs, for the recipe's `gpus` in the training of Pythia: this machine has 4"
    )
    assert machine.shortages(needed, Machine(gpus=8, disk=500e9, memory=64e9)) == []


def test_a_machine_that_cannot_is_told_everything_at_once():
    config = load()
    with pytest.raises(InputError) as told:
        machine.check(config, paper(), Machine(gpus=0, disk=12.5e9, memory=4e9), ROOT)
    said = str(told.value)
    for text in (
        "study paper, scale paper",
        "a GPU, for 4 trainings with `device: cuda` (Pythia, dVM-TI, ALiBi-mix-TI …)",
        "60 GB of free disk, for downloads, tokens and results: this machine has 12.5 GB",
        "8 GB of memory, for unigrams → openwebtext → memory: this machine has 4 GB",
        "\n  make demo ",
        "  6 trainings of 0.8 M tokens",
        "\n  make open ",
        "\n  ./run --cores all --configfile config/languages.yaml   4 trainings",
        "\n  ./run --cores all --configfile config/pretrained.yaml  networks as they were released",
        "profiles/slurm",
        "check_machine=false",
    ):
        assert text in said, text
    machine.check(config, paper(), BIG, ROOT)
    machine.check(config, Needs(), Machine(0, 0, 0), ROOT)


def test_smaller_studies_are_those_of_the_configs(tmp_path):
    config = load("config/open.yaml")
    config["scale"] = "gpu"
    commands = [command for command, _ in machine.smaller_studies(config, ROOT)]
    scales = ["cores", "workstation", "night"]
    others = [
        f"./run --cores all --configfile config/{n}.yaml" for n in ("languages", "pretrained")
    ]
    assert commands == [*(f"--config scale={name}" for name in scales), "make demo", *others]
    (tmp_path / "config").mkdir()
    (tmp_path / "config/mine.yaml").write_text(
        "scale: s\nscales: {s: {recipe: r, label: mine}}\nrecipes: {r: {device: cpu}}"
    )
    (tmp_path / "config/config.yaml").write_text("run: [exp1]")
    (tmp_path / "config/big.yaml").write_text(
        "scale: s\nscales: {s: {recipe: r}}\nrecipes: {r: {device: cuda}}"
    )
    found = machine.smaller_studies(load(), tmp_path)
    assert found == [("./run --cores all --configfile config/mine.yaml", "mine")]


def test_memory_and_disk_of_this_machine(tmp_path):
    whole = machine.memory(tmp_path / "none")
    (tmp_path / "limit").write_text("123456\n")
    assert machine.memory(tmp_path / "limit") == 123456
    (tmp_path / "limit").write_text("max\n")
    assert machine.memory(tmp_path / "limit") == whole > 1e8
    found = machine.here(tmp_path / "not" / "there", {"PATH": "", "CUDA_VISIBLE_DEVICES": ""})
    assert found.gpus == 0 and found.disk > 0 and found.memory <= whole


def test_used_disk(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one").write_bytes(b"x" * 10)
    (tmp_path / "a" / "b" / "two").write_bytes(b"x" * 5)
    os.symlink("nowhere", tmp_path / "a" / "dangling")
    (tmp_path / "c").write_bytes(b"x")
    assert machine.used([tmp_path / "a", tmp_path / "c", tmp_path / "none"]) == 16


@pytest.mark.parametrize(
    ("environment", "is_c"),
    [
        ({}, True),
        ({"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, True),
        ({"LC_ALL": "", "LC_CTYPE": "C.UTF-8"}, False),
        ({"LANG": "POSIX"}, True),
        ({"LANG": "en_GB.UTF-8"}, False),
    ],
)
def test_a_locale_in_which_r_opens_no_file_of_another_alphabet(environment, is_c):
    from recency.workflow.engine import start

    assert start._is_c(environment) == is_c
