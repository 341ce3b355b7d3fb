"""One line where a run's regressions have the entropy of the next token as a predictor."""

import pytest
from project import load

from recency.workflow import notices

FORMULA = "time_ms ~ length + {} + surprisal + (1 | subject)"


def config_of(predictor, measures):
    """Return the demo with a design of its run that has the predictor."""
    config = load("config.demo.yaml")
    (experiment,) = config["run"]
    for design in config["experiments"][experiment]["responses"]:
        formula = FORMULA.format(predictor)
        config["designs"][design] = {**config["designs"][design], "formula": formula}
    config["scales"][config["scale"]]["measures"] = measures
    return config


@pytest.mark.parametrize("predictor", ["entropy", "previous_entropy_bits", "entropy_reduction"])
def test_entropy_of_tokens(predictor):
    config = config_of(predictor, ["entropy", "entropy_reduction", "word_entropy"])
    (line,) = notices.of_predictors(config)
    assert "`entropy` is of the next token" in line and "`word_entropy` is of the next word" in line


def test_no_other_predictor_and_no_other_column_of_that_name():
    assert notices.of_predictors(load("config.demo.yaml")) == []
    assert notices.of_predictors(config_of("word_entropy", ["word_entropy", "entropy"])) == []
    assert notices.of_predictors(config_of("entropy", [])) == []  # a dataset's column


def test_baseline_without_a_measure_that_is_not_of_interest():
    config = config_of("length * entropy", ["entropy"])
    for design in config["designs"].values():
        design |= {"of_interest": ["length:entropy"], "base": "all"}
    (line,) = notices.of_baselines(config)
    assert "also lacks surprisal" in line and "`surprisal[<lm>]`" in line
    for design in config["designs"].values():
        design |= {"base": "fixed"}
    assert notices.of_baselines(config) == []


@pytest.mark.parametrize("name", ["config.yaml", "config.demo.yaml", "config.open.yaml"])
def test_the_studies_own_baselines_lack_what_is_of_interest(name):
    assert notices.of_baselines(load(name)) == []
