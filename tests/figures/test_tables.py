"""Tables, perplexity, summary and report captions."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from test_figures import (
    PUBLISHED,
    ROOT,
    SIX,
    TABLE1,
    TABLE2,
    TWO,
    lm,
    response,
    write_delta,
    write_intervals,
)

from project import show
from recency.errors import InputError
from recency.evaluations import summary
from recency.evaluations.reading_times import perplexity, tables_of_fits, tables_of_tests, verdict
from recency.figures import comparison, tables
from table_files import Grid, check_shape

ENDS = (".csv", ".html", ".tex")
NOT_RUN = "dataset,measure,reason\ndundee,,Dundee is not in the mirror\n"


@pytest.mark.parametrize("size", ["paper", "small"])
def test_delta_loglik_beside_published(tmp_path, size):
    lms, responses = (SIX, TWO) if size == "small" else (TABLE2.index, TABLE2.columns[:-1])
    path = write_delta(
        tmp_path / "delta_loglik.csv", lms, responses, unconverged={("Pythia", TWO[0])}
    )
    rows = pd.read_csv(path)
    rows.delta_loglik += 0.5
    rows.to_csv(path, index=False)
    sure = write_intervals(tmp_path / "intervals.csv", list(lms), list(responses))
    show(tables_of_fits.table_delta_loglik, 
        delta_loglik=path, intervals=sure, baseline="Pythia", out=[tmp_path / f"t{end}" for end in ENDS],
        lms=[lm(a) for a in lms], responses=[response(r) for r in responses],
        published=PUBLISHED / "clark2025_table2.csv",
    )  # fmt: skip
    data = pd.read_csv(tmp_path / "t.csv").set_index(["label", "response"])
    single = data.drop(index="Total", level="response")
    assert np.allclose(single.difference, 0.5)
    total = data.loc["ALiBi-mix-TI", "Total"]
    assert total.published == pytest.approx(2553.4 if size == "paper" else 177.1)
    assert total.over_baseline == pytest.approx(404.1 if size == "paper" else 54.0)
    assert total.high_over_baseline - total.low_over_baseline == pytest.approx(40)
    assert data.low.notna().all() and data.low_over_baseline.isna().sum() == len(responses) + 1
    grid = check_shape(tmp_path)
    assert len(grid) == 2 + len(lms)
    assert grid[2][0][0] == "Pythia|95 %|published|difference"
    column = 1 + list(responses).index("Natural Stories SPR")
    assert grid[2][column][0] == "66.5†|36 to 96|66.0|+0.5"
    last = grid[2 + list(lms).index("ALiBi-mix-TI")]
    assert last[0][0] == "ALiBi-mix-TI|95 %, − Pythia|published|difference"
    assert last[column][0] == "109.5|33 to 53|109.0|+0.5"
    # Bold: totals whose interval excludes zero; it is simultaneous for all pairs, ±20 here.
    text = (tmp_path / "t.tex").read_text()
    assert r"\textbf{109.5}" not in text and r"\textbf{66.5" not in text
    assert rf"\textbf{{{total.reproduced:,.1f}}}" in text


def test_a_table_of_19_lms_fits_a_page(tmp_path):
    """It is set small and shrunk to the page; one of hundreds of rows goes on over pages."""
    lms, responses = list(TABLE2.index), list(TABLE2.columns[:-1])
    show(tables_of_fits.table_delta_loglik, 
        delta_loglik=write_delta(tmp_path / "d.csv", lms, responses),
        intervals=write_intervals(tmp_path / "i.csv", lms, responses), baseline="Pythia",
        out=[tmp_path / f"t{end}" for end in ENDS],
        lms=[lm(a) for a in lms], responses=[response(r) for r in responses],
    )  # fmt: skip
    check_shape(tmp_path)
    text, page = (tmp_path / "t.tex").read_text(), (tmp_path / "t.html").read_text()
    assert r"max width=\linewidth, max totalheight" in text and r"\tabcolsep}{3pt}" in text
    assert "class='scroll wide'" in page and "size: A4 landscape" in page
    cells = [[tables.Cell(f"{row}"), tables.Cell("x")] for row in range(200)]
    long = tables.latex(tables.Table("", [[tables.Cell("a"), tables.Cell("b")]], cells, ["so"]))
    assert r"\begin{longtable}" in long and r"\endhead" in long and "adjustbox" not in long
    assert long.count(r" \\") == 201 and long.count("{") == long.count("}")


def test_two_datasets_of_one_label_are_told_apart(tmp_path):
    _, responses = comparison.records(
        [],
        [
            {"dataset": "ucl_spr", "measure": "SPR", "label": "UCL"},
            {"dataset": "ucl_eye_tracking", "measure": "FP", "label": "UCL"},
            {"dataset": "ucl_eye_tracking", "measure": "GP", "label": "UCL"},
            {"dataset": "provo", "measure": "FP", "label": "Provo"},
        ],
    )
    assert comparison.dataset_labels(responses) == {
        "ucl_spr": "UCL (SPR)", "ucl_eye_tracking": "UCL (FP, GP)", "provo": "Provo",
    }  # fmt: skip


def test_published_values_are_found_by_an_lm_s_key(tmp_path):
    """The studies on small networks label Pythia otherwise."""
    path = write_delta(tmp_path / "delta_loglik.csv", SIX, TWO)
    lms = [lm(a) for a in SIX]
    assert [each["lm"] for each in lms if each["label"] == "Pythia"] == ["Pythia"]
    lms[0]["label"] = "no bias"
    show(tables_of_fits.table_delta_loglik, 
        delta_loglik=path, intervals=write_intervals(tmp_path / "i.csv", SIX, TWO),
        out=[tmp_path / f"t{end}" for end in ENDS], lms=lms,
        responses=[response(r) for r in TWO], published=PUBLISHED / "clark2025_table2.csv",
    )  # fmt: skip
    data = pd.read_csv(tmp_path / "t.csv").set_index(["label", "response"])
    assert data.published.notna().all() and np.allclose(data.difference, 0)
    assert list(data.lm.loc["no bias"].unique()) == ["Pythia"]


def test_delta_loglik_without_anything_published(tmp_path):
    path = write_delta(tmp_path / "delta_loglik.csv", SIX, TWO)
    (tmp_path / "not_run.csv").write_text(NOT_RUN)
    show(tables_of_fits.table_delta_loglik, 
        delta_loglik=path, intervals=write_intervals(tmp_path / "i.csv", SIX, TWO),
        out=[tmp_path / f"t{end}" for end in ENDS], lms=[lm(a) for a in SIX],
        responses=[response(r) for r in [*TWO, "Dundee FP"]], not_run=tmp_path / "not_run.csv",
    )  # fmt: skip
    check_shape(tmp_path)
    page = (tmp_path / "t.html").read_text()
    assert "ublished" not in page and "Not run: Dundee FP (Dundee is not in the mirror)." in page


def write_counts(folder, responses, change=0):
    paths = []
    for label in responses:
        row, key = TABLE1.loc[label], response(label)
        path = folder / "observations" / f"{key['dataset']}.{key['measure']}" / "counts.csv"
        path.parent.mkdir(parents=True)
        path.write_text(
            "step,kept,dropped\npresented,999999,\ntimes,900000,99999\n"
            f"fit,{row.fit + change},\nexploratory,{row.exploratory},\nheld_out,{row.held_out},\n"
        )
        paths.append(path)
    return paths


def test_observations_beside_published(tmp_path):
    (tmp_path / "not_run.csv").write_text(NOT_RUN)
    show(tables_of_tests.table_observations, 
        counts=write_counts(tmp_path, TWO, change=-3), out=[tmp_path / f"t{end}" for end in ENDS],
        responses=[response(r) for r in [*TWO, "Dundee FP"]], not_run=tmp_path / "not_run.csv",
        published=PUBLISHED / "clark2025_table1.csv",
    )  # fmt: skip
    rows = check_shape(tmp_path)
    assert [text for text, _ in rows[2][:4]] == ["Natural Stories SPR", "384,902", "384,905", "−3"]
    assert [text for text, _ in rows[4][:4]] == ["Dundee FP", "–", "98,115", "–"]
    assert [text for text, _ in rows[5][:4]] == ["Total", "524,199", "524,205", "−6"]
    assert "Not run: Dundee FP (Dundee" in (tmp_path / "t.html").read_text()
    data = pd.read_csv(tmp_path / "t.csv").set_index(["response", "partition"])
    assert data.difference["UCL SPR", "fit"] == -3


PERMUTATION = """lm_a,lm_b,dataset,measure,n,mse_a,mse_b,difference,p,permutations,p_subject,p_sentence,p_holm,p_observation_anticonservative
ALiBi-mix-TI,Pythia,natural_stories,SPR,192425,9000.5,9001.0,-0.5,0.04,10000,0.04,0.03,0.04,0.02
ALiBi-mix-TI,Pythia,ucl,SPR,69753,9000.5,9001.0,-0.5,0.013,10000,0.012,0.013,0.026,0.007
ALiBi-mix-TI,Pythia,dundee,FP,0,,,,,10000,,,,
ALiBi-mix-TI,Pythia,all,all,262178,10000.1,10020.3,-20.2,0.0002,10000,0.0002,0.0001,0.0002,0.0001
"""


def test_significance(tmp_path):
    (tmp_path / "permutation.csv").write_text(PERMUTATION)
    show(tables_of_tests.table_significance, 
        permutation=tmp_path / "permutation.csv", out=[tmp_path / f"t{end}" for end in ENDS],
        lms=[lm(a) for a in SIX], responses=[response(r) for r in TWO],
    )  # fmt: skip
    rows = [[text for text, _ in row] for row in check_shape(tmp_path)]
    first = ["all responses", "ALiBi-mix-TI", "Pythia", *["< 0.001"] * 4]
    assert rows[1] == [*first, "262,178", "10,000.1", "10,020.3", "−20.20"]
    assert [row[3:7] for row in rows[2:4]] == [
        ["0.040", "0.040", "0.040", "0.030"],
        ["0.013", "0.026", "0.012", "0.013"],
    ]
    assert rows[4][3:] == [*["–"] * 4, "0", *["–"] * 3]
    page = (tmp_path / "t.html").read_text()
    assert "<b>Pythia" not in page and page.count("<b>ALiBi-mix-TI") == 3
    assert (
        "with the standard error by subjects and sentences at once" in page
        and "anticonservative" not in page
    )


def test_nobody_wins_without_significance(tmp_path):
    (tmp_path / "permutation.csv").write_text(PERMUTATION.replace("0.03,0.04,", "0.03,0.051,"))
    show(tables_of_tests.table_significance, 
        permutation=tmp_path / "permutation.csv", out=[tmp_path / f"t{end}" for end in ENDS],
        lms=[lm(a) for a in SIX], responses=[response(r) for r in TWO],
    )  # fmt: skip
    check_shape(tmp_path)
    assert (tmp_path / "t.html").read_text().count("<b>ALiBi-mix-TI") == 2


def write_surprisal(folder, name, dataset, bits, tokens):
    path = folder / "surprisal" / name / f"{dataset}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = pd.DataFrame({"surprisal_bits": bits, "tokens": np.array(tokens, "int32")})
    rows.assign(corrected_bits=np.nan, context_tokens=0).to_parquet(path)
    return path


def test_perplexity_is_per_token_where_all_have_as_many(tmp_path):
    """Per word where tokens are other ones, and where they are words; a word less is said."""
    words = {"a": [8.0, 4.0], "b": [6.0, 6.0], "c": [np.nan, 4.0]}

    def found(tokens, names="ab"):
        paths = [write_surprisal(tmp_path, n, "ucl", words[n], tokens[n]) for n in names]
        perplexity.main(surprisal=paths, lms=[lm(n) for n in names], out=tmp_path / "p.csv")
        rows, unit, said = perplexity.compared(tmp_path / "p.csv")
        return rows[rows.dataset == "all"].perplexity.tolist(), unit, said

    assert found({"a": [2, 1], "b": [1, 2]}) == ([16.0, 16.0], "token", [])
    assert found({"a": [1, 1], "b": [1, 1]}) == ([64.0, 64.0], "word", [])
    other, unit, said = found({"a": [2, 1], "b": [2, 2]})
    assert (other, unit) == ([64.0, 64.0], "word") and "tokenizers differ" in said[0]
    _, unit, said = found({"a": [1, 1], "b": [1, 1], "c": [1, 1]}, "abc")
    assert unit == "word" and said[-1] == "perplexity of c: over 1 of 2 words"


def test_perplexity(tmp_path):
    paths = [
        write_surprisal(tmp_path, "Pythia", "ucl", [np.nan, 8.0, 4.0], [1, 2, 1]),
        write_surprisal(tmp_path, "Pythia", "brown", [1.0], [1]),
    ]
    out = tmp_path / "perplexity.csv"
    perplexity.main(surprisal=paths, lms=[lm("Pythia")], out=out)
    rows = pd.read_csv(out).set_index("dataset")
    assert list(rows.index) == ["brown", "ucl", "all"]
    assert rows.tokens.tolist() == [1, 3, 4] and rows.perplexity.tolist() == [2.0, 16.0, 2**3.25]
    assert rows.words.tolist() == [1, 2, 3]
    assert rows.word_perplexity.tolist() == [2.0, 64.0, 2 ** (13 / 3)]
    paths.append(write_surprisal(tmp_path, "dVM-I", "ucl", [1.0], [1]))
    with pytest.raises(InputError, match="no surprisal of dVM-I for brown"):
        perplexity.main(surprisal=paths, lms=[lm("Pythia"), lm("dVM-I")], out=out)
    write_surprisal(tmp_path, "Pythia", "ucl", [np.inf], [1])
    with pytest.raises(InputError, match="infinite surprisal_bits"):
        perplexity.main(surprisal=paths[:2], lms=[lm("Pythia")], out=out)


def run_summary(folder, **changes):
    experiment = folder / "experiments" / "exp2"
    experiment.mkdir(parents=True)
    write_delta(experiment / "delta_loglik.csv", SIX, TWO)
    write_intervals(experiment / "intervals.csv", SIX, TWO)
    (experiment / "permutation.csv").write_text(changes.pop("permutation", PERMUTATION))
    (folder / "not_run.csv").write_text(NOT_RUN)
    described = {
        "experiment": "exp2", "title": "Experiment 2", "lms": [lm(a) for a in SIX],
        "responses": [response(r) for r in [*TWO, "Dundee FP"]], "baseline": "Pythia",
    } | changes  # fmt: skip
    asked = {key: described[key] for key in ("lms", "responses", "baseline")}
    show(verdict.main, 
        delta_loglik=experiment / "delta_loglik.csv", intervals=experiment / "intervals.csv",
        permutation=experiment / "permutation.csv", out=experiment / "verdict.json",
        baselines={lm(a)["lm"]: "Pythia" for a in SIX}, not_run=folder / "not_run.csv", **asked,
    )  # fmt: skip
    summary.main(
        experiments=[described], delta_loglik=[experiment / "delta_loglik.csv"],
        intervals=[experiment / "intervals.csv"], verdicts=[experiment / "verdict.json"],
        counts=write_counts(folder, TWO),
        not_run=folder / "not_run.csv", text=folder / "s.txt", html=folder / "s.html",
        study="demo", files={"report": "results/demo/report.html"}, notes=["Simulated."],
    )  # fmt: skip
    return (folder / "s.txt").read_text()


def test_summary_begins_with_the_verdict(tmp_path):
    text = run_summary(tmp_path)
    flat = " ".join(text.split())
    assert flat.startswith(
        "ALiBi-mix-TI predicts better than Pythia: +54 nats (95 % CI 34 to 74, simultaneous). The held-out "
        "test agrees (p < .001). Not shown: that ALiBi-mix-TI predicts better than ALiBi-1/4-TI."
    )
    assert (
        "In full: ALiBi-mix-TI is ahead of Pythia by 54 nats in 2 responses (95 % interval" in flat
    )
    assert "Simulated." in flat
    ranks = [line.split() for line in text.splitlines() if line[:3].strip().isdigit()]
    totals = TABLE2.loc[SIX, TWO].sum(axis=1).sort_values(ascending=False, kind="stable")
    assert [line[1] for line in ranks] == list(totals.index)
    assert " ".join(ranks[0]) == (
        "1 ALiBi-mix-TI 177.1 147 to 207 +54.0 34 to 74 < 0.001 < 0.001 leads a"
    )
    assert " ".join(ranks[-1][1:3]) == "ALiBi-mix-I 105.2"
    for part in ("139,300", "70,239", "69,753", "not run: Dundee FP", "results/demo/report.html"):
        assert part in text
    assert "eld-out p: t test against" in (tmp_path / "s.html").read_text()
    assert "+43.0 (33 to 53)" in text and "66.0 (36 to 96)" in text
    assert max(map(len, text.splitlines())) <= summary.WIDTH
    page = (tmp_path / "s.html").read_text()
    assert not Grid(page).open
    assert page.index("predicts better than Pythia: +54 nats") < page.index("Study: demo")


def test_summary_tells_what_was_compared_by_aic(tmp_path):
    path = tmp_path / "aic" / "table_delta_aic.csv"
    path.parent.mkdir()
    path.write_text(
        "label,response,n,delta_aic\n"
        "gpt2,Provo FP,2659,0.0\ngpt2-dVM,Provo FP,2659,-13.72\n"
        "gpt2,UCL FP,1726,0.0\ngpt2-dVM,UCL FP,1726,\n"
    )
    (tmp_path / "not_run.csv").write_text("dataset,measure,reason\n")
    summary.main(
        experiments=[], delta_loglik=[], intervals=[], verdicts=[], counts=[], others=[path],
        sections=[{"module": "item_means.view", "function": "summary", "heading": "Means"}], not_run=tmp_path / "not_run.csv", text=tmp_path / "s.txt",
        html=tmp_path / "s.html", study="demo", files={},
    )  # fmt: skip
    lines = [line.split() for line in (tmp_path / "s.txt").read_text().splitlines()]
    assert ["Means"] in lines and ["words", "2,659", "1,726"] in lines
    assert ["gpt2-dVM", "\N{MINUS SIGN}13.72", "\N{EN DASH}"] in lines
    assert not any(line[:1] == ["gpt2"] for line in lines)


def test_latex_is_escaped():
    assert tables.tex("a_b & 5% −1 < 2") == r"a\_b \& 5\% $-$1 $<$ 2"


def test_unknown_ending(tmp_path):
    with pytest.raises(InputError, match="written as"):
        tables.write(
            [tmp_path / "t.doc"], tables.Table("", [[tables.Cell()]], [], []), pd.DataFrame()
        )


CONFIG = {
    "study": "demo", "scale": "demo", "run": ["exp2"],
    "scales": {"demo": {
        "label": "minutes", "note": "Networks are small.", "architecture": "small", "corpus": "made", "recipe": "short",
        "tokenizer": "own", "unigram": "made"}},
    "corpora": {"made": {"label": "made text"}}, "recipes": {"short": {"steps": 1000}},
    "unigrams": {"made": {"corpus": "made"}},
    "lms": {"Pythia": {"label": "no bias"}, "ALiBi-1_4-TI": {}, "gpt2": {}},
    "datasets": {
        "ucl": {"label": "UCL", "cite": "Frank et al. (2013)", "licence": "CC BY-NC-SA 4.0"},
        "made": {"label": "Made up", "simulate": {"reader": "ALiBi-mix-TI"}}},
    "experiments": {
        "exp2": {"title": "Experiment 2", "lms": ["Pythia", "ALiBi-1_4-TI"], "baseline": "Pythia",
                 "responses": {"spr": ["ucl.SPR", "made.SPR"]}, "published": "clark2025_table2",
                 "minimal_pairs": "blimp", "perplexity": {"curves": {"x": "Window"}}, "probe": "ewt", "attention": "ucl",
                 "measured_memory": {"dataset": "ucl"}, "context_information": {"dataset": "ucl"}, "temporal_correlation": {"dataset": "ucl"},
                 "triggering": {"corpus": "made", "pairs": [["she", "she"]]},
                 "maze": {"dataset": "ucl"},
                 "word_length": {"dataset": "ucl"}, "conditions": {"dataset": "ucl", "measure": "SPR", "fillers": "ucl.FP"},
                 "length": {"corpus": "made"}, "contrasts": {"dataset": "ucl"}, "rank_metrics": {"dataset": "ucl"}, "abusive_words": {"lexicon": "words"},
                 "attention_maps": {"sentence": "kettle", "lms": ["Pythia"], "layers": 2}},
        "exp3": {"title": "Experiment 3", "lms": [], "baseline": "", "responses": {}}},
    "designs": {"spr": {"engine": "ols"}},
    "lexicons": {"words": {"label": "Words"}}, "searches": {"dVM": {"lm": "gpt2", "form": "exponential"}},
    "minimal_pairs": {"blimp": {"label": "BLiMP", "cite": "Warstadt et al. (2020)"}},
    "treebanks": {"ewt": {"label": "EWT"}}, "sentences": {"kettle": "The kettle sang ."},
    "not_run": {"ucl": "UCL is not in the mirror"},
    "other_data": [{"label": "BLiMP", "kind": "minimal pairs", "cite": "Warstadt et al. (2020)",
                   "licence": None, "reason": "BLiMP is not here"}],
}  # fmt: skip


CAPTIONS = [*ROOT.glob("workflow/report/*.rst"), *ROOT.glob("src/recency/evaluations/*/*.rst")]


@pytest.mark.merge
@pytest.mark.parametrize("caption", sorted(CAPTIONS), ids=lambda p: p.stem)
def test_captions_render(caption):
    """As Snakemake renders them: Jinja, then docutils, here with warnings as errors."""
    jinja2, docutils = pytest.importorskip("jinja2"), pytest.importorskip("docutils.core")
    snakemake = SimpleNamespace(
        config=CONFIG, wildcards=SimpleNamespace(
            experiment="exp2", dataset="ucl", measure="SPR", design="spr", lm="Pythia", search="dVM"
        ),
        params=SimpleNamespace(responses=[response("UCL SPR")]),
    )  # fmt: skip
    for files in ([], [SimpleNamespace(target="summary.html")]):
        text = (
            jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
            .from_string(caption.read_text())
            .render(snakemake=snakemake, files=files, categories={})
        )
        text += "\n\n.. _summary.html: javascript:show()\n" if files else ""
        strict = {"halt_level": 2, "report_level": 2}
        page = docutils.publish_parts(text, writer="html", settings_overrides=strict)["html_body"]
        assert "{" not in page and "undefined" not in page.lower()
    if caption.stem == "workflow":
        said = ("Made up", "are simulated", "UCL is not in the mirror", "BLiMP is not here")
        for text in (*said, "1,000", "Networks are small.", "2 language models, baseline no bias"):
            assert text in page
        assert "Experiment 3" not in page  # which the run did not select
