"""Parquet and Feather files that decode to more than the memory are refused in a line."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from readingtimes import parquet_bounds, strict_tables
from readingtimes import parquet_bounds as memory
from readingtimes.formats import anything
from readingtimes.formats.anything import Style
from recency.command import table_files
from recency.command.main import main
from recency.errors import REFUSALS
from recency.text.readers import parquet as documents

FREE = 10e6
ROWS, LONG = 2_000, 20_000  # 40 MB


def bomb(path, kind="dictionary"):
    """Write a file of some kilobytes that decodes to 40 MB."""
    text = pa.array(["x" * LONG])
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, "int32")), text)
    if kind not in ("categories", "feather"):
        column = column.cast("string")
    if kind == "nested":
        column = pa.ListArray.from_arrays(np.arange(ROWS + 1, dtype="int32"), column)
    rows = pa.array(np.arange(ROWS))
    table = pa.table({"word": column, "rt": rows})
    if kind == "feather":
        import pyarrow.feather

        pyarrow.feather.write_feather(table, path, compression="zstd")
    elif kind == "prefixes":  # each value is the one before, and nothing more
        encodings = {"word": "DELTA_BYTE_ARRAY"}
        pq.write_table(table, path, use_dictionary=False, column_encoding=encodings)
    else:
        pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 300_000
    return path


@pytest.fixture(autouse=True)
def little(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: FREE)


def refused(call, path):
    match = f"{path.name} holds 0.0 GB or more once it is decoded, over half of the 0.0 GB"
    with pytest.raises(REFUSALS, match=match) as error:
        call(path)
    assert "\n" not in str(error.value)


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["dictionary", "nested", "prefixes"])
def test_a_file_of_texts(tmp_path, kind):
    path = bomb(tmp_path / "words.parquet", kind)
    refused(lambda path: anything.read(path, Style()), path)
    refused(lambda path: anything.read(path, Style(rows={"word": "a"})), path)
    refused(lambda path: strict_tables.read(path, ["word"]), path)
    refused(lambda path: table_files.read(str(path)), path)


@pytest.mark.parametrize("kind", ["feather", "categories"])
def test_categories(tmp_path, kind):
    """Pandas has each text once, and its rows as text need all."""
    path = bomb(tmp_path / f"words.{kind}", kind)
    refused(lambda path: anything.read(path, Style()), path)


@pytest.mark.merge
def test_commands(tmp_path, capsys):
    path = bomb(tmp_path / "words.parquet")
    for arguments in (["lmer", str(path), "rt ~ 1 + (1 | word)"], ["describe", str(path)]):
        assert main(arguments) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and "0.0 GB that are free" in err


def test_numbers(tmp_path):
    """A column of one value in many rows is run-length encoded."""
    path = tmp_path / "words.parquet"
    column = pa.array(np.zeros(1_000_000))
    pq.write_table(pa.table({"x": column}), path)
    refused(lambda path: table_files.read(str(path)), path)


def test_texts_that_fit_are_read(tmp_path, monkeypatch):
    frame = pd.DataFrame({"word": ["a" * 50, "b", None] * 1000, "rt": np.arange(3000)})
    frame.to_parquet(tmp_path / "words.parquet", index=False)
    monkeypatch.setattr(parquet_bounds, "SURE", 0)
    pd.testing.assert_frame_equal(table_files.read(str(tmp_path / "words.parquet")), frame)
    read = anything.read(tmp_path / "words.parquet", Style()).frame
    assert read["word"].tolist() == frame["word"].fillna("").tolist()


@pytest.mark.parametrize("error", [pa.ArrowMemoryError, MemoryError, pa.ArrowNotImplementedError])
def test_errors_of_decoding(tmp_path, monkeypatch, error):
    path = tmp_path / "words.parquet"
    pd.DataFrame({"text": ["a"]}).to_parquet(path)

    def fail(*_, **__):
        raise error("malloc of size 1099511627776 failed")

    monkeypatch.setattr(pd, "read_parquet", fail)
    for call in (lambda: table_files.read(str(path)), lambda: anything.read(path, Style())):
        with pytest.raises(REFUSALS, match="words.parquet.*malloc of size 1099511627776 failed"):
            call()


def test_training_text(tmp_path, monkeypatch):
    path = tmp_path / "text.parquet"
    pd.DataFrame({"text": ["a"]}).to_parquet(path)

    class File(pq.ParquetFile):
        def iter_batches(self, *_, **__):
            raise pa.ArrowMemoryError("malloc failed")
            yield

    monkeypatch.setattr(pq, "ParquetFile", File)
    with pytest.raises(REFUSALS, match=r"text.parquet is damaged after row 0 \(malloc failed\)"):
        list(documents.read([path]))


def wide(path, columns):
    names = ["word", "rt", *(f"x{number}" for number in range(columns - 2))]
    path.write_text("\n".join([",".join(names), *[",".join(["a", *["1"] * (columns - 1)])] * 3]))
    return path


@pytest.mark.merge
def test_a_table_of_many_columns_is_not_described(tmp_path, capsys):
    path = wide(tmp_path / "wide.csv", 20_000)
    assert main(["describe", str(path)]) == 2
    err = capsys.readouterr().err
    assert "wide.csv has 20,000 columns, and at most 2,000 are described: write those" in err


@pytest.mark.merge
def test_a_table_of_many_columns_is_read(tmp_path):
    path = wide(tmp_path / "wide.csv", 20_000)
    read = anything.read(path, Style(), lambda header: [header[0], *header[-50:]]).frame
    assert read.shape == (3, 51) and set(read["x19997"]) == {"1"}
    assert read["word"].tolist() == ["a", "a", "a"]
