"""Word entropy by 64 samples against plain scoring, its paper's estimator and its released code.

python benchmarks/word_entropy.py [--quick] [--threads N] [--cpu-time] [--released FILE] [--out FILE]

Random networks of the paper's and of GPT-2's shape, whose distributions are like those of trained
ones: logits follow Zipf's law and vary with the context, so that the entropy of the next token and
the probability that a word ends are about GPT-2's in English (both are in the result). `ratio_vs_plain`
is the time of surprisal with word entropy over that of surprisal alone, turn by turn, the median;
`plain_estimator` is the same with the mean of −log p of 64 sampled words. `squared_error_vs_plain_estimator`
is the mean squared standard error over that of the plain estimator: so many times fewer samples are
needed. `evaluations_per_word` counts prefixes that the network reads.
`--released` is mc_word_entropy.py of github.com/christian-clark/word-entropy: it is run with 64
samples on the first words of a text (`released.words`), without gradients and with a copy of its
cache in place of a method that newer versions of transformers no longer have. The last line is one JSON object.
"""

import argparse
import contextlib
import copy
import importlib.util
import io
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import checkout

checkout.use()

from result import keep, processor

TARGETS = {"small.ratio_vs_plain": 30, "gpt2.ratio_vs_plain": 30}
SAMPLES = 64
#: shape → texts, words of a text, turns; and in a quick run.
SIZES = {
    False: {"small": (2, 500, 3), "gpt2": (1, 300, 3)},
    True: {"small": (1, 100, 2), "gpt2": (1, 40, 1)},
}
#: Of the logits: the spread over contexts, and by how much those that go on with a word are lower.
SPREAD, LOWER = 3.6, 2.0


def tokenizer_of(vocabulary: int):
    """Make a byte-level tokenizer, two thirds of whose entries begin words, and words of one token."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = "abcdefghijklmnopqrstuvwxyz"
    pairs = [a + b for a in letters for b in letters]
    entries = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), *pairs]
    merges = [tuple(pair) for pair in pairs] + [("Ġ", pair) for pair in pairs]
    entries += ["Ġ" + pair for pair in pairs]
    words = []
    longer = ((pair, other) for pair in pairs for other in pairs)
    for number, (pair, other) in enumerate(longer):
        if len(entries) >= vocabulary:
            break
        mark = "" if number % 3 == 0 else "Ġ"
        merges.append((mark + pair, other))
        entries.append(mark + pair + other)
        words += [pair + other] * bool(mark)
    made = Tokenizer(models.BPE({entry: n for n, entry in enumerate(entries)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return made, words[:: len(words) // 5000]


def network_of(shape: str, kinds):
    """Make a random network whose logits follow Zipf's law, and vary with the context."""
    import numpy as np
    import torch
    from surprisal import network_of as plain_network

    network = plain_network(shape)
    body, rows = network.base_model, network.get_output_embeddings().weight.shape[0]
    norm = body.ln_f if shape == "gpt2" else body.final_layer_norm
    random = np.random.default_rng(1)
    rank = np.empty(rows)
    kinds = np.append(kinds, np.zeros(rows - len(kinds)))
    for kind in (0, 1, 2):
        mine = np.flatnonzero(kinds == kind)
        rank[mine] = 1 + random.permutation(len(mine))
    logits = -np.log(rank) - LOWER * (kinds == 0) - 12 * (kinds == 2)
    width = network.config.hidden_size
    weight = random.normal(0, SPREAD / np.sqrt(width), (rows, width))
    weight[:, 0] = logits
    with torch.no_grad():
        norm.weight[0], norm.bias[0] = 0.0, 1.0
        output = torch.nn.Linear(width, rows, bias=False)
        output.weight.copy_(torch.from_numpy(weight))
    network.config.tie_word_embeddings = False
    network.set_output_embeddings(output)
    return network.eval()


