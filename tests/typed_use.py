"""A user's script for the type checker: `make lint` reads it with mypy --strict, nothing runs it."""

import warnings
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import pandas as pd

import readingtimes
import recency
from crosslmm import MixedModel
from crosslmm.stats import PermutationTest, holm, interval, wilson
from recency.planned import Planned
from recency.workflow.plan.study import Study


def score(texts: list[str], folder: Path, network: Any, tokenizer: Any) -> pd.DataFrame:
    """Score texts by a checkpoint with a bias and by a network of transformers."""
    bias = recency.attention.bias("linear", slopes="mix", layers=[0])
    assert_type(bias, dict[str, Any])
    model = recency.load(folder, bias, precision="bf16")
    recency.attention.attach(model, bias)
    recency.surprisal(texts, network, tokenizer, bos=False, measures=["entropy"], context=5)
    recency.surprisal(texts, model, prefix=["a question?"] * len(texts))
    assert_type(recency.next_words(model, "The cat", n=5), pd.DataFrame)
    assert_type(recency.cloze(model, ["The", "cat"], "sat"), float)
    return recency.surprisal("The cat sat.", str(folder), bias=bias, unit="nats")


def read(folder: Path) -> pd.DataFrame:
    """Read a corpus."""
    words, responses = readingtimes.load("provo", ["FP"], as_published=False, mirrors=[folder])
    assert_type(words, pd.DataFrame)
    assert_type(readingtimes.corpora(), list[str])
    return responses["FP"].merge(words, on=readingtimes.definition("provo").get("key", "word_id"))


def show(words: pd.DataFrame, surprisals: dict[str, pd.DataFrame], out: Path) -> str:
    """Write words and surprisals as a page."""
    page = recency.explore(words, surprisals, title="Words")
    assert_type(page.save(out), Path)
    return page.html


def fit(data: pd.DataFrame) -> str:
    """Compare two mixed models."""
    models = [recency.lmer(f"rt ~ {x} + (1 | subject)", data, engine="search") for x in ("1", "x")]
    assert_type(models, list[MixedModel])
    table: pd.DataFrame = recency.anova(*models)
    intervals: pd.DataFrame = models[1].confint(method="wald", level=0.9)
    predicted: pd.Series = models[1].predict(data, random=False)
    print(table, intervals, predicted, models[1].simulate(2), models[1].contrasts("x"))
    assert_type(models[0].loglik, float)
    warnings.simplefilter("error", recency.InputWarning)
    return models[1].summary()


def test(a: list[float], b: list[float], readers: list[str]) -> list[float]:
    """Test and estimate a difference of losses."""
    if recency.__version__ == "" or len(a) != len(b):
        raise recency.InputError("a and b differ in length")
    tested = recency.permutation_test(a, b, cluster=readers, permutations=99)
    assert_type(tested, PermutationTest)
    assert_type(interval(np.array(a), np.array(readers)), tuple[float, float])
    assert_type(wilson(0.5, 10), tuple[float, float])
    return holm([tested.p, 0.5])


def plan(config: dict[str, Any], folder: Path) -> Planned:
    """Return a study as specs of evaluations see it."""
    return Study(config, folder)
