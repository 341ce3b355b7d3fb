"""Perplexity at each length, and paired differences from the training length, by document."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from crosslmm.stats import bootstrap
from recency.errors import InputError
from recency.figures.paths import Files

REPLICATES = 10_000
KEY = ["document", "place"]


def read(lengths: Files, variants: Iterable[Mapping], trained: int) -> pd.DataFrame:
    """Return one row per LM and length from rule length_perplexity's files, in the order of LMs.

    Columns: lm, label, networks, length, ppl, difference (of mean nats from the length `trained`,
    on the same tokens; NaN for a length without a value), low and high (95 % over documents),
    documents, tokens. Networks of one LM are first averaged token by token.
    """
    files: dict[str, list] = {}
    labels = {}
    for path, variant in zip(lengths, variants, strict=True):
        files.setdefault(variant["lm"], []).append(
            pd.read_parquet(path, columns=[*KEY, "length", "nats"])
        )
        labels[variant["lm"]] = variant["label"]
    rows = []
    for lm, tables in files.items():
        wide = [table.pivot(index=KEY, columns="length", values="nats") for table in tables]
        if any(not table.index.equals(wide[0].index) for table in wide):
            raise InputError(
                f"{lm}: its networks have other masked tokens; use one tokenizer for all"
            )
        nats = sum(wide) / len(wide)
        rows += _of(nats, trained, {"lm": lm, "label": labels[lm], "networks": len(wide)})
    return pd.DataFrame(rows)


def _of(nats: pd.DataFrame, trained: int, about: Mapping) -> list[dict]:
    """Return an LM's rows from the nats (tokens × lengths) of its masked tokens."""
    documents = nats.index.get_level_values("document").to_numpy()
    change = nats.sub(nats[trained], axis=0)
    sums = [bootstrap.cluster_sums(change[length].to_numpy(), documents) for length in change]
    counts = bootstrap.cluster_sums(np.ones(len(nats)), documents)
    drawn = bootstrap.draws(np.column_stack([*sums, counts]), REPLICATES, 0)
    rows = []
    for number, length in enumerate(nats):
        low, high = bootstrap.percentiles(drawn[:, number] / drawn[:, -1])
        rows.append(
            {
                **about, "length": int(length), "ppl": float(np.exp(nats[length].mean(skipna=False))),
                "difference": float(change[length].mean(skipna=False)), "low": low, "high": high,
                "documents": len(counts), "tokens": len(nats),
            }
        )  # fmt: skip
    return rows
