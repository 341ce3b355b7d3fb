"""Small random models of many families for scoring, and their surprisal written out in float64."""

import copy
import functools
import math
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

import families
from families import BART, GROUPED, LATENT, OWN_WIDTH, SIZES, WINDOW
from small_networks import TEXTS as STORIES

SPECIAL = ["<s>", "<pad>", "</s>", "<|endoftext|>", "[CLS]", "[SEP]", "[MASK]"]
BEGIN, PAD, STOP, END, CLS, SEP, MASK = range(len(SPECIAL))
VOCABULARY, CONTEXT = 310, 32
TEXTS = [
    "The unforgettable cat slept , didn't it ?",
    "It rained .",
    "Nobody who remembered laughed",
]
LONG = " ".join(STORIES)
#: Names that configs have for the longest input; RoBERTa counts two positions that it does not have.
LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "context_length")
TOKENS = {"pad_token_id": PAD, "bos_token_id": BEGIN, "eos_token_id": STOP}

EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2}
EXPERTS |= {"moe_intermediate_size": 16, "n_routed_experts": 4}
PLAIN = {"hidden_size": 32, "num_hidden_layers": 2}
STATE = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1}
STATE |= {"mamba_chunk_size": 16}
MAMBA2 = {"num_heads": 8, "head_dim": 8, "n_groups": 1, "state_size": 8, "chunk_size": 16}
H1 = {"mamba_d_ssm": 32, "mamba_n_heads": 4, "lm_head_multiplier": 0.7}
GRIFFIN = {"attention_window_size": 16, "head_dim": 8, "num_key_value_heads": 1, "lru_width": 32}
GRIFFIN |= {"block_types": ["recurrent", "attention"], "logits_soft_cap": 5.0}
DECODER = SIZES | {"is_decoder": True}
PICTURES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
PICTURES |= {"num_attention_heads": 2, "image_size": 28, "patch_size": 14}
PICTURES = {"vision_config": PICTURES, "mm_tokens_per_image": 4, "image_token_index": 20}
PICTURES |= {"text_config": OWN_WIDTH | WINDOW}
GEMMA4 = {"layer_types": ["sliding_attention", "full_attention"]}
GEMMA4 |= {"vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 8}
LINEAR = {"layer_types": ["linear_attention", "full_attention"]}
LINEAR |= {f"linear_num_{part}_heads": 2 for part in ("key", "value")}
LINEAR |= {f"linear_{part}_head_dim": 8 for part in ("key", "value")}
LONG_ROPE = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [4.0] * 4}
LONG_ROPE = {"rope_parameters": LONG_ROPE | {"rope_theta": 1e4, "factor": 2.0}}
LONG_ROPE |= {"original_max_position_embeddings": 16}
CTRL = {"n_embd": 32, "n_layer": 2, "n_head": 4, "dff": 64, "n_positions": 64}
XLM = {"emb_dim": 32, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64}
SQUEEZE = {"q_groups": 1, "k_groups": 1, "v_groups": 1, "intermediate_groups": 1}
SQUEEZE |= {"post_attention_groups": 1, "output_groups": 1, "embedding_size": 32}
NARROW = {"embedding_size": 16}


#: Why no bias goes on a family, as the docs have it, and what the refusal says.
WHY = {
    "own code": families.OWN_CODE,
    "recurrent": families.RECURRENT,
    "recurrent layers": "attends in 1 of its 2 layers only",
    "another memory": "has a memory besides attention",
    "two stacks": "has an encoder and a decoder",
}


@dataclass(frozen=True)
class Scored:
    """A row of docs/surprisal.md: what it is scored as, whether a bias goes on it, how it is made."""

    outcome: str  # causal, masked, encoder-decoder (test_encoder_decoders.py), or refused
    bias: str  # works, or one of WHY
    settings: dict = field(repr=False)
    model: str = ""
    config: str = ""


def causal(settings, bias="works", model="", config=""):
    return Scored("causal", bias, settings, model, config)


def masked(name, settings, bias="works"):
    return Scored("masked", bias, settings, f"{name}ForMaskedLM", f"{name}Config")


def _of_biases(name: str) -> Scored:
    """Return a family of `families.FAMILIES` as one that is scored."""
    family = families.FAMILIES[name]
    outcome = "masked" if family.model.endswith("ForMaskedLM") else "causal"
    if name in ("Bart", "T5", "XLNet"):
        outcome = "refused" if name == "XLNet" else "encoder-decoder"
    why = [each for each, message in WHY.items() if message == family.message]
    return Scored(outcome, *(why or ["works"]), family.settings, family.model, family.config)


