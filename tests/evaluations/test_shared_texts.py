"""Responses that share texts, and sentences of texts: identity, and intervals that hold."""

import numpy as np
import pandas as pd
import pytest

from crosslmm import factors
from crosslmm.stats.crossed_samples import Scores, Tables, clustered, of_texts, two_way
from recency.evaluations.reading_times import delta_loglik, permutation, seeds, shared_texts

LONG = ["The old clock stopped at noon today.", "Nobody in the village had noticed it."]


def words(path, texts):
    """Write words of texts (item → sentences); sentences are numbered from 0."""
    rows, number = [], 0
    for item, sentences in texts.items():
        for sentence in sentences:
            rows += [(item, number, word) for word in sentence.split()]
            number += 1
    pd.DataFrame(rows, columns=["item", "sentence", "word"]).to_parquet(path)
    return path


@pytest.fixture
def found(tmp_path):
    return shared_texts.find({
        "spr": words(tmp_path / "spr", {"a": [LONG[0], "He left.", "He left."], "b": ["Quite another story was told."]}),
        "eyes": words(tmp_path / "eyes", {"7": ["Not read elsewhere, this long one."], "8": ["he left", LONG[0].upper()]}),
        "other": words(tmp_path / "other", {"a": [LONG[1], "He left."]}),
    })  # fmt: skip


def test_sentences_are_the_same_by_their_letters_within_the_same_text(found):
    spr, eyes, other = found["spr"], found["eyes"], found["other"]
    assert spr.sentence["0"] == eyes.sentence["2"]  # punctuation and case aside
    assert (
        spr.sentence["1"] == eyes.sentence["1"] != spr.sentence["2"]
    )  # the second of two is another
    assert eyes.text["1"] == spr.text["0"] and eyes.text["0"] != spr.text["3"]
    assert other.sentence["1"] != spr.sentence["1"]  # short, and of another text
    assert spr.sample == eyes.sample != other.sample


def test_cells_of_larger_units_have_the_text_s_key(found):
    cells = pd.DataFrame({"subject": ["s1"], "sentence": ["a"], "n": [3], "delta_loglik": [1.0]})
    cells.attrs["unit"] = "item"
    placed = found["spr"].placed(cells, "spr")
    assert placed.text[0] == placed.sentence[0] == found["eyes"].text["2"]
    cells.attrs["unit"] = "frame"
    odd = found["spr"].placed(cells, "spr")
    assert odd.sentence[0] == "spr\tframe\ta" and odd.subject[0] == "spr\ts1"


def test_an_item_that_has_a_sentence_s_number_is_not_that_sentence(tmp_path):
    path = words(tmp_path / "w", {"1": [LONG[0], LONG[1]], "2": ["Quite another story was told."]})
    places = shared_texts.find({"d": path})["d"]
    cells = pd.DataFrame({"subject": "s", "sentence": ["1", "2"], "n": 1, "delta_loglik": 1.0})
    assert places.placed(cells, "d").text.nunique() == 2  # sentences of both texts
    assert (places.placed(cells, "d").text == [places.of_item["1"], places.of_item["2"]]).all()
    cells.attrs["unit"] = "item"
    by_item = places.placed(cells, "d")
    assert list(by_item.sentence) == [places.of_item["1"], places.of_item["2"]]


def test_cells_of_items_that_are_one_text_are_added(tmp_path):
    path = words(
        tmp_path / "w", {"1": LONG, "2": [LONG[0]], "3": ["Quite another story was told."]}
    )
    places = shared_texts.find({"d": path})["d"]
    cells = pd.DataFrame({"subject": list("ssstttuuu"), "sentence": list("123") * 3, "n": 1})
    cells["delta_loglik"] = [3.0, 1.0, 2.0, 4.0, 0.0, 1.0, 2.0, 5.0, 1.0]
    cells.attrs["unit"] = "item"
    tables, by_hand = Tables(), Tables()
    tables.add(("a",), "d", places.placed(cells, "d"))
    together = cells.replace({"sentence": {"2": "1"}})
    together = together.groupby(["subject", "sentence"], as_index=False).sum()
    by_hand.add(("a",), "d", together)
    (found,), (expected,) = tables.scores().values(), by_hand.scores().values()
    assert found.ends() == pytest.approx(expected.ends(), nan_ok=True)
    assert found.value == expected.value == 19


