"""Rule surprisal: score every word of a dataset with a language model (contract 3).

Check that an opened network and its tokenizer allow the requested scores.

Compare surprisal in a reduced precision of the weights with float32, on a sample of words.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from readingtimes.names import nearest
from readingtimes.progress import progress
from recency.errors import REFUSALS, InputError
from recency.scoring import (
    alignment,
    foils,
    measures,
    ngram,
    ngram_likeness,
    ngram_surprisal,
    plausible,
    results,
    word_measures,
)
from recency.scoring import measures as measure_names
from recency.scoring import tokenizer as tokenizer_files
from recency.scoring.lm_spec import LMSpec
from recency.scoring.lossy import lossy_readers, lossy_settings, lossy_surprisal, scanpaths
from recency.scoring.next_word import word_entropy_settings
from recency.scoring.results import Result
from recency.scoring.texts import VARIANTS, Texts, as_words, spaces_of
from recency.scoring.tokenizer import begin_note, begin_token

FIRST_WORDS = ("null", "rest")
MEASURE_SETTINGS = ("measures", "context", "tokens", "word_entropy")


@dataclass
class Model:
    """A network with its tokenizer, ready to score."""

    network: Any  # a PreTrainedModel
    tokenizer: Any  # a tokenizers.Tokenizer
    masked: bool = False
    bos_token: str | None = None  # the tokenizer's begin token
    weights: str = "float32"  # the requested precision of its weights
    output_layers: dict = field(default_factory=dict)  # precision → output_layer.OutputLayer

    @cached_property
    def kind(self) -> np.ndarray:
        """The kind of each entry of the vocabulary."""
        return alignment.kinds(self.tokenizer)

    @cached_property
    def around(self):
        """The `masked.Frame` of a masked LM; None for a causal LM."""
        from recency.scoring.masked import read_frame

        pad = getattr(self.network.config, "pad_token_id", None)
        return read_frame(self.tokenizer, pad) if self.masked else None

    def texts(self, words: pd.DataFrame) -> dict[Any, alignment.Text]:
        """Return item → tokens, in the order of `words` (contract 1)."""
        items, shown = words.groupby("item", sort=False).indices, words["word"].to_numpy()
        return dict(zip(items, align_items(self, items, shown, spaces_of(words)), strict=True))


def main(
    words: Path | Sequence[Path],
    lm: LMSpec,
    out: Path | Sequence[Path],
    dataset: str | Sequence[str],
    ledger: Path | Sequence[Path] | None = None,
    done: Callable[[int], None] = lambda number: None,
    accept: Sequence[Sequence[str]] = (),
    unigram: Sequence[Path] = (),
    fixations: Sequence[Path] = (),
    **settings,
) -> None:
    """Write word_id, surprisal_bits, corrected_bits, tokens and context_tokens for each word.

    `words` (contract 1), `out`, `dataset` (name) and `ledger` (CSV) may be lists, for which the LM is
    opened once. `done` is called with the number of each finished dataset. `accept` are checks that
    each dataset may fail (`plausible.require_plausible`; if given, also `require_unseen`). `unigram`
    has unigram surprisal (contract 3), for erasure by frequency; `fixations` (contract 4) those of
    each dataset, for contexts of readers, whose tables have a row per subject and fixated word.
    """
    if isinstance(words, str | Path):
        words, out, dataset, ledger = [words], [out], [dataset], [ledger] if ledger else None
    settings, compared = lm.reading | settings, {}
    if lm.weights.get("precision", "float32") != "float32":
        model, compared = open_and_compare(pd.read_parquet(words[0]), lm)
    else:
        model = lm.model if ngram.is_ngram(lm.model) else lm.open()
    for number, (table, path, name) in enumerate(zip(words, out, dataset, strict=True)):
        shown = progress(1, f"surprisal of {name} under {lm.name}", "windows")

        def report(done: int, total: int, shown=shown) -> None:
            shown.total = total
            shown.update(done)

        may_fail = accept[number] if accept else ()
        if accept:  # for held-out texts, the evaluating job makes this check
            plausible.require_unseen(table, name, lm.name, lm.model, may_fail)
        shown_words = pd.read_parquet(table)
        if unigram:
            shown_words = lossy_surprisal.with_unigram(shown_words, unigram[number])
        of_readers = {"scanpath": pd.read_parquet(fixations[number])} if fixations else {}
        try:
            result = _with_foils(shown_words, model, settings | of_readers | {"report": report})
        except REFUSALS as error:
            raise InputError(f"{name}: {error}") from None
        if compared:
            result.notes.append(note(compared))
            result.table.attrs["precision"] = compared
        by_word = replace(result, table=results.word_means(result.table, len(shown_words)))
        plausible.require_plausible(shown_words, by_word, lm=lm.name, dataset=name, accept=may_fail)
        result.write(path, ledger[number] if ledger else None, name)
        done(number)


def _with_foils(words: pd.DataFrame, model, settings: dict) -> Result:
    """Score words, and their foils, if any."""
    if foils.FOIL in words and "scanpath" in settings:
        raise InputError("`reader`: nobody fixated foils; take an LM without contexts of readers")
    result = score_words(words, model, **settings)
    if foils.FOIL in words:
        if lossy_surprisal.KEY in result.table.attrs:  # reuses optimised weights
            settings = settings | {"lossy": result.table.attrs[lossy_surprisal.KEY]}
        plain = {key: value for key, value in settings.items() if key not in MEASURE_SETTINGS}
        result.table[foils.COLUMN] = foils.surprisal(
            words,
            lambda texts: score_words(texts, model, **plain).table,
            getattr(model, "masked", False),
        )
    return result


def load(
    model: str | Path,
    tokenizer: str | Path | None = None,
    bias: dict | None = None,
    masked: bool | None = None,
    allow_pickle: bool = False,
    **weights: Any,
) -> Model:
    """Open a checkpoint with its tokenizer: a folder or a Hub name.

    The config's `architectures` says whether it is causal or masked; `masked` overrides it. Weights
    are read only from safetensors unless `allow_pickle`; missing or further weights are refused.
    `weights` are the settings `precision`, `sha256` and `device_map` of `checkpoints.load`.
    """
    import torch

    from recency.networks import checkpoints
    from recency.networks.encoder_decoders import EncoderDecoderLM

    opened = checkpoints.load(model, bias, masked, allow_pickle, **weights)
    masked = checkpoints.is_masked(opened.config) if masked is None else masked
    for module in list(opened.modules()):  # the same function in one pass over memory
        for name, child in list(module.named_children()):
            if type(child).__name__ in ("NewGELUActivation", "FastGELUActivation"):
                setattr(module, name, torch.nn.GELU("tanh"))
    placed = weights.get("device_map") is not None or hasattr(opened, "hf_quantizer")
    if torch.cuda.is_available() and not placed:
        opened = opened.cuda()
    loaded = tokenizer_files.load(model, tokenizer)
    if isinstance(opened, EncoderDecoderLM):
        opened.use(loaded[0])
    return Model(opened, loaded[0], masked, loaded[1], weights.get("precision", "float32"))


def score_words(
    words: Texts,
    model,
    tokenizer=None,
    bos: bool | str = True,
    stride: int | None = None,
    *,
    unit: str = "bits",
    correction: str = VARIANTS[0],
    first_word: str = "null",
    leading_space: bool = False,
    within: str = "item",
    metric: str = "within_word_l2r",
    future: str = "seen",
    measures: str | Sequence[str] | None = None,
    context: int | Sequence[int] | None = None,
    tokens: bool = False,
    lossy: Mapping[str, Any] | lossy_settings.Lossy | None = None,
    ngram_lm: ngram_likeness.Reference | str | Path | None = None,
    word_entropy: Mapping[str, Any] | None = None,
    scanpath: pd.DataFrame | None = None,
    reader: Mapping[str, Any] | scanpaths.ReaderContext | None = None,
    **options,
) -> Result:
    """Score words with a language model.

    Parameters
    ----------
    words : DataFrame or texts
        Contract 1, or any input of `as_words`.
    model : Model, PreTrainedModel, path or str
        An opened model, a network (with `tokenizer`), a folder, a Hub name, or an n-gram file.
    bos : bool or str
        The begin token before each text (causal LMs): the model's own, a token, or none.
    stride : int, optional
        Tokens that each further window adds (causal LMs).
    unit, correction : str
        "bits", "nats" or "log10"; variant of recency.scoring.texts for `corrected_<unit>`.
    first_word : {"null", "rest"}
        Surprisal of a first word without context: null, or the sum over its later tokens.
    leading_space : bool
        Whether a space precedes a text's first word.
    within, metric, future : str
        "item" or "sentence", the context of n-gram models; for masked LMs (recency.scoring.masked).
    measures, context
        Further measures (recency.scoring.measures), and numbers of words of short contexts.
    tokens : bool
        Whether the result also has one row per token.
    scanpath, reader
        Fixations (contract 4), for a row per subject and fixated word, and the settings of
        `scanpaths.ReaderContext`.
    lossy, ngram_lm, word_entropy, **options
        See lossy_settings.Lossy, ngram_likeness.Reference, word_entropy_settings.WordEntropy, and
        `causal.score`; `tuned_lens` is the file of recency.scoring.inside.
    """
    words = as_words(words)
    asked, _ = measure_names.check(measures, context), results.nats(unit)
    erased = None if lossy is None else lossy_settings.check(lossy)
    for name, value in (("lossy", lossy), ("scanpath", scanpath)):
        if value is not None:
            lossy_settings.refuse_measures(name, asked, tokens)
    if reader is not None and scanpath is None:
        raise InputError(
            "`reader` has settings for contexts of readers; give their fixations, `scanpath`"
        )
    seen = scanpaths.check(reader)
    of_words = word_entropy_settings.check(word_entropy) if asked.separate else None
    asked = word_entropy_settings.extend(asked, of_words)
    if first_word not in FIRST_WORDS:
        raise InputError(f"first_word {first_word!r} is none of {', '.join(FIRST_WORDS)}")
    if correction not in VARIANTS:
        raise InputError(f"no correction is called {nearest(correction, VARIANTS)}")
    reference = ngram_likeness.reference(ngram_lm, asked, bool(bos), within, tokens)
    if isinstance(model, str | Path) and ngram.is_ngram(model):
        measure_names.refuse_ngrams(asked, tokens)
        lossy_settings.refuse_ngrams(lossy)
        if scanpath is not None:
            return _score_ngrams_of_readers(words, model, bool(bos), within, unit, scanpath, seen)
        return ngram_surprisal.score(words, model, bool(bos), within, unit)
    if isinstance(model, str | Path):
        model = load(model, tokenizer)
    elif not isinstance(model, Model):
        model = as_model(model, tokenizer)
    items = words.groupby("item", sort=False).indices
    shown = words["word"].to_numpy()
    spaces = spaces_of(words)
    texts = align_items(model, items, shown, spaces, leading_space)
    rows, notes = list(items.values()), []
    if scanpath is not None:
        erased = scanpaths.erasure(erased, seen, model.masked)
        options |= {"fixations": scanpath, "seen": seen}
    if erased is not None:
        settings = {"bos": bos, "stride": stride, "metric": metric, "future": future} | options
        settings |= {"unit": unit, "correction": correction, "spaces": spaces}
        return _with_note(
            lossy_surprisal.score(words, rows, texts, model, erased, **settings), model, bos
        )
    scores = score_texts(model, texts, bos, stride, metric, future, asked, **options)
    if of_words is not None:
        from recency.scoring.next_word import word_entropies

        names = [(item, shown[at]) for item, at in items.items()]
        notes = word_entropies.add(
            model, texts, scores, asked, of_words, names, bos, stride, **options
        )
    result = word_measures.word_table(
        words, rows, texts, scores, model, unit, correction, first_word, spaces, asked
    )
    result.notes += notes
    if reference is not None:
        ngram_likeness.fill(result, words, asked, reference, unit)
    if tokens:
        result.tokens = word_measures.token_table(
            words, rows, texts, scores, model, unit, spaces, leading_space, asked
        )
    return _with_note(result, model, bos)


def _score_ngrams_of_readers(words, path, bos, within, unit, fixations, seen) -> Result:
    """Score the words that readers fixated with an n-gram model."""
    if within != "item":
        raise InputError(
            "scanpath: a reader's context is of the item; leave out `within: sentence`"
        )
    whole = ngram_surprisal.score(words, path, bos, within, unit)  # for its ledger
    rows = list(words.groupby("item", sort=False).indices.values())
    shown = words["word"].to_numpy()
    model = lossy_readers.NgramWords(path, [shown[index] for index in rows])
    erased = scanpaths.erasure(None, seen, False)
    settings = {"bos": bos, "unit": unit, "fixations": fixations, "seen": seen}
    result = lossy_surprisal.score(words, rows, model.texts, model, erased, **settings)
    return replace(result, ledger=whole.ledger)


def align_items(
    model: Model,
    items: dict,
    shown: np.ndarray,
    spaces: np.ndarray | None,
    leading_space: bool = False,
) -> list[alignment.Text]:
    """Align the words of each item: `items` are the rows of `shown` (words,) and of `spaces`."""
    return alignment.align_texts(
        [list(shown[rows]) for rows in items.values()],
        model.tokenizer,
        [f"item {item}: " for item in items],
        leading_space,
        model.kind,
        None if spaces is None else [spaces[rows] for rows in items.values()],
    )


def as_model(network, tokenizer) -> Model:
    """Test a network that was given as it is, and return it with its tokenizer."""
    from recency.networks import self_test
    from recency.networks.encoder_decoders import EncoderDecoderLM

    masked = type(network).__name__.endswith("ForMaskedLM")
    if getattr(getattr(network, "config", None), "is_encoder_decoder", False):
        network = EncoderDecoderLM(network)
    if network is not None:  # an analysis of tokens alone
        self_test.test(network, causal=not masked)
    tokenizer_own = tokenizer_files.as_tokenizer(tokenizer)
    if isinstance(network, EncoderDecoderLM):
        network.use(tokenizer_own)
    return Model(network, tokenizer_own, masked, tokenizer_files.bos_token(tokenizer))


def _with_note(result: Result, model: Model, bos: bool | str) -> Result:
    """Add the model's attributes to the table, and notes to the log."""
    if stored := getattr(getattr(model.network, "config", None), "dequantised", None):
        result.table.attrs["dequantised"] = stored
        result.notes.append(f"weights dequantised to float32 from {stored}")
    if model.masked:
        result.table.attrs["masked"] = True  # stored in the file: masked LMs cannot be mixed
    else:
        result.notes.append(begin_note(model, bos))
    return result