#: Families beyond those of `families.FAMILIES`.
MORE = {
    "Phi3LongRope": causal(GROUPED | LONG_ROPE, "works", "Phi3ForCausalLM", "Phi3Config"),
    "Olmo": causal(GROUPED),
    "Olmo3": causal(GROUPED | WINDOW),
    "Olmoe": causal(GROUPED | EXPERTS),
    "Qwen2Moe": causal(GROUPED | EXPERTS | {"shared_expert_intermediate_size": 16}),
    "Qwen3Moe": causal(OWN_WIDTH | EXPERTS),
    "Phimoe": causal(GROUPED | EXPERTS),
    "GraniteMoe": causal(GROUPED | EXPERTS | {"logits_scaling": 2.0}),
    "DeepseekV3": causal(SIZES | LATENT),
    "Gemma3ForConditionalGeneration": causal(
        PICTURES, "works", "Gemma3ForConditionalGeneration", "Gemma3Config"
    ),
    "Gemma4": causal(
        OWN_WIDTH | WINDOW | GEMMA4,
        config="Gemma4TextConfig",
    ),
    "Ministral": causal(OWN_WIDTH | WINDOW),
    "Helium": causal(OWN_WIDTH),
    "Arcee": causal(GROUPED),
    "Apertus": causal(GROUPED),
    "Ernie4_5": causal(OWN_WIDTH),
    "Exaone4": causal(GROUPED | WINDOW),
    "Glm4": causal(OWN_WIDTH),
    "VaultGemma": causal(OWN_WIDTH | {"final_logit_softcapping": 5.0}),
    "NanoChat": causal(GROUPED),
    "BitNet": causal(GROUPED),
    "GPTNeoXJapanese": causal(SIZES, "own code"),
    "CTRL": causal(CTRL, "works", "CTRLLMHeadModel"),
    "BartDecoder": causal(BART, "works", "BartForCausalLM", "BartConfig"),
    "RobertaDecoder": causal(DECODER, "works", "RobertaForCausalLM", "RobertaConfig"),
    "ElectraDecoder": causal(DECODER | NARROW, "works", "ElectraForCausalLM", "ElectraConfig"),
    "ModernBertDecoder": causal(SIZES | {"local_attention": 6}),
    "RoFormerDecoder": causal(DECODER, "own code", "RoFormerForCausalLM", "RoFormerConfig"),
    "FalconH1": causal(OWN_WIDTH | STATE | H1, "another memory"),
    "FalconMamba": causal(PLAIN, "recurrent"),
    "Mamba2": causal(PLAIN | MAMBA2, "recurrent"),
    "Bamba": causal(GROUPED | STATE | {"attn_layer_indices": [1]}, "recurrent layers"),
    "Lfm2": causal(GROUPED | {"layer_types": ["conv", "full_attention"]}, "recurrent layers"),
    "Qwen3_5": causal(OWN_WIDTH | LINEAR, "recurrent layers", config="Qwen3_5TextConfig"),
    "RecurrentGemma": causal(SIZES | GRIFFIN, "recurrent layers"),
    "xLSTM": causal(PLAIN | {"num_heads": 4, "output_logit_soft_cap": 5.0}, "recurrent"),
    "XLMRoberta": masked("XLMRoberta", SIZES),
    "Camembert": masked("Camembert", SIZES),
    "Deberta": masked("Deberta", SIZES, "own code"),
    "MPNet": masked("MPNet", SIZES, "own code"),
    "RoFormer": masked("RoFormer", SIZES, "own code"),
    "MobileBert": masked("MobileBert", SIZES | {"embedding_size": 32}, "another memory"),
    "Esm": masked("Esm", SIZES | {"mask_token_id": MASK}),
    "SqueezeBert": masked("SqueezeBert", SIZES | SQUEEZE, "own code"),
    "FNet": masked("FNet", SIZES, "own code"),
    "Flaubert": Scored("masked", "own code", XLM, "FlaubertWithLMHeadModel", "FlaubertConfig"),
    "XLM": Scored("masked", "own code", XLM, "XLMWithLMHeadModel", "XLMConfig"),
}
SCORED = {name: _of_biases(name) for name in families.FAMILIES} | MORE
CAUSAL, MASKED, REFUSED = (
    [name for name, family in SCORED.items() if family.outcome == outcome]
    for outcome in ("causal", "masked", "refused")
)


@functools.cache
def tokenizer(around: bool = False) -> Tokenizer:
    """Train a tokenizer of bytes; with `around`, a text stands between [CLS] and [SEP]."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(STORIES * 3, trainer)
    if around:
        ends = [("[CLS]", CLS), ("[SEP]", SEP)]
        made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
    return made


def fast(name: str) -> transformers.PreTrainedTokenizerFast:
    """Return a family's tokenizer as one of transformers, which names its begin token."""
    names = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "cls": "[CLS]"}
    names |= {"sep": "[SEP]", "mask": "[MASK]"}
    named = {f"{kind}_token": token for kind, token in names.items()}
    inside = tokenizer(name in MASKED)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inside, **named)


