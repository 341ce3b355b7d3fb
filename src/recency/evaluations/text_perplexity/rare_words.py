"""Perplexity over rare words, by their frequency in the training text (thesis, Table 5.6)."""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from crosslmm.stats import bootstrap
from recency.evaluations.text_perplexity.runs import perplexity
from recency.figures import comparison, style, tables
from recency.figures.comparison import LM, Described, View
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Row, Table
from recency.scoring import mix

PRODUCTS = {
    "table_rare_perplexity": {
        "makes": {"out": ("table_rare_perplexity", "Table of perplexity over rare words")},
        "reads": ["scores", "texts"],
        "settings": ["variants=every_variant", "baseline", "title"],
        "published": "rare_perplexity",
        "when": "rare",
        "summary": (
            "table_rare_perplexity.csv",
            "{title}: perplexity over rare words",
            "summary_of_rare_perplexity",
        ),
    },
}

#: Classes of words by their frequency in the training text: name → minimum, maximum.
CLASSES = {"0": (0, 0), "1": (1, 1), "2–10": (2, 10), "more": (11, np.inf)}
COLUMNS = ["text", "lm", "label", "parameters", "class", "words", "ppl", "low", "high", "not_run"]
NOTES = [
    "Words by their frequency in the training text; 1 is RW1PPL. All words include the ends of documents",
    "Beneath: ratio to the baseline's perplexity, with its 95 % interval over documents",
    "not run: words unknown to the LM share one probability, which is not the word's own",
]


def count_in_training(words: Iterable[str], trained_on: File) -> np.ndarray:
    """Return each word's frequency in the training text, NaN for the ends of documents."""
    counts: Counter[str] = Counter()
    for document in pd.read_parquet(trained_on, columns=["text"])["text"]:
        counts.update(document.split())
    return np.array([np.nan if word == mix.END else counts[word] for word in words])


def tabulate(
    scores: Mapping[str, pd.DataFrame],
    lms: Iterable[LM],
    counts: np.ndarray,
    documents: np.ndarray,
    baseline: str,
) -> pd.DataFrame:
    """Return COLUMNS, a row per LM and class: perplexity, and the interval of its ratio to the baseline.

    `scores` map LM → scores of the test text, one row per word as in `counts` and `documents`
    (words,). An LM with other tokens is not run, nor is a class in which an LM has an unknown word.
    """
    classes = {"all": np.ones(len(counts), bool)}
    classes |= {name: (counts >= low) & (counts <= high) for name, (low, high) in CLASSES.items()}
    rows = []
    for lm in lms:
        lm_scores = scores[lm.lm]
        base = scores.get(baseline) if lm.lm != baseline else None
        about = {"text": "here", "lm": lm.lm, "label": lm.label}
        about["parameters"] = int(lm_scores.parameters.iloc[0])
        if len(lm_scores) != len(counts):
            rows.append(about | {"not_run": f"{lm.label}: its tokens are not words"})
            continue
        for name, here in classes.items():
            row = about | {"class": name, "words": int(here.sum())}
            if not here.any() or (name != "all" and not lm_scores.known[here].all()):
                rows.append(row)
                continue
            nats = lm_scores.nats.to_numpy()[here]
            row["ppl"] = perplexity(nats)
            if base is not None and len(base) == len(counts) and base.known[here].all():
                apart = nats - base.nats.to_numpy()[here]
                row["low"], row["high"] = _ratio(apart, documents[here])
            rows.append(row)
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _mean(seeds: list[pd.DataFrame]) -> pd.DataFrame:
    """Return an LM's scores with nats averaged over its seeds."""
    return seeds[0].assign(nats=sum(table.nats for table in seeds) / len(seeds))


def _ratio(apart: np.ndarray, documents: np.ndarray) -> tuple[float, float]:
    """Return the interval of exp of the mean difference, resampling documents with their words."""
    sums = [bootstrap.cluster_sums(values, documents) for values in (apart, np.ones(len(apart)))]
    drawn = bootstrap.draws(np.stack(sums, 1), 10_000, 0)
    return bootstrap.percentiles(np.exp(drawn[:, 0] / drawn[:, 1]))


