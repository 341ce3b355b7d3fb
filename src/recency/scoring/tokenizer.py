"""A checkpoint's tokenizer, as it stands in its files, and the token that begins a text for it."""

import json
from pathlib import Path

from recency.damage import first_damaged
from recency.errors import InputError
from recency.networks import gguf_files
from recency.networks.hub import locate

#: Files beside a tokenizer.json that name its special tokens, the first that does.
_NAMED_IN = ("tokenizer_config.json", "special_tokens_map.json")


def load(model: str | Path, tokenizer=None) -> tuple:
    """Return the `tokenizers.Tokenizer` of a folder or Hub name, or of the `tokenizer` given.

    That may be a tokenizer.json, a folder, or a tokenizer of transformers or tokenizers. The begin
    token that it names comes with it, a string, or None where it names none.
    """
    from tokenizers import Tokenizer

    if isinstance(tokenizer, str | Path) and not Path(tokenizer).is_dir():
        path = Path(tokenizer)
        try:
            found = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises nothing narrower
            raise InputError(
                f"{path} is no tokenizer.json that could be opened ({error})"
            ) from error
        return _bare(found), _bos_in_files(path.parent)
    if tokenizer is not None and not isinstance(tokenizer, str | Path):
        return of(tokenizer), bos_token(tokenizer)
    from transformers import AutoTokenizer

    source = model if tokenizer is None else tokenizer
    advice = "save the model's own tokenizer there (`save_pretrained`), or give it"
    try:
        name, within = locate(source)
        opened = AutoTokenizer.from_pretrained(name, **within, trust_remote_code=False)
        found = opened.backend_tokenizer
        if "gguf_file" in within:
            gguf_files.set_pre_tokenizer(found, gguf_files.read(source), source)
    except InputError:
        raise
    except Exception as error:  # tokenizers raises nothing narrower
        reason = first_damaged(Path(name, file) for file in ("tokenizer.json", *_NAMED_IN))
        reason = reason or next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(
            f"{str(source)!r} has no tokenizer that could be opened ({reason}); {advice}"
        ) from error
    # Of a folder without one transformers makes a tokenizer that has special tokens alone.
    if found.get_vocab_size() <= len(found.get_added_tokens_decoder()):
        raise InputError(f"{str(source)!r} has no tokenizer; {advice}")
    return _bare(found), bos_token(opened)


def of(tokenizer):
    """Return the `tokenizers.Tokenizer` behind one of transformers or tokenizers: a copy."""
    from tokenizers import Tokenizer

    for inside in ("backend_tokenizer", "_tokenizer"):
        tokenizer = getattr(tokenizer, inside, tokenizer)
    if not isinstance(tokenizer, Tokenizer):
        raise InputError(
            f"a tokenizer is one of transformers (a fast one) or tokenizers, or a tokenizer.json, not "
            f"{type(tokenizer).__name__}"
        )
    return _bare(Tokenizer.from_str(tokenizer.to_str()))


def bos_token(tokenizer) -> str | None:
    """Return the begin token that a tokenizer of transformers names; tokenizers' name none."""
    named = getattr(tokenizer, "bos_token", None)
    return None if named is None else str(named)


def _bos_in_files(folder: Path) -> str | None:
    """Return the begin token that the files beside a tokenizer.json name, as transformers does."""
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


def _bare(tokenizer):
    """Return the tokenizer, set to cut and pad nothing."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # the string of a special token is text
    return tokenizer