def score_texts(
    model: Model,
    texts: Sequence[alignment.Text],
    bos: bool | str = True,
    stride: int | None = None,
    metric: str = "within_word_l2r",
    future: str = "seen",
    asked: measure_names.MeasureRequest = measure_names.NO_MEASURES,
    tuned_lens: str | Path | None = None,
    **options,
) -> list:
    """Return one `causal.Scores` per text; for the settings see `score_words`."""
    check_precision(model, options.get("precision", "fp32"))
    check_vocabulary(model, [int(text.ids.max()) for text in texts if len(text.ids)])
    if model.masked:
        return _score_masked(model, texts, metric, future, asked, options)
    return _score_causal(model, texts, bos, stride, asked, tuned_lens=tuned_lens, **options)


def _score_causal(
    model: Model, texts, bos, stride, asked, tuned_lens=None, precision="fp32", **options
) -> list:
    """Score tokens with a causal LM."""
    from recency.networks.apple_gpu import layers_moved
    from recency.scoring import causal as scoring
    from recency.scoring.inside import Internals

    start = begin_token(model, bos)
    if start is None and 0 in asked.lengths:
        raise InputError(
            "pmi and a context of 0 words need a begin token, which is then the only context of a "
            'word: `bos: true`, or `bos: "<name>"`'
        )
    ids, output_layer = [text.ids for text in texts], output_layer_of(model, precision)
    words, internals = [text.word for text in texts], None
    if names := asked.with_sources(*measures.INSIDE):
        internals = Internals(model.network, names, words, output_layer, tuned_lens)
    with internals.returning_weights() if internals else layers_moved(model.network):
        return scoring.score(
            model.network,
            ids,
            model.kind,
            start,
            stride,
            precision=precision,
            output_layer=output_layer,
            statistics=asked.statistics,
            lengths=asked.lengths,
            words=words if asked.lengths else (),
            internals=internals,
            **options,
        )


