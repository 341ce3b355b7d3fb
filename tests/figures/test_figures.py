"""Figures: what they show and say, that nothing overlaps, that the same data give the same bytes."""

import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from project import show
from recency.errors import InputError
from recency.evaluations.reading_times import figure_delta_loglik, figure_perplexity, figure_slopes
from recency.figures import comparison, intervals, papers, style

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "data" / "published"
TABLE2 = pd.read_csv(PUBLISHED / "clark2025_table2.csv").set_index("lm")
TABLE2 = TABLE2.drop(columns=["applied", "form", "parameters", "base", "endpoint"])
TABLE1 = pd.read_csv(PUBLISHED / "clark2025_table1.csv").set_index("corpus_measure")
SIX = ["Pythia", "dVM-TI", "ALiBi-mix-I", "ALiBi-mix-TI", "ALiBi-1/4-I", "ALiBi-1/4-TI"]
TWO = ["Natural Stories SPR", "UCL SPR"]


def slope(label: str) -> float | None:
    """Return the slope in a label of uniform ALiBi: 0.25 of ALiBi-1/4-TI."""
    found = re.fullmatch(r"ALiBi-([\d/]+)-T?I", label)
    return float(Fraction(found[1])) if found else None


def lm(label: str) -> dict:
    """Describe an LM of Table 2 as rules do."""
    applied = "none" if label == "Pythia" else "training" if label.endswith("-TI") else "inference"
    bias = {"form": "linear", "slopes": slope(label) or "mix"}
    if not label.startswith("ALiBi"):
        dvm = {"form": "exponential", "decay": 82.86, "weight": 0.37}
        bias = dvm if label.startswith("dVM") else {"form": "none"}
    return {"lm": label.replace("/", "_"), "label": label, "bias": bias, "applied": applied}


def response(label: str) -> dict:
    dataset, measure = label.rsplit(" ", 1)
    return {"dataset": dataset.lower().replace(" ", "_"), "measure": measure, "label": label}


def write_delta(path: Path, lms: list[str], responses: list[str], skip=(), unconverged=()) -> Path:
    """Write Table 2's values as a delta_loglik.csv."""
    rows = [
        {
            "lm": lm(a)["lm"], "label": a, **{k: response(r)[k] for k in ("dataset", "measure")},
            "design": "any", "base": "all", "endpoint": "modelblocks", "delta_loglik": TABLE2.loc[a, r], "delta_loglik_marginal": 0.0,
            "delta_loglik_fit": 0.0, "n": TABLE1.exploratory[r], "n_fit": TABLE1.fit[r],
            "converged": (a, r) not in unconverged, "note": "",
        }
        for a in lms for r in responses if (a, r) not in skip
    ]  # fmt: skip
    columns = ["lm", "label", "dataset", "measure", "design", "base", "endpoint", "delta_loglik"]
    columns += ["n", "converged"]
    pd.DataFrame(rows, columns=None if rows else columns).to_csv(path, index=False)
    return path


def write_intervals(path: Path, lms: list[str], responses: list[str], skip=()) -> Path:
    """Write intervals about Table 2's values: ±30 of an LM's own, ±10 of a difference, ±20 of all."""
    run = [r for r in responses if not any((a, r) in skip for a in lms)]
    rows = []
    for label in [*responses, "Total"]:
        here = [a for a in lms if (a, label) not in skip]
        value = {
            a: TABLE2.loc[a, run].sum() if label == "Total" else TABLE2.loc[a, label] for a in here
        }
        where = {"dataset": "all", "measure": "all"}
        where = where if label == "Total" else {k: response(label)[k] for k in where}
        pairs = [(a, "", "own") for a in here] + [(a, "Pythia", "baseline") for a in here[1:]]
        if label == "Total":
            pairs += [(a, b, "pair") for a, b in itertools.combinations(here[1:], 2)]
        for a, b, kind in pairs:
            delta, reach = value[a] - value.get(b, 0.0), 10 if b else 30
            row = {"lm": lm(a)["lm"], "against": lm(b)["lm"] if b else "", "kind": kind, **where}
            row |= {"delta_loglik": delta, "low": delta - reach, "high": delta + reach}
            row |= {"by": "sentence" if b else "subject", "se": reach / 2, "n": 1000}
            both = {"low_all": delta - 20, "high_all": delta + 20}
            whole = value.get("Pythia", np.nan)
            both |= {
                "share": delta / whole,
                "share_low": (delta - 20) / whole,
                "share_high": (delta + 20) / whole,
            }
            rows.append(row | (both if b and label == "Total" else dict.fromkeys(both, np.nan)))
    columns = None if rows else intervals.COLUMNS
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


