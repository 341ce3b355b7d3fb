"""Experiments: one text per item and condition, its critical region, and responses to it."""

import pandas as pd
import pytest

from item_tables import CONDITIONS, cells, means, parsed, rating, regions, trials
from readingtimes.own.item_texts import Region, find_words, split_marked
from recency.errors import REFUSALS
from recency.reading import observations

CRITICAL = {"critical": "target", "Rating": "rating"}


def save(frame, path):
    frame.to_csv(path, index=False)
    return path


def right(known, found, items=8):
    """Assert that each cell is a text of its words, and each rating that of its critical word."""
    frame = cells(items)
    texts = known.groupby("item", sort=False).word.agg(" ".join)
    assert texts.tolist() == frame.sentence.tolist()
    assert texts.index.tolist() == [f"{i} {c}" for i, c in zip(frame["item"], frame.condition)]
    by_item = known.drop_duplicates("item")
    assert by_item.stimulus.tolist() == frame["item"].astype(str).tolist()
    assert by_item.condition.tolist() == frame.condition.tolist()
    critical = known[known.region == "critical"]
    assert [word.strip(",") for word in critical.word] == frame.target.tolist()
    found = found.sort_values("word_id")
    assert found.word_id.tolist() == critical.word_id.tolist()
    own = [rating(i, c) for i, c in zip(frame["item"], frame.condition)]
    assert found.response.tolist() == own


def test_one_row_per_item_and_condition(tmp_path, capsys):
    path = save(means(), tmp_path / "norms.csv")
    known, found = parsed(path, "Rating", columns=CRITICAL, scores=["Rating"])
    right(known, found)
    assert list(found) == ["subject", "word_id", "response"] and set(found.subject) == {"mean"}
    assert regions(known, "3 low") == {
        "critical": "violin,", "spillover_1": "and", "spillover_2": "went"
    }  # fmt: skip
    assert known.sentence.nunique() == 24
    assert "joined by stimulus and condition, verified by the texts and the critical words" in (
        capsys.readouterr().err
    )
    known, found = parsed(
        path, "Rating", columns=CRITICAL | {"cloze": "cloze"}, scores=["Rating"], spillover=1,
        precritical=2,
    )  # fmt: skip
    assert regions(known, "3 low") == {
        "precritical_2": "followed", "precritical_1": "the", "critical": "violin,", "spillover_1": "and"
    }  # fmt: skip
    assert known.groupby("condition").cloze.first().to_dict() == {
        "high": 0.9,
        "low": 0.0,
        "medium": 0.4,
    }


WAYS = {
    "position from 1": lambda d: d.assign(position=d.place).drop(columns="target"),
    "position from 0": lambda d: d.assign(position=d.place - 1),
    "marker": lambda d: d.assign(
        sentence=[s.replace(t, f"*{t}*") for s, t in zip(d.sentence, d.target)]
    ).drop(columns="target"),
    "marker around the mark": lambda d: d.assign(
        sentence=[s.replace(f"{t},", f"*{t},*") for s, t in zip(d.sentence, d.target)]
    ),
    "parts": lambda d: d.assign(
        context=[s.split(f" {t}")[0] for s, t in zip(d.sentence, d.target)],
        continuation="and went home.",
        target=d.target + ",",
    ).drop(columns="sentence"),
    "context": lambda d: d.assign(
        context=[" ".join(s.split()[:2]) for s in d.sentence],
        sentence=[" ".join(s.split()[2:]) for s in d.sentence],
    ),
    "order of rows": lambda d: d.iloc[::-1].sort_values("condition", kind="stable", key=lambda c: c.map(CONDITIONS.index)),
}  # fmt: skip


@pytest.mark.merge
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_name_the_region_gives_the_same(tmp_path, way):
    frame = WAYS[way](means())
    mapped = CRITICAL | {n: n for n in ("position", "context", "continuation")}
    columns = {n: c for n, c in mapped.items() if c in frame}
    options = {"marker": "*"} if "marker" in way else {}
    options |= {"join": {"position": "from 1"}} if way == "position from 1" else {}
    known, found = parsed(
        save(frame, tmp_path / "norms.csv"), "Rating", columns=columns, scores=["Rating"], **options
    )
    right(known, found)


