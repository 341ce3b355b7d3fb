"""Convert masked LMs of fairseq (`.pt` and `dict.txt`) to folders of this project's format.

Supports RoBERTa and its variants of EIFY/fairseq: without positions and with bidirectional ALiBi,
with a CLAP head, and with a mask that is no dictionary entry (it is read as a zero vector).
"""

import argparse
import json
import math
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from recency.errors import InputError, first_line
from recency.networks import roberta

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
MASK = "<mask>"
#: Entries that pad a dictionary to a round length; they never occur in texts.
_PADDING = re.compile(r"madeupword\d+")
#: Names of fairseq's weights → transformers' names; the first match applies.
_NAMES = [
    (r"sentence_encoder\.embed_tokens\.", "roberta.embeddings.word_embeddings."),
    (r"sentence_encoder\.embed_positions\.", "roberta.embeddings.position_embeddings."),
    (r"sentence_encoder\.(layernorm_embedding|emb_layer_norm)\.", "roberta.embeddings.LayerNorm."),
    (r"sentence_encoder\.layers\.(\d+)\.", r"roberta.encoder.layer.\1."),
    (r"lm_head\.", "lm_head."),
]
_IN_LAYERS = {
    "self_attn.q_proj.": "attention.self.query.",
    "self_attn.k_proj.": "attention.self.key.",
    "self_attn.v_proj.": "attention.self.value.",
    "self_attn.out_proj.": "attention.output.dense.",
    "self_attn_layer_norm.": "attention.output.LayerNorm.",
    "fc1.": "intermediate.dense.",
    "fc2.": "output.dense.",
    "final_layer_norm.": "output.LayerNorm.",
}
#: Settings of the model, with fairseq's defaults.
_DEFAULTS: dict[str, Any] = {
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "max_positions": 512,
    "no_token_positional_embeddings": False,
    "encoder_learned_pos": True,
    "encoder_alibi": False,
    "encoder_alibi_asymmetrical": False,
    "layernorm_embedding": True,
    "no_scale_embedding": True,
    "contrastive_pretraining": False,
    "l2norm_embedding": True,
    "zero_masking": False,
    "omit_mask": False,
}
#: Settings that have no counterpart here, and their supported values.
_ONLY = {
    "activation_fn": ("gelu",),
    "encoder_normalize_before": (False,),
    "untie_weights_roberta": (False,),
    "mask_prob": (0, None),
    "encoder_layers_to_keep": (None,),
}
_HEADS = {"roberta": 12, "roberta_base": 12, "roberta_large": 16}


def convert(
    checkpoint: str | Path,
    dictionary: str | Path,
    tokenizer: Tokenizer,
    out: str | Path,
    allow_pickle: bool = False,
) -> None:
    """Write a fairseq checkpoint as a folder that `recency.load` opens.

    Parameters
    ----------
    checkpoint : str or Path
        The `.pt` file, a pickle that is read only for tensors and plain values.
    dictionary : str or Path
        fairseq's `dict.txt`: each line has an entry of GPT-2's vocabulary, as a number, and a
        count.
    tokenizer : Tokenizer
        GPT-2's tokenizer, an object of the package tokenizers.
    out : str or Path
        The folder.
    allow_pickle : bool
        Must be true, since the file is a pickle.

    Raises
    ------
    InputError
        If a weight, setting or entry has no counterpart here; the message names it and the file.
    """
    state, settings = read(checkpoint, allow_pickle)
    rows = len(state["roberta.embeddings.word_embeddings.weight"])
    entries = _entries(Path(dictionary), rows - (not settings["omit_mask"]))
    numbered = _tokenizer(tokenizer, entries, str(dictionary))
    model = _network(checkpoint, state, settings)
    folder = Path(out)
    model.save_pretrained(folder)
    named = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token"), SPECIAL, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=numbered, mask_token=MASK, **named).save_pretrained(
        folder
    )


