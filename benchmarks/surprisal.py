"""Surprisal of the same texts by this project, minicons, surprisal, wordsprobability and a plain batched loop.

python benchmarks/surprisal.py [--quick] [--threads N] [--cpu-time] [--peers FOLDER]
    [--checkpoint MODEL] [--out FILE]

The same random network, texts and threads for all, turn by turn in one process that keeps freed
memory and takes numbers below 1e-38 for 0; times are the medians of the turns, a ratio is a peer's time over ours; of measures beside
surprisal, their time over that of surprisal alone. `--peers` is a folder that the peers were
installed to (pip install --no-deps --target FOLDER minicons wonderwords surprisal plotext
wordsprobability); a peer that is not there is left out. `--cpu-time` counts the processor's time,
for a machine that others use; then one thread says most. `fastest` names the fastest peer.
`share_of_peak` is how much of our time the matrix products alone would take at the processor's
peak, which is measured beside them: `ratio_at_peak` is the ratio that no float32 computation of all
logits can pass. `short`, 2,000 texts of 10 words, and `pages`, 20 texts of 340, are read by this
project and the loop alone: the others read a text at a time, or compute what was not asked for. The
last line is one JSON object.
"""

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import checkout
import numpy as np
from result import keep, processor

TARGETS = {
    "small.plain.ratio_vs_fastest": 2.0,
    "small.corrected.ratio_vs_minicons": 2.5,
    "gpt2.plain.ratio_vs_fastest": 1.5,
    "paper_minutes": 20,
    "small.entropy.ratio_vs_plain": 1.3,
    "gpt2.entropy.ratio_vs_plain": 1.3,
    "short.plain.ratio_vs_batched_loop": 1.1,
    "pages.plain.ratio_vs_batched_loop": 1.1,
}
#: What is taken beside surprisal, each by itself; its time is told as a multiple of plain scoring's.
MEASURES = {
    "entropy": {"measures": ["entropy"]},
    "all_measures": {
        "measures": ["entropy_reduction", "renyi_0.5", "renyi_2", "renyi_inf", "rank", "top_5"]
    },
    "context_1_2_4": {"context": [1, 2, 4]},
}
#: The paper's corpora hold about this many words; it has 19 LMs.
PAPER_WORDS, PAPER_LMS = 135_000, 19


def tokenizer_of(vocabulary: int):
    """Make a byte-level tokenizer of `vocabulary` entries, and words that are one token each."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = "abcdefghijklmnopqrstuvwxyz"
    entries = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges, words = [], []
    pairs = [a + b for a in letters for b in letters]
    for pair in pairs:
        merges.append((pair[0], pair[1]))
    entries += pairs
    for pair in pairs:
        merges.append(("Ġ", pair))
        entries.append("Ġ" + pair)
    for pair in pairs:
        for other in pairs:
            if len(entries) >= vocabulary:
                break
            merges.append(("Ġ" + pair, other))
            entries.append("Ġ" + pair + other)
            words.append(pair + other)
    made = Tokenizer(models.BPE({entry: n for n, entry in enumerate(entries)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    some = words[:: max(1, len(words) // 20_000)]
    whole = made.encode_batch([" " + word for word in some])
    return made, [word for word, each in zip(some, whole, strict=True) if len(each.ids) == 1]


def texts_of(words: list[str], texts: int, length: int) -> list[list[str]]:
    """Draw texts; some words have more than one token, 1.3 on average, about as in English."""
    import numpy as np

    draw = np.random.default_rng(1)
    drawn = draw.choice(len(words), (texts, length))
    longer = draw.random((texts, length)) < 0.15
    return [
        [words[w] + "xq" * bool(more) for w, more in zip(*row)]
        for row in zip(drawn, longer, strict=True)
    ]


def network_of(shape: str):
    """Make the paper's network, or one of GPT-2 small's shape, with random weights."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, GPTNeoXConfig, GPTNeoXForCausalLM

    torch.manual_seed(1)
    if shape == "small":
        config = GPTNeoXConfig(
            vocab_size=50304,
            hidden_size=256,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=1024,
            max_position_embeddings=2048,
            bos_token_id=0,
            eos_token_id=0,
        )
        return GPTNeoXForCausalLM(config).eval()
    config = GPT2Config(vocab_size=50257, bos_token_id=0, eos_token_id=0)
    return GPT2LMHeadModel(config).eval()


