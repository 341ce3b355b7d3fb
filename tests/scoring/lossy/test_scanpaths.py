"""Contexts of readers against loops over fixations and subsets, a network call each."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from test_lossy_surprisal import NETWORKS, log_probabilities, masked, network  # noqa: F401

import recency
from recency.errors import REFUSALS, InputError
from recency.scoring import ngram
from recency.scoring.lossy import context_trees, scanpaths
from recency.scoring.surprisal import Model, score_words
from small_networks import byte_tokenizer

TEXTS = ["The cats’ well-known friend saw it.", "So it goes on, Naïve one."]
#: The words of each text that a reader fixates, in order: skips, regressions to skipped and to
#: fixated words, and refixations.
PATHS = {"a": ([0, 2, 1, 3, 5, 5], [0, 1, 2, 3, 4]), "b": ([1, 4, 3, 0, 5], [2, 2, 4, 3])}


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer([*TEXTS], 300)


def fixations(paths=PATHS):
    rows = []
    for subject, texts in paths.items():
        for item, path in enumerate(texts):
            for order, word in enumerate(path):
                onset = 250 * order + 10 * word
                rows.append(
                    (subject, str(item + 1), order + 1, 6 * item + word, onset, 200 + order)
                )
    names = ["subject", "item", "order", "word_id", "onset_ms", "duration_ms"]
    return pd.DataFrame(rows, columns=names).sample(frac=1, random_state=1)


def seen_before(path, skipped, span, age, asked=None):
    """Return word → {context word: its age}, by a loop over pairs of fixations."""
    onset = [250 * order + 10 * word for order, word in enumerate(path)]
    onset.append(onset[-1] + 200 + len(path) - 1)  # the end of the last fixation
    contexts = {}
    for word in path if asked is None else asked:
        later = [place for place, at in enumerate(path) if at > word]
        place = path.index(word) if word in path else min([*later, len(path)])
        # Context word → fixation in which it was last seen, -1: before the first one.
        last = dict.fromkeys(range(path[0]), -1) if skipped == "seen" else {}
        for n in range(place):
            for j in range(path[n], path[n] + span + 1):
                last[j] = n
            if skipped == "seen" and n + 1 < len(path):  # jumped over by the next saccade
                last |= {j: n for j in range(path[n + 1]) if j not in last}
        ages = {}
        for j, n in last.items():
            end = onset[n] + 200 + n if n >= 0 else onset[0]
            of_unit = {"words": word - j, "fixations": place - n, "ms": max(1, onset[place] - end)}
            ages[j] = of_unit[age]
        contexts[word] = {j: ages[j] for j in sorted(ages) if j < word}
    return contexts


def brute_force(surprisal, settings, retention, of="own"):
    """Return (subject, word_id) → expected bits over every subset of the reader's context."""
    bits = {}
    for subject, texts in PATHS.items():
        for item, path in enumerate(texts):
            seen_by = PATHS[{"a": "b", "b": "a"}[subject]][item] if of == "another" else path
            for word, ages in seen_before(seen_by, **settings, asked=path).items():
                total = 0.0
                for kept in itertools.product([0, 1], repeat=len(ages)):
                    weight = math.prod(
                        retention(d) if k else 1 - retention(d) for k, d in zip(kept, ages.values())
                    )
                    if weight:
                        context = [j for k, j in zip(kept, ages) if k]
                        total += weight * surprisal(item, context, word)
                bits[subject, 6 * item + word] = total / math.log(2)
    return bits


def compare(table, expected, tolerance=1e-6):
    computed = table.set_index(["subject", "word_id"]).surprisal_bits
    assert set(computed.index) == set(expected)
    np.testing.assert_allclose(computed, [expected[key] for key in computed.index], atol=tolerance)


def of_network(model, tokenizer):
    """Return the surprisal (nats) of a word after some words of its text, in one network call."""
    words = [
        [tokenizer.encode(" " * (n > 0) + w).ids for n, w in enumerate(t.split())] for t in TEXTS
    ]

    def surprisal(item, context, word):
        before = [0, *(token for j in context for token in words[item][j])]
        log = log_probabilities(model, before + words[item][word])
        places = len(before) - 1 + np.arange(len(words[item][word]))
        return -sum(log[at, token] for at, token in zip(places, words[item][word]))

    return surprisal


