"""The figure of losses in training."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from recency.evaluations.training import spec, view
from recency.figures import comparison, ends, style

LMS = [
    {"lm": "a", "label": "no bias", "bias": {"form": "none"}, "applied": "none"},
    {"lm": "b", "label": "ALiBi", "bias": {"form": "linear", "slopes": 1}, "applied": "training"},
]


def curve(path, losses, validation=None):
    steps = np.arange(1, len(losses) + 1)
    held_out = np.full(len(losses), np.nan)
    for step, loss in (validation or {}).items():
        held_out[step - 1] = loss
    values = {"step": steps, "tokens": steps * 100, "loss_nats": losses}
    pd.DataFrame(values | {"validation_nats": held_out}).to_csv(path, index=False)
    return path


def test_means_are_of_equal_parts():
    table = pd.DataFrame({"step": range(1, 101), "tokens": range(10, 1001, 10)})
    found = view.means(table.assign(loss_nats=np.arange(100.0)))
    assert list(found.tokens[:2]) == [20, 40] and list(found.loss_nats[:2]) == [0.5, 2.5]
    assert len(found) == view.PARTS
    few = view.means(table[:3].assign(loss_nats=1.0))
    assert list(few.tokens) == [10, 20, 30]


def test_the_line_is_validation_where_there_is_one(tmp_path):
    with_it = comparison.table(curve(tmp_path / "a.csv", [5.0] * 4, {2: 3.5, 4: 3.0}), [])
    tokens, nats = view.line(with_it)
    assert list(tokens) == [200, 400] and list(nats) == [3.5, 3.0]
    tokens, nats = view.line(with_it.assign(validation_nats=np.nan))
    assert list(nats) == [5.0] * 4


@pytest.mark.parametrize("values", [[0, 0, 0], [3, 1, 1.5, 1.6], [0, 10, 20], [2.0]])
def test_labels_are_set_apart_and_keep_their_order(values):
    moved = ends.apart(values, 1.0)
    order = np.argsort(values, kind="stable")
    assert (np.diff(moved[order]) >= 1 - 1e-9).all()
    assert np.mean(moved) == pytest.approx(np.mean(values))  # none is favoured
    if np.diff(np.sort(values)).min(initial=9) >= 1:
        assert list(moved) == values


def test_seeds_have_a_line_each_and_one_name(tmp_path):
    paths = [curve(tmp_path / f"{n}.csv", np.linspace(8, n, 50)) for n in (2, 3, 4)]
    lms = [LMS[0] | {"variant": "a"}, LMS[0] | {"variant": "a@seed=2"}, LMS[1] | {"variant": "b"}]
    view.figure_training(curves=paths, out=[tmp_path / "f.svg", tmp_path / "f.csv"], lms=lms)
    drawn = (tmp_path / "f.svg").read_text()
    nats = np.mean(
        [view.means(comparison.table(path, [])).loss_nats.iloc[-1] for path in paths[:2]]
    )
    assert drawn.count("no bias  ") == 1 and f"no bias  {nats:.3f}" in drawn
    rows = pd.read_csv(tmp_path / "f.csv")
    assert rows.network.unique().tolist() == ["a", "a@seed=2", "b"] and len(rows) == 150


def test_every_lm_has_a_line_and_its_last_value(tmp_path):
    paths = [
        curve(tmp_path / "a.csv", np.linspace(8, 4, 200), {100: 6.0, 200: 4.25}),
        curve(tmp_path / "b.csv", np.linspace(8, 2, 200), {100: 5.0, 200: 3.125}),
    ]
    view.figure_training(curves=paths, out=[tmp_path / "f.svg", tmp_path / "f.csv"], lms=LMS)
    data = pd.read_csv(tmp_path / "f.csv")
    assert list(data.columns) == ["lm", "label", "network", *view.COLUMNS] and len(data) == 400
    lms, _ = comparison.records(LMS, [])
    with style.use():
        drawn = view.draw([comparison.table(path, []) for path in paths], lms)
    (axes,) = drawn.axes
    lines = [each for each in axes.get_lines() if each.get_linestyle() == "-"]
    assert [list(each.get_ydata()) for each in lines] == [[6.0, 4.25], [5.0, 3.125]]
    assert [text.get_text() for text in axes.texts] == ["no bias  4.250", "ALiBi  3.125"]
    dots = [min(each.get_ydata()) for each in axes.get_lines() if each.get_marker() == "."]
    assert (
        axes.get_ylim()[0] < min(dots) < 2.1
    )  # text read again has lower losses than held-out text


def test_weights_that_several_lms_share_are_listed_once():
    lms = {"a": {}, "a-I": {"weights": "a"}, "hub": {"checkpoint": "gpt2"}, "b": {}}
    study = SimpleNamespace(
        lms=lms,
        experiment=lambda name: {"lms": ["a-I", "hub", "b", "a"]},
        weights=lambda lm: [] if lm == "hub" else [lm],
        trained_as=lambda lm: lms[lm].get("weights", lm),
    )
    assert spec.trained(study, "mine") == ["a", "b"]


def test_validation_by_update_is_the_mean_over_networks(tmp_path):
    about = {"bias": {"form": "none"}, "applied": "none"}
    masked = [
        {"lm": lm, "label": lm.upper(), "variant": variant} | about
        for lm, variant in (("a", "a"), ("a", "a@seed=2"), ("b", "b"))
    ]
    paths = []
    for number, (each, last) in enumerate(zip(masked, (100.0, 400.0, 50.0), strict=True)):
        paths.append(tmp_path / f"{number}.csv")
        rows = [(1, ""), (10, np.log(1000)), (11, ""), (20, np.log(last))]
        pd.DataFrame(rows, columns=["step", "validation_nats"]).to_csv(paths[-1], index=False)
    rows = view.read(paths, masked)
    assert list(rows.step) == [10, 20] * 3
    models, _ = comparison.records([masked[0], masked[2]], [])
    with style.use():
        figure = view.figure_validation_draw(rows, models)
    texts = [each.get_text() for each in figure.axes[0].texts]
    assert texts == ["A  200.0 (100.0 to 400.0)", "B  50.0"]  # the geometric mean
    out = [tmp_path / "f.svg", tmp_path / "f.csv"]
    view.figure_validation(masked_curves=paths, out=out, masked=masked)
    assert len(pd.read_csv(out[1])) == 6
