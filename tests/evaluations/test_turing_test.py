"""LM Turing test: votes and scores by hand, fits against NumPy's least squares and the published ones."""

import numpy as np
import pandas as pd
import pytest

from project import ROOT, show
from recency.errors import InputError
from recency.evaluations.turing_test import view

PUBLISHED = ROOT / "data" / "published"
#: Texts of an LM by the rating that all judges give them: 0, 1, 2, 3. Scores 1/8, 1/2, 1, 2, 4, 8 and 10.
COUNTS = {
    "a": (8, 2, 1, 1), "b": (6, 1, 2, 3), "c": (4, 2, 2, 4), "d": (3, 1, 2, 6),
    "e": (2, 1, 1, 8), "f": (1, 1, 2, 8), "original": (1, 0, 1, 10),
}  # fmt: skip
PERPLEXITY = dict(zip("abcdef", (300, 200, 120, 80, 60, 40)))
LMS = [{"lm": lm, "label": f"LM {lm}", "bias": {"form": "none"}, "applied": "none"} for lm in "abcdefg"]  # fmt: skip


@pytest.fixture
def files(tmp_path):
    """Write a sheet, its key, metrics, and judgements of three judges, of whom the third errs at random."""
    random = np.random.default_rng(0)
    rows = [
        (lm, text, vote)
        for lm, counts in COUNTS.items()
        for text, vote in enumerate(np.repeat(range(4), counts))
    ]
    rows = pd.DataFrame(rows, columns=["lm", "text", "vote"]).sample(frac=1, random_state=1)
    rows["id"] = range(1, len(rows) + 1)
    rows["context"] = "the first words of " + rows.text.astype(str)
    rows["continuation"] = rows.lm + " goes on" + np.where(rows.text % 2, " …", "")
    sheet = rows.assign(rating="")[["id", "context", "continuation", "rating"]]
    sheet.to_csv(tmp_path / "sheet.csv", index=False)
    rows.assign(complete=True)[["id", "text", "lm", "complete"]].to_csv(
        tmp_path / "key.csv", index=False
    )
    judges = [sheet.assign(rating=rows.vote) for _ in range(2)]
    judges.append(sheet.assign(rating=random.integers(0, 4, len(rows))).sample(frac=1))
    pd.concat(judges).to_csv(tmp_path / "judged.csv", index=False)
    metrics = pd.DataFrame({"lm": list("abcdef"), "perplexity": list(PERPLEXITY.values())})
    metrics["mean_log_rank"] = np.log(metrics.perplexity) / 2
    metrics["top_1"] = 60 - metrics.perplexity / 10
    metrics.to_csv(tmp_path / "metrics.csv", index=False)
    return tmp_path


def made(files, judged, published=PUBLISHED / "thesis_table7_2.csv"):
    """Make both tables and the figure; return the tables' values and the first page."""
    out = [files / f"t.{end}" for end in ("csv", "html", "tex")]
    paths = [files / each for each in ("sheet.csv", "key.csv", "metrics.csv")]
    told = dict(zip(("sheet", "key", "metrics"), paths)) | {"lms": LMS, "title": "Judged"}
    absent = "" if judged else "j.csv: is not here"
    show(
        view.table_turing_test,
        judgements=judged,
        out=out,
        min_judges=3,
        absent=absent,
        published=published,
        **told,
    )
    fits = [files / f"f.{end}" for end in ("csv", "html", "tex")]
    known = PUBLISHED / "thesis_figure7_1.csv"
    show(view.table_turing_fits, scores=out[0], out=fits, title="Judged", published=known)
    drawn = [files / f"g.{end}" for end in ("svg", "csv")]
    show(view.figure_turing_test, scores=out[0], fits=fits[0], out=drawn, lms=LMS)
    return pd.read_csv(out[0]), pd.read_csv(fits[0]), out[1].read_text()


