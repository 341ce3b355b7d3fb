"""Make the table of docs/benchmarks.md from the stored runs: the ratio to each fastest peer.

    python benchmarks/results_table.py [--write]

Print the table, or write it into the page. A stored run is results/<benchmark>.<hardware>.json.
"""

import argparse
import json
import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
HEAD = (
    "| measurement | times the fastest peer | at the processor's peak | the peer, in the same run | hardware |\n"
    "|---|---|---|---|---|"
)
PEERS = {
    "trainer": "transformers' `Trainer`",
    "loop": "a plain PyTorch loop",
    "lce": "a loop with PyTorch's `linear_cross_entropy`",
    "tokenizers": "the tokenizers library",
    "lmer": "lme4's `lmer`, `calc.derivs = FALSE`",
    "mixedlm": "mixedlm (Rust)",
    "mixedlm_rs": "mixedlm-rs",
    "batched_loop": "a plain batched loop",
}
MODELS = {
    "natural_stories": "Natural Stories' shape (385,000 × 181 × 485)",
    "provo": "Provo's shape (53,000 × 84 × 134)",
    "hard": "a singular fit (139,000 × 117 × 361)",
}


def fastest(metrics: Mapping, before: str) -> tuple[float, str]:
    """Return the least `<before>ratio_vs_<peer>` and that peer's name."""
    start = f"{before}ratio_vs_"
    found = {
        key.removeprefix(start): value
        for key, value in metrics.items()
        if key.startswith(start) and key != f"{start}fastest" and isinstance(value, float | int)
    }
    peer = min(found, key=found.__getitem__)
    return found[peer], PEERS.get(peer, peer)


def times(ratio: float) -> str:
    """Write a ratio with two digits, as far as it has them."""
    return f"{ratio:.2g} ×" if ratio < 9.95 else f"{ratio:.0f} ×"


def trained(metrics: Mapping) -> list[tuple[str, str, str, str]]:
    """Return rows of a training step; on a GPU, which has a row of its own, in bf16 alone."""
    precisions = [name for name in ("fp32", "bf16") if f"{name}.ratio_at_peak" in metrics]
    where = "" if "fp32" in precisions else " on a GPU"
    rows = []
    for precision in precisions:
        ratio, peer = fastest(metrics, f"{precision}.")
        memory = metrics.get(f"{precision}.memory_vs_trainer")
        what = f"training step, the paper's network, ALiBi-mix, {precision}{where}"
        said = times(ratio) + (f"; {memory:.2f} × the memory of `Trainer`" if memory else "")
        rows.append((what, said, times(metrics[f"{precision}.ratio_at_peak"]), peer))
    return rows


def tokenized(metrics: Mapping) -> list[tuple[str, str, str, str]]:
    """Return the row of the tokenizer."""
    ratio, peer = fastest(metrics, "")
    return [(f"tokenizing {metrics['words'] / 1e6:.1f} M words", times(ratio), "", peer)]


def scored(metrics: Mapping) -> list[tuple[str, str, str, str]]:
    """Return rows of surprisal."""
    rows = []
    for size, name in (("small", "the paper's network"), ("gpt2", "GPT-2-small's shape")):
        (plain, peer), (corrected, other) = (
            fastest(metrics, f"{size}.{kind}.") for kind in ("plain", "corrected")
        )
        texts, words = metrics[f"{size}.texts"], metrics[f"{size}.words_per_text"]
        said = f"plain {times(plain)}, with correction {times(corrected)}"
        peak = "; ".join(
            times(metrics[f"{size}.{k}.ratio_at_peak"]) for k in ("plain", "corrected")
        )
        who = peer if peer == other else f"{peer}; {other}"
        rows.append((f"surprisal of {texts} texts of {words:,} words, {name}", said, peak, who))
    for size in (size for size in ("short", "pages") if f"{size}.seconds" in metrics):
        texts, words = metrics[f"{size}.texts"], metrics[f"{size}.words_per_text"]
        ratio, peer = fastest(metrics, f"{size}.plain.")
        what = f"surprisal of {texts:,} texts of {words:,} words, the paper's network"
        rows.append((what, times(ratio), times(metrics[f"{size}.plain.ratio_at_peak"]), peer))
    return rows


def regressed(metrics: Mapping) -> list[tuple[str, str, str, str]]:
    """Return rows of mixed models; the peer is the one that took least for its whole fit."""
    rows = []
    for shape, name in MODELS.items():
        seconds = {peer: metrics.get(f"{shape}_{peer}_seconds") for peer in ("lmer", "mixedlm")}
        seconds = {peer: value for peer, value in seconds.items() if value is not None}
        if seconds:
            peer = min(seconds, key=seconds.__getitem__)
            search, fit = (
                seconds[peer] / metrics[f"{shape}_{of}_seconds"] for of in ("search", "fit")
            )
            said = f"search {times(search)}, whole fit {times(fit)}"
            if peer != "lmer" and "lmer" in seconds:
                lmer = seconds["lmer"] / metrics[f"{shape}_fit_seconds"]
                said += f" ({times(lmer)} `lmer`)"
            rows.append((f"mixed model, {name}", said, "", PEERS[peer]))
    return rows


def enlarged(metrics: Mapping) -> list[tuple[str, str, str, str]]:
    """Return the row of many small groups."""
    ratio, peer = fastest(metrics, "many_groups_")
    return [("mixed model, 1,000,000 rows of 200,000 subjects", times(ratio), "", peer)]


def resampled(metrics: Mapping) -> list[tuple[str, str, str, str]]:
    """Return the row of the crossed bootstrap."""
    ratio, peer = fastest(metrics, "")
    draw = f"{metrics['ms_per_draw']:.2g} ms"
    what = f"a draw of the crossed bootstrap, {MODELS['provo']}: {draw}"
    return [(what, times(ratio), "", peer)]


ROWS = {
    "train": trained,
    "tokens": tokenized,
    "surprisal": scored,
    "regression": regressed,
    "large_models": enlarged,
    "crossed": resampled,
}


def table(results: Path = RESULTS) -> str:
    """Return the table in Markdown: of each measurement, the machine with the smallest ratio."""
    least = {}
    for benchmark, rows in ROWS.items():
        for path in sorted(results.glob(f"{benchmark}.*.json")):
            kept = json.loads(path.read_text(encoding="utf-8"))
            used = kept["hardware"].replace("(R)", "").replace(" Processor", "")
            for row in rows(kept["metrics"]):
                ratio = float(re.search(r"[\d.]+", row[1])[0])
                line = f"| {' | '.join((*row, used))} |"
                least[row[0]] = min(least.get(row[0], (ratio, line)), (ratio, line))
    return "\n".join([HEAD, *(line for _, line in least.values())])


def put(readme: str, new: str) -> str:
    """Return the page's text with its table replaced."""
    start = readme.index(HEAD)
    end = readme.index("\n\n", start)
    return readme[:start] + new + readme[end:]


def main() -> None:
    """Print the table or write it, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write it into docs/benchmarks.md")
    if not parser.parse_args().write:
        print(table())
        return
    path = ROOT / "docs" / "benchmarks.md"
    path.write_text(put(path.read_text(encoding="utf-8"), table()), encoding="utf-8")


if __name__ == "__main__":
    main()
