"""The check of given surprisals: its calibration, and the share of damages that it finds, by LM.

python benchmarks/plausibility.py --mirror FOLDER [FOLDER] [--published FOLDER] [--out FILE] [--draws 20]

The tables are those of the stored networks (docs/open-study, docs/endpoint), in the mirrors: Natural Stories
(Boyce & Levy 2023: Gulordava's LSTM, Transformer-XL, 5-grams) and SAP (Huang et al. 2024: GPT-2, an LSTM); and,
with --published, a folder of the files `<corpus>.surprisal.<LM>.causal.output` (nats) of Michaelov, Arnett & Bergen
(2024), "Revenge of the Fallen?": Pythia, RWKV and Mamba of 130 M to 3 B on Provo, Natural Stories and Brown.

First line of output: the constants of `recency.scoring.plausible.SHAPE`, fitted here, and the largest deviations in
the fit and with each family of LMs, or each corpus, left out. Then: right tables that are refused, and the table of
--out (docs/surprisal/plausible.csv): damage → the share of its draws that is refused, by kind of LM.
"""

import argparse
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import checkout
import numpy as np
import pandas as pd

checkout.use()

import readingtimes
from readingtimes.contracts import word_table
from readingtimes.formats import anything
from recency.scoring import plausible

STORED = ("docs/open-study/surprisal.parquet", "docs/endpoint/networks_surprisal.parquet")
SEEDS = (1, 3)
PUBLISHED = {"provo": "luke_2018_dl", "natural_stories": "futrell_2018_dl", "brown": "smith_2013"}
REFERENCE = {"txl_surp": "Transformer-XL", "ngram_surp": "5-gram", "grnn_surp": "LSTM"}
LOG2 = np.log(2)
#: (LM, corpus) → means over the tokens of each word, bits
MEANS: dict[tuple[str, str], np.ndarray] = {}


def shifted(part, _):
    """Move surprisal by a word."""
    return np.roll(part, 1)


def shuffled(part, draw):
    """Give surprisal to other words of the stretch."""
    return draw.permutation(part)


DAMAGES = {
    "nats called bits": (None, lambda part, _: part * LOG2),
    "log10 called bits": (None, lambda part, _: part * np.log10(2)),
    "bits called nats": (None, lambda part, _: part / LOG2),
    "half of each value": (None, lambda part, _: part / 2),
    "all shuffled": (None, shuffled),
    "all moved by a word": (None, shifted),
    "60 words moved by a word": (60, shifted),
    "100 words moved by a word": (100, shifted),
    "300 words moved by a word": (300, shifted),
    "100 words shuffled": (100, shuffled),
    "300 words shuffled": (300, shuffled),
    "1,000 words shuffled": (1000, shuffled),
    "300 words in nats": (300, lambda part, _: part * LOG2),
    "1,000 words in nats": (1000, lambda part, _: part * LOG2),
    "half of the words in nats": (0.5, lambda part, _: part * LOG2),
    "100 words with one value": (100, lambda part, _: np.full(len(part), np.nanmedian(part))),
}
"""Name → number or share of neighbouring words (None: all), and what is done with them."""


def of_two(words, bits, draw):
    """Return two texts of a table, the first in nats; None without two of 450 words."""
    sizes = words["item"][np.isfinite(bits)].value_counts()
    if len(sizes := sizes[sizes >= 450]) < 2:
        return None
    first, second = draw.choice(sizes.index, 2, replace=False)
    here = words["item"].isin([first, second]).to_numpy()
    words, bits = words[here].reset_index(drop=True), bits[here]
    return words, np.where(words["item"] == first, bits * LOG2, bits)


def with_zeros(words, bits, _):
    """Give 0 to words of more than eight letters that stand once."""
    plain = words.word.str.lower()
    unknown = (plain.str.len() > 8) & ~plain.duplicated(keep=False)
    return words, np.where(unknown, 0, bits)


def without_first(words, bits, _):
    """Give 0 to the first word of each sentence."""
    return words, np.where(words.sentence.duplicated(), bits, 0)


OF_TABLES = {
    "one of two texts in nats": of_two,
    "0 for unknown words": with_zeros,
    "0 for first words": without_first,
}


def tables(mirrors: list[Path], published: Path | None) -> Iterator[tuple]:
    """Yield (kind, LM, corpus, words, bits) of surprisals in their right unit."""
    words = {
        name: readingtimes.load(name, [], mirrors=mirrors)[0]
        for name in (
            "natural_stories",
            "provo",
            "ucl_spr",
            "ucl_eye_tracking",
            "meco",
            "geco_totals",
        )
    }
    root = Path(__file__).resolve().parents[1]
    for file in STORED:
        for (name, seed), rows in pd.read_parquet(root / file).groupby(
            ["dataset", "seed"], observed=True
        ):
            if name not in words or seed not in SEEDS:
                continue
            for lm in rows.columns[4:]:
                bits = np.full(len(words[name]), np.nan)
                bits[rows.word_id] = rows[lm]
                yield "network (2.5 M)", f"{lm} {seed}", name, words[name], bits
    yield from _stories(mirrors, words["natural_stories"])
    yield from _sentences(mirrors)
    if published:
        yield from _published(mirrors, published, words)


