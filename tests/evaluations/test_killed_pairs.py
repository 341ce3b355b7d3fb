"""Minimal pairs: a killed job goes on with the sentences that are left."""

import itertools

import pandas as pd
import pytest
import test_minimal_pairs
from test_minimal_pairs import SENTENCES, causal

from recency.evaluations.minimal_pairs import score as score_pairs
from recency.evaluations.minimal_pairs.score import score
from recency.scoring.lm_spec import LMSpec
from recency.scoring.surprisal import Model

tokenizer = test_minimal_pairs.tokenizer  # a fixture


def test_a_killed_job_scores_only_the_sentences_that_are_left(tokenizer, tmp_path, monkeypatch):
    model, seen = Model(causal(tokenizer, {"form": "none"}), tokenizer), []

    def dying(sentences, *rest):
        if len(seen) == 4:
            raise KeyboardInterrupt
        seen.extend(sentences)
        return score(sentences, *rest)

    monkeypatch.setattr(score_pairs, "AT_ONCE", 2)
    monkeypatch.setattr(LMSpec, "open", lambda self: model)
    good, bad = zip(*itertools.combinations(SENTENCES, 2))
    pairs = pd.DataFrame({"pair": range(len(good)), "good": good, "bad": bad})
    pairs.to_parquet(tmp_path / "p.parquet")
    given, out = (tmp_path / "p.parquet", LMSpec("Pythia", "x")), tmp_path / "out.parquet"
    score_pairs.main(*given, tmp_path / "whole.parquet")
    monkeypatch.setattr(score_pairs, "score", dying)
    with pytest.raises(KeyboardInterrupt):
        score_pairs.main(*given, out)
    assert len(seen) == 4
    seen.append("another run")
    score_pairs.main(*given, out)
    assert sorted(seen) == sorted([*set(SENTENCES), "another run"])
    assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert [path.name for path in tmp_path.glob(".*state*")] == []
