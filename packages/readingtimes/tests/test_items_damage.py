"""Damaged experiments are refused, naming the row, or aligned; never read with a wrong region."""

import numpy as np
import pandas as pd
import pytest

from item_tables import cells, means, parsed, trials
from readingtimes import checks, gate
from readingtimes.errors import InputError
from readingtimes.parsers import table as parser

pytestmark = pytest.mark.merge

COLUMNS = {"critical": "target", "Rating": "rating"}
AT = COLUMNS | {"position": "place"}


def refused(frame, said, tmp_path, **options):
    path = tmp_path / "norms.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(InputError, match=said) as error:
        parsed(path, "Rating", scores=["Rating"], **({"columns": COLUMNS} | options))
    assert "norms.csv" in str(error.value)


def at(frame, line, **values):
    """Change one row, named by its line in the file."""
    frame = frame.copy()
    for name, value in values.items():
        frame[name] = frame[name].astype(object)
        frame.loc[line - 2, name] = value
    return frame


def test_the_critical_word_is_there_once(tmp_path):
    frame = means()
    twice = frame.sentence[3].replace("Number 2", "Gate 2")
    refused(
        at(frame, 5, sentence=twice.replace("Gate", "gate")),
        r"line 5: sentence 'gate 2.*occurs 2 times \(words 1, 8\); map `position`, or mark the region",
        tmp_path,
    )
    refused(
        at(frame, 6, target="boat"), "line 6: sentence .*critical 'boat' does not occur; ", tmp_path
    )
    refused(
        at(frame, 6, target="wag"),
        "'wag' does not occur by itself: it is a part of 'wagon",
        tmp_path,
    )
    refused(
        at(frame, 6, target=""), "line 6: target is empty: every row needs its critical", tmp_path
    )
    refused(at(frame, 6, sentence=""), "line 6: sentence is empty", tmp_path)
    path = tmp_path / "fine.csv"  # the position says which of the two
    at(frame, 5, sentence=twice.replace("Gate", "gate")).to_csv(path, index=False)
    known, _ = parsed(path, "Rating", columns=AT, scores=["Rating"])
    assert known[(known["item"] == "2 high") & (known.region == "critical")].position.tolist() == [
        8
    ]


def test_positions_are_verified(tmp_path):
    frame = means()
    refused(
        at(frame, 7, place=6),
        r"line 7: .*position 6 is '\w+', and critical is 'violin', which stands at word 8",
        tmp_path,
        columns=AT,
    )
    refused(at(frame, 7, place=40), "position 40 is outside of its 11 words", tmp_path, columns=AT)
    refused(at(frame, 7, place="8.5"), "place is '8.5', not a whole number", tmp_path, columns=AT)
    refused(
        frame.assign(place=frame.place - 1), "and critical is 'gate'", tmp_path,
        columns=AT, join={"position": "from 1"},
    )  # fmt: skip
    alone = {"columns": {"position": "place", "Rating": "rating"}}
    said = "position 8 is 'and' if positions count from 0, and 'gate,' if from 1; say `join"
    refused(frame, said, tmp_path, **alone)
    path = tmp_path / "fine.csv"  # a position of 0 can only be the first word's
    at(frame.assign(place=0), 2, place=0).to_csv(path, index=False)
    known, _ = parsed(path, "Rating", scores=["Rating"], **alone)
    assert set(known[known.region == "critical"].position) == {1}


def test_a_cell_has_one_sentence(tmp_path):
    frame = trials().assign(rating=1)
    other = frame.sentence[20].replace("slowly", "quickly")
    refused(
        at(frame, 22, sentence=other),
        r"stimulus \d, condition \w+ has the text .*, and .*quickly.* in line \d+ \(\d+ such rows\)",
        tmp_path,
    )
    refused(
        at(
            frame.assign(sentence=[f"{s} {t}" for s, t in zip(frame.sentence, frame.target)]),
            22,
            place=12,
        ),
        r"stimulus \d, condition \w+ has the region '\w+,?', and '\w+,?' in line",
        tmp_path,
        columns=AT,
    )


def test_markers_are_in_every_sentence(tmp_path):
    frame = means()
    marked = frame.assign(
        sentence=[s.replace(t, f"[{t}]") for s, t in zip(frame.sentence, frame.target)]
    )
    refused(
        at(marked, 4, sentence=frame.sentence[2]),
        r"line 4: sentence .*needs one region",
        tmp_path,
        marker="[]",
    )
    wrong = at(marked, 4, sentence=frame.sentence[2].replace("home", "[home]"))
    refused(
        wrong,
        "the marked region is 'home.', and critical is 'violin', which stands at",
        tmp_path,
        marker="[]",
    )
    with pytest.raises(InputError, match="'a' is no marker"):
        parser.words({"table": tmp_path / "norms.csv"}, shape="items", marker="a", columns=COLUMNS)


