"""The methods section: its numbers are those of the files, its references are cited, its markup is escaped."""

import json
import re

import pytest
import yaml

from recency.evaluations.report import methods

CELLS = [
    {"lm": "a", "label": "A", "dataset": "d", "measure": "FP", "design": "x"},
    {"lm": "b", "label": "B_1", "dataset": "d", "measure": "FP", "design": "x"},
]
ABOUT = {
    "title": "Which LM?",
    "responses": [
        {
            "label": "Corpus & Co", "dataset": "d", "measure": "FP", "design": "x", "cite": "Ng & Wu (2013a)",
            "filters": {"times": "100 < time_ms"}, "simulated": False, "partitioned": True, "accepted": [],
        },
        {
            "label": "Gone", "dataset": "e", "measure": "SPR", "design": "x", "cite": "", "filters": {},
            "simulated": True, "partitioned": True, "accepted": ["It is accepted."],
        },
    ],
    "training": ["Networks were trained on text."],
    "lms": [
        {"label": "A", "bias": "", "source": "text, 10 tokens"},
        {"label": "B_1", "bias": "linear (slopes 1)", "source": "text, 10 tokens"},
    ],
    "biased": ["ALiBi: a = 1, b = m_h (j - i)"],
    "seeds": [1, 2],
    "surprisal": "Surprisal is in bits.",
    "designs": {"x": {"kind": "Linear mixed models", "formula": "time_ms ~ 1 + surprisal", "settings": "Scaled."}},
    "endpoint": "crossed",
    "draws": 321,
    "units": "items",
    "unasked": "",
    "networks": True,
    "ngrams": False,
    "unigram": "text",
}  # fmt: skip
COUNTS = "step,kept,dropped\npresented,12345,0\ntimes,11222,1123\nfit,5611,\nexploratory,2805,\nheld_out,2806,\n"


def fit(**changed):
    return {
        "fixed": [{"term": "surprisal"}], "formula": "time_ms ~ 1 + surprisal", "converged": True, "singular": False,
        "note": "", "n": {"fit": 5611, "subjects": 48, "sentences": 205}, "checks": [{"by": "search"}],
    } | changed  # fmt: skip


def write(folder, fits, **about):
    """Write a methods section; return its Markdown, LaTeX and references."""
    (folder / "d.FP").mkdir(exist_ok=True)
    (folder / "d.FP" / "counts.csv").write_text(COUNTS)
    paths = [folder / f"{n}.json" for n in range(len(fits))]
    for path, record in zip(paths, fits, strict=True):
        path.write_text(json.dumps(record))
    verdict = {
        "described": " relative to a baseline model", "pairs": [{"by": "crossed_items", "p": 0.02}],
        "ranking": [{"delta_loglik": {"by": "crossed_items"}}, {"delta_loglik": None}],
        "brief": ["A leads.", "B agrees."], "smallest_effect": {"stated": {"relative": 0.1}, "nats": 7.25}, "baseline": "A", "rule": "A leads B if so",
    }  # fmt: skip
    (folder / "verdict.json").write_text(json.dumps(verdict))
    out = [folder / f"methods.{end}" for end in ("md", "tex", "bib", "qmd", "R")]
    methods.main(
        fits=paths, counts=[folder / "d.FP" / "counts.csv"], verdict=folder / "verdict.json", out=out,
        cells=CELLS, about=ABOUT | about,
    )  # fmt: skip
    return [path.read_text() for path in out[:3]]


def test_a_paper_includes_verdict_figure_and_methods(tmp_path):
    write(tmp_path, [fit(), fit()])
    head, _, body = (tmp_path / "methods.qmd").read_text().partition("---\n")[2].partition("---\n")
    assert yaml.safe_load(head)["title"] == "Which LM?"
    assert "A leads. B agrees." in body and "](figure_delta_loglik.png)" in body
    assert "{{< include methods.md >}}" in body


def test_numbers_are_those_of_the_files(tmp_path):
    text, _, _ = write(tmp_path, [fit(), fit(checks=[{"by": "lme4"}])])
    assert "FP: 12,345 observations, 11,222 after each filter in turn" in text
    assert "5,611 fit, 2,805 exploratory and 2,806 held-out" in text
    assert "5,611 observations of 48 subjects and 205 sentences" in text
    assert (
        "Corpus & Co (Ng & Wu, 2013a): first pass (FP)." in text
        and "`100 < time_ms` (times)" in text
    )
    assert "Gone: " in text and "SPR was not analysed" in text and "It is accepted." in text
    assert "321 draws, subjects and items are resampled" in text
    assert (
        "10 % of the ΔLogLik of A (7.2 nats). A leads B if so.\n" in text
        and "2 seeds (1, 2)" in text
    )
    assert "1 of 2 fits were confirmed by lme4 (Bates et al., 2015)" in text
    assert "Of 2 fits, 0 are singular" in text
    assert "Unigram surprisal" not in text and "standard error by subjects and items" in text
    frequency = fit(formula="time_ms ~ 1 + unigram + surprisal")
    assert "Unigram surprisal is estimated from text." in write(tmp_path, [frequency, fit()])[0]


def test_fits_that_failed_or_did_not_converge_are_named(tmp_path):
    text, _, _ = write(tmp_path, [fit(converged=False, note="slow"), fit(fixed=[], note="rank")])
    assert "1 did not converge and 1 failed" in text
    assert "These did not converge: A on d FP." in text and "These failed: B_1 on d FP." in text
    assert "Notes of the fits: rank; slow." in text


def test_every_citation_has_its_reference(tmp_path):
    text, tex, bib = write(tmp_path, [fit(), fit(checks=[{"by": "lme4"}])])
    keys = re.findall(r"@\w+\{(\w+),", bib)
    assert set(re.findall(r"\\citep\{(\w+)\}", tex)) == set(keys) and "bates2015" in keys
    assert "heafield2013" not in keys and "[" not in tex
    for key in keys:
        assert methods.SHORT[key] in text
    assert bib.count("{") == bib.count("}")
    _, _, without = write(tmp_path, [fit(), fit()], networks=False, ngrams=True)
    assert "bates2015" not in without and "paszke2019" not in without and "heafield2013" in without


def test_latex_has_no_character_that_it_would_interpret(tmp_path):
    _, tex, _ = write(tmp_path, [fit(), fit()])
    assert r"Corpus \& Co" in tex and r"B\_1" in tex and r"10 \% of the $\Delta$LogLik" in tex
    assert r"\texttt{time\_ms \textasciitilde{} 1 + surprisal}" in tex
    inside = re.sub(r"\\[a-z]+\*?|\\[#$%&_{}]|\$[^$]*\$", "", tex.partition("\n")[2])
    assert not set(inside) & set("\\#$%&_^")


@pytest.mark.parametrize("name", sorted(methods.REFERENCES))
def test_references_have_a_title_and_a_year(name):
    assert methods._title_of(name) and methods.SHORT[name][-4:] in methods.REFERENCES[name]
