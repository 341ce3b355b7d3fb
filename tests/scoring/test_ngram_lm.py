"""N-grams as language models: Kneser-Ney by brute force, the rule of what is a word on both sides."""

from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from test_ngrams import by_query, program

from readingtimes.contracts import word_table
from recency.errors import REFUSALS
from recency.scoring import estimate_ngrams, ngram_surprisal
from recency.scoring.ngram import RULES, rewrite, split_word

FALLBACK = (0.5, 1.0, 1.5)  # lmplz's, for counts from which no discount follows


def kneser_ney(sentences, order):
    """Return p(word | context) of interpolated modified Kneser-Ney (Chen & Goodman 1998), by definition.

    Lower orders count in how many contexts an n-gram is seen, but those that begin a sentence, how
    often; discounts are by counts of counts; the unigrams are interpolated with 1/V.
    """
    raw = [Counter() for _ in range(order)]
    for words in sentences:
        stream = ["<s>", *words, "</s>"]
        for n in range(1, order + 1):
            raw[n - 1].update(tuple(stream[i : i + n]) for i in range(len(stream) - n + 1))
    counts = []
    for n in range(1, order + 1):
        if n == order:
            counts.append(dict(raw[n - 1]))
            continue
        before = defaultdict(set)
        for gram in raw[n]:
            before[gram[1:]].add(gram[0])
        counts.append({g: raw[n - 1][g] if g[0] == "<s>" else len(before[g]) for g in raw[n - 1]})
    del counts[0][("<s>",)]
    vocabulary = len(counts[0]) + 1  # </s> is among them; and <unk>
    discounts, totals, kinds = [], [], []
    for table in counts:
        of = Counter(table.values())
        try:
            y = of[1] / (of[1] + 2 * of[2])
            found = tuple(k - (k + 1) * y * of[k + 1] / of[k] for k in (1, 2, 3))
        except ZeroDivisionError:
            found = (-1.0,)
        usable = all(0 <= d <= k for k, d in enumerate(found, 1)) and of[4]
        discounts.append(found if usable else FALLBACK)
        total, kind = Counter(), defaultdict(Counter)
        for gram, count in table.items():
            total[gram[:-1]] += count
            kind[gram[:-1]][min(count, 3)] += 1
        totals.append(total)
        kinds.append(kind)

    def probability(word, context):
        context = tuple(context)[-(order - 1) :] if order > 1 else ()
        n = len(context)
        lower = probability(word, context[1:]) if context else 1 / vocabulary
        if not totals[n][context]:
            return lower
        count = counts[n].get((*context, word), 0)
        d = discounts[n]
        own = max(0.0, count - d[min(count, 3) - 1]) if count else 0.0
        left = sum(d[k - 1] * number for k, number in kinds[n][context].items())
        return (own + left * lower) / totals[n][context]

    return probability


def made_text():
    """Return sentences of a small vocabulary, uneven enough for every discount."""
    rng = np.random.default_rng(1)
    words = np.array([f"w{n}" for n in range(60)])
    weights = 1 / np.arange(1, 61)
    return [
        list(rng.choice(words, rng.integers(3, 9), p=weights / weights.sum())) for _ in range(300)
    ]


@pytest.mark.parametrize("order", [2, 3, 5])
def test_surprisal_is_kneser_ney_s_by_definition_and_kenlm_s(order, tmp_path):
    sentences = made_text()
    text = "\n".join(" ".join(words) for words in sentences)
    pd.DataFrame({"document": ["1"], "text": [text]}).to_parquet(tmp_path / "text.parquet")
    arpa = tmp_path / "model.arpa"
    estimate_ngrams.main(
        tmp_path / "text.parquet", arpa, "100M", order=order, lmplz=program("lmplz")
    )
    asked = ["w1 w0 w3 w59 w0", "w5 zebra w0 w0 w1 w2", "w0 w1"]
    rows = [(f"{n}", n, word) for n, each in enumerate(asked, 1) for word in each.split()]
    words = word_table(*zip(*rows))
    words.to_parquet(tmp_path / "words.parquet")
    ngram_surprisal.main(tmp_path / "words.parquet", arpa, tmp_path / "out.parquet")
    found = pd.read_parquet(tmp_path / "out.parquet")["surprisal_bits"]
    probability = kneser_ney(sentences, order)
    known = {word for each in sentences for word in each}
    expected = []
    for each in asked:
        stream = ["<s>", *(word if word in known else "<unk>" for word in each.split())]
        expected += [-np.log2(probability(stream[n], stream[:n])) for n in range(1, len(stream))]
    np.testing.assert_allclose(found, expected, atol=2e-4)
    log10, _ = by_query(arpa, asked)
    np.testing.assert_allclose(found, -log10 * np.log2(10), atol=1e-4)


def test_rules_of_what_is_a_word():
    shown = {"“Don’t,”": ["“Don’t,”"], "Well-known.": ["Well-known."], "—": ["—"]}
    lower = {"“Don’t,”": ["“don’t,”"], "Well-known.": ["well-known."], "—": ["—"]}
    bare = {"“Don’t,”": ["don't"], "Well-known.": ["well-known"], "—": ["—"]}
    split = {"“Don’t,”": ["“", "Don’t", ",", "”"], "Well-known.": ["Well-known", "."], "—": ["—"]}
    for rule, expected in zip(RULES, (shown, lower, bare, split), strict=True):
        assert {word: split_word(word, rule) for word in shown} == expected
    assert rewrite("“Don’t,” he\nsaid.", "split") == "“ Don’t , ” he\nsaid ."
    assert rewrite("a  b\tc", "displayed") == "a  b\tc"
    with pytest.raises(REFUSALS, match="text_rule 'upper' is none of displayed"):
        split_word("a", "upper")


@pytest.mark.parametrize("rule", RULES)
def test_the_text_and_the_words_are_read_by_one_rule(rule, tmp_path):
    """Words of the text itself are all known, whatever the rule; parts of a word are summed."""
    text = "“The cat,” she said, sat. The cat sat!\nShe said: “Sat.”\n" * 20
    pd.DataFrame({"document": ["1"], "text": [text]}).to_parquet(tmp_path / "text.parquet")
    arpa = tmp_path / "model.arpa"
    estimate_ngrams.main(
        tmp_path / "text.parquet", arpa, "100M", order=3, text_rule=rule, lmplz=program("lmplz")
    )
    shown = ["“The", "cat,”", "she", "said,", "sat."]
    word_table(["a"] * len(shown), [1] * len(shown), shown).to_parquet(tmp_path / "words.parquet")
    paths = tmp_path / "words.parquet", arpa, tmp_path / "out.parquet", tmp_path / "ledger.csv"
    ngram_surprisal.main(*paths, text_rule=rule)
    got = pd.read_parquet(tmp_path / "out.parquet")
    assert pd.read_csv(tmp_path / "ledger.csv").empty
    parts = [split_word(word, rule) for word in shown]
    assert got["tokens"].tolist() == [len(each) for each in parts]
    log10, length = by_query(arpa, [" ".join(part for each in parts for part in each)])
    starts = np.cumsum([0, *(len(each) for each in parts)])[:-1]
    np.testing.assert_allclose(
        got["surprisal_bits"], -np.add.reduceat(log10, starts) * np.log2(10), atol=1e-4
    )
    assert got["context_tokens"].tolist() == (length[starts] - 1).tolist()
