"""Trees as distances and back: against walks through the tree, scipy's and counts by hand."""

from collections import deque

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csgraph

from random_trees import RANDOM, bank, random_heads
from recency.evaluations.probe import treebank


def walked(heads):
    """Return distances by a breadth-first walk from each word."""
    size = len(heads)
    beside = [[] for _ in range(size)]
    for word, head in enumerate(heads):
        if head:
            beside[word].append(head - 1)
            beside[head - 1].append(word)
    found = np.full((size, size), -1)
    for start in range(size):
        found[start, start], queue = 0, deque([start])
        while queue:
            word = queue.popleft()
            for other in beside[word]:
                if found[start, other] < 0:
                    found[start, other] = found[start, word] + 1
                    queue.append(other)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 5, 17, 64, 159])
def test_distances_are_those_of_a_walk(size):
    for heads in [random_heads(size), np.arange(size), np.minimum(np.arange(size), 1)]:
        np.testing.assert_array_equal(treebank.tree_distances(heads), walked(heads))


def test_spanning_trees_are_scipys():
    sizes = RANDOM.integers(1, 30, 40)
    size = sizes.max()
    distances = np.zeros((40, size, size))
    counted = np.zeros((40, size), bool)
    for row, own in enumerate(sizes):
        some = RANDOM.random((size, size))
        distances[row] = some + some.T
        counted[row, :own] = RANDOM.random(own) < 0.8
        counted[row, RANDOM.integers(own)] = True
    joined = treebank.spanning_trees(distances, counted)
    for row in range(40):
        words = np.flatnonzero(counted[row])
        expected = csgraph.minimum_spanning_tree(distances[row][np.ix_(words, words)]).tocoo()
        expected = {frozenset((words[a], words[b])) for a, b in zip(expected.row, expected.col)}
        found = {frozenset((w, joined[row, w])) for w in range(size) if joined[row, w] >= 0}
        assert found == expected
        assert (joined[row, ~counted[row]] == -1).all()


def test_equal_distances_still_give_a_tree():
    """Where scipy takes a distance of 0 for no edge, identical vectors are words all the same."""
    joined = treebank.spanning_trees(np.zeros((1, 4, 4)), np.ones((1, 4), bool))
    assert (joined[0] >= 0).sum() == 3
    graph = np.zeros((4, 4))
    for word in range(1, 4):
        graph[word, joined[0, word]] = 1
    assert csgraph.connected_components(graph, directed=False)[0] == 1


def test_true_distances_score_everything():
    sentences = [random_heads(size) for size in (1, 2, 7, 7, 12, 60)]
    gold = treebank.Trees.of(bank(sentences))

    def predict(chosen):
        size = gold.lengths[chosen].max()
        found = np.full((len(chosen), size, size), 1e3)
        for row, sentence in enumerate(chosen):
            own = gold.lengths[sentence]
            found[row, :own, :own] = walked(sentences[sentence]) ** 3  # order alone counts
        return found

    table = treebank.score(predict, gold)
    assert table.relation[0] == "all" and table.n[0] == sum(gold.lengths) - 6
    assert (table.uuas == 1).all() and table.spearman[0] == pytest.approx(1)


def test_neighbours_by_hand():
    """Words 1 to 5, the fourth punctuation; 3 is joined to 5 across it."""
    rows = bank([[2, 0, 2, 2, 2], [0, 1]])
    rows["relation"] = ["nsubj:pass", "root", "obj", "punct", "obl", "root", "obj"]
    rows["upos"] = ["X", "X", "X", "PUNCT", "X", "X", "X"]
    table = treebank.score(treebank.adjacent(gold := treebank.Trees.of(rows)), gold).set_index(
        "relation"
    )
    # Edges of the first sentence: 1-2 and 2-3 right, 2-5 wrong; of the second: 1-2 right.
    assert table.loc["all", ["n", "uuas"]].tolist() == [4, 0.75]
    assert table.loc["obj", ["n", "uuas"]].tolist() == [2, 1]
    assert table.loc["obl", ["n", "uuas"]].tolist() == [1, 0]
    assert table.loc["nsubj"].n == table.loc["nsubj:pass"].n == 1
    assert set(table.index) == {"all", "obj", "nsubj", "nsubj:pass", "obl"}
    distances = walked([2, 0, 2, 2, 2])
    places = np.abs(np.arange(5)[:, None] - np.arange(5))
    expected = np.mean([stats.spearmanr(a, b)[0] for a, b in zip(places, distances)])
    assert table.spearman["all"] == pytest.approx(expected)  # two words are too few


def test_an_edge_to_punctuation_does_not_count():
    rows = bank([[2, 0, 2, 3]])
    rows["upos"] = ["X", "PUNCT", "X", "X"]
    gold = treebank.Trees.of(rows)
    assert treebank.gold_edges(gold).tolist() == [False, False, False, True]


def test_spearman_is_scipys():
    a, b = RANDOM.integers(0, 6, (20, 30)), RANDOM.random((20, 30))
    ours = treebank.row_correlations(treebank.row_ranks(a), treebank.row_ranks(b))
    theirs = [stats.spearmanr(x, y)[0] for x, y in zip(a, b)]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    still = treebank.row_correlations(np.ones((1, 4)), np.arange(4.0)[None])
    assert still.tolist() == [0]  # a row that does not vary tells nothing


def test_spearman_is_averaged_over_lengths():
    """Nine sentences of one length count as much as one of another."""
    sentences = [np.arange(6)] * 9 + [random_heads(8)]
    gold = treebank.Trees.of(bank(sentences))
    mean = treebank.score(treebank.adjacent(gold), gold).spearman[0]
    places = np.abs(np.arange(8)[:, None] - np.arange(8))
    rows = zip(places, walked(sentences[-1]))
    one = np.mean([stats.spearmanr(a, b)[0] for a, b in rows])
    assert mean == pytest.approx((1 + one) / 2)