SETTINGS = [
    {"skipped": skipped, "span": span, "age": age}
    for skipped in ("absent", "seen") for span in (0, 1) for age in ("words", "fixations", "ms")
]  # fmt: skip
FORMS = {
    "words": ({"form": "exponential", "half_life": 2}, lambda d: 0.5 ** ((d - 1) / 2)),
    "fixations": ({"form": "power_law", "exponent": 0.8}, lambda d: d**-0.8),
    "ms": (
        {"form": "power_law", "exponent": 0.5, "buffer": 100},
        lambda d: max(1, d / 100) ** -0.5,
    ),
}


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_every_option_with_and_without_retention(settings, tokenizer):
    model = network("GPT-NeoX", tokenizer.get_vocab_size())
    opened, surprisal = Model(model, tokenizer), of_network(model, tokenizer)
    whole = score_words(TEXTS, opened, scanpath=fixations(), reader=settings).table
    compare(whole, brute_force(surprisal, settings, lambda d: 1.0))
    assert (whole.surprisal_standard_error_bits == 0).all()
    erasure, retention = FORMS[settings["age"]]
    lossy = {"erasure": erasure, "samples": 64}
    lost = score_words(TEXTS, opened, scanpath=fixations(), reader=settings, lossy=lossy).table
    compare(lost, brute_force(surprisal, settings, retention))


@pytest.mark.merge
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_fixations_of_another_reader(settings, tokenizer):
    """Words that the other one never fixated have the context of passing them, or of the end."""
    model = network("GPT-NeoX", tokenizer.get_vocab_size())
    opened, surprisal = Model(model, tokenizer), of_network(model, tokenizer)
    erasure, retention = FORMS[settings["age"]]
    given = {"scanpath": fixations(), "reader": settings | {"of": "another"}}
    lossy = {"erasure": erasure, "samples": 64}
    table = score_words(TEXTS, opened, **given, lossy=lossy).table
    compare(table, brute_force(surprisal, settings, retention, "another"))
    own = score_words(TEXTS, opened, scanpath=fixations(), reader=settings).table
    columns = ["subject", "word_id", "previous_word_id"]
    pd.testing.assert_frame_equal(table[columns], own[columns])


@pytest.mark.parametrize("readers", [2, 3, 40])
def test_nobody_is_given_their_own_fixations(readers):
    for seed in range(20):
        others = scanpaths.draw_others(readers, np.random.default_rng(seed))
        assert sorted(others) == list(range(readers)) and (others != np.arange(readers)).all()


def test_a_text_of_a_single_reader_has_no_other_one(tokenizer):
    opened = Model(network("GPT-2", tokenizer.get_vocab_size()), tokenizer)
    few = fixations()
    few = few[(few.subject == "a") | (few.item == "1")]
    with pytest.raises(InputError, match="the text 2 has been read by subject a alone"):
        score_words(TEXTS, opened, scanpath=few, reader={"of": "another"})


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("nodes", [4, 512])
def test_every_network_in_trees(name, nodes, tokenizer, monkeypatch):
    """Also in trees that are cut after a few tokens; only forms that see the length read windows."""
    monkeypatch.setattr(context_trees, "NODES", nodes)
    read = []
    fill = context_trees.Trees.fill
    monkeypatch.setattr(context_trees.Trees, "fill", lambda *a: read.append(fill(*a)) or read[-1])
    model = network(name, tokenizer.get_vocab_size())
    settings = {"skipped": "absent", "span": 0, "age": "words"}
    table = score_words(TEXTS, Model(model, tokenizer), scanpath=fixations()).table
    compare(table, brute_force(of_network(model, tokenizer), settings, lambda d: 1.0))
    assert read == [name != "primacy"] * len(read) != []


def test_a_reader_who_skips_nothing_has_the_plain_surprisal(tokenizer):
    """With whole words seen, skipped ones too, as in float32; corrections and tokens are the same."""
    opened = Model(network("GPT-2", tokenizer.get_vocab_size()).float(), tokenizer)
    plain = recency.surprisal(TEXTS, opened)
    paths = {"s": (range(6), range(6)), "t": ([0, 3, 5], [1, 5])}
    table = recency.surprisal(TEXTS, opened, scanpath=fixations(paths), reader={"skipped": "seen"})
    assert table.columns[:5].tolist() == ["subject", "item", "position", "word", "word_id"]
    expected = plain.loc[table.word_id, ["surprisal_bits", "corrected_bits", "tokens"]]
    columns = ["surprisal_bits", "corrected_bits", "tokens"]
    np.testing.assert_allclose(table[columns], expected, atol=2e-5)
    assert table[table.subject == "t"].previous_word_id.tolist() == [-1, 0, 3, -1, 7]
    assert table[table.subject == "t"].word.tolist() == ["The", "friend", "it.", "it", "one."]


@pytest.mark.parametrize("skipped", ["masked", "absent"])
def test_a_masked_lm(skipped, masked):  # noqa: F811
    texts, begin, mask, end = ["the old dog saw a cat.", "a new one saw the old"], [0], 4, [2]
    table = score_words(
        texts, masked, scanpath=fixations(), reader={"skipped": skipped}, future="removed"
    ).table
    tokens = [
        [masked.tokenizer.encode(w, add_special_tokens=False).ids for w in t.split()] for t in texts
    ]

    def surprisal(item, context, word):
        before = []
        for j in range(word):
            if j in context:
                before += tokens[item][j]
            elif skipped == "masked":
                before += [mask] * len(tokens[item][j])
        target, total = tokens[item][word], 0.0
        for n, token in enumerate(target):
            ids = [*begin, *before, *target[:n], *[mask] * (len(target) - n), *end]
            log = log_probabilities(masked.network, ids)
            total -= log[len(begin) + len(before) + n, token]
        return total

    settings = {"skipped": "absent", "span": 0, "age": "words"}
    compare(table, brute_force(surprisal, settings, lambda d: 1.0), 2e-6)  # logits in float32


