"""The corpus files of public reading corpora, each on a synthetic file in its original format."""

import zipfile
from pathlib import Path

import pytest

from public_corpora import (
    EVENTS,
    MEASURES,
    READERS,
    TABLES,
    TEXTS,
    TIMES,
    by_hand,
    meco,
    onestop,
    pymovements_line,
    rows,
    scanpath,
    words_of,
    written,
)
from readingtimes import gate, parsers
from readingtimes.contracts import check_responses, check_words
from recency.errors import REFUSALS
from recency.workflow.config import loading

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def datasets():
    """Return the config's datasets."""
    return loading.load(ROOT)["datasets"]


def read(dataset, of_words, of_responses, measure, **more):
    """Read words and responses as the workflow does, by an entry of the config."""
    module, options = parsers.parser(dataset["parser"]), dataset.get("options", {}) | more
    chosen = parsers.accepted(module, module.words, options)
    if module.MEASURES is None:
        chosen["measures"] = list(dataset["measures"])
    words = check_words(module.words(of_words, **chosen), "words")
    chosen = parsers.accepted(module, module.responses, options)
    found = check_responses(
        module.responses(of_responses, words, measure, **chosen), words, measure
    )
    assert not gate.units(words, found)
    return words, found


def asked(dataset):
    """Return the measures that are read of files."""
    return [name for name, each in dataset["measures"].items() if "of" not in each]


@pytest.mark.merge
@pytest.mark.parametrize("name", TABLES)
def test_measures_of_a_table_are_those_of_its_words(name, datasets, tmp_path):
    made = TABLES[name](tmp_path)
    of_words, of_responses = made if isinstance(made, tuple) else (made, made)
    for measure in asked(datasets[name]):
        if measure not in MEASURES:
            continue
        words, found = read(datasets[name], of_words, of_responses, measure)
        assert words.word.tolist() == words_of(1) + words_of(2)
        assert words["item"].nunique() == 2
        expected = [
            TIMES[reader, text, place, measure]
            for reader in READERS
            for text in TEXTS
            for place in range(1, len(words_of(text)) + 1)
        ]
        found = found.sort_values(["subject", "word_id"], ignore_index=True)
        # Go-past times of words that were not fixated in first pass are 0 or have no row.
        assert found.time_ms.tolist() == expected, measure
        assert found.subject.nunique() == len(READERS)
        assert set(found.word_id) == set(words.word_id)
        first = found.groupby("subject").head(1)
        assert not first.previous_fixated.any()


@pytest.mark.parametrize("name", EVENTS)
def test_measures_of_fixations_are_those_by_hand(name, datasets, tmp_path):
    of_words, of_responses = EVENTS[name](tmp_path)
    for measure in asked(datasets[name]):
        words, found = read(datasets[name], of_words, of_responses, measure)
        assert words.word.tolist() == words_of(1) + words_of(2)
        found = found[~found.subject.str.endswith("99")]
        found = found.sort_values(["subject", "word_id"], ignore_index=True)
        expected = [
            ms
            for reader in READERS
            for text in TEXTS
            for ms in by_hand(scanpath(reader, text), len(words_of(text)))[measure]
        ]
        assert found.time_ms.tolist() == expected, measure


def test_every_corpus_of_pymovements_has_a_test_and_its_facts(datasets):
    stated = {name: each for name, each in datasets.items() if "pymovements" in each}
    tested = {*TABLES, *EVENTS}
    alike = [name for name in stated if name.startswith("meco_l") and name not in tested]
    assert stated.keys() == tested | {*alike}
    assert len([name for name in stated if name.startswith("meco_l1_")]) == 13
    assert len([name for name in stated if name.startswith("meco_l1w2_")]) == 16
    for name, each in stated.items():
        assert {"language", "task", "run_with", "licence", "cite"} <= each.keys(), name
        files = [*each["words"].values(), *each["responses"].values()]
        assert all({"url", "local"} & file.keys() for file in files), name


def test_the_documentation_lists_each(datasets):
    page = (ROOT / "docs" / "corpora.md").read_text(encoding="utf-8")
    page = page.partition("## Public eye-tracking corpora")[2].partition("\n## ")[0]
    for name in {*TABLES, *EVENTS} | {name for name in datasets if name.startswith("meco_l1")}:
        group = name.startswith(("meco_l1_", "meco_l1w2_"))
        assert f"`{name.split('_', 2)[2] if group else name}`" in page, name


def test_versions_of_a_text_are_items_of_their_own(datasets, tmp_path, capsys):
    files = onestop(tmp_path)
    with zipfile.ZipFile(files["areas"]) as archive:
        lines = archive.read("ia_Paragraph.csv").decode().splitlines()
    # The last reader saw one word in two areas.
    other = [line for line in lines if line.startswith("l11_11") and ",1,1,Adv" in line]
    split = other[2].replace(",on,", ",o-,")
    columns = lines[0].split(",")
    place = columns.index("IA_ID")

    def moved(line):
        fields = line.split(",")
        fields[place] = str(int(fields[place]) + 1)
        return ",".join(fields)

    rest = [line for line in lines if line not in other]
    table = [*rest, *other[:2], split, *(moved(line) for line in other[2:])]
    with zipfile.ZipFile(tmp_path / "versions.zip", "w") as archive:
        archive.writestr("ia_Paragraph.csv", "\n".join(table) + "\n")
    versions = {"areas": tmp_path / "versions.zip"}
    words, found = read(datasets["onestop"], versions, versions, "TFT")
    assert words["item"].unique().tolist() == ["1 1 Adv 1", "1 2 Adv 1", "1 1 Adv 1 variant 2"]
    own = found[found.word_id.isin(words.word_id[words["item"] == "1 1 Adv 1 variant 2"])]
    assert set(own.subject) == {"l11_11"} and len(own) == 10
    assert "1 versions of 1 texts, read by 1 of 6 readings" in capsys.readouterr().err
    with pytest.raises(REFUSALS, match="before it was 'on'"):
        read(datasets["onestop"], versions, versions, "TFT", variants="refused")


