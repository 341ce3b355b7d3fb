"""Trials of a bias search: their gain in log-likelihood over the unbiased LM."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from recency.figures import comparison, style
from recency.figures.paths import File, Files

GAIN = "Gain in log-likelihood over\nthe unbiased LM (nats)"


def draw(trials: pd.DataFrame, best: Mapping[str, Any], words: list[str]) -> Figure:
    """Draw two parameters as a plane coloured by gain, otherwise one panel per parameter."""
    names = list(best["searched"])
    points = [("best", "*", best["bias"], best["loglik"] - best["unbiased"])]
    for (name, entry), marker in zip(best["marked"].items(), "DsPX" * len(best["marked"])):
        if entry["loglik"] is not None and set(names) <= set(entry["bias"]):
            points.append((name, marker, entry["bias"], entry["loglik"] - best["unbiased"]))
    plane = len(names) == 2
    figure = style.figure(3.4 if plane else 2.6, style.WIDTH * (0.8 if plane else 1))
    grid = (
        [figure.subplots()]
        if plane
        else figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    )
    for number, axes in enumerate(grid):
        x = names[number]
        if plane:
            shown = axes.scatter(
                trials[x], trials[names[1]], c=trials.gain, s=22, cmap="viridis", gid="trials"
            )
            figure.colorbar(shown, ax=axes, label=GAIN, aspect=30)
            axes.set_ylabel(names[1])
        else:
            axes.plot(trials[x], trials.gain, ".", color=style.GREY, gid="trials")
            axes.axhline(0, color="black", lw=0.7)
            axes.set_ylabel("" if number else GAIN)
        for name, marker, bias, gain in points:
            axes.plot(
                bias[x], bias[names[1]] if plane else gain, marker, mfc="none", mec="#D55E00",
                mew=1.4, ms=12 if marker == "*" else 9, ls="", gid=name, label=name, clip_on=False,
            )  # fmt: skip
        axes.set_xlabel(x)
        axes.set_xlim(around(best["searched"][x]))
        if plane:
            axes.set_ylim(around(best["searched"][names[1]]))
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=4)
    style.notes(figure, words)
    return figure


def around(bounds: list[float]) -> tuple[float, float]:
    """Widen bounds slightly, so that markers on them are not clipped."""
    low, high = bounds
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


def sentences(
    trials: pd.DataFrame, best: Mapping[str, Any], labels: Mapping[str, str] = {}
) -> list[str]:
    """Return notes on the trials, the best bias and the marked biases; `labels` map keys to labels."""

    def written(bias: Mapping[str, Any]) -> str:
        return ", ".join(f"{name} {bias[name]:.4g}" for name in best["searched"] if name in bias)

    failed = int(trials.loglik.isna().sum())
    lm, *responses = (labels.get(key, key) for key in [best["lm"], *best["responses"]])
    first = f"{len(trials)} trials on {lm}, {', '.join(responses)}; log-likelihood "
    first += f"{style.number(best['unbiased'], 2)} without a bias, "
    first += f"{style.number(best['loglik'], 2)} with the best "
    words = [first + f"({written(best['bias'])}; trial {best['trial']})"]
    for name, entry in best["marked"].items():
        value = "no fit" if entry["loglik"] is None else style.number(entry["loglik"], 2)
        words.append(f"with {name} ({written(entry['bias'])}): {value}")
    return words + ([f"trials without a fit: {failed}"] if failed else [])


def main(*, trials: File, best: File, out: Files, labels: Mapping[str, str] = {}) -> None:
    """Draw trials.csv and best.json of a search to `out` (.pdf, .svg, .png, .csv)."""
    result = json.loads(Path(best).read_text())
    rows = comparison.table(trials, ["trial", *result["searched"], "loglik"])
    rows["gain"] = rows.loglik.astype(float) - result["unbiased"]
    style.write(out, rows, draw, rows, result, sentences(rows, result, labels))