def write_perplexity(path: Path, lms: list[str]) -> Path:
    """Write a perplexity.csv that falls with ΔLogLik, crowded where Table 2 is."""
    bits = 8.5 - (TABLE2.Total[lms] - 1750) / 900
    rows = pd.DataFrame({"lm": [lm(a)["lm"] for a in lms], "label": lms, "dataset": "all"})
    rows["tokens"], rows["bits_per_token"] = 1000, bits.to_numpy()
    rows["perplexity"] = 2.0**rows.bits_per_token
    rows.assign(words=800, word_perplexity=np.nan).to_csv(path, index=False)
    return path


SIZES = {"paper": (list(TABLE2.index), list(TABLE2.columns[:-1])), "small": (SIX, TWO)}


def read(tmp_path, lms, responses, asked=None, **kwargs):
    not_run = kwargs.pop("not_run", None)
    path = write_delta(tmp_path / "delta_loglik.csv", lms, responses, **kwargs)
    asked = [response(r) for r in asked or responses]
    return show(
        comparison.read,
        delta_loglik=path,
        lms=[lm(a) for a in lms],
        responses=asked,
        not_run=not_run,
    )


def known(tmp_path, result, skip=()):
    """Return the intervals of an experiment read by `read`."""
    labels = [model.label for model in result.lms]
    path = write_intervals(tmp_path / "intervals.csv", labels, list(result.delta.columns), skip)
    return intervals.read(path, result)


@pytest.fixture(scope="module", params=SIZES)
def drawn(request, tmp_path_factory):
    """All figures of an experiment, with their texts: (lms, responses, figures, texts)."""
    lms, responses = SIZES[request.param]
    folder = tmp_path_factory.mktemp("figures")
    result = read(folder, lms, responses)
    perplexity = pd.read_csv(write_perplexity(folder / "p.csv", lms)).set_index("lm").perplexity
    sure = known(folder, result)
    with style.use():
        figures = {
            "bars": figure_delta_loglik.bars(result, sure, "Pythia"),
            "panels": figure_delta_loglik.panels(result, sure, "Pythia"),
            "perplexity": figure_perplexity.draw(
                result, sure, perplexity, ["not run: Dundee SP"], "Pythia"
            ),
            "slopes": figure_slopes.draw(
                result, sure, {lm(a)["lm"]: slope(a) for a in lms if slope(a)}
            ),
        }
        return lms, responses, figures, {name: texts(figure) for name, figure in figures.items()}


def texts(figure):
    """Return the visible texts of a figure: (string, size, box in pixels)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    ticks = set()
    for axes in figure.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            low, high = sorted((low, high))
            for tick in axis.get_major_ticks() + axis.get_minor_ticks():
                if not low <= tick.get_loc() <= high:  # matplotlib keeps, but doesn't draw, these
                    ticks |= {tick.label1, tick.label2}
    return [
        (text.get_text(), text.get_size(), text.get_window_extent(renderer))
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in ticks
    ]


def words(found) -> str:
    return "\n".join(text for text, _, _ in found)


@pytest.mark.merge
def test_texts_are_legible_apart_and_inside(drawn):
    _, _, figures, found_in = drawn
    for name, figure in figures.items():
        check_texts(name, figure, found_in[name])


def check_texts(name, figure, found):
    """Texts are large enough to read in print, apart from one another, and within the page."""
    assert min(points for _, points, _ in found) >= 8, name
    for text, _, box in found:
        inside = box.x0 >= -1 and box.y0 >= -1
        assert inside and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1, text
    for (a, _, one), (b, _, two) in itertools.combinations(found, 2):
        width = min(one.x1, two.x1) - max(one.x0, two.x0)
        height = min(one.y1, two.y1) - max(one.y0, two.y0)
        # A line's box is higher than its letters: a sliver shared is not an overlap.
        assert width <= 1 or height <= 2.5, (name, a, b)
    assert figure.get_figwidth() == style.WIDTH and figure.get_figheight() < 9.5


@pytest.mark.merge
def test_every_lm_is_shown_with_its_value(drawn):
    lms, responses, figures, found = drawn
    said, beside = words(found["bars"]), words(found["perplexity"]).split("\n")
    totals = TABLE2.loc[lms, responses].sum(axis=1)
    for label, total in totals.items():
        decimals = 0 if totals.max() >= 1000 else 1  # and a sum's last bit may turn a 5
        assert any(f"{total + e:,.{decimals}f}" in said for e in (-1e-9, 1e-9))
        assert label in said.split("\n") and label in beside
        name = lm(label)["lm"]
        dots = [
            line.get_xdata()[0]
            for axes in figures["panels"].axes
            for line in axes.lines
            if line.get_gid() == f"dot {name}"
        ]
        assert np.allclose(dots, TABLE2.loc[label, responses].astype(float))
        assert any(
            name in (line.get_gid() or "").split() for line in figures["slopes"].axes[0].lines
        )


@pytest.mark.merge
def test_axes_say_what_and_in_which_unit(drawn):
    _, responses, _, found = drawn
    bars, panels, perplexity = (words(found[name]) for name in ("bars", "panels", "perplexity"))
    n = TABLE1.exploratory[responses].sum()
    assert f"Summed over {len(responses)} responses ({n:,} observations)" in bars
    assert "ΔLogLik (nats)" in bars and "− Pythia (nats)" in bars
    assert all("ΔLogLik (nats)" in figure for figure in (bars, panels, perplexity))
    assert "Perplexity per token" in perplexity
    assert "baseline: Pythia" in bars and "baseline: Pythia" in panels
    for label in responses:
        assert f"n = {TABLE1.exploratory[label]:,}" in panels


def lines_of(axes, kind):
    """Return name → the line's x and y, of the lines named `kind` in their gid."""
    lines = [line for line in axes.lines if (line.get_gid() or "").startswith(f"{kind} ")]
    return {line.get_gid().split(" ", 1)[1]: (line.get_xdata(), line.get_ydata()) for line in lines}