def _score_masked(model: Model, texts, metric, future, asked, options) -> list:
    """Score tokens with a masked LM, which has no masses of word-initial tokens."""
    measure_names.check_masked(asked)
    from recency.scoring import causal as scoring
    from recency.scoring import masked

    if options.pop("precision", "fp32") != "fp32":
        raise InputError("`precision` is for causal LMs; leave it out for a masked one")
    around = model.around
    check_vocabulary(model, [around.mask, *around.before, *around.after])
    names = asked.statistics
    scored = masked.score(model.network, texts, around, metric, future, statistics=names, **options)
    scores = []
    for (log, seen, *rest), text in zip(scored, texts):
        none = np.full(len(text.ids) + 1, np.nan)
        statistics = {name: np.append(values, np.nan) for name, values in zip(names, rest)}
        scores.append(scoring.Scores(log, none, none, seen, statistics))
    return scores


def output_layer_of(model: Model, precision: str = "fp32"):
    """Return the output layer of a causal LM, which is built once for each precision."""
    from recency.scoring.output_layer import OutputLayer

    if precision not in model.output_layers:
        model.output_layers[precision] = OutputLayer(model.network, model.kind, precision == "bf16")
    return model.output_layers[precision]


def check_precision(model, precision: str) -> None:
    """Refuse a network in half precision if float32 is requested."""
    for parameter in getattr(model.network, "parameters", tuple)():
        if model.weights != "float32":  # requested when the model was opened
            return
        if precision == "fp32" and parameter.is_floating_point() and parameter.itemsize < 4:
            kind = str(parameter.dtype).removeprefix("torch.")
            raise InputError(
                f"the network's weights are {kind}, and surprisal is taken in float32: open its folder "
                "with recency.load, or give network.float(); `precision: bf16` takes it as it is"
            )


