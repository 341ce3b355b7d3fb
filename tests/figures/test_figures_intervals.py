"""Intervals in figures of ΔLogLik, lines that coincide, and the notes beneath."""

import re
import shutil
import subprocess
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from test_figures import (
    SIX,
    TWO,
    known,
    lines_of,
    lm,
    read,
    response,
    texts,
    words,
    write_delta,
    write_intervals,
)

from project import environment, show
from recency.evaluations import report
from recency.evaluations.reading_times import figure_delta_loglik, figure_perplexity
from recency.figures import comparison, encoding, intervals, style


def test_differences_stand_about_the_baseline_at_zero(tmp_path):
    result = read(tmp_path, SIX, TWO)
    with style.use():
        figure = figure_delta_loglik.bars(result, known(tmp_path, result), "Pythia")
        said = words(texts(figure)).replace("\n", " ")
    totals, differences = figure.axes
    (dashed,) = (line for line in differences.lines if line.is_dashed())
    assert list(dashed.get_xdata()) == [0, 0] and dashed.get_color() == encoding.BASELINE
    own, paired = lines_of(totals, "interval"), lines_of(differences, "paired")
    assert np.allclose(own["Pythia"][0], [93.1, 153.1]) and "Pythia" not in paired
    assert np.allclose(paired["ALiBi-mix-TI"][0], [34.0, 74.0])
    single = known(tmp_path, result).pair("ALiBi-mix-TI", "Pythia")
    ticks = lines_of(differences, "single")["ALiBi-mix-TI"][0]
    assert np.allclose(ticks, [single.low, single.high]) and 34 < ticks[0] < ticks[1] < 74
    assert np.allclose(lines_of(differences, "difference")["ALiBi-mix-TI"][0], 54.0)
    assert "of differences simultaneous for all 15 pairs" in said


def test_one_column_has_the_differences_and_names_what_each_side_favours(tmp_path):
    result = read(tmp_path, SIX, TWO)
    bounds = known(tmp_path, result)
    rows = figure_delta_loglik.of_totals(bounds)
    lms = [lm for lm in result.lms if lm.lm in rows.index]
    with style.use():
        looks = style.looks(result.lms)
        figure = figure_delta_loglik.differences(rows, lms, "no bias", "a note", looks)
        said = words(texts(figure))
    (axes,) = figure.axes
    assert figure.get_figwidth() == figure_delta_loglik.COLUMN and len(lms) == 5
    drawn = lines_of(axes, "interval")
    for name in rows.index:
        assert tuple(drawn[name][0]) == bounds.pair(name, "Pythia").bounds
    assert "← favours no bias favours the LM →" in " ".join(said.split())


def test_letters_of_groups_are_those_of_the_deciding_intervals(tmp_path):
    result = read(tmp_path, SIX, TWO)
    bounds = known(tmp_path, result)
    letters = figure_delta_loglik.letters(result, bounds)
    for a, b in combinations(letters, 2):
        low, high = bounds.pair(a, b).bounds
        assert bool(set(letters[a]) & set(letters[b])) == (low <= 0 <= high), (a, b)
    with style.use():
        figure = figure_delta_loglik.bars(result, bounds, "Pythia")
        said = words(texts(figure)).replace("\n", " ")
    shown = [text.get_text() for text in figure.axes[-1].texts]
    assert all(shown.count(letter) >= 1 for letter in letters.values()) and len(set(shown)) > 1
    assert "LMs that share a letter are not separated" in said
    two = read(tmp_path, SIX[:2], TWO)
    assert figure_delta_loglik.letters(two, known(tmp_path, two)) == {}