def _found(mirrors: list[Path], path: str) -> Path:
    return next(mirror / path for mirror in mirrors if (mirror / path).exists())


def _stories(mirrors: list[Path], words: pd.DataFrame) -> Iterator[tuple]:
    path = _found(mirrors, "naturalstories_reference_lms/natural_stories_surprisals.rds")
    frame = anything.read(path, anything.Style()).frame
    numbers = words.groupby("item").cumcount() + 1
    rows = {
        key: row for row, key in enumerate(zip(words["item"].astype(int), numbers, strict=True))
    }
    story, place = (pd.to_numeric(frame[n]).astype(int) for n in ("Story_Num", "Word_In_Story_Num"))
    at = [rows[key] for key in zip(story, place, strict=True)]
    for column, lm in REFERENCE.items():
        bits = np.full(len(words), np.nan)
        values = pd.to_numeric(frame[column], errors="coerce").to_numpy()
        bits[at] = np.where(values > 0, values, np.nan)
        yield lm, lm, "natural_stories", words, bits


def _sentences(mirrors: list[Path]) -> Iterator[tuple]:
    for path in sorted(_found(mirrors, "sap").glob("items_*.csv.gz")):
        subset, lm = re.fullmatch(r"items_(\w+)\.(\w+)\.csv\.gz", path.name).groups()
        frame = pd.read_csv(path)
        number = (frame.word_pos.diff() < 0).cumsum()
        words = word_table(
            number.astype(str).tolist(), number.tolist(), frame.word.astype(str).tolist()
        )
        kind = {"gpt2": "GPT-2", "lstm": "LSTM"}[lm]
        MEANS[lm, f"SAP {subset}"] = frame.mean_surprisal_base2.to_numpy()
        yield kind, lm, f"SAP {subset}", words, frame.sum_surprisal_base2.to_numpy()


def _published(
    mirrors: list[Path], folder: Path, words: dict[str, pd.DataFrame]
) -> Iterator[tuple]:
    brown = pd.read_csv(
        _found(mirrors, "devarda_marelli2024/brown.tsv.gz"), sep="\t", keep_default_na=False
    )
    words["brown"] = word_table(brown.docid.tolist(), brown.sent_id.tolist(), brown.word.tolist())
    stories = words["natural_stories"]
    places = stories.groupby("sentence").cumcount() + 1
    keys = {
        "provo": {key: row for row, key in enumerate(words["provo"].unique_id)},
        "natural_stories": {
            key: row for row, key in enumerate(zip(stories.sentence - 1, places, strict=True))
        },
    }
    for corpus, file in PUBLISHED.items():
        for path in sorted(folder.glob(f"{file}.surprisal.*.causal.output")):
            frame, bits = pd.read_csv(path, sep="\t"), np.full(len(words[corpus]), np.nan)
            if corpus == "brown":
                at = range(len(frame))
            elif corpus == "provo":
                at = [keys[corpus].get(key, -1) for key in frame.Word_Unique_ID]
            else:
                at = [keys[corpus][key] for key in zip(frame.sentid, frame.sentpos, strict=True)]
            kept = np.array(at) >= 0
            means = bits.copy()
            bits[np.array(at)[kept]] = frame.Surprisal.to_numpy()[kept] / LOG2
            means[np.array(at)[kept]] = (frame.Surprisal / frame.NumTokens).to_numpy()[kept] / LOG2
            lm = path.name.split("__")[1].removesuffix(".causal.output")
            MEANS[lm, corpus] = means
            size = "130 to 430 M" if re.search(r"1[36]\dm|4[13]0m|430m|370m", lm) else "0.8 to 3 B"
            if corpus == "provo":  # from here on they are moved by a word (docs/surprisal.md)
                bits[2690:] = np.nan
            yield f"Pythia, RWKV, Mamba ({size})", lm, corpus, words[corpus], bits


def shape(words: pd.DataFrame, bits: np.ndarray) -> dict | None:
    """Return the log of mean surprisal, and what predicts it; None for too few words."""
    fit = plausible.prediction(words, bits)
    if fit is None:
        return None
    varied = np.log(fit.root.std() / fit.root.mean())
    return {
        "mean": np.log(np.mean(fit.root**2)),
        "varied": varied,
        "r": fit.r,
        "lengths": fit.lengths,
    }