def operations(config, inputs: list[int]) -> float:
    """Return the operations of the matrix products that texts of so many inputs need."""
    width, layers = config.hidden_size, config.num_hidden_layers
    inner = getattr(config, "intermediate_size", None) or 4 * width
    each = layers * (4 * width**2 + 2 * width * inner) + width * config.vocab_size
    attention = sum(layers * width * count**2 for count in inputs)  # half of all pairs, twice
    return 2.0 * (each * sum(inputs) + attention)


def peak(clock) -> float:
    """Return the most operations a second that products of float32 matrices reach here."""
    import torch

    from recency.networks import products

    inputs, weight = torch.randn(1024, 768), torch.randn(3072, 768)
    laid_out = products.can_lay_out(weight)
    run = products.product(weight) if laid_out else weight.T.__rmatmul__
    times = []
    with torch.inference_mode():
        for _ in range(12):
            start = clock()
            run(inputs)
            times.append(clock() - start)
    return 2.0 * 1024 * 768 * 3072 / min(times[2:])


def by_minicons(folder, network, fast):
    """Return plain and corrected surprisal by minicons, a text at a time."""
    from minicons import scorer

    made = scorer.IncrementalLMScorer(network, "cpu", tokenizer=fast)

    def run(texts, **settings):
        for text in texts:
            made.word_score_tokenized(
                [" ".join(text)],
                str.split,
                bos_token=True,
                surprisal=True,
                base_two=True,
                **settings,
            )

    return {"plain": run, "corrected": lambda texts: run(texts, bow_correction=True)}


def by_surprisal(folder, network, fast):
    """Return plain surprisal by the package surprisal, a text at a time."""
    from surprisal import AutoHuggingFaceModel

    made = AutoHuggingFaceModel.from_pretrained(folder, model_class="gpt")

    def run(texts):
        for text in texts:
            made.surprise(" ".join(text))

    return {"plain": run}


def by_wordsprobability(folder, network, fast):
    """Return both by wordsprobability, which computes both whichever is asked for."""
    from wordsprobability import main
    from wordsprobability.models.bow_lm import BaseBOWModel

    class Peer(BaseBOWModel):
        def _initialise_model(self):
            return network, fast

        def _get_n_logits(self):
            return network.get_output_embeddings().out_features

    made = Peer()
    main.get_model, main.get_bow_symbol = (lambda name: made), (lambda name: "Ġ")

    def run(texts):
        main.get_surprisal_per_word(
            "\n".join(map(" ".join, texts)), "", return_buggy_surprisals=True
        )

    return {"plain": run, "corrected": run}


