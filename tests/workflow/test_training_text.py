"""A config that has an LM evaluated on the text that it is trained on is refused."""

import copy

import pytest

from project import TINY, load
from recency.workflow.config import checks

FILE = {"file": {"url": "https://x/a.txt", "sha256": "0" * 64}, "reader": "plain"}


@pytest.fixture
def config():
    """Return the tiny study with an n-gram model, parts of a text, and a copy of a file."""
    config = copy.deepcopy(load(*TINY))
    config["corpora"] |= {
        "train": {"files": ["a"], "reader": "plain", "documents": {"of": 10, "numbers": [0, 1, 2]}},
        "test": {"files": ["a"], "reader": "plain", "documents": {"of": 10, "numbers": [3]}},
        "whole": {"files": ["a"], "reader": "plain", "label": "all"},
        "file": FILE,
        "mirrored": {"file": FILE["file"] | {"url": "https://y/b.txt"}, "reader": "plain"},
    }
    config["lms"]["5-gram"] = {"ngram": {"corpus": "train"}}
    config["lms"]["3-gram"] = {"ngram": {"corpus": "file"}}
    return config


def said(config):
    return [problem for problem in checks.training_text_problems(config) if "trained on" in problem]


def test_the_study_itself_is_accepted(config):
    assert said(config) == []


@pytest.mark.parametrize(
    ("corpus", "refused"),
    [("train", True), ("test", False), ("whole", False), ("simulated", False), ("gone", False)],
)
def test_held_out(config, corpus, refused):
    config["lms"]["mix"] = {"interpolate": ["5-gram", "3-gram"], "held_out": {"corpus": corpus}}
    assert bool(said(config)) == refused
    if refused:
        (line,) = said(config)
        assert line.startswith("lms → mix → held_out → corpus: '5-gram' is trained on 'train'; use")


def test_a_whole_text_was_trained_on_where_its_part_is_evaluated(config):
    config["lms"]["5-gram"]["ngram"]["corpus"] = "whole"
    config["lms"]["mix"] = {"interpolate": ["5-gram"], "held_out": {"corpus": "test"}}
    assert "'5-gram' is trained on 'whole', the same text as 'test'" in said(config)[0]


def test_a_copy_of_a_file_is_known_by_its_checksum(config):
    config["lms"]["mix"] = {"interpolate": ["3-gram"], "held_out": {"corpus": "mirrored"}}
    assert "'3-gram' is trained on 'file', the same text as 'mirrored'" in said(config)[0]


def test_validation_of_trainings_and_cdlms(config):
    config["recipes"]["demo"]["validation"] = {"corpus": "simulated", "every": 20}
    assert any(
        each.startswith("recipes → demo → validation → corpus: 'Pythia'") for each in said(config)
    )
    config["recipes"]["demo"]["validation"] = {"corpus": "train", "every": 20}
    assert said(config) == []
    cdlm = {"of": "5-gram", "validation": "train"}
    config["lms"]["cdlm"] = {"ngram": {"cdlm": cdlm}}
    assert said(config)[0].startswith("lms → cdlm → ngram → cdlm → validation: 'cdlm' is trained")


def test_perplexity_of_lms_that_have_others_in_them(config):
    """By their weights, their LMs, and the vectors that their training begins with."""
    config["lms"] |= {
        "mix": {"interpolate": ["5-gram", "Pythia"], "shares": [0.5, 0.5]},
        "put on": {"weights": "Pythia", "bias": "ALiBi-1", "applied": "inference"},
    }
    experiment = {"lms": ["mix", "put on", "3-gram"], "perplexity": {}}
    config["experiments"]["text"] = experiment
    for corpus, lms in (("simulated", 2), ("train", 1), ("file", 1), ("test", 0)):
        experiment["perplexity"] = {"validation": "test", "test": corpus}
        assert len(said(config)) == lms, corpus
    config["recipes"]["begun"] = config["recipes"]["demo"] | {"vectors": {"of": "Pythia"}}
    config["lms"]["begun"] = {"corpus": "file", "recipe": "begun"}
    experiment["lms"], experiment["perplexity"]["test"] = ["begun"], "simulated"
    assert len(said(config)) == 1
