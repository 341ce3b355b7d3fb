"""What the README shows works as it stands there."""

import importlib.util
import re
from pathlib import Path

import torch
import yaml
from project import load, merged

from recency import config as configuration
from recency.workflow import checks as config_checks

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_config_examples_are_right():
    config = load("config.open.yaml")
    for block in blocks("yaml"):
        merged(config, yaml.safe_load(block))
    inline = re.findall(r"`((?:gpt2[\w-]*|corpora): \{.*?\}+)`", README)
    assert len(inline) == 3
    for line in inline:
        entry = yaml.safe_load(line)
        merged(config, entry if "corpora" in entry else {"lms": entry})
    config_checks.check(config, Path(__file__).resolve().parents[1] / "config.schema.yaml")
    assert configuration.language_model(config, "gpt2-window")["bias"]["width"] == 7


def test_the_example_of_a_bias(tmp_path):
    (code,) = blocks("python")
    (tmp_path / "power.py").write_text(code)
    spec = importlib.util.spec_from_file_location("power", tmp_path / "power.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, b = module.Form(2).dense(4, 4, torch.device("cpu"), torch.float32)
    torch.testing.assert_close(b[0, 0, 3], -0.5 * torch.tensor([4.0, 3.0, 2.0, 1.0]).log())


def test_commands_and_files_exist():
    root = Path(__file__).resolve().parents[1]
    for name in re.findall(
        r"`((?:docs|setup|profiles|tests)/[\w./-]+|CITATION\.cff|config[\w.]*\.yaml)`", README
    ):
        assert (root / name).exists(), name
    for name in re.findall(r"\bmake (\w+)`?", README):
        assert re.search(rf"^{name}:", (root / "Makefile").read_text(), re.MULTILINE), name
