"""What a GPU does in twelve minutes: tests, costs per operation, training against its peers, two LMs.

python benchmarks/gpu_rehearsal.py [--minutes 12] [--device cuda|cpu] [--folder DIR] [--only PART …]
python benchmarks/gpu_rehearsal.py --update FILE

Each part is a process of its own, with a share of the time; it is told to end shortly before that is over, and a
training saves its state then. A part that fails is reported, and the next begins. Results are written after each part, to
`gpu_rehearsal.<GPU>.json` and `train.<GPU>.json` in the folder (default: benchmarks/results). `--only` divides the
time among some parts, and keeps what is stored of the others, and costs that were measured.

costs  Seconds per operation of training, narrow (the paper's network) in bf16 and fp32, and wide (GPT-2 small's
       shape) in bf16; of scoring words; and of fine-tuning, which is wide and in fp32: counted as the cost model
       does, for its GPU column.
tests  Those that need a GPU.
train  benchmarks/train.py: transformers' Trainer and plain loops against ours.
no_bias, mixed_slopes  The open study's trainings at `scale=gpu`, as far as they get. Their text is read from
       $RECENCY_MIRROR (default: what is beside the project) or the internet.

`--update` rewrites the cost model's GPU column from a stored result, all of whose costs were measured.
With `--device cpu` everything is small and only the script itself is rehearsed. The last line is one JSON object.
"""

import argparse
import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import checkout

ROOT = Path(__file__).resolve().parents[1]
checkout.use("tests")

from result import keep, processor

#: Part → its share of the time.
SHARES = {"costs": 0.25, "tests": 0.2, "train": 0.25, "no_bias": 0.15, "mixed_slopes": 0.15}
#: Seconds that a part has to end after it was told to.
GRACE = 20
#: Files with tests that are skipped without a GPU.
TESTS = (
    "tests/attention/test_biases.py",
    "tests/attention/test_content.py",
    "tests/scoring/test_forward.py",
    "tests/networks/test_training.py",
    "tests/networks/test_loss.py",
)
LMS = {"no_bias": "Pythia", "mixed_slopes": "ALiBi-mix-TI"}
MODEL = ROOT / "src" / "recency" / "workflow" / "plan" / "cost_model.py"
COST = "seconds_per_operation."
WIDE = {
    "family": "gpt_neox", "layers": 12, "heads": 12, "width": 768, "feed_forward": 3072,
    "context": 2048, "rotary_fraction": 0.25,
}  # fmt: skip


# Costs


def timed(work, device: str) -> float:
    """Return the seconds of a call, the second one, which finds compiled kernels."""
    import torch

    for _ in range(2):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
    return time.perf_counter() - start


def training_cost(shape: dict, precision: str, device: str) -> float:
    """Return seconds per operation of training steps: 6 per parameter and token."""
    from contenders import MIX, RECIPE, VOCABULARY, Stream

    from recency.networks import architectures, training

    length, micro, steps = (64, 1, 1) if device == "cpu" else (2048, 8, 4)
    recipe = RECIPE | {
        "precision": precision, "sequence_length": length, "micro_batch": micro, "batch_sequences": 2 * micro,
    }  # fmt: skip
    model = architectures.new(shape, MIX, VOCABULARY, 1)
    count = sum(weight.numel() for weight in model.parameters())
    run = training.Training(model, Stream(length, VOCABULARY), recipe, device)
    done = iter(range(1, 1000))

    def work() -> None:
        for _ in range(steps):
            float(run.step(next(done)))

    return timed(work, device) / (6.0 * count * steps * 2 * micro * length)


def reading_cost(device: str) -> float:
    """Return seconds per operation of scoring words: 2 per parameter and token, as `Workloads.scoring`."""
    from surprisal import network_of, texts_of, tokenizer_of

    from recency.scoring.surprisal import score_words
    from recency.workflow.plan.workloads import TOKENS_PER_WORD

    texts, length = (2, 200) if device == "cpu" else (50, 1000)
    network, (tokenizer, words) = network_of("small"), tokenizer_of(50_257)
    given = texts_of(words, texts, length)
    network.to(device)
    count = sum(weight.numel() for weight in network.parameters())
    seconds = timed(lambda: score_words(given, network, tokenizer), device)
    return seconds / (2.0 * count * texts * length * 2 * TOKENS_PER_WORD)


