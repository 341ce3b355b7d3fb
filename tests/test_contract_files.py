"""Contract files that were edited by hand are refused by the jobs that read them."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recency import checksums, contract_files
from recency.errors import InputError
from recency.workflow.job import logged

SURPRISAL = pd.DataFrame(
    {"word_id": np.arange(5, dtype=np.int32), "surprisal_bits": np.linspace(1, 9, 5)}
).assign(corrected_bits=lambda frame: frame.surprisal_bits + 0.5)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "results/study/surprisal/gpt2/mine.parquet"
    contract_files.write(SURPRISAL, path)
    return path


def shift(path):
    frame = pd.read_parquet(path)
    frame.assign(surprisal_bits=frame.surprisal_bits.shift(fill_value=0)).to_parquet(path)


def rewrite(path, change=lambda table: table, metadata=lambda value: value):
    """Write a table again with all that its footer says, the checksum too."""
    stored = pq.read_metadata(path).metadata
    stored = {k: metadata(v) for k, v in stored.items() if k != b"ARROW:schema"}
    table = change(pq.read_table(path)).replace_schema_metadata(stored)
    pq.write_table(table, path, compression="zstd")


def shift_with_stale_metadata(path):
    shifted = pa.array([0.0, *SURPRISAL.surprisal_bits[:-1]])
    rewrite(path, lambda table: table.set_column(1, table.schema.field(1), shifted))


def swap_names(path):
    names = ["word_id", "corrected_bits", "surprisal_bits"]
    rewrite(path, lambda table: table.rename_columns(names))


def flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 8] ^= 1
    path.write_bytes(data)


def test_what_was_written_is_read_and_passes(path, tmp_path):
    frame = SURPRISAL.assign(name=pd.Series(list("abcde"), dtype="str"))
    frame.attrs["missing"] = 3
    contract_files.write(frame, tmp_path / "a.parquet")
    contract_files.write(frame, tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert checksums.problem(tmp_path / "a.parquet") == ""
    back = pd.read_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(back, frame)
    assert back.attrs == {"missing": 3}


@pytest.mark.parametrize("damage", [shift_with_stale_metadata, swap_names, flip_a_byte])
def test_other_content_under_the_checksum_is_found(path, damage):
    damage(path)
    assert "not what the workflow wrote" in checksums.problem(path)


def test_attributes_count_as_content(tmp_path):
    frame, path = SURPRISAL.copy(), tmp_path / "a.parquet"
    frame.attrs["missing"] = 3
    contract_files.write(frame, path)
    rewrite(path)
    assert checksums.problem(path) == ""
    rewrite(path, metadata=lambda value: value.replace(b'"missing": 3', b'"missing": 4'))
    assert "not what the workflow wrote" in checksums.problem(path)


def test_a_file_that_pandas_wrote_has_no_checksum(path):
    shift(path)
    assert "no checksum" in checksums.problem(path)


@pytest.mark.parametrize(
    ("name", "contract"),
    [
        ("datasets/mine/words.parquet", True),
        ("datasets/mine/responses.SPR.parquet", True),
        ("observations/mine.SPR/held_out.parquet", True),
        ("surprisal/gpt2/mine.parquet", True),
        ("datasets/mine/notes.parquet", False),
        ("regression/spr/mine.SPR/gpt2.full.parquet", False),
    ],
)
def test_the_contracts_below_the_results_are_checked(tmp_path, name, contract):
    path = tmp_path / "results" / name
    path.parent.mkdir(parents=True)
    SURPRISAL.to_parquet(path)
    checksums.require_unedited([path], [tmp_path / "elsewhere/out.json"])
    if not contract:
        checksums.require_unedited([path], [tmp_path / "results/out.json"])
        return
    with pytest.raises(InputError, match=rf"{name}: it has no checksum .*; delete it"):
        checksums.require_unedited([path], [tmp_path / "results/out.json"])


def test_a_job_refuses_an_edited_input(path, tmp_path, monkeypatch, capsys):
    results = tmp_path / "results/study"
    job = SimpleNamespace(input=[path], output=[results / "regression/fit.json"])
    monkeypatch.setattr(sys.modules["__main__"], "snakemake", job, raising=False)
    ran = []
    with logged(results / "logs/fit.log"):
        ran.append("unedited")
    shift(path)
    with pytest.raises(SystemExit), logged(results / "logs/fit.log"):
        ran.append("edited")
    assert ran == ["unedited"]
    assert f"error: {path}: it has no checksum" in capsys.readouterr().err
