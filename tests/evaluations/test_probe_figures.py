"""Figure and table of the structural probe."""

import numpy as np
import pandas as pd
import pytest

from project import show
from recency.evaluations.probe import view
from recency.figures import comparison, style

LMS = [
    {"lm": "GPT-2", "label": "GPT-2", "bias": {"form": "none"}, "applied": "none"},
    {
        "lm": "w4",
        "label": "window 4",
        "bias": {"form": "window", "width": 4},
        "applied": "training",
    },
    {
        "lm": "w9",
        "label": "window 9",
        "bias": {"form": "window", "width": 9},
        "applied": "training",
    },
]
RELATIONS = ["nsubj", "obj", "iobj"]


def probe_of(path, best, layers=3, untrained=True):
    """Write a table whose layer `best` has the lowest loss, and not the highest UUAS."""
    rows = []
    networks = [("adjacent words", [np.nan])] + [("trained", range(layers + 1))]
    networks += [("untrained", range(layers + 1))] if untrained else []
    for network, own in networks:
        for layer in own:
            base = {"adjacent words": 0.4, "trained": 0.5, "untrained": 0.45}[network]
            uuas = base if np.isnan(layer) else base + layer / 50
            loss = np.nan if np.isnan(layer) else 1 + abs(layer - best)
            rows.append((network, layer, "all", 90, uuas, uuas + 0.1, loss, 9))
            for relation, n in (("nsubj", 50), ("obj", 30), ("nsubj:pass", 10)):
                rows.append((network, layer, relation, n, uuas - 0.1, np.nan, np.nan, np.nan))
    table = pd.DataFrame(rows, columns=view.COLUMNS)
    table.astype({"layer": "Int64", "epochs": "Int64"}).to_csv(path, index=False)
    return path


def files(folder):
    return [probe_of(folder / f"{each['lm']}.csv", best) for each, best in zip(LMS, (2, 0, 3))]


@pytest.mark.merge
def test_every_lm_has_a_line_of_its_own(tmp_path):
    out = [tmp_path / f"f.{ending}" for ending in ("svg", "pdf", "png", "csv")]
    show(
        view.figure_probe,
        probes=files(tmp_path),
        out=out,
        lms=LMS,
        baseline="GPT-2",
        relations=RELATIONS,
    )
    assert len(pd.read_csv(tmp_path / "f.csv")) == 3 * 9 * 4
    models, _ = comparison.records(LMS, [])
    rows = view.read(files(tmp_path), models)
    said = view.sentences(rows, RELATIONS)
    assert said[-1] == "The treebank's test split has no edge iobj"
    with style.use():
        figure = view.draw(rows, models, "GPT-2", RELATIONS, said)
    axes = [each for part in figure.subfigs for each in part.axes]
    titles = [each.get_title() for each in axes]
    assert titles == ["UUAS (n = 90)", "Spearman of distances", "nsubj (n = 50)", "obj (n = 30)"]
    lines = {line.get_label(): line for line in axes[0].lines}
    labels = [each["label"] for each in LMS]
    assert set(lines) == {*labels, *(f"{each}, untrained" for each in labels), "adjacent words"}
    assert len({lines[each].get_color() for each in labels}) == 3  # one kind of bias, two shades
    assert lines["window 9"].get_color() == lines["window 9, untrained"].get_color()
    assert lines["GPT-2"].get_linewidth() > lines["window 4"].get_linewidth()
    np.testing.assert_allclose(lines["window 4"].get_ydata(), 0.5 + np.arange(4) / 50)
    np.testing.assert_allclose(lines["GPT-2, untrained"].get_ydata(), 0.45 + np.arange(4) / 50)
    np.testing.assert_allclose(lines["adjacent words"].get_ydata(), 0.4)
    np.testing.assert_allclose(axes[2].lines[0].get_ydata(), 0.4 + np.arange(4) / 50)


def test_the_table_shows_the_layer_that_dev_chooses(tmp_path):
    out = [tmp_path / f"t.{ending}" for ending in ("csv", "html", "tex")]
    show(view.table_probe, probes=files(tmp_path), out=out, lms=LMS, relations=RELATIONS)
    page = (tmp_path / "t.html").read_text()
    row = "<td><b>{}</b></td><td>{}</td><td><b>{}</b></td><td>{}</td><td>{}</td><td>{}</td>"
    for label, layer, uuas in (("GPT-2", 2, 54), ("window 4", 0, 50), ("window 9", 3, 56)):
        shares = (f"{uuas}.0", f"0.{uuas + 10}0", f"{uuas - 10}.0", f"{uuas - 10}.0")
        assert row.format(label, layer, *shares).replace("<td>", "").replace("</td>", "") in (
            page.replace(" class='text'", "").replace("<td>", "").replace("</td>", "")
        )
    assert "GPT-2, embeddings" in page and "GPT-2, untrained" in page
    assert "window 4, embeddings" not in page  # its best layer is the embeddings
    assert "iobj" not in page and "adjacent words" in page
    data = pd.read_csv(tmp_path / "t.csv")
    best = data[data.best & (data.relation == "all")]
    assert dict(zip(best.lm, best.layer)) == {"GPT-2": 2, "w4": 0, "w9": 3}
    alone = [probe_of(tmp_path / "a.csv", 1, untrained=False)]
    show(view.table_probe, probes=alone, out=out, lms=LMS[:1], relations=RELATIONS)
    assert "untrained<" not in (tmp_path / "t.html").read_text()
