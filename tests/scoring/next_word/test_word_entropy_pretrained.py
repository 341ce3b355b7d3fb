"""Word entropy of a pretrained LM: estimates, the paper's estimator and bounds agree."""

import numpy as np
import pytest
from word_entropy_networks import PAIR

import recency
from pretrained import FOLDER, needs_pretrained

TEXT = (
    "The old man walked slowly down the street towards the market, where his daughter sold apples "
    "and pears. It was a cold morning in November, and nobody else seemed to be awake."
)


@pytest.mark.long
@needs_pretrained
def test_a_pretrained_lm():
    lm = recency.load(FOLDER)

    def table(**settings):
        return recency.surprisal(TEXT, lm, measures=PAIR[:1], word_entropy=settings)

    few, many, plain = table(seed=3), table(samples=1024), table(estimator="plain", samples=256)
    for other in (few, plain):  # standard errors of skewed values are sometimes too small
        error = np.hypot(*(t["word_entropy_se_bits"] for t in (many, other)))
        off = (other["word_entropy_bits"] - many["word_entropy_bits"])[1:]
        assert (off / error[1:]).abs().median() < 1.5, off.tolist()
        assert off.abs().mean() < 2 * error[1:].mean(), off.tolist()
    ratio = few["word_entropy_se_bits"] ** 2 / plain["word_entropy_se_bits"] ** 2
    assert ratio[1:].median() < 0.2  # of 64 samples, to that of 256 plain ones
    beam = table(method="beam", beam=16, longest=6)
    most = many["word_entropy_bits"] + 4 * many["word_entropy_se_bits"]
    assert (beam["word_entropy_lower_bits"] <= most).all()
    assert (beam["word_entropy_upper_bits"] >= beam["word_entropy_lower_bits"]).all()
    again = table(method="sampling", samples=512, longest=6)
    inside = again["word_entropy_bits"] + 4 * again["word_entropy_se_bits"] + 1e-3
    assert (beam["word_entropy_lower_bits"] <= inside).all()
    outside = again["word_entropy_bits"] - 4 * again["word_entropy_se_bits"] - 1e-3
    assert (beam["word_entropy_upper_bits"] >= outside).all()
