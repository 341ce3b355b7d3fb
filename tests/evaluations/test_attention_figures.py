"""Figures and tables of attention by dependency and by distance."""

import numpy as np
import pandas as pd
import pytest

from project import show
from recency.evaluations.attention_by_distance import figure as figure_attention_by_distance
from recency.evaluations.dependencies import view
from recency.figures import comparison, style

LMS = [
    {
        "lm": "ALiBi-mix-TI",
        "label": "ALiBi-mix-TI",
        "bias": {"form": "linear", "slopes": "mix"},
        "applied": "training",
    },
    {"lm": "Pythia", "label": "Pythia", "bias": {"form": "none"}, "applied": "none"},
]


def summary_of(path, slopes, layers=2, count=4, best=1):
    rows = []
    for kind in view.NAMES:
        for layer in range(1, layers + 1):
            for head in range(1, count + 1):
                mean = 0.3 if head == best else 0.1
                slope = 4.0**-head if slopes else np.nan
                rows.append((kind, layer, head, slope, 50, 0, 3.5, mean, 0.1, mean - 0.1,
                             mean - 0.15, mean - 0.05, 0.001 if head == best else 0.5,
                             0.024 if head == best else 1.0, 2, 2))  # fmt: skip
    pd.DataFrame(rows, columns=view.COLUMNS).to_csv(path, index=False)
    return path


@pytest.mark.merge
def test_figure_names_heads_and_compares_with_the_paper(tmp_path):
    published = tmp_path / "published.csv"
    published.write_text(
        "dependency,count,layer_1,layer_2\nfirst_argument,10,0.25,0.25\n"
        "second_argument,5,0.25,0.25\ncoreference,7,0.25 0.0625,0.0625\n"
    )
    made = [summary_of(tmp_path / "a.csv", True, best=2), summary_of(tmp_path / "b.csv", False)]
    out = [tmp_path / f"figure.{ending}" for ending in ("svg", "png", "pdf", "csv")]
    show(view.figure_attention_heads, heads=made, out=out, lms=LMS, published=published)
    data = pd.read_csv(tmp_path / "figure.csv")
    assert len(data) == 2 * 3 * 8 and list(data.lm.unique()) == ["ALiBi-mix-TI", "Pythia"]
    models, _ = comparison.records(LMS, [])
    there = pd.read_csv(published).set_index("dependency")
    said = view.sentences(data, models, there)
    (compared,) = [each for each in said if each.startswith("Strongest")]
    assert "first argument, layer 1, 1/16 (1/4)" in compared
    assert "coreference" not in compared  # in each layer one of the paper's
    with style.use():
        figure = view.draw(data, models, said)
        figure.draw_without_rendering()
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    bars = [bar for axes in figure.axes for bar in axes.patches]
    below = (data.attention < data.control).sum()
    assert sum(bar.get_hatch() is not None for bar in bars) == below
    assert len(bars) == len(data) > below
    assert texts.count("ns") == 2 * 3 * 6  # all but the strongest head of each layer
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()][:2] == ["1/4", "1/16"]
    assert [t.get_text() for t in figure.axes[3].get_xticklabels()][:2] == ["1", "2"]


