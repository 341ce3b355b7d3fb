"""Public functions for language models, exported by `recency` (docs/library.md)."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from readingtimes.frames import in_pandas
from readingtimes.names import nearest
from recency import form_parameters
from recency.attention import specification
from recency.errors import InputError
from recency.scoring import measures as measure_names
from recency.scoring import ngram, ngram_likeness
from recency.scoring import prefixes as prefix_words
from recency.scoring import surprisal as scoring
from recency.scoring import units as text_units
from recency.scoring.alignment import SPACE, UNMARKED
from recency.scoring.lossy import lossy_settings
from recency.scoring.next_word import word_entropy_settings
from recency.scoring.results import UNKNOWN
from recency.scoring.texts import VARIANTS, Spaces, Texts, as_words, warn_of
from recency.scoring.tokenizer import begin_token

#: Units of the table's rows.
ROWS = ("words", "tokens")
#: Irregularities of a word's tokens that leave it without a probability of its own.
NO_PROBABILITY = (UNMARKED, "begins in the token before", "merged with the word before")


def load(
    checkpoint: str | PathLike[str],
    bias: Mapping[str, Any] | None = None,
    *,
    tokenizer: Any = None,
    masked: bool | None = None,
    allow_pickle: bool = False,
    precision: str = "float32",
    sha256: str | Mapping[str, str] | None = None,
    device_map: str | Mapping[str, Any] | None = None,
) -> scoring.Model:
    """Open a language model with its tokenizer, for `recency.surprisal`.

    Code that comes with a checkpoint is never run. A GPU is used if there is one; Apple's for surprisal
    alone, if it computes as the processor does.

    Parameters
    ----------
    checkpoint : str or path
        A causal or masked model, or an encoder-decoder: a folder trained here (opened with its bias), a
        folder written by transformers' `save_pretrained` with its tokenizer, or a name on the Hugging
        Face Hub ("owner/name", with a revision "owner/name@step1000", with a folder "owner/name/folder").
    bias : mapping, optional
        A bias to apply at inference, from `recency.attention.bias`.
    tokenizer : tokenizer or path, optional
        A tokenizer of transformers or tokenizers, a tokenizer.json, or a checkpoint, as a folder, a
        Hub name or a GGUF file, if the checkpoint itself has none.
    masked : bool, optional
        Whether the model is masked, if its config does not say.
    allow_pickle : bool
        Whether pytorch_model.bin, restricted to tensors, may be read. By default, weights must be
        in safetensors. The files must have exactly the model's weights.
    precision : {"float32", "bf16", "int8", "as_stored"}
        Precision of the weights: "float32" converts the stored weights; "int8" quantises linear
        layers with torchao; "as_stored" opens quantised weights with the library that made them.
    sha256 : str or mapping of str to str, optional
        The checksum of the weights' file, or file → checksum.
    device_map : str or mapping, optional
        "auto" distributes a model over all GPUs and main memory. By default it must fit one device.

    Returns
    -------
    Model

    Raises
    ------
    InputError
        If the model cannot be opened as requested.
    """
    if not isinstance(checkpoint, str | PathLike):
        raise InputError(
            f"a checkpoint is a folder or a name on the Hub, not {type(checkpoint).__name__}; give a "
            "network directly to recency.surprisal(texts, network, tokenizer)"
        )
    checkpoint = os.fspath(checkpoint)
    if ngram.is_ngram(checkpoint):
        raise InputError(f"{checkpoint} is an n-gram model: give recency.surprisal its path")
    if bias is not None:
        bias = specification.checked(bias)
    weights = {"precision": precision, "sha256": sha256, "device_map": device_map}
    return scoring.load(checkpoint, tokenizer, bias, masked, allow_pickle, **weights)


def surprisal(
    texts: Texts,
    model: Any,
    tokenizer: Any = None,
    *,
    prefix: str | Iterable[str] = "",
    units: Iterable[Any] | None = None,
    bias: Mapping[str, Any] | None = None,
    bos: bool | str = True,
    unit: str = "bits",
    stride: int | None = None,
    window: int | None = None,
    correction: str = VARIANTS[0],
    first_word: str = "null",
    leading_space: bool = False,
    precision: str = "fp32",
    metric: str = "within_word_l2r",
    future: str = "seen",
    within: str = "item",
    tokens_at_once: int | None = None,
    space_after: Spaces | None = None,
    measures: str | Sequence[str] | None = None,
    context: int | Sequence[int] | None = None,
    ngram_lm: str | PathLike[str] | None = None,
    tuned_lens: str | PathLike[str] | None = None,
    rows: str = "words",
    lossy: Mapping[str, Any] | None = None,
    scanpath: pd.DataFrame | None = None,
    reader: Mapping[str, Any] | None = None,
    word_entropy: Mapping[str, Any] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Return the surprisal of every word, -log2 p(word | its context in the text).

    docs/surprisal.md describes each setting and measure in detail.

    Parameters
    ----------
    texts : str, list of str, list of lists of str, or DataFrame
        A text; texts, split at white space; texts as lists of words; or a data frame (of pandas,
        Polars, Arrow) with `item` (the text) and `word`, in reading order. Context never crosses texts. The string of a
        special token, such as "<|endoftext|>", is ordinary text.
    model : Model, PreTrainedModel, str or path
        A model from `load`, which can be reused; a folder or a Hub name, optionally with a `bias`;
        a transformers network with its `tokenizer`; or an ARPA or KenLM file.
    tokenizer : tokenizer or path, optional
        The tokenizer of a network.
    prefix : str or list of str
        Context before every text, or one per text, that is read and has no rows: a question, an
        instruction. Split at white space; a space follows it (with `space_after`, only if it ends in
        one). Like earlier words, it leaves the window of a long text. In an encoder-decoder it is the
        encoder's input.
    units : list, or list of lists, optional
        Units that are scored in place of words, of a text or of each text, which are strings: strings that
        concatenate to the text (morphemes, phrases), or spans (start, end) of its characters, with text
        between them as context. White space before a unit counts with it. Needs a causal network.
    bias : mapping, optional
        A bias to apply at inference, from `recency.attention.bias`.
    bos : bool or str
        The begin token before each text: true for the tokenizer's (else the config's, else
        <|endoftext|>), a token, or false for none.
    unit : {"bits", "nats", "log10"}
        Unit of surprisal and suffix of the columns' names.
    stride, window : int, optional
        Tokens that each further window adds in a long text (by default half a window), and the
        window's size (by default the model's).
    correction : {"pimentel_meister", "oh_schuler", "pimentel_meister_first"}
        Variant of the whitespace correction.
    first_word : {"null", "rest"}
        Surprisal of a first word without a begin token: null, or the sum over its tokens except the
        first.
    leading_space : bool
        Whether a space precedes a text's first word.
    precision : {"fp32", "bf16"}
        Precision of matrix products. "fp32" refuses a network that you opened in half precision.
    metric : {"within_word_l2r", "original"}
        Pseudo-log-likelihood of masked models.
    future : {"seen", "removed", "masked"}
        Treatment of later words in masked models.
    within : {"item", "sentence"}
        Unit of context (a column) for n-gram models.
    tokens_at_once : int, optional
        Inputs that run together, which bounds memory; by default 2,048, more on a GPU with room.
    space_after : list of lists of bool, optional
        Whether a space follows each word, for texts as lists of words (false within "do" + "n't",
        or in Chinese). A data frame has it as a column.
    measures : str or list of str, optional
        Further measures of the word's first token: "entropy", "entropy_reduction", "renyi_<alpha>",
        "pmi", "log_rank", "rank", "top_<k>"; of the next word: "word_entropy",
        "word_entropy_reduction"; and inside a causal network, such as "attention_entropy_l2_h3"
        (docs/internals.md). Masked models do not have entropy_reduction, pmi, word entropy and
        internal measures; n-gram models have none.
    context : int or list of int, optional
        Numbers of words n: the column surprisal_context_<n>_bits is the surprisal given the begin
        token and at most the last n words.
    ngram_lm : path, optional
        ARPA or KenLM file for the measures "ngram_explained" and "ngram_remainder".
    tuned_lens : path, optional
        Safetensors file for the measures "layer_surprisal_l<layer>".
    rows : {"words", "tokens"}
        Unit of the table's rows.
    lossy : mapping, optional
        Erase context words at random, as {"erasure": {"form": "exponential", "half_life": 3}}, and
        return expected surprisal (docs/lossy.md); without measures and context.
    scanpath : DataFrame, optional
        Fixations: subject, item, order, word_id (that of `texts`, or the row from 0), onset_ms and
        duration_ms. A word's context is then what the subject had seen before fixating it, with
        `lossy` what is retained of it (docs/lossy.md).
    reader : mapping, optional
        With `scanpath`: {"skipped": "absent", "masked" or "seen", "span": words seen to the right
        of a fixation, "age": "words", "fixations" or "ms", the age by which `lossy` forgets}.
    word_entropy : mapping, optional
        Settings of word entropy: {"method": "sampling", "samples": 64, "seed": 1}, {"words": file
        or list} for enumeration, or {"method": "beam", "beam": 64}; each with "longest",
        "tolerance" and "end_of_text". Standard errors, bounds or masses are further columns.
    report : callable, optional
        Called with the numbers of finished and of all windows.

    Returns
    -------
    DataFrame
        One row per word, in order, with the index of a data frame that was given:

            item            the text: "1", "2", ... or the data frame's
            position        the word's number in the text, from 1, or the data frame's
            word            as given; preceded by `word_id` if the data frame has it
            surprisal_bits  sum over the word's tokens; NaN for a word without context or without a token
            corrected_bits  the same, with the space after the word included; NaN for masked models,
                            n-gram models, and tokenizers without marks of spaces
            tokens          number of the word's tokens
            context_tokens  number of tokens before the word that the model saw, with the begin token

        Columns of `measures` and `context` follow. `lossy` adds surprisal_standard_error_bits, 0
        where the expectation is exact, and its settings are in the table's `attrs`. `scanpath`
        returns a row per subject and fixated word, with `subject` first and `previous_word_id`, the
        word fixated before (-1: none), last, and a new index.

        With `rows` "tokens", one row per token, with a new index: item, position and word of its
        word, token (as in the vocabulary), token_id, start and end (exclusive; characters in the
        given text, or in the joined words), surprisal_bits, context_tokens, and the measures.

    Raises
    ------
    InputError
        For invalid texts, settings or models.

    Warns
    -----
    InputWarning
        For words with damage (of another encoding, with HTML or percent-encoding), positions without
        a word, and texts that are a single word each.

    Examples
    --------
    >>> import recency
    >>> from tokenizers import ByteLevelBPETokenizer
    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> tokenizer = ByteLevelBPETokenizer()
    >>> tokenizer.train_from_iterator(["the cat sat on the mat"], 300, 1, False, ["<|endoftext|>"])
    >>> config = GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=4, n_positions=32)
    >>> table = recency.surprisal(["the cat sat", "a mat"], GPT2LMHeadModel(config), tokenizer)
    >>> table[["item", "position", "word", "tokens"]]
      item  position word  tokens
    0    1         1  the       1
    1    1         2  cat       1
    2    1         3  sat       1
    3    2         1    a       1
    4    2         2  mat       1
    >>> bool((table.surprisal_bits > 0).all())
    True

    What a reader had seen who skipped a word:

    >>> import pandas as pd
    >>> fixations = pd.DataFrame({"subject": "s1", "item": "1", "order": [1, 2], "word_id": [0, 2]})
    >>> fixations = fixations.assign(onset_ms=[0, 240], duration_ms=[210, 190])
    >>> network = GPT2LMHeadModel(config)
    >>> seen = recency.surprisal("the cat sat", network, tokenizer, scanpath=fixations)
    >>> seen[["subject", "word", "context_tokens", "previous_word_id"]]
      subject word  context_tokens  previous_word_id
    0      s1  the               1                -1
    1      s1  sat               2                 0
    """
    asked = measure_names.check(measures, context)  # before a model is opened
    if units is None:
        texts = in_pandas(texts)
        words = as_words(texts, space_after)
        warn_of(words, bool(prefix))
    else:
        of_words = {"context": context, "lossy": lossy, "scanpath": scanpath}
        of_words |= {"space_after": space_after, "word_entropy": asked.separate or None}
        text_units.refuse({**of_words, "rows='tokens'": None if rows == "words" else rows})
        texts = text_units.as_words(texts, units)
        words = as_words(texts)
    if scanpath is not None and prefix:
        raise InputError("scanpath: nobody fixated the words of a `prefix`; leave one of them out")
    prefixes = prefix_words.as_prefixes(prefix, words["item"].nunique())
    if units is not None:  # of strings, which a space separates from the prefix
        prefixes = [f"{text} " if text.strip() else "" for text in prefixes]
    if any(prefixes) and within == "sentence":
        raise InputError(
            "a prefix precedes each text, and `within: sentence` reads each sentence alone; leave one out"
        )
    settings: dict[str, Any] = {
        "bos": bos,
        "unit": unit,
        "correction": correction,
        "first_word": first_word,
        "leading_space": leading_space,
        "within": within,
        "measures": measures,
        "context": context,
        "ngram_lm": ngram_lm,
    }
    if rows not in ROWS:
        raise InputError(f"rows: {nearest(rows, ROWS)}")
    settings |= {"stride": stride, "window": window, "precision": precision}
    settings |= {"metric": metric, "future": future, "tokens_at_once": tokens_at_once}
    settings |= {} if report is None else {"report": report}
    settings |= {} if tuned_lens is None else {"tuned_lens": tuned_lens}
    if lossy is not None:
        erasure = lossy.get("erasure") if isinstance(lossy, Mapping) else None
        if isinstance(erasure, Mapping) and "form" in erasure:
            form_parameters.check(lossy_settings.FORMS, "erasure", erasure)
        settings["lossy"] = lossy_settings.check(lossy)
    settings |= {"scanpath": in_pandas(scanpath), "reader": reader}
    reference = None if ngram_lm is None else os.fspath(ngram_lm)
    ngram_likeness.reference(reference, asked, bool(bos), within, rows == "tokens")
    if word_entropy is not None:
        if not asked.separate:
            raise InputError(
                "`word_entropy` has settings for a measure that is not in `measures`; add "
                "'word_entropy' there, or leave them out"
            )
        settings["word_entropy"] = word_entropy_settings.check(word_entropy)
    opened = _open(model, tokenizer, bias)
    with _evaluation_mode(getattr(opened, "network", None)):
        network = getattr(opened, "network", None)
        encoder = network if hasattr(network, "read") else None
        if any(prefixes) and encoder is None and isinstance(opened, scoring.Model):
            prefix_words.require_room(opened, prefixes, bos, window)
        given = prefix_words.add(words, prefixes) if any(prefixes) and encoder is None else words
        if units is not None:
            text_units.require_whole_tokens(opened, given, leading_space)
        settings |= {"model": opened, "tokens": rows == "tokens"}
        score: Callable[[pd.DataFrame], Any] = partial(scoring.score_words, **settings)
        if any(prefixes) and encoder is not None:
            scored = prefix_words.score_given(encoder, words, prefixes, score)
        else:
            scored = score(given)
    if any(prefixes):
        scored.table, scored.tokens = prefix_words.remove(words, scored.table, scored.tokens)
    keys = ["item", "position", "word"]
    if isinstance(texts, pd.DataFrame) and "word_id" in texts:
        keys.insert(2, "word_id")
    if scored.tokens is not None:
        names = [name for name in scored.tokens if name not in ("word_id", *keys)]
        return scored.tokens[[*keys, *names]]
    if scanpath is not None:
        names = [name for name in ("item", "position", "word") if name in words]
        place = pd.Series(np.arange(len(words)), words["word_id"]).loc[scored.table["word_id"]]
        shown = words[names].iloc[place.to_numpy()].reset_index(drop=True)
        table = pd.concat(
            [scored.table[["subject"]], shown, scored.table.drop(columns="subject")], axis=1
        )
        table.attrs |= scored.table.attrs
        return table
    columns = scored.table.drop(columns="word_id").set_axis(words.index)
    table = pd.concat([words[keys], columns], axis=1)
    stated = scored.table.attrs  # lossy settings include optimised weights
    if units is not None:
        table = text_units.table_of(words, table)
    elif isinstance(texts, pd.DataFrame) and texts.index.is_unique:
        table = table.reindex(texts.index)  # words were scored in the order of their positions
    table.attrs |= {key: stated[key] for key in ("lossy", "dequantised") if key in stated}
    return table