def test_regions_of_several_words(tmp_path):
    frame = means().assign(target=lambda d: "the " + d.target)
    path = save(frame, tmp_path / "norms.csv")
    known, found = parsed(path, "Rating", columns=CRITICAL, scores=["Rating"])
    assert set(found.span) == {2} and regions(known, "1 high")["critical"] == "the gate,"
    columns = CRITICAL | {"spillover_1": "spill"}
    save(frame.assign(spill="and went"), path)
    known, _ = parsed(path, "Rating", columns=columns, scores=["Rating"])
    assert regions(known, "1 high")["spillover_1"] == "and went"
    assert regions(known, "1 high")["spillover_2"] == "home."
    save(frame.assign(spill="and stayed"), path)
    with pytest.raises(REFUSALS, match="spill is 'and stayed', and 'and went' follows"):
        parsed(path, "Rating", columns=columns, scores=["Rating"])


def test_the_whole_text_is_the_region_where_the_config_says_so(tmp_path):
    path = save(means().drop(columns=["target", "place"]), tmp_path / "norms.csv")
    columns = {"Rating": "rating"}
    with pytest.raises(REFUSALS, match="line 2: sentence .*nothing says which words the response"):
        parsed(path, "Rating", columns=columns, scores=["Rating"])
    known, found = parsed(path, "Rating", columns=columns | {"critical": None}, scores=["Rating"])
    assert set(found.span) == {11} and (known.region == "critical").all()


def test_a_row_per_subject_item_and_condition(tmp_path):
    frame = trials()
    path = save(frame, tmp_path / "trials.csv")
    columns = {"critical": "target", "SPR": "rt_critical", "Spill": "rt_spill1", "list": "list"}
    for measure, column, region in (
        ("SPR", "rt_critical", "critical"),
        ("Spill", "rt_spill1", "spillover_1"),
    ):
        known, found = parsed(path, measure, columns=columns, regions={"Spill": "spillover_1"})
        rows = found.merge(known, on="word_id")
        assert set(rows.region) == {region} and len(rows) == len(frame)
        asked = frame.set_index(["subject", frame["item"].astype(str)])
        for row in rows.itertuples():
            own = asked.loc[(row.subject, row.stimulus)]
            assert (row.time_ms, row.condition, row.list) == (own[column], own.condition, own.list)
    words = known.assign(surprisal=1.0)
    joined = observations.joined(words, found)
    assert (joined.region == "spillover_1").all() and "stimulus" in joined


def test_a_long_table_has_a_row_per_region(tmp_path):
    frame = trials().melt(
        ["subject", "item", "condition", "sentence", "target"],
        ["rt_critical", "rt_spill1"],
        "roi",
        "rt",
    )
    path = save(frame, tmp_path / "long.csv")
    columns = {"critical": "target", "SPR": "rt", "region": "roi"}
    with pytest.raises(REFUSALS, match="roi is 'rt_critical', no region .*: spillover_1}`"):
        parsed(path, "SPR", columns=columns)
    names = {"rt_critical": "critical", "rt_spill1": "spillover_1"}
    known, found = parsed(path, "SPR", columns=columns, regions=names)
    rows = found.merge(known, on="word_id")
    assert rows.groupby("region").size().to_dict() == {"critical": 48, "spillover_1": 48}
    assert (rows.time_ms > 1000).tolist() == (rows.region == "spillover_1").tolist()
    with pytest.raises(REFUSALS, match="'spill_1' is no region; did you mean spillover_1"):
        parsed(path, "SPR", columns=columns, regions={"rt_spill1": "spill_1"})
    with pytest.raises(
        REFUSALS, match="has no region 'spillover_4'.*it has: critical, spillover_1"
    ):
        parsed(path, "SPR", columns=columns, regions=names | {"rt_spill1": "spillover_4"})


SEPARATE = {
    "labels": (["item", "condition"], "joined by stimulus and condition alone"),
    "labels and critical words": (
        ["item", "condition", "target"],
        "verified by the critical words",
    ),
    "texts": (["sentence"], "joined by the texts"),
    "both": (["item", "condition", "sentence"], "verified by the texts"),
}


@pytest.mark.merge
@pytest.mark.parametrize("way", SEPARATE)
def test_stimuli_and_responses_in_two_files(tmp_path, capsys, way):
    keys, said = SEPARATE[way]
    stimuli = save(cells(), tmp_path / "stimuli.csv")
    rows = trials()
    path = save(
        rows[[*keys, "subject", "rt_critical"]].sample(frac=1, random_state=3), tmp_path / "rt.csv"
    )
    columns = {"critical": "target", "SPR": "rt_critical"}
    known, found = parsed(path, "SPR", stimuli, columns=columns)
    assert said in capsys.readouterr().err
    joined = found.merge(known, on="word_id")
    one = joined.sort_values(["subject", "word_id"]).time_ms.tolist()
    assert one == rows.sort_values(["subject", "item"]).rt_critical.tolist()
    assert set(joined.region) == {"critical"}


