"""Add word entropy to texts' scores, check its tolerance, and describe it for the log."""

from collections.abc import Callable, Sequence

import numpy as np

from recency.errors import InputError
from recency.scoring.alignment import Text
from recency.scoring.begin_token import begin_token
from recency.scoring.measures import MeasureRequest
from recency.scoring.next_word.next_words import NextWords
from recency.scoring.next_word.word_entropy_settings import NAME, WordEntropy
from recency.scoring.results import UNITS

REDUCTION = f"{NAME}_reduction"
BITS = UNITS["bits"]


def add(
    model,
    texts: Sequence[Text],
    scores: Sequence,
    asked: MeasureRequest,
    settings: WordEntropy,
    names: Sequence[tuple[object, Sequence[str]]],
    bos: bool | str = True,
    stride: int | None = None,
    window: int | None = None,
    precision: str = "fp32",
    report: Callable[[int, int], None] = lambda done, total: None,
    **unused,
) -> list[str]:
    """Add word entropy to the statistics of each text's scores; return notes for the log.

    Parameters
    ----------
    model : recency.scoring.surprisal.Model
    texts, scores : sequence
        Tokens of each text, and its `causal.Scores`, which are modified.
    asked : Asked
        The requested measures.
    settings : WordEntropy
    names : sequence of (item, words)
        Each text's item and words, for messages.
    bos, stride, window, precision, report
        See `recency.scoring.surprisal.score_words`.

    Raises
    ------
    InputError
        If a word's standard error, or the distance of its bounds, exceeds the tolerance.
    """
    words = NextWords(
        *(model, model.output_layers[precision], settings, begin_token(model, bos)),
        *(stride, window, precision == "bf16"),
    )
    columns = words.score(texts, REDUCTION in asked.measures, report)
    for score, column in zip(scores, columns, strict=True):
        score.statistics.update(column)
    firsts = [np.unique(text.word, return_index=True) for text in texts]
    if settings.tolerance is not None:
        _require_tolerance(settings, columns, firsts, names)
    scored = np.concatenate([column[NAME][at] for column, (_, at) in zip(columns, firsts)])
    notes = [_describe(settings, int(np.isfinite(scored).sum()), len(scored))]
    if settings.method == "sampling":
        longer = np.concatenate([column["cut"] for column in columns])
        if np.nanmax(longer, initial=0) > 0:
            notes.append(
                f"{NAME}: words of more than {settings.longest} tokens have a probability of "
                f"{np.nanmax(longer):.1e} at most, {np.nanmean(longer):.1e} on average, and end there"
            )
    if not (words.carried or words.branches):
        notes.append(
            f"{NAME}: {type(model.network).__name__} reads each prefix with its whole context, which "
            "takes many times as long; the text's pass is reused only with attention of transformers' "
            "registry and in this project's recurrent networks"
        )
    return notes


def _describe(settings: WordEntropy, scored: int, words: int) -> str:
    """Return a line on the method and the number of words with a value."""
    how = {
        "sampling": f"{settings.samples} samples a word, seed {settings.seed}, {settings.estimator}",
        "enumeration": f"{len(settings.words):,} words",
        "beam": f"{settings.beam} prefixes a step",
    }[settings.method]
    return f"{NAME}: {settings.method}, {how}; {scored:,} of {words:,} words have it"


def _require_tolerance(settings: WordEntropy, columns, firsts, names) -> None:
    """Raise InputError if a word misses the tolerance, with the one that misses it most."""
    off, where = [], []
    for column, (owners, at), (item, words) in zip(columns, firsts, names, strict=True):
        if settings.method == "beam":
            error = column[f"{NAME}_upper"][at] - column[f"{NAME}_lower"][at]
        else:
            error = column[f"{NAME}_se"][at]
        off += (error / BITS).tolist()
        where += [(item, int(number) + 1, words[number]) for number in owners]
    if not np.isfinite(off).any():
        return
    worst = int(np.nanargmax(off))
    if off[worst] <= settings.tolerance:
        return
    item, number, word = where[worst]
    within = np.nanmean(np.array(off)[np.isfinite(off)] <= settings.tolerance)
    if settings.method == "beam":
        what, way = "the bounds are apart by", "`beam`"
    else:
        more = settings.samples * (off[worst] / settings.tolerance) ** 2
        what, way = "the standard error is", f"`samples` (to about {np.ceil(more):,.0f})"
    raise InputError(
        f"{NAME}: tolerance {settings.tolerance:g} bits is not reached: item {item}, word {number} "
        f"({word!r}): {what} {off[worst]:.3g} bits; {within:.0%} of the words are within it; raise "
        f"{way} or the tolerance"
    )
