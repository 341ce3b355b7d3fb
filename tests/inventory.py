"""What the inventory says of an entry's outputs, compared with the tables next to them."""

import importlib.util
from collections import Counter
from collections.abc import Iterator, Mapping

import pandas as pd

from project import ROOT

PUBLISHED = ROOT / "data" / "published"
#: Stands for the names of a file's columns in place of a column's values.
COLUMNS = "(columns)"


def module():
    """Return setup/inventory_page.py."""
    spec = importlib.util.spec_from_file_location("inventory", ROOT / "setup" / "inventory_page.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def problems(entry: Mapping, made: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Yield rows, columns, panels and published values that the outputs lack or have in another order.

    `made` is "experiment/stem" → the CSV next to a figure or table.
    """
    for output, columns in entry.get("outputs", {}).items():
        if output not in made:
            yield f"{output} was not made"
            continue
        for stated, expected in columns.items():
            column, _, how = stated.partition(", ")
            table = made[output]
            values_here = list(table) if column == COLUMNS else table[column].dropna().tolist()
            found = list(dict.fromkeys(values_here))
            if "among" in how:
                found = [value for value in found if value in expected]
            if "sorted" in how:
                found, expected = sorted(found), sorted(expected)
            if found != expected:
                yield f"{output}: {column} has {found}, not {expected}"
    for published in entry.get("published", []):
        shown = Counter()
        for output in published["shown"]:
            column = published.get("column", "published")
            if column in made.get(output, ()):
                shown += written(made[output][column])
        for value, many in values(published).items():
            if shown[value] < many:
                yield f"{published['file']}: {value} is shown {shown[value]} times, not {many}"


def without(table: pd.DataFrame, column: str, value) -> pd.DataFrame:
    """Return a table without the rows with a value, or without a column of that name."""
    return table.drop(columns=value) if column == COLUMNS else table[table[column] != value]


def values(published: Mapping) -> Counter:
    """Return how often each published value of an entry occurs in its table."""
    table = pd.read_csv(PUBLISHED / published["file"])
    for column, value in published.get("where", {}).items():
        table = table[table[column] == value]
    if "rows" in published:
        table = table[table.lm.isin(published["rows"])]
    return sum((written(table[column]) for column in published["values"]), Counter())


def written(column: pd.Series) -> Counter:
    """Return how often each value of a column occurs; numbers are written alike."""
    numbers = pd.to_numeric(column, errors="coerce")
    texts = numbers.map("{:.6g}".format).where(numbers.notna(), column.astype(str))
    return Counter(texts[column.notna()])
