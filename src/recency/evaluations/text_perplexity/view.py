"""Perplexity on a test text, alone and interpolated, over all words and over rare ones.

Scores of each LM's seeds, differences between pairs of LMs with intervals over documents and seeds,
published values (thesis, Table 5.6), and curves of perplexity by a number that LMs differ in, such
as hidden units (thesis, Figure 4.4).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from crosslmm.stats import bootstrap
from crosslmm.stats.totals import Draws, NewSeeds, simultaneous_critical_value
from recency.errors import InputError
from recency.figures import comparison, ends, style, tables
from recency.figures.comparison import LM, Described, View
from recency.figures.encoding import OTHERS, STYLES
from recency.figures.paths import File, Files
from recency.figures.tables import Cell, Row, Table
from recency.scoring import mix


def perplexity(nats: np.ndarray) -> float:
    """Return exp of the mean of nats."""
    return float(np.exp(nats.mean()))


@dataclass(frozen=True)
class Seed:
    """Scores of one training run: nats (words,) of each text, and the interpolation weight."""

    variant: str  # the LM of this training run
    seed: str
    parameters: int
    words_per_second: float  # in scoring the test text
    validation: np.ndarray
    test: np.ndarray
    documents: np.ndarray  # of each word of the test text
    known: Mapping[str, np.ndarray]  # text → whether the LM knows each word (words,)
    interpolated: np.ndarray | None = None
    weight: float = math.nan


@dataclass(frozen=True)
class Scored:
    """An LM and its seeds. Texts are `validation`, `test` and `interpolated`."""

    lm: LM
    seeds: list[Seed]

    def has(self, text: str) -> bool:
        """Return whether the LM has scores of this text; no LM is interpolated with itself."""
        return getattr(self.seeds[0], text) is not None

    def nats(self, text: str) -> np.ndarray:
        """Return the mean over seeds, word by word."""
        return sum(getattr(seed, text) for seed in self.seeds) / len(self.seeds)

    def ppl(self, text: str) -> float:
        """Return the perplexity, as the geometric mean over seeds."""
        return perplexity(self.nats(text)) if self.has(text) else math.nan

    def sd(self, text: str) -> float:
        """Return the standard deviation of the seeds' perplexities, NaN for one seed."""
        if len(self.seeds) < 2 or not self.has(text):
            return math.nan
        return float(np.std([perplexity(getattr(seed, text)) for seed in self.seeds], ddof=1))

    def mean(self, of: Callable[[Seed], float]) -> float:
        """Return the mean over seeds of the values that `of` returns."""
        return float(np.mean([of(seed) for seed in self.seeds]))


def read(scores: Files, variants: Described, other: str | None, texts: Files = ()) -> list[Scored]:
    """Return each LM with its seeds, from score's files for validation and test text, by variant.

    `variants` have `lm` (without its seed), `variant`, `seed` and, for networks of words,
    `unknown_as`: the token for unknown words, which the two `texts` may have as a word. Each
    training run is interpolated with `other`, by the best weight on the validation text. Raises
    InputError if that LM has other words.
    """
    paths, variants = list(scores), list(variants)
    words = [mix.read_words(text) for text in texts] or [None, None]
    trained = [
        _seed(variant, words, *map(pd.read_parquet, pair))
        for variant, pair in zip(variants, zip(paths[::2], paths[1::2]), strict=True)
    ]
    if other is not None:
        with_it = next(seed for seed in trained if seed.variant == other)
        trained = [_interpolate_run(seed, with_it) for seed in trained]
    lms, seeds = comparison.of_seeds(trained, variants)
    return [Scored(lm, seeds[lm.lm]) for lm in lms]


