"""How often intervals of a lead of 0 exclude it, by setting: readers, texts, responses, seeds and what varies.

python benchmarks/dependence.py [--repeats 400] [--out FILE]

Differences of two equal LMs in the scores of cells (a subject's times of a sentence) are drawn with effects of
subjects, texts, sentences and cells. The intervals are the package's (crosslmm.stats.crossed_samples): by
sentences alone, by texts alone, and the larger of both, which it reports, with responses that share texts as one
sample, and taken for independent. The first settings cross the design with what varies; each of the others changes one
property of two designs. Shares are of 95 % intervals; the table is docs/endpoint/dependence.csv, in ten
minutes of a core.
"""

import argparse
import itertools
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import checkout
import numpy as np
import pandas as pd

checkout.use()

from crosslmm.stats.crossed_samples import Scores, of_texts


@dataclass(frozen=True)
class Setting:
    """A design, and standard deviations of the effects that vary in it."""

    subjects: int = 30
    texts: int = 30
    sentences: int = 10
    """of each text"""
    by_subject: float = 0.3
    by_text: float = 0.0
    by_sentence: float = 0.3
    by_cell: float = 1.0
    noise: str = "normal"
    """normal, heavy (Student's t of 4) or lognormal"""
    autocorrelation: float = 0.0
    """of a subject's successive cells"""
    unread: float = 0.0
    """share of texts that a subject did not read"""
    responses: int = 1
    share: bool = False
    """whether responses share texts, and the effects of texts and sentences"""
    seeds: int = 1
    by_seed: float = 0.0
    """standard deviation of a training's total, in standard errors of the rest"""


#: What varies → standard deviations by subject, text and sentence.
VARYING = {
    "cells": (0.0, 0.0, 0.0),
    "subjects and sentences": (0.3, 0.0, 0.3),
    "subjects, texts and sentences": (0.1, 0.3, 0.2),
    "texts": (0.0, 0.3, 0.0),
}
TEXTS = ((6, 10), (10, 20), (30, 10), (60, 4))


def settings() -> Iterator[Setting]:
    """Yield the settings, each once."""
    crossed = itertools.product(
        ("normal", "heavy"), (8, 30, 120), TEXTS, (sds for sds in VARYING.values())
    )
    given = []
    for noise, subjects, (texts, each), (subject, text, sentence) in crossed:
        given.append(Setting(subjects, texts, each, subject, text, sentence, noise=noise))
    for base in (Setting(), Setting(by_subject=0.1, by_text=0.3, by_sentence=0.2)):
        given += [replace(base, subjects=many) for many in (5, 8, 16, 60, 180)]
        given += [
            replace(base, texts=many, sentences=each) for many, each in ((8, 4), (20, 1), (12, 10))
        ]
        given += [replace(base, noise=noise) for noise in ("heavy", "lognormal")]
        given += [replace(base, autocorrelation=r) for r in (0.3, 0.8)]
        given += [replace(base, unread=share) for share in (0.3, 0.7)]
        given += [
            replace(base, responses=many, share=share)
            for many in (2, 5, 10)
            for share in (False, True)
        ]
        given += [
            replace(base, seeds=many, by_seed=sd) for many in (2, 3, 4, 6) for sd in (0.0, 1.0, 3.0)
        ]
    yield from dict.fromkeys(given)


def drawn(random: np.random.Generator, noise: str, *shape: int) -> np.ndarray:
    """Return values of mean 0 and standard deviation 1."""
    if noise == "heavy":
        return random.standard_t(4, shape) / math.sqrt(2)
    if noise == "lognormal":
        values = np.exp(random.standard_normal(shape))
        return (values - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)
    return random.standard_normal(shape)


def responses_of(random: np.random.Generator, setting: Setting) -> list[np.ndarray]:
    """Return the differences (subjects, sentences) of each response."""
    of_sentence = np.repeat(np.arange(setting.texts), setting.sentences)
    common, tables = None, []
    for _ in range(setting.responses):
        if common is None or not setting.share:
            texts = setting.by_text * drawn(random, setting.noise, setting.texts)
            sentences = setting.by_sentence * drawn(random, setting.noise, len(of_sentence))
            common = texts[of_sentence] + sentences
        cells = drawn(random, setting.noise, setting.subjects, len(of_sentence))
        r = setting.autocorrelation
        for place in range(1, cells.shape[1] if r else 0):
            cells[:, place] = r * cells[:, place - 1] + math.sqrt(1 - r * r) * cells[:, place]
        subjects = setting.by_subject * drawn(random, setting.noise, setting.subjects, 1)
        values = subjects + common + setting.by_cell * cells
        read = random.random((setting.subjects, setting.texts)) >= setting.unread
        tables.append(np.where(read[:, of_sentence], values, 0.0))
    return tables


def scores(tables: list[np.ndarray], of_sentence: np.ndarray, of: str, share: bool) -> Scores:
    """Return the total of the responses, as one sample if they `share` texts."""
    total = None
    for number, values in enumerate(tables):
        read = values != 0
        centred = np.where(read, values - values.sum() / read.sum(), 0.0)
        if of == "texts":
            centred = of_texts(centred, of_sentence)
        rows = slice(number * len(values), (number + 1) * len(values))
        cells = np.zeros((len(values) * len(tables), centred.shape[1])) if share else centred
        if share:
            cells[rows] = centred
        name = "" if share else str(number)
        texts = {name: of_sentence} if of == "larger" else {}
        mine = Scores(float(values.sum()), int(read.sum()), {name: cells}, texts=texts)
        total = mine if total is None else total + mine
    return total


def shares(random: np.random.Generator, setting: Setting, repeats: int) -> dict[str, float]:
    """Return the share of intervals that exclude 0, in %, by the unit of the second way."""
    of_sentence = np.repeat(np.arange(setting.texts), setting.sentences)
    found = dict.fromkeys(("sentences", "texts", "larger", "independent"), 0)
    for _ in range(repeats):
        tables = responses_of(random, setting)
        spread = scores(tables, of_sentence, "larger", setting.share).sampling()[0]
        apart = setting.by_seed * spread * random.standard_normal(setting.seeds)
        mean = apart.mean()
        seeds = (apart - mean) / math.sqrt(setting.seeds * max(setting.seeds - 1, 1))
        for name in found:
            of, share = ("larger", False) if name == "independent" else (name, setting.share)
            total = scores(tables, of_sentence, of, share)
            with_seeds = Scores(
                total.value + mean, total.n, total.cells, seeds, setting.seeds - 1, total.texts
            )
            found[name] += with_seeds.p() < 0.05
    return {name: 100 * count / repeats for name, count in found.items()}


def main() -> None:
    """Print the table by setting, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = []
    for number, setting in enumerate(settings()):
        of_units = shares(np.random.default_rng([7, number]), setting, arguments.repeats)
        row = asdict(setting) | {"repeats": arguments.repeats}
        rows.append(row | {f"by_{name}": share for name, share in of_units.items()})
        print(*rows[-1].values(), flush=True)
    if arguments.out:
        pd.DataFrame(rows).to_csv(arguments.out, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
