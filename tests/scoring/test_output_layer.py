"""Each way of summing over the vocabulary, in float32 and float64, against whole logits in float64."""

import numpy as np
import pytest
import torch

import recency
from recency.networks import architectures
from small_networks import NONE, TEXTS, TINY, byte_tokenizer

TEXT = TEXTS[1]


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer()


def distributions(network, tokenizer):
    """Return log p in bits of every next token of the text, (tokens, vocabulary)."""
    ids = torch.tensor([[0, *tokenizer.encode(TEXT).ids]])
    with torch.no_grad():
        logits = network.double()(ids).logits[0, :-1]
    network.float()
    return (torch.log_softmax(logits, -1) / np.log(2)).numpy()


def renyi(logs, alpha):
    """Return the Rényi entropy of each row, as it is defined."""
    p = np.exp2(logs)
    if alpha == 1:
        return -(p * logs).sum(1)
    return np.log2((p**alpha).sum(1)) / (1 - alpha)


# Alone, since orders near 1 have all measures that are asked for computed in float64.
@pytest.mark.parametrize("alpha", [1, 2, 0.99999, 1.00001])
@pytest.mark.parametrize("factor", [3, 3000])
@pytest.mark.parametrize("offset", [0, -100, 60])
def test_entropies_are_those_of_the_definition(tokenizer, offset, factor, alpha):
    """Of flat and sharp distributions, whose logits lie near 0 or far from it."""
    network = architectures.new(TINY, NONE, tokenizer.get_vocab_size(), 1).eval()
    with torch.no_grad():
        network.lm_head.weight *= factor
    rows = network.lm_head.out_features
    network.lm_head.bias = torch.nn.Parameter(torch.full((rows,), float(offset)))
    name = f"renyi_{alpha}"
    got = recency.surprisal(TEXT, network, tokenizer, rows="tokens", measures=[name])
    expected = renyi(distributions(network, tokenizer), alpha)
    np.testing.assert_allclose(got[f"{name}_bits"], expected, atol=5e-4, rtol=1e-4)
