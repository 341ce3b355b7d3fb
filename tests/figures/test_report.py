"""The report's page: what stands on it and in which order, 19 LMs on a screen, hostile labels."""

import html
import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from test_figures import PUBLISHED, TABLE2, lm, response, write_delta, write_intervals
from test_tables import write_counts

from browsing import browser, check_layout, drawn_by_page, printed, walked  # noqa: F401, a fixture
from project import show
from recency.evaluations.reading_times import (
    figure_delta_loglik,
    tables_of_fits,
    tables_of_tests,
    verdict,
)
from recency.evaluations.report import answer, page, prose
from recency.figures import tables
from table_files import Grid

HOSTILE = (
    "<script>window.hostile = 1</script><img src=x onerror='parent.hostile = 1'> .. raw:: html\n\n"
    "   <b onclick='hostile()'>\n\n.. include:: /etc/passwd\n\n`x <javascript:alert(1)>`_ & **bold**"
)


def permutation_of(lms, responses):
    """Return a permutation.csv: every LM against Pythia, on all responses and on each."""
    rows = []
    for where in [("all", "all"), *((r["dataset"], r["measure"]) for r in responses)]:
        for each in lms[1:]:
            row = {"lm_a": each["lm"], "lm_b": "Pythia", "dataset": where[0], "measure": where[1]}
            row |= {"n": 192425, "mse_a": 19000.5, "mse_b": 19001.0, "difference": -0.5, "p": 0.04}
            rows.append(
                row | {"p_subject": 0.04, "p_sentence": 0.03, "p_holm": 0.4, "permutations": 1000}
            )
    return pd.DataFrame(rows)


def report(folder, names, measures, change=lambda text: text, experiments=1):
    """Make the report of experiments with Table 2's values, labels changed by `change`."""
    lms = [{**lm(name), "label": change(name)} for name in names]
    responses = [response(each) for each in measures]
    shown, verdicts, described = [], [], []
    for number in range(experiments):
        where = folder / "experiments" / f"exp{number + 1}"
        where.mkdir(parents=True)
        some = lms[: len(lms) - experiments + number + 1]
        asked = {"lms": some, "responses": responses, "baseline": "Pythia"}
        files = {
            "delta_loglik": write_delta(where / "delta_loglik.csv", names, measures),
            "intervals": write_intervals(where / "i.csv", names, measures),
        }
        permutation_of(some, responses).to_csv(where / "permutation.csv", index=False)
        figures = {
            k: [where / f"{stem}.svg"]
            for k, stem in (
                ("total", "figure_a"),
                ("by_response", "figure_b"),
                ("difference", "figure_c"),
            )
        }
        show(figure_delta_loglik.main, **files, **figures, **asked)
        show(tables_of_fits.table_delta_loglik, **files, out=[where / "table_a.html"], **asked)
        show(
            tables_of_tests.table_significance,
            permutation=where / "permutation.csv",
            out=[where / "table_b.html"],
            lms=some,
            responses=responses,
        )
        show(
            tables_of_tests.table_observations,
            counts=write_counts(where, measures),
            out=[where / "table_c.html"],
            responses=responses,
            published=PUBLISHED / "clark2025_table1.csv",
        )
        show(verdict.main, 
            **files, **asked, permutation=where / "permutation.csv", out=where / "verdict.json",
            baselines={each["lm"]: "Pythia" for each in some},
        )  # fmt: skip
        names_of = ["figure_a.svg", "table_a.html", "table_b.html", "figure_b.svg", "table_c.html"]
        shown += [where / name for name in names_of]
        verdicts.append(where / "verdict.json")
        title = change(f"Experiment {number + 1}")
        captions = [
            {"title": f"{name} of it", "caption": f"**{prose.plain(title)}.** Of {name}."}
            for name in names_of
        ]
        described.append({"title": title, "ranked": True, "shown": captions, "summaries": []})
    (folder / "not_run.csv").write_text(
        "dataset,measure,reason\ndundee,FP,not placed\ndundee,SP,not placed\n"
    )
    (folder / "check.html").write_text("<p>looked over</p>")
    page.main(
        out=folder / "report.html", shown=shown, verdicts=verdicts, others=[], experiments=described,
        not_run=folder / "not_run.csv", study=change("demo"), notes=[change("Simulated.")],
        corpora=[{
            "dataset": "ucl", "label": change("UCL"), "measures": "SPR", "check": "check.html",
            "cite": change("Frank 2013"), "licence": change("free"),
        }],
        made=[("Scale", change("cores"))], labels={"dundee": change("Dundee")},
        lms=[(each["label"], "linear", "https://example.org/" + "x" * 80) for each in lms],
    )  # fmt: skip
    return folder / "report.html"


