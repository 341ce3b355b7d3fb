"""Rule methods: an experiment's methods section, every number of which is from the run's own files.

Texts are lists of paragraphs; `code` in backticks is the only markup. They are written as Markdown, LaTeX
and, where pandoc is installed, as a Word file.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pandas as pd

from readingtimes.files import atomic
from readingtimes.measures import MEASURES
from recency.endpoints import CROSSED
from recency.evaluations.reading_times.verdict import join_names
from recency.figures import comparison
from recency.figures.intervals import clusters
from recency.figures.paths import File, Files

Section = tuple[str, list[str]]
"""A heading and its paragraphs."""

#: Steps in counts.csv that are not filters.
PARTITIONS = ("fit", "exploratory", "held_out")
#: Key → entry of references.bib: what every study uses, or one with networks, n-grams or mixed models.
REFERENCES = {
    "bates2015": '@article{bates2015, author = {Bates, Douglas and M{\\"a}chler, Martin and Bolker, Ben and Walker, Steve}, title = {Fitting linear mixed-effects models using lme4}, journal = {Journal of Statistical Software}, year = {2015}, volume = {67}, number = {1}, pages = {1--48}}',
    "cameron2011": "@article{cameron2011, author = {Cameron, A. Colin and Gelbach, Jonah B. and Miller, Douglas L.}, title = {Robust inference with multiway clustering}, journal = {Journal of Business \\& Economic Statistics}, year = {2011}, volume = {29}, pages = {238--249}}",
    "romano2005": "@article{romano2005, author = {Romano, Joseph P. and Wolf, Michael}, title = {Exact and approximate stepdown methods for multiple hypothesis testing}, journal = {Journal of the American Statistical Association}, year = {2005}, volume = {100}, pages = {94--108}}",
    "paszke2019": "@inproceedings{paszke2019, author = {Paszke, Adam and others}, title = {{PyTorch}: An imperative style, high-performance deep learning library}, booktitle = {Advances in Neural Information Processing Systems 32}, year = {2019}}",
    "wolf2020": "@inproceedings{wolf2020, author = {Wolf, Thomas and others}, title = {Transformers: State-of-the-art natural language processing}, booktitle = {Proceedings of EMNLP: System Demonstrations}, year = {2020}, pages = {38--45}}",
    "heafield2013": "@inproceedings{heafield2013, author = {Heafield, Kenneth and Pouzyrevsky, Ivan and Clark, Jonathan H. and Koehn, Philipp}, title = {Scalable modified {Kneser-Ney} language model estimation}, booktitle = {Proceedings of ACL}, year = {2013}, pages = {690--696}}",
    "molder2021": '@article{molder2021, author = {M{\\"o}lder, Felix and others}, title = {Sustainable data analysis with {Snakemake}}, journal = {F1000Research}, year = {2021}, volume = {10}, number = {33}}',
}
SHORT = {
    "bates2015": "Bates et al., 2015",
    "cameron2011": "Cameron, Gelbach & Miller, 2011",
    "romano2005": "Romano & Wolf, 2005",
    "paszke2019": "Paszke et al., 2019",
    "wolf2020": "Wolf et al., 2020",
    "heafield2013": "Heafield et al., 2013",
    "molder2021": "Mölder et al., 2021",
}


def main(
    *,
    fits: Files,
    counts: Files,
    verdict: File,
    out: Files,
    cells: Sequence[Mapping],
    about: Mapping,
) -> None:
    """Write the methods section of an experiment to `out` (.md, .tex, .bib), and what goes with it into a paper.

    That is a Quarto document around it (.qmd), and an R script that makes figures and tables from the
    experiment's folder alone (.R).

    Parameters
    ----------
    fits : sequence of path
        The JSON file of the full fit of each cell.
    counts : sequence of path
        counts.csv of each response: …/observations/<dataset>.<measure>/counts.csv.
    verdict : path
        verdict.json.
    out : sequence of path
        The files to write, by their endings. Where pandoc is installed, a .docx file is written, too.
    cells : sequence of mapping
        lm, label, dataset, measure and design of each fit.
    about : mapping
        What the config states; see recency.workflow.plan.methods.
    """
    records = [json.loads(Path(path).read_text()) for path in fits]
    steps = {Path(path).parent.name: comparison.table(path, ["step", "kept"]) for path in counts}
    content = json.loads(Path(verdict).read_text())
    sections = [
        ("Reading times", data(about, steps, records, cells)),
        ("Language models", models(about)),
        ("Regressions", regressions(about, records, cells)),
        ("Comparison", compared(about, content)),
        ("Software", software(about)),
    ]
    by_ending = {Path(path).suffix: Path(path) for path in out}
    cited = cited_in(sections)
    texts = {
        ".md": markdown(about["title"], sections),
        ".tex": latex(about["title"], sections),
        ".bib": "\n\n".join(REFERENCES[key] for key in cited) + "\n",
        ".qmd": quarto(about["title"], content),
        ".R": Path(__file__).with_name("figures.R").read_text(encoding="utf-8"),
    }
    for ending, text in texts.items():
        with atomic(by_ending[ending]) as path:
            path.write_text(text, encoding="utf-8")
    if shutil.which("pandoc"):
        subprocess.run(
            ["pandoc", by_ending[".md"], "-o", by_ending[".md"].with_suffix(".docx")], check=True
        )


def number(value: float) -> str:
    """Return a count with commas.

    >>> number(1234567.0)
    '1,234,567'
    """
    return f"{int(value):,}"


def data(
    about: Mapping,
    steps: Mapping[str, pd.DataFrame],
    records: Sequence[Mapping],
    cells: Sequence[Mapping],
) -> list[str]:
    """Return a paragraph per corpus: its measures, filters, and observations before and after each."""
    fitted: dict[str, Mapping] = {}
    for record, cell in zip(records, cells, strict=True):
        fitted.setdefault(f"{cell['dataset']}.{cell['measure']}", record)
    corpora: dict[str, list[Mapping]] = {}
    for response in about["responses"]:
        corpora.setdefault(response["dataset"], []).append(response)
    paragraphs = [_corpus(responses, steps, fitted) for responses in corpora.values()]
    if any(response["partitioned"] for response in about["responses"]):
        paragraphs.append(
            f"Partitions divide subjects and {about['units']}: half of the combinations are fitted, a quarter is "
            "exploratory, and a quarter is held out."
        )
    return paragraphs


def _corpus(
    responses: Sequence[Mapping], steps: Mapping[str, pd.DataFrame], fitted: Mapping[str, Mapping]
) -> str:
    """Return the paragraph of one corpus."""
    first = responses[0]
    cite = re.sub(r" \((\d{4}[a-z]?)\)", r", \1", first["cite"])
    text = f"{first['label']} ({cite}): " if cite else f"{first['label']}: "
    text += join_names([_name_of_measure(response["measure"]) for response in responses]) + "."
    if first["simulated"]:
        text += " Readers and their responses are simulated."
    tables = {r["measure"]: steps.get(f"{r['dataset']}.{r['measure']}") for r in responses}
    kept = {m: table.set_index("step").kept for m, table in tables.items() if table is not None}
    names = {m: [step for step in rows.index if step not in PARTITIONS] for m, rows in kept.items()}
    if kept and len({tuple(those) for those in names.values()}) == 1:
        filters = next(iter(names.values()))[1:]
        if filters:
            text += f" Observations were kept if {_conditions(filters, first['filters'])}."
    for response in responses:
        measure = response["measure"]
        if measure not in kept:
            text += f" {measure} was not analysed, since its data are absent."
            continue
        rows = kept[measure]
        if len({tuple(those) for those in names.values()}) > 1 and names[measure][1:]:
            conditions = _conditions(names[measure][1:], response["filters"])
            text += f" {measure} was kept if {conditions}."
        start, *later = (number(rows[step]) for step in names[measure])
        text += f" {measure}: {start} observations"
        text += f", {join_names(later)} after each filter in turn" if later else ""
        sizes = {name: rows[name] for name in PARTITIONS if name in rows.index}
        if len(sizes) > 1:
            parts = [f"{number(n)} {name.replace('_', '-')}" for name, n in sizes.items()]
            text += f"; {join_names(parts)}"
        record = fitted.get(f"{response['dataset']}.{measure}")
        if record is not None and "subjects" in record["n"]:
            n = record["n"]
            text += (
                f"; fits have {number(n['fit'])} observations of {number(n['subjects'])} subjects"
            )
            text += f" and {number(n['sentences'])} sentences" if "sentences" in n else ""
        text += "."
    return " ".join([text, *first["accepted"]])


def _name_of_measure(measure: str) -> str:
    """Return the name of a reading measure in words, with its abbreviation."""
    return f"{MEASURES[measure].title} ({measure})" if measure in MEASURES else measure


def _conditions(filters: Sequence[str], conditions: Mapping[str, str]) -> str:
    """Return filters by their conditions, or by name where they have none."""
    stated = {f: conditions.get(f, f) for f in filters}
    return "; ".join(f"`{text}`" + (f" ({f})" if text != f else "") for f, text in stated.items())


def models(about: Mapping) -> list[str]:
    """Return paragraphs on the LMs: what was trained, and each LM with its bias."""
    paragraphs = list(about["training"])
    sources = {lm["source"] for lm in about["lms"]}
    lines = []
    for lm in about["lms"]:
        parts = [f"attention bias {lm['bias']}"] if lm["bias"] else []
        parts += [lm["source"]] if len(sources) > 1 else []
        lines.append(f"{lm['label']}: {'; '.join(parts)}" if parts else lm["label"])
    listed = "; ".join(f"({n}) {line}" for n, line in enumerate(lines, 1))
    count = f"{len(lines)} LMs were compared" if len(lines) > 1 else "There is one LM"
    paragraphs.append(f"{count}: {listed}.")
    if len(sources) == 1:
        paragraphs[-1] += f" Source of all: {sources.pop()}."
    if about["biased"]:
        paragraphs.append(
            "A bias changes a scaled attention score s of query i and key j to a·s + b before the softmax: "
            + "; ".join(about["biased"])
            + "."
        )
    if about["seeds"]:
        seeds = ", ".join(map(str, about["seeds"]))
        paragraphs.append(f"Each LM was trained with {len(about['seeds'])} seeds ({seeds}).")
    paragraphs.append(about["surprisal"])
    return paragraphs


def regressions(about: Mapping, records: Sequence[Mapping], cells: Sequence[Mapping]) -> list[str]:
    """Return a paragraph per design, and one on fits that failed or are singular."""
    paragraphs = []
    for name, design in about["designs"].items():
        mine = [r for r, cell in zip(records, cells, strict=True) if cell["design"] == name]
        of = join_names(
            [f"{r['label']} {r['measure']}" for r in about["responses"] if r["design"] == name]
        )
        text = f"{design['kind']} of {of or 'no response'}, for each LM: `{design['formula']}`. "
        text += design["settings"]
        formulas = sorted(
            {record["formula"].replace("`", "") for record in mine if record.get("fixed")}
        )
        if dropped := _formulas_of_fits(formulas):
            text += f" As fitted: {dropped}."
        paragraphs.append(text)
    failed = [cell for record, cell in zip(records, cells, strict=True) if not record.get("fixed")]
    singular = sum(bool(record.get("singular")) for record in records)
    diverged = [
        c
        for r, c in zip(records, cells, strict=True)
        if r.get("fixed") and not r.get("converged", True)
    ]
    notes = []
    if any("unigram" in record.get("formula", "") for record in records):
        notes.append(f"Unigram surprisal is estimated from {about['unigram']}.")
    confirmed = sum(any(check["by"] == "lme4" for check in r.get("checks", ())) for r in records)
    if confirmed:
        notes.append(f"{confirmed} of {len(records)} fits were confirmed by lme4 [bates2015].")
    paragraphs += [" ".join(notes)] if notes else []
    text = f"Of {len(records)} fits, {singular} are singular (a variance or a correlation at its limit)"
    text += f", {len(diverged)} did not converge and {len(failed)} failed."
    for what, those in (("did not converge", diverged), ("failed", failed)):
        if those:
            names = [f"{c['label']} on {c['dataset']} {c['measure']}" for c in those]
            text += f" These {what}: {join_names(names)}."
    notes = sorted(
        {r["note"] for r in records if r.get("note") and not r["note"].startswith("singular fit")}
    )
    if notes:
        text += f" Notes of the fits: {'; '.join(notes)}."
    return [*paragraphs, text]


def _formulas_of_fits(formulas: Sequence[str]) -> str:
    """Return the formulas of fits, where they are several."""
    return "; ".join(f"`{formula}`" for formula in formulas) if len(formulas) > 1 else ""


def compared(about: Mapping, verdict: Mapping) -> list[str]:
    """Return paragraphs on endpoint, intervals, tests and the smallest effect of interest."""
    text = f"LMs are compared by ΔLogLik, the increase in log-likelihood (natural logarithm){verdict['described']}."
    if about["endpoint"] == CROSSED:
        text += (
            f" In each of {about['draws']} draws, subjects and {about['units']} are resampled jointly, the "
            "model is refitted by maximum likelihood, and observations whose subject and whose "
            f"{about['units'].rstrip('s')} are both absent from the draw are scored, with random effects integrated "
            "out."
        )
    if about["unasked"]:
        text += f" This is not the default endpoint, since {about['unasked']}."
    paragraphs = [text]
    pairs = [pair for pair in verdict["pairs"] if pair]
    own = [row["delta_loglik"] for row in verdict["ranking"] if row["delta_loglik"]]
    by = sorted({interval["by"] for interval in [*own, *pairs] if interval["by"]})
    if by:
        text = "Intervals have a level of 95 %"
        if any(name.startswith(CROSSED) for name in by):
            named = " or ".join(dict.fromkeys(clusters(name) for name in by))
            text += f" and use clustered variances [cameron2011], by {named}"
        if len(pairs) > 1:
            text += f"; differences of LMs have simultaneous intervals for all {len(pairs)} pairs [romano2005]"
        paragraphs.append(text + ".")
    if any(pair["p"] is not None for pair in pairs):
        tested = sum(pair["p"] is not None for pair in pairs)
        what = "One difference is" if tested == 1 else f"{tested} differences are"
        paragraphs.append(
            f"{what} tested on the held-out partition, which no other result uses: a "
            f"two-sided t test of squared errors, with the standard error by subjects and {about['units']} at "
            "once, and Holm's correction. It does not decide a claim."
        )
    effect = verdict["smallest_effect"]
    if effect["stated"]:
        ((unit, value),) = effect["stated"].items()
        stated = (
            f"{100 * value:g} % of the ΔLogLik of {verdict['baseline']}"
            if unit == "relative"
            else f"{value:g} {unit.replace('_', ' ')}"
        )
        nats = "" if effect["nats"] is None else f" ({effect['nats']:.1f} nats)"
        paragraphs.append(
            f"Smallest effect of interest: {stated}{nats}."
            + f" {verdict['rule']}." * bool(verdict["rule"])
        )
    return paragraphs


def software(about: Mapping) -> list[str]:
    """Return a paragraph with the versions of what was used, and citations."""
    used = [("recency", ""), ("snakemake", " [molder2021]")]
    if about["networks"]:
        used += [("torch", " [paszke2019]"), ("transformers", " [wolf2020]")]
    names = []
    for package, cited in used:
        try:
            names.append(f"{package} {version(package)}{cited}")
        except PackageNotFoundError:
            names.append(f"{package}{cited}")
    names += ["KenLM [heafield2013]"] * about["ngrams"]
    names += [f"{package} {version(package)}" for package in ("numpy", "scipy", "pandas")]
    text = f"The study was run with {join_names(names)}."
    return [text]


def cited_in(sections: Iterable[Section]) -> list[str]:
    """Return the keys of the references that the text cites, in the order of REFERENCES."""
    text = " ".join(paragraph for _, paragraphs in sections for paragraph in paragraphs)
    return [key for key in REFERENCES if f"[{key}]" in text]


def markdown(title: str, sections: Sequence[Section]) -> str:
    """Return the sections as Markdown, with citations in words and the references at the end."""
    lines = [f"# Methods: {title}"]
    for heading, paragraphs in sections:
        lines += [f"## {heading}", *(_cite(paragraph) for paragraph in paragraphs)]
    listed = [f"- {SHORT[key]}: {_title_of(key)}" for key in cited_in(sections)]
    return "\n\n".join([*lines, "## References", "\n".join(listed)]) + "\n"


def quarto(title: str, verdict: Mapping) -> str:
    """Return a Quarto document with the verdict, the figure and the methods section."""
    lines = [
        *("---", f"title: {json.dumps(title, ensure_ascii=False)}"),
        *("format:", "  html: {embed-resources: true}", "  docx: default", "  pdf: default", "---"),
        *("", "# Results", "", " ".join(verdict["brief"]), ""),
        *(f"![ΔLogLik of each LM{verdict['described']}.](figure_delta_loglik.png)", ""),
        *("{{< include methods.md >}}", ""),
    ]
    return "\n".join(lines)


def _title_of(key: str) -> str:
    """Return the title of a reference, without LaTeX's braces."""
    title = re.search(r"title = \{(.*?)\}, (?:book|journal)", REFERENCES[key])
    assert title is not None, key
    return re.sub(r"[{}]", "", title[1])


