"""Draw docs/memories.png, one sentence under four memories, and store its values in docs/memories.csv.

    python setup/landing.py [FOLDER]

The embedded network small-english reads a sentence without a bias and under three linear ones.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import recency
from recency.figures import style

SENTENCE = "She gave him the letter that he wanted."
#: Slope → its label and colour; a slope of 0 leaves the network as it was trained.
SLOPES = {
    0.0: ("no bias", "#404040"),
    0.25: ("ALiBi, slope 1/4", "#56B4E9"),
    1.0: ("ALiBi, slope 1", "#0072B2"),
    2.0: ("ALiBi, slope 2", "#D55E00"),
}
BACK = 12  # tokens
TOLD = "letter"  # the word whose values are written


def values() -> pd.DataFrame:
    """Return a row per slope and word: slope, position, word, surprisal_bits."""
    parts = []
    for slope in SLOPES:
        bias = recency.attention.bias("linear", slopes=slope) if slope else None
        words = recency.surprisal(SENTENCE, recency.load("small-english", bias=bias))
        parts.append(words[["position", "word", "surprisal_bits"]].assign(slope=slope))
    table = pd.concat(parts, ignore_index=True)
    return table[["slope", "position", "word", "surprisal_bits"]].round({"surprisal_bits": 3})


def draw(table: pd.DataFrame):
    """Return the figure: weights by distance above surprisal by word."""
    figure = style.figure(3.6)
    above, below = figure.subplots(2, 1, height_ratios=[1, 2])
    back = np.linspace(0, BACK, 200)
    for slope, (label, colour) in SLOPES.items():
        above.plot(back, np.exp(-slope * back), color=colour, label=label)
        rows = table[table.slope == slope]
        below.plot(rows.position, rows.surprisal_bits, "o-", color=colour, ms=3.5)
        there = rows.set_index("word").loc[TOLD]
        below.annotate(f"{there.surprisal_bits:.0f}", (there.position, there.surprisal_bits), xytext=(5, 3),
                       textcoords="offset points", color=colour, fontsize=style.SMALL)  # fmt: skip
    words = table[table.slope == 0]
    below.set_xticks(words.position, words.word)
    above.set(xlabel="tokens back", ylabel="weight", xlim=(0, BACK), ylim=(0, 1.1))
    below.set(ylabel="surprisal (bits)", ylim=(0, None))
    below.grid(axis="y")
    figure.legend(loc="outside upper left", ncols=len(SLOPES))
    return figure


def main() -> None:
    """Write both files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    table = values()
    with style.use():
        draw(table).savefig(folder / "memories.png", dpi=150)
    table.to_csv(folder / "memories.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
