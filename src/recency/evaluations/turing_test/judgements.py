"""Strict reader of judgements of continuations, ratings by majority vote, and scores n₃/n₀."""

import math

import pandas as pd

from crosslmm.stats import bootstrap
from recency.errors import InputError
from recency.figures import comparison
from recency.figures.paths import File

SHEET = ["id", "context", "continuation", "rating"]
COUNTS = ["n0", "n1", "n2", "n3"]
REPLICATES = 2000


def read(path: File, sheet: File) -> pd.DataFrame:
    """Return the judgements (id, rating), each verified against the sheet that judges were given.

    Parameters
    ----------
    path : file
        Copies of continuations.csv, one per judge, with ratings 0, 1, 2 or 3. Rows without a rating
        and repeated headers are skipped.
    sheet : file
        continuations.csv as this study wrote it.

    Raises
    ------
    InputError
        With file and row: a rating other than these, an id that is not in the sheet, another text.

    """
    texts = comparison.table(sheet, SHEET).set_index("id")
    texts = texts[["context", "continuation"]].fillna("").astype(str).agg(" … ".join, axis=1)
    remedy = "judgements are copies of continuations.csv with ratings"
    rows = comparison.table(path, SHEET, remedy).astype(object)
    rows = rows[rows["rating"].notna() & (rows["id"].astype(str) != "id")]
    if rows.empty:
        raise InputError(f"{path} has no rating; fill in its column `rating` (0 to 3)")
    ratings = pd.to_numeric(rows["rating"], errors="coerce")
    ids = pd.to_numeric(rows["id"], errors="coerce")
    shown = rows[["context", "continuation"]].fillna("").astype(str).agg(" … ".join, axis=1)
    for row, number, rating, text in zip(rows.index, ids, ratings, shown, strict=True):
        where = f"{path}, row {row + 1}"
        if rating not in (0, 1, 2, 3):
            value = rows["rating"][row]
            raise InputError(f"{where}: rating {value!r} is not 0, 1, 2 or 3; correct or remove it")
        if number not in texts.index:
            raise InputError(f"{where}: id {rows['id'][row]!r} is not in {sheet}")
        if texts[number] != text:
            raise InputError(
                f"{where}: text {int(number)} differs from that in {sheet}; these judgements belong to "
                "other continuations (another LM, seed or dataset): keep them with the results they "
                "are of"
            )
    return pd.DataFrame({"id": ids.astype(int), "rating": ratings.astype(int)}).reset_index(
        drop=True
    )


def majority(ratings: pd.Series, min_judges: int) -> int | None:
    """Return the rating that at least half of `min_judges` or more judges gave; None without one.

    Two ratings with half of the judgements each are not a majority: in the thesis, more people were
    then asked.
    """
    votes = ratings.value_counts()
    top = votes.index[(votes == votes.max()) & (2 * votes >= len(ratings))]
    return int(top[0]) if len(ratings) >= min_judges and len(top) == 1 else None


def scored(judgements: pd.DataFrame, key: File, min_judges: int, seed: int) -> pd.DataFrame:
    """Return a row per LM, and one for the original texts.

    Columns: lm, texts, undecided (judged, without a majority of `min_judges` judges), n0 … n3, score
    (n₃/n₀; infinite if no text was rated 0) and its 95 % percentile interval over texts.
    """
    keys = comparison.table(key, ["id", "text", "lm"])
    votes = judgements.groupby("id")["rating"].agg(lambda ratings: majority(ratings, min_judges))
    keys = keys[keys["id"].isin(votes.index)]
    keys = keys.assign(vote=pd.to_numeric(keys["id"].map(votes)))
    rows = []
    for lm, lm_keys in keys.groupby("lm", sort=False):
        counted = pd.get_dummies(lm_keys["vote"]).reindex(columns=range(4), fill_value=False)
        sums = counted.to_numpy(float)
        n = sums.sum(0)
        drawn = [ratio(*draw) for draw in bootstrap.draws(sums[:, [3, 0]], REPLICATES, seed)]
        low, high = bootstrap.percentiles(pd.Series(drawn).to_numpy())
        row = {"lm": lm, "texts": len(lm_keys), "undecided": int(lm_keys["vote"].isna().sum())}
        row |= dict(zip(COUNTS, map(int, n), strict=True)) | {"score": ratio(n[3], n[0])}
        rows.append(row | {"score_low": low, "score_high": high})
    columns = ["lm", "texts", "undecided", *COUNTS, "score", "score_low", "score_high"]
    return pd.DataFrame(rows, columns=columns)


def ratio(human: float, machine: float) -> float:
    """Return n₃/n₀: infinite without a 0, NaN without either."""
    if machine:
        return human / machine
    return math.inf if human else math.nan
