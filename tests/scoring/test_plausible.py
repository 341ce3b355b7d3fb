"""Surprisal that contradicts its words, its unit or its numbering is refused, whatever it is from."""

import re

import numpy as np
import pandas as pd
import pytest

from readingtimes.contracts import word_table
from recency.errors import REFUSALS
from recency.scoring import ngram_surprisal, results
from recency.scoring.plausible import (
    implausible,
    other_language,
    prediction,
    require_plausible,
)

BITS = {"bits": 1.0, "nats": 1 / np.log(2), "log10": np.log2(10)}


def text(words=6000, vocabulary=20_000, seed=1):
    """Return words of a Zipfian text, of which the rarer are the longer, and their true surprisal."""
    draw = np.random.default_rng(seed)
    p = 1 / np.arange(1, vocabulary + 1)
    p /= p.sum()
    ranks = draw.choice(vocabulary, words, p=p)
    length = np.clip(1 + np.log2(ranks + 1) / 2, 1, None).astype(int)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))

    def spelled(rank, size):
        code = np.base_repr(rank, 26)
        return (code.lower() + "".join(letters[:size]))[: max(size, len(code))]

    shown = [spelled(int(r), int(n)) for r, n in zip(ranks, length, strict=True)]
    items = [f"{n // 996}" for n in range(words)]
    return word_table(items, np.arange(words) // 12, shown), -np.log2(p[ranks])


WORDS, TRUE = text()


def table(bits, corrected=np.nan, tokens=1, words=WORDS):
    frame = pd.DataFrame({"word_id": words.word_id, "surprisal_bits": bits})
    return frame.assign(corrected_bits=corrected, tokens=tokens, context_tokens=0)


def result(bits=TRUE, unknown=(), words=WORDS, **columns):
    rows = [(row, "<unk>", "unknown", "probability of <unk>") for row in unknown]
    return results.Result(table(bits, words=words, **columns), results.ledger(words, rows))


def test_right_surprisal_passes(capsys):
    require_plausible(WORDS, result(), lm="gpt2", dataset="mine", unit="bits")
    half = TRUE.copy()
    half[::2] = np.nan
    require_plausible(WORDS, result(half), lm="gpt2", dataset="mine", unit="bits")
    assert capsys.readouterr().err == ""
    assert prediction(WORDS, TRUE).deviation == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("lag", [-2, -1, 1, 2])
def test_surprisal_of_another_row_is_refused_with_the_lag(lag):
    moved = np.roll(TRUE, -lag)
    name = f"{abs(lag)} word{'s' * (abs(lag) > 1)} too {'early' if lag > 0 else 'late'}"
    told = rf"^gpt2 on mine: .*{name}.*{re.escape(f'{lag:+d}')}: 0\.[5-9].*\[surprisal\]` under lms → gpt2"
    with pytest.raises(REFUSALS, match=told):
        require_plausible(WORDS, result(moved), lm="gpt2", dataset="mine")


def test_a_shift_from_some_row_on_is_refused():
    moved = TRUE.copy()
    moved[5000:] = np.roll(TRUE[5000:], 1)
    problem, _ = implausible(WORDS, table(moved))
    assert "1 word too late" in problem and "word_id 5" in problem


@pytest.mark.parametrize("declared", BITS)
@pytest.mark.parametrize("actual", BITS)
def test_another_unit_than_the_declared_is_refused_with_the_right_one(declared, actual):
    bits = TRUE / BITS[actual] * BITS[declared]
    found = implausible(WORDS, table(bits), declared)
    if declared == actual:
        assert found is None
    else:
        assert f"Declare `unit: {actual}`" in found[1] and f"instead of {declared}" in found[1]
    assert implausible(WORDS, table(bits)) is None  # computed here: no unit was declared


def test_surprisal_of_another_size_than_in_any_unit_is_refused():
    for factor, unit in ((1000, "bits"), (300, "nats")):
        _, way_out = implausible(WORDS, table(TRUE * factor), unit)
        assert "in any unit" in way_out


def test_the_unit_is_not_judged_by_few_words():
    few = WORDS[:399]
    assert implausible(few, table(TRUE[:399] * np.log(2), words=few), "bits") is None


DRAW = np.random.default_rng(8)
STRETCHES = {
    "three shifted sentences": (60, lambda part: np.roll(part, 1), "1 word too late"),
    "three sentences, early": (60, lambda part: np.roll(part, -1), "1 word too early"),
    "a shuffled passage": (200, DRAW.permutation, "unrelated to its words"),
    "texts in nats": (900, lambda part: part * np.log(2), "of the size of nats"),
    "texts in log10": (300, lambda part: part * np.log10(2), "of the size of log10"),
    "a filled column": (
        100,
        lambda part: np.full(len(part), part[0]),
        "100 words have the surprisal",
    ),
}


@pytest.mark.parametrize("kind", STRETCHES)
def test_a_stretch_that_differs_is_refused_with_its_words(kind):
    size, change, message = STRETCHES[kind]
    noisy = TRUE * DRAW.gamma(4, 1 / 4, len(TRUE))  # an LM with a context
    assert implausible(WORDS, table(noisy), "bits") is None
    bits = noisy.copy()
    bits[2000 : 2000 + size] = change(bits[2000 : 2000 + size])
    problem, _ = implausible(WORDS, table(bits), "bits")
    assert message in problem
    first, last = map(int, re.findall(r"\(?(?:word_id )?(\d{4})\)", problem)[:2])
    assert abs(first - 2000) < 0.3 * size + 10 and abs(last - 2000 - size) < 0.3 * size + 10


def test_zeros_without_a_value_are_refused():
    long = np.where(WORDS.word.str.len() > 7, 0, TRUE)
    assert "are they unknown words" in implausible(WORDS, table(long), "bits")[0]
    first = np.where(WORDS.sentence.duplicated(), TRUE, 0)
    assert "the first word of each" in implausible(WORDS, table(first), "bits")[0]
    for decimals in (0, 1):  # zeros of what an LM knows
        assert implausible(WORDS, table(np.round(TRUE, decimals)), "bits") is None


def test_one_of_two_texts_in_nats_is_refused():
    words, bits = WORDS[:1992], TRUE[:1992] * DRAW.gamma(4, 1 / 4, 1992)
    assert implausible(words, table(bits, words=words), "bits") is None
    in_nats = np.where(words["item"] == "1", bits * np.log(2), bits)
    problem, _ = implausible(words, table(in_nats, words=words), "bits")
    assert "nats" in problem or "text '1' has 0." in problem


@pytest.mark.merge
def test_a_short_stretch_of_what_was_computed_here_is_no_shift():
    """Networks after two updates, whose surprisal is little but a number of tokens, have such stretches."""
    noisy = TRUE * np.random.default_rng(8).gamma(4, 1 / 4, len(TRUE))
    refused = []
    for size in range(6, 80, 2):
        bits = noisy.copy()
        bits[2000 : 2000 + size] = np.roll(bits[2000 : 2000 + size], 1)
        refused.append(
            (
                implausible(WORDS, table(bits), "bits") is None,
                implausible(WORDS, table(bits)) is None,
            )
        )
    assert {(True, True), (False, True), (False, False)} <= set(refused)
    assert (True, False) not in refused


def test_shuffled_surprisal_is_refused_whatever_unit_is_declared():
    for unit in BITS:
        problem, _ = implausible(WORDS, table(DRAW.permutation(TRUE)), unit)
        assert "unrelated to its words" in problem


def test_what_an_lm_like_it_would_give_is_noted():
    made = result()
    require_plausible(WORDS, made, lm="gpt2", dataset="mine", unit="bits")
    assert re.search(r"plausible: the mean of 6,000 words is .* gives about \d", made.notes[-1])


@pytest.mark.parametrize(
    ("bits", "message"),
    [
        (-TRUE, "below 0.*logprob"),
        (2.0**-TRUE, "no word has more than 1 bit.*probabilities"),
        (np.full(len(TRUE), 15.6), "every word has the same surprisal, 15.6 bits"),
        (np.zeros(len(TRUE)), "every word has the same surprisal, 0 bits"),
    ],
)
def test_impossible_values_are_refused(bits, message, capsys):
    with pytest.raises(REFUSALS, match=message):
        require_plausible(WORDS, result(bits), lm="gpt2", dataset="mine")
    require_plausible(WORDS, result(bits), lm="gpt2", dataset="mine", accept=["surprisal"])
    assert "The config permits this (accept: [surprisal])" in capsys.readouterr().err


def test_a_weak_lm_passes():
    tokens = 1 + WORDS.word.str.len().to_numpy() // 4
    untrained = tokens * np.log2(50_257) + np.random.default_rng(1).normal(0, 0.1, len(WORDS))
    require_plausible(WORDS, result(untrained, tokens=tokens), lm="new", dataset="mine")
    noise = np.random.default_rng(2).gamma(4, 2, len(WORDS))
    require_plausible(WORDS, result(noise), lm="noise", dataset="mine")


def test_corrected_surprisal_must_be_that_of_the_same_words():
    space = np.random.default_rng(1).uniform(0, 1, len(WORDS))
    right = TRUE + space - np.roll(space, 1)
    assert implausible(WORDS, table(TRUE, right)) is None
    problem, _ = implausible(WORDS, table(TRUE, np.roll(right, 1)))
    assert "corrected and plain surprisal have r = " in problem
    problem, _ = implausible(WORDS, table(TRUE, right * np.log(2)))
    assert "the corrected surprisal of text '0' sums to" in problem


def test_few_words_are_not_judged():
    require_plausible(WORDS[:20], result(np.zeros(20), words=WORDS[:20]), lm="a", dataset="b")


def test_words_of_another_language_are_refused(capsys):
    unknown = range(0, len(WORDS), 2)
    with pytest.raises(
        REFUSALS, match=r"50% of the 6,000 words are unknown.*\[language\]` under d"
    ):
        require_plausible(WORDS, result(unknown=unknown), lm="english", dataset="german")
    require_plausible(
        WORDS, result(unknown=unknown), lm="english", dataset="german", accept=["language"]
    )
    assert "accept: [language]" in capsys.readouterr().err
    require_plausible(WORDS, result(unknown=range(0, 6000, 4)), lm="english", dataset="mine")


def test_a_script_that_the_tokenizer_does_not_know_is_refused():
    shown = ["Все", "счастливые", "семьи", "похожи", "друг", "на", "друга,", "каждая"] * 20
    words = word_table(["a"] * 160, [0] * 160, shown)
    bits = np.random.default_rng(1).gamma(4, 2, 160)
    length = words.word.str.len().to_numpy()
    for tokens, refused in ((length * 13 // 10 + 1, True), (1 + length // 4, False)):
        made = result(bits, words=words, tokens=tokens)
        assert bool(other_language(words, made)) == refused


def test_n_grams_of_another_language_are_refused(tmp_path):
    shown = ["alpha", "beta", "gamma", "delta"] * 30
    word_table(["a"] * 120, [0] * 120, shown).to_parquet(tmp_path / "words.parquet")
    lines = ["\\data\\", "ngram 1=3", "", "\\1-grams:", "-1.0\t<unk>", "-1.5\talpha", "-1\t</s>"]
    (tmp_path / "lm.arpa").write_text("\n".join([*lines, "", "\\end\\", ""]))
    files = [tmp_path / name for name in ("words.parquet", "lm.arpa", "out.parquet")]
    with pytest.raises(REFUSALS, match="english on german: 75% of the 120 words are unknown"):
        ngram_surprisal.main(*files, lm="english", dataset="german")
    assert not files[2].exists()
    ngram_surprisal.main(*files, lm="english", dataset="german", accept=["language"])


def test_published_surprisals_pass_and_their_other_units_do_not(shared_data):
    rds = shared_data / "naturalstories_reference_lms/natural_stories_surprisals.rds"
    pyreadr = pytest.importorskip("rpy2.robjects")
    frame = pyreadr.r(f"as.data.frame(readRDS('{rds}'))")
    columns = {name: list(frame.rx2(name)) for name in frame.names}
    words = word_table(
        [str(int(story)) for story in columns["Story_Num"]],
        [int(n) for n in columns["Story_Num"]],
        list(map(str, columns["Word"])),
    )
    for name in ("txl_surp", "ngram_surp", "grnn_surp"):
        bits = pd.to_numeric(pd.Series(columns[name])).to_numpy(float)
        bits = np.where(bits > 0, bits, np.nan)  # R's NA
        made = table(bits, words=words)
        assert implausible(words, made, "bits") is None
        for unit, size in BITS.items():
            read = table(bits / size, words=words)
            assert (implausible(words, read, "bits") is None) == (unit == "bits"), (name, unit)
            read = table(bits / BITS["nats"] * size, words=words)
            assert (implausible(words, read, unit) is None) == (unit == "nats"), (name, unit)
        assert "1 word too late" in implausible(words, table(np.roll(bits, 1), words=words))[0]
        shuffled = np.random.default_rng(1).permutation(bits)
        assert "unrelated" in implausible(words, table(shuffled, words=words), "bits")[0]
        bits[4000:4060] = np.roll(bits[4000:4060], 1)
        assert "1 word too late" in implausible(words, table(bits, words=words), "bits")[0]


@pytest.mark.parametrize("subset", ["ClassicGP", "AttachmentAmbiguity", "RelativeClause", "filler"])
def test_published_surprisals_of_experimental_sentences_pass(shared_data, subset):
    for lm in ("gpt2", "lstm"):
        frame = pd.read_csv(shared_data / f"sap/items_{subset}.{lm}.csv.gz")
        sentence = (frame.word_pos.diff() < 0).cumsum()
        words = word_table(
            sentence.astype(str).tolist(), sentence.tolist(), frame.word.astype(str).tolist()
        )
        assert implausible(words, table(frame.sum_surprisal_base2, words=words), "bits") is None
        assert implausible(words, table(frame.sum_surprisal, words=words), "bits") is not None
        for unit, means in (("bits", frame.mean_surprisal_base2), ("nats", frame.mean_surprisal)):
            bits = table(means * BITS[unit], words=words)
            assert "Give the sum" in implausible(words, bits, unit)[1]
