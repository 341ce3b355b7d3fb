"""Rule effects_by_item: each contrast's effect on readers, overall and by item, and its prediction."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from readingtimes.names import nearest
from readingtimes.response_names import EVENT, RESPONSES
from recency.errors import REFUSALS, InputError
from recency.evaluations.contrasts import paired
from recency.evaluations.effects_by_item.conversion import Converter, share
from recency.evaluations.effects_by_item.partial_pooling import Z, pooled, unpooled
from recency.figures.paths import File, write_csv
from recency.figures.style import UNITS

READERS, UNPOOLED = "readers", "readers_unpooled"
"""Sources of effects other than LMs: the mixed model, and differences of means by item."""
_SAME = ["contrast", "contrast_label", "region", "source", "unit"]
COLUMNS = [
    *_SAME,
    "items",
    "effect",
    "low",
    "high",
    "sd_items",
    "excess",
    "excess_low",
    "excess_high",
]
COLUMNS += ["share", "share_low", "share_high", "note"]
ITEMS = [*_SAME, "item", "effect", "low", "high"]


def main(
    words: File,
    observations: Sequence[File],
    out: File,
    out_by_item: File,
    *,
    lms: Sequence[Mapping],
    contrasts: Sequence[Mapping],
    by: str,
    regions: Sequence[str] | None = None,
    surprisals: Sequence[File] = (),
    fillers: Sequence[File] = (),
) -> None:
    """Write COLUMNS of each contrast to `out`, and ITEMS of each of its items to `out_by_item`.

    Parameters
    ----------
    words : path
        Contract 1.
    observations : sequence of path
        Observations after the filters, without the held-out partition.
    out, out_by_item : path
        CSV files. Effects are in the response's unit; low and high are the ends of 95 % intervals.
        `excess` is the readers' effect minus the predicted one, `share` predicted over observed.
    lms : sequence of mapping
        With the key lm.
    contrasts : sequence of mapping
        contrast, label, region, high and low.
    by : str
        The column of the words that identifies items.
    regions : sequence of str, optional
        Regions of the words, each analysed separately; by default the contrasts' own regions.
    surprisals, fillers : sequence of path
        Contract 3, and JSON of the fillers' full regression, in the order of `lms`; empty without
        fillers.

    Raises
    ------
    InputError
        If a column is missing, a mixed model cannot be fitted, or coefficients of the fillers do not
        convert to the response's unit.
    """
    word_table = pd.read_parquet(words)
    for key, name in (("by", by), *([("regions", "region")] if regions else [])):
        if name not in word_table:
            raise InputError(
                f"{words}: effects_by_item → {key}: the words have no column "
                f"{nearest(name, word_table.columns)}"
            )
    frame = pd.concat([pd.read_parquet(path) for path in observations], ignore_index=True)
    value = next((name for name in RESPONSES if name in frame), None)
    if value is None:
        raise InputError(f"{observations[0]}: effects_by_item: {EVENT}s have no effects in ms")
    frame["span"] = frame.get("span", 1)
    spans = frame[["word_id", "span"]].drop_duplicates("word_id")
    converters = {
        lm["lm"]: Converter(fit, words, bits, spans, value)
        for lm, bits, fit in zip(lms, surprisals, fillers, strict=False)
    }
    totals, items = [], []
    for contrast in _by_region(contrasts, regions):
        where = f"effects_by_item → {contrast['contrast']}"
        rows = rows_of(frame, word_table, value, contrast, by, where)
        same = {
            "contrast": contrast["contrast"],
            "contrast_label": contrast["label"],
            "region": contrast["within"],
            "unit": UNITS[value],
        }
        for total, of_items in _sources(rows, word_table, contrast, by, where, converters):
            totals.append(same | total)
            items.append(of_items.assign(**same, source=total["source"]))
    table = pd.DataFrame(totals)
    write_csv(out, table[table.source != UNPOOLED].reindex(columns=COLUMNS))
    write_csv(out_by_item, pd.concat(items, ignore_index=True)[ITEMS])


def _by_region(contrasts: Sequence[Mapping], regions: Sequence[str] | None) -> Iterator[dict]:
    """Yield each contrast within each region, named `within`."""
    for contrast in contrasts:
        if not regions:
            yield {**contrast, "within": ""}
        for region in regions or ():
            condition = f"({contrast['region']}) and " if contrast["region"] else ""
            yield {**contrast, "within": region, "region": f"{condition}region == {region!r}"}


def rows_of(
    frame: pd.DataFrame, words: pd.DataFrame, value: str, contrast: Mapping, by: str, where: str
) -> pd.DataFrame:
    """Return the responses compared by a contrast: y, contrast (0.5 or -0.5), subject, item.

    Items without responses on both sides are excluded.
    """
    high, low = paired.sides(words, contrast, where)
    word = frame["word_id"].to_numpy()
    side = 0.5 * high[word] - 0.5 * low[word]
    there = side != 0
    rows = pd.DataFrame(
        {
            "y": frame[value].to_numpy(float)[there],
            "contrast": side[there],
            "subject": frame["subject"].astype(str).to_numpy()[there],
            "item": words[by].astype(str).to_numpy()[word[there]],
        }
    )
    rows = rows[rows.groupby("item")["contrast"].transform("nunique") == 2]
    if (count := rows["item"].nunique()) < 2:
        raise InputError(
            f"{where}: {count} groups of {by!r} have responses on both sides"
            + (f" in region {contrast['within']!r}" if contrast["within"] else "")
            + ", and effects by item need 2 or more; check region, regions, high and low"
        )
    return rows.reset_index(drop=True)


def _sources(
    rows: pd.DataFrame,
    words: pd.DataFrame,
    contrast: Mapping,
    by: str,
    where: str,
    converters: Mapping[str, Converter],
) -> Iterator[tuple[dict, pd.DataFrame]]:
    """Yield the total and item effects of readers, pooled and unpooled, and of each LM."""
    try:
        fit = pooled(rows)
    except REFUSALS as error:
        raise InputError(f"{where}: {error}") from None
    count = {"items": len(fit.items)}
    yield (
        {"source": READERS, **count, "sd_items": fit.sd, "note": fit.note}
        | _interval(fit.effect, fit.se),
        _of_items(fit.items),
    )
    yield {"source": UNPOOLED}, _of_items(unpooled(rows))
    for lm, converter in converters.items():
        differences = converter.differences(words, contrast, by, where)
        differences.index = differences.index.astype(str)
        differences = differences.reindex(fit.items.index)
        predicted, se = converter.predicted(differences.to_numpy())
        (mean,), (mean_se,) = converter.predicted(differences.to_numpy().mean(0, keepdims=True))
        excess = _interval(fit.effect - mean, np.hypot(fit.se, mean_se))
        more = {f"excess{name}": v for name, v in zip(("", "_low", "_high"), excess.values())}
        ratio = share(mean, mean_se, fit.effect, fit.se)
        more |= dict(zip(("share", "share_low", "share_high"), ratio, strict=True))
        total = {"source": lm, **count, **_interval(mean, mean_se), **more}
        of_items = pd.DataFrame({"estimate": predicted, "se": se}, index=fit.items.index)
        yield total, _of_items(of_items)


def _interval(effect: float, se: float) -> dict[str, float]:
    return {"effect": effect, "low": effect - Z * se, "high": effect + Z * se}


def _of_items(estimates: pd.DataFrame) -> pd.DataFrame:
    """Return item, effect, low and high from estimates and standard errors."""
    columns = {"item": estimates.index, **_interval(estimates["estimate"], estimates["se"])}
    return pd.DataFrame(columns).reset_index(drop=True)
