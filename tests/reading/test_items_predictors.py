"""Predictors of regions of experiments and of the words around them, against sums by hand."""

import numpy as np
import pandas as pd
import pytest

from item_tables import cells, parsed, trials
from recency.reading import observations
from recency.regression import fit as regression
from recency.regression.inputs import Inputs
from recency.regression.predictors import read_rows
from recency.regression.texts import read_texts

DESIGN = {
    "formula": "time_ms ~ condition + surprisal + (1 | subject) + (1 | stimulus)",
    "of_interest": ["surprisal"],
    "base": "all",
    "engine": "cross_products",
    "response": "raw",
    "surprisal": "plain",
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Write contracts 1 to 3 of an experiment with regions of two words."""
    folder = tmp_path_factory.mktemp("regions")
    frame = trials(12, 9).assign(target=lambda d: "the " + d.target)
    random = np.random.default_rng(2)
    frame["rt_critical"] += random.normal(0, 30, len(frame)).round()
    frame.to_csv(folder / "trials.csv", index=False)
    columns = {"critical": "target", "SPR": "rt_critical"}
    words, found = parsed(folder / "trials.csv", "SPR", columns=columns)
    words.to_parquet(folder / "words.parquet")
    found.to_parquet(folder / "responses.parquet")
    for name in ("lm", "unigram"):
        bits = random.gamma(3, 2, len(words))
        table = pd.DataFrame({"word_id": words.word_id, "surprisal_bits": bits})
        table.to_parquet(folder / f"{name}.parquet")
    observations.main(
        words=folder / "words.parquet",
        responses=folder / "responses.parquet",
        filters=[],
        **{f"out_{p}": folder / f"{p}.parquet" for p in ("fit", "exploratory", "held_out")},
        out_counts=folder / "counts.csv",
    )
    return folder, words


def test_predictors_are_those_of_the_region_and_its_neighbours(study):
    folder, words = study
    files = (folder / f"{name}.parquet" for name in ("words", "unigram", "lm"))
    texts = read_texts(*files)
    names = ["surprisal", "unigram", "length", "previous_surprisal", "next_surprisal", "position"]
    rows = read_rows(folder / "fit.parquet", texts, names)
    bits = {n: pd.read_parquet(folder / f"{n}.parquet").surprisal_bits for n in ("lm", "unigram")}
    for at, first in enumerate(rows.word):
        region = words.iloc[first : first + 2]
        assert region.word.iloc[0] == "the" and set(region.region) == {"critical"}
        assert words.region[first + 2] == "spillover_1" and words.word[first + 2] == "and"
        expected = {
            "surprisal": bits["lm"][first : first + 1].sum(),
            "unigram": bits["unigram"][first : first + 1].sum(),
            "length": region.word.str.len().sum(),
            "previous_surprisal": bits["lm"][first - 1],
            "next_surprisal": bits["lm"][first + 2],
            "position": 7,
        }
        for name in ("surprisal", "unigram"):
            expected[name] += bits["lm" if name == "surprisal" else name][first + 1]
        assert {n: rows.predictors[n][at] for n in names} == pytest.approx(expected)


def test_the_context_is_the_whole_text(study):
    _, words = study
    texts = words.groupby("item", sort=False).word.agg(" ".join)
    expected = cells(12)
    labels = expected["item"].astype(str) + " " + expected.condition
    assert texts.to_dict() == dict(zip(labels, expected.sentence, strict=True))


def test_condition_and_stimulus_are_factors(study):
    folder, _ = study
    regression.main(
        Inputs(
            words=folder / "words.parquet",
            fit=folder / "fit.parquet",
            exploratory=folder / "exploratory.parquet",
            surprisal=folder / "lm.parquet",
            unigram=folder / "unigram.parquet",
        ),
        out=folder / "fit.json",
        lm="lm",
        model="full",
        design=DESIGN,
    )
    text = (folder / "fit.json").read_text()
    assert '"condition' in text and "stimulus" in text