def fine_tuning_cost(device: str, folder: Path) -> float:
    """Return seconds per operation of fine-tuning: 6 per parameter and token, of 64 tokens an example."""
    import numpy as np
    import torch

    from masked_networks import roberta
    from recency.evaluations.glue import fine_tune
    from recency.evaluations.glue.fine_tune import Encoded, SeedState
    from recency.networks.stopping import Stop
    from recency.scoring.surprisal import load
    from recency.workflow.plan.workloads import EXAMPLE

    many, shape = (8, {}) if device == "cpu" else (2048, {"width": 768, "heads": 12, "layers": 12})
    opened = load(
        roberta(folder / "roberta", [f"w{n}" for n in range(50_000)], context=512, **shape)
    )
    draw = np.random.default_rng(1)
    ids = [list(map(int, draw.integers(5, 50_000, EXAMPLE))) for _ in range(many)]
    labels = draw.integers(0, 2, many)
    data = Encoded(ids, [[0] * EXAMPLE] * many, labels, 0)
    task = {
        "labels": ["0", "1"],
        "batch": 32,
        "learning_rate": 1e-5,
        "updates": 1000,
        "warmup_updates": 10,
    }
    settings = {
        "epochs": 1,
        "examples": None,
        "dropout": 0.1,
        "betas": (0.9, 0.98),
        "epsilon": 1e-6,
        "weight_decay": 0.1,
    }
    dev = Encoded(ids[:8], [[0] * EXAMPLE] * 8, labels[:8], 0)
    count = sum(weight.numel() for weight in opened.network.parameters())

    def work() -> None:
        state = SeedState(folder / "none.pt", {})
        fine_tune.run(opened, data, dev, task, settings, 1, 1, "rehearsal", state, Stop())

    torch.manual_seed(1)
    return timed(work, device) / (6.0 * count * many * EXAMPLE)