def next_words(
    model: Any,
    context: str | Sequence[str],
    n: int = 20,
    tokenizer: Any = None,
    *,
    bias: Mapping[str, Any] | None = None,
    bos: bool | str = True,
    correction: str = VARIANTS[0],
    leading_space: bool = False,
    stride: int | None = None,
    window: int | None = None,
) -> pd.DataFrame:
    """Return the n most probable next words after a context, among all words.

    A word is a string up to white space or the end of the text, such as "mat" or "mat.". Its
    probability is that of its tokens and of its end, as in corrected surprisal; `cloze` returns the
    same number. The list is exact: prefixes of words are expanded from the most probable on until
    none that is left is as probable as the n-th word.

    Parameters
    ----------
    model : Model, PreTrainedModel, str or path
        As for `surprisal`; a causal network whose tokenizer marks the beginnings of words.
    context : str or list of str
        The text so far, split at white space, or as words; "" for the first word.
    n : int
        Number of words. Words of a probability below 1e-7 are left out.
    tokenizer, bias, bos, correction, leading_space, stride, window
        As for `surprisal`.

    Returns
    -------
    DataFrame
        One row per word, the most probable first: word, probability, tokens (their number).
        `attrs["other"]` is the probability of all else: other words, the listed words in other
        tokens than the tokenizer's, and the end of the text.

    Raises
    ------
    InputError
        For an invalid context, setting or model.

    Examples
    --------
    >>> import recency
    >>> words = recency.next_words("small-english", "once upon a", n=3)
    >>> list(words.columns)
    ['word', 'probability', 'tokens']
    >>> round(float(words.probability.sum()) + words.attrs["other"], 6)
    1.0
    """
    words = _context_words(context)
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise InputError(f"n: {n!r} is no whole number of 1 or more")
    opened = _open(model, tokenizer, bias)
    settings = (correction, leading_space, stride, window)
    with _word_search(opened, words, bos, *settings) as search:
        rows = search.run(int(n))
    table = pd.DataFrame(rows, columns=["word", "probability", "tokens"])
    table.attrs["other"] = max(0.0, 1 - float(table["probability"].sum()))
    return table


