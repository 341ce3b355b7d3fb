"""The public functions on language models; `recency` names them (see docs/library.md)."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from recency import form_parameters
from recency.attention import specification
from recency.errors import InputError
from recency.names import nearest
from recency.scoring import measures as measure_names
from recency.scoring import ngram, ngram_likeness, whitespace
from recency.scoring import surprisal as scoring
from recency.scoring import tokenizer as tokenizers
from recency.scoring.lossy import lossy_settings
from recency.scoring.next_word import word_entropy_settings
from recency.scoring.texts import Spaces, Texts, as_words

#: What a row of the table may be.
ROWS = ("words", "tokens")


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
    """Open a language model with its tokenizer, ready for `recency.surprisal`.

    `checkpoint` is a folder (trained here: it is opened with its bias; or written by transformers'
    `save_pretrained`, with its tokenizer) or a name on the Hugging Face Hub ("owner/name", with a
    revision "owner/name@step1000", with a folder "owner/name/folder"), of a causal or a masked model. `bias`, of `recency.attention.bias`, is put on at inference. `tokenizer` is one of
    transformers or tokenizers, or a tokenizer.json, if it is not in the folder. `masked` says which
    kind of model it is where its config does not. A GPU is used if there is one.

    The network is in float32, whatever its files hold, unless `precision` is "bf16", "int8" (weights of
    linear layers, by torchao) or "as_stored" (quantised weights by the library that made them). It
    must fit the memory, or with `device_map` "auto" that of all GPUs and the processor. The files must have all of its weights and no
    others, in safetensors; `allow_pickle` also reads pytorch_model.bin, for tensors alone. `sha256` is
    the checksum of the one file of weights, or file → checksum. Code that
    comes with a checkpoint is never run. Raises InputError, in one line, for all else.
    """
    if not isinstance(checkpoint, str | PathLike):
        raise InputError(
            f"a checkpoint is a folder or a name on the Hub, not {type(checkpoint).__name__}; a network "
            "goes into recency.surprisal(texts, network, tokenizer) as it is"
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
    bias: Mapping[str, Any] | None = None,
    bos: bool | str = True,
    unit: str = "bits",
    stride: int | None = None,
    window: int | None = None,
    correction: str = whitespace.VARIANTS[0],
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
    word_entropy: Mapping[str, Any] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Return the surprisal of every word, -log2 p(word | what stands before it in its text).

    `texts`: a string is one text, a list of strings is a list of texts, split at white space; a list
    of lists of words is texts of words; a data frame with `item` (the text) and `word`, in reading
    order, is itself. Context never runs from one text into the next. Words are joined by a space;
    where none stands between two (Chinese, "do" and "n't"), `space_after` is false for the first: a
    list of true and false for each list of words, or a column of that name in the data frame. The
    string of a special token ("<|endoftext|>") in a text is text.

    `model`: what `load` gives (to be used again); a folder or a Hub name, and then maybe a `bias`;
    a network of transformers with its `tokenizer`; or an ARPA or KenLM file.

    Returns one row per word, in order, with the index of a data frame that was given:

    item            the text: "1", "2", ... or the data frame's
    position        the word's number within it, from 1, or the data frame's
    word            as given; `word_id` stands before it if the data frame had one
    surprisal_bits  sum over the word's tokens; NaN where nothing stands before it, and where the
                    tokenizer left it without a token
    corrected_bits  the same with the space after the word included (docs/surprisal.md); NaN for
                    masked models, n-grams, and tokenizers without marks for spaces
    tokens          tokens of the word
    context_tokens  tokens before the word that the model saw, the begin token counted

    Further columns, defined in docs/surprisal.md under "Measures":

    measures        "entropy", "entropy_reduction", "renyi_<alpha>", "pmi", "log_rank" (their columns end
                    in the unit), "rank" and "top_<k>", of the word's first token; causal models have
                    all, masked models all but entropy_reduction, pmi and the next two, n-grams none;
                    "word_entropy" and "word_entropy_reduction" are of the next word, not token; and of
                    what is inside a causal network (docs/internals.md): "attention_entropy_l2_h3" …
    word_entropy    settings of these two: {"method": "sampling", "samples": 64, "seed": 1}, {"words": file
                    or list} for an enumeration, {"method": "beam", "beam": 64}; with any, "longest",
                    "tolerance", "end_of_text"; a standard error, bounds or masses are columns as well
    context         numbers of words: surprisal_context_<n>_bits is the word's surprisal given the begin
                    token and no more than the last n words before it

    lossy           a mapping such as {"erasure": {"form": "exponential", "half_life": 3}}: surprisal is its
                    expectation when words of context are erased at random (docs/lossy.md), with a column
                    surprisal_standard_error_bits, 0 where it is exact; without measures and context.
                    The settings are in the table's `attrs`

    With `rows` "tokens" there is a row per token, with no index kept: item, position and word of its
    word, token (as the vocabulary writes it), token_id, start and end (its characters in the text that
    was given, from 0, the end exclusive; of words in lists or a data frame: in the words as they are
    joined), surprisal_bits, context_tokens, and the measures.

    Settings, with more on each in docs/surprisal.md:

    bos             true puts the tokenizer's begin token before each text (else the config's, else
                    <|endoftext|>), a string that token, false none
    unit            "bits", "nats" or "log10"; the columns are named so
    stride, window  tokens that each further window adds to a long text (default: half a window), and
                    its size (default: the model's own)
    correction      "pimentel_meister", "oh_schuler" or "pimentel_meister_first"
    first_word      without a begin token: "null", or "rest", the sum of its tokens but the first
    leading_space   write a text's first word with a space before it
    precision       "fp32", or "bf16" for matrix products in bfloat16; a network that you opened in
                    half precision is refused under the first
    metric, future  masked models: "within_word_l2r" or "original"; what comes after the word is
                    "seen", "removed" or "masked"
    ngram_lm        of the measures "ngram_explained" and "ngram_remainder": an ARPA or KenLM file
    tuned_lens      of the measures "layer_surprisal_l<layer>": a file of safetensors
    within          n-grams: context runs within an "item" or a "sentence" (a column)
    tokens_at_once  bounds the memory; by default 2,048, more on a GPU that has room
    report          is called with the number of windows done and of all, as they are done

    Raises InputError.

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
    """
    words = as_words(texts, space_after)
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
    asked = measure_names.check(measures, context)  # before a model is opened
    reference = None if ngram_lm is None else os.fspath(ngram_lm)
    ngram_likeness.reference(reference, asked, bool(bos), within, rows == "tokens")
    if word_entropy is not None:
        if not asked.separate:
            raise InputError(
                "`word_entropy` has settings of a measure that `measures` does not name; add "
                "'word_entropy' there, or leave them out"
            )
        settings["word_entropy"] = word_entropy_settings.check(word_entropy)
    opened = _opened(model, tokenizer, bias)
    with _evaluation(getattr(opened, "network", None)):
        scored = scoring.score_words(words, opened, tokens=rows == "tokens", **settings)
    keys = ["item", "position", "word"]
    if isinstance(texts, pd.DataFrame) and "word_id" in texts:
        keys.insert(2, "word_id")
    if scored.tokens is not None:
        names = [name for name in scored.tokens if name not in ("word_id", *keys)]
        return scored.tokens[[*keys, *names]]
    columns = scored.table.drop(columns="word_id").set_axis(words.index)
    table = pd.concat([words[keys], columns], axis=1)
    stated = scored.table.attrs  # of lossy contexts the weights of a search among them
    table.attrs |= {key: stated[key] for key in ("lossy", "dequantised") if key in stated}
    return table