def _cite(paragraph: str) -> str:
    """Return a paragraph with its citations in words.

    >>> _cite("with lme4 [bates2015].")
    'with lme4 (Bates et al., 2015).'
    """
    for key, short in SHORT.items():
        paragraph = paragraph.replace(f"[{key}]", f"({short})")
    return paragraph


#: Characters that LaTeX would interpret, and Greek letters and signs outside its usual fonts.
_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "#$%&_{}"},
    "Δ": r"$\Delta$",
    "α": r"$\alpha$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "Σ": r"$\Sigma$",
    "∝": r"$\propto$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "√": r"$\surd$",
    "\N{MINUS SIGN}": "$-$",
    "∞": r"$\infty$",
}


def latex(title: str, sections: Sequence[Section]) -> str:
    """Return the sections as LaTeX for a paper, which needs natbib for the citations."""
    lines = [f"% Methods of the experiment: {title}"]
    for heading, paragraphs in sections:
        lines += [f"\\subsection*{{{_escape(heading)}}}", *map(_latex_paragraph, paragraphs)]
    return "\n\n".join(lines) + "\n"


def _latex_paragraph(paragraph: str) -> str:
    """Return a paragraph as LaTeX."""
    parts = []
    for n, part in enumerate(paragraph.split("`")):
        escaped = _escape(part)
        for key in SHORT:
            escaped = escaped.replace(f" [{key}]", f"~\\citep{{{key}}}")
        parts.append(f"\\texttt{{{escaped}}}" if n % 2 else escaped)
    return "".join(parts)


def _escape(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(_ESCAPED.get(mark, mark) for mark in text)