def test_every_point_but_the_baseline_has_an_interval(drawn):
    lms, responses, figures, _ = drawn
    others = {lm(a)["lm"] for a in lms[1:]}
    assert len(figures["panels"].axes) == len(responses)
    for axes in figures["panels"].axes:
        assert set(lines_of(axes, "interval")) == others
    for name in ("perplexity", "slopes"):
        found = lines_of(figures[name].axes[0], "interval")
        assert set(found) == others, name
        low, high = found["ALiBi-mix-TI"][1]
        assert np.isclose((low + high) / 2, TABLE2.loc["ALiBi-mix-TI", responses].sum())
        assert np.isclose(high - low, 40)  # simultaneous


def test_slopes_are_lines_at_their_values(tmp_path):
    """The paper's Figure 4: -I and -TI over seven slopes, Pythia and mixed slopes across."""
    lms = [a for a in TABLE2.index if not a.startswith("dVM")]
    result = read(tmp_path, lms, list(TABLE2.columns[:-1]))
    with style.use():
        slopes = {lm(a)["lm"]: slope(a) for a in lms if slope(a)}
        figure = figure_slopes.draw(result, known(tmp_path, result), slopes)
        found = texts(figure)
    check_texts("slopes", figure, found)
    said = words(found).split("\n")
    lines = {line.get_gid(): line for line in figure.axes[0].lines}
    for applied in ("I", "TI"):
        chain = [a for a in lms if slope(a) and a.split("-")[-1] == applied]
        line = lines[f"line {' '.join(lm(a)['lm'] for a in chain)}"]
        assert list(line.get_xdata()) == [1 / 256, 1 / 64, 1 / 16, 1 / 4, 1, 4, 16]
        np.testing.assert_allclose(line.get_ydata(), TABLE2.Total[chain], atol=0.11)
        assert line.get_linestyle() == ("-" if applied == "TI" else ":")
    for label in ("Pythia", "ALiBi-mix-I", "ALiBi-mix-TI"):
        line = lines[f"line {label}"]
        np.testing.assert_allclose(line.get_ydata(), TABLE2.Total[label], atol=0.11)
        assert line.is_dashed() == (label != "Pythia")
        colour = style.looks(result.lms)[label].colour
        pale = {"Pythia": style.tint(colour, 0.35), "ALiBi-mix-I": style.tint(colour, 0.5)}
        assert line.get_color() == pale.get(label, colour)
    for text in ("1/256", "1/16", "16", "baseline: Pythia", "ALiBi-mix-TI", "2,288", "1,756"):
        assert text in said, text
    assert {"ΔLogLik (nats),", "summed over 13 responses"} <= set(said)
    assert any("Slope" in text and "per token" in text for text in said)