@pytest.mark.skipif(not shutil.which("Rscript"), reason="no R here")
@pytest.mark.parametrize("has_baseline", [True, False])
def test_r_draws_the_deciding_intervals_from_an_experiment_s_folder_alone(tmp_path, has_baseline):
    result = read(tmp_path, SIX, TWO)
    write_delta(tmp_path / "delta_loglik.csv", SIX, TWO)
    path = write_intervals(tmp_path / "delta_loglik_intervals.csv", SIX, TWO)
    rows = pd.read_csv(path)
    if not has_baseline:
        rows = rows[rows.kind == "own"]
        rows.to_csv(path, index=False)
    bounds = intervals.read(path, result)
    script = report.__path__[0] + "/figures.R"
    run = subprocess.run(
        ["Rscript", "--vanilla", script], check=False, cwd=tmp_path, env=environment(), text=True, capture_output=True
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    drawn = pd.read_csv(tmp_path / "leads_r.csv", keep_default_na=False)
    labels = comparison.response_labels(result.responses)
    labels = {" ".join(key): label for key, label in labels.items()} | {"Total": intervals.TOTAL}
    known_intervals = bounds.paired if has_baseline else bounds.own
    assert len(drawn) == len(known_intervals) > 6
    for row in drawn.itertuples():
        interval = known_intervals[row.lm, labels[row.response]]
        wanted = (interval.value, *interval.bounds)
        assert np.allclose([row.delta_loglik, row.decides_low, row.decides_high], wanted), row
    table = pd.read_csv(tmp_path / "table_r.csv").set_index("LM")
    for (name, label), interval in bounds.own.items():
        shown = table.loc[
            {lm(a)["lm"]: a for a in SIX}[name], {b: a for a, b in labels.items()}[label]
        ]
        assert str(shown).split(" ")[0] == f"{interval.value:.1f}"
    pages = re.findall(rb"/Count (\d+)", (tmp_path / "figures_r.pdf").read_bytes())
    assert [int(count) for count in pages] == [len(set(drawn.response))]
    assert (tmp_path / "table_r.tex").read_text().count("\\\\") == 1 + len(SIX)


def test_names_stand_at_their_own_bars_when_groups_change_the_order(tmp_path):
    """Two LMs of one bias are drawn together, even where the experiment names another between them."""
    order = ["Pythia", "ALiBi-mix-I", "dVM-I", "ALiBi-mix-TI", "dVM-TI"]
    result = read(tmp_path, order, TWO)
    with style.use():
        figure = figure_delta_loglik.bars(result, known(tmp_path, result), "Pythia")
    totals = figure.axes[0]
    named = {text.get_text(): y for text, y in zip(totals.get_yticklabels(), totals.get_yticks())}
    bars = {round(bar.get_y() + bar.get_height() / 2, 6): bar.get_width() for bar in totals.patches}
    for each in order:
        assert np.isclose(bars[round(named[each], 6)], result.totals[each]), each
    assert sorted(named, key=named.get) != order


def test_an_interval_is_simultaneous_where_there_are_several_pairs(tmp_path):
    result = read(tmp_path, SIX, TWO)
    intervals_read = known(tmp_path, result)
    total = intervals_read.pair("ALiBi-mix-TI", "Pythia")
    assert np.allclose(total.bounds, (34, 74)) and total.excludes_zero and total.n == 1000
    reverse = intervals_read.pair("Pythia", "ALiBi-mix-TI")
    assert np.allclose(reverse.bounds, (-74, -34)) and reverse.excludes_zero and reverse.n == 1000
    single = intervals_read.paired["ALiBi-mix-TI", TWO[1]]
    assert single.bounds == (single.low, single.high)
    assert intervals.clusters("crossed") == "subject and sentence"
    assert intervals.clusters("crossed_texts") == "subject and text"
    assert intervals.clusters("sentence") == "sentence"


def test_without_a_baseline_the_intervals_are_the_lms_own(tmp_path):
    path = write_delta(tmp_path / "delta_loglik.csv", SIX[1:], TWO)
    lms, responses = [lm(a) for a in SIX[1:]], [response(r) for r in TWO]
    result = show(comparison.read, delta_loglik=path, lms=lms, responses=responses)
    rows = pd.read_csv(write_intervals(tmp_path / "i.csv", SIX, TWO))
    rows[rows.lm != "Pythia"].to_csv(tmp_path / "i.csv", index=False)
    sure = intervals.read(tmp_path / "i.csv", result)
    assert not sure.paired and sure.pair("dVM-TI", "ALiBi-mix-I")
    with style.use():
        figure = figure_delta_loglik.bars(result, sure, "Pythia", "no bias")
        said = words(texts(figure))
        panels = figure_delta_loglik.panels(result, sure, "Pythia", "no bias")
    assert len(figure.axes) == 1 and "The baseline, no bias, was not run" in said.replace("\n", " ")
    low, high = lines_of(panels.axes[1], "interval")["dVM-TI"][0]
    assert np.isclose(high - low, 60)


def test_lines_that_coincide_are_all_seen():
    """Dashes of up to three lines leave none of another's covered."""
    for count in (1, 2, 3):
        drawn = []
        for place in range(count):
            offset, (on, off) = style.dashes(place, count)
            position = (np.arange(0, 120) + 0.5 + offset) % (on + off)
            drawn.append(position < on)
        assert (np.sum(drawn, axis=0) <= 1).all() and all(each.any() for each in drawn)


def test_notes_take_three_lines_at_most_and_more_in_a_narrow_figure():
    from matplotlib.figure import Figure

    with style.use():
        figure = Figure(figsize=(style.WIDTH, 1), layout="constrained")
        style.notes(
            figure, [f"sentence {k} of many words that say next to nothing" for k in range(30)]
        )
        lines = figure.texts[0].get_text().split("\n")
        assert len(lines) == 3 and lines[0].startswith("Sentence 0")
        assert lines[2].endswith("… (more in the tables)")
        narrow = Figure(figsize=(style.WIDTH / 2, 1), layout="constrained")
        style.notes(narrow, ["a note as long as two lines of three " * 6])
        said = narrow.texts[0].get_text().split("\n")
        assert len(said) > 3 and " ".join(said).count("two lines of three") == 6
        short = Figure(figsize=(style.WIDTH, 1), layout="constrained")
        style.notes(short, ["one", "two."])
        assert short.texts[0].get_text() == "One. Two"


def test_labels_stand_off_the_baseline(tmp_path):
    """No name is crossed by the dashed line, even of LMs that are as good as the baseline."""
    result = read(tmp_path, SIX, TWO)
    for place in result.delta.index:
        result.delta.loc[place] = result.delta.loc["Pythia"]
    perplexity = pd.Series({name: 200.0 + 8 * i for i, name in enumerate(result.delta.index)})
    with style.use():
        figure = figure_perplexity.draw(result, known(tmp_path, result), perplexity, [], "Pythia")
        (axes,) = figure.axes
        height = axes.transData.transform((200, result.totals["Pythia"]))[1]
        names = [box for text, _, box in texts(figure) if text in set(SIX) | {"no bias"}]
    assert len(names) == len(SIX)
    assert all(box.y0 >= height or box.y1 <= height for box in names)