def by_batched_loop(folder, network, fast):
    """Return plain surprisal by batches of padded texts of similar lengths, summed by word."""
    import torch

    fast.pad_token = fast.eos_token

    def run(texts):
        joined = sorted((" ".join(text) for text in texts), key=len)
        size = max(1, BATCH // (1 + 13 * len(texts[0]) // 10))
        found = []
        for first in range(0, len(joined), size):
            read = fast(joined[first : first + size], padding=True, return_tensors="pt")
            begin = torch.full((len(read.input_ids), 1), fast.bos_token_id)
            inputs = torch.cat([begin, read.input_ids], 1)
            mask = torch.cat([torch.ones_like(begin), read.attention_mask], 1)
            with torch.inference_mode():
                logits = network(inputs, attention_mask=mask, use_cache=False).logits[:, :-1]
                nats = torch.nn.functional.cross_entropy(
                    logits.flatten(0, 1), inputs[:, 1:].flatten(), reduction="none"
                )
            nats = nats.view(inputs[:, 1:].shape).double().numpy()
            for row, values in enumerate(nats):
                words = read.word_ids(row)
                kept = np.array([word for word in words if word is not None])
                known = [word is not None for word in words]
                found.append(np.bincount(kept, values[known]) / np.log(2))
        return found

    return {"plain": run}


def require_same(table, found) -> None:
    """Raise SystemExit unless this project and the loop have the same surprisals."""
    ours, theirs = np.sort(table["surprisal_bits"]), np.sort(np.concatenate(found))
    if len(ours) != len(theirs) or np.abs(ours - theirs).max() > 1e-2:
        raise SystemExit("the batched loop has other surprisals")


#: Tokens of a batch of the loop: the fastest of 512 to 4,096 for both lengths on a Zen 4.
BATCH = 1024
PEERS = {
    "minicons": by_minicons,
    "surprisal": by_surprisal,
    "wordsprobability": by_wordsprobability,
    "batched_loop": by_batched_loop,
}


def compare(
    shape: str, texts: int, length: int, turns: int, metrics, module, clock, whole: bool = True
) -> None:
    """Time this project and its peers on one network; write times and ratios into `metrics`.

    Not `whole`: plain surprisal alone, and the batched loop alone of the peers.
    """
    from transformers import PreTrainedTokenizerFast

    network = network_of("gpt2" if shape == "gpt2" else "small")
    peers = PEERS if whole else {"batched_loop": by_batched_loop}
    made, words = tokenizer_of(network.config.vocab_size)
    drawn = texts_of(words, texts, length)
    with tempfile.TemporaryDirectory() as folder:
        network.save_pretrained(folder)
        end = "<|endoftext|>"
        fast = PreTrainedTokenizerFast(tokenizer_object=made, bos_token=end, eos_token=end)
        fast.save_pretrained(folder)
        model = module.load(folder, Path(folder) / "tokenizer.json")
        runs = {"ours": {"both": lambda each: module.score_words(each, model).table}}
        if whole:
            runs["ours_bf16"] = {
                "both": lambda each: module.score_words(each, model, precision="bf16").table
            }
            for name, asked in MEASURES.items():
                runs[f"ours_{name}"] = {
                    "both": lambda each, asked=asked: module.score_words(each, model, **asked).table
                }
        for name, make in peers.items():
            try:
                runs[name] = make(folder, network, fast)
            except (ImportError, AttributeError, TypeError) as error:  # it does not run here
                metrics[f"{shape}.{name}.absent"] = f"{type(error).__name__}: {error}"[:200]
        times: dict = {(name, mode): [] for name, modes in runs.items() for mode in modes}
        for name, mode in times:
            runs[name][mode](drawn[:1])  # once, to warm up
        if "batched_loop" in runs:
            require_same(
                module.score_words(drawn, model).table, runs["batched_loop"]["plain"](drawn)
            )
        peaks = []
        for _ in range(turns):
            peaks.append(peak(clock))
            for (name, mode), seconds in times.items():
                start = clock()
                runs[name][mode](drawn)
                seconds.append(clock() - start)
    median = {key: statistics.median(seconds) for key, seconds in times.items()}
    own = median[("ours", "both")]
    tokens = int(module.score_words(drawn, model).table["tokens"].sum())
    metrics[f"{shape}.texts"], metrics[f"{shape}.words_per_text"] = texts, length
    metrics[f"{shape}.tokens"] = tokens
    metrics[f"{shape}.seconds"] = round(own, 3)
    metrics[f"{shape}.words_per_second"] = round(texts * length / own)
    table = module.score_words(drawn, model).table
    inputs = [1 + int(count) for count in table["tokens"].to_numpy().reshape(texts, -1).sum(1)]
    floor = operations(network.config, inputs) / max(peaks)
    metrics[f"{shape}.peak_gflops"] = round(max(peaks) / 1e9)
    metrics[f"{shape}.share_of_peak"] = round(floor / own, 2)
    for mode in ("plain", "corrected"):
        ratios = {}
        for name in peers:
            if (name, mode) in times:
                paired = zip(times[(name, mode)], times[("ours", "both")], strict=True)
                ratios[name] = statistics.median(theirs / mine for theirs, mine in paired)
                metrics[f"{shape}.{mode}.ratio_vs_{name}"] = round(ratios[name], 2)
        if ratios:
            metrics[f"{shape}.{mode}.fastest"] = min(ratios, key=ratios.get)
            metrics[f"{shape}.{mode}.ratio_vs_fastest"] = round(min(ratios.values()), 2)
            metrics[f"{shape}.{mode}.ratio_at_peak"] = round(min(ratios.values()) * own / floor, 2)
    if not whole:
        return
    metrics[f"{shape}.bf16.seconds"] = round(median[("ours_bf16", "both")], 3)
    metrics[f"{shape}.bf16.ratio_vs_fp32"] = round(own / median[("ours_bf16", "both")], 2)
    for name in MEASURES:
        paired = zip(times[(f"ours_{name}", "both")], times[("ours", "both")], strict=True)
        ratio = statistics.median(more / plain for more, plain in paired)
        metrics[f"{shape}.{name}.ratio_vs_plain"] = round(ratio, 2)
    exact, near = (
        module.score_words(drawn, model, precision=precision).table["surprisal_bits"]
        for precision in ("fp32", "bf16")
    )
    off = (near - exact).abs()
    metrics[f"{shape}.bf16.mean_error_bits"] = round(float(off.mean()), 5)
    metrics[f"{shape}.bf16.largest_error_bits"] = round(float(off.max()), 5)


def compare_checkpoint(path: Path, turns: int, metrics, module, clock) -> None:
    """Time one text of about 190 tokens on a checkpoint, next to a plain forward pass of the same network."""
    import torch
    from transformers import AutoModelForCausalLM

    model = module.load(path)
    file = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
    folder = path.parent if file else path
    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **file).eval()
    words = 13 * [
        "the",
        "old",
        "man",
        "had",
        "gone",
        "down",
        "to",
        "the",
        "river",
        "to",
        "look",
        "for",
        "a",
        "boat",
    ]
    ids = torch.tensor([model.tokenizer.encode(" ".join(words), add_special_tokens=False).ids])

    def plain():
        with torch.inference_mode():
            logprobs = network(ids).logits.log_softmax(-1)
            return logprobs[0, :-1].gather(1, ids[0, 1:, None])

    times = {"ours": [], "forward": []}
    for _ in range(turns + 1):
        for name, run in (("ours", lambda: module.score_words([words], model)), ("forward", plain)):
            start = clock()
            run()
            times[name].append(clock() - start)
    ours, forward = (statistics.median(seconds[1:]) for seconds in times.values())
    metrics["checkpoint.name"] = path.name
    metrics["checkpoint.tokens"] = ids.shape[1]
    metrics["checkpoint.seconds"] = round(ours, 3)
    metrics["checkpoint.share_of_forward_pass"] = round(ours / forward, 2)