def test_an_ngram_model(tmp_path):
    words = sorted({word for text in TEXTS for word in text.split()})
    pairs = ["<s> The", "The friend", "saw it.", "The saw", "So on,", "well-known friend"]
    unigrams = [f"-{1 + n / 10:.1f}\t{word}\t-0.{n % 9}" for n, word in enumerate(words)]
    unigrams += ["-99\t<s>\t-0.5", "-1.5\t</s>", "-3\t<unk>"]
    bigrams = [f"-0.{n + 1}\t{pair}" for n, pair in enumerate(pairs)]
    arpa = tmp_path / "2.arpa"
    head = f"\\data\\\nngram 1={len(unigrams)}\nngram 2={len(bigrams)}\n\n\\1-grams:\n"
    parts = [head, "\n".join(unigrams), "\n\n\\2-grams:\n", "\n".join(bigrams), "\n\n\\end\\\n"]
    arpa.write_text("".join(parts))

    def surprisal(item, context, word):
        stream = [TEXTS[item].split()[j] for j in (*context, word)]
        return -ngram.score(arpa, [stream], True)[0].log10[-1] * math.log(10)

    for settings in SETTINGS:
        table = score_words(TEXTS, arpa, scanpath=fixations(), reader=settings).table
        compare(table, brute_force(surprisal, settings, lambda d: 1.0))
    with pytest.raises(InputError, match="reads only the last"):
        score_words(TEXTS, arpa, scanpath=fixations(), lossy={"erasure": FORMS["words"][0]})


def test_distinct_contexts_are_scored_once(tokenizer):
    opened = Model(network("GPT-2", tokenizer.get_vocab_size()), tokenizer)
    many = pd.concat([fixations().assign(subject=f"s{n}" + fixations().subject) for n in range(5)])
    result = score_words(TEXTS, opened, scanpath=many)
    distinct = {
        (item, word, tuple(context))
        for texts in PATHS.values() for item, path in enumerate(texts)
        for word, context in seen_before(path, "absent", 0, "words").items()
    }  # fmt: skip
    assert any(f"{len(result.table):,} words scored, {len(distinct)} of" in n for n in result.notes)


@pytest.mark.parametrize(
    "change, settings, message",
    [
        ({"word_id": 99}, {}, r"word_id 99\) is on no word of the texts \(20 such fixations\)"),
        ({"order": 1}, {}, r"repeats the order of another \(16 such fixations\)"),
        ({}, {"reader": {"skiped": "seen"}}, "no setting is called 'skiped'.*skipped"),
        ({}, {"reader": {"skipped": "masked"}}, "for masked LMs; a causal one has no mask"),
        ({}, {"reader": {"span": -1}}, "span is -1"),
        ({}, {"reader": {"age": "days"}}, "age is 'days', and is words, fixations, ms"),
        ({}, {"reader": {"of": "other"}}, "of is 'other', and is own, another"),
        ({}, {"measures": "entropy"}, "scanpath: `measures` are of the whole context"),
        ({}, {"prefix": "Why?"}, "nobody fixated the words of a `prefix`"),
    ],
)
def test_refusals(change, settings, message, tokenizer):
    opened = Model(network("GPT-2", tokenizer.get_vocab_size()), tokenizer)
    with pytest.raises(REFUSALS, match=message):
        recency.surprisal(TEXTS, opened, scanpath=fixations().assign(**change), **settings)


def test_a_reader_without_fixations_in_a_text_is_named(tokenizer):
    opened = Model(network("GPT-2", tokenizer.get_vocab_size()), tokenizer)
    few = fixations()
    result = score_words(TEXTS, opened, scanpath=few[(few.subject == "a") | (few.item == "1")])
    assert any("1 of 2 subjects have no fixation in some of the 2 texts" in n for n in result.notes)


def test_ages_are_of_the_last_sight():
    settings = scanpaths.ReaderContext(age="fixations", span=1)
    place, onset = np.array([0, 3, 0, 5]), np.array([0.0, 300, 600, 900])
    contexts = scanpaths.contexts_of(place, onset, np.full(4, 200.0), 6, settings)
    assert contexts[5][0].tolist() == [0, 1, 3, 4]
    assert contexts[5][1].tolist() == [1, 1, 2, 2]
    assert scanpaths.find_previous(place) == {0: -1, 3: 0, 5: 0}
