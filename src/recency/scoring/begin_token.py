"""The begin token before a text: the requested one, or the model's own."""

import re
import warnings

from recency.errors import InputError

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
    UserWarning
        If the model's own begin token opens a turn of a chat, after which a text is improbable.
    """
    number = _find_begin_token(model, bos)[0]
    token = "" if number is None or isinstance(bos, str) else model.tokenizer.id_to_token(number)
    if CHAT.search(token):
        ends = model.tokenizer.token_to_id(END_OF_DOCUMENT) is not None
        other = f'`bos: "{END_OF_DOCUMENT}"`' if ends else "`bos: false`"
        warnings.warn(
            f"the begin token {token} opens a turn of a chat, and texts in training do not begin with it; "
            f"change it with {other}",
            stacklevel=2,
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
