"""Load a checkpoint's tokenizer and its begin token."""

import json
from pathlib import Path

from recency.damage import first_damaged
from recency.errors import InputError
from recency.networks import gguf_files
from recency.networks.hub import locate

#: Files in the folder of a tokenizer.json that may name its special tokens, in order of precedence.
_NAMED_IN = ("tokenizer_config.json", "special_tokens_map.json")


def load(model: str | Path, tokenizer=None) -> tuple:
    """Return the `tokenizers.Tokenizer` of a folder or Hub name and its begin token, or None.

    `tokenizer` overrides the model's own: a tokenizer.json, a folder, or a tokenizer of
    transformers or tokenizers.
    """
    from tokenizers import Tokenizer

    if isinstance(tokenizer, str | Path) and not Path(tokenizer).is_dir():
        path = Path(tokenizer)
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
    try:
        name, within = locate(source)
        opened = AutoTokenizer.from_pretrained(name, **within, trust_remote_code=False)
        backend = opened.backend_tokenizer
        if "gguf_file" in within:
            gguf_files.set_pre_tokenizer(backend, gguf_files.read(source), source)
    except InputError:
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
    return _without_truncation(backend), bos_token(opened)


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
