"""The benchmark of a network's inside, on networks of a small shape: every figure is there."""

import json
import sys

import pytest

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(load_benchmark, monkeypatch, capsys, tmp_path):
    benchmark = load_benchmark("internals")
    import surprisal

    made = surprisal.network_of
    monkeypatch.setattr(surprisal, "network_of", lambda shape: made("small"))
    drawn = surprisal.texts_of
    monkeypatch.setattr(surprisal, "texts_of", lambda words, texts, length: drawn(words, 1, 20))
    monkeypatch.setattr(sys, "argv", ["internals.py", "--quick", "--out", str(tmp_path / "b")])
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert set(printed["targets"]) <= set(printed["metrics"]) and len(printed["metrics"]) == 18
    assert min(printed["metrics"].values()) > 0