def test_biases_look_the_same_in_every_experiment():
    everyone, _ = comparison.records([lm(a) for a in TABLE2.index], [])
    some, _ = comparison.records([lm(a) for a in SIX], [])
    assert style.looks(some).items() <= style.looks(everyone).items()
    looks = style.looks(everyone)
    assert len({looks[lm(a)["lm"]].colour for a in SIX}) == 4
    assert looks["ALiBi-mix-I"].face == "white" and looks["ALiBi-mix-I"].bar != "white"
    assert looks["ALiBi-mix-TI"].face == looks["ALiBi-mix-I"].colour
    assert looks["ALiBi-1_256-TI"].marker == looks["ALiBi-16-TI"].marker


def test_missing_parts_are_said(tmp_path):
    not_run = tmp_path / "not_run.csv"
    not_run.write_text("dataset,measure,reason\ndundee,,Dundee is not in the mirror\n")
    result = read(
        tmp_path, SIX, TWO, [*TWO, "Dundee FP", "Dundee GP"], not_run=not_run,
        skip={("dVM-TI", "UCL SPR")}, unconverged={("Pythia", "UCL SPR")},
    )  # fmt: skip
    with style.use():
        sure = known(tmp_path, result, skip={("dVM-TI", "UCL SPR")})
        drawn = figure_delta_loglik.bars(result, sure, None, "no bias")
        said = words(texts(drawn)).replace("\n", " ")
        drawn = figure_delta_loglik.panels(result, sure, "Pythia")
        panels = words(texts(drawn)).replace("\n", " ")
    assert "Not run: Dundee FP, GP (Dundee is not in the mirror)" in said
    assert "UCL SPR has no fit for dVM-TI and is excluded from the total" in said
    assert "− base" not in said and "The baseline, no bias, was not run" in said
    assert "Natural Stories SPR (192,772 observations)" in said
    assert "Regression not converged: Pythia on UCL SPR" in panels
    assert "Not run: Dundee FP, GP" in panels and "excluded from the total" not in panels


@pytest.mark.merge
@pytest.mark.parametrize("lms", [[], SIX[:1]])
def test_little_or_nothing_run_is_a_figure_that_says_so(tmp_path, lms):
    delta = write_delta(tmp_path / "delta_loglik.csv", lms, TWO[:1])
    perplexity = write_perplexity(tmp_path / "perplexity.csv", lms)
    paths = [[tmp_path / f"{name}.{end}" for end in ("svg", "csv")] for name in "abcde"]
    asked = {"lms": [lm(a) for a in SIX], "responses": [response(r) for r in TWO]}
    asked["intervals"] = write_intervals(tmp_path / "intervals.csv", lms, TWO[:1])
    show(
        figure_delta_loglik.main,
        delta_loglik=delta,
        total=paths[0],
        by_response=paths[1],
        difference=paths[4],
        baseline="Pythia",
        **asked,
    )
    show(figure_perplexity.main, delta_loglik=delta, perplexity=perplexity, out=paths[2], **asked)
    show(figure_slopes.main, delta_loglik=delta, out=paths[3], **asked)
    for svg, data in paths:
        is_of_pairs = svg.stem == "e"  # one LM has no difference from another
        expected = 0 if is_of_pairs else len(lms)
        assert svg.stat().st_size > 1000 and len(pd.read_csv(data)) == expected


def test_data_beside_the_figure_are_its_numbers(tmp_path):
    result = read(tmp_path, SIX, TWO)
    paper = papers.compared(pd.DataFrame(), result)
    rows = figure_delta_loglik.data(result, known(tmp_path, result), paper)
    rows = rows.set_index(["label", "response"])
    assert rows.delta_loglik["ALiBi-mix-TI", "UCL SPR"] == 68.1
    total = rows.loc[("ALiBi-mix-TI", "Total")]
    assert total.delta_loglik == pytest.approx(177.1) and total.over_baseline == pytest.approx(54.0)
    assert [total.low, total.high] == pytest.approx([147.1, 207.1]) and total.by == "subject"
    assert total.low_over_baseline == pytest.approx(34.0) and total.by_over_baseline == "sentence"
    assert rows.low.notna().all() and rows.low_over_baseline.isna().sum() == 3  # the baseline's


