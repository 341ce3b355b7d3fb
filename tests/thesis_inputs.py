"""Made-up inputs of the last jobs of the thesis's tables and figures, by evaluation and role.

They have the columns that the jobs read, and few rows.
"""

import numpy as np
import pandas as pd

from recency.evaluations.abusive_words import classify
from recency.evaluations.abusive_words import view as abusive
from recency.evaluations.contrasts import paired
from recency.evaluations.maze import choices
from recency.evaluations.rare_words import score as rare_words
from recency.evaluations.word_length import types
from recency.networks.string_similarity import SIMILARITIES

#: A training text with words of each frequency class, and another text.
TRAINED = " ".join(["once"] + ["often"] * 12 + ["twice"] * 2)
TEXTS = pd.DataFrame({"text": ["new once twice often"] * 3})
#: Of a regression's data.
READERS, WORDS = 3, 20


def _numbers(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(1, 5, count)


def _text(study, experiment, settings, number):
    asked = study.experiment(experiment).get("perplexity", {})
    return pd.DataFrame({"text": [TRAINED]}) if "rare" in asked and number else TEXTS


def _part(study, experiment, settings, number):
    """Return the training text of a corpus, then its other parts."""
    return TEXTS if number else pd.DataFrame({"text": [TRAINED]})


def _scores(study, experiment, settings, number):
    sizes = [len(text.split()) + 1 for text in TEXTS.text]
    words = sum(sizes)
    return pd.DataFrame(
        {"nats": _numbers(words, number), "known": True, "token_id": 1,
         "document": np.repeat(range(len(sizes)), sizes), "words_per_second": 1e3,
         "parameters": 6_000_000}
    )  # fmt: skip


def _neighbours(study, experiment, settings, number):
    asked = study.experiment(experiment)["nearest_words"]["words"]
    rows = [
        {"lm": settings["lms"][number]["lm"], "space": space, "word": word, "rank": rank}
        | {"neighbour": f"near{rank}", "value": 1 / rank}
        for space in ("U", "C")
        for word in asked
        for rank in range(1, 6)
    ]
    return pd.DataFrame(rows)


def _windows(study, experiment, settings, number):
    window = int(settings["window_lms"][number][-1])  # n − 1 = 4
    rows = [
        {"position": position, "low": low, "high": low + 1, "count": 5, "mean_absolute": 0.5}
        for position in range(1, window + 1)
        for low in (-1, 0)
    ]
    return pd.DataFrame(rows)


def _sparseness(study, experiment, settings, number):
    span = int(settings["sparse_lms"][number].removeprefix("CDLM "))
    thresholds = study.experiment(experiment)["learned_weights"].get("thresholds", [0.01, 0.1])
    rows = [(distance, at, 5 * at) for distance in range(4, span) for at in thresholds]
    return pd.DataFrame(rows, columns=["distance", "threshold", "share"])


def _correlations(study, experiment, settings, number):
    """Return states of each LM, of a corpus also the short memory of an LSRC, which a dataset's texts do not give."""
    memory = study.lms[settings["lms"][number]["lm"]].get("memory") or {}
    asked = study.experiment(experiment)["temporal_correlation"]
    is_lsrc = memory.get("form") == "lsrc" and "corpus" in asked
    rows = [
        {"layer": 1, "state": state, "distance": distance, "correlation": 1 / distance}
        | {"shuffled": 0.1, "pairs": 2000}
        for state in ("output", "local")[: 1 + is_lsrc]
        for distance in (1, 10, 100, 1000, 3000)
    ]
    return pd.DataFrame(rows)


def _triggering(study, experiment, settings):
    pairs = study.experiment(experiment)["triggering"]["pairs"]
    rows = [
        {"first": first, "second": second, "distance": distance, "distance_to": distance}
        | {"times": 2.0, "low": 1.0, "high": 3.0, "together": 10}
        for first, second in pairs
        for distance in (1, 10, 100)
    ]
    return pd.DataFrame(rows)


def _similarities(study, experiment, settings, number):
    names = ["without", *SIMILARITIES]
    rows = pd.DataFrame({"similarity": names, "spearman": _numbers(len(names), number) / 10})
    return rows.assign(
        pairs=65, known_pairs=60, spearman_known=0.5, made_words=5, left_out=0
    ).reindex(columns=rare_words.COLUMNS)


def _abusive(study, experiment, settings):
    """Feature sets without vectors, then an LM's; those of resources that are not here lack values."""
    sets = [(classify.MAJORITY, "")] + [(name, "") for name in classify.SETS]
    sets += [
        (classify.EMBEDDINGS + suffix, lm["lm"])
        for lm in settings["lms"]
        for suffix in ("", "+SWordSS")
    ]
    rows = pd.DataFrame(sets, columns=["features", "lm"]).reindex(columns=classify.COLUMNS)
    return rows.assign(entries=100, precision=70.0, recall=60.0, f1=65.0, f1_of_classes=64.0)


def _expanded(study, experiment, settings):
    entries = ["first_noun", "second_adj", "third_verb"]
    scores = {"score": [2.0, 1.0, -1.0], "published": [3.0, -1.0, -2.0]}
    return pd.DataFrame({"entry": entries, **scores, "in_base": [True, False, False]})


def _agreement(study, experiment, settings):
    about = {"features": "linguistic", "lm": "", "f1": 77.0} | dict.fromkeys(
        abusive.AGREEMENT[3:], 1
    )
    return pd.DataFrame([about])


def _ranks(study, experiment, settings, number):
    places = [(text, place) for text in range(3) for place in range(8)]
    rows = pd.DataFrame(places, columns=["text", "place"])
    rank = np.random.default_rng(number).integers(1, 9, len(rows))
    return rows.assign(
        word="word", token="word", nats=_numbers(len(rows), number), log_rank=np.log(rank),
        top_1=rank == 1,
    )  # fmt: skip


def _sheet(study, experiment, settings):
    return pd.DataFrame(
        {"id": [1, 2], "context": "The word", "continuation": "of it .", "rating": ""}
    )


def _key(study, experiment, settings):
    return pd.DataFrame({"id": [1, 2], "text": 0, "lm": ["original", "Pythia"], "complete": True})


def _lengths(study, experiment, settings):
    lms = [lm["lm"] for lm in settings["lms"]]
    rows = pd.DataFrame(
        [
            {"lm": lm, "level": level, "size": size}
            for level, size in (("overall", 512), ("common", 100), ("size", 128), ("size", 256))
            for lm in (*types.FREQUENCIES, *lms)
        ]
    ).reindex(columns=types.COLUMNS)
    counted = rows.assign(types=100, words=500, rho=_numbers(len(rows), 1) / 10, low=0.0, high=0.9)
    shares = dict.fromkeys(types.COLUMNS[types.COLUMNS.index("length_small") :], 0.2)
    return counted.assign(
        steiger_t=1.0, steiger_p=0.3, perplexity=_numbers(len(rows), 2) * 20, **shares
    )


def _fitted(study, experiment, settings, number):
    rng = np.random.default_rng(number)
    rows = pd.DataFrame(
        rng.normal(size=(READERS * WORDS, 5)),
        columns=["time_ms", "length", "unigram", "position", "surprisal"],
    )
    rows["subject"] = np.repeat(list("abc"), WORDS)
    return rows.assign(time_ms=rows.time_ms + 9 * rows.length)


def _fit(study, experiment, settings, number):
    """Return a regression's record, in the parts that shares of variance and effects read."""
    terms = ["(Intercept)", "length", "unigram", "position", "surprisal"]
    return {
        "formula": "time_ms ~ length + unigram + position + surprisal",
        "response": "raw",
        "fixed": [{"term": term, "estimate": 1.0, "se": 0.1} for term in terms],
        "scaling": {term: {"mean": 0.0, "sd": 2.0} for term in terms[1:]},
        "n": {"fit": 100},
    }


def _maze(study, experiment, settings):
    lms = study.lms_of(experiment)
    readers = [{"lm": choices.READERS, "label": "readers"}] * (experiment == "maze")
    levels = [("overall", "overall"), ("condition", "adverb_high"), ("condition", "adverb_low")]
    levels += [("position", str(place)) for place in range(3)]
    rows = pd.DataFrame(
        [
            {"lm": lm["lm"], "label": lm["label"], "level": level, "group": group}
            for level, group in levels
            for lm in (*readers, *lms)
        ]
    ).reindex(columns=choices.COLUMNS)
    accuracy = 90 + _numbers(len(rows), 1)
    ends = {"low": accuracy - 1, "high": accuracy + 1, "difference": 1.0}
    more = {"difference_low": 0.0, "difference_high": 2.0, "margin_bits": 4.0}
    return rows.assign(
        words=100, accuracy=accuracy, perplexity=100 * _numbers(len(rows), 2), **ends | more
    )


def _contrasts(study, experiment, settings):
    asked = study.experiment(experiment)["maze"]["contrasts"]
    rows = [
        {"contrast": name, "contrast_label": about.get("label", name), "lm": lm["lm"], "items": 40}
        | {"difference": 0.5, "t": 2.5, "p": 0.02, "passed": bool(number % 2)}
        | {"label": lm["label"]}
        for number, (name, about) in enumerate(asked.items())
        for lm in study.lms_of(experiment)
    ]
    return pd.DataFrame(rows, columns=[*paired.COLUMNS, "label"])


#: "evaluation.role" of a single file → its content.
ONE = {
    "triggering.counts": _triggering,
    "abusive_words.scores": _abusive,
    "abusive_words.words": _expanded,
    "abusive_words.agreement": _agreement,
    "turing_test.sheet": _sheet,
    "turing_test.key": _key,
    "word_length.lengths": _lengths,
    "maze.maze": _maze,
    "maze.contrasts": _contrasts,
}
#: "evaluation.role" of a list of files → the content of each.
MANY = {
    "text_perplexity.scores": _scores,
    "text_perplexity.texts": _text,
    "corpus_sizes.texts": _part,
    "nearest_words.neighbours": _neighbours,
    "learned_weights.windows": _windows,
    "learned_weights.sparseness": _sparseness,
    "temporal_correlation.correlations": _correlations,
    "rare_words.scores": _similarities,
    "rank_metrics.ranks": _ranks,
    "families.fitted": _fitted,
    "families.fits": _fit,
    "reading_times.fits": _fit,
}
