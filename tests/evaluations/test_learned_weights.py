"""Weights by distance: a network's window in its order, and a CDLM's words below thresholds, by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models

from recency.evaluations.learned_weights import compute, view
from recency.evaluations.text_perplexity import view as text_view
from recency.networks import architectures
from recency.scoring.lm_spec import LMSpec


def test_a_window_s_matrices_are_drawn_by_distance(tmp_path):
    shape = {"family": "recurrent", "layers": 1, "width": 6, "embedding": 4}
    memory = {"form": "srnn", "context": "word", "window": 3}
    network = architectures.new(shape | {"memory": memory}, {"form": "none"}, 9, 1)
    read = network.model.layers[0].read.weight
    with torch.no_grad():  # the latest state is the last
        for position, part in enumerate(read.split(4, 1)):
            part.copy_(torch.linspace(-1, 1, 24).view(6, 4) * (position + 1))
    network.save_pretrained(tmp_path / "lm")
    words = Tokenizer(models.WordLevel({f"w{n}": n for n in range(9)}, unk_token="w1"))
    words.save(str(tmp_path / "lm" / "tokenizer.json"))
    lm = LMSpec("lm", tmp_path / "lm", tmp_path / "lm" / "tokenizer.json")
    compute.count_weights(lm, tmp_path / "o.csv")
    rows = pd.read_csv(tmp_path / "o.csv")
    of = rows.groupby("position")
    mean = np.abs(np.linspace(-1, 1, 24)).mean()
    assert of["mean_absolute"].first().tolist() == pytest.approx([3 * mean, 2 * mean, mean])
    assert (of["count"].sum() == 24).all() and rows.low.min() == pytest.approx(-3)
    out = [tmp_path / f"f.{end}" for end in ("svg", "csv")]
    view.figure_windows(windows=[tmp_path / "o.csv"], out=out, window_lms=["WD-SRNN"])
    assert "V3: mean |V| " in out[0].read_text() and len(pd.read_csv(out[1])) == len(rows)


def test_transformed_words_below_a_threshold_are_counted(tmp_path):
    vectors = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.5]])
    matrices = np.array([[[0.1, 0.0], [0.0, 0.1]], [[0.0, 1.0], [0.0, 0.0]]])
    rows = compute.sparseness(vectors, matrices, [0.15, 1.5]).set_index(["distance", "threshold"])
    # T_1 v: (.1, 0), (0, .2), (.05, .05); T_2 v: (0, 0), (2, 0), (.5, 0)
    assert rows.share[1, 0.15] == pytest.approx(5 / 6) and rows.share[1, 1.5] == 1
    assert rows.share[2, 0.15] == pytest.approx(4 / 6) and rows.share[2, 1.5] == pytest.approx(
        5 / 6
    )
    files = []
    for span, many in ((5, 1), (6, 2)):
        files.append(tmp_path / f"{span}.csv")
        here = compute.sparseness(vectors, matrices[:many], [0.15, 1.5])
        here.assign(distance=here.distance + 3).to_csv(files[-1], index=False)
    out = [tmp_path / f"f.{end}" for end in ("svg", "csv")]
    view.figure_sparseness(sparseness=files, out=out, sparse_lms=["CDLM 5", "CDLM 6"])
    assert sorted(pd.read_csv(out[1]).span.unique()) == [5, 6] and "t = 0.15" in out[0].read_text()


def test_curves_have_their_points_in_order():
    rows = pd.DataFrame(
        {"curve": "RNN", "x": [100, 400], "test_ppl": [150.0, 120.0], "test_sd": [np.nan, 2.0]}
    )
    figure = text_view.draw(rows, "Hidden units")
    (line, *_) = figure.axes[0].lines
    assert line.get_xdata().tolist() == [100, 400] and line.get_ydata().tolist() == [150, 120]
    assert figure.axes[0].get_xlabel() == "Hidden units"
