"""The BabyLM challenge's scores of each LM, laid out as on its leaderboard (table_babylm).

The challenge's scores of a language model, from the log probabilities of candidates.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.evaluations.babylm import parts
from recency.figures import tables
from recency.figures.comparison import View
from recency.figures.paths import Files
from recency.figures.tables import Table

EYE_TRACKING = ("RTfirstfix", "RTfirstpass", "RTgopast", "RTrightbound")
SELF_PACED = "self_paced_reading_time"
OF_WORD = ("Subtlex_log10", "length", "context_length")
OF_WORD_BEFORE = ("prev_length", "prev_pred")


def challenge_scores(table: pd.DataFrame, reading: str | Path | None = None) -> pd.DataFrame:
    """Return part, group and score of one LM; the row of a whole part has the group `overall`.

    Parameters
    ----------
    table : DataFrame
        Output of `recency.evaluations.babylm.score`.
    reading : str or Path, optional
        The challenge's `reading_data.csv`, if the table has that part.

    Returns
    -------
    DataFrame
        part, group, score, items and ties. Accuracies are in percent and means over groups. WUG is
        100 times Spearman's correlation of the first candidate's probability with people's choices.
        Reading has two groups: the percentage of the residual variance that surprisal explains.
        Ties count as correct, since the first of equal candidates is chosen.
    """
    rows = []
    for name, part in table.groupby("part", sort=False):
        if name == "reading":
            rows += [(name, group, value, n, 0) for group, value, n in _reading(part, reading)]
            continue
        log = part.pivot(index=["group", "item"], columns="candidate", values="log_probability")
        first, others = log[0], log.drop(columns=0).max(axis=1)
        ties = int((first == others).sum())
        if parts.PARTS[name].score == "correlation":
            ratio = part[part.candidate == 0].set_index(["group", "item"]).ratio.reindex(log.index)
            share = 1 / (1 + np.exp(log.drop(columns=0).sub(first, axis=0)).sum(axis=1))
            value = 100 * share.corr(ratio, method="spearman")
            rows.append((name, "overall", value, len(log), ties))
            continue
        right = (first >= others).groupby("group").agg(["mean", "size"])
        accuracy = 100 * right["mean"]
        rows.append((name, "overall", _mean(name, accuracy), len(log), ties))
        tied = (first == others).groupby("group").sum()
        rows += [(name, g, accuracy[g], right["size"][g], int(tied[g])) for g in accuracy.index]
    return pd.DataFrame(rows, columns=["part", "group", "score", "items", "ties"])


def _mean(name: str, accuracy: pd.Series) -> float:
    """Return the mean over groups; for entity tracking, over the means of its splits."""
    if name != "entity_tracking":
        return accuracy.mean()
    split = [next(s for s in parts.SPLITS if group.startswith(s)) for group in accuracy.index]
    return accuracy.groupby(split).mean().mean()


def _reading(table: pd.DataFrame, path: str | Path | None) -> list[tuple[str, float, int]]:
    """Return eye tracking and self-paced reading: name, score and number of words."""
    data = pd.read_csv(path)
    needed = [*EYE_TRACKING, SELF_PACED, *OF_WORD, "prev_length"]
    if lacking := [column for column in needed if column not in data]:
        raise InputError(f"{path} has no column {lacking[0]}; see {parts.ADDRESS}")
    values = table.pivot(index="item", columns="candidate", values="log_probability")
    values = -values.set_axis(values.index.astype(int)).sort_index()
    if len(values) != len(data):
        raise InputError(
            f"{path} has {len(data):,} words and the scores {len(values):,}; delete the scores "
            "to compute them again"
        )
    data["pred"], data["prev_pred"] = values[0].to_numpy(), values[1].to_numpy()
    gains = [explained(data, response, OF_WORD) for response in EYE_TRACKING]
    spr = explained(data, SELF_PACED, (*OF_WORD, *OF_WORD_BEFORE))
    return [
        ("eye tracking", float(np.mean(gains)), len(data)),
        ("self-paced reading", spr, len(data)),
    ]


def explained(data: pd.DataFrame, response: str, predictors: tuple[str, ...]) -> float:
    """Return the percentage of the residual variance that `pred` explains.

    100 (R²₁ − R²₀) / (1 − R²₀), where R²₀ is of a linear model with the predictors and their
    pairwise products, and R²₁ of the same model with `pred`.
    """
    used = data[[response, "pred", *predictors]].dropna().astype(float)
    columns = [used[name].to_numpy() for name in predictors]
    pairs = [a * b for n, a in enumerate(columns) for b in columns[n + 1 :]]
    design = np.column_stack([np.ones(len(used)), *columns, *pairs])
    design = design / np.linalg.norm(design, axis=0)
    left = [_residual(controls, used[response].to_numpy()) for controls in (
        design, np.column_stack([design, used.pred / np.linalg.norm(used.pred)])
    )]  # fmt: skip
    return 100 * (1 - left[1] / left[0])


def _residual(design: np.ndarray, response: np.ndarray) -> float:
    """Return the residual sum of squares of a linear model."""
    coefficients = np.linalg.lstsq(design, response, rcond=None)[0]
    return float(((response - design @ coefficients) ** 2).sum())


def acquisition(curves: Mapping[float, pd.DataFrame], children: str | Path) -> tuple[float, int]:
    """Correlate an LM's ages of acquisition with children's; also return the number of words.

    Parameters
    ----------
    curves : mapping
        Words read so far → output of `babylm.score.score_words` for the LM at that stage.
    children : str or Path
        The challenge's `cdi_human.csv`: word, and the share of children who know it at 16 to 30
        months.

    Returns
    -------
    float
        Pearson's correlation; 0 for fewer than three words.
    int
        Number of words with both ages.

    References
    ----------
    Chang & Bergen (2022), Word acquisition in neural language models, TACL 10.
    """
    table = pd.read_csv(children)
    months = [str(month) for month in range(16, 31) if str(month) in table]
    if "word" not in table or not months:
        raise InputError(f"{children} has no columns word and 16 to 30; see {parts.ADDRESS}")
    table = table.drop_duplicates("word").set_index("word")
    points = pd.concat([curve.assign(read=read) for read, curve in curves.items()])
    ages = []
    for word, curve in points.groupby("word", sort=False):
        if word not in table.index:
            continue
        child = age_of_children(np.array(months, float), table.loc[word, months].to_numpy(float))
        model = age_of_model(curve.read.to_numpy(float), curve.surprisal_nats.to_numpy())
        if child is not None and model is not None:
            ages.append((model, child))
    if len(ages) < 3:
        return 0.0, len(ages)
    return float(np.corrcoef(np.array(ages).T)[0, 1]), len(ages)


def _curve(x, height, slope, middle, floor):
    """Return a logistic curve."""
    return height / (1 + np.exp(-slope * (x - middle))) + floor


def _crossing(x, y, level, start, **limits) -> float | None:
    """Return where a logistic curve fitted to points crosses a level, or None."""
    from scipy.optimize import curve_fit

    try:
        with np.errstate(over="ignore"):
            height, slope, middle, floor = curve_fit(_curve, x, y, p0=start, maxfev=1000, **limits)[
                0
            ]
    except (RuntimeError, ValueError):  # no convergence
        return None
    if height <= 0 or slope <= 0 or not floor < level < height + floor:
        return None
    return float(middle - np.log(height / (level - floor) - 1) / slope)


def age_of_children(months: np.ndarray, shares: np.ndarray) -> float | None:
    """Return the month at which half of the children know a word, None if not observed."""
    months, shares = months[~np.isnan(shares)], shares[~np.isnan(shares)]
    if len(months) < 3:
        return None
    bounds = ([0, 0, months[0], -0.5], [2.0, 1.0, months[-1], 0.5])
    age = _crossing(months, shares, 0.5, [1.0, 0.1, months.mean(), 0.0], bounds=bounds)
    return age if age is not None and months[0] <= age <= months[-1] else None


def age_of_model(read: np.ndarray, surprisal: np.ndarray) -> float | None:
    """Return the log₁₀ of the words read when surprisal is halfway between chance and its minimum.

    Chance is log₂ 300,000 as in the pipeline, although its surprisals are in nats.
    """
    read, surprisal = read[~np.isnan(surprisal)], surprisal[~np.isnan(surprisal)]
    if len(read) < 4:  # the curve has four parameters
        return None
    x, y = np.log10(read + 1), -surprisal
    chance = np.log2(300_000)
    level = -(chance - 0.5 * (chance - surprisal.min()))
    age = _crossing(x, y, level, [y.max() - y.min(), 1.0, x.mean(), y.min()])
    return age if age is not None and read[0] <= 10**age - 1 <= read[-1] else None


PRODUCTS = {
    "main": {
        "makes": {"out": ("table_babylm", "The BabyLM challenge's evaluations")},
        "reads": ["scores", "reading", "words", "children"],
        "settings": ["lms", "title", "stages", "missing"],
    }
}
COLUMNS = ["lm", "label", "part", "group", "score", "items", "ties"]
#: Columns of the table: part and group → header.
HEADER = {(name, "overall"): part.label for name, part in parts.PARTS.items() if part.item}
HEADER |= {
    ("reading", "self-paced reading"): "Reading, SPR",
    ("reading", "eye tracking"): "Reading, ET",
}
HEADER |= {("aoa", "overall"): "AoA"}


def layout(data: pd.DataFrame, title: str, missing: Sequence[str]) -> Table:
    """Return a table with a row per LM and a column per part."""
    values = data.set_index(["label", "part", "group"]).score
    grid = [
        [label, *(_shown(values.get((label, *key), np.nan), key[0]) for key in HEADER)]
        for label in data.label.drop_duplicates()
    ]
    notes = []
    if missing:
        listed = ", ".join(parts.PARTS[name].label for name in missing)
        notes.append(f"Not run, because files or training stages are missing: {listed}.")
    return Table(f"{title}: the BabyLM challenge", ["LM", *HEADER.values()], grid, notes)


def _shown(value: float, part: str) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def main(
    view: View,
    scores: Files,
    reading: Files,
    words: Files,
    children: Files,
    out: Files,
    stages: Mapping[str, Mapping[str, float]],
    missing: Sequence[str],
) -> None:
    """Write the table to `out` (.csv, .html, .tex); the CSV has every subset."""
    read_words = {}
    if words:
        names = dict.fromkeys(name for of_lm in stages.values() for name in of_lm)
        kept = {"keep_default_na": False, "dtype": {"word": str, "context": str}}
        read_words = {n: pd.read_csv(p, **kept) for n, p in zip(names, words, strict=True)}
    frames = []
    for lm, path in zip(view.lms, scores, strict=True):
        lm_scores = challenge_scores(pd.read_parquet(path), next(iter(reading), None))
        if read_words and lm.lm in stages:
            curves = {read: read_words[stage] for stage, read in stages[lm.lm].items()}
            value, count = acquisition(curves, children[0])
            lm_scores.loc[len(lm_scores)] = ["aoa", "overall", value, count, 0]
        frames.append(lm_scores.assign(lm=lm.lm, label=lm.label))
    data = pd.concat(frames, ignore_index=True)[COLUMNS]
    tables.write(out, layout(data, view.title, missing), data)
