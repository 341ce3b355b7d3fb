"""Datasets of other tasks: A-maze, mouse tracking, garden paths; the real files, and their formats."""

import pandas as pd
import pytest

from parsing import read, responses_of, sizes, words_of
from project import ROOT
from readingtimes import parsers
from readingtimes.contracts import check_responses
from recency.errors import REFUSALS
from recency.workflow.config import loading

DATA = ROOT.parent / "shared" / "data"
ENTRIES = loading.entries_of(loading.corpus_files(ROOT))["datasets"]


def needs(*paths):
    lacking = [path for path in paths if not (DATA / path).exists()]
    return pytest.mark.skipif(
        bool(lacking), reason=f"../shared/data/{lacking and lacking[0]} is not there"
    )


def real(name, measure):
    """Read a dataset by its entry, from the copies of its files."""

    def files(part):
        sources = ENTRIES[name][part]
        paths = {role: DATA / file["stand_in"]["path"] for role, file in sources.items()}
        return {role: p if p.exists() else p.with_name(f"{p.name}.gz") for role, p in paths.items()}

    options = ENTRIES[name].get("options", {}) | {"measures": list(ENTRIES[name]["measures"])}
    parser = ENTRIES[name]["parser"]
    if owner := ENTRIES[name]["words"].get("dataset"):
        words = words_of(owner, {"stories": DATA / "naturalstories" / "all_stories.tok"})
    else:
        module = parsers.parser(parser)
        own = parsers.accepted(
            module, module.words, {k: v for k, v in options.items() if k != "measures"}
        )
        own |= {"measures": options["measures"]} if parser == "table" else {}
        words = module.words(files("words"), **own)
    options.pop("measures")
    return words, responses_of(parser, files("responses"), words, measure, **options)


@needs("naturalstories_amaze/boyce_2023.tsv.gz", "naturalstories/all_stories.tok")
def test_the_a_maze_of_natural_stories_is_joined_by_the_lengths_of_all_words(capsys):
    words, times = real("natural_stories_amaze_cleaned", "Maze")
    published = ENTRIES["natural_stories_amaze_cleaned"]["published_counts"]
    assert sizes(words, times) == (10, 476, 10256, published["subjects"], 56447)
    assert "verified by the words' lengths, 100 % of which are the same" in capsys.readouterr().err
    assert not (times.word_id.map(words.position) == 1).any()  # first words have no alternative
    # The models' intercept of the paper, all predictors centred, is 876 to 880 ms for fewer words.
    assert times.time_ms.mean() == pytest.approx(904.469, abs=1e-3)


@needs("provo_motr/motr_provo_reading_measures.tsv.gz")
def test_motr_has_five_measures_and_the_words_of_its_passages(capsys):
    found = {}
    for measure in ("FFD", "FP", "GP", "RB", "TFT"):
        words, found[measure] = real("provo_motr", measure)
    assert sizes(words, found["FP"]) == (55, 134, 2744, 51, 44719)
    assert "verified by the words, 100 %" in capsys.readouterr().err
    first_pass = found["FP"].first_pass == 1
    for measure in ("FP", "GP", "RB"):
        assert ((found[measure].time_ms > 0) == first_pass).all()
    assert (
        found["FFD"].time_ms > 0
    ).sum() == first_pass.sum() + 2727  # first fixations after a regression
    assert (found["GP"].time_ms >= found["RB"].time_ms).all()
    assert (found["RB"].time_ms >= found["FP"].time_ms).all()
    # previous_fixated is by first pass, whatever the measure, and no word's of another passage.
    rows = found["TFT"].assign(item=found["TFT"].word_id.map(words["item"]))
    before = rows.groupby(["subject", "item"], sort=False).first_pass.shift(fill_value=0) == 1
    assert (rows.previous_fixated == before).all()
    assert (found["TFT"].previous_fixated == found["FP"].previous_fixated).all()


@pytest.mark.merge
@needs("sap/agreement_data.rds", "sap/items_Agreement.gpt2.csv.gz")
@pytest.mark.parametrize(
    ("name", "texts", "rows", "effects"),
    [
        ("sap_agreement", 36, 44797, (18.5, 58.3, 22.0)),
        ("sap_npz", 48, 37112, (135.0, 149.1, 53.3)),
    ],
)
def test_garden_paths_of_sap(name, texts, rows, effects, capsys):
    words, times = real(name, "SPR")
    assert sizes(words, times)[0] == texts and sizes(words, times)[3:] == (2000, rows)
    told = capsys.readouterr().err
    assert "joined by the texts, and the words of each row" in told
    means = (
        times.merge(words, on="word_id").groupby(["region", "condition"]).time_ms.mean().unstack()
    )
    high, low = ("UNAGREE", "AGREE") if name == "sap_agreement" else ("NPZ_AMB", "NPZ_UAMB")
    got = (means[high] - means[low])[["critical", "spillover_1", "spillover_2"]]
    assert got.tolist() == pytest.approx(effects, abs=0.05)


