"""Time surprisal by reader: the distinct contexts of real readers, in trees and one by one.

    python benchmarks/reader_contexts.py [--quick] [--model small-english] [--mirror FOLDER] [--out FILE]

84 readers' fixations of Provo; a word's context is what the reader had fixated before it. One core.

`seconds`: of the processor, for all distinct contexts in trees, as `recency.surprisal(words, model,
scanpath=fixations)` scores them. `ratio_vs_one_by_one`: of the same network's ordinary passes, a
sequence per context in batches, on a random sample of SAMPLE contexts, scaled to all. `sharing`: tokens
of all contexts over tokens read. `seconds_output_layer` are those of the output layer over the vocabulary, once
for each state that a context ends in, which trees do not share; `largest_ratio` is what the ratio would be if
all else took no time. `largest_difference_bits`: between both on the sample.
The last line is one JSON object.
"""

import argparse
from pathlib import Path

import checkout
import numpy as np
import torch
from result import keep, processor, timed

checkout.use()

import readingtimes
import recency
from recency.scoring.lossy import context_trees, scanpaths
from recency.scoring.lossy.lossy_readers import SURPRISAL, CausalReader, Context, Item

TARGETS = {"seconds": 1200.0, "ratio_vs_one_by_one": 20.0}
"""Seconds of one core are at most so many, the ratio at least."""
SAMPLE = 4000


def main() -> None:
    """Run the benchmark as the command line says."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--quick", action="store_true", help="4 texts, under a minute")
    arguments.add_argument("--model", default="small-english", help="a causal network")
    arguments.add_argument("--mirror", type=Path, action="append", default=[])
    arguments.add_argument("--out", type=Path, help="write the JSON object to this file as well")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    words, fixations = readingtimes.load_fixations("provo", mirrors=given.mirror)
    if given.quick:
        words = words[words["item"].isin(sorted(set(words["item"]))[:4])]
        fixations = fixations[fixations["item"].isin(set(words["item"]))]
    model = recency.load(given.model)
    texts = model.texts(words)
    items = []
    for text in texts.values():
        owners, first = np.unique(text.word, return_index=True)
        items.append(Item(text, owners, np.append(first, len(text.ids))))
    rows = list(words.groupby("item", sort=False).indices.values())
    settings = scanpaths.check(None)
    _, readings, _ = scanpaths.readings(words, rows, items, fixations, settings)
    reader = CausalReader(model, readings, True, None)
    every = [
        Context(number, word, tuple(item.contexts[word][0].tolist()))
        for number, item in enumerate(readings)
        for word in item.scored()
    ]
    distinct = list({reader.key(context): context for context in every}.values())
    read = 0
    grow = context_trees.grow_trees

    def counted(paths):
        nonlocal read
        for tree in grow(paths):
            read += len(tree.tokens)
            yield tree

    context_trees.grow_trees = counted
    outputs, score = [], reader.layer.score

    def clocked(*arguments):
        found, taken = timed(lambda: score(*arguments))
        outputs.append(taken)
        return found

    reader.layer.score = clocked
    scores, seconds = timed(lambda: reader.score(distinct))
    output_layer = sum(outputs)
    sample = np.random.default_rng(1).permutation(len(distinct))[:SAMPLE]
    reader.trees.usable = False
    alone, of_sample = timed(lambda: reader.score([distinct[n] for n in sample]))
    tokens = sum(reader.seen(c) + len(readings[c.item].tokens(c.word)) for c in distinct)
    one_by_one = of_sample * len(distinct) / len(sample)
    difference = np.abs(scores[sample, SURPRISAL] - alone[:, SURPRISAL]).max() / np.log(2)
    metrics = {
        "contexts": len(every),
        "distinct": len(distinct),
        "tokens_read": read,
        "sharing": round(tokens / read, 1),
        "seconds": round(seconds, 1),
        "seconds_output_layer": round(output_layer, 1),
        "ratio_vs_one_by_one": round(one_by_one / seconds, 1),
        "largest_ratio": round(one_by_one / output_layer, 1),
        "largest_difference_bits": float(f"{difference:.1e}"),
    }
    keep("reader_contexts", processor("1 core"), metrics, TARGETS, given.out, model=given.model)


if __name__ == "__main__":
    main()
