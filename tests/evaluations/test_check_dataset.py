"""The check of a corpus: each fault that it looks for is found, and a sound corpus has none."""

import numpy as np
import pandas as pd
import pytest

from made_corpus import WORDS, times
from readingtimes import checks as dataset_checks
from readingtimes import parsers
from readingtimes.contracts import word_table
from recency.evaluations.dataset_check import page as check_dataset


def judged(frame, words=WORDS):
    """Give what is found about the alignment, as (level, text)."""
    mean = dataset_checks.means(words, frame, "time_ms")
    table = dataset_checks.alignment(words, mean)
    found = dataset_checks.shifted(table, bool((frame.time_ms == 0).mean() > 0.01))
    return [(f.level, f.text) for f in found]


def warned(findings):
    return [f"{f.check}: {f.text}" for f in findings if f.level == "warning"]


@pytest.mark.parametrize("skips", [True, False])
def test_a_sound_corpus_has_no_warnings(skips):
    frame = times(skips=skips)
    assert not dataset_checks.words(WORDS)
    assert not dataset_checks.responses(WORDS, frame, "time_ms")
    assert not judged(frame)
    mean = dataset_checks.means(WORDS, frame, "time_ms")
    assert not dataset_checks.shifted_items(WORDS, mean)


@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize("shift", [-3, -2, -1, 1, 2, 3])
def test_times_that_are_shifted_are_found(shift, skips):
    found = judged(times(shift, skips=skips))
    assert len(found) == 1
    level, text = found[0]
    assert level == "warning"
    amount = "one word" if abs(shift) == 1 else f"{abs(shift)} words"
    assert text.endswith(f"{amount} too {'early' if shift > 0 else 'late'}")


def test_half_of_the_readers_shifted_are_found():
    half = pd.concat([times(0, 4, False), times(1, 4, False).replace({"00": "90"})])
    assert judged(half)[0][0] == "warning"
    assert "some or all times stand one word too early" in judged(half)[0][1]


def test_spillover_is_no_fault():
    assert not judged(times(skips=False, spill=0.8))
    level, text = judged(times(skips=False, spill=2))[0]
    assert (level, "spillover" in text) == ("note", True)


def test_no_relation_to_length_is_noted():
    frame = times().assign(time_ms=np.random.default_rng(3).permutation(times().time_ms))
    assert judged(frame)[0][0] == "note"
    assert "at no offset" in judged(frame)[0][1]


def test_one_shifted_text_among_sound_ones_is_named():
    sound, wrong = times(), times(-1)
    there = sound.word_id.map(WORDS["item"]) == "04"
    frame = sound.assign(time_ms=sound.time_ms.mask(there, wrong.time_ms))
    mean = dataset_checks.means(WORDS, frame, "time_ms")
    found = warned(dataset_checks.shifted_items(WORDS, mean))
    assert found == ["shifted: in 1 item times go with another word's length: 04 (-1)"]


@pytest.mark.parametrize(
    ("word", "what"),
    [
        ("don\ufffdt", "U+FFFD"),
        ("donâ€™t", "another encoding"),
        ("cafÃ©", "another encoding"),
        ("Â£5", "another encoding"),
        ("a\xadb", "invisible"),
        ("R&amp;D", "HTML"),
        ("<br/>", "HTML"),
        ("isn?t", "question mark inside"),
        ("café", None),
        ("Ärger", None),
        ("what?", None),
    ],
)
def test_damaged_letters_are_found(word, what):
    words = WORDS.assign(word=WORDS.word.mask(WORDS.word_id == 5, word))
    found = warned(dataset_checks.words(words))
    assert bool(found) == bool(what), found
    if what:
        assert what in found[0]
        assert word in found[0]


def test_changed_texts_are_found():
    lower = WORDS.assign(word=WORDS.word.str.lower().str.rstrip("."))
    told = [f.text for f in dataset_checks.words(lower)]
    assert "hardly a word has punctuation: it was taken off" in told
    assert "no word has a capital: the text was lower-cased" in told
    split = WORDS.assign(word=WORDS.word.mask(WORDS.position == 5, ","))
    assert "seems to be tokenised" in warned(dataset_checks.words(split))[0]
    long = word_table(["a"] * 150, [0] * 150, ["Word"] * 149 + ["end."])
    assert "the longest has 150 words" in warned(dataset_checks.words(long))[0]
    twice = word_table(["a"] * 4, [0, 0, 1, 1], ["Oh", "no.", "Oh", "no."])
    assert "1 sentences repeat" in dataset_checks.words(twice)[0].text


