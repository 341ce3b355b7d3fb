"""Load a checkpoint's tokenizer and its begin token.

The begin token before a text: the requested one, or the model's own.
"""

import json
import re
from contextlib import suppress
from functools import partial
from pathlib import Path

from recency.damage import first_damaged
from recency.errors import REFUSALS, InputError, warn
from recency.networks import dequantised, gguf_files
from recency.networks.hub import is_gguf, locate

#: Files in the folder of a tokenizer.json that may name its special tokens, in order of precedence.
_NAMED_IN = ("tokenizer_config.json", "special_tokens_map.json")


def load(model: str | Path, tokenizer=None) -> tuple:
    """Return the `tokenizers.Tokenizer` of a folder or Hub name and its begin token, or None.

    `tokenizer` overrides the model's own: a tokenizer.json, a checkpoint as `model`, or a tokenizer
    of transformers or tokenizers.
    """
    from tokenizers import Tokenizer

    path = Path(tokenizer) if isinstance(tokenizer, str | Path) else Path()
    if not is_gguf(path) and (path.is_file() or path.suffix == ".json"):
        try:
            backend = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises nothing narrower
            raise InputError(
                f"{path} is no tokenizer.json that could be opened ({error})"
            ) from error
        return _without_truncation(backend), _bos_in_files(path.parent)
    if tokenizer is not None and not isinstance(tokenizer, str | Path):
        return as_tokenizer(tokenizer), bos_token(tokenizer)
    from transformers import AutoTokenizer

    source = model if tokenizer is None else tokenizer
    advice = "save the model's own tokenizer there (`save_pretrained`), or give it"
    copy = dequantised.Copy(source, "tokenizer")
    if folder := copy.find():
        with suppress(InputError):  # removed meanwhile
            return load(model, folder / "tokenizer.json")
    try:
        name, within = locate(source)
        opened = AutoTokenizer.from_pretrained(name, **within, trust_remote_code=False)
        backend = opened.backend_tokenizer
        if "gguf_file" in within:
            gguf_files.set_pre_tokenizer(backend, gguf_files.read(source), source)
    except REFUSALS:
        raise
    except Exception as error:  # tokenizers raises nothing narrower
        reason = first_damaged(Path(name, file) for file in ("tokenizer.json", *_NAMED_IN))
        reason = reason or next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(
            f"{str(source)!r} has no tokenizer that could be opened ({reason}); {advice}"
        ) from error
    # For a folder without a tokenizer, transformers returns one with only special tokens.
    if backend.get_vocab_size() <= len(backend.get_added_tokens_decoder()):
        raise InputError(f"{str(source)!r} has no tokenizer; {advice}")
    copy.store(partial(_save, backend, bos_token(opened)))
    return _without_truncation(backend), bos_token(opened)


def _save(backend, begin: str | None, folder: Path) -> None:
    """Write a tokenizer and its begin token as `load` reads them from files."""
    backend.save(str(folder / "tokenizer.json"))
    named = json.dumps({"bos_token": begin})
    (folder / _NAMED_IN[0]).write_text(named, encoding="utf-8")


def as_tokenizer(tokenizer):
    """Return a copy of a transformers or tokenizers tokenizer as a `tokenizers.Tokenizer`."""
    from tokenizers import Tokenizer

    for inside in ("backend_tokenizer", "_tokenizer"):
        tokenizer = getattr(tokenizer, inside, tokenizer)
    if not isinstance(tokenizer, Tokenizer):
        raise InputError(
            f"a tokenizer is one of transformers (a fast one) or tokenizers, or a tokenizer.json, not "
            f"{type(tokenizer).__name__}"
        )
    return _without_truncation(Tokenizer.from_str(tokenizer.to_str()))


def bos_token(tokenizer) -> str | None:
    """Return the begin token of a transformers tokenizer; None for others."""
    named = getattr(tokenizer, "bos_token", None)
    return None if named is None else str(named)


