"""The measured memory: synthetic memories with known half-lives, and networks with a window."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls

from project import show
from recency.errors import InputError
from recency.evaluations.measured_memory import half_life, score, view
from recency.evaluations.reading_times import permutation
from recency.figures import intervals as interval_files
from recency.figures.comparison import LM
from recency.networks import architectures
from recency.scoring.surprisal import Model, score_words
from small_networks import NONE, TINY, byte_tokenizer

VOCABULARY = ["a", "bee", "sees", "the", "hill", "under", "which", "it", "sleeps", "now"]


def texts(items=3, length=120, seed=0):
    random = np.random.default_rng(seed)
    drawn = random.choice(VOCABULARY, items * length)
    return pd.DataFrame({"item": np.repeat([f"{k}" for k in range(items)], length), "word": drawn})


def fading(half_life):
    """Return a score whose surprisal is a sum of the words before, each fading by its distance."""

    def scored(table):
        values = table["word"].map({word: len(word) for word in VOCABULARY}).to_numpy(float)
        bits = np.zeros(len(table))
        for rows in table.groupby("item", sort=False).indices.values():
            distance = np.subtract.outer(np.arange(len(rows)), np.arange(len(rows)))
            weight = np.where(distance > 0, np.exp2(-np.maximum(distance, 0) / half_life), 0.0)
            bits[rows] = weight @ values[rows]
        return bits, np.ones(len(table), int)

    return scored


def one_token(words):
    return np.ones(len(words), int)


def exponential(half_life, amplitude, floor, reach=64):
    """Return the effects (1, reach) of an exponential with a floor, in bits."""
    return amplitude * np.exp2(-np.arange(1, reach + 1) / half_life)[None] + floor


def changes_of(random, effects, replacements=80, noise=0.5):
    """Return a table of changes whose expected absolute value is `effects` (1, reach)."""
    shape = replacements, effects.shape[1]
    size = effects * random.gamma(2, 0.5, (replacements, 1)) * random.gamma(1 / noise, noise, shape)
    place, distance = np.indices(shape)
    columns = {"place": place, "distance": distance + 1, "change_bits": size}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()})


@pytest.mark.parametrize("true", [0.5, 1.1, 6, 20, 50])
@pytest.mark.parametrize("floor", [0, 0.02, 0.3])
def test_exponentials_with_a_floor_are_fitted_exactly(true, floor):
    distance = np.arange(2.0, 65)
    effects = np.concatenate([exponential(true, size, floor)[:, 1:] for size in (0.5, 3)])
    lives, floors = half_life.fit_exponential(distance, effects)
    assert lives == pytest.approx([true, true], rel=0.005)
    assert floors == pytest.approx([floor, floor], abs=5e-3)


def test_the_fit_is_the_nonnegative_least_squares_solution():
    """Against SciPy at the half-life that is found; elsewhere the residuals are larger."""
    random, distance = np.random.default_rng(1), np.arange(2.0, 40)
    effects = exponential(5, 0.3, 0.0, 39)[:, 1:] + random.gamma(1, 0.05, (20, 38))
    effects[10:] -= np.minimum(0.04, effects[10:])
    lives, floors = half_life.fit_exponential(distance, effects)
    assert (floors == 0).any() and (floors > 0).any()

    def solution(life, effect):
        return nnls(np.column_stack([np.exp2(-(distance - 2) / life), np.ones(38)]), effect)

    for life, floor, effect in zip(lives, floors, effects, strict=True):
        (_, wanted), residual = solution(life, effect)
        assert floor == pytest.approx(wanted, abs=1e-9)
        others = [solution(other, effect)[1] for other in np.geomspace(0.1, 39, 60)]
        assert residual <= min(others) + 1e-9


def test_a_small_tail_does_not_change_the_half_life():
    """Fitted without a floor, this memory has a half-life of hundreds of words."""
    effects = exponential(1.1, 0.5, 0.02, 256)
    (exact,), _ = half_life.fit_exponential(np.arange(2.0, 257), effects[:, 1:])
    assert exact == pytest.approx(1.1, rel=0.005)
    memory = half_life.measured(changes_of(np.random.default_rng(2), effects, 200))
    assert memory.half_life == pytest.approx(1.1, rel=0.2)
    assert memory.half_life_low < 1.1 < memory.half_life_high < 1.6
    assert memory.floor == pytest.approx(0.02, rel=0.1)
    assert memory.half_within_low <= memory.half_within <= memory.half_within_high


def test_a_flat_effect_is_not_identified():
    random, identified = np.random.default_rng(3), 0
    for repeat in range(40):
        memory = half_life.measured(
            changes_of(random, np.full((1, 40), 0.2)), seed=repeat, replicates=200
        )
        identified += memory.is_identified
    assert identified <= 2
    exactly = half_life.measured(changes_of(random, np.full((1, 40), 0.2)).assign(change_bits=-0.2))
    assert not exactly.is_identified and view.interval(exactly) == "not identified"
    assert np.isnan([exactly.half_life_low, exactly.half_life_high, exactly.floor]).all()
    assert (exactly.half_within, exactly.half_within_high) == (21, 21)  # of distances 2 to 40


def test_at_a_bound_of_the_search_the_interval_is_open():
    random = np.random.default_rng(4)
    long = half_life.measured(changes_of(random, exponential(300, 0.5, 0), 400, 0.05))
    assert np.isnan(long.half_life) and long.half_life_high == np.inf
    assert 10 < long.half_life_low < 300
    assert view.interval(long) == f"> {view.words(long.half_life_low)}"
    effects = exponential(1, 0.0, 0.01)
    effects[0, 1] = 1.0  # the effect ends after the second word
    short = half_life.measured(changes_of(random, effects, 60))
    assert np.isnan(short.half_life) and short.half_life_low == 0
    assert 0.1 <= short.half_life_high < 0.5
    assert view.interval(short) == f"< {view.words(short.half_life_high)}"
    lms = [LM(name, name, {"form": "none"}, "none") for name in ("flat", "short", "long")]
    flat = half_life.measured(changes_of(random, np.full((1, 64), 0.2)).assign(change_bits=0.2))
    memories = {"flat": flat, "short": short, "long": long}
    ordered = view.order_by_half_life(memories, lms)
    assert [lm.lm for lm in ordered] == ["long", "short", "flat"]
    assert view.named(lms[2], long) == f"long  {view.interval(long)}"
    assert view.named(lms[0], flat) == "flat  –"


@pytest.mark.merge
@pytest.mark.parametrize(("true", "amplitude"), [(1.5, 1.0), (8, 0.3)])
def test_intervals_cover_the_true_half_life_and_half_distance(true, amplitude):
    random, covered, repeats = np.random.default_rng(5), np.zeros(2), 150
    effects = exponential(true, amplitude, 0.02, 40)
    half = half_life.half_distance(np.arange(2, 41), effects[:, 1:])[0]
    for repeat in range(repeats):
        memory = half_life.measured(changes_of(random, effects), seed=repeat, replicates=200)
        covered += (
            memory.half_life_low <= true <= memory.half_life_high,
            memory.half_within_low <= half <= memory.half_within_high,
        )
    assert (covered / repeats > 0.9).all() and covered[0] / repeats < 0.99


@pytest.mark.parametrize("true", [0.5, 1.9, 7, 40])
def test_the_half_life_of_a_synthetic_memory_is_the_true_one(true):
    words = texts()
    found = score.changes(words, one_token(words), fading(true), 50, 64, 16, seed=3)
    memory = half_life.measured(found)
    assert memory.half_life == pytest.approx(true, rel=0.005)
    assert memory.half_life_low == pytest.approx(true, rel=0.005)  # it fades alike at every place
    assert memory.replacements == 50


def test_pairs_differ_in_one_word_and_nothing_moves():
    words = texts()
    made = score.replaced(words, one_token(words), 20, 30, 10, seed=1)
    assert made.texts.item.nunique() == 40 and made.reach == 30
    for place in range(20):
        plain, other = (made.texts[made.texts["item"] == f"{place}.{k}"] for k in (0, 1))
        differs = plain.word.to_numpy() != other.word.to_numpy()
        assert differs.sum() == 1
        mine = made.place == place
        at = plain.index[differs][0]
        assert list(made.first[mine]) == list(at + made.distance[mine])
        assert list(made.again[mine] - made.first[mine]) == [len(plain)] * 30


def test_the_seed_alone_draws_and_the_token_count_is_kept():
    words = texts()
    tokens = words.word.str.len().to_numpy()
    a, b = (score.replaced(words, tokens, 20, 30, 10, seed=1).texts for _ in range(2))
    assert a.equals(b)
    assert not a.equals(score.replaced(words, tokens, 20, 30, 10, seed=2).texts)
    lengths = a.assign(size=a.word.str.len(), pair=a.item.str[:-2], version=a.item.str[-1])
    one, two = (lengths[lengths.version == v]["size"].to_numpy() for v in "01")
    assert (one == two).all()


def test_a_place_read_as_another_number_of_tokens_is_left_out():
    words = texts()

    def scored(table):
        bits, tokens = fading(2)(table)
        tokens[(table["item"] == "4.1").to_numpy()] = 2
        return bits, tokens

    found = score.changes(words, one_token(words), scored, 20, 30, 10, seed=1)
    assert set(found.place) == set(range(20)) - {4}


def test_short_texts_shorten_the_reach_and_too_short_ones_are_refused():
    words = texts(items=30, length=6)
    assert score.replaced(words, one_token(words), 20, 256, 32, seed=1).reach == 5
    single = texts(items=30, length=1)
    with pytest.raises(InputError, match="too short"):
        score.replaced(single, one_token(single), 20, 256, 32, seed=1)
    alike = words.assign(word="a")
    with pytest.raises(InputError, match="of 180 words can be replaced"):
        score.replaced(alike, one_token(alike), 20, 256, 32, seed=1)


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer([" ".join(VOCABULARY)] * 2)


def opened(tokenizer, bias):
    network = architectures.new(TINY, bias, tokenizer.get_vocab_size(), seed=0)
    return Model(network.eval(), tokenizer)


def memory_of(model, reach):
    words = texts(items=2, length=60)

    def scored(table):
        result = score_words(table, model, bos=False)
        return result.table.surprisal_bits.to_numpy(float), result.table.tokens.to_numpy()

    found = score.changes(words, score.tokens_of(words, model), scored, 10, reach, 4, seed=1)
    return half_life.measured(found)


def test_a_window_of_attention_sees_so_far_and_not_a_word_further(tokenizer):
    """Two layers with a window of 3 tokens see 4 tokens before the one that predicts."""
    memory = memory_of(opened(tokenizer, {"form": "window", "width": 3}), reach=20)
    assert memory.effect[0] > 1e-4  # the word before
    assert memory.effect[6:].max() < 1e-5  # words have a token or more: none of these is seen
    whole = memory_of(opened(tokenizer, NONE), reach=20)
    assert whole.effect[6:].min() > 1e-5 and whole.half_within > memory.half_within


def test_no_memory_has_no_half_life_and_says_so(tmp_path):
    rows = pd.DataFrame({"place": [0, 0, 1, 1], "distance": [1, 2, 1, 2], "change_bits": 0.0})
    memory = half_life.measured(rows)
    assert np.isnan(memory.half_life) and view.interval(memory) == "–"


def test_a_change_that_no_drawn_mean_shows_is_none():
    """One distance has 2e-4 bits, which the mean of its half octave hides."""
    effect = np.zeros(64)
    effect[60] = 1.1 * view.SMALLEST
    memory = half_life.Memory(np.arange(1, 65), *(effect,) * 3, *(3.0,) * 7, 20)
    lm = LM("a", "no bias", {"form": "none"}, "none")
    seen = half_life.Memory(np.arange(1, 65), *(np.full(64, 0.5),) * 3, *(3.0,) * 7, 20)
    figure = view.draw({"a": memory, "b": seen}, [lm, LM("b", "other", {"form": "none"}, "none")])
    assert [line.get_label() for line in figure.axes[0].lines if len(line.get_xdata()) > 2]
    assert len(figure.axes[0].texts) == 1


def test_of_many_lms_a_bias_put_on_at_inference_has_a_panel_of_its_own():
    plain = LM("a", "no bias", {"form": "none"}, "none")
    both = [
        LM(f"{n}-{applied}", f"ALiBi-{n}", {"form": "linear", "slopes": n}, applied)
        for applied in ("training", "inference")
        for n in range(1, 6)
    ]
    trained, added = both[:5], both[5:]
    assert list(view.panels([plain, *both[:9]]).values()) == [[plain, *both[:9]]]
    assert list(view.panels([plain, *both]).values()) == [[plain, *trained], [plain, *added]]
    life = half_life.Memory(np.arange(1, 9), *(np.full(8, 0.5),) * 3, *(3.0,) * 7, 20)
    drawn = view.draw({lm.lm: life for lm in [plain, *both]}, [plain, *both])
    upper, lower = drawn.axes
    assert [len(axes.texts) for axes in (upper, lower)] == [6, 6]  # each named once in its panel


def test_figure_and_table_of_two_memories(tmp_path):
    lms = [
        {"lm": "a", "label": "no bias", "bias": {"form": "none"}, "applied": "none"},
        {
            "lm": "b",
            "label": "window",
            "bias": {"form": "window", "width": 2},
            "applied": "training",
        },
    ]
    words, files = texts(), []
    for name, life in (("a", 30), ("b", 2)):
        found = score.changes(words, one_token(words), fading(life), 20, 64, 16, seed=3)
        found.to_parquet(path := tmp_path / f"{name}.parquet")
        files.append(path)
    drawn = [tmp_path / f"figure.{end}" for end in ("svg", "csv")]
    show(view.figure_measured_memory, memories=files, out=drawn, lms=lms)
    assert len(pd.read_csv(drawn[1])) == 2 * 64
    set_out = [tmp_path / f"table.{end}" for end in ("csv", "html", "tex")]
    show(view.table_measured_memory, memories=files, out=set_out, lms=lms)
    found = pd.read_csv(set_out[0]).set_index("lm")
    assert found.half_life_words.to_dict() == pytest.approx({"a": 30, "b": 2}, rel=0.005)
    assert "30 (30 to 30)" in set_out[1].read_text()
    assert found.half_life_identified.all() and "22 (22 to 22)" in set_out[1].read_text()
    assert found.half_life_floor_bits.tolist() == pytest.approx([0, 0], abs=0.01)
    assert (found.half_within_low <= found.half_within_words).all()
    assert (found.half_within_words <= found.half_within_high).all()


def test_of_several_seeds_the_mean_is_measured_and_the_interval_knows_them(tmp_path):
    words, seeds = texts(), []
    for life in (4, 30):
        seeds.append(score.changes(words, one_token(words), fading(life), 20, 64, 16, seed=3))
    short, long = (half_life.measured(each) for each in seeds)
    both = half_life.measured(*seeds)
    np.testing.assert_allclose(both.effect, (short.effect + long.effect) / 2)
    assert short.half_within < both.half_within < long.half_within
    assert both.replacements == short.replacements
    # Within a seed the words hardly differ; two seeds that differ so much leave new ones open.
    assert long.is_identified and not both.is_identified
    assert (both.high - both.low > 5 * (long.high - long.low)).all()
    with pytest.raises(InputError, match="not measured at the same words"):
        half_life.measured(seeds[0], seeds[1][seeds[1].place > 0])
    files = [tmp_path / f"{n}.parquet" for n in range(2)]
    for path, found, units in zip(files, seeds, (1.0, 3.0), strict=True):
        found.attrs["unit_half_lives"] = [units] * 3
        found.to_parquet(path)
    found = view.read(files, ["a", "a"])
    assert list(found) == ["a"]
    np.testing.assert_array_equal(found["a"].high, both.high)
    assert found["a"].half_within == both.half_within and found["a"].units == [2.0] * 3


@pytest.mark.merge
def test_delta_loglik_by_half_life(tmp_path):
    """LMs at their true half-lives; one whose half-life is not identified is listed below."""
    lms, files, words = [], [], texts()
    for name, bias, life in (
        ("a", {"form": "none"}, 30),
        ("b", {"form": "linear", "slopes": 0.25}, 2),
        ("c", {"form": "linear", "slopes": 16}, 0.02),
        ("d", {"form": "fofe", "decay": 0.7}, 3),
        ("e", {"form": "fofe", "decay": 0, "window": 5}, 1),
        ("f", {"form": "lstm"}, 5),
    ):
        applied = "none" if name in "adef" else "training"
        of = {"network": {"memory": bias}, "bias": {"form": "none"}} if name in "def" else {}
        lms.append({"lm": name, "label": f"LM {name}", "bias": bias, "applied": applied} | of)
        found = score.changes(words, one_token(words), fading(life), 20, 64, 16, seed=3)
        if name == "d":
            found.attrs["unit_half_lives"] = [1.0, 1.94, 2.0]
        found.to_parquet(tmp_path / f"{name}.parquet")
        files.append(tmp_path / f"{name}.parquet")
    about = {
        "dataset": "d",
        "measure": "SPR",
        "base": "all",
        "endpoint": "crossed",
        "n": 9,
        "converged": True,
    }
    rows = [about | {"lm": lm["lm"], "delta_loglik": 10.0 * n} for n, lm in enumerate(lms)]
    pd.DataFrame(rows).to_csv(tmp_path / "delta.csv", index=False)
    pd.DataFrame(columns=interval_files.COLUMNS).to_csv(tmp_path / "sure.csv", index=False)
    out = [tmp_path / "figure.svg", tmp_path / "figure.csv"]
    show(view.figure_half_life, 
        memories=files, delta_loglik=tmp_path / "delta.csv", intervals=tmp_path / "sure.csv",
        out=out, lms=lms, variants=lms, responses=[{"dataset": "d", "measure": "SPR", "label": "D"}],
        baseline="a",
    )  # fmt: skip
    found = pd.read_csv(out[1]).set_index("lm")
    assert found.half_life_words[["a", "b"]].tolist() == pytest.approx([30, 2], rel=0.005)
    assert found.delta_loglik.tolist() == [0, 10, 20, 30, 40, 50]
    assert found.kind.tolist() == [
        *("attention", "biased attention", "biased attention"),
        *("fading", "window of words", "gated"),
    ]
    assert (found.stated_half_life_tokens["d"], found.window_tokens["e"]) == (1.94, 5)
    assert found.stated_half_life_tokens[["b", "c"]].tolist() == pytest.approx(
        [np.log(2) / 0.25, np.log(2) / 16]
    )
    assert np.isnan(found.stated_half_life_tokens["a"]) and np.isnan(found.half_life_words["c"])
    assert (found.half_life_low["c"], found.half_life_identified["c"]) == (0, False)
    assert (found.half_within_words["b"], found.half_within_low["b"]) == (3, 3)
    assert {"label a", "label b"} <= set(re.findall(r'id="(label \w)"', out[0].read_text()))
    drawn = out[0].read_text()
    assert "label c" not in drawn and {'id="stated d"', 'id="window e"'} <= set(
        re.findall(r'id="(?:stated|window) \w"', drawn)
    )
    tests = pd.DataFrame(
        [["fading", "gated", "all", "all", 9, 2.0, 1.0, 1.0, 0.03, 99, 0.02, 0.03, 0.03, 0.01]],
        columns=permutation.COLUMNS,
    )
    tests.to_csv(tmp_path / "kinds.csv", index=False)
    made = [[tmp_path / f"{stem}.{end}" for end in ("csv", "html", "tex")] for stem in ("t", "k")]
    show(view.table_half_life, 
        memories=files, delta_loglik=tmp_path / "delta.csv", intervals=tmp_path / "sure.csv",
        kinds=tmp_path / "kinds.csv", out=made[0], out_kinds=made[1], lms=lms, variants=lms,
        responses=[{"dataset": "d", "measure": "SPR", "label": "D"}],
    )  # fmt: skip
    rows = pd.read_csv(made[0][0])
    assert rows.lm.tolist() == ["e", "d", "f", "a", "c", "b"]  # by kind, the best first
    assert rows.stated.tolist()[:2] == ["window of 5", "1.9 (1 to 2)"]
    assert rows.half_within.tolist()[-1] == "3 (3 to 3)"
    assert rows.half_life.tolist()[4] == "< 0.1"
    assert "<b>gated</b>" in made[1][1].read_text()