def _one(frame):
    return frame.subject == "03"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: pd.concat([f, f.tail(3)]), "repeats: 3 rows repeat"),
        (lambda f: f.assign(word_id=f.word_id + 5), "words: 40 rows are of unknown words"),
        (lambda f: f.iloc[::-1], "order: .* rows go back in the text"),
        (
            lambda f: pd.concat([f[f.word_id % 108 < 50], f[f.word_id % 108 >= 50]]),
            "subject's text is in more than",
        ),
        (
            lambda f: f.assign(time_ms=f.time_ms.where(~_one(f), f.time_ms / 1000)),
            "units: 1 subjects have times of another size: 03",
        ),
        (lambda f: f.assign(time_ms=f.time_ms.round(-1)), "units: 100% .* multiples of 10 ms"),
        (lambda f: f.assign(time_ms=f.time_ms.round(-2)), "units: 100% .* multiples of 100 ms"),
        (lambda f: f.assign(time_ms=f.time_ms.clip(upper=280)), "of the times are 280 ms: a limit"),
        (lambda f: f.assign(time_ms=250.0), "constants: every observation is 250"),
        (
            lambda f: f.assign(time_ms=f.time_ms.where(~_one(f), 231.0)),
            "constants: 1 subjects have the same time throughout: 03",
        ),
        (
            lambda f: f.assign(previous_fixated=True, words_since_fixation=2),
            r"order: 5,184 rows say that the word before was fixated, and that it was not",
        ),
        (
            lambda f: f.assign(fixation=1),
            r"order: 5,136 numbers of fixations stand twice in a text",
        ),
    ],
)
def test_damaged_responses_are_found(damage, message):
    frame = damage(times()).reset_index(drop=True)
    found = warned(dataset_checks.responses(WORDS, frame, "time_ms"))
    assert any(pd.Series(found).str.contains(message)), found


def test_what_may_be_as_it_should_is_noted():
    frame = times(subjects=1)[:300].assign(correct="c")
    found = dataset_checks.responses(WORDS, frame, "time_ms")
    assert {f.level for f in found} == {"note"}
    told = " / ".join(f.text for f in found)
    for part in ("one subject (00)", "correct is c in every row", "54% of the words have no obs"):
        assert part in told
    few = pd.concat([times(), times().tail(30).assign(subject="99")], ignore_index=True)
    assert "1 subjects have under a quarter of the usual: 99" in [
        f.text for f in dataset_checks.responses(WORDS, few, "time_ms")
    ]


def test_measures_that_contradict_each_other_are_found():
    first = times()
    past = first.assign(time_ms=first.time_ms - (first.index < 7))
    measures = {"FP": first, "GP": past, "SPR": past}
    n = int((first.time_ms[:7] > 0).sum()) + int((first.time_ms[:7] == 0).sum())
    assert warned(dataset_checks.between(measures)) == [
        f"measures: FP is longer than GP in {n} of 5,184 observations"
    ]


def test_counts():
    frame = times().iloc[:-10]
    frame = frame.assign(extra=[None, *[1.0] * (len(frame) - 1)])
    found = dataset_checks.counts(WORDS, frame, "time_ms")
    assert [found[k] for k in ("items", "sentences", "words", "subjects")] == [6, 72, 648, 8]
    assert found["observations"] == 8 * 648 - 10
    assert found["subject × word of a text read, missing"] == 10
    assert found["empty values"] == found["… of extra"] == 1
    assert found["words without"] == 0
    assert found["not fixated (0)"] == (frame.time_ms == 0).sum()
    assert found["mean"] == pytest.approx(frame.time_ms[frame.time_ms > 0].mean())


def run(folder, frames, words=WORDS, **more):
    folder.mkdir(exist_ok=True)
    words.to_parquet(folder / "words.parquet")
    for name, frame in frames.items():
        frame.to_parquet(folder / f"{name}.parquet")
    out = [folder / f"check{suffix}" for suffix in (".html", ".csv", ".svg", ".png")]
    check_dataset.main(
        words=folder / "words.parquet",
        responses=[folder / f"{name}.parquet" for name in frames],
        measures=list(frames),
        out=out,
        dataset="mine",
        **more,
    )
    return out


def test_published_counts_stand_next_to_those_of_each_measure(tmp_path):
    published = {"subjects": 84, "words": 2743}
    html, table, *_ = run(tmp_path, {"SPR": times()}, published=published)
    page = html.read_text(encoding="utf-8")
    assert "Published counts" in page and "2,743" in page
    rows = pd.read_csv(table)
    stated = rows[rows.kind == "published"].set_index("name").value
    assert stated.astype(int).to_dict() == published
    html, *_ = run(tmp_path / "none", {"SPR": times()})
    assert "Published counts" not in html.read_text(encoding="utf-8")