def test_scores_are_those_of_the_votes(files):
    rows, fits, page = made(files, [files / "judged.csv"])
    own = rows[rows.source == "here"].set_index("lm")
    for lm, counts in COUNTS.items():
        assert own.loc[lm, ["n0", "n1", "n2", "n3"]].tolist() == list(counts)
        assert own.score[lm] == counts[3] / counts[0] and own.undecided[lm] == 0
        low, high = own.score_low[lm], own.score_high[lm]
        assert np.isnan(low) or low <= own.score[lm] <= high  # NaN: a draw without any text rated 0
    assert own.score_low["a"] < own.score["a"] < own.score_high["a"]
    assert np.isnan(own.score["g"]) and "ot run" not in page  # no continuation of g was judged

    # The fit by the normal equations, and where it reaches 10 by a fine grid.
    x = np.log(list(PERPLEXITY.values()))
    y = np.array([counts[3] / counts[0] for counts in COUNTS.values()])[:-1]
    powers = np.vander(x - x.mean(), 4)
    b = np.linalg.solve(powers.T @ powers, powers.T @ y)
    r2 = 1 - ((y - powers @ b) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    fit = fits[fits.points == view.HERE].set_index("metric")
    assert fit.adjusted_r2["perplexity"] == pytest.approx(1 - (1 - r2) * 5 / 2)
    grid = np.linspace(x[-1] - 1, x[-1] + 0.2, 100_001)
    crossing = grid[np.abs(np.polyval(b, grid - x.mean()) - 10).argmin()]
    assert np.log(fit.human_level["perplexity"]) == pytest.approx(crossing, abs=1e-4)
    assert fit.human_score["perplexity"] == 10 and fit.models["top_1"] == 6
    curve = np.polynomial.Polynomial(fit.loc["perplexity", ["c0", "c1", "c2", "c3"]].astype(float))
    assert curve(x) == pytest.approx(np.polyval(b, x - x.mean()), abs=1e-6)


def test_published_fits_have_the_estimated_human_among_their_points(files):
    rows, fits, page = made(files, [])
    assert "j.csv: is not here" in page and rows[rows.source == "here"].score.isna().all()
    assert set(fits.points) == {view.PUBLISHED, view.WITH_HUMAN}
    for _, row in fits[fits.points == view.WITH_HUMAN].iterrows():
        assert row.models == 25
        assert row.adjusted_r2 == pytest.approx(row.published_adjusted_r2, abs=2.5e-3)
        assert row.human_level == pytest.approx(row.published_human_level, rel=5e-3)
    alone = fits[fits.points == view.PUBLISHED]
    assert (alone.models == 24).all() and (alone.adjusted_r2 < 0.88).all()


def test_a_rating_needs_half_of_the_judges():
    for ratings, min_judges, vote in (
        ([3, 3, 0], 3, 3), ([3, 2, 1], 3, None), ([3, 3, 2, 2], 3, None), ([3, 3, 2, 1], 3, 3),
        ([3, 3], 3, None), ([0], 1, 0),
    ):  # fmt: skip
        assert view.majority(pd.Series(ratings), min_judges) == vote, ratings


def test_fits_need_five_points_and_a_crossing():
    assert view.fit([1, 2, 3, 4], [1, 2, 3, 5])[0] is None
    assert view.fit([1, 1, 2, 2, 3], [1, 2, 3, 5, 6])[0] is None
    curve, adjusted = view.fit(range(8), [x**3 for x in range(8)])
    assert adjusted == pytest.approx(1) and view.human_level(curve, 1000, 7) == pytest.approx(10)
    assert np.isnan(view.human_level(np.polynomial.Polynomial([0, 0, 1]), -1, 0))
    assert view.ratio(2, 0) == np.inf and np.isnan(view.ratio(0, 0))


WRONG = {
    "rating 4": (lambda rows: rows.assign(rating=4), r"row 1: rating 4.* is not 0, 1, 2 or 3"),
    "an id": (lambda rows: rows.assign(id=rows.id + 1000), r"row 1: id 1001 is not in"),
    "another text": (lambda rows: rows.assign(context="a"), r"row 1: text 1 differs from that in"),
    "none": (lambda rows: rows.assign(rating=None), "has no rating"),
    "no column": (lambda rows: rows.drop(columns="rating"), "no column rating; judgements are"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_judgements_of_other_texts_are_refused(files, wrong):
    change, said = WRONG[wrong]
    path = files / "wrong.csv"
    change(pd.read_csv(files / "judged.csv")).to_csv(path, index=False)
    with pytest.raises(InputError, match=said):
        view.read(path, files / "sheet.csv")


def test_rows_without_a_rating_and_further_headers_are_skipped(files):
    text = (files / "judged.csv").read_text()
    head, first, *_ = text.splitlines()
    empty = first.rpartition(",")[0] + ","
    (files / "twice.csv").write_text(f"{head}\n{empty}\n{first}\n{head}\n{first}\n")
    assert len(view.read(files / "twice.csv", files / "sheet.csv")) == 2
