"""The example of docs/corpora.md: a corpus of one's own, from one file and a config entry."""

import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from readingtimes import parsers
from recency.errors import REFUSALS
from recency.reading import observations, responses, words
from recency.workflow.config import checks as config_checks
from recency.workflow.config import loading

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def example():
    """Give the file and the entry of the config, as the page shows them."""
    page = (ROOT / "docs" / "corpora.md").read_text(encoding="utf-8")
    csv = re.search(r"```csv\n(.*?)```", page, re.DOTALL)[1]
    entry = yaml.safe_load(re.search(r"```yaml\n(datasets:\n  mine:\n.*?)```", page, re.DOTALL)[1])
    return csv, entry["datasets"]["mine"]


def placed(entry, folder):
    """Make the files that an entry names, below a folder."""
    for part in ("words", "responses"):
        for file in entry[part].values():
            (folder / file["local"]).parent.mkdir(parents=True, exist_ok=True)
            (folder / file["local"]).write_text("")


def test_the_entry_is_a_right_config(example, tmp_path, monkeypatch):
    config = loading.load(ROOT)
    config["datasets"]["mine"] = example[1]
    placed(example[1], tmp_path)
    monkeypatch.chdir(tmp_path)
    config_checks.check(config, ROOT / "config.schema.yaml")


def test_the_page_s_corpus_file_is_the_one_that_is_there():
    page = (ROOT / "docs" / "corpora.md").read_text(encoding="utf-8")
    shown = yaml.safe_load(re.search(r"```\n(# Passages.*?)```", page, re.DOTALL)[1])
    assert shown == loading.corpus_files(ROOT)["data/corpora/brown.yaml"]


def read(folder, csv, entry):
    """Run the scripts of rules words and responses."""
    table = folder / "reading.csv"
    table.write_text(csv, encoding="utf-8")
    made = [folder / "words.parquet", folder / "responses.parquet"]
    files, options = {"table": table}, entry["options"]
    words.main(files=files, parser=entry["parser"], options=options, out=made[0])
    responses.main(
        files=files,
        words=made[0],
        parser=entry["parser"],
        measure="SPR",
        options=options,
        out=made[1],
    )
    return [pd.read_parquet(path) for path in made]


def test_what_comes_out_is_what_the_page_says(tmp_path, example):
    csv, entry = example
    known, times = read(tmp_path, csv, entry)
    assert list(known) == ["item", "sentence", "position", "word_id", "word"]
    assert known.word.tolist() == ["The", "tide", "turned,", "slowly.", "Nobody", "came."]
    assert list(times) == ["subject", "word_id", "time_ms", "question_right"]
    assert len(times) == 12
    steps = [{"name": n, "keep": entry["filters"][n]} for n in entry["measures"]["SPR"]["filters"]]
    left, counts = observations.filtered(observations.joined(known, times), steps)
    assert counts == [("presented", 12, 0), ("times", 12, 0), ("edges", 4, 8), ("answers", 2, 2)]
    assert left.word.tolist() == ["tide", "turned,"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("p02,322,0", "p02,322,0\nharbour,2,2,came.,p02,322,0", "line 14: subject p02 has a resp"),
        ("p01,341", "p01,3s", "reading.csv, line 4: rt_ms is '3s', not a number"),
        ("rt_ms", "rt_sm", r"reading.csv has no column rt_ms; did you mean rt_sm\?"),
        ("participant", "who", "reading.csv has no column participant"),
        ("question_right", "right", "no column question_right, which options → columns"),
    ],
)
def test_errors_name_the_row_or_the_column(tmp_path, example, old, new, message):
    csv, entry = example
    with pytest.raises(REFUSALS, match=message):
        read(tmp_path, csv.replace(old, new, 1), entry)


def test_every_parser_that_the_page_names_is_there():
    page = (ROOT / "docs" / "corpora.md").read_text(encoding="utf-8")
    assert "table" in parsers.names()
    assert all(f"`{name}" in page for name in ("meco", "zuco", "potec", "maze", "devarda2024"))


def test_a_column_says_where_no_space_follows(tmp_path, example):
    csv, entry = example
    head, *lines = csv.splitlines()
    given = ["false" if line.split(",")[3] == "tide" else "TRUE" for line in lines]
    longer = "\n".join([f"{head},space_after", *(f"{a},{b}" for a, b in zip(lines, given))])
    known, times = read(tmp_path, longer + "\n", entry)
    assert known["space_after"].tolist() == [True, False, True, True, True, True]
    assert "space_after" not in times
    entry["options"]["columns"]["space_after"] = "gap"
    mapped, times = read(tmp_path, longer.replace("space_after", "gap") + "\n", entry)
    pd.testing.assert_frame_equal(mapped, known)
    assert "space_after" not in times
    with pytest.raises(REFUSALS, match="line 2: gap is 'yes', neither true nor false"):
        read(tmp_path, longer.replace("space_after", "gap").replace("TRUE", "yes"), entry)
    with pytest.raises(REFUSALS, match="line 8: word 1 of sentence 1 of harbour: gap differs"):
        other = [*given[:6], "false", *given[7:]]
        lines = "\n".join([f"{head},gap", *(f"{a},{b}" for a, b in zip(lines, other))])
        read(tmp_path, lines + "\n", entry)


def test_the_corpus_of_the_page_on_additions_is_a_right_config_and_runs(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "additions.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (block,) = [block for block in blocks if "parser: table" in block]
    assert block.count("\n") < 25
    entry = yaml.safe_load(block)["datasets"]["mine"]
    config = loading.load(ROOT)
    config["datasets"]["mine"] = entry
    placed(entry, tmp_path)
    monkeypatch.chdir(tmp_path)
    config_checks.check(config, ROOT / "config.schema.yaml")
    csv = "story,sentence_id,word_number,text,reader,rt,cloze\n"
    csv += "a,1,1,He,r1,300,0.1\na,1,2,left.,r1,,0.2\na,1,1,He,r2,310,0.1\na,1,2,left.,r2,320,0.2\n"
    known, times = read(tmp_path, csv, entry)
    assert known.word.tolist() == ["He", "left."] and known.cloze.tolist() == [0.1, 0.2]
    assert times.time_ms.tolist() == [300, 310, 320]
    observations.main(
        words=tmp_path / "words.parquet",
        responses=tmp_path / "responses.parquet",
        filters=[{"name": "times", "keep": "time_ms < 320"}],
        out_fit=tmp_path / "fit.parquet",
        out_counts=tmp_path / "counts.csv",
    )
    counts = (tmp_path / "counts.csv").read_text().splitlines()
    assert counts[1:5] == ["presented,4,0", "missing,3,1", "times,2,1", "fit,2,"]