def _seed(
    about: Mapping,
    words: Sequence[np.ndarray | None],
    validation: pd.DataFrame,
    test: pd.DataFrame,
) -> Seed:
    """Return a training run from its two files and the words of the two texts."""
    parameters, speed = int(test.parameters.iloc[0]), float(test.words_per_second.iloc[0])
    nats = [part.nats.to_numpy() for part in (validation, test)]
    names, known = (about["variant"], str(about["seed"])), {}
    tables = {"validation": validation, "test": test}
    for (text, table), spelled in zip(tables.items(), words, strict=True):
        is_of_words = spelled is not None and len(spelled) == len(table)
        sign = about.get("unknown_as") if is_of_words else None
        known[text] = mix.is_known(table, spelled, sign)
    return Seed(*names, parameters, speed, *nats, test.document.to_numpy(), known)


def _interpolate_run(seed: Seed, other: Seed) -> Seed:
    """Return a training run interpolated with another; the other one unchanged.

    A word that only one of them knows has p = 0 under the other (recency.scoring.mix).
    """
    if seed.variant == other.variant:
        return seed
    for text in ("test", "validation"):
        size, its = len(getattr(seed, text)), len(getattr(other, text))
        if size != its:
            raise InputError(
                f"{seed.variant} scored {size:,} words of the {text} text, {other.variant} {its:,}: LMs are "
                "interpolated word by word, which requires the same words"
            )
    shares = mix.estimate_shares(_of_known_words(seed, other, "validation"))
    together = mix.mix_nats(_of_known_words(seed, other, "test"), shares)
    known = {**seed.known, "interpolated": seed.known["test"] | other.known["test"]}
    return replace(seed, interpolated=together, weight=float(shares[0]), known=known)


def _of_known_words(seed: Seed, other: Seed, text: str) -> np.ndarray:
    """Return nats (2, words) of two LMs, infinite for words that only the other one knows."""
    nats = np.array([getattr(run, text) for run in (seed, other)])
    return mix.without_unknown(nats, ~np.array([run.known[text] for run in (seed, other)]))


PRODUCTS = {
    "figure_perplexity_curves": {
        "makes": {"out": ("figure_perplexity_curves", "Perplexity by size")},
        "reads": ["scores", "texts=scored_texts"],
        "settings": ["variants=every_variant", "interpolated_with", "curves"],
        "when": "curves",
    },
    "table_perplexity_pairs": {
        "makes": {"out": ("table_perplexity_pairs", "Table of perplexity by pair")},
        "reads": ["scores", "texts=scored_texts"],
        "settings": ["variants=every_variant", "pairs", "interpolated_with", "title"],
        "published": "perplexity",
        "when": "pairs",
        "summary": (
            "table_perplexity_pairs.csv",
            "{title}: perplexity by pair",
            "summary_of_perplexity_pairs",
        ),
    },
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
    "table_perplexity": {
        "makes": {"out": ("table_perplexity", "Table of perplexity on the test text")},
        "reads": ["scores", "texts=scored_texts"],
        "settings": ["variants=every_variant", "interpolated_with", "title"],
        "published": "perplexity",
        "summary": (
            "table_perplexity.csv",
            "{title}: perplexity on the test text",
            "summary_of_perplexity",
        ),
    },
}


#: Classes of words by their frequency in the training text: name → minimum, maximum.
CLASSES = {"0": (0, 0), "1": (1, 1), "2–10": (2, 10), "more": (11, np.inf)}
END = "</s>"
RARE_COLUMNS = [
    "text",
    "lm",
    "label",
    "parameters",
    "class",
    "words",
    "ppl",
    "low",
    "high",
    "not_run",
]
NOTES = [
    "Words by their frequency in the training text; 1 is RW1PPL. All words include the ends of documents",
    "Beneath: ratio to the baseline's perplexity, with its 95 % interval over documents",
    "not run: words unknown to the LM share one probability, which is not the word's own",
]


def words_of(text: File) -> tuple[list[str], np.ndarray]:
    """Return a text's words with the end of each document, and the document of each word."""
    documents = pd.read_parquet(text, columns=["text"])["text"]
    split = [[*document.split(), END] for document in documents]
    return [word for sentence in split for word in sentence], np.repeat(
        np.arange(len(split)), [len(sentence) for sentence in split]
    )