@pytest.mark.merge
def test_the_answer_comes_first_and_what_was_not_run_last(tmp_path):
    names, measures = list(TABLE2.index), list(TABLE2.columns[:3])
    made = report(tmp_path, names[:7], measures, experiments=2)
    text = made.read_text()
    assert not Grid(re.sub(r"<(img|meta)[^>]*>", "", text)).open
    flat = " ".join(re.sub(r"<[^>]+>", " ", text[text.index("</nav>") :]).split())
    (title,) = re.findall("<h1>(.*?)</h1>", text)
    assert title == "<a href='#experiment-2'>Experiment 2</a>"  # that with more LMs
    order = ["Study ", "ahead of Pythia", "Held-out p", "Experiment 2 The results are",
             "Experiment 2. Of figure_a", "How it was made", "Frank 2013", "Not run Dataset"]  # fmt: skip
    places = [flat.rindex(part) if n > 3 else flat.index(part) for n, part in enumerate(order)]
    assert places == sorted(places)
    assert flat.index("Dundee FP, SP not placed") == flat.rindex("Dundee") > places[-1]
    # The one with more LMs answers; its ranking begins with name, group and tests.
    ranking = Grid(text[text.index("<table>") : text.index("</table>") + 8]).rows
    heads = [cell[0] for cell in ranking[0]]
    assert heads == ["LM", "Group", "Claim", "p", "Holm", "− Pythia", "95 %", "ΔLogLik", "95 %"]
    totals = TABLE2.loc[names[:7], measures].sum(axis=1).sort_values(ascending=False, kind="stable")
    assert [row[0][0] for row in ranking[1:]] == list(totals.index)
    best = totals.index[0]
    row = [cell[0] for cell in ranking[1]]
    assert row[2:5] == ["leads", "0.040", "0.400"]
    assert row[5] == f"+{totals[best] - totals['Pythia']:.1f}" and row[7] == f"{totals[best]:,.1f}"
    first = made.read_bytes()
    (tmp_path / "again").mkdir()
    assert report(tmp_path / "again", names[:7], measures, experiments=2).read_bytes() == first


def test_the_effect_of_the_best_lm_is_told_in_the_readers_unit(tmp_path):
    path = tmp_path / "table_effects.csv"
    rows = [("b", f"R{n}", "surprisal", "ms per bit", 3.264 + n, 2.73, 3.8) for n in range(6)]
    rows += [
        ("b", "R0", "previous_surprisal", "ms per bit", 99, 98, 100),
        ("a", "R0", "surprisal", "ms per bit", 88, 87, 89),
    ]
    names = ["lm", "response", "term", "unit", "estimate", "low", "high"]
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    told = answer.effects(
        {"ranking": [{"lm": "b", "label": "B<1>"}, {"lm": "a", "label": "A"}]}, path
    )
    assert (
        "Effect of B&lt;1&gt;'s surprisal (95 %): R0 +3.26 ms per bit (2.73 to 3.80); R1 +4.26"
        in told
    )
    assert "; 2 more in table_effects" in told and "99" not in told and "88" not in told
    assert (
        answer.effects({"ranking": []}, path)
        == answer.effects({"ranking": [{"lm": "c", "label": "C"}]}, path)
        == ""
    )


class Tags(HTMLParser):
    """Reads a page's tags and (attribute, value) pairs."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes


def test_labels_are_text(tmp_path):
    made = report(
        tmp_path, list(TABLE2.index[:4]), list(TABLE2.columns[:2]), lambda text: f"{text} {HOSTILE}"
    )
    text = made.read_text()
    seen = Tags(text)
    assert "root:" not in text and {"script", "iframe", "object"} & set(seen.tags) == set()
    assert not any(name.startswith("on") for name, _ in seen.attributes)
    addresses = [value for name, value in seen.attributes if name in ("href", "src")]
    assert all(each.startswith(("#", "./", "data:image/svg+xml;base64,")) for each in addresses)
    assert html.escape("<script>window.hostile = 1</script>") in text
    assert ("http-equiv", "Content-Security-Policy") in seen.attributes
    assert ("content", tables.POLICY) in seen.attributes and "script" not in tables.POLICY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**a** *b c* ``d`` 2*3*4", "<p><b>a</b> <i>b c</i> <code>d</code> 2*3*4</p>"),
        (".. raw:: html\n\n   <b>x</b>", "<p>.. raw:: html</p>\n<p>&lt;b&gt;x&lt;/b&gt;</p>"),
        ("of:\n\n- one\n  more\n- two", "<p>of:</p>\n<ul><li>one more</li><li>two</li></ul>"),
        (f"**{prose.plain('a**b`c')}**", "<p><b>a**b`c</b></p>"),
    ],
)
def test_captions(text, expected):
    assert prose.paragraphs(text) == expected


@pytest.mark.merge
@pytest.mark.parametrize(
    ("lms", "responses", "change"),
    [(19, 13, str), (6, 2, lambda text: f"{text} {HOSTILE}")],
    ids=["19 LMs on 13 responses", "hostile labels"],
)
def test_no_column_is_cut(browser, tmp_path, lms, responses, change):  # noqa: F811
    made = report(tmp_path, list(TABLE2.index[:lms]), list(TABLE2.columns[:responses]), change)
    shown = walked(browser, made, tmp_path)
    if change is str:
        check_layout(shown)
    for name, seen in shown.items():
        assert seen["wide"] <= 0 and not seen["hostile"] and seen["other"] == 0
        assert seen["cut"] == [] or name == "phone"
        assert HOSTILE[:30] in seen["text"] or change is str
    pdf = printed(browser, made, tmp_path)
    sheets = re.findall(rb"/MediaBox \[0 0 (\d+)\S* (\d+)", pdf)
    assert len(sheets) > 1 and set(sheets) == {(b"841", b"594")}  # A4 across
    drawn = drawn_by_page(pdf)
    assert len(drawn) == len(sheets)
    if change is str:
        assert min(drawn[:-1]) > 10_000, drawn  # no page is nearly empty