def check_vocabulary(model, ids: Sequence[int]) -> None:
    """Refuse tokens without an embedding: the tokenizer belongs to another model."""
    if (network := model.network) is None:
        return
    rows = network.get_input_embeddings().weight.shape[0]
    if ids and (number := max(ids)) >= rows:
        raise InputError(
            f"the tokenizer has token {number} ({model.tokenizer.id_to_token(number)!r}) and the "
            f"network an embedding of {rows:,} rows; give the model's own tokenizer"
        )


#: Number of words in the sample.
WORDS = 2000


def open_and_compare(words: pd.DataFrame, lm: LMSpec) -> tuple["Model", dict[str, Any]]:
    """Open an LM in its reduced precision, and compare its surprisal with that in float32.

    Parameters
    ----------
    words : DataFrame
        Contract 1; the first `WORDS` are scored.
    lm : LMSpec
        An LM with `precision` in its `weights`.

    Returns
    -------
    Model
        The LM in the reduced precision.
    dict
        `precision`, `words`, `mean_bits` and `largest_bits` (mean and largest absolute difference
        in bits); or `precision` and `not_compared`, the reason.
    """
    sample = words.iloc[:WORDS]
    full = replace(lm, weights={k: v for k, v in lm.weights.items() if k != "precision"})
    about: dict[str, Any] = {"precision": lm.weights["precision"]}
    try:
        exact = _bits(sample, full.open(), lm)
    except REFUSALS as error:  # too large, or stored in quantised form
        return lm.open(), about | {"not_compared": str(error)}
    model = lm.open()
    difference = np.abs(_bits(sample, model, lm) - exact)
    counted = difference[np.isfinite(difference)]
    sizes = {"mean_bits": float(counted.mean()), "largest_bits": float(counted.max())}
    return model, about | {"words": len(counted), **sizes}


def _bits(words: pd.DataFrame, model: "Model", lm: LMSpec) -> np.ndarray:
    """Return the surprisal of words in bits."""
    settings = {k: v for k, v in lm.reading.items() if k != "lossy"}
    return score_words(words, model, **settings).table["surprisal_bits"].to_numpy()


def note(compared: Mapping[str, Any]) -> str:
    """Return a line for the log from the result of `open_and_compare`."""
    precision = compared["precision"]
    if "not_compared" in compared:
        return f"weights in the precision {precision}, not compared with float32: {compared['not_compared']}"
    return (
        f"weights in the precision {precision}: surprisal of the first {compared['words']:,} words differs "
        f"from that in float32 by {compared['mean_bits']:.2g} bits on average, "
        f"{compared['largest_bits']:.2g} at most"
    )