def cloze(
    model: Any,
    context: str | Sequence[str],
    word: str,
    tokenizer: Any = None,
    *,
    bias: Mapping[str, Any] | None = None,
    bos: bool | str = True,
    correction: str = VARIANTS[0],
    leading_space: bool = False,
    stride: int | None = None,
    window: int | None = None,
    tokenizations: int | None = None,
) -> float:
    """Return the probability that a word is the next one after a context.

    It is 2 to the power of minus the word's corrected surprisal (`corrected_bits` of `surprisal`),
    and for n-gram models minus its surprisal.

    Parameters
    ----------
    model : Model, PreTrainedModel, str or path
        As for `surprisal`; not a masked model.
    context : str or list of str
        The text so far, split at white space, or as words; "" for the first word.
    word : str
        One word, without white space.
    tokenizer, bias, bos, correction, leading_space, stride, window
        As for `surprisal`.
    tokenizations : int, optional
        Sum over all tokenizations of the word into at most so many tokens; by default, only the
        tokenizer's own counts. Each prefix of one is a pass over the context, 4,096 at most. The
        context keeps its own tokens. Needs a causal network.

    Returns
    -------
    float

    Raises
    ------
    InputError
        For an invalid context, setting or model, and for a word without a probability of its own:
        one that the model does not know, or whose tokens are shared with the context; for too many
        tokenizations.

    Examples
    --------
    >>> import recency
    >>> lm = recency.load("small-english")
    >>> table = recency.surprisal("once upon a time", lm)
    >>> p = recency.cloze(lm, "once upon a", "time")
    >>> bool(abs(p - 2 ** -table.corrected_bits.iloc[-1]) < 1e-6)
    True
    """
    words = _context_words(context)
    if not isinstance(word, str) or word.split() != [word]:
        raise InputError(f"word: {word!r} is not one word, a string without white space")
    opened = _open(model, tokenizer, bias)
    if tokenizations is not None:
        whole = isinstance(tokenizations, Integral) and not isinstance(tokenizations, bool)
        if not whole or tokenizations < 1:
            raise InputError(f"tokenizations: {tokenizations!r} is no whole number of 1 or more")
        settings = (correction, leading_space, stride, window)
        with _word_search(opened, words, bos, *settings) as search:
            return float(search.sum_tokenizations(word, int(tokenizations)))
    column = "surprisal_bits"
    if not isinstance(opened, Path):
        _require_word_ends(opened)
        column = "corrected_bits"
    given: dict[str, Any] = {"bos": bos, "correction": correction, "leading_space": leading_space}
    with _evaluation_mode(getattr(opened, "network", None)):
        scored = scoring.score_words(
            [[*words, word]], opened, stride=stride, window=window, **given
        )
    value = float(scored.table[column].iloc[-1])
    reasons = scored.ledger["reason"][scored.ledger["word_id"] == len(words)].tolist()
    odd = [reason for reason in reasons if reason in NO_PROBABILITY or reason in UNKNOWN]
    if odd or math.isnan(value):
        reason = odd[0] if odd else reasons[0] if reasons else "has no context"
        raise InputError(
            f"word {word!r} has no probability of its own after the context ({reason})"
        )
    return math.pow(2.0, -value)


