"""The token that stands before a text: the one asked for, or the model's own."""

import re
import warnings

from recency.errors import InputError

#: Tokens that open or close a turn in the format of a chat.
CHAT = re.compile(
    r"\bim_(start|end)\b|(start|end)_of_turn|header_id|eot_id"
    r"|^(<\|)(user|assistant|system|start|end|turn|message|channel)(\|>)$|^\[/?INST\]$"
)
#: What ends a document in the training of networks here, and of many others; it then begins the next.
END_OF_DOCUMENT = "<|endoftext|>"


def begin_token(model, bos: bool | str) -> int | None:
    """Return the token that `bos` puts before a text: the one named, or the model's own.

    `model` is a recency.scoring.surprisal.Model. Raises InputError where there is none. Warns where the
    model's own is a marker of chats, after which a text is unlikely.
    """
    number = _begin(model, bos)[0]
    token = "" if number is None or isinstance(bos, str) else model.tokenizer.id_to_token(number)
    if CHAT.search(token):
        ends = model.tokenizer.token_to_id(END_OF_DOCUMENT) is not None
        other = f'`bos: "{END_OF_DOCUMENT}"`' if ends else "`bos: false`"
        warnings.warn(
            f"{token} stands before each text: it opens a turn of a chat, which is not how texts begin in "
            f"training; {other} begins them otherwise",
            stacklevel=2,
        )
    return number


def begin_note(model, bos: bool | str) -> str:
    """Say for the log what stands before each text, and where that is written."""
    number, why = _begin(model, bos)
    if number is None:
        return "nothing stands before a text (`bos: false`)"
    return f"{model.tokenizer.id_to_token(number)} (token {number}) stands before each text: {why}"


def _begin(model, bos: bool | str) -> tuple[int | None, str]:
    """Find the begin token and say why it is that one.

    `bos: true` takes the one that the tokenizer names; else the model's config; else the token that
    ends documents. One that the vocabulary, or the network's embedding, has not is none.
    """
    if not bos:
        return None, ""
    tokenizer, config = model.tokenizer, getattr(model.network, "config", None)
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    size = getattr(config, "vocab_size", None)

    def known(token: str | None) -> int | None:
        number = None if token is None else tokenizer.token_to_id(token)
        return None if number is None or size is not None and number >= size else number

    if isinstance(bos, str):
        if (number := known(bos)) is None:
            raise InputError(f"`bos: {bos}`: the tokenizer has no such token; see its vocabulary")
        return number, "`bos` names it"
    if (number := known(model.bos_token)) is not None:
        return number, "the tokenizer's begin token"
    configured = getattr(config, "bos_token_id", None)
    # A class's default is not a choice: it may name an ordinary word of this vocabulary.
    added = isinstance(configured, int) and configured in tokenizer.get_added_tokens_decoder()
    if added and known(tokenizer.id_to_token(configured)) is not None:
        return configured, "`bos_token_id` of the model's config; the tokenizer names none"
    if (number := known(END_OF_DOCUMENT)) is not None:
        return number, "it ends documents; tokenizer and config name no begin token"
    raise InputError(
        "`bos: true` needs a begin token, and neither the tokenizer nor the model's config names one "
        f'that the vocabulary has, nor is there {END_OF_DOCUMENT}; name it (`bos: "<s>"`), or set '
        "`bos: false` for this LM"
    )