def layout(data: pd.DataFrame, title: str, baseline: str) -> Table:
    """Return a row per LM and a column per class of words, then published values by text."""
    names = ["all", *CLASSES]
    here = data[data["text"] == "here"]
    numbers = here.dropna(subset="words").drop_duplicates("class").set_index("class").words
    header = ["LM", "Parameters"]
    header += [{"all": "All words", "more": "11 and more"}.get(name, name) for name in names]
    first = ["words of the test", ""]
    grid = [first + [f"{numbers.get(name, 0):,.0f}" for name in names]]
    base = here[here.lm == baseline].set_index("class").ppl
    for _, lm_rows in here.groupby("lm", sort=False):
        grid.append(_row(lm_rows, names, base))
    rules, notes = [1], list(NOTES)
    for text, rows in data[data["text"] != "here"].groupby("text", sort=False):
        rules.append(len(grid))
        grid.append([Cell(f"published, {text}", left=True, span=len(header))])
        for _, lm_rows in rows.groupby("label", sort=False):
            grid.append(_row(lm_rows, names, base))
    notes += [f"not run: {reason}" for reason in here["not_run"].dropna()]
    return Table(f"{title}: perplexity over rare words", header, grid, notes, tuple(rules))


def _row(lm_rows: pd.DataFrame, names: list[str], base: pd.Series) -> Row:
    """Return an LM's perplexities, and their ratios to the baseline's."""
    parameters, lm_rows = lm_rows.parameters.iloc[0], lm_rows.set_index("class")
    cells = [lm_rows.label.iloc[0]]
    cells.append("" if np.isnan(parameters) else f"{parameters / 1e6:.1f} M")
    for name in names:
        row = lm_rows.loc[name] if name in lm_rows.index else None
        if row is None or np.isnan(row.ppl):
            cells.append("not run" if row is not None and row.words > 0 else "–")
            continue
        text = f"{row.ppl:,.0f}" if row.ppl >= 1000 else f"{row.ppl:.1f}"
        ratio = (
            f"{row.ppl / base[name]:.2f} ({row.low:.2f} to {row.high:.2f})" if row.low > 0 else ""
        )
        cells.append(Cell(text, (ratio,) if ratio else ()))
    return cells


def published_rows(path: File) -> pd.DataFrame:
    """Return COLUMNS of published values, for all words and for words that occur once."""
    values = pd.read_csv(path).melt(
        ["text", "label"], ["ppl", "rw1ppl"], var_name="class", value_name="value"
    )
    values["class"] = values["class"].map({"ppl": "all", "rw1ppl": "1"})
    return values.rename(columns={"value": "ppl"}).reindex(columns=COLUMNS)


def summary_of_rare_perplexity(path: File) -> Table:
    """Return perplexity over all words and over words seen once, from this table's CSV."""
    rows = pd.read_csv(path).query("text == 'here'")
    wide = rows.pivot_table(index="label", columns="class", values="ppl", sort=False)
    wide = wide.reindex(columns=["all", "1"])
    grid = [
        [label, style.number(row["all"]), style.number(row["1"], 0)]
        for label, row in wide.iterrows()
    ]
    return Table("", ["LM", "All words", "Seen once"], grid, [])


def table_rare_perplexity(
    view: View, scores: Files, texts: Files, out: Files, variants: Described
) -> None:
    """Write the table to `out` (.csv, .html, .tex).

    `scores` are score's files, two per variant, the second for the test text; `texts` are the test
    text and the training text. Over several seeds, nats are averaged word by word.
    """
    test, trained_on = texts
    words = mix.read_words(test)
    ends = words == mix.END
    documents = ends.cumsum() - ends
    lms, files = comparison.of_seeds(list(scores)[1::2], variants)
    read = {lm: _mean([pd.read_parquet(p) for p in paths]) for lm, paths in files.items()}
    data = tabulate(read, lms, count_in_training(words, trained_on), documents, view.baseline)
    data = pd.concat([data, published_rows(view.published)]) if view.published else data
    tables.write(out, layout(data, view.title, view.baseline), data)