def read(
    checkpoint: str | Path, allow_pickle: bool = False
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return a checkpoint's weights with transformers' names, and its settings.

    Raises InputError if the file cannot be read as tensors and plain values, or if weights or
    settings have no counterpart here.
    """
    what = f"checkpoint {str(checkpoint)!r}"
    if not allow_pickle:
        raise InputError(
            f"{what} is a pickle, which can run code when it is read; if you trust it, say so "
            "(`--allow-pickle`): it is read for tensors and plain values alone"
        )
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):
            stored = torch.load(checkpoint, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise InputError(f"{what}: there is no such file") from error
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        raise InputError(
            f"{what} cannot be read as tensors and plain values ({first_line(error)}); it was cut, or is "
            "no checkpoint of fairseq"
        ) from error
    if not isinstance(stored, Mapping) or not isinstance(stored.get("model"), Mapping):
        raise InputError(f"{what} is no checkpoint of fairseq: it has no weights under `model`")
    state = _rename_weights(what, stored["model"])
    return state, _settings(what, stored)


def _rename_weights(what: str, weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return float32 weights with transformers' names."""
    state = {}
    for name, weight in weights.items():
        inside = re.sub(r"^(encoder|decoder)\.", "", name)
        if inside in ("sentence_encoder.version", "sentence_encoder.embed_positions._float_tensor"):
            continue
        pattern, new = next(((p, n) for p, n in _NAMES if re.match(p, inside)), ("", ""))
        renamed = re.sub(f"^{pattern}", new, inside) if pattern else ""
        if new.startswith("roberta.encoder"):
            part = next((old for old in _IN_LAYERS if f".{old}" in renamed), "")
            renamed = renamed.replace(part, _IN_LAYERS[part]) if part else ""
        if not renamed or not isinstance(weight, torch.Tensor):
            raise InputError(
                f"{what} has the weight {name}, which fairseq's RoBERTa does not have; name a "
                "checkpoint of the pretraining"
            )
        state[renamed] = weight.float()
    embedding = "roberta.embeddings.word_embeddings.weight"
    if embedding not in state:
        raise InputError(
            f"{what} has no embedding of words (encoder.sentence_encoder.embed_tokens)"
        )
    tied = state.pop("lm_head.weight", state[embedding])
    if not torch.equal(tied, state[embedding]):
        raise InputError(
            f"{what}: its output embedding (encoder.lm_head.weight) differs from the input "
            "embedding, and here the two are tied"
        )
    return state


def _settings(what: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a checkpoint's model and task."""
    given: dict[str, Any] = {}
    config = stored.get("cfg") or {}
    for part in (stored.get("args"), config.get("task"), config.get("model")):
        if part is not None:
            given |= vars(part) if isinstance(part, argparse.Namespace) else dict(part)
    if not given:
        raise InputError(
            f"{what} has no settings (`cfg` or `args`), which its weights do not determine"
        )
    for key, allowed in _ONLY.items():
        if key in given and given[key] not in allowed:
            raise InputError(f"{what} has {key}: {given[key]!r}, which has no counterpart here")
    settings = {key: given.get(key, default) for key, default in _DEFAULTS.items()}
    name = str(given.get("_name") or given.get("arch") or "roberta")
    settings["heads"] = given.get("encoder_attention_heads") or _HEADS.get(name)
    if settings["heads"] is None:
        raise InputError(
            f"{what} does not state its heads (encoder_attention_heads), nor a known arch"
        )
    if settings["omit_mask"] != settings["zero_masking"]:
        raise InputError(
            f"{what} has omit_mask: {settings['omit_mask']} and zero_masking: "
            f"{settings['zero_masking']}; here a mask is an entry of the dictionary, or zeros without one"
        )
    if settings["encoder_alibi"] and not settings["no_token_positional_embeddings"]:
        raise InputError(f"{what} has ALiBi and positions both, which fairseq does not run")
    return settings


def _network(checkpoint: str | Path, state: dict[str, torch.Tensor], settings: Mapping):
    """Return the network with a checkpoint's weights."""
    what = f"checkpoint {str(checkpoint)!r}"
    embedding = state["roberta.embeddings.word_embeddings.weight"]
    layers = {int(match[1]) for name in state if (match := re.search(r"\.layer\.(\d+)\.", name))}
    inner = state.get("roberta.encoder.layer.0.intermediate.dense.weight")
    if inner is None or embedding.shape[1] % settings["heads"]:
        raise InputError(
            f"{what}: {len(layers)} layers of width {embedding.shape[1]} for {settings['heads']} heads are "
            "no RoBERTa"
        )
    clap, learned = settings["contrastive_pretraining"], settings["encoder_learned_pos"]
    positions = "learned" if learned else "sinusoidal"
    architecture = {
        "layers": len(layers),
        "heads": settings["heads"],
        "width": embedding.shape[1],
        "feed_forward": len(inner),
        "context": settings["max_positions"],
        "dropout": settings["dropout"],
        "attention_dropout": settings["attention_dropout"],
        "positions": "none" if settings["no_token_positional_embeddings"] else positions,
        "head": "clap" if clap else "roberta",
        "embedding_norm": settings["layernorm_embedding"],
        "embedding_scale": not settings["no_scale_embedding"],
        "normalised_embeddings": bool(clap and settings["l2norm_embedding"]),
    }
    bias = None
    if settings["encoder_alibi"]:
        offset = 0.5 if settings["encoder_alibi_asymmetrical"] else 0
        bias = {"form": "linear_both", "slopes": "mix", "offset": offset}
    predicted = None
    if settings["omit_mask"]:
        predicted = len(embedding)
        zeros = torch.zeros(1, embedding.shape[1])
        state["roberta.embeddings.word_embeddings.weight"] = torch.cat([embedding, zeros])
        if not clap:
            state["lm_head.bias"] = torch.cat([state["lm_head.bias"], torch.zeros(1)])
    rows = len(state["roberta.embeddings.word_embeddings.weight"])
    model = roberta.new(architecture, bias, rows, 1, predicted)
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    derived = ("decoder.weight", "decoder.bias", "token_type_embeddings.weight", "position_ids")
    needed = {name for name in expected if not name.endswith(derived)}
    if beyond := sorted(state.keys() - expected.keys()):
        raise InputError(f"{what} has {beyond[0]}, which its settings have no place for")
    if lacking := sorted(needed - state.keys()):
        raise InputError(f"{what} lacks {lacking[0]}, which its settings ask for")
    for name, weight in state.items():
        if weight.numel() != math.prod(expected[name]):
            raise InputError(
                f"{what}: {name} is {tuple(weight.shape)}, and its settings make it {tuple(expected[name])}"
            )
        state[name] = weight.reshape(expected[name])
    model.load_state_dict(state, strict=False)
    return model.eval()


def _entries(dictionary: Path, rows: int) -> list[str]:
    """Return a dictionary's entries, fairseq's own first, one for each of the network's rows.

    Further entries may only be padding, without which some networks were trained.
    """
    try:
        lines = dictionary.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f"{dictionary}: cannot be read: {first_line(error)}") from error
    entries = list(SPECIAL)
    for number, line in enumerate(lines, 1):
        symbol, _, count = line.rpartition(" ")
        if not symbol or not count.isdigit() or symbol in entries[: len(SPECIAL)]:
            raise InputError(
                f"{dictionary}, line {number}: {line[:40]!r} is no entry and its count, as '13 850314647' is"
            )
        entries.append(symbol)
    if len(set(entries)) < len(entries):
        twice = next(entry for n, entry in enumerate(entries) if entry in entries[:n])
        raise InputError(f"{dictionary} has the entry {twice!r} twice")
    beyond = entries[rows:]
    if len(entries) < rows or not all(map(_PADDING.fullmatch, beyond)):
        raise InputError(
            f"{dictionary} has {len(entries):,} entries with fairseq's own four, and the network "
            f"{rows:,}; take the dictionary that it was trained with"
        )
    return entries[:rows]


def _tokenizer(of_gpt2: Tokenizer, entries: list[str], dictionary: str) -> Tokenizer:
    """Return GPT-2's tokenizer with the dictionary's ids, <s> … </s> around texts, and the mask."""
    description = json.loads(of_gpt2.to_str())["model"]
    if description["type"] != "BPE":
        raise InputError("the tokenizer is none of GPT-2's kind (byte-level BPE); give GPT-2's")
    vocabulary, numbers = of_gpt2.get_vocab(), {}
    token_of = {number: token for token, number in vocabulary.items()}
    for row, symbol in enumerate(entries):
        if symbol.isdigit() and int(symbol) not in token_of:
            raise InputError(
                f"{dictionary} has the entry {symbol}, and the tokenizer {len(token_of):,} tokens; give "
                "GPT-2's"
            )
        numbers[token_of[int(symbol)] if symbol.isdigit() else symbol] = row
    merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in description["merges"]]
    lost = [a + b for a, b in merges if not {a, b, a + b} <= numbers.keys()]
    if lost or not set(pre_tokenizers.ByteLevel.alphabet()) <= numbers.keys():
        raise InputError(
            f"{dictionary} lacks {lost[0] if lost else 'bytes'!r} of the tokenizer; give the "
            "dictionary that the network was trained with"
        )
    numbers[MASK] = len(numbers)
    tokenizer = Tokenizer(models.BPE(numbers, [tuple(pair) for pair in merges], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", entries.index("</s>")), ("<s>", 0), trim_offsets=False, add_prefix_space=False
    )
    tokenizer.add_special_tokens([*SPECIAL, MASK])
    return tokenizer
