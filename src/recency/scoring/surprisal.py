"""Rule surprisal: surprisal of every word of a dataset under one language model (contract 3)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.progress import progress
from recency.scoring import alignment, ngram, ngram_surprisal, results, whitespace
from recency.scoring import tokenizer as tokenizer_files
from recency.scoring.results import Result
from recency.scoring.texts import Texts, as_words

#: Tokens that `bos: true` puts before a text, the first that the tokenizer has.
BEGINNINGS = ("<|endoftext|>", "<s>", "<bos>", "<|begin_of_text|>")
FIRST_WORDS = ("null", "rest")


@dataclass
class Model:
    """A network with its tokenizer, ready to score."""

    network: Any  # a PreTrainedModel
    tokenizer: Any  # a tokenizers.Tokenizer
    masked: bool = False
    output_layers: dict = field(default_factory=dict)  # precision → causal.OutputLayer, made once

    @cached_property
    def kind(self) -> np.ndarray:
        """The kind of each entry of the vocabulary."""
        return alignment.kinds(self.tokenizer)


def main(
    words: Path | Sequence[Path],
    model: str | Path,
    tokenizer: str | Path | None,
    out: Path | Sequence[Path],
    lm: str,
    dataset: str | Sequence[str],
    bias: dict | None = None,
    bos: bool | str = True,
    stride: int | None = None,
    threads: int = 1,
    ledger: Path | Sequence[Path] | None = None,
    **settings,
) -> None:
    """Write word_id, surprisal_bits, corrected_bits, tokens and context_tokens for each word.

    `model` is a folder, a Hub name, or an n-gram model's file; `bias` is put on at inference. With
    lists of `words`, `out`, `dataset` and `ledger`, one load serves many datasets. `ledger` gets
    the alignment issues (CSV); `settings` are those of `score_words`.
    """
    if isinstance(words, str | Path):
        words, out, dataset, ledger = [words], [out], [dataset], [ledger] if ledger else None
    if not ngram.is_ngram(model):
        import torch

        torch.set_num_threads(threads)
        model = load(model, tokenizer, bias)
    for number, (table, path, name) in enumerate(zip(words, out, dataset, strict=True)):
        shown = progress(1, f"surprisal of {name} under {lm}", "windows")

        def report(done: int, total: int, shown=shown) -> None:
            shown.total = total
            shown.update(done)

        result = score_words(
            pd.read_parquet(table), model, bos=bos, stride=stride, report=report, **settings
        )
        result.write(path, ledger[number] if ledger else None, name)


def load(
    model: str | Path,
    tokenizer: str | Path | None = None,
    bias: dict | None = None,
    masked: bool | None = None,
) -> Model:
    """Open a checkpoint made here, a folder or a Hub name, causal or masked, with its tokenizer.

    Which it is stands in its config's `architectures`; `masked` overrules that.
    """
    import torch
    from transformers import AutoConfig, AutoModelForMaskedLM

    from recency.attention import biased
    from recency.networks import architectures

    if masked is None:
        try:
            classes = AutoConfig.from_pretrained(model).architectures or []
        except OSError as error:
            raise InputError(
                f"checkpoint {str(model)!r} is no folder with a network and could not be had from the "
                f"Hub ({str(error).splitlines()[0]}); without internet, save it into a folder on a "
                "machine that has it (`save_pretrained` of the model and of its tokenizer) and name "
                "that folder in `checkpoint:`"
            ) from error
        masked = any(name.endswith("ForMaskedLM") for name in classes)
    if masked:
        opened = AutoModelForMaskedLM.from_pretrained(model).eval()
        if bias is not None:
            biased.attach(opened, bias)
    else:
        opened = architectures.load(model, bias)
    for module in list(opened.modules()):  # the same function, in one pass over memory, not eight
        for name, child in list(module.named_children()):
            if type(child).__name__ in ("NewGELUActivation", "FastGELUActivation"):
                setattr(module, name, torch.nn.GELU("tanh"))
    if torch.cuda.is_available():
        opened = opened.cuda()
    return Model(opened, tokenizer_files.load(model, tokenizer), masked)


def score_words(
    words: Texts,
    model,
    tokenizer=None,
    bos: bool | str = True,
    stride: int | None = None,
    *,
    unit: str = "bits",
    correction: str = whitespace.VARIANTS[0],
    first_word: str = "null",
    leading_space: bool = False,
    context: str = "item",
    metric: str = "within_word_l2r",
    future: str = "seen",
    **options,
) -> Result:
    """Score every word of `words` (contract 1, or what else `texts.as_words` takes).

    `model` is a `Model`, a network (with `tokenizer`), a folder, a Hub name, or an ARPA or KenLM
    file. `surprisal_bits` sums a word's tokens; `corrected_bits` counts the space behind a word
    with it, by the variant `correction` of recency.scoring.whitespace. `unit` may be nats or log10.

    Causal models: `bos` puts the tokenizer's begin token, or the one named, before each text.
    Without one a first word has nothing before it: it is null, or with `first_word` "rest" the sum
    of its other tokens. `leading_space` writes it with a space. `stride` is the tokens that each
    further window adds. Masked models: `metric` and `future` of recency.scoring.masked. N-grams:
    `context` runs within an "item" or a "sentence". `options` (window, tokens_at_once, precision,
    report) bound the memory and are those of `causal.score` and `masked.score`.
    """
    words = as_words(words)
    if first_word not in FIRST_WORDS:
        raise InputError(f"first_word {first_word!r} is none of {', '.join(FIRST_WORDS)}")
    if isinstance(model, str | Path) and ngram.is_ngram(model):
        return ngram_surprisal.score(words, model, bool(bos), context, unit)
    if isinstance(model, str | Path):
        model = load(model, tokenizer)
    elif not isinstance(model, Model):
        name = type(model).__name__
        model = Model(model, tokenizer, name.endswith("ForMaskedLM"))
    items = words.groupby("item", sort=False).indices
    kind, shown = model.kind, words["word"].to_numpy()
    texts = [
        alignment.align(list(shown[rows]), model.tokenizer, f"item {item}: ", leading_space, kind)
        for item, rows in items.items()
    ]
    scores = score_texts(model, texts, bos, stride, metric, future, **options)
    rows = list(items.values())
    return _sum(words, rows, texts, scores, model, unit, correction, first_word)


def score_texts(
    model: Model,
    texts: Sequence[alignment.Text],
    bos: bool | str = True,
    stride: int | None = None,
    metric: str = "within_word_l2r",
    future: str = "seen",
    **options,
) -> list:
    """Return one `causal.Scores` per text; the settings are those of `score_words`."""
    if model.masked:
        return _score_masked(model, texts, metric, future, options)
    return _score_causal(model, texts, bos, stride, **options)


def _score_causal(model: Model, texts, bos, stride, precision="fp32", **options) -> list:
    """Score the texts' tokens by a causal model."""
    from recency.scoring import causal as scoring

    start = begin_token(model.tokenizer, bos)
    if precision not in model.output_layers:
        model.output_layers[precision] = scoring.OutputLayer(
            model.network, model.kind, precision == "bf16"
        )
    ids, output_layer = [text.ids for text in texts], model.output_layers[precision]
    return scoring.score(
        model.network,
        ids,
        model.kind,
        start,
        stride,
        precision=precision,
        output_layer=output_layer,
        **options,
    )