@pytest.fixture
def two_files(tmp_path):
    """Write stimuli and responses; give a function that reads the responses when they are damaged."""
    stimuli = tmp_path / "stimuli.csv"
    cells().to_csv(stimuli, index=False)

    def read(frame, **options):
        path = tmp_path / "responses.csv"
        frame.to_csv(path, index=False)
        columns = {"critical": "target", "SPR": "rt_critical"}
        return parsed(path, "SPR", stimuli, **({"columns": columns} | options))

    return read


def shuffled(frame):
    """Give other stimuli's numbers to the rows: those of 1 to 8 in another order."""
    return frame.assign(item=frame["item"].map(dict(zip(range(1, 9), [3, 1, 2, 5, 4, 8, 6, 7]))))


def test_shuffled_items_are_refused_where_the_text_says_otherwise(two_files):
    frame = trials()
    said = (
        r"line \d+: its labels are those of '\d \w+', and its text is .*, which is that of '\d \w+'"
    )
    with pytest.raises(InputError, match=said):
        two_files(shuffled(frame))
    columns = {"critical": "target", "SPR": "rt_critical", "responses": {"stimulus": None}}
    known, found = two_files(shuffled(frame), columns=columns)  # aligned by the texts
    joined = found.merge(known, on="word_id").sort_values(["subject", "word_id"])
    expected = frame.assign(n=frame["item"].astype(int)).sort_values(["subject", "n"])
    assert joined.time_ms.tolist() == expected.rt_critical.tolist()
    with pytest.raises(
        InputError, match="target is 'violin', as of '1 low'; the critical region of"
    ):
        two_files(frame.drop(columns="sentence").assign(condition=frame.condition.map(
            {"high": "low", "low": "high", "medium": "medium"})))  # fmt: skip


def test_labels_that_no_text_has_are_refused_or_dropped(two_files, capsys):
    frame = trials().drop(columns=["sentence", "target"])
    with pytest.raises(InputError, match=r"line 2: there is no text of stimulus '0', condition"):
        two_files(frame.assign(item=frame["item"] - 1).sort_values("item"))
    filler = frame.iloc[:4].assign(item=99, condition="filler", subject="p09")
    with pytest.raises(
        InputError, match="no text of stimulus '99', condition 'filler' .*unmatched: dropped"
    ):
        two_files(pd.concat([frame, filler]))
    _, found = two_files(pd.concat([frame, filler]), unmatched="dropped")
    assert len(found) == len(frame) and "4 rows dropped, of no text" in capsys.readouterr().err
    with pytest.raises(InputError, match="rows do not say which text.*`stimulus` and `condition`"):
        two_files(frame.drop(columns="condition"))
    with pytest.raises(InputError, match="subject p00 has a response to this word already"):
        two_files(pd.concat([frame, frame.iloc[:1]]))


def test_other_text_is_refused(two_files):
    frame = trials()
    other = frame.assign(sentence=frame.sentence.str.replace("home", "away"))
    with pytest.raises(InputError, match="its text is .*away.*, of no item"):
        two_files(other)
    _, found = two_files(frame.assign(sentence=frame.sentence.str.upper()))  # the same words
    assert len(found) == len(frame)


def test_a_region_beyond_the_text(tmp_path):
    frame = trials()
    frame["sentence"] = frame.sentence.str.replace(", and went home.", ".", regex=False)
    columns = {"critical": "target", "Spill": "rt_spill1"}
    path = tmp_path / "end.csv"
    frame.to_csv(path, index=False)
    options = {"columns": columns, "regions": {"Spill": "spillover_1"}}
    with pytest.raises(
        InputError,
        match=r"line 2: text '\d \w+' has no region 'spillover_1' \(48 such.*leave the cell empty",
    ):
        parsed(path, "Spill", **options)
    longer = frame.sentence.str.replace(".", " again.", regex=False)
    frame.loc[frame["item"] > 2, "sentence"] = longer
    frame["rt_spill1"] = frame.rt_spill1.where(frame["item"] > 2, np.nan)
    frame.to_csv(path, index=False)
    _, found = parsed(path, "Spill", **options)
    assert len(found) == (frame["item"] > 2).sum()


