"""Reader of the tables of effects_by_item, for its figures and tables."""

from collections.abc import Iterable

import pandas as pd

from recency.evaluations.effects_by_item.observed_and_predicted import READERS, UNPOOLED
from recency.figures import comparison
from recency.figures.comparison import LM
from recency.figures.paths import File


def read(path: File, columns: Iterable[str], lms: Iterable[LM]) -> pd.DataFrame:
    """Return the rows with `label` of the source and `panel` of the contrast and region."""
    rows = comparison.table(path, columns)
    for name in ("region", "unit", "note"):
        if name in rows:
            rows[name] = rows[name].fillna("").astype(str)
    labels = {READERS: "readers", UNPOOLED: "readers, unpooled"}
    rows["label"] = rows.source.map(labels | {lm.lm: lm.label for lm in lms})
    region = rows.region.str.replace("_", " ")
    rows["panel"] = rows.contrast_label + region.where(region == "", ", " + region)
    return rows