@needs("geco/geco_en_monolingual_TRT_by_subject.tsv.gz", "geco/EnglishMaterial_corrected.csv.gz")
@pytest.mark.merge
def test_gecos_total_times():
    words, times = real("geco_totals", "TFT")
    assert sizes(words, times) == (4, 5283, 54360, 14, 761040)


# Formats of which no original could be had: synthetic files.

STORY = [["The", "miller", "slept."], ["He", "snored."], ["The", "miller", "slept."]]
FOILS = [["x-x-x", "onto", "gave."], ["x-x-x", "ago."], ["x-x-x", "onto", "gave."]]


def cleaned(path, readers=3, wrong=(), drop=None, practice=True):
    """Write what cleaned.rds holds, as a table; `wrong`: (reader, sentence, word) chosen wrongly."""
    rows = []
    for reader in range(1, readers + 1):
        base = {
            "native": "English" if reader < 3 else "French",
            "num_correct": 6,
            "subject": reader,
        }
        if practice:
            rows.append(base | {"type": "practice", "sentence": "Go on.", "word_num": 0, "word": "Go",
                                "distractor": "x-x-x", "correct": "no", "rt": 900})  # fmt: skip
        for number, sentence in enumerate(STORY):
            for place, word in enumerate(sentence):
                correct = "no" if (reader, number, place) in wrong else "yes"
                rows.append(base | {"type": "Mill", "sentence": " ".join(sentence), "word_num": place,
                                    "word": word, "distractor": FOILS[number][place],
                                    "correct": correct, "rt": 600 + 100 * number + 10 * place})  # fmt: skip
    frame = pd.DataFrame(rows)
    (frame if drop is None else frame[~drop(frame)]).to_csv(path, index=False)
    return {"t": path}


def test_the_a_maze_as_its_authors_have_it(tmp_path):
    files = cleaned(tmp_path / "cleaned.csv", wrong=[(1, 0, 1), (2, 2, 0)])
    words, times = read("boyce2023", files, files, "Maze")
    assert sizes(words, times) == (1, 3, 8, 3, 24)
    assert words.word.tolist() == [word for sentence in STORY for word in sentence]
    assert words.foil.isna().tolist() == (words.position == 1).tolist()
    assert words.foil[1] == "onto"
    one, two, three = (times[times.subject == name].reset_index(drop=True) for name in "123")
    assert one.correct.tolist() == [True, False, *[True] * 6]
    assert one.words_since_error.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert two.words_since_error.tolist() == [0] * 5 + [0, 1, 2]
    assert one.accuracy.tolist() == [7 / 8] * 8 and three.accuracy.tolist() == [1] * 8
    assert three.native.unique().tolist() == ["French"] and set(one.questions) == {6}
    assert one.time_ms.tolist() == [600, 610, 620, 700, 710, 800, 810, 820]


def test_the_a_maze_on_the_words_of_another_dataset(tmp_path, capsys):
    files = cleaned(tmp_path / "cleaned.csv")
    stories = tmp_path / "stories.tsv"
    read_words = [word for sentence in STORY for word in sentence]
    plain = [(word, zone, 1) for zone, word in enumerate(read_words, start=1)]
    pd.DataFrame(plain, columns=["word", "zone", "item"]).to_csv(stories, sep="\t", index=False)
    words = words_of("natural_stories", {"t": stories})
    times = responses_of("boyce2023", files, words, "Maze")
    assert times.word_id.tolist() == list(range(8)) * 3
    assert "verified by the words, 100 %" in capsys.readouterr().err
    other = words.assign(word=["Some", "other", "text", "is", "here", "now", "and", "then."])
    with pytest.raises(REFUSALS, match="no alignment"):
        parsers.parser("boyce2023").responses(files, other, "Maze")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"drop": lambda f: (f.word == "miller") & (f.subject == 2)},
            "word 2 of subject 2 does not follow",
        ),
        ({"drop": lambda f: f.type == "Mill"}, "no rows but those of practice"),
    ],
)
def test_damage_to_the_a_maze_is_named(tmp_path, change, message):
    files = cleaned(tmp_path / "cleaned.csv", **change)
    with pytest.raises(REFUSALS, match=message):
        parsers.parser("boyce2023").words(files)


def test_readers_of_one_story_must_have_the_same_words(tmp_path):
    path = cleaned(tmp_path / "cleaned.csv")["t"]
    text = path.read_text()
    at = text.rindex(",miller,")
    path.write_text(text[:at] + ",farmer," + text[at + 8 :])
    with pytest.raises(REFUSALS, match="'farmer' .'onto'., for another reader 'miller'"):
        parsers.parser("boyce2023").words({"t": path})
    path.write_text(text.replace(",yes,", ",ja,", 1))
    with pytest.raises(REFUSALS, match="correct is 'ja', expected yes or no"):
        parsers.parser("boyce2023").words({"t": path})