@contextmanager
def _word_search(
    opened: scoring.Model | Path,
    words: list[str],
    bos: bool | str,
    correction: str,
    leading_space: bool,
    stride: int | None,
    window: int | None,
) -> Iterator[Any]:
    """Yield a search for words after a context, with the network in evaluation mode."""
    if correction not in VARIANTS:
        raise InputError(f"no correction is called {nearest(correction, VARIANTS)}")
    if isinstance(opened, Path):
        raise InputError(
            f"{opened} is an n-gram model, and words are searched with a network; recency.cloze takes "
            "n-gram models, without `tokenizations`"
        )
    _require_word_ends(opened)
    from recency.scoring.next_word.word_search import WordSearch

    with _evaluation_mode(opened.network):
        scoring.check_precision(opened, "fp32")
        layer, start = scoring.output_layer_of(opened), begin_token(opened, bos)
        search = WordSearch(opened, layer, words, start, correction, leading_space, stride, window)
        scoring.check_vocabulary(opened, search.context)
        yield search


def _context_words(context: Any) -> list[str]:
    """Return the words of a context, which may be empty."""
    if isinstance(context, str):
        return context.split()
    if isinstance(context, bytes) or not isinstance(context, Sequence):
        raise InputError(f"context: {context!r} is neither a string nor a list of words")
    return list(as_words([list(context)])["word"]) if context else []


