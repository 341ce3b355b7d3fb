"""The parsers on the real corpora, where they are at hand, against the counts of Table 1."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from readingtimes import parsers
from readingtimes.contracts import check_responses
from readingtimes.parsers import natural_stories
from recency.errors import REFUSALS
from recency.reading import observations

EDGES = "not sentence_first and not sentence_last"
SPR = {"times": "100 < time_ms < 3000", "edges": EDGES}
FIXATED = {"fixated": "time_ms > 0", "edges": EDGES, "saccade": "words_since_fixation <= 4"}


from parsing import read


def sizes(words: pd.DataFrame, responses: pd.DataFrame, filters: dict) -> tuple[int, int, int]:
    """Filter and part; give the sizes of fit, exploratory and held_out."""
    steps = [{"name": name, "keep": keep} for name, keep in filters.items()]
    frame, _ = observations.filtered(observations.joined(words, responses), steps)
    counts = observations.partition(frame).value_counts()
    return tuple(int(counts[name]) for name in ("fit", "exploratory", "held_out"))


def test_every_parser_loads_and_a_wrong_name_or_option_is_told():
    expected = [
        "boyce2023",
        "brown",
        "devarda2024",
        "devarda_marelli2024",
        "dundee",
        "fixations",
        "frank2015",
        "geco",
        "interest_areas",
        "meco",
        "natural_stories",
        "potec",
        "provo",
        "table",
        "ucl_eye_tracking",
        "ucl_spr",
        "witzel",
        "zuco",
    ]
    assert parsers.names() == expected
    with pytest.raises(
        REFUSALS, match="no parser is called 'natural_storis'; did you mean 'natural_st"
    ):
        parsers.parser("natural_storis")
    with pytest.raises(REFUSALS, match="no parser is called"):
        parsers.parser("reading")
    options = {"ofset": 1}
    with pytest.raises(
        REFUSALS, match=r"has no option 'ofset'; did you mean 'offset'\?; it has: file"
    ):
        parsers.accepted(natural_stories, natural_stories.responses, options)
    assert parsers.accepted(natural_stories, natural_stories.words, {"offset": 1}) == {}


# ---------------------------------------------------------------- UCL


@pytest.fixture(scope="module")
def ucl(shared_data):
    return shared_data / "ucl"


@pytest.mark.merge
def test_ucl_self_paced_reading_is_table_1(ucl):
    times = {"times": ucl / "selfpacedreading.RT.rebuilt.txt.gz"}
    words, found = read("ucl_spr", {"stimuli": ucl / "stimuli.txt"}, times, "SPR")
    assert (len(words), words.sentence.nunique(), found.subject.nunique()) == (4957, 361, 117)
    assert {"Sott", "Margeret"} < set(words.word)
    kept = sizes(words, found, {**SPR, "answers": "correct != 'e'"})
    assert kept == (139_300, 70_239, 69_753)


@pytest.mark.merge
@pytest.mark.parametrize("measure", ["FP", "GP"])
def test_ucl_eye_tracking_is_table_1(ucl, measure):
    times = {"times": ucl / "eyetracking.RT.txt.gz"}
    words, found = read("ucl_eye_tracking", {"stimuli": ucl / "stimuli.txt"}, times, measure)
    assert (words.sentence.nunique(), found.subject.nunique(), len(found)) == (205, 43, 81_109)
    assert not {"Sott", "Margeret"} & set(words.word)
    assert sizes(words, found, FIXATED) == (20_428, 10_281, 10_310)
    inner = found.word_id.map(words.position) > 1
    before = found.time_ms.shift(1) > 0
    assert (found.previous_fixated[inner] == before[inner]).all()
    assert not found.previous_fixated[~inner].any()


def _damaged(tmp_path: Path, path: Path, damage) -> Path:
    lines = pd.Series(path.read_text(encoding="latin-1").splitlines()[:14])
    changed = tmp_path / "times.txt"
    changed.write_text("\n".join(damage(lines)) + "\n", encoding="latin-1")
    return changed


def _line(number: int, old: str, new: str):
    def damage(lines):
        lines[number - 1] = lines[number - 1].replace(old, new)
        return lines

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: lines[:9], "ends within a sentence: subject 1 has 3 of the 5 words"),
        (_line(3, "lost", "won"), "line 3: word 2 of sentence 1 is 'won'; there is 'lost'"),
        (_line(3, "\t2\t", "\t77\t"), "line 3: word 77 of sentence 1 .*there is no such word"),
        (_line(3, "-", "x"), "line 3: correct is 'x', expected c, e or -"),
        (_line(4, "144", "-144"), "line 4: RT is '-144', less than 0"),
        (_line(4, "144", "NaN"), "line 4: RT is 'NaN', not a number"),
        (lambda lines: lines[[0, 1, 2, 2, *range(3, 11)]], "line 4: .* repeats an earlier row"),
    ],
)
def test_ucl_damage_is_told(tmp_path, damage, message):
    stimuli = tmp_path / "stimuli.txt"
    stimuli.write_text(
        "sent_nr\tsentence\tquestion\tanswer\n1\tAnne lost control and laughed.\t-\t-\n"
        "2\tBilly wrote on the envelope.\t-\t-\n"
    )
    rows = ["subj_nr\tsent_nr\tsent_pos\tcorrect\tword_pos\tword\tRT"]
    for sentence, text in (
        (1, "Anne lost control and laughed."),
        (2, "Billy wrote on the envelope."),
    ):
        for position, word in enumerate(text.split(), start=1):
            rows.append(f"1\t{sentence}\t9\t-\t{position}\t{word}\t14{position + 1}")
    good = tmp_path / "good.txt"
    good.write_text("\n".join(rows) + "\n")
    assert len(read("ucl_spr", {"s": stimuli}, {"t": good}, "SPR")[1]) == 10
    with pytest.raises(REFUSALS, match=message):
        read("ucl_spr", {"s": stimuli}, {"t": _damaged(tmp_path, good, damage)}, "SPR")


# ---------------------------------------------------------------- Natural Stories


@pytest.fixture(scope="module")
def stories(shared_data):
    folder = shared_data / "naturalstories"
    return folder, natural_stories.words({"stories": folder / "all_stories.tok"})


def test_natural_stories_sentences_are_the_476(stories):
    folder, words = stories
    expected = pd.read_csv(
        folder / "naturalstories.sentence_ids.tsv.gz", sep="\t", quoting=3, keep_default_na=False
    )
    assert words.word.tolist() == expected.word.tolist()
    assert (words.sentence - words.sentence[0]).tolist() == expected.sentid.tolist()
    assert words.position.tolist() == expected.sentpos.tolist()


def test_natural_stories_readers_sum_to_table_1(stories):
    folder, words = stories
    counts = pd.read_csv(
        folder / "processed_wordinfo.tsv.gz", sep="\t", quoting=3, keep_default_na=False
    )
    zones = words.assign(zone=words.groupby("item").cumcount() + 1, item=words.item.astype(int))
    both = zones.merge(counts, on=["item", "zone", "word"])
    assert len(both) == 10_256
    last = ~words.sentence.duplicated(keep="last")
    assert both.nItem[~last & (words.position > 1)].sum() == 384_905 + 192_772 + 192_425


@pytest.mark.merge
def test_natural_stories_batch_2(stories, capsys):
    folder, words = stories
    batch = {"times": folder / "naturalstories_batch2_RTs.tsv.gz"}
    found = natural_stories.responses(batch, words, "SPR")
    check_responses(found, words, "natural_stories")
    assert (len(found), found.subject.nunique()) == (113_467, 98)
    assert "224 times dropped, of the screens before the stories" in capsys.readouterr().err
    kept = sizes(words, found, {"questions": "correct > 4", **SPR})
    assert kept == (39_133, 19_088, 20_530)
    # The paper's alignment is that of the mean times in processed_wordinfo.tsv.
    means = pd.read_csv(
        folder / "processed_wordinfo.tsv.gz", sep="\t", quoting=3, keep_default_na=False
    ).sort_values(["item", "zone"])
    agreement = {}
    for offset in (-1, 0, 1):
        moved = natural_stories.responses(batch, words, "SPR", offset=offset)
        mean = moved[moved.time_ms.between(100, 3000)].groupby("word_id").time_ms.mean()
        agreement[offset] = np.corrcoef(mean, means.meanItemRT.to_numpy()[mean.index])[0, 1]
    assert max(agreement, key=agreement.get) == 0
    assert agreement[0] > 0.8


# ---------------------------------------------------------------- Provo, GECO


PAGE = {"page": "not page_first and not page_last", "matches": "word_matches"}


@pytest.mark.merge
@pytest.mark.parametrize(
    ("measure", "expected", "published"),
    [
        ("SP", (90_440, 45_315, 44_896), (91_032, 45_654, 45_404)),
        ("FP", (53_159, 26_667, 26_681), (52_959, 26_539, 26_640)),
        ("GP", (53_159, 26_667, 26_681), (52_960, 26_539, 26_640)),
    ],
)
def test_provo_comes_near_table_1(shared_data, measure, expected, published):
    folder = shared_data / "provo"
    times = {"fixations": folder / "provo_fixations.tsv.gz"}
    words, found = read("provo", {"words": folder / "provo_words.tsv.gz"}, times, measure)
    assert (len(words), words.sentence.nunique(), found.subject.nunique()) == (2743, 134, 84)
    kept = sizes(words, found, {**FIXATED, **PAGE})
    assert kept == expected
    assert abs(sum(kept) / sum(published) - 1) < 0.01


@pytest.mark.merge
def test_geco_total_times(shared_data):
    folder = shared_data / "geco"
    material = folder / "EnglishMaterial_corrected.csv.gz"
    times = {"material": material, "times": folder / "geco_en_monolingual_TRT_by_subject.tsv.gz"}
    words, found = read("geco", {"material": material}, times, "TFT")
    assert (len(words), words.item.nunique(), found.subject.nunique()) == (54_360, 4, 14)
    edges = {"parts": "not item_first and not item_last"}
    assert sizes(words, found, {**FIXATED, **edges}) == (177_599, 88_423, 89_313)
    with pytest.raises(REFUSALS, match="total reading times, not FP"):
        read("geco", {"material": material}, times, "FP")
