"""Texts with several versions between readers, in words or areas."""

import pandas as pd

from recency.errors import InputError
from recency.reading.own.columns import Columns, labels
from recency.reading.strict_tables import Table, warn

#: The values of the option `variants`.
RULES = ("refused", "separate")
_MARK = "variant"


def separate(table: Table, columns: Columns, rule: str) -> Table:
    """Make each version of a text a separate item, with the option `variants`.

    A version is a sequence of words that one or more subjects read under one label of the item. The
    one that most subjects read keeps the label; the others are called `<item> variant 2` and so on.

    Parameters
    ----------
    table : Table
        Rows of words by subject, with columns of the item, the subject, the position and the word.
    columns : Columns
        Which column is what.
    rule : str
        `separate`, or `refused`: the table is returned as it is.

    Raises
    ------
    InputError
        If a column that this needs is not mapped.
    """
    if rule == "refused":
        return table
    there = list(table.frame.columns)
    names = {n: columns.find(n, there) for n in ("item", "subject", "sentence", "position", "word")}
    for name in ("item", "subject", "position", "word"):
        if names[name] is None:
            raise InputError(
                f"options → variants: separate needs a column {name} of the responses; map it in "
                "options → columns"
            )
    keys = ["item", "subject", "sentence", "position", "word"]
    rows = pd.DataFrame({n: labels(table, names[n]).to_numpy() for n in keys if names[n]})
    reading = ["item", "subject"]
    # The sum of the hashes of a reading's rows is the same whatever their order.
    unit = [name for name in keys if name in rows and name != "subject"]
    rows["hash"] = pd.util.hash_pandas_object(rows[unit], index=False).to_numpy()
    digest = rows.groupby(reading, sort=False).hash.sum()
    counts = digest.reset_index().groupby(["item", "hash"], sort=False).size().rename("n")
    ranked = counts.reset_index().sort_values(["item", "n"], ascending=[True, False], kind="stable")
    ranked["version"] = ranked.groupby("item", sort=False).cumcount() + 1
    if (ranked.version == 1).all():
        return table
    version = ranked.set_index(["item", "hash"]).version
    of_reading = pd.Series(version.reindex(pd.MultiIndex.from_frame(digest.reset_index()[["item", "hash"]])).to_numpy(), digest.index)  # fmt: skip
    of_row = of_reading.reindex(pd.MultiIndex.from_frame(rows[reading])).to_numpy()
    other = of_row > 1
    warn(
        table.path,
        f"{(ranked.version > 1).sum():,} versions of {ranked[ranked.version > 1]['item'].nunique():,} "
        f"texts, read by {(of_reading > 1).sum():,} of {len(of_reading):,} readings, are items of their own",
    )
    label = rows["item"].where(
        ~other, rows["item"] + f" {_MARK} " + pd.Series(of_row).astype("str")
    )
    frame = table.frame.assign(**{names["item"]: label.astype("str").to_numpy()})
    return type(table)(**{**table.__dict__, "frame": frame})


def one_language(table: Table, columns: Columns) -> None:
    """Raise InputError if the rows of a dataset have several languages (`columns: {language: …}`)."""
    name = columns.of.get("language")
    if name is None or name not in table:
        return
    codes = sorted(table[name].unique())
    if len(codes) > 1:
        raise InputError(
            f"{table.path} has several languages in {name} ({', '.join(codes[:20])}); a dataset has "
            f"one: choose it with `rows: {{{name}: {codes[0]}}}` in its options"
        )
