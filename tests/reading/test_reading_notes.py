"""Notes of reading a table: shown by the jobs, kept with the tables, and listed in the check."""

import pandas as pd
import pytest

from readingtimes.errors import InputWarning
from recency.evaluations.dataset_check import page
from recency.reading import responses, words


def test_the_check_lists_what_was_said_in_reading(tmp_path):
    table = tmp_path / "mine.csv"
    rows = [
        (s, "a", n, w, 300 + n)
        for s in ("s1", "s2")
        for n, w in enumerate(["The", "cat", "sat."], 1)
    ]
    frame = pd.DataFrame(
        [*rows, ("s3", "a", 1, "The", "NA")], columns=["subject", "item", "position", "word", "SPR"]
    )
    frame.to_csv(table, index=False)
    paths = [tmp_path / f"{name}.parquet" for name in ("words", "responses")]
    options = {"columns": {}, "sentences": "item"}
    words.main({"table": table}, "table", options, paths[0], measures=["SPR"])
    with pytest.warns(InputWarning, match="dropped, without a value"):
        responses.main({"table": table}, paths[0], "table", "SPR", options, paths[1])
    out = [tmp_path / f"check.{kind}" for kind in ("html", "csv", "svg", "png")]
    page.main(
        dataset="mine", words=paths[0], responses=[paths[1]], measures=["SPR"], out=out, files=[]
    )
    said = "1 of 7 responses of SPR dropped, without a value"
    assert said in out[0].read_text()
    assert pd.read_csv(out[1]).value.astype(str).str.contains(said).any()