def test_options_of_words_are_refused(tmp_path):
    refused_options = {"phrases": True}
    path = tmp_path / "norms.csv"
    means().to_csv(path, index=False)
    with pytest.raises(InputError, match="phrases: it does not go with `shape: items`"):
        parser.words({"table": path}, shape="items", columns=COLUMNS, **refused_options)
    with pytest.raises(InputError, match="shape: 'item' is not possible"):
        parser.words({"table": path}, shape="item", columns=COLUMNS)
    known, _ = parsed(path, "Rating", columns=COLUMNS, scores=["Rating"])
    with pytest.raises(InputError, match="eye_tracking: it does not go"):
        parser.responses(
            {"table": path}, known, "Rating", shape="items", columns=COLUMNS, eye_tracking=True
        )
    with pytest.raises(
        InputError, match="words of a table of items, which have stimulus and region"
    ):
        parser.responses(
            {"table": path}, known.drop(columns="region"), "Rating", shape="items", columns=COLUMNS
        )
    with pytest.raises(InputError, match="has no column sentance"):
        parser.words({"table": path}, shape="items", columns=COLUMNS | {"sentence": "sentance"})
    means().drop(columns=["sentence", "target"]).to_csv(path, index=False)
    with pytest.raises(InputError, match="no column sentence; options → columns → sentence names"):
        parser.words({"table": path}, shape="items", columns={})


def test_fillers_in_the_same_table(tmp_path, capsys):
    frame = trials()
    filler = {"item": "NA", "condition": "", "sentence": "Nobody came to the fair.", "target": ""}
    fillers = frame.iloc[:5].assign(**filler)
    path = tmp_path / "trials.csv"
    pd.concat([frame.astype({"item": str}), fillers]).to_csv(path, index=False)
    columns = {"critical": "target", "SPR": "rt_critical"}
    with pytest.raises(
        InputError, match="line 50: target is empty|line 50: .*missing value|is empty"
    ):
        parsed(path, "SPR", columns=columns)
    known, found = parsed(path, "SPR", columns=columns, unmatched="dropped")
    assert len(found) == 48 and "Nobody" not in set(known.word)
    assert "as fillers are" in capsys.readouterr().err


def latin_square(readers=8, items=9):
    """Words and responses of items in three conditions, of which each reader read one."""
    texts = [
        (f"{item} {c}", f"i{item}", c, region, word)
        for item in range(items) for c in "abc" for region, word in (("", "The"), ("critical", "cat"))
    ]  # fmt: skip
    columns = ["item", "stimulus", "condition", "region", "word"]
    words = pd.DataFrame(texts, columns=columns).assign(word_id=range(len(texts)))
    critical = words[words.region == "critical"].reset_index(drop=True)
    rows = [
        (f"s{reader}", row.word_id, 300.0 + reader)
        for reader in range(readers) for n, row in critical.iterrows() if (reader + n // 3) % 3 == n % 3
    ]  # fmt: skip
    return words, pd.DataFrame(rows, columns=["subject", "word_id", "time_ms"])


def test_a_reading_in_a_second_condition_of_a_latin_square_is_found():
    words, responses = latin_square()
    assert gate.conditions(words, responses) == ""
    other = words.word_id[(words["item"] == "4 a") & (words.region == "critical")].iloc[0]
    read = set(responses[responses.subject == "s0"].word_id)
    other = next(w for w in (other, other + 2) if w not in read)
    again = pd.concat([responses, pd.DataFrame([("s0", other, 310.0)], columns=list(responses))])
    message = gate.conditions(words, again)
    assert "subject 's0' read item 'i4' in the conditions" in message
    assert "71 of 72 readings of an item are in one condition" in message
    everything = pd.DataFrame(
        [(f"s{s}", w, 300.0) for s in range(4) for w in words.word_id[words.region == "critical"]],
        columns=list(responses),
    )
    assert gate.conditions(words, everything) == ""  # each reader reads each condition


def test_conditions_with_other_regions_are_noted():
    words, _ = latin_square()
    words["region"] = words.region.where(words.index != 1, "")
    words = words.assign(sentence=words.groupby("item", sort=False).ngroup())
    (found,) = (f for f in checks.words(words) if f.check == "regions")
    assert "1 of 9 items" in found.text and "0 b 1" in found.text


@pytest.mark.parametrize(("items", "warned"), [(6, True), (8, False)])
def test_fewer_than_eight_items_are_warned_of(items, warned):
    rows = [(n, c) for n in range(items) for c in ("a", "b")]
    words = pd.DataFrame(rows, columns=["stimulus", "condition"]).assign(
        word="Dogs", sentence=range(2 * items)
    )
    words = words.assign(item=words.stimulus.astype(str) + words.condition, position=1)
    texts = [finding.text for finding in checks.words(words) if finding.check == "items"]
    assert (
        texts
        == [
            f"{items} items: too few to tell their effects from those of the conditions; 8 or more are usual"
        ]
        * warned
    )