@pytest.mark.merge
def test_amplitudes_scores_and_events(tmp_path):
    frame = trials().assign(n400=lambda d: -d.rt_critical / 100, skipped=lambda d: d["item"] % 2)
    path = save(frame, tmp_path / "trials.csv")
    columns = {"critical": "target", "N400": "n400", "Skipped": "skipped"}
    _, found = parsed(path, "N400", columns=columns, amplitudes=["N400"])
    assert found.amplitude_uv.max() < 0
    _, found = parsed(path, "Skipped", columns=columns, scores=["Skipped"])
    assert set(found.response) == {0.0, 1.0}
    assert observations.events(found, "response == 1", "Skipped").sum() == 24
    with pytest.raises(REFUSALS, match="n400 is '-3.51', less than 0"):
        parsed(path, "N400", columns=columns)
    with pytest.raises(REFUSALS, match="in `amplitudes` and in `scores`"):
        parsed(path, "N400", columns=columns, amplitudes=["N400"], scores=["N400"])


def test_markers():
    assert split_marked('He said "[stop]!" twice.', "[]") == (
        ["He", "said", '"stop!"', "twice."], Region(2, 1)
    )  # fmt: skip
    assert split_marked("the ** old mill ** fell", "**") == (
        ["the", "old", "mill", "fell"], Region(1, 2)
    )  # fmt: skip
    for text, marker, said in (
        ("an un*happy* man", "*", "a part of 'unhappy'"),
        ("no mark", "*", "needs one region"),
        ("*two* *marks*", "*", "needs one region"),
        ("an empty ** mark", "*", "nothing between"),
        ("]wrong[ way", "[]", "before"),
    ):
        with pytest.raises(REFUSALS, match=said):
            split_marked(text, marker)


def test_critical_words_are_found_without_case_and_punctuation():
    assert find_words(["the", "Mill", "."], ["mill"]) == Region(1, 1)
    with pytest.raises(REFUSALS, match=r"occurs 2 times \(words 2, 5\)"):
        find_words(["the", "Mill", "and", "the", "mill", "."], ["mill"])
    assert find_words(["Café,", "then"], ["cafe"]) == Region(0, 1)
    assert find_words(["they", "said", ":", "yes"], [":"]) == Region(2, 1)
    with pytest.raises(REFUSALS, match="a part of 'windmill'"):
        find_words(["the", "windmill", "fell"], ["mill"])
    with pytest.raises(REFUSALS, match=r"occurs 2 times \(words 1, 4\)"):
        find_words(["mill", "by", "the", "mill"], ["mill"])


def test_sentences_within_a_text(tmp_path):
    frame = means().assign(context="It was late. Nobody spoke.", position=3)
    path = save(frame, tmp_path / "norms.csv")
    right(*parsed(path, "Rating", columns=CRITICAL, scores=["Rating"]))  # neither is mapped
    options = {"columns": CRITICAL | {"context": "context"}, "scores": ["Rating"]}
    known, _ = parsed(path, "Rating", **options)
    assert known.sentence.nunique() == 24
    known, _ = parsed(path, "Rating", sentences="punctuation", **options)
    assert known.groupby("item").sentence.nunique().tolist() == [3] * 24
    assert set(known[known.region == "critical"].position) == {8}


@pytest.mark.merge
def test_conditions_of_two_factors(tmp_path):
    frame = means()[lambda d: d.condition != "medium"].assign(block=1)
    more = frame.assign(block=2, sentence=frame.sentence.str.replace("slowly", "soon"), rating=7)
    path = save(pd.concat([frame, more]), tmp_path / "norms.csv")
    with pytest.raises(
        REFUSALS, match=r"stimulus 1, condition high has the text .* in line 2 \(16 such"
    ):
        parsed(path, "Rating", columns=CRITICAL, scores=["Rating"])
    columns = CRITICAL | {
        "condition": ["condition", "block"],
        "cloze": "condition",
        "block": "block",
    }
    known, found = parsed(path, "Rating", columns=columns, scores=["Rating"])
    assert known["item"].nunique() == 32 and "1 high 2" in set(known["item"])
    assert set(known.block) == {1, 2} and set(known.cloze) == {"high", "low"} and len(found) == 32