def test_a_file_sorted_word_by_word_is_in_order(tmp_path):
    frame = times().sort_values("word_id", kind="stable").reset_index(drop=True)
    assert list(frame.subject[:3]) == ["00", "01", "02"]
    assert not warned(dataset_checks.responses(WORDS, frame, "time_ms"))
    backwards = frame.iloc[::-1].reset_index(drop=True)
    assert "rows go back" in warned(dataset_checks.responses(WORDS, backwards, "time_ms"))[0]


def test_skipped_words_are_counted_alike_by_reader_and_word_by_word(tmp_path):
    table = parsers.parser("table")
    found = {}
    for name, order in (("by reader", ["subject", "word_id"]), ("by word", ["word_id", "subject"])):
        path = tmp_path / f"{name}.csv"
        times().sort_values(order).to_csv(path, index=False)
        rows = table.responses({"times": path}, WORDS, "FP", eye_tracking=True)
        found[name] = rows.sort_values(["subject", "word_id"], ignore_index=True)
    pd.testing.assert_frame_equal(found["by reader"], found["by word"])
    steps = found["by reader"].words_since_fixation
    assert steps.min() == 1 and steps.max() > 2


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (80, 800, [100, 200, 500]),
        (65, 3300, [100, 300, 1000, 3000]),
        (60, 17000, [100, 300, 1000, 3000, 10000]),
        (1, 1e9, [1, 100, 1e4, 1e6, 1e8]),
    ],
)
def test_times_have_round_labels_that_stand_apart(low, high, ticks):
    assert check_dataset._log_ticks(low, high) == pytest.approx(ticks)


@pytest.mark.merge
def test_the_page_the_table_and_the_figure(tmp_path):
    bits = pd.DataFrame({"word_id": WORDS.word_id, "surprisal_bits": WORDS.word.str.len() * 1.5})
    bits.to_parquet(tmp_path / "unigram.parquet")
    frames = {
        "FP": times(1),
        "N400": times().rename(columns={"time_ms": "amplitude_uv"}).assign(amplitude_uv=-1.5),
    }
    more = {
        "label": "My <corpus>",
        "about": {"Licence": "CC BY 4.0", "Cite": "Me & you (2025)"},
        "files": [{"role": "words: texts", "from": "https://example.org/t.txt", "checksum": "ab"}],
        "unigram": [tmp_path / "unigram.parquet"],
    }
    outs = [
        [p.read_bytes() for p in run(tmp_path / n, frames, **more)] for n in ("first", "second")
    ]
    assert outs[0] == outs[1]
    page = outs[0][0].decode()
    for part in (
        "Check of My &lt;corpus&gt; (FP, N400)",
        "Warnings",
        "FP: shifted",
        "one word too early",
        "N400 (µV)",
        "<svg",
        "unigram surprisal",
        "Licence: CC BY 4.0",
        "Me &amp; you (2025)",
        "https://example.org/t.txt",
    ):
        assert part in page, part
    assert "<?xml" not in page
    rows = pd.read_csv(tmp_path / "first" / "check.csv", keep_default_na=False)
    assert list(rows) == ["measure", "kind", "name", "value"]
    r = rows[(rows.kind == "r") & (rows.measure == "FP")].set_index("name").value
    assert float(r["mean with word length, offset +1"]) > 0.8
    assert abs(float(r["mean with unigram surprisal"])) < 0.2
    assert (rows[rows.measure == "N400"].kind == "warning").sum() == 1  # every value the same
    assert outs[0][3][:4] == b"\x89PNG"


def test_a_sound_corpus_page_says_so(tmp_path):
    html = run(tmp_path / "sound", {"SPR": times(skips=False)})[0].read_text()
    assert "No warnings." in html
    assert "requires the study" in html


def test_tiny_corpora_are_no_trouble(tmp_path):
    words = word_table(["a"] * 2, [1, 1], ["Oh", "no."])
    frame = pd.DataFrame({"subject": ["1", "1"], "word_id": [0, 1], "time_ms": [0.0, 300.0]})
    assert "Check of mine" in run(tmp_path / "tiny", {"FP": frame}, words)[0].read_text()
    nothing = frame.assign(time_ms=0.0)
    assert "no time is above 0" in run(tmp_path / "tiny", {"FP": nothing}, words)[0].read_text()


def test_the_released_alignment_of_natural_stories_shows(shared_data):
    folder = shared_data / "naturalstories"
    parser = parsers.parser("natural_stories")
    words = parser.words({"stories": folder / "all_stories.tok"})
    files = {"times": folder / "naturalstories_batch2_RTs.tsv.gz"}
    # One word on, as its authors moved the times in May 2025, the warning is gone.
    for offset, warnings in ((0, 1), (1, 0)):
        found = judged(parser.responses(files, words, "SPR", offset=offset), words)
        assert [level for level, _ in found].count("warning") == warnings
