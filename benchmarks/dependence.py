"""How often intervals of a lead of 0 exclude it, by setting: subjects, texts, sentences and what varies.

python benchmarks/dependence.py [--repeats 800] [--out FILE]

Scores of cells (a subject's times of a sentence) are drawn with effects of subjects, texts, sentences and cells,
normal or with heavy tails (Student's t of 4). The variance is the package's (recency.stats.crossed_samples): by
sentences alone, by texts alone, and the larger of both, which it reports. Shares are of 95 % intervals; the table is
docs/endpoint/dependence.csv. Half an hour of a core would be 20,000 repeats; 800 take two minutes.
"""

import argparse
import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from recency.stats.crossed_samples import Scores, of_texts

SUBJECTS = (8, 30, 120)
#: Texts, and sentences of each.
TEXTS = ((6, 10), (10, 20), (30, 10), (60, 4))
#: What varies → standard deviations by subject, text, sentence and cell.
VARYING = {
    "cells alone": (0.0, 0.0, 0.0, 1.0),
    "subjects and sentences": (0.3, 0.0, 0.3, 1.0),
    "subjects, texts and sentences": (0.1, 0.3, 0.2, 1.0),
    "texts": (0.0, 0.3, 0.0, 1.0),
}


def drawn(random: np.random.Generator, heavy: bool, *shape: int) -> np.ndarray:
    """Return values of standard deviation 1."""
    return random.standard_t(4, shape) / math.sqrt(2) if heavy else random.standard_normal(shape)


def shares(
    random, subjects: int, texts: int, each: int, sds, heavy: bool, repeats: int
) -> dict[str, float]:
    """Return the share of intervals that exclude 0, in %, by the unit of the second way."""
    of_sentence = np.repeat(np.arange(texts), each)
    found = dict.fromkeys(("sentences", "texts", "larger"), 0)
    for _ in range(repeats):
        by_subject, by_text, by_sentence, by_cell = (
            sd * drawn(random, heavy, *shape)
            for sd, shape in zip(
                sds,
                ((subjects, 1), (1, texts), (1, texts * each), (subjects, texts * each)),
                strict=True,
            )
        )
        values = by_subject + by_text[:, of_sentence] + by_sentence + by_cell
        total, centred = values.sum(), values - values.mean()
        tried = {
            "sentences": Scores(total, values.size, {"": centred}),
            "texts": Scores(total, values.size, {"": of_texts(centred, of_sentence)}),
            "larger": Scores(total, values.size, {"": centred}, texts={"": of_sentence}),
        }
        for name, scores in tried.items():
            found[name] += scores.p() < 0.05
    return {name: 100 * count / repeats for name, count in found.items()}


def main() -> None:
    """Print the table by setting, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=800)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = []
    for heavy, subjects, (texts, each), (varying, sds) in itertools.product(
        (False, True), SUBJECTS, TEXTS, VARYING.items()
    ):
        random = np.random.default_rng(
            [7, heavy, subjects, texts, *map(round, (10 * sd for sd in sds))]
        )
        setting = {"tails": "heavy" if heavy else "normal", "subjects": subjects, "texts": texts}
        setting |= {"sentences": texts * each, "varying": varying, "repeats": arguments.repeats}
        of_units = shares(random, subjects, texts, each, sds, heavy, arguments.repeats)
        rows.append(setting | {f"by_{name}": share for name, share in of_units.items()})
        print(rows[-1], flush=True)
    if arguments.out:
        pd.DataFrame(rows).to_csv(arguments.out, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
