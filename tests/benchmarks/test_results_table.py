"""The table of docs/benchmarks.md is the one that the stored runs make."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def maker():
    spec = importlib.util.spec_from_file_location(
        "results_table", ROOT / "benchmarks/results_table.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_table_of_the_stored_runs(maker):
    assert maker.table() in (ROOT / "docs" / "benchmarks.md").read_text(), (
        "python benchmarks/results_table.py --write writes the stored runs into docs/benchmarks.md"
    )


def test_each_row_names_the_peer_that_took_least(maker, tmp_path):
    metrics = {
        "fp32.ratio_vs_trainer": 3.0,
        "fp32.ratio_vs_lce": 1.25,
        "fp32.ratio_vs_fastest": 1.0,
        "fp32.ratio_at_peak": 1.5,
        "fp32.memory_vs_trainer": 0.3,
        "bf16.ratio_vs_trainer": 2.0,
        "bf16.ratio_vs_lce": 12.3,
        "bf16.ratio_at_peak": 13.1,
        "bf16.memory_vs_trainer": 0.25,
    }
    kept = {"hardware": "A(R) Processor, 2 cores", "metrics": metrics}
    (tmp_path / "train.a.json").write_text(json.dumps(kept))
    seconds = {"search": 0.5, "fit": 1.0, "lmer": 90.0, "mixedlm": 4.0}
    metrics = {f"provo_{key}_seconds": value for key, value in seconds.items()}
    metrics["natural_stories_mixedlm_seconds"] = None
    kept = {"hardware": "B", "metrics": metrics}
    (tmp_path / "regression.b.json").write_text(json.dumps(kept))
    fp32, bf16, provo = maker.table(tmp_path).splitlines()[2:]
    assert "| 1.2 ×; 0.30 × the memory" in fp32 and "| 1.5 × | a loop with PyTorch's `lin" in fp32
    assert "| 2 ×; 0.25 ×" in bf16 and "| 13 × | transformers' `Trainer` | A, 2 cores |" in bf16
    assert "search 8 ×, whole fit 4 × (90 × `lmer`) |  | mixedlm (Rust) | B |" in provo
    readme = f"before\n\n{maker.HEAD}\n| old |\n\nafter"
    assert maker.put(readme, maker.table(tmp_path)) == (
        f"before\n\n{maker.table(tmp_path)}\n\nafter"
    )


def test_short_texts_and_many_groups_have_rows(maker, tmp_path):
    sizes = {"small": (10, 1000), "gpt2": (4, 700), "short": (2000, 10), "pages": (20, 340)}
    metrics: dict = {"short.seconds": 10.0, "pages.seconds": 3.0}
    for size, (texts, words) in sizes.items():
        metrics |= {f"{size}.texts": texts, f"{size}.words_per_text": words}
        for kind in ("plain", "corrected"):
            metrics[f"{size}.{kind}.ratio_vs_minicons"] = 3.0
            metrics[f"{size}.{kind}.ratio_at_peak"] = 4.0
    metrics |= {"short.plain.ratio_vs_batched_loop": 1.3, "short.plain.ratio_at_peak": 1.7}
    (tmp_path / "surprisal.a.json").write_text(json.dumps({"hardware": "A", "metrics": metrics}))
    metrics = {"many_groups_ratio_vs_mixedlm": 5.5, "many_groups_ratio_vs_mixedlm_rs": 2.24}
    (tmp_path / "large_models.a.json").write_text(json.dumps({"hardware": "B", "metrics": metrics}))
    rows = maker.table(tmp_path).splitlines()[2:]
    assert len(rows) == 5
    short = "surprisal of 2,000 texts of 10 words, the paper's network | 1.3 × | 1.7 × | a plain batched loop"
    assert short in rows[2] and "20 texts of 340 words" in rows[3]
    assert "200,000 subjects | 2.2 × |  | mixedlm-rs | B |" in rows[4]


def test_a_run_on_a_gpu_has_a_row_of_its_own(maker, tmp_path):
    """In bf16 alone, and without Trainer where accelerate is not installed."""
    metrics = {"bf16.ratio_vs_loop": 3.5, "bf16.ratio_at_peak": 6.0, "bf16.peak_mib": 900}
    kept = {"hardware": "NVIDIA X", "metrics": metrics}
    (tmp_path / "train.x.json").write_text(json.dumps(kept))
    row = "| training step, the paper's network, ALiBi-mix, bf16 on a GPU | 3.5 × | 6 × "
    assert maker.table(tmp_path).splitlines()[2:] == [f"{row}| a plain PyTorch loop | NVIDIA X |"]