def test_a_file_with_other_columns_is_refused_with_those_that_it_has(datasets, tmp_path):
    line = pymovements_line(vp="reader", satz="text", pos="place", wort="word")
    files = {"measures": written(tmp_path / "ET.tsv", rows(line), "\t", "latin-1")}
    with pytest.raises(REFUSALS, match=r"has no column .*It has: vp, satz, pos, wort, FFD"):
        read(datasets["raccoons"], files, files, "FP")
    columns = {"item": "satz", "position": "pos", "word": "wort", "subject": "vp", "FP": "FPRT"}
    words, _ = read(datasets["raccoons"], files, files, "FP", columns=columns)
    assert words.word.tolist() == words_of(1) + words_of(2)


def test_several_languages_in_a_dataset_are_refused(datasets, tmp_path):
    files = meco("du")(tmp_path)
    with pytest.raises(REFUSALS, match="no 'nl'.*There are: du, xx"):
        read(datasets["meco_l1_nl"], files, files, "FP", language="nl")
    line = pymovements_line(lang="xx", subject_id="reader", item="text", position="place", word="word")  # fmt: skip
    table = rows(line)
    table = [row | {"lang": "de" if row["item"] == 1 else "nl"} for row in table]
    path = {"measures": written(tmp_path / "mixed.csv", table)}
    mapped = {"language": "lang", "subject": "subject_id", "FP": "FPRT"}
    entry = {"parser": "table", "measures": {"FP": {}}}
    entry["options"] = {"columns": mapped, "sentences": "punctuation"}
    with pytest.raises(REFUSALS, match=r"several languages in lang \(de, nl\)"):
        read(entry, path, path, "FP")
    words, _ = read(entry, path, path, "FP", rows={"lang": "nl"})
    assert words.word.tolist() == words_of(2)
    with pytest.raises(REFUSALS, match="no row has 'fr' as lang.*there are 'de', 'nl'"):
        read(entry, path, path, "FP", rows={"lang": "fr"})


def test_a_reading_under_another_texts_number_is_dropped(datasets, tmp_path, capsys):
    files = meco("ge", "itemid")(tmp_path)
    text = files["joint"].read_text()
    lines = text.splitlines()
    swapped = [
        line.replace(",2,2,1,", ",1,1,1,") if line.startswith("ge_11,ge,2,2,") else line
        for line in lines
        if not line.startswith("ge_11,ge,1,1,")
    ]
    files["joint"].write_text("\n".join(swapped) + "\n")
    words, found = read(datasets["meco_l1_de"], files, files, "TFT")
    assert words.word.tolist() == words_of(1) + words_of(2)
    assert not (found.subject == "ge_11").any()
    assert "1 readings dropped, whose words are those of another text" in capsys.readouterr().err


def test_times_in_seconds_stop_the_analysis(datasets, tmp_path):
    line = pymovements_line(
        subject_id="reader", item_id="text", model="m", decoding_strategy="s", word_id="place",
        word="word",
    )  # fmt: skip
    measures = ("FFD", "FPRT", "RPD_inc", "TFT")
    table = [{n: v / 1000 if n in measures else v for n, v in row.items()} for row in rows(line)]
    files = {"measures": written(tmp_path / "seconds.csv", table, "\t")}
    with pytest.raises(AssertionError, match="are they seconds"):
        read(datasets["emtec"], files, files, "TFT")
    _, found = read(datasets["emtec"], files, files, "TFT", unit="s")
    assert found.time_ms.max() == pytest.approx(max(TIMES.values()), abs=60)


def test_text_and_measures_that_do_not_align_name_the_first_word_of_each_text(tmp_path):
    words = [
        {"item": text, "position": place, "word": word}
        for text in TEXTS
        for place, word in enumerate(words_of(text), 1)
    ]
    times = [{"subject": r, **row, "FP": 200 + r} for r in READERS for row in words]
    swapped = {"fell": "hit", "old": "new", "read": "ate", "smiled": "waved"}
    times = [row | {"word": swapped.get(row["word"], row["word"])} for row in times]
    entry = {"parser": "table", "measures": {"FP": {}}, "options": {"sentences": "item"}}
    of_words = {"words": written(tmp_path / "words.csv", words)}
    of_times = {"times": written(tmp_path / "times.csv", times)}
    with pytest.raises(REFUSALS) as error:
        read(entry, of_words, of_times, "FP")
    message = str(error.value)
    assert "line 3: 'hit', the words have 'fell' there" in message
    assert "'ate', the words have 'read' there" in message and "waved" not in message