def _opened(model: Any, tokenizer: Any, bias: Mapping[str, Any] | None) -> scoring.Model | Path:
    """Return a model that can score: opened, or an n-gram model's path."""
    if isinstance(model, str | PathLike):
        if not ngram.is_ngram(os.fspath(model)):
            return load(model, bias, tokenizer=tokenizer)
        if bias is not None:
            raise InputError(f"{model} is an n-gram model, which has no attention to put a bias on")
        return Path(model)
    if bias is not None:
        raise InputError(
            "the model is open already: recency.attention.attach(model, bias) puts a bias on it"
        )
    if isinstance(model, scoring.Model):
        return model
    if not hasattr(model, "get_output_embeddings"):
        raise InputError(
            "a model is what recency.load gives, a folder, a name on the Hub, an n-gram model's file "
            f"or a network of transformers, not {type(model).__name__}"
        )
    if tokenizer is None:
        raise InputError(
            "a network needs its tokenizer: recency.surprisal(texts, network, tokenizer)"
        )
    masked = type(model).__name__.endswith("ForMaskedLM")
    return scoring.Model(model, tokenizers.of(tokenizer), masked, tokenizers.bos_token(tokenizer))


@contextmanager
def _evaluation(network: Any) -> Iterator[None]:
    """Switch dropout off, which a network that was just made has on, and set it back."""
    if network is None or not network.training:
        yield
        return
    network.eval()
    try:
        yield
    finally:
        network.train()