@functools.lru_cache(maxsize=2)
def network(name: str) -> transformers.PreTrainedModel:
    """Make a family's network, in float32, its predictions far from all alike."""
    family = SCORED[name]
    torch.manual_seed(1)
    own = {"vocab_size": tokenizer().get_vocab_size()} | TOKENS
    settings = family.settings.get("text_config", family.settings) | own
    room = CONTEXT + (2 if "obert" in name or name in ("Camembert", "MPNet", "Esm") else 0)
    settings |= {key: room for key in LENGTHS if key in settings}
    if "text_config" in family.settings:
        settings = family.settings | {"text_config": settings}
    config = getattr(transformers, family.config or f"{name}Config")(**settings)
    made = getattr(transformers, family.model or f"{name}ForCausalLM")(config).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if not parameter.isfinite().all():  # left unset
                torch.nn.init.normal_(parameter)
    return made


def window(name: str) -> int | None:
    """Return the `window` for a family whose config was given no longest input."""
    settings = SCORED[name].settings
    return None if set(LENGTHS) & set(settings.get("text_config", settings)) else CONTEXT


@contextmanager
def _in_float64():
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(torch.float32)


def in_double(made: transformers.PreTrainedModel) -> transformers.PreTrainedModel:
    """Copy a network in float64."""
    exact = copy.deepcopy(made).double()
    exact.config._experts_implementation = "eager"  # the other knows no float64
    return exact


def tokens_of(text: str) -> tuple[list[int], list[int]]:
    """Return the tokens of a text, tokenized word by word, and the word of each."""
    words = enumerate(text.split())
    pieces = [(n, tokenizer().encode(" " * (n > 0) + word).ids) for n, word in words]
    return [i for _, ids in pieces for i in ids], [n for n, ids in pieces for _ in ids]


@functools.lru_cache(maxsize=1000)
def log_probabilities(exact, *ids: int) -> np.ndarray:
    """Return log p of every next token after each of a text's, (tokens, vocabulary), in nats."""
    plainly = {"use_cache": False} if exact.config.model_type == "xlstm" else {}
    with _in_float64():
        logits = exact(input_ids=torch.tensor([ids]), **plainly).logits[0].double()
        return torch.log_softmax(logits, -1).numpy()


@functools.lru_cache(maxsize=100)
def written_out(exact, text: str, bos: int | None, stride: int, size: int) -> dict:
    """Return plain and corrected surprisal (bits) of each word, from whole windows in float64.

    Each token is scored in the first of the windows [0, size), [stride, size + stride) … that ends
    at it or behind it. B has the tokens that begin with Ġ and, but for `oh_schuler`, the special ones.
    """
    ids, owner = tokens_of(text)
    stream = ([] if bos is None else [bos]) + ids
    ahead, found = len(stream) - len(ids), {}

    def predicted(token: int) -> np.ndarray | None:
        """Return log p of every token in the place of this one of the text, or behind its last."""
        place = token + ahead
        end = size + max(0, math.ceil((place - size) / stride)) * stride
        begin = end - size
        if begin not in found:
            found[begin] = log_probabilities(exact, *stream[begin : min(end, len(stream))])
        return found[begin][place - begin - 1] if place else None

    plain = np.zeros(owner[-1] + 1)
    for token, (number, word) in enumerate(zip(ids, owner, strict=True)):
        log = predicted(token)
        plain[word] += math.nan if log is None else -log[number] / math.log(2)
    spaces = [n for piece, n in tokenizer().get_vocab().items() if piece.startswith("Ġ")]
    special = list(range(len(SPECIAL)))
    bounds = [owner.index(word) for word in range(len(plain))] + [len(ids)]
    results = {"plain": plain}
    for variant in ("pimentel_meister", "oh_schuler", "pimentel_meister_first"):
        b = spaces if variant == "oh_schuler" else spaces + special
        mass = [1.0] + [np.exp(predicted(token)[b]).sum() for token in bounds[1:]]
        if variant == "pimentel_meister_first" and bos is not None:
            mass[0] = 1 - np.exp(predicted(0)[spaces]).sum()
        results[variant] = plain - np.log2(mass[1:]) + np.log2(mass[:-1])
    return results


def written_out_masked(exact, text: str, metric: str, future: str, room: int) -> np.ndarray:
    """Return the surprisal (bits) of each word, token by token masked, in float64.

    At most `room` tokens of the text are seen: as many on both sides, or as close to that as its
    ends let them; where what comes after is removed, all of them before.
    """
    ids, owner = tokens_of(text)
    bits = np.zeros(owner[-1] + 1)
    for k, word in enumerate(owner):
        behind = k + 1
        while metric == "within_word_l2r" and behind < len(ids) and owner[behind] == word:
            behind += 1
        last = {"removed": behind}.get(future, len(ids))
        seen = list(ids)
        for place in range(k, last if future == "masked" else behind):
            seen[place] = MASK
        if future == "removed":
            begin = max(0, last - room)
        else:
            begin = max(0, min(k - room // 2, last - room))
        log = log_probabilities(exact, CLS, *seen[begin : min(last, begin + room)], SEP)
        bits[word] -= log[k - begin + 1, ids[k]] / math.log(2)
    return bits
