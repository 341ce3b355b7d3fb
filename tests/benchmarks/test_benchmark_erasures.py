"""The benchmark of lossy-context surprisal, on a few words: each figure is there, and exact forms have no error."""

import json
import sys

import pandas as pd
import pytest

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(load_benchmark, monkeypatch, capsys, tmp_path):
    benchmark = load_benchmark("erasures")
    text = "The dog that the man saw in the park ran away again today and was not seen since ."
    words = pd.DataFrame({"item": "1", "word": text.split()})
    monkeypatch.setattr(
        benchmark.readingtimes, "load_fixations", lambda name, mirrors: (words, None)
    )
    out = tmp_path / "run.json"
    monkeypatch.setattr(sys, "argv", ["erasures.py", "--out", str(out)])
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads(out.read_text())
    metrics = printed["metrics"]
    assert metrics.pop("words") == len(words) and len(metrics) == 4 * len(benchmark.ERASURES)
    assert metrics["truncation_words_3.error_variance"] == 0
    assert metrics["power_law_exponent_1.standard_error_bits"] > 0
    assert all(metrics[f"{name}.times_plain"] > 0 for name in benchmark.ERASURES)