def test_conditions_of_a_stimulus_are_one_text(tmp_path):
    """Versions of one stimulus that share no sentence, in two datasets with the same items."""
    found = {}
    for name, order in (("spr", 1), ("maze", -1)):
        texts = {
            "1 high": [LONG[0]],
            "1 low": [LONG[1]],
            "2 high": ["Quite another story was told."],
        }
        table = pd.read_parquet(words(tmp_path / name, dict(list(texts.items())[::order])))
        table.assign(stimulus=table["item"].str[0]).to_parquet(tmp_path / name)
        found[name] = tmp_path / name
    spr, maze = shared_texts.find(found).values()
    assert spr.of_item["1 high"] == spr.of_item["1 low"] != spr.of_item["2 high"]
    assert (
        spr.of_stimulus
        == maze.of_stimulus
        == {"1": spr.of_item["1 low"], "2": spr.of_item["2 high"]}
    )
    cells = pd.DataFrame({"subject": "s", "sentence": ["1", "2"], "n": 2, "delta_loglik": 1.0})
    cells.attrs["unit"] = "stimulus"
    assert list(spr.placed(cells, "spr").text) == list(spr.of_stimulus.values())


@pytest.fixture
def paired(tmp_path):
    """Thirty stimuli in two conditions, with effects of their own: words, and cells by sentence and by hand."""
    texts = {f"{k}{c}": [f"{LONG[0]} {'x' * k} {c}"] for k in range(30) for c in "ab"}
    path = words(tmp_path / "words.parquet", texts)
    table = pd.read_parquet(path)
    table.assign(stimulus=table["item"].str[:-1]).to_parquet(path)
    random = np.random.default_rng(3)
    effects = np.repeat(random.normal(0, 3, 30), 2)
    part = response(random, effects, 12, noise=0.1)
    return path, part, part.assign(sentence=part.sentence // 2)


def test_intervals_given_the_fits_draw_the_conditions_of_a_stimulus_together(paired):
    path, part, by_hand = paired
    places = shared_texts.find({"spr": path})
    cells = [{"lm": "a", "dataset": "spr", "measure": "t", "design": "d"}]

    def width(part, places):
        (total,) = delta_loglik.totals(cells, [part], False, 4000, places=places).values()
        ends = total.ends()
        return ends["high"] - ends["low"]

    assert width(part, places) == pytest.approx(width(by_hand, None), rel=0.05)
    assert width(part, places) > 1.3 * width(part, None)


UNIQUE = [f"{LONG[1]} {'y' * k}" for k in range(40)]
COMMON = [f"{LONG[0]} {'x' * k}" for k in range(60)]


def given_fits(tmp_path, spr, eyes, is_shared=True):
    """Return ΔLogLik given the fits of two datasets with these sentences, whose effects are the same."""
    effects = dict(zip(COMMON + UNIQUE, np.random.default_rng(4).normal(0.5, 1, 100), strict=True))
    cells, parts, files, sums = [], [], {}, []
    for name, sentences in (("spr", spr), ("eyes", eyes)):
        texts = {f"{name} {n}": [sentence] for n, sentence in enumerate(sentences)}
        files[name] = words(tmp_path / f"{name}.parquet", texts)
        values = np.array([effects[sentence] for sentence in sentences])
        subject, sentence = (index.ravel() for index in np.indices((12, len(values))))
        part = {"subject": subject, "sentence": sentence, "delta_loglik": np.tile(values, 12)}
        parts.append(pd.DataFrame(part))
        cells.append({"lm": "a", "dataset": name, "measure": "t", "design": "d"})
        sums.append(pd.Series(12 * (values - values.mean()), sentences))
    places = shared_texts.find(files) if is_shared else None
    drawn = delta_loglik.totals(cells, parts, False, 20_000, 1, places)
    return list(drawn.values()), sums


@pytest.mark.parametrize(
    ("spr", "eyes"),
    [(COMMON, COMMON), (COMMON, COMMON[::-1]), (COMMON[:50] + UNIQUE, COMMON[30:])],
)
def test_intervals_given_the_fits_draw_shared_sentences_together(tmp_path, spr, eyes):
    """The sum has the standard error of the sentences' sums, each dataset its own."""
    (one, other), sums = given_fits(tmp_path, spr, eyes)
    whole = sums[0].add(sums[1], fill_value=0.0)
    assert (one + other).se("sentence") == pytest.approx(np.linalg.norm(whole), rel=0.03)
    for total, of_dataset in zip((one, other), sums, strict=True):
        assert total.se("sentence") == pytest.approx(np.linalg.norm(of_dataset), rel=0.03)
        assert total.drawn["sentence"].mean() == pytest.approx(total.value, abs=5)
    (one, other), _ = given_fits(tmp_path, spr, eyes, is_shared=False)
    assert (one + other).se("sentence") < 0.9 * np.linalg.norm(whole)


def test_datasets_without_common_texts_have_the_draws_of_their_own_sentences(tmp_path):
    apart, _ = given_fits(tmp_path, COMMON, UNIQUE, is_shared=False)
    for expected, total in zip(apart, given_fits(tmp_path, COMMON, UNIQUE)[0], strict=True):
        for cluster, drawn in expected.drawn.items():
            assert np.array_equal(drawn, total.drawn[cluster])


def test_readers_are_other_ones_and_a_single_sentence_has_no_interval_in_a_dataset(tmp_path):
    apart, _ = given_fits(tmp_path, COMMON, COMMON, is_shared=False)
    together, _ = given_fits(tmp_path, COMMON, COMMON)
    for expected, total in zip(apart, together, strict=True):
        assert np.array_equal(expected.drawn["subject"], total.drawn["subject"])
    (one, single), _ = given_fits(tmp_path, COMMON, COMMON[:1])
    assert np.isfinite(one.se("sentence")) and np.isnan(single.ends()["low_sentence"])


def test_tests_of_errors_have_the_conditions_of_a_stimulus_in_one_cluster(paired):
    path, part, by_hand = paired
    places = shared_texts.find({"spr": path})

    def tested(frame, places):
        groups = {name: factors.levels(frame[name]) for name in permutation.CLUSTERS}
        errors = permutation.Errors(frame.delta_loglik.to_numpy() + 2, groups)
        flat = permutation.Errors(np.ones(len(frame)), groups)
        return permutation.compare([("spr", errors, flat)], 4000, 0, places=places)

    found, expected, apart = tested(part, places), tested(by_hand, None), tested(part, None)
    assert found["p"] == pytest.approx(expected["p"])
    assert found["p_sentence"] == expected["p_sentence"] > 1.2 * apart["p_sentence"]


def test_components_of_seeds_have_a_stimulus_as_an_item(paired, tmp_path, monkeypatch):
    path, part, _ = paired
    frames = [part, part.assign(delta_loglik=part.delta_loglik + 0.01 * part.subject)]
    monkeypatch.setattr(delta_loglik, "read_parts", lambda *_: frames)
    folder = tmp_path / "spr"
    folder.mkdir()
    cells = [
        {"lm": "a", "but_for_seed": "a", "seed": k, "dataset": "spr", "measure": "t", "design": "d"}
        for k in (1, 2)
    ]
    named = path.rename(folder / "words.parquet")
    seeds.main([], [], tmp_path / "seeds.csv", cells=cells, words=[named])
    (row,) = pd.read_csv(tmp_path / "seeds.csv").itertuples()
    assert row.sentences == 30
    sums = part.groupby(part.sentence // 2).delta_loglik.sum()
    assert row.se_sentences == pytest.approx(np.sqrt(30) * sums.std(), rel=0.01)


def response(random, effects, readers, noise=1.0):
    """Return cells of readers who differ, of sentences that have effects of their own."""
    R, S = readers, len(effects)
    values = effects + random.normal(0, 0.3, (R, 1)) + random.normal(0, noise, (R, S))
    subject, sentence = (index.ravel() for index in np.indices((R, S)))
    return pd.DataFrame(
        {"subject": subject, "sentence": sentence, "n": 1, "delta_loglik": values.ravel()}
    )


@pytest.mark.merge
def test_responses_that_share_sentences_reject_five_in_a_hundred(tmp_path):
    """Two responses whose words have the same effects, no lead: 11 % if the sentences were taken for others."""
    sentences = [f"{LONG[0]} {'x' * k}" for k in range(24)]
    texts = {f"t{k}": [sentence] for k, sentence in enumerate(sentences)}
    files = {name: words(tmp_path / name, texts) for name in ("spr", "eyes")}
    places = shared_texts.find(files)
    random, rejected, repeats = np.random.default_rng(1), {"shared": 0, "apart": 0}, 400
    cells = [{"lm": "a", "dataset": name, "measure": "t", "design": "d"} for name in files]
    for _ in range(repeats):
        effects = random.normal(0, 0.4, len(sentences))
        parts = [response(random, effects, readers) for readers in (16, 10)]
        for name, known in (("shared", places), ("apart", None)):
            one, two = delta_loglik.totals(cells, parts, True, places=known).values()
            ends = (one + two).ends()
            rejected[name] += not ends["low"] < 0 < ends["high"]
    assert 0.02 < rejected["shared"] / repeats < 0.08 < rejected["apart"] / repeats


@pytest.mark.parametrize(("texts", "each"), [(8, 4), (10, 20)])
def test_sentences_of_a_text_that_are_alike_reject_five_in_a_hundred(texts, each):
    """By texts where these vary, by sentences where they don't: the larger variance is right in both."""
    random, repeats = np.random.default_rng(2), 600
    of_sentence = np.repeat(np.arange(texts), each)

    def share(by_text, by_sentence, variance):
        rejected = 0
        for _ in range(repeats):
            values = random.normal(0, by_text, texts)[of_sentence] + random.normal(
                0, by_sentence, texts * each
            )
            values = (
                values + random.normal(0, 0.2, (30, 1)) + random.normal(0, 1, (30, texts * each))
            )
            total, centred = values.sum(), values - values.mean()
            score = Scores(
                total, values.size, {"d": centred}, texts={"d": of_sentence} if variance else {}
            )
            ends = score.ends()
            rejected += not ends["low"] < 0 < ends["high"]
        return rejected / repeats

    assert share(0.3, 0.2, variance=False) > 0.12
    assert 0.02 < share(0.3, 0.2, variance=True) < 0.08
    assert 0.015 < share(0.0, 0.4, variance=True) < 0.08


def test_the_larger_variance_counts():
    random = np.random.default_rng(3)
    texts = np.repeat(np.arange(6), 5)
    alike = random.normal(0, 1, 6)[texts] + random.normal(0, 0.1, (12, 30))
    alike -= alike.mean()
    assert clustered(alike, texts) == two_way(of_texts(alike, texts)) > clustered(alike)
    unlike = random.normal(0, 1, 30) + random.normal(0, 0.1, (12, 30))
    unlike -= unlike.reshape(12, 6, 5).mean(2).repeat(5, 1)  # texts do not differ
    assert clustered(unlike, texts) == two_way(unlike)
    assert clustered(alike, np.zeros(30, int)) == two_way(alike)  # a single text


def test_readers_and_sentences_of_another_dataset_in_the_sample_do_not_count():
    """The few readers of one response are few, however many the other has."""
    random, tables = np.random.default_rng(4), Tables()
    few, many = response(random, np.zeros(9), 4), response(random, np.zeros(30), 80)
    named = [
        part.assign(subject=[f"{k}{s}" for s in part.subject])
        for k, part in (("f", few), ("m", many))
    ]
    tables.add(("a", "few"), "both", named[0])
    tables.add(("a", "many"), "both", named[1])
    alone = Tables()
    alone.add(("a", "few"), "few", few)
    expected = alone.scores()["a", "few"].ends()
    found = tables.scores()["a", "few"].ends()
    assert {k: found[k] for k in ("low", "high", "se")} == pytest.approx(
        {k: expected[k] for k in ("low", "high", "se")}
    )
