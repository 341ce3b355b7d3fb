"""A checkpoint's tokenizer, as it stands in its files."""

from __future__ import annotations

from pathlib import Path

from recency.errors import InputError


def load(model: str | Path, tokenizer=None):
    """Return the `tokenizers.Tokenizer` of a folder or Hub name, or of the `tokenizer` given.

    That may be a tokenizer.json, or a tokenizer of transformers or tokenizers.
    """
    from tokenizers import Tokenizer

    if isinstance(tokenizer, str | Path):
        found = Tokenizer.from_file(str(tokenizer))
    elif tokenizer is not None:
        found = of(tokenizer)
    else:
        from transformers import AutoTokenizer

        advice = "save the model's own tokenizer there (`save_pretrained`), or give it"
        try:
            found = AutoTokenizer.from_pretrained(model).backend_tokenizer
        except (OSError, ValueError, AttributeError) as error:
            raise InputError(
                f"{str(model)!r} has no tokenizer that could be opened ({str(error).splitlines()[0]}); "
                f"{advice}"
            ) from error
        # Of a folder without one transformers makes a tokenizer that has special tokens alone.
        if found.get_vocab_size() <= len(found.get_added_tokens_decoder()):
            raise InputError(f"{str(model)!r} has no tokenizer; {advice}")
    return _bare(found)


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


def _bare(tokenizer):
    """Return the tokenizer, set to cut and pad nothing."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
