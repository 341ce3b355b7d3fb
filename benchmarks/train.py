"""Training steps by this project and by two peers: tokens a second, ratio, peak memory.

python benchmarks/train.py [--quick] [--device cpu|cuda] [--threads N] [--cpu-time]
    [--peers FOLDER] [--out FILE]

The paper's network (2 layers, 4 heads, width 256, 50,304 entries) with ALiBi's mixed slopes, the
same weights, tokens and recipe for all, turn by turn in one process. A ratio is a peer's time over
ours, the median over the turns. Peers: `trainer` is transformers' Trainer, `loop` a plain loop as
in nanoGPT (compiled on a GPU), `lce` the same loop with PyTorch's linear_cross_entropy, which does
not hold all logits; all use the default attention with the bias as an additive mask. Times on a CPU
are those with freed memory kept by the C library, which halves the loop's, and numbers below 1e-38
taken for 0; memory is that without the former.
`fastest` names the fastest of them. `share_of_peak` is how much of our time the matrix products
alone would take at the processor's peak, measured beside them, and `ratio_at_peak` the ratio to the
fastest peer that no computation of all logits in this precision can pass. `--cpu-time` counts the
processor's time, for a machine that others use. Trainer needs accelerate; `--peers` is a folder
that it was installed to (pip install --no-deps --target FOLDER accelerate). Without it that peer is
left out. The last line is one JSON object.
"""

import argparse
import ctypes
import gc
import os
import statistics
import sys
import time
import warnings
from pathlib import Path

import checkout
from contenders import PAPER, absent, contenders
from result import keep, processor

#: On a CPU memory is at most, everything else at least; on a GPU the same.
TARGETS = {
    "cpu": {
        "fp32.ratio_vs_fastest": 1.2,
        "fp32.memory_vs_trainer": 0.5,
        "bf16.ratio_vs_fastest": 3.0,
        "fp32.bias_cost": 0.10,
    },
    "cuda": {
        "bf16.tokens_per_second": 3_000_000,
        "bf16.ratio_vs_fastest": 3.0,
        "bf16.bias_cost": 0.05,
    },
}
#: (sequence length, sequences a step, sequences at once, steps a turn, turns)
SIZES = {
    ("cpu", True): (64, 4, 4, 1, 2),
    ("cpu", False): (2048, 2, 2, 2, 5),
    ("cuda", True): (2048, 128, 32, 3, 3),
    ("cuda", False): (2048, 256, 64, 5, 5),
}