def compare(shape: str, size: tuple, metrics: dict, module, clock, released: Path | None) -> None:
    """Time one network; write times and ratios into `metrics`."""
    import numpy as np
    from surprisal import texts_of

    from recency.scoring import alignment
    from recency.scoring.next_word import word_entropies

    texts, length, turns = size
    made, words = tokenizer_of(50257)
    network = network_of(shape, alignment.kinds(made))
    drawn = texts_of(words, texts, length)
    model = module.Model(network, made)
    runs = {
        "plain": {},
        "ours": {"measures": ["entropy", "word_entropy"], "word_entropy": {"samples": SAMPLES}},
        "plain_estimator": {
            "measures": ["word_entropy"],
            "word_entropy": {"samples": SAMPLES, "estimator": "plain"},
        },
    }
    for asked in runs.values():
        module.score_words([drawn[0][:20]], model, **asked)
    times: dict = {name: [] for name in runs}
    tables, evaluations = {}, []
    grow = word_entropies.Group.extend

    def counted(group, parents, tokens):
        evaluations.append(len(tokens))
        return grow(group, parents, tokens)

    word_entropies.Group.extend = counted
    for _ in range(turns):
        for name, asked in runs.items():
            evaluations.clear()
            start = clock()
            tables[name] = module.score_words(drawn, model, **asked).table
            times[name].append(clock() - start)
            metrics[f"{shape}.{name}.evaluations_per_word"] = sum(evaluations) / (texts * length)
    word_entropies.Group.extend = grow
    del metrics[f"{shape}.plain.evaluations_per_word"]
    metrics[f"{shape}.words"] = texts * length
    metrics[f"{shape}.tokens"] = int(tables["plain"]["tokens"].sum())
    metrics[f"{shape}.plain_seconds"] = round(statistics.median(times["plain"]), 3)
    metrics[f"{shape}.seconds"] = round(statistics.median(times["ours"]), 3)
    for name, key in (
        ("ours", "ratio_vs_plain"),
        ("plain_estimator", "plain_estimator.ratio_vs_plain"),
    ):
        paired = zip(times[name], times["plain"], strict=True)
        metrics[f"{shape}.{key}"] = round(statistics.median(a / b for a, b in paired), 1)
    ours, plain = tables["ours"], tables["plain_estimator"]
    metrics[f"{shape}.entropy_bits"] = round(float(ours["entropy_bits"].mean()), 2)
    metrics[f"{shape}.word_entropy_bits"] = round(float(ours["word_entropy_bits"].mean()), 2)
    metrics[f"{shape}.standard_error_bits"] = round(float(ours["word_entropy_se_bits"].mean()), 3)
    metrics[f"{shape}.plain_estimator.standard_error_bits"] = round(
        float(plain["word_entropy_se_bits"].mean()), 3
    )
    squares = [np.mean(each["word_entropy_se_bits"] ** 2) for each in (ours, plain)]
    metrics[f"{shape}.squared_error_vs_plain_estimator"] = round(squares[0] / squares[1], 4)
    if released:
        _released(shape, released, network, made, drawn[0], metrics, module, model, clock)
    for key, value in list(metrics.items()):
        metrics[key] = round(value, 1) if key.endswith("evaluations_per_word") else value


def _released(shape, file, network, tokenizer, words, metrics, module, model, clock) -> None:
    """Run the released code on the first words of a text, with its own defaults and as one batch."""
    import torch
    import transformers
    from transformers import PreTrainedTokenizerFast

    some = words[:10]
    if not hasattr(transformers.DynamicCache, "from_legacy_cache"):
        transformers.DynamicCache.from_legacy_cache = staticmethod(copy.deepcopy)
    spec = importlib.util.spec_from_file_location("released", file)
    code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    asked = {"measures": ["word_entropy"], "word_entropy": {"samples": SAMPLES}}
    start = clock()
    ours = module.score_words([some], model, **asked).table["word_entropy_bits"]
    seconds = clock() - start
    with tempfile.TemporaryDirectory() as folder:
        network.save_pretrained(folder)
        end = "<|endoftext|>"
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=end, eos_token=end)
        fast.save_pretrained(folder)
        text = Path(folder) / "text.txt"
        text.write_text("!ARTICLE\n" + " ".join(some) + "\n")
        given = argparse.Namespace(
            sentitems=str(text), model=folder, alpha=1.0, samples=SAMPLES, samplesPerBatch=SAMPLES,
            maxIter=20, contextSize=None, seed=1, gpu=False,
        )  # fmt: skip
        argv, sys.argv = sys.argv, ["", str(text), folder]
        output = io.StringIO()
        start = clock()
        try:
            with contextlib.redirect_stdout(output), torch.no_grad():
                code.main(given)
        except (
            ImportError,
            AttributeError,
            TypeError,
            ValueError,
        ) as error:  # it does not run here
            metrics[f"{shape}.released.absent"] = f"{type(error).__name__}: {error}"[:200]
            return
        finally:
            sys.argv = argv
        theirs = clock() - start
    values = [float(line.split()[-1]) for line in output.getvalue().splitlines()[1:]]
    metrics[f"{shape}.released.words"] = len(values)
    metrics[f"{shape}.released.ratio"] = round(theirs / seconds, 1)
    metrics[f"{shape}.released.mean_bits"] = round(statistics.mean(values), 2)
    metrics[f"{shape}.released.our_mean_bits"] = round(float(ours.mean()), 2)


def main() -> None:
    """Run, print the figures, end with one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute, the same keys")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu-time", action="store_true", help="count the processor's time")
    parser.add_argument("--released", type=Path, help="mc_word_entropy.py of the released code")
    parser.add_argument("--out", type=Path, help="file that also gets the JSON object")
    arguments = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    from recency.heap import keep_freed
    from recency.processor import use
    from recency.scoring import surprisal as module

    use(arguments.threads)
    keep_freed(large=True)
    metrics: dict = {}
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    for shape, size in SIZES[arguments.quick].items():
        compare(shape, size, metrics, module, clock, arguments.released)
    metrics["peak_memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    hardware = processor(f"{arguments.threads} of {os.cpu_count()} cores")
    clocks = {"quick": arguments.quick, "clock": "processor" if arguments.cpu_time else "wall"}
    keep("word_entropy", hardware, metrics, TARGETS, arguments.out, **clocks)


if __name__ == "__main__":
    main()