def costs(device: str, folder: Path) -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield the name of each cost and the function that measures it, the most important first."""
    from contenders import PAPER

    few = {"layers": 1, "width": 48, "heads": 12, "feed_forward": 64} if device == "cpu" else {}
    yield "training.narrow.bf16", partial(training_cost, PAPER | few, "bf16", device)
    yield "reading", partial(reading_cost, device)
    yield "fine_tuning", partial(fine_tuning_cost, device, folder)
    for name, shape, precision in (("wide", WIDE, "bf16"), ("narrow", PAPER, "fp32")):
        yield f"training.{name}.{precision}", partial(training_cost, shape | few, precision, device)


def store_costs(device: str, out: Path) -> bool:
    """Write each cost that `out` lacks as soon as it is measured; report those that fail.

    Returns
    -------
    bool
        Whether any failed.
    """
    found, failed = json.loads(out.read_text()) if out.exists() else {}, False
    with tempfile.TemporaryDirectory() as scratch:
        for name, measure in costs(device, Path(scratch)):
            if name in found:
                continue
            try:
                found[name] = measure()
            except Exception:  # noqa: BLE001 - one failed cost leaves the others
                traceback.print_exc()
                failed = True
            out.write_text(json.dumps(found))
            print(found, flush=True)
    return failed


def update(model: str, result: dict) -> str:
    """Return the source of the cost model with its GPU column from a stored result.

    Costs are rounded up, to two digits of operations per second.
    """
    if result["device"] != "cuda":
        raise SystemExit("this result is of a CPU: it says nothing about a GPU")
    found = result["metrics"]
    names = [f"training.{kind}" for kind in ("narrow.fp32", "narrow.bf16", "wide.bf16")]
    names += ["reading", "fine_tuning"]
    if missing := [name for name in names if f"{COST}{name}" not in found]:
        raise SystemExit(f"not measured: {', '.join(missing)}; repeat with more --minutes")
    cost = {name: found[f"{COST}{name}"] for name in names}
    # A whole training is slower than its steps: kernels are compiled, and losses validated.
    whole = [found[key] for part in LMS if (key := f"{COST}training.{part}") in found]
    narrow = max(cost["training.narrow.bf16"], *whole)

    def written(seconds: float) -> str:
        rate = 1 / seconds
        unit = 10.0 ** (math.floor(math.log10(rate)) - 1)
        return f"1 / {math.floor(rate / unit) * unit:.1e}".replace("e+", "e")

    columns = {
        "fp32": (cost["training.narrow.fp32"], cost["fine_tuning"]),
        "bf16": (narrow, cost["training.wide.bf16"]),
    }
    pairs = (f'"{name}": ({", ".join(map(written, pair))})' for name, pair in columns.items())
    lines = {
        "TRAINING_GPU": "{" + ", ".join(pairs) + "}",
        "READING_GPU": written(cost["reading"]),
        "GPU": json.dumps(result["hardware"]),
    }
    for name, value in lines.items():
        model, times = re.subn(
            rf"(?m)^{name} = .*$", lambda _, n=name, v=value: f"{n} = {v}", model
        )
        assert times == 1, name
    return model


# Parts


def command(part: str, device: str, folder: Path, name: str) -> list[str]:
    """Return the command of a part."""
    python = sys.executable
    if part == "costs":
        return [python, __file__, "--part", part, "--device", device, "--folder", str(folder)]
    if part == "tests":  # each compiles its own kernels, which takes a core
        workers = str(min(8, len(os.sched_getaffinity(0)))) if device == "cuda" else "0"
        return [python, "-m", "pytest", "-q", "-n", workers, "-k", "gpu or cuda or compile", *TESTS]
    if part == "train":
        out = ["--out", str(folder / f"train.{name}.json")]
        return [python, "benchmarks/train.py", "--device", device, "--quick", *out]
    target = f"results/open/gpu/lms/{LMS[part]}/model.safetensors"
    words = [python, "-m", "snakemake", "--cores", "all", "--nolock", target]
    words += ["--configfile", "config/open.yaml", "--config", "scale=gpu"]
    return [*words, "-n"] if device == "cpu" else words


def run(words: list[str], seconds: float) -> str:
    """Run a command for so many seconds at most; return how it ended: ok, cut, or what failed."""
    from project import SOURCES, environment

    mirrors = os.environ.get("RECENCY_MIRROR", f"{ROOT}/../shared/mirror:{ROOT}/../shared/data")
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sources = os.pathsep.join(filter(None, [SOURCES, *given]))
    paths = {"PYTHONPATH": sources, "RECENCY_MIRROR": mirrors}
    process = subprocess.Popen(words, cwd=ROOT, env=environment() | paths, start_new_session=True)
    try:
        code = process.wait(timeout=max(seconds - GRACE, seconds / 2))
        return f"failed with {code}" if code else "ok"
    except subprocess.TimeoutExpired:
        for number, wait in ((signal.SIGTERM, GRACE), (signal.SIGKILL, 10)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=wait)
                break
        return "cut"


def trained(part: str, results: Path = ROOT / "results" / "open" / "gpu") -> dict[str, float]:
    """Return the steps done, the last loss in nats, and tokens per second, of a training that was cut.

    The first two are of its state, the last of its log: since the end of its first step.
    """
    import torch

    from recency.networks import states

    path = states.state_path(results / "lms" / LMS[part])
    if not path.exists():
        return {}
    state = torch.load(path, weights_only=True, map_location="cpu")
    found = {
        f"{part}.steps": state["done"],
        f"{part}.loss_nats": state["losses"][state["done"] - 1],
    }
    log = results / "logs" / "train" / f"{LMS[part]}.log"
    rates = re.findall(r"([\d,]+) tokens/s", log.read_text(encoding="utf-8"))
    if len(rates) > 1:
        rate = float(rates[-1].replace(",", ""))
        weights = sum(weight.numel() for weight in state["model"].values())
        found[f"{part}.tokens_per_second"] = rate
        found[f"{COST}training.{part}"] = 1 / (6.0 * weights * rate)
    return found


def main() -> int:
    """Run the parts, and write what they found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=12)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--folder", type=Path, help="on a CPU a temporary one")
    parser.add_argument("--update", type=Path, help="a stored result, for the cost model")
    parser.add_argument("--only", nargs="+", choices=list(SHARES), default=list(SHARES))
    parser.add_argument("--part", choices=["costs"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.update:
        result = json.loads(arguments.update.read_text())
        MODEL.write_text(update(MODEL.read_text(encoding="utf-8"), result), encoding="utf-8")
        return 0
    device = arguments.device
    usual = ROOT / "benchmarks" / "results" if device == "cuda" else Path(tempfile.mkdtemp())
    folder = (arguments.folder or usual).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    partial_costs = folder / ".costs.json"
    if arguments.part:
        return int(store_costs(device, partial_costs))
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("PyTorch finds no GPU here; --device cpu rehearses the script itself")
    hardware = torch.cuda.get_device_name() if device == "cuda" else processor("a rehearsal")
    name = re.sub(r"[^a-z0-9]+", "-", hardware.lower()).strip("-")
    out, metrics = folder / f"gpu_rehearsal.{name}.json", {}
    if out.exists() and len(arguments.only) < len(SHARES):
        metrics = json.loads(out.read_text())["metrics"]
        before = {key.removeprefix(COST): v for key, v in metrics.items() if key.startswith(COST)}
        partial_costs.write_text(json.dumps(before))
    whole = sum(SHARES[part] for part in arguments.only)
    for part in arguments.only:
        start = time.monotonic()
        seconds = 60 * arguments.minutes * SHARES[part] / whole
        metrics[f"{part}.ended"] = run(command(part, device, folder, name), seconds)
        metrics[f"{part}.seconds"] = round(time.monotonic() - start)
        if part == "costs" and partial_costs.exists():
            found = json.loads(partial_costs.read_text())
            metrics |= {f"{COST}{key}": value for key, value in found.items()}
            partial_costs.unlink()
        if part in LMS:
            metrics |= trained(part)
        keep("gpu_rehearsal", hardware, metrics, {}, out, device=device)
    return int(any(str(value).startswith("failed") for value in metrics.values()))


if __name__ == "__main__":
    sys.exit(main())
