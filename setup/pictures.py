"""Draw pictures of docs/ from the values that are stored next to them, by the figures' code of today.

    python setup/pictures.py [FOLDER]

Each picture holds its texts (labels, notes), which a test compares with those of a new drawing.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from recency import config as configuration
from recency.evaluations.bias_search import figure as bias_search
from recency.evaluations.length import view as length
from recency.evaluations.pooled import view as pooled
from recency.evaluations.rank_metrics import view as rank_metrics
from recency.evaluations.reading_times.figure_delta_loglik import differences
from recency.evaluations.triggering import view as triggering
from recency.evaluations.word_length import view as word_length
from recency.figures import comparison, labels, style
from recency.figures.comparison import LM
from recency.workflow.config import loading

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TEXTS = "Description"  # the PNG's key of its texts
WIDTH = 4.6  # inches, of pictures of differences
#: Notes on the intervals of figures that a page's table has, too.
THEORIES = "95 % intervals, subjects and sentences resampled jointly, every draw refitted, new training seeds included; means of 3 seeds"
SMOLLM2 = "95 % intervals of all pairs of the 15 together, subjects and sentences resampled jointly, every draw refitted"


def read(name: str) -> pd.DataFrame:
    """Return a table of docs/."""
    return pd.read_csv(DOCS / name)


def described(config: Mapping, names: Iterable[str]) -> list[LM]:
    """Return LMs of a study's config, as its figures have them."""
    lms = (
        configuration.described(name, configuration.language_model(config, name)) for name in names
    )
    return comparison.records(lms, [])[0]


def of_open_study(table: pd.DataFrame, experiment: str) -> list[LM]:
    """Return the LMs of an experiment of the open study that a table has."""
    config = loading.load(ROOT, "config/open.yaml")
    there = set(table.lm)
    return described(config, (lm for lm in config["experiments"][experiment]["lms"] if lm in there))


def draw_perplexity(rows: pd.DataFrame, lms: list[LM]) -> Figure:
    """Draw ΔLogLik against perplexity, with the intervals of the differences from the first LM."""
    looks = style.looks(lms, apart=True)
    rows = rows.assign(low=rows.delta_loglik, high=rows.delta_loglik).set_index("lm")
    base = rows.delta_loglik[lms[0].lm]
    rows["low"] = rows.difference_low.add(base).fillna(base)
    rows["high"] = rows.difference_high.add(base).fillna(base)
    figure = style.figure(4.0)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.axhline(base, color=style.GREY, lw=1, ls=(0, (4, 2)))
    points = rows.perplexity, rows.delta_loglik
    labels.draw_lms(axes, lms, looks, *points, (rows.low, rows.high))
    axes.margins(0.12)
    style.log_ticks(axes, 30)
    axes.set_xlabel("Perplexity per token (log scale)")
    axes.set_ylabel("ΔLogLik (nats)")
    axes.grid(which="major")
    style.notes(figure, [f"lines: differences from {lms[0].label} (dashed), {THEORIES}"])
    labels.name_lms(axes, lms, looks, *points)
    return figure


def of_corpora() -> Figure:
    """Return the lead of mixed slopes in each corpus, and their mean."""
    effects, means = read("open-study/by_corpus.csv"), read("open-study/by_corpus_pooled.csv")
    config = loading.load(ROOT, "config/open.yaml", "docs/open-study/stored.yaml")
    words = pooled.sentences(means)
    return pooled.draw(effects, means, described(config, ["mixed"]), "no bias", words)


def of_word_length() -> Figure:
    """Return ρ of length and surprisal, and shares of variance."""
    rows = read("open-study/word_length.csv")
    lms = of_open_study(rows, "word_length")
    names = word_length.labels_of(comparison.View(lms, []), "open English text")
    published = read("../data/published/thesis_table8_1.csv")
    return word_length.draw(rows, lms, names, word_length.with_perplexity(rows, published))


def of_rank_metrics() -> Figure:
    """Return mean log rank and top-1 accuracy by perplexity."""
    rows = read("open-study/rank_metrics.csv")
    return rank_metrics.draw(rows, of_open_study(rows, "ranks_and_continuations"), None)


def of_lengths() -> Figure:
    """Return the masked LMs' perplexity by length."""
    rows = read("open-study/mlm_length.csv")
    return length.draw(rows, of_open_study(rows, "mlm"), 128)


def of_retention() -> Figure:
    """Return triggering in text, and retention by each LM."""
    rows = read("open-study/theories_retention.csv")
    lost = "too little at 2 to 5 words to compare with: the … the"
    return triggering.figure_retention_draw(rows, of_open_study(rows, "theories"), [lost])


