"""Times that belong to a neighbouring word are refused, unless the config accepts them."""

import pandas as pd
import pytest

from made_corpus import WORDS, corpus, times
from readingtimes.gate import require_aligned
from readingtimes.parsers import devarda_marelli2024
from recency.errors import REFUSALS
from recency.reading import observations


@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize("shift", [-2, -1, 1, 2])
def test_shifted_times_are_refused_with_the_offset_that_mends_them(shift, skips):
    with pytest.raises(REFUSALS) as caught:
        require_aligned(WORDS, times(shift, skips=skips), "mine.SPR", offset=3)
    message = str(caught.value)
    assert message.startswith("mine.SPR: r = ")
    assert "k: r = -3: " in message and f"{shift:+d}: 0." in message
    assert f"`options: {{offset: {3 + shift}}}` under datasets → mine" in message
    assert "accept: [shifted]" in message


@pytest.mark.parametrize(
    ("shift", "where"), [(1, "one word later"), (2, "2 words later"), (-1, "one word earlier")]
)
def test_a_parser_without_an_offset_is_told_to_move_the_file(shift, where):
    with pytest.raises(REFUSALS, match=f"datasets → mine {where} in its file; or"):
        require_aligned(WORDS, times(shift), "mine.FP")


@pytest.mark.parametrize("spill", [0, 0.8, 2])
@pytest.mark.parametrize("skips", [True, False])
def test_right_times_pass(skips, spill, capsys):
    spill = 0 if skips else spill
    require_aligned(WORDS, times(skips=skips, spill=spill), "mine.SPR")
    assert capsys.readouterr().err == ""


def test_strong_spillover_in_a_long_corpus_is_no_later_word():
    words = corpus(items=40)
    require_aligned(words, times(skips=False, spill=3, words=words), "mine.SPR")


def test_late_times_with_spillover_may_be_one_word_less_late():
    with pytest.raises(REFUSALS, match=r"stand one word \(with spillover\) or 2 words too late"):
        require_aligned(WORDS, times(-1, skips=False, spill=3), "mine.SPR")


def test_too_few_words_and_amplitudes_pass():
    few = WORDS[:40]
    require_aligned(few, times(1, words=few), "mine.FP")
    amplitudes = times(1).rename(columns={"time_ms": "amplitude_uv"})
    require_aligned(WORDS, amplitudes, "mine.N400")


def test_accepted_times_pass_and_the_log_says_so(capsys):
    require_aligned(WORDS, times(1), "mine.FP", accept=["shifted"], offset=0)
    told = capsys.readouterr().err
    assert told.startswith("mine.FP: r = ")
    assert "one word too early" in told and "accept: [shifted]" in told


def test_no_observations_are_written_of_shifted_times(tmp_path):
    WORDS.to_parquet(tmp_path / "words.parquet")
    files = [tmp_path / name for name in ("words.parquet", "responses.parquet")]
    out = {"out_fit": tmp_path / "fit.parquet", "out_counts": tmp_path / "counts.csv"}
    times(1, skips=False).to_parquet(files[1])
    with pytest.raises(REFUSALS, match=r"mine\.SPR: .*one word too early.*offset: 1"):
        observations.main(*files, [], **out, response="mine.SPR", offset=0)
    assert not any(path.exists() for path in out.values())
    observations.main(*files, [], **out, response="mine.SPR", offset=0, accept=["shifted"])
    assert len(pd.read_parquet(out["out_fit"])) == len(times(1))
    times(skips=False).to_parquet(files[1])
    observations.main(*files, [], **out, response="mine.SPR")


def test_means_of_de_varda_and_marelli_move_within_their_sentence(tmp_path, capsys):
    rows = [(1, 1, "The", "NA"), (1, 2, "tide", 300), (1, 3, "turned.", 310)]
    rows += [(2, 1, "Nobody", "NA"), (2, 2, "came.", 320)]
    table = pd.DataFrame(rows, columns=["sent_id", "word_pos", "word", "rt"])
    files = {"items": tmp_path / "items.tsv"}
    table.to_csv(files["items"], sep="\t", index=False)
    known = devarda_marelli2024.words(files)
    released = devarda_marelli2024.responses(files, known, "SPR")
    assert released.set_index("word_id").time_ms.to_dict() == {1: 300, 2: 310, 4: 320}
    moved = devarda_marelli2024.responses(files, known, "SPR", offset=1)
    assert moved.set_index("word_id").time_ms.to_dict() == {2: 300}
    assert "start no sentence" not in capsys.readouterr().err
