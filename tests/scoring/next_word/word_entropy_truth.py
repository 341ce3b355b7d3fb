"""Word entropy as it is defined: all strings of tokens up to a length, in float64, one by one."""

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

#: Tokens of a small vocabulary: the text's end, letters, pieces, and first tokens of words.
ENTRIES = ["<|endoftext|>", "a", "b", "c", "Ġ", "Ġa", "Ġb", "ab", "Ġc", "bc", "Ġab"]
MERGES = [("Ġ", "a"), ("Ġ", "b"), ("a", "b"), ("Ġ", "c"), ("b", "c"), ("Ġa", "b")]
FIRST, END = [n for n, e in enumerate(ENTRIES) if e.startswith("Ġ")], 0
REST = [n for n in range(1, len(ENTRIES)) if n not in FIRST]
TEXTS = ["ab abc b cab", "c a abcabc"]


def tokenizer():
    """Return the tokenizer of these entries."""
    made = Tokenizer(models.BPE({entry: n for n, entry in enumerate(ENTRIES)}, MERGES))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return made


def log_p(network, prefixes):
    """Return log p of what follows each prefix (equal lengths), in float64; padding rows are REST."""
    with torch.no_grad():
        return torch.log_softmax(network(torch.tensor(prefixes)).logits[:, -1].double(), -1).numpy()


def words(network, context, longest, first=FIRST, end_of_text=False):
    """Return log p of every word (a string of tokens), a dict; the end of the text is ()."""
    logs = log_p(network, [context])[0]
    allowed = [*first, END] if end_of_text else first
    mass = np.logaddexp.reduce(logs[allowed])
    ended = {(): logs[END] - mass} if end_of_text else {}
    going = {(token,): logs[token] - mass for token in first}
    for length in range(1, longest):
        logs = log_p(network, [[*context, *prefix] for prefix in going])
        stop = np.logaddexp.reduce(logs[:, [*FIRST, END]], 1)
        further = {}
        for (prefix, so_far), row, last in zip(going.items(), logs, stop, strict=True):
            ended[prefix] = so_far + last
            further |= {(*prefix, token): so_far + row[token] for token in REST}
        going = further
    return ended | going


def entropy(log_probabilities):
    """Return the entropy of a distribution in bits."""
    logs = np.array(log_probabilities)
    assert np.isclose(np.exp(logs).sum(), 1, atol=1e-9)
    return -np.sum(np.exp(logs) * logs) / np.log(2)


def expected(network, text, made, longest, end_of_text=False):
    """Return the word entropy before each word of a text, and at its end."""
    network = network.double()
    values, ids = [], [0]
    for number, word in enumerate(text.split()):
        first = FIRST if number else REST
        found = words(network, ids, longest, first, end_of_text)
        values.append(entropy(list(found.values())))
        ids = ids + made.encode(" " * (number > 0) + word).ids
    values.append(entropy(list(words(network, ids, longest, FIRST, end_of_text).values())))
    network.float()
    return np.array(values)
