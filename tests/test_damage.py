"""Files that were cut are named, in one line."""

import json
import sys
from types import SimpleNamespace

import pandas as pd
import pytest

from recency import damage
from recency.workflow.engine.job import logged


def write(folder):
    """Write a whole file of each kind."""
    pd.DataFrame({"word": ["a", "b"] * 50}).to_parquet(folder / "words.parquet")
    (folder / "config.json").write_text(json.dumps({"a": [1, 2]}))
    (folder / "training.csv").write_text("step,loss_nats\n1,2.5\n2,2.25\n")


@pytest.mark.parametrize("name", ["words.parquet", "config.json", "training.csv"])
def test_every_cut_is_seen(tmp_path, name):
    write(tmp_path)
    path = tmp_path / name
    whole = path.read_bytes()
    assert damage.damage(path) == ""
    ends = {whole.rfind(b"\n", 0, last) + 1 for last in range(len(whole))}  # a shorter, whole CSV
    for size in range(0, len(whole), 1 + len(whole) // 100):
        path.write_bytes(whole[:size])
        if name != "training.csv" or size not in ends - {0}:
            assert damage.damage(path), size
    path.unlink()
    assert damage.damage(path) == ""


def test_a_nested_file_is_damaged(tmp_path):
    (tmp_path / "a.json").write_text("[" * 100_000)
    assert "is damaged or truncated" in damage.damage(tmp_path / "a.json")


@pytest.mark.parametrize("name", ["words.parquet", "config.json", "training.csv"])
def test_a_job_names_the_input_that_is_cut(tmp_path, name, monkeypatch, capfd):
    write(tmp_path)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-3])
    inputs = [str(tmp_path / each) for each in ("config.json", "training.csv", "words.parquet")]
    main = SimpleNamespace(snakemake=SimpleNamespace(input=inputs))
    monkeypatch.setitem(sys.modules, "__main__", main)
    read = {
        ".json": lambda: json.loads(path.read_text()),
        ".parquet": lambda: pd.read_parquet(path),
    }
    with pytest.raises(SystemExit), logged(tmp_path / "log"):
        read.get(path.suffix, lambda: float("2.2.5"))()
    said = capfd.readouterr().err
    assert said.strip().startswith(f"error: {path} is damaged or truncated"), said
    assert "delete it, and the same command makes or downloads it again" in said
    assert "Traceback" in (tmp_path / "log").read_text()