def main() -> None:
    """Run, print the figures, end with one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute, the same keys")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu-time", action="store_true", help="count the processor's time")
    parser.add_argument("--peers", type=Path, help="folder that the peers were installed to")
    parser.add_argument("--checkpoint", type=Path, help="a real model: a folder or a .gguf file")
    parser.add_argument("--out", type=Path, help="file that also gets the JSON object")
    arguments = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    warnings.filterwarnings("ignore")
    if arguments.peers:
        sys.path.insert(0, str(arguments.peers))
    checkout.use()
    from recency.heap import keep_freed
    from recency.processor import use
    from recency.scoring import surprisal as module

    use(arguments.threads)
    keep_freed(large=True)
    metrics: dict = {}
    small, gpt2 = ((2, 250, 2), (1, 150, 1)) if arguments.quick else ((10, 1000, 3), (4, 700, 3))
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    compare("small", *small, metrics, module, clock)
    compare("gpt2", *gpt2, metrics, module, clock)
    short, pages = ((50, 10, 1), (2, 340, 1)) if arguments.quick else ((2000, 10, 3), (20, 340, 3))
    compare("short", *short, metrics, module, clock, whole=False)
    compare("pages", *pages, metrics, module, clock, whole=False)
    if arguments.checkpoint:
        compare_checkpoint(arguments.checkpoint, 9, metrics, module, clock)
    paper = PAPER_LMS * PAPER_WORDS / metrics["small.words_per_second"] / 60
    metrics["paper_minutes"] = round(paper, 1)
    metrics["peak_memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    hardware = processor(f"{arguments.threads} of {os.cpu_count()} cores")
    clocks = {"quick": arguments.quick, "clock": "processor" if arguments.cpu_time else "wall"}
    keep("surprisal", hardware, metrics, TARGETS, arguments.out, **clocks)


if __name__ == "__main__":
    main()
