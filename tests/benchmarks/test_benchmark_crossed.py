"""The benchmark of the crossed bootstrap, on the smallest data: every figure is there."""

import json
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.merge


def test_every_figure_is_printed(load_benchmark, monkeypatch, capsys, tmp_path):
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # the module sets them; this undoes it
    benchmark = load_benchmark("crossed")
    small = benchmark.Shape(900, 10, 12, benchmark.EYE_TRACKING)
    sizes = benchmark.Sizes((small,), 80, 1, {"provo": (3, small)})
    monkeypatch.setattr(benchmark, "QUICK", sizes)
    monkeypatch.setattr(benchmark, "TIMED", (80, 120))
    monkeypatch.setattr(sys, "argv", ["crossed.py", "--quick", "--out", str(tmp_path / "b")])
    benchmark.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "b").read_text())
    assert set(printed) >= {"benchmark", "hardware", "commit", "metrics", "targets"}
    metrics = printed["metrics"]
    assert set(printed["targets"]) <= set(metrics)
    assert metrics["loglik_minus_lmer"] > -1e-3
    assert metrics["ratio_vs_lmer"] > 0 and metrics["study_minutes"] > 0
    published = str(benchmark.formula_of(benchmark.Shape(900, 10, 12, benchmark.SPR), True))
    assert "(1 + position + length + surprisal + previous_surprisal | subject)" in published
    assert "fixated" not in published
    assert "surprisal" not in str(benchmark.formula_of(small, False))
    # Repeated rows are those of the weights.
    rows = benchmark.synthetic(small, 1)
    times = {"subject": np.arange(10) % 3, "sentence": np.arange(12) % 2}
    copies = benchmark.repeated(rows, times)
    expected = sum(
        times["subject"][s] * times["sentence"][h]
        for s, h in zip(rows.groups["subject"].codes, rows.groups["sentence"].codes, strict=True)
    )
    assert len(copies.y) == expected
    pairs = np.unique(np.column_stack([g.codes for g in copies.groups.values()]), axis=0)
    filled = np.unique([rows.groups[n].codes for n in times], axis=1)
    cells = (times["subject"][filled[0]] * times["sentence"][filled[1]]).sum()
    assert len(pairs) == cells
