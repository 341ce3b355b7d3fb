"""A corpus of mean times as De Varda and Marelli's are, its observations, and fits to it."""

import numpy as np

from project import load
from recency.reading import observations, responses, words
from recency.regression import fit as regression
from recency.regression.inputs import Inputs

DESIGN = load()["designs"]["frequency_means"]


def items(path, sentences=40, seed=0):
    """Write a corpus as theirs are: a mean time a word, nothing at the first word of a sentence."""
    random = np.random.default_rng(seed)
    lines = ["sent_id\tword_pos\tword\tlog_freq\tlength\trt"]
    for sentence in range(sentences):
        size = int(random.integers(5, 11))
        for place in range(1, size + 1):
            word = "".join(random.choice(list("abcdeilmnorstu"), random.integers(1, 9)))
            word += "." if place == size else ""
            given = (
                f"{random.gamma(4, 2):.6f}\t{len(word.rstrip('.'))}\t{random.normal(300, 40):.4f}"
            )
            lines.append(f"{sentence}\t{place}\t{word}\t" + ("NA\tNA\tNA" if place == 1 else given))
    path.write_text("\n".join(lines) + "\n")
    return path


def observed(folder, path, measure="SPR", filters=(), accept=(), **options):
    """Make contract 1 and the observations of a file, all to be fitted; return their paths."""
    folder.mkdir(exist_ok=True)
    names = ("words", "responses", "fit", "counts")
    out = {name: folder / f"{name}.{'csv' if name == 'counts' else 'parquet'}" for name in names}
    parser = "devarda_marelli2024"
    words.main({"items": path}, parser, options, out["words"])
    responses.main({"items": path}, out["words"], parser, measure, options, out["responses"])
    made = out["words"], out["responses"], filters, out["fit"], out["counts"]
    observations.main(*made, accept=accept)
    return out


def fitted(out, name, design=DESIGN, unigram=None):
    files = {kind: out["words"].with_name(f"{name}.full.{kind}") for kind in ("json", "parquet")}
    regression.main(
        Inputs(
            words=out["words"],
            fit=out["fit"],
            unigram=unigram,
            surprisal=out["words"].with_name(f"{name}.parquet"),
        ),
        out=files["json"],
        out_observations=files["parquet"],
        lm=name,
        design=design,
        model="full",
    )
    return files["json"]
