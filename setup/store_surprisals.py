"""Store surprisals of trained LMs as one table, so that a study can be refitted without its trainings.

    python setup/store_surprisals.py RESULTS OUT --lms LM… --seeds SEED… --datasets DATASET… [--add]

A row per dataset, seed and word; a column per LM, in bits, rounded to 0.001. Words are named by
their number in the dataset, so that the table holds no text. A word without a value is missing.
With `--add`, OUT keeps the seeds that it has.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd


def stored(results: Path, lms: list[str], seeds: list[int], datasets: list[str]) -> pd.DataFrame:
    """Return the table of LMs' surprisals."""
    parts = []
    for dataset in datasets:
        for seed in seeds:
            tables = {lm: pd.read_parquet(file_of(results, lm, seed, dataset)) for lm in lms}
            first = next(iter(tables.values()))
            columns = {"dataset": dataset, "seed": seed, "word_id": np.arange(len(first))}
            for lm, table in tables.items():
                if not table.word_id.equals(first.word_id) or not table.tokens.equals(first.tokens):
                    raise SystemExit(f"{dataset}, seed {seed}: {lm} has other words or tokens")
                columns[lm] = table.surprisal_bits.round(3).astype("float32")
            part = pd.DataFrame(columns)
            part.insert(3, "tokens", first.tokens.astype("int16"))
            parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    return table.astype({"dataset": "category", "seed": "int16", "word_id": "int32"})


def added(there: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """Return a stored table with more seeds of the same words, tokens and LMs."""
    words = ["dataset", "word_id", "tokens"]
    if twice := set(there.seed) & set(more.seed):
        raise SystemExit(f"seeds {sorted(map(int, twice))} are there already")
    order = list(there.dataset.drop_duplicates())
    tables = [
        table.assign(dataset=pd.Categorical(table.dataset.astype(str), order)).sort_values(
            ["dataset", "seed", "word_id"], ignore_index=True
        )
        for table in (there, more)
    ]
    first, second = (table[table.seed == table.seed[0]].reset_index(drop=True) for table in tables)
    if list(there) != list(more) or not first[words].equals(second[words]):
        raise SystemExit("the seeds to add have other LMs, datasets, words or tokens")
    return pd.concat(tables).sort_values(["dataset", "seed", "word_id"], ignore_index=True)


def file_of(results: Path, lm: str, seed: int, dataset: str) -> Path:
    """Return a scored dataset; the config's own seed, 1, is not in names."""
    name = lm if seed == 1 else f"{lm}@seed={seed}"
    return results / "surprisal" / name / f"{dataset}.parquet"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--lms", nargs="+", required=True)
    parser.add_argument("--seeds", nargs="+", type=int, required=True)
    parser.add_argument("--datasets", nargs="+", required=True)
    parser.add_argument("--add", action="store_true")
    options = parser.parse_args()
    table = stored(options.results, options.lms, options.seeds, options.datasets)
    if options.add:
        table = added(pd.read_parquet(options.out), table)
    table.to_parquet(options.out, compression="zstd", compression_level=19, index=False)
    print(f"{options.out}: {len(table):,} rows, {options.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