def _bos_in_files(folder: Path) -> str | None:
    """Return the begin token named in the files of a tokenizer's folder, as transformers does."""
    for name in _NAMED_IN:
        path = folder / name
        if not path.is_file():
            continue
        try:
            named = json.loads(path.read_text(encoding="utf-8")).get("bos_token")
        except (ValueError, AttributeError, RecursionError) as error:
            raise InputError(f"{path} is not a JSON object: {error}") from error
        named = named.get("content") if isinstance(named, dict) else named
        if named is not None:
            return str(named)
    return None


def _without_truncation(tokenizer):
    """Turn truncation, padding and the parsing of special tokens off."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # read them as ordinary text
    return tokenizer


#: Tokens that open or close a turn of a chat.
CHAT = re.compile(
    r"\bim_(start|end)\b|(start|end)_of_turn|header_id|eot_id"
    r"|^(<\|)(user|assistant|system|start|end|turn|message|channel)(\|>)$|^\[/?INST\]$"
)
#: Token that separates documents in the training text of many networks, this project's included.
END_OF_DOCUMENT = "<|endoftext|>"


def begin_token(model, bos: bool | str) -> int | None:
    """Return the id of the begin token, or None for `bos` false.

    Parameters
    ----------
    model : recency.scoring.surprisal.Model
    bos : bool or str
        True for the model's own begin token, or a token.

    Raises
    ------
    InputError
        If the model has no such token.

    Warns
    -----
    InputWarning
        If the model's own begin token opens a turn of a chat, after which a text is improbable.
    """
    number = _find_begin_token(model, bos)[0]
    token = "" if number is None or isinstance(bos, str) else model.tokenizer.id_to_token(number)
    if CHAT.search(token):
        ends = model.tokenizer.token_to_id(END_OF_DOCUMENT) is not None
        other = f'`bos: "{END_OF_DOCUMENT}"`' if ends else "`bos: false`"
        warn(
            f"the begin token {token} opens a turn of a chat, and texts in training do not begin with it; "
            f"change it with {other}"
        )
    return number


def begin_note(model, bos: bool | str) -> str:
    """Return a note for the log on the begin token and its source."""
    number, why = _find_begin_token(model, bos)
    if number is None:
        return "texts have no begin token (`bos: false`)"
    return f"{model.tokenizer.id_to_token(number)} (token {number}) is the begin token of each text: {why}"


def _find_begin_token(model, bos: bool | str) -> tuple[int | None, str]:
    """Return the begin token and the reason for it.

    `bos: true` takes the tokenizer's begin token, else that of the model's config, else the token
    that ends documents. Tokens missing from the vocabulary or the embedding are skipped.
    """
    if not bos:
        return None, ""
    tokenizer, config = model.tokenizer, getattr(model.network, "config", None)
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    size = getattr(config, "vocab_size", None)

    def find_id(token: str | None) -> int | None:
        number = None if token is None else tokenizer.token_to_id(token)
        return None if number is None or size is not None and number >= size else number

    if isinstance(bos, str):
        if (number := find_id(bos)) is None:
            raise InputError(f"`bos: {bos}`: the tokenizer has no such token; see its vocabulary")
        return number, "`bos` names it"
    if (number := getattr(model.network, "start_token", None)) is not None:
        return number, "the decoder begins with it"
    if (number := find_id(model.bos_token)) is not None:
        return number, "the tokenizer's begin token"
    configured = getattr(config, "bos_token_id", None)
    # A default of the config class may be an ordinary word of this vocabulary.
    added = isinstance(configured, int) and configured in tokenizer.get_added_tokens_decoder()
    if added and find_id(tokenizer.id_to_token(configured)) is not None:
        return configured, "`bos_token_id` of the model's config; the tokenizer names none"
    if (number := find_id(END_OF_DOCUMENT)) is not None:
        return number, "it ends documents; tokenizer and config name no begin token"
    raise InputError(
        "`bos: true` needs a begin token, and neither the tokenizer nor the model's config names one "
        f'that the vocabulary has, nor is there {END_OF_DOCUMENT}; name it (`bos: "<s>"`), or set '
        "`bos: false` for this LM"
    )
