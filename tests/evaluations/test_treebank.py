"""The splits of a treebank in one table."""

import pandas as pd

from recency.evaluations.probe import treebank

WORD = "{0}\tw{0}\tw\tX\t_\t_\t{1}\tdep\t_\t_\n"


def sentence(*heads):
    return "".join(WORD.format(n, head) for n, head in enumerate(heads, 1)) + "\n"


def test_splits_are_written_together(tmp_path):
    for name, heads in (("train", [(0, 1), (2, 0)]), ("dev", [(0,)])):
        (tmp_path / name).write_text("".join(sentence(*each) for each in heads))
    files = {name: tmp_path / name for name in ("train", "dev")}
    treebank.main(files, tmp_path / "bank.parquet")
    table = pd.read_parquet(tmp_path / "bank.parquet")
    assert list(table.columns) == [
        "split", "sentence", "position", "word", "head", "relation", "upos", "space_after",
    ]  # fmt: skip
    assert list(table.split) == ["train"] * 4 + ["dev"]
    assert list(table.sentence) == [1, 1, 2, 2, 1]