def of_theories() -> Figure:
    """Return each theory's difference from no bias."""
    rows = read("open-study/theories.csv")
    lms = of_open_study(rows, "theories")
    ends = rows.set_index("lm").rename(columns={"low": "own_low", "high": "own_high"})
    ends = ends.rename(columns={"difference_low": "low", "difference_high": "high"})
    looks = style.looks(lms[1:], apart=True)
    return differences(ends, lms[1:], lms[0].label, THEORIES, looks, WIDTH)


def of_theories_by_perplexity() -> Figure:
    """Return each theory's ΔLogLik by perplexity."""
    rows = read("open-study/theories.csv")
    return draw_perplexity(rows, of_open_study(rows, "theories"))


def of_smollm2() -> Figure:
    """Return the difference of each bias at inference from SmolLM2 without one."""
    rows = read("pretrained/smollm2.csv").set_index("bias")[
        ["difference", "difference_low_simultaneous", "difference_high_simultaneous"]
    ]
    rows.columns = ["difference", "low", "high"]
    config = loading.load(ROOT, "config/pretrained.yaml")
    keys = {bias: f"smollm2-{bias.replace('/', '_')}-I" for bias in rows.index[1:]}
    lms = described(config, keys.values())
    named = [
        LM(lm.lm, bias, lm.bias, lm.applied, lm.network) for lm, bias in zip(lms, keys, strict=True)
    ]
    rows = rows.rename(index=keys)
    return differences(rows, named, "no bias", SMOLLM2, style.looks(named, apart=True), WIDTH)


def of_search() -> Figure:
    """Return the log-likelihood of SmolLM2's biases by decay and weight."""
    rows = read("pretrained/search.csv").set_index("trial")
    config = loading.load(ROOT, "config/pretrained.yaml")
    search = config["searches"]["smollm2"]
    unbiased, marked = rows.loglik["no bias"], rows.loc["dVM-2024"]
    trials = rows.drop(index=["no bias", "dVM-2024"])
    trials = trials.assign(gain=trials.loglik - unbiased)
    best = trials.loc[trials.gain.idxmax()]
    names = list(search["parameters"])
    record = {
        "lm": "SmolLM2-135M",
        "responses": ["Provo (items) FP"],
        "searched": search["parameters"],
        "bias": dict(best[names]),
        "trial": best.name,
        "loglik": best.loglik,
        "unbiased": unbiased,
        "marked": {"dVM-2024": {"bias": dict(marked[names]), "loglik": marked.loglik}},
    }
    return bias_search.draw(trials, record, bias_search.sentences(trials, record))


def of_endpoint() -> Figure:
    """Return power and size of the candidate endpoints, by the benchmark's code."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import endpoint_views
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return endpoint_views.draw(endpoint_views.shown(read("endpoint/candidates.csv")))


PICTURES: dict[str, Callable[[], Figure]] = {
    "open-study/by_corpus.png": of_corpora,
    "open-study/word_length.png": of_word_length,
    "open-study/rank_metrics.png": of_rank_metrics,
    "open-study/mlm_length.png": of_lengths,
    "open-study/theories_retention.png": of_retention,
    "open-study/theories_delta_loglik.png": of_theories,
    "open-study/theories_perplexity.png": of_theories_by_perplexity,
    "pretrained/smollm2.png": of_smollm2,
    "pretrained/search.png": of_search,
    "endpoint/figure_endpoint.png": of_endpoint,
}


def drawn(figure: Figure) -> list[Text]:
    """Return the texts that a figure shows: ticks outside the limits are not drawn."""
    figure.draw_without_rendering()
    hidden = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        for tick in (tick for tick in ticks if not low <= tick.get_loc() <= high):
            hidden |= {tick.label1, tick.label2}
    found = [text for text in figure.findobj(Text) if text.get_visible() and text not in hidden]
    return [text for text in found if text.get_text().strip()]


def texts(figure: Figure) -> str:
    """Return all texts of a figure, a line each, in the order of their letters."""
    return "\n".join(sorted({" ".join(text.get_text().split()) for text in drawn(figure)}))


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG that holds its texts."""
    about = PngInfo()
    about.add_itxt(TEXTS, texts(figure))
    style.save(figure, [path])
    with Image.open(path) as picture:
        picture.load()
    picture.convert("RGB").save(path, pnginfo=about, optimize=True, dpi=picture.info["dpi"])


def main() -> None:
    """Write all pictures."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else DOCS)
    for name, draw in PICTURES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with style.use():
            save(draw(), folder / name)


if __name__ == "__main__":
    main()