def resident(field: str) -> float:
    """Return VmRSS or VmHWM (since it was last reset) of this process, MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise SystemExit("benchmarks/train.py measures memory through /proc, which is not here")


def peak_memory(make, device: str) -> float:
    """Return the most that a contender and two of its steps add to the process, MiB."""
    import torch

    gc.collect()
    gc.freeze()  # what was imported is not searched again
    if device != "cpu":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        made = make()
        made.steps(2)
        peak = (torch.cuda.max_memory_allocated() - before) / 2**20
    else:
        trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda pad: None)
        trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again from VmRSS
        before = resident("VmRSS")
        made = make()
        made.steps(2)
        peak = resident("VmHWM") - before
    del made
    gc.collect()
    return peak


def timed(contender, count: int, device: str, clock) -> float:
    """Return the seconds that `count` steps take."""
    import torch

    contender.clock = clock
    if device != "cpu":
        torch.cuda.synchronize()
    start = clock()
    contender.steps(count)
    if device != "cpu":
        torch.cuda.synchronize()
    return getattr(contender, "seconds", clock() - start)


def compare(precision: str, device: str, sizes: tuple, peaks: dict, metrics: dict, clock) -> None:
    """Time all at one precision, write times and ratios into `metrics`."""
    length, sequences, _, count, turns = sizes
    makers = contenders(precision, device, sizes)
    made = {name: make() for name, make in makers.items()}
    first = {name: contender.steps(1) for name, contender in made.items()}
    seconds: dict = {name: [] for name in made}
    most = []
    for _ in range(turns):
        most.append(matrix_peak(device, precision, clock))
        for name, contender in made.items():
            seconds[name].append(timed(contender, count, device, clock))
    tokens = length * sequences * count
    own = statistics.median(seconds["ours"])
    metrics[f"{precision}.tokens_per_second"] = round(tokens / own)
    metrics[f"{precision}.peak_mib"] = round(peaks["ours"])
    ratios = {}
    for name in ("trainer", "loop", "lce"):
        if name not in made:
            metrics[f"{precision}.{name}.absent"] = absent()[name]
            continue
        pairs = zip(seconds[name], seconds["ours"], strict=True)
        ratios[name] = statistics.median(theirs / mine for theirs, mine in pairs)
        metrics[f"{precision}.ratio_vs_{name}"] = round(ratios[name], 2)
        metrics[f"{precision}.memory_vs_{name}"] = round(peaks["ours"] / peaks[name], 2)
        # The first step of all starts from the same weights and tokens.
        metrics[f"{precision}.first_loss_minus_{name}"] = round(first["ours"] - first[name], 5)
    pairs = zip(seconds["no_bias"], seconds["ours"], strict=True)
    cost = statistics.median(mine / without for without, mine in pairs) - 1
    metrics[f"{precision}.bias_cost"] = round(cost, 3)
    share = flop_per_token(length) * tokens / own / max(most)
    fastest = min(ratios, key=ratios.get)
    metrics[f"{precision}.fastest"] = fastest
    metrics[f"{precision}.ratio_vs_fastest"] = round(ratios[fastest], 2)
    metrics[f"{precision}.peak_gflops"] = round(max(most) / 1e9)
    metrics[f"{precision}.share_of_peak"] = round(share, 2)
    metrics[f"{precision}.ratio_at_peak"] = round(ratios[fastest] / share, 2)


def flop_per_token(length: int) -> float:
    """Return a training step's floating-point operations per token: three times the forward's."""
    width, layers = PAPER["width"], PAPER["layers"]
    weights = layers * (4 * width * width + 2 * width * PAPER["feed_forward"]) + width * 50_304
    return 3 * (2 * weights + layers * 2 * 2 * width * length / 2)


def matrix_peak(device: str, precision: str, clock) -> float:
    """Return the most operations a second that matrix products reach at a precision."""
    import torch

    from recency.networks import products

    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    size = 1024 if device == "cpu" else 8192
    a, b = torch.randn(2, size, size, device=device).to(dtype)
    run = products.product(b) if products.can_lay_out(b) else b.T.__rmatmul__
    times = []
    with torch.inference_mode():
        for _ in range(20):
            start = clock()
            run(a)
            if device != "cpu":
                torch.cuda.synchronize()
            times.append(clock() - start)
    return 2 * size**3 / min(times[3:])


def main() -> None:
    """Run, print the figures, end with one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller, the same keys")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="a GPU where there is one")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cpu-time", action="store_true", help="count the processor's time")
    parser.add_argument("--peers", type=Path, help="folder that accelerate was installed to")
    parser.add_argument("--out", type=Path, help="file that also gets the JSON object")
    arguments = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    warnings.filterwarnings("ignore")
    checkout.use()
    if arguments.peers:
        sys.path.append(str(arguments.peers))
    import torch

    from recency.heap import keep_freed
    from recency.processor import use

    device = arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")
    use(arguments.threads)
    if arguments.cpu_time and device != "cpu":
        raise SystemExit("--cpu-time is for --device cpu: a GPU's work is not the processor's time")
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    metrics: dict = {}
    sizes = SIZES[device, arguments.quick]
    peaks = {
        precision: {
            name: peak_memory(make, device)
            for name, make in contenders(precision, device, sizes).items()
        }
        for precision in (("fp32", "bf16") if device == "cpu" else ("bf16",))
    }
    keep_freed(large=True)
    for precision, each in peaks.items():
        compare(precision, device, sizes, each, metrics, clock)
    used = f"{arguments.threads} of {os.cpu_count()} cores"
    hardware = torch.cuda.get_device_name() if device != "cpu" else processor(used)
    clocks = {"quick": arguments.quick, "clock": "processor" if arguments.cpu_time else "wall"}
    keep("train", hardware, metrics, TARGETS[device], arguments.out, **clocks)


if __name__ == "__main__":
    main()