@pytest.mark.merge
def test_published_values_are_hollow_grey_marks_at_their_places(tmp_path):
    """In each figure of ΔLogLik; the values here are Table 2's, increased by one nat a response."""
    result = read(tmp_path, SIX, TWO)
    more = replace(result, delta=result.delta + 1, endpoint="modelblocks")
    table = papers.delta(PUBLISHED / "clark2025_table2.csv", more.lms)
    paper, sure = papers.compared(table, more), known(tmp_path, result)
    totals = papers.totals(PUBLISHED / "clark2025_table2.csv", more)
    assert paper.difference.xs("UCL SPR", level="response").tolist() == pytest.approx([1.0] * 6)
    assert totals.difference.tolist() == pytest.approx([2.0] * 6)
    assert papers.compared(table, replace(more, endpoint="crossed")).difference.isna().all()
    perplexity = pd.read_csv(write_perplexity(tmp_path / "p.csv", SIX)).set_index("lm").perplexity
    slopes = {lm(a)["lm"]: slope(a) for a in SIX if slope(a)}
    with style.use():
        figures = [
            figure_delta_loglik.bars(more, sure, "Pythia", published=paper.published),
            figure_slopes.draw(more, sure, slopes, totals.published),
            figure_perplexity.draw(more, sure, perplexity, [], published=totals.published),
        ]
    for figure, axis in zip(figures, "xyy", strict=True):
        lines = {line.get_gid(): line for axes in figure.axes for line in axes.get_lines()}
        for model in more.lms:
            mark = lines[f"published {model.lm}"]
            value = mark.get_xdata() if axis == "x" else mark.get_ydata()
            assert np.ravel(value)[0] == pytest.approx(totals.published[model.lm])
            assert (mark.get_marker(), mark.get_markerfacecolor()) == ("D", "none")
        assert "published" in words(texts(figure))


def write_all(folder: Path) -> None:
    """Write every figure of a small experiment, some of it not run."""
    folder.mkdir()
    delta = write_delta(folder / "delta.csv", SIX, TWO)
    perplexity = write_perplexity(folder / "perplexity.csv", SIX)
    asked = {"lms": [lm(a) for a in SIX], "responses": [response(r) for r in [*TWO, "Dundee FP"]]}
    asked["intervals"] = write_intervals(folder / "intervals.csv", SIX, TWO)
    total, by_response, difference, scatter, slopes = (
        [folder / f"{name}.{end}" for end in ("pdf", "svg", "png", "csv")] for name in "tbdsl"
    )
    show(
        figure_delta_loglik.main,
        delta_loglik=delta,
        total=total,
        by_response=by_response,
        difference=difference,
        baseline="Pythia",
        **asked,
    )
    show(figure_perplexity.main, delta_loglik=delta, perplexity=perplexity, out=scatter, **asked)
    show(figure_slopes.main, delta_loglik=delta, out=slopes, **asked)


@pytest.mark.merge
def test_same_data_give_the_same_bytes(tmp_path):
    """In another process, at another time, with another hash seed."""
    write_all(tmp_path / "here")
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        f"import pathlib, test_figures; test_figures.write_all(pathlib.Path({str(tmp_path / 'there')!r}))"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, env=os.environ | {"PYTHONHASHSEED": "7"}
    )
    here, there = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("here", "there")
    )
    for name in ("t.csv", "b.csv", "s.csv", "l.csv"):
        assert {"low", "high", "low_over_baseline"} <= set(pd.read_csv(tmp_path / "here" / name))
    assert len(here) == 23 and [name for name in here if here[name] != there[name]] == []


def test_two_rows_of_a_pair_are_an_error(tmp_path):
    path = write_delta(tmp_path / "delta_loglik.csv", SIX, TWO + TWO[:1])
    with pytest.raises(InputError, match="two rows of Pythia on Natural Stories SPR"):
        show(
            comparison.read,
            delta_loglik=path,
            lms=[lm(a) for a in SIX],
            responses=[response(r) for r in TWO],
        )


def test_other_observations_for_another_lm_are_an_error(tmp_path):
    path = write_delta(tmp_path / "delta_loglik.csv", SIX, TWO)
    rows = pd.read_csv(path)
    rows.loc[3, "n"] += 1
    rows.to_csv(path, index=False)
    with pytest.raises(InputError, match="not comparable"):
        show(
            comparison.read,
            delta_loglik=path,
            lms=[lm(a) for a in SIX],
            responses=[response(r) for r in TWO],
        )


def test_dataset_labels_get_their_measure(tmp_path):
    row = {"dataset": "ucl", "measure": "SPR"}
    for label in ("UCL", "UCL SPR"):
        _, (found,) = comparison.records([], [row | {"label": label}])
        assert found.label == "UCL SPR"