def counted(words: Iterable[str], trained_on: File) -> np.ndarray:
    """Return each word's frequency in the training text, NaN for the ends of documents."""
    counts: Counter[str] = Counter()
    for document in pd.read_parquet(trained_on, columns=["text"])["text"]:
        counts.update(document.split())
    return np.array([np.nan if word == END else counts[word] for word in words])


def rare_computed(
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
    return pd.DataFrame(rows).reindex(columns=RARE_COLUMNS)


def _mean(seeds: list[pd.DataFrame]) -> pd.DataFrame:
    """Return an LM's scores with nats averaged over its seeds."""
    return seeds[0].assign(nats=sum(table.nats for table in seeds) / len(seeds))


def _ratio(apart: np.ndarray, documents: np.ndarray) -> tuple[float, float]:
    """Return the interval of exp of the mean difference, resampling documents with their words."""
    sums = [bootstrap.cluster_sums(values, documents) for values in (apart, np.ones(len(apart)))]
    drawn = bootstrap.draws(np.stack(sums, 1), 10_000, 0)
    return bootstrap.percentiles(np.exp(drawn[:, 0] / drawn[:, 1]))


def rare_layout(data: pd.DataFrame, title: str, baseline: str) -> Table:
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
    return values.rename(columns={"value": "ppl"}).reindex(columns=RARE_COLUMNS)


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
    words, documents = words_of(test)
    lms, files = comparison.of_seeds(list(scores)[1::2], variants)
    read = {lm: _mean([pd.read_parquet(p) for p in paths]) for lm, paths in files.items()}
    data = rare_computed(read, lms, counted(words, trained_on), documents, view.baseline)
    data = pd.concat([data, published_rows(view.published)]) if view.published else data
    tables.write(out, rare_layout(data, view.title, view.baseline), data)


TABLE_COLUMNS = [
    "lm",
    "label",
    "seeds",
    "words",
    "unknown",
    "same_words",
    "parameters",
    "validation_ppl",
    "test_ppl",
    "test_sd",
]
TABLE_COLUMNS += ["words_per_second", "weight", "interpolated_ppl", "interpolated_sd"]
TABLE_COLUMNS += ["published_ppl", "published_interpolated_ppl", "published_label"]
PUBLISHED_COLUMNS = TABLE_COLUMNS[-3:]
TABLE_NOTES = [
    "Parameters: for an n-gram model, the number of n-grams",
    "Words/s: speed of scoring the test text; for n-grams, including loading of the model",
]
LISTED = 3  # LMs that a note names
SEEDS = "±: standard deviation of seeds, if an LM has several; the value is their geometric mean"


def table_computed(lms: Iterable[Scored]) -> pd.DataFrame:
    """Return a row of TABLE_COLUMNS per LM, without published values.

    `unknown` is the number of words of the test text that the LM does not know. LMs with equal
    numbers in `same_words` have the same words and know the same ones.
    """
    lms = list(lms)
    groups = enumerate(_group_by_words(lms, "test"))
    group_of = {member.lm.lm: number for number, members in groups for member in members}
    rows = [
        {
            "lm": scored_lm.lm.lm, "label": scored_lm.lm.label, "seeds": len(scored_lm.seeds),
            "words": len(scored_lm.seeds[0].test), "parameters": scored_lm.seeds[0].parameters,
            "unknown": int((~scored_lm.seeds[0].known["test"]).sum()),
            "same_words": group_of[scored_lm.lm.lm],
            "validation_ppl": scored_lm.ppl("validation"), "test_ppl": scored_lm.ppl("test"),
            "test_sd": scored_lm.sd("test"), "weight": scored_lm.mean(lambda seed: seed.weight),
            "words_per_second": scored_lm.mean(lambda seed: seed.words_per_second),
            "interpolated_ppl": scored_lm.ppl("interpolated"),
            "interpolated_sd": scored_lm.sd("interpolated"),
        }
        for scored_lm in lms
    ]  # fmt: skip
    return pd.DataFrame(rows).reindex(columns=TABLE_COLUMNS)


def published_values(path: File) -> pd.DataFrame:
    """Return published rows by the label of the LM here, and `published_label` of those of others.

    An LM that is not the published one, but stands for it, is named in the column `here`.
    """
    values = pd.read_csv(path)
    here = values.here.fillna(values.label) if "here" in values else values.label
    values["published_label"] = values.label.where(here != values.label)
    return values.set_index(here.rename(None))


def table_with_published(rows: pd.DataFrame, path: File) -> pd.DataFrame:
    """Add published values to LMs with these labels, and rows of those that no LM here has."""
    values = published_values(path)
    values = values.rename(
        columns={"ppl": "published_ppl", "ppl_interpolated": "published_interpolated_ppl"}
    )[["label", *PUBLISHED_COLUMNS]]
    for column in PUBLISHED_COLUMNS:
        rows[column] = rows.label.map(values[column])
    absent = values[~values.index.isin(rows.label)].assign(published_label=None)
    return pd.concat([rows, absent], ignore_index=True) if len(absent) else rows


def table_layout(title: str, rows: pd.DataFrame, other: str | None) -> Table:
    """Return a row per LM, with the spread of its seeds and published values beneath."""
    names = dict(zip(rows.lm, rows.label))
    header = ["LM", "Parameters", "Words/s", "Validation", "Test"]
    header += [f"with {names[other]}", "Weight"] if other else []
    grid = []
    for row in rows.itertuples():
        named = row.published_label if isinstance(row.published_label, str) else ""
        cells = [
            row.label,
            "–" if np.isnan(row.parameters) else f"{row.parameters / 1e6:.1f} M",
            "–" if np.isnan(row.words_per_second) else f"{row.words_per_second:,.0f}",
            "–" if np.isnan(row.validation_ppl) else f"{row.validation_ppl:.1f}",
            _table_cell(row.test_ppl, row.test_sd, row.seeds, row.published_ppl, named),
        ]
        if other:
            spread = (row.interpolated_sd, row.seeds)
            published = row.published_interpolated_ppl
            cells.append(_table_cell(row.interpolated_ppl, *spread, published, named))
            cells.append("–" if np.isnan(row.weight) else f"{row.weight:.2f}")
        grid.append(cells)
    notes = [*_words_notes(rows), *TABLE_NOTES]
    if other:
        notes.append("Weight: the LM's interpolation weight, by EM on the validation text")
    if other and rows.same_words.nunique() > 1:
        notes.append("Interpolated: an LM gives p = 0 to words that only the other one knows")
    if rows.seeds.max() > 1:
        notes.append(SEEDS)
    if rows.published_label.notna().any():
        notes.append("in brackets: the published LM, where the one here stands for another")
    if rows.lm.isna().any():
        notes.append("without values of its own: published, not run here")
    return Table(f"{title}: perplexity", header, grid, notes)


def _words_notes(rows: pd.DataFrame) -> list[str]:
    """Return notes on the test text's words by LM, and on words that not all LMs know."""
    rows = rows.dropna(subset="words")
    by_size = rows.groupby("words", sort=False)
    if len(by_size) == 1:
        notes = [
            f"Test text: {rows.words.iloc[0]:,.0f} words with the ends of sentences",
            "Perplexity counts every word and the end of every sentence",
        ]
    else:
        sizes = [f"{size:,.0f} ({_listed(part.label)})" for size, part in by_size]
        notes = [
            f"Test text: {', '.join(sizes)} words or tokens with the ends of sentences",
            "Perplexity counts every word or token: the LMs' units differ, and perplexities do not compare",
        ]
    for _, same_size in by_size:
        by_words = same_size.groupby("same_words", sort=False)
        for _, part in by_words if len(by_words) > 1 else ():
            if (unknown := part.unknown.iloc[0]) > 0:
                notes.append(
                    f"{unknown:,.0f} words unknown to {_listed(part.label)}, whose shared probability counts"
                )
    return notes


def _listed(labels: Iterable[str]) -> str:
    """Return the labels of LMs in one line, of many the first and their number."""
    labels = list(labels)
    if len(labels) > LISTED + 1:
        labels = [*labels[:LISTED], f"{len(labels) - LISTED} more"]
    return " and ".join(filter(None, [", ".join(labels[:-1]), labels[-1]]))


def _table_cell(value: float, sd: float, seeds: float, published: float, named: str) -> Cell:
    """Return a value, with the spread of its seeds and the published value, `named`, beneath."""
    below = () if np.isnan(sd) else (f"± {sd:.1f}, {seeds:.0f} seeds",)
    whose = f" ({named})" if named else ""
    below += () if np.isnan(published) else (f"published {published:g}{whose}",)
    return Cell("–" if np.isnan(value) else f"{value:.1f}", below)


def summary_of_perplexity(path: File) -> Table:
    """Return perplexity on the test text by LM, from this table's CSV, for the summary."""
    rows = pd.read_csv(path).dropna(subset="lm")
    grid = [
        [
            row.label,
            _with_sd(row.test_ppl, row.test_sd),
            _with_sd(row.interpolated_ppl, row.interpolated_sd),
        ]
        for row in rows.itertuples()
    ]
    return Table("", ["LM", "Test", "Interpolated"], grid, [])


def _with_sd(value: float, sd: float) -> str:
    return style.number(value) + ("" if np.isnan(sd) else f" ± {sd:.1f}")


def table_perplexity(
    view: View,
    scores: Files,
    out: Files,
    variants: Described,
    interpolated_with: str | None,
    texts: Files = (),
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `scores` and `texts` are files as in `read`."""
    rows = table_computed(read(scores, variants, interpolated_with, texts))
    rows = table_with_published(rows, view.published) if view.published else rows
    tables.write(out, table_layout(view.title, rows, interpolated_with), rows)


COLUMNS = ["lm", "other", "label", "other_label", "text", "seeds", "other_seeds", "documents"]
ENDS = ["low", "high", "low_all", "high_all"]
COLUMNS += ["ratio", *ENDS, "published_ratio"]
REPLICATES = 10_000
CLUSTER = "document"
#: Texts for comparing pairs → columns of published values.
PUBLISHED = {"test": "published_ppl", "interpolated": "published_interpolated_ppl"}


def computed(lms: Iterable[Scored], pairs: Iterable[Sequence[str]], seed: int = 0) -> pd.DataFrame:
    """Return a row of COLUMNS per pair and text; no ratio if words, or the known ones, differ.

    Documents are resampled with all of their words, the same ones for all LMs.
    """
    of = {scored_lm.lm.lm: scored_lm for scored_lm in lms}
    pairs = [(of[a], of[b]) for a, b in pairs]
    rows = []
    for text in PUBLISHED:
        asked = [pair for pair in pairs if all(scored_lm.has(text) for scored_lm in pair)]
        means = _means(dict.fromkeys(lm.lm.lm for pair in asked for lm in pair), of, text, seed)
        places = {lm: index for index, lm in enumerate(means)}
        alike = [pair for pair in asked if _same_words(*pair, text)]
        together = None
        if len(alike) > 1:
            at = [(places[a.lm.lm], places[b.lm.lm]) for a, b in alike]
            together = simultaneous_critical_value(list(means.values()), at)
        for a, b in asked:
            row = {"lm": a.lm.lm, "other": b.lm.lm, "label": a.lm.label, "other_label": b.lm.label}
            row |= {"text": text, "seeds": len(a.seeds), "other_seeds": len(b.seeds)}
            row["documents"] = len(np.unique(a.seeds[0].documents))
            if _same_words(a, b, text):
                apart = means[a.lm.lm] - means[b.lm.lm]
                ends = apart.ends(together)
                nats = {key: ends[key] for key in ENDS} | {"ratio": apart.value}
                row |= {key: float(np.exp(value)) for key, value in nats.items()}
            rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _same_words(a: Scored, b: Scored, text: str) -> bool:
    """Return whether two LMs were scored on the same words and know the same ones of them.

    Words are the same if their documents are.
    """
    first, second = a.seeds[0], b.seeds[0]
    return np.array_equal(first.documents, second.documents) and np.array_equal(
        first.known[text], second.known[text]
    )


def _means(
    names: Iterable[str], of: Mapping[str, Scored], text: str, seed: int
) -> dict[str, Draws]:
    """Return LM → nats per word: mean over seeds, with resampled documents and new seeds."""
    lms = [of[name] for name in names]
    further = NewSeeds([_nats_by_seed(scored_lm, text) for scored_lm in lms], REPLICATES, seed)
    means = {}
    for group in _group_by_words(lms, text):
        documents = group[0].seeds[0].documents
        words = [np.ones(len(documents)), *(scored_lm.nats(text) for scored_lm in group)]
        sums = [bootstrap.cluster_sums(values, documents) for values in words]
        drawn = bootstrap.draws(np.stack(sums, 1), REPLICATES, seed)
        for scored_lm, totals in zip(group, drawn.T[1:]):
            by_document = {CLUSTER: totals / drawn[:, 0]}
            mean = further.mean(_nats_by_seed(scored_lm, text), by_document, len(documents))
            means[scored_lm.lm.lm] = mean
    return {scored_lm.lm.lm: means[scored_lm.lm.lm] for scored_lm in lms}


def _group_by_words(lms: Iterable[Scored], text: str) -> list[list[Scored]]:
    """Group LMs with the same words, as in `_same_words`, which share their resampled documents."""
    groups: list[list[Scored]] = []
    for lm in lms:
        group = next((members for members in groups if _same_words(members[0], lm, text)), None)
        group.append(lm) if group else groups.append([lm])
    return groups


def _nats_by_seed(lm: Scored, text: str) -> dict[str, float]:
    """Return seed → nats per word; equal seed numbers have one name for all LMs."""
    return {seed.seed: float(getattr(seed, text).mean()) for seed in lm.seeds}


def with_published(rows: pd.DataFrame, lms: Iterable[Scored], path: File) -> pd.DataFrame:
    """Add the ratios of published values for LMs with the same labels, or that stand for these."""
    values = table_with_published(table_computed(lms), path).dropna(subset="lm").set_index("lm")
    for text, column in PUBLISHED.items():
        ppl, here = values[column], rows.text == text
        rows.loc[here, "published_ratio"] = rows.lm.map(ppl)[here] / rows.other.map(ppl)[here]
    return rows


def layout(title: str, rows: pd.DataFrame, other: str | None) -> Table:
    """Return a row per pair and a column per text: difference in percent, its interval beneath."""
    texts = [text for text in PUBLISHED if (rows.text == text).any()]
    names = {"test": "Test", "interpolated": f"with {other}"}
    header = ["LM", "than", "Seeds", *(names[text] for text in texts)]
    grid = []
    for _, pair_rows in rows.groupby(["lm", "other"], sort=False):
        first, of = pair_rows.iloc[0], pair_rows.set_index("text")
        seeds = dict.fromkeys((first.seeds, first.other_seeds))
        cells = [first.label, first.other_label]
        cells.append(" and ".join(map(str, seeds)))
        grid.append(cells + [_cell(of.loc[text]) if text in of.index else "" for text in texts])
    documents = rows.documents.iloc[0]
    notes = ["Difference of the first LM's perplexity from the second's, in percent"]
    if documents > 1:
        notes += [
            f"beneath: its 95 % interval over {documents:,} resampled documents and new seeds",
            "bold where the simultaneous interval for all pairs excludes zero",
        ]
    else:
        notes.append("the text is one document, so that there are no intervals")
    if (rows.seeds.clip(upper=rows.other_seeds) < 2).any():
        notes.append("with one seed, intervals are for these training runs only")
    if rows.ratio.isna().any():
        notes.append(
            "other words: perplexities of LMs with different tokens, or with different unknown words, are "
            "not comparable"
        )
    return Table(f"{title}: perplexity by pair", header, grid, notes, left=2)


def _cell(row: pd.Series) -> Cell:
    """Return the cell of a pair: difference, interval and published value."""
    if np.isnan(row.ratio):
        return "other words"
    below = () if np.isnan(row.low) else (style.percents(row.low - 1, row.high - 1),)
    if not np.isnan(row.published_ratio):
        below += (f"published {style.percent(row.published_ratio - 1)}",)
    return Cell(style.percent(row.ratio - 1), below, bold=is_distinguishable(row))


def is_distinguishable(row: pd.Series) -> bool:
    """Return whether a pair's simultaneous interval excludes a ratio of 1."""
    low, high = (row.low, row.high) if np.isnan(row.low_all) else (row.low_all, row.high_all)
    return bool(low > 1 or high < 1)


def summary_of_perplexity_pairs(path: File) -> Table:
    """Return the pairs' differences on the test text, from this table's CSV, for the summary."""
    rows = pd.read_csv(path).query("text == 'test' and ratio > 0")
    grid = [
        [
            row.label,
            row.other_label,
            Cell(style.percent(row.ratio - 1), bold=is_distinguishable(row)),
        ]
        + [style.interval(row.low - 1, row.high - 1, style.percent)]
        for _, row in rows.iterrows()
    ]
    notes = ["bold where the interval, simultaneous for all pairs, excludes zero"] if grid else []
    return Table("", ["LM", "than", "Perplexity", "95 %"], grid, notes, left=2)


def table_perplexity_pairs(
    view: View,
    scores: Files,
    out: Files,
    variants: Described,
    pairs: Iterable[Sequence[str]],
    interpolated_with: str | None,
    texts: Files = (),
) -> None:
    """Write the table to `out` (.csv, .html, .tex); `scores` and `texts` are files as in `read`."""
    lms = read(scores, variants, interpolated_with, texts)
    rows = computed(lms, pairs)
    rows = with_published(rows, lms, view.published) if view.published else rows
    labels = {scored_lm.lm.lm: scored_lm.lm.label for scored_lm in lms}
    tables.write(out, layout(view.title, rows, labels.get(interpolated_with)), rows)


COLOURS = [colour for colour, _ in (*STYLES.values(), *OTHERS)]
CURVE_COLUMNS = ["curve", "x", "lm", "label", "seeds", "test_ppl", "test_sd"]


def collect_points(lms: Sequence[Scored], of: Mapping[str, Sequence[tuple[float, str]]]):
    """Return COLUMNS of each curve's LMs, by x; `of` maps a curve to pairs of x and LM."""
    scored = table_computed(lms).set_index("lm")
    rows = [
        {"curve": curve, "x": x, "lm": lm, **scored.loc[lm, CURVE_COLUMNS[3:]]}
        for curve, points in of.items()
        for x, lm in sorted(points)
    ]
    return pd.DataFrame(rows, columns=CURVE_COLUMNS)


def draw(rows: pd.DataFrame, label: str) -> Figure:
    """Draw a line for each curve; bars are standard deviations of seeds."""
    figure = style.figure(3.0)
    axes, last, names, colours = figure.add_subplot(), [], [], []
    for number, (curve, points) in enumerate(rows.groupby("curve", sort=False)):
        colour = COLOURS[number % len(COLOURS)]
        spread = points.test_sd.fillna(0)
        axes.errorbar(points.x, points.test_ppl, spread, color=colour, marker="o", ms=3.5, lw=1.1)
        last.append((points.x.iloc[-1], points.test_ppl.iloc[-1]))
        names.append(curve)
        colours.append(colour)
    axes.set_xlabel(label)
    axes.set_ylabel("Perplexity (test)")
    style.plain_ticks(axes)
    axes.grid()
    ends.name(axes, names, last, colours)
    return figure


def figure_perplexity_curves(
    *,
    scores: Files,
    out: Files,
    variants: Described,
    interpolated_with: str | None,
    curves: Mapping,
    texts: Files = (),
) -> None:
    """Draw the figure to `out` (.pdf, .svg, .png; .csv for the values); files as in `read`."""
    rows = collect_points(read(scores, variants, interpolated_with, texts), curves["of"])
    style.write(out, rows, draw, rows, curves["x"])