@pytest.mark.merge
def test_many_heads_are_a_map(tmp_path):
    made = [summary_of(tmp_path / "a.csv", False, layers=12, count=12)] * 2
    show(view.figure_attention_heads, heads=made, out=[tmp_path / "map.png"], lms=LMS)
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_figure_by_distance_draws_every_head(tmp_path):
    distance = np.arange(8)
    rows = [(layer, head, d, 0.125, 0.125) for layer in (1, 2) for head in (1, 2) for d in distance]
    by_distance = tmp_path / "d.parquet"
    pd.DataFrame(rows, columns=["layer", "head", "distance", "mass", "uniform"]).to_parquet(
        by_distance
    )
    summary = pd.DataFrame(
        [(layer, head, np.nan, 10, 1, 3.0, 1.0, 0.125, 0.5, 0.0, 3.5, tv)
         for layer in (1, 2) for head, tv in ((1, 0.1), (2, 0.3))],
        columns=figure_attention_by_distance.SUMMARY,
    )  # fmt: skip
    summary.to_csv(tmp_path / "s.csv", index=False)
    out = [tmp_path / "f.svg", tmp_path / "f.csv"]
    figure_attention_by_distance.main(
        by_distance=[by_distance] * 2, by_head=[tmp_path / "s.csv"] * 2, out=out, lms=LMS
    )
    assert len(pd.read_csv(tmp_path / "f.csv")) == 8
    models, _ = comparison.records(LMS, [])
    rows = pd.concat(
        [pd.read_parquet(by_distance).assign(lm=lm.lm, variant=lm.lm) for lm in models]
    )
    both = pd.concat([summary.assign(lm=lm.lm) for lm in models])
    with style.use():
        figure = figure_attention_by_distance.draw(rows, both, models, [])
    assert len(figure.axes) == 4
    assert "TV 0.10 to 0.30" in figure.axes[0].get_title()
    for axes in figure.axes:
        assert len(axes.lines) == 3  # two heads, and all tokens alike
        np.testing.assert_allclose(axes.lines[0].get_ydata(), (distance + 1) / 8)
    assert figure_attention_by_distance.shown_layers(12) == [1, 6, 12]
    # A masked LM's distances count both ways; what is ahead stands alone as well.
    ahead = rows[rows.distance > 0].assign(distance=lambda table: -table.distance)
    with style.use():
        figure = figure_attention_by_distance.draw(pd.concat([rows, ahead]), both, models, [])
    for axes in figure.axes:
        assert len(axes.lines) == 5
        np.testing.assert_allclose(axes.lines[0].get_ydata(), (2 * distance + 1) / 8)
        np.testing.assert_allclose(axes.lines[1].get_ydata(), distance[1:] / 8)


def test_seeds_of_an_lm_share_its_panels(tmp_path, monkeypatch):
    distance, paths = np.arange(4), []
    for number, near in enumerate((0.4, 0.7, 0.1)):
        mass = [near, *[(1 - near) / 3] * 3]
        table = pd.DataFrame({"layer": 1, "head": 1, "distance": distance, "mass": mass})
        table.assign(uniform=0.25).to_parquet(tmp_path / f"{number}.parquet")
        row = (1, 1, np.nan, 10, 1, 3.0, 1.0, near, 0.1, 0.0, 3.5, number / 10)
        summary = pd.DataFrame([row], columns=figure_attention_by_distance.SUMMARY)
        summary.to_csv(tmp_path / f"{number}.csv", index=False)
        paths.append(tmp_path / f"{number}.parquet")
    mix, plain = LMS
    lms = [mix | {"variant": name} for name in ("ALiBi-mix-TI", "ALiBi-mix-TI@seed=2")]
    lms.append(plain | {"variant": "Pythia"})
    drawn, draw = [], figure_attention_by_distance.draw
    monkeypatch.setattr(
        figure_attention_by_distance, "draw", lambda *given: drawn.append(draw(*given)) or drawn[0]
    )
    figure_attention_by_distance.main(
        by_distance=paths,
        by_head=[path.with_suffix(".csv") for path in paths],
        out=[tmp_path / "f.svg", tmp_path / "f.csv"],
        lms=lms,
    )
    both, alone = drawn[0].axes
    assert [line.get_ydata()[0] for line in both.lines[:2]] == [0.4, 0.7] and len(both.lines) == 3
    assert [line.get_ydata()[0] for line in alone.lines[:1]] == [0.1] and len(alone.lines) == 2
    assert "TV 0.00 to 0.10" in both.get_title()
    data = pd.read_csv(tmp_path / "f.csv")
    assert list(data.variant) == ["ALiBi-mix-TI", "ALiBi-mix-TI@seed=2", "Pythia"]
    assert list(data.lm) == ["ALiBi-mix-TI", "ALiBi-mix-TI", "Pythia"]


def test_table_of_dependencies(tmp_path):
    rows = [(reading, kind, 100 + n, 90 + n, reading == "arguments")
            for reading in ("arguments", "arguments and raising")
            for n, kind in enumerate(view.NAMES)]  # fmt: skip
    columns = ["reading", "type", "tokens", "words", "chosen"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "counts.csv", index=False)
    published = tmp_path / "published.csv"
    published.write_text("dependency,count\nfirst_argument,95\nsecond_argument,5\ncoreference,7\n")
    out = [tmp_path / f"t.{ending}" for ending in ("csv", "html", "tex")]
    show(view.table_dependencies, counts=tmp_path / "counts.csv", out=out, published=published)
    page = (tmp_path / "t.html").read_text()
    assert "<b>100</b><small>+5</small>" in page and "<b>90</b><small>−5</small>" in page
    assert "<td>100<small>+5" in page  # another reading, not in bold
    assert list(pd.read_csv(tmp_path / "t.csv").published.unique()) == [95, 5, 7]