def begin_token(tokenizer, bos: bool | str) -> int | None:
    """Return the token that `bos` puts before a text: the one named, or the tokenizer's own."""
    if not bos:
        return None
    names = [bos] if isinstance(bos, str) else BEGINNINGS
    known = [tokenizer.token_to_id(name) for name in names]
    start = next((number for number in known if number is not None), None)
    if start is None:
        raise InputError(
            f"`bos: {str(bos).lower()}` needs a tokenizer with {' or '.join(names)}; set "
            "`bos: false` for this LM"
        )
    return start


def _score_masked(model: Model, texts, metric, future, options) -> list:
    """Score the texts' tokens by a masked model, which has no word-initial masses."""
    from recency.scoring import causal as scoring
    from recency.scoring import masked

    if options.pop("precision", "fp32") != "fp32":
        raise InputError("`precision` is for causal LMs; leave it out for a masked one")
    around = masked.frame(model.tokenizer, getattr(model.network.config, "pad_token_id", None))
    found = masked.score(model.network, texts, around, metric, future, **options)
    none = [np.full(len(text.ids) + 1, np.nan) for text in texts]
    return [scoring.Scores(log, empty, empty, seen) for (log, seen), empty in zip(found, none)]


def _sum(words, items, texts, scores, model, unit, correction, first_word) -> Result:
    """Sum tokens to words, correct for white space, check, and list the alignment issues."""
    kind = model.kind
    filled = np.full((2, len(words)), np.nan)
    counts = np.zeros((2, len(words)), np.int32)
    marked = bool((kind == alignment.SPACE).any()) and not model.masked
    issues, worst = [], 0.0
    for rows, text, score in zip(items, texts, scores, strict=True):
        if len(text.ids) == 0:
            issues += [(rows[each.word], "", each.reason, each.treatment) for each in text.issues]
            continue
        owners, first = np.unique(text.word, return_index=True)  # words that have a token
        tokens = -score.log_probability
        if np.isnan(tokens[0]):
            null = first_word == "null"
            treatment = "null" if null else "its other tokens count"
            text.issues.insert(
                0, alignment.Issue(int(owners[0]), "nothing stands before it", treatment)
            )
            if not null:
                tokens = np.append(0.0, tokens[1:])
        plain = np.add.reduceat(tokens, first)
        bounds = np.append(first, len(text.ids))
        if marked:
            begins_marked = kind[text.ids[0]] == alignment.SPACE
            before = whitespace.boundaries(
                score.log_space[bounds], score.log_end[bounds], begins_marked, correction
            )
            corrected = whitespace.correct(plain, before)
            scored = np.repeat(np.isnan(plain), np.diff(bounds))
            off = whitespace.discrepancy(np.where(scored, 0.0, tokens), corrected, before)
            total = float(np.nansum(np.abs(plain)))
            if not off <= 1e-9 * total + 1e-6:
                raise ArithmeticError(
                    f"the whitespace correction does not add up: off by {off} nats"
                )
            worst = max(worst, off)
            filled[1, rows[owners]] = corrected
        filled[0, rows[owners]] = plain
        counts[0, rows[owners]] = np.diff(bounds)
        counts[1, rows[owners]] = score.context[first]
        for each in text.issues:
            pieces = text.ids[text.word == each.word]
            pieces = " ".join(model.tokenizer.id_to_token(int(piece)) for piece in pieces)
            issues.append((rows[each.word], pieces, each.reason, each.treatment))
    worst /= results.UNITS.get(unit, 1.0)
    checked = len(texts) if marked else 0
    notes = [f"{len(issues):,} entries in the alignment ledger, {len(words):,} words"]
    if checked:
        notes.append(
            f"the whitespace correction ({correction}) adds up in {checked} of {checked} texts, "
            f"within {worst:.1e} {unit}"
        )
    made = results.table(words, *filled, *counts, unit=unit)
    return Result(made, results.ledger(words, issues), checked, worst, notes)