def _require_word_ends(model: scoring.Model) -> None:
    """Raise InputError for a model that gives no probability of a word's end."""
    if model.masked:
        raise InputError("a masked model gives no probability of a next word; take a causal one")
    if not (model.kind == SPACE).any():
        raise InputError(
            "the tokenizer marks no beginnings of words (Ġ or ▁), by which words end; take a model "
            "that does"
        )


def _open(model: Any, tokenizer: Any, bias: Mapping[str, Any] | None) -> scoring.Model | Path:
    """Return an opened model, or the path of an n-gram model."""
    if isinstance(model, str | PathLike):
        if not ngram.is_ngram(os.fspath(model)):
            return load(model, bias, tokenizer=tokenizer)
        if bias is not None:
            raise InputError(
                f"{model} is an n-gram model, which has no attention and takes no bias"
            )
        return Path(model)
    if bias is not None:
        raise InputError(
            "the model is open already: apply a bias to it with recency.attention.attach(model, bias)"
        )
    if isinstance(model, scoring.Model):
        return model
    if not hasattr(model, "get_output_embeddings"):
        raise InputError(
            "a model is one from recency.load, a folder, a name on the Hub, an n-gram model's file "
            f"or a network of transformers, not {type(model).__name__}"
        )
    if tokenizer is None:
        raise InputError(
            "a network needs its tokenizer: recency.surprisal(texts, network, tokenizer)"
        )
    return scoring.as_model(model, tokenizer)


@contextmanager
def _evaluation_mode(network: Any) -> Iterator[None]:
    """Switch a network to evaluation mode, without dropout, and back on exit."""
    if network is None or not network.training:
        yield
        return
    network.eval()
    try:
        yield
    finally:
        network.train()