def fitted(rows: pd.DataFrame) -> np.ndarray:
    """Fit `SHAPE`; each kind of LM has the same weight in each corpus."""
    root = np.sqrt(1 / rows.groupby(["kind", "corpus"])["mean"].transform("size").to_numpy())
    found = np.linalg.lstsq(_columns(rows) * root[:, None], rows["mean"] * root, rcond=None)[0]
    apart = rows["mean"] - _columns(rows) @ found
    found[0] += (apart.max() + apart.min()) / 2  # as far from the next unit on both sides
    return found


def _columns(rows: pd.DataFrame) -> np.ndarray:
    return np.column_stack([np.ones(len(rows)), rows.varied, rows.r, rows.lengths])


def calibration(found: list[tuple]) -> str:
    """Return the fitted constants, and the deviations of tables that were not in a fit."""
    rows = pd.DataFrame(
        [
            {"kind": kind, "lm": lm, "corpus": corpus} | values
            for kind, lm, corpus, words, bits in found
            if (values := shape(words, bits)) is not None
        ]
    )
    constants = fitted(rows)
    apart = rows["mean"] - _columns(rows) @ constants
    told = [
        f"SHAPE = {np.round(constants, 3).tolist()}; deviations {apart.min():.3f} to {apart.max():.3f}"
    ]
    for by in ("kind", "corpus"):
        for value, left_out in rows.groupby(by):
            other = left_out["mean"] - _columns(left_out) @ fitted(rows[rows[by] != value])
            told.append(f"without {value}: {other.min():.3f} to {other.max():.3f}")
    return "\n".join(told)


def refused(words: pd.DataFrame, bits: np.ndarray, unit: str = "bits") -> tuple | None:
    """Return what the check finds."""
    columns = {"word_id": words.word_id, "surprisal_bits": bits, "corrected_bits": np.nan}
    return plausible.implausible(words, pd.DataFrame(columns), unit)


def curve(found: list[tuple], draws: int) -> pd.DataFrame:
    """Return the share of damaged tables that are refused; `draws` are those of a kind of LM, corpus and damage."""
    rows = []
    alike = Counter((kind, corpus) for kind, _, corpus, *_ in found)
    for kind, lm, corpus, words, bits in found:
        if plausible.prediction(words, bits) is None or len(words) > 20_000:
            continue
        draw = np.random.default_rng(3)
        for damage, (size, change) in DAMAGES.items():
            count = len(words) if size is None else int(size * len(words)) if size < 1 else size
            if count > len(words) / 2 and size not in (None, 0.5):
                continue  # a damage of most words is the right part's
            for _ in range(1 if size is None else -(-draws // alike[kind, corpus])):
                first = int(draw.integers(0, len(words) - count + 1))
                damaged = bits.copy()
                damaged[first : first + count] = change(damaged[first : first + count], draw)
                unit = "nats" if damage == "bits called nats" else "bits"
                told = refused(words, damaged, unit)
                rows.append((damage, kind, corpus, lm, told is not None))
        for damage, change in OF_TABLES.items():
            draw = np.random.default_rng(zlib.crc32(f"{lm} {corpus}".encode()))
            if (changed := change(words, bits, draw)) is not None:
                rows.append((damage, kind, corpus, lm, refused(*changed) is not None))
        if (means := MEANS.get((lm, corpus))) is not None:
            told = refused(words, means)
            rows.append(("means over tokens", kind, corpus, lm, told is not None))
    table = pd.DataFrame(rows, columns=["damage", "kind", "corpus", "lm", "refused"])
    by_kind = table.groupby(["damage", "kind"], sort=False).refused.agg(["size", "mean"])
    return by_kind.rename(columns={"size": "tables", "mean": "refused"}).reset_index()


def main() -> None:
    """Fit, check all right tables, damage them, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", type=Path, nargs="+", required=True)
    parser.add_argument("--published", type=Path)
    parser.add_argument(
        "--draws", type=int, default=20, help="of a kind of LM and corpus, of each damage"
    )
    parser.add_argument("--every", type=int, default=1, help="of the tables, take every nth")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    found = list(tables(arguments.mirror, arguments.published))[:: arguments.every]
    print(calibration(found), flush=True)
    wrong = [
        f"refused: {lm} on {corpus}: {told[0]}"
        for _, lm, corpus, words, bits in found
        if (told := refused(words, bits))
    ]
    print("\n".join([f"right tables refused: {len(wrong)} of {len(found)}", *wrong]), flush=True)
    table = curve(found, arguments.draws)
    print(table.pivot(index="damage", columns="kind", values="refused").round(2).to_string())
    if arguments.out:
        table.to_csv(arguments.out, index=False, float_format="%.3f")


if __name__ == "__main__":
    main()