# Rows of a table that are chosen, and averaged.

ERP = """subject,item,position,word,Electrode,window,uv
1,1,1,Mills,Cz,N400,-1
1,1,1,Mills,Pz,N400,-3
1,1,1,Mills,Cz,P600,8
1,1,2,turn.,Cz,N400,2
1,1,2,turn.,Pz,N400,
2,1,1,Mills,Cz,N400,-5
2,1,1,Mills,Pz,N400,-7
2,1,2,turn.,Cz,P600,9
"""
OPTIONS = {"columns": {"N400": "uv"}, "sentences": "item", "amplitudes": ["N400"]}


def amplitudes(tmp_path, text=ERP, **options):
    path = tmp_path / "erp.csv"
    path.write_text(text)
    options = OPTIONS | options
    words = parsers.parser("table").words(
        {"t": path}, **{k: v for k, v in options.items() if k not in ("amplitudes", "average")}
    )
    found = parsers.parser("table").responses({"t": path}, words, "N400", **options)
    return check_responses(found, words, "table").amplitude_uv.tolist()


def test_amplitudes_by_electrode_and_window(tmp_path, capsys):
    window = {"responses": {"window": "N400", "Electrode": "Cz"}}
    assert amplitudes(tmp_path, rows=window) == [-1, 2, -5]
    both = {"responses": {"window": "N400"}}
    assert amplitudes(tmp_path, rows=both, average=["Electrode"]) == [-2, 2, -6]
    told = capsys.readouterr().err
    assert "2 rows dropped, whose window is not N400 (first: line 4)" in told
    assert "rows averaged over Electrode to 3 responses" in told
    several = {"responses": {"window": "N400", "Electrode": ["Cz", "Pz"]}}
    assert amplitudes(tmp_path, rows=several, average=["Electrode"]) == [-2, 2, -6]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": {"window": "N400"}}, "line 3: subject 1 has a response to this word already"),
        ({"average": ["Electrode"]}, "a second response of subject 1 to this word at Electrode Cz"),
        ({"rows": {"window": "N4"}}, "no row has 'N4' as window.*there are 'N400', 'P600'"),
        ({"rows": {"Window": "N400"}}, "no column Window .*did you mean window"),
        ({"rows": {"window": {"is": "N400"}}}, "options → rows → window: name the value"),
        ({"average": ["Elektrode"], "rows": {"window": "N400"}}, "no column Elektrode"),
    ],
)
def test_rows_that_cannot_be_chosen_are_named(tmp_path, options, message):
    with pytest.raises(REFUSALS, match=message):
        amplitudes(tmp_path, **options)


def test_what_differs_between_averaged_rows_is_refused(tmp_path):
    columns = OPTIONS["columns"] | {"responses": {"site": "Electrode"}}
    with pytest.raises(REFUSALS, match="average: site differs between rows"):
        amplitudes(
            tmp_path, columns=columns, rows={"responses": {"window": "N400"}}, average=["Electrode"]
        )


ITEMS = """item,condition,sentence,spot
1,comma,"When he left, the mill burned down.",5
1,none,"When he left the mill burned down.",5
"""
TIMES = """who,text,region,shown,rt
a,"When he left, the mill burned down.",0,mill,300
a,"When he left, the mill burned down.",1,burned,310
b,"When he left the mill burned down.",0,mill,400
b,"When he left the mill burned down.",1,burned,450
"""
COLUMNS = {
    "subject": "who", "SPR": "rt",
    "words": {"position": "spot"},
    "responses": {"sentence": "text", "word": "shown", "position": None},
}  # fmt: skip


def garden_paths(tmp_path, times=TIMES):
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "times.csv").write_text(times)
    options = {"shape": "items", "columns": COLUMNS, "join": {"position": "from 1"}}
    module = parsers.parser("table")
    words = module.words({"t": tmp_path / "items.csv"}, **options, measures=["SPR"])
    labels = {"0": "critical", "1": "spillover_1"}
    times = module.responses({"t": tmp_path / "times.csv"}, words, "SPR", **options, regions=labels)
    return times.merge(words, on="word_id")


def test_texts_that_a_comma_distinguishes(tmp_path):
    found = garden_paths(tmp_path)
    assert found.condition.tolist() == ["comma", "comma", "none", "none"]
    assert found.word.tolist() == ["mill", "burned"] * 2


def test_a_row_whose_word_is_not_its_regions_is_refused(tmp_path):
    wrong = TIMES.replace("1,burned,450", "1,down,450")
    with pytest.raises(REFUSALS, match="line 5: shown is 'down', and its region has 'burned'"):
        garden_paths(tmp_path, wrong)
