"""Corpora by name: what a definition promises, read from copies of the public files."""

import pandas as pd
import pytest

import readingtimes
from readingtimes import command, loading


def test_names_and_definitions():
    names = readingtimes.corpora()
    assert {"provo", "natural_stories", "dundee", "meco"} <= set(names) and names == sorted(names)
    for name in names:
        entry = readingtimes.definition(name)
        assert entry["measures"] and entry["parser"] in loading.parsers.names(), name
        wanted = {f for m in entry["measures"].values() for f in m.get("filters", ())}
        assert wanted <= set(entry.get("filters", {})), name
    with pytest.raises(readingtimes.InputError, match="did you mean 'provo'"):
        readingtimes.definition("prvo")
    with pytest.raises(readingtimes.InputError, match="provo has no measure called 'FPP'"):
        readingtimes.load("provo", ["FPP"])


def test_a_corpus_has_its_published_counts(shared_data, tmp_path):
    words, responses = readingtimes.load("provo", ["FP"], mirrors=[shared_data], cache=tmp_path)
    counts = readingtimes.definition("provo")["published_counts"]
    table = responses["FP"]
    assert (
        words["item"].nunique() == counts["items"] and table.subject.nunique() == counts["subjects"]
    )
    assert (table.time_ms > 0).all() and not table.sentence_first.any()
    assert (words.set_index("word_id").word[table.word_id].to_numpy() == table.word).all()
    _, every = readingtimes.load(
        "provo", ["FP"], as_published=False, mirrors=[shared_data], cache=tmp_path
    )
    assert len(every["FP"]) > len(table)


def test_a_file_that_changed_in_the_cache_is_refused(shared_data, tmp_path):
    readingtimes.load("provo", ["FP"], mirrors=[shared_data], cache=tmp_path)
    (path,) = tmp_path.rglob("z3eh6")
    path.write_bytes(path.read_bytes().replace(b"1", b"2", 1))
    with pytest.raises(readingtimes.InputError, match="z3eh6 is another file.*delete it"):
        readingtimes.load("provo", ["FP"], mirrors=[shared_data], cache=tmp_path)


def test_the_command_writes_words_and_responses(shared_data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        loading.load, "__kwdefaults__", loading.load.__kwdefaults__ | {"cache": tmp_path}
    )
    options = ["load", "provo", "--mirror", str(shared_data), "--csv", "--out", str(tmp_path)]
    assert command.main([*options, "--words"]) == 0
    assert [path.name for path in tmp_path.glob("*.csv")] == ["provo.words.csv"]
    assert command.main([*options, "--measure", "FP"]) == 0
    words, responses = readingtimes.load("provo", ["FP"], mirrors=[shared_data], cache=tmp_path)
    for name, table in {"words": words, "FP": responses["FP"]}.items():
        written = pd.read_csv(tmp_path / f"provo.{name}.csv", keep_default_na=False)
        assert list(written) == list(table) and written.word.tolist() == table.word.tolist()
    assert written.time_ms.tolist() == responses["FP"].time_ms.tolist()


def test_the_command(tmp_path, capsys):
    assert command.main(["list"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == len(readingtimes.corpora()) and any(l.startswith("provo ") for l in out)
    table = tmp_path / "mine.csv"
    rows = [
        f"s{s},{i},{n},{word},{250 + 10 * len(word) + s}"
        for s in range(3) for i in range(4) for n, word in enumerate(["the", "old", "dog", "slept"], 1)
    ]  # fmt: skip
    table.write_text("subject,item,position,word,rt\n" + "\n".join(rows) + "\n")
    assert command.main(["describe", str(table)]) == 0
    out = capsys.readouterr().out
    assert "48 rows" in out and "position" in out
    assert command.main(["load", "nothing"]) == 2
    assert "no corpus is called 'nothing'" in capsys.readouterr().err
