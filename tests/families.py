"""Small random models of many families, whether a bias goes on each, and four biases written out."""

import math
from dataclasses import dataclass, field

import torch
import transformers


@dataclass(frozen=True)
class Family:
    """A family: whether a bias works on it, the classes' names, and the config's settings."""

    outcome: str  # works, works (both directions), or refused
    settings: dict = field(repr=False)
    model: str = ""
    config: str = ""
    message: str = ""  # of a refusal


WIDE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 60}
SIZES = WIDE | {"intermediate_size": 64, "max_position_embeddings": 64, "initializer_range": 0.3}
SIZES |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GROUPED = SIZES | {"num_key_value_heads": 2}
OWN_WIDTH = GROUPED | {"head_dim": 8}
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}
WINDOW = {"sliding_window": 6}
GPT2 = {"vocab_size": 60, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
GPT2 |= {"initializer_range": 0.3}
BART = {"vocab_size": 60, "d_model": 32, "max_position_embeddings": 64, "init_std": 0.3}
for _part in ("encoder", "decoder"):
    BART |= {f"{_part}_layers": 2, f"{_part}_attention_heads": 4, f"{_part}_ffn_dim": 64}
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4}
LATENT |= {"v_head_dim": 8, "n_routed_experts": 2, "num_experts_per_tok": 1, "n_group": 1}
LATENT |= {"moe_intermediate_size": 16, "first_k_dense_replace": 1, "topk_group": 1}
LATENT |= {"num_key_value_heads": 4}
NEO = {"vocab_size": 60, "hidden_size": 32, "num_layers": 2, "num_heads": 4}
NEO |= {"attention_types": [[["global"], 2]], "max_position_embeddings": 64}
JAMBA = GROUPED | {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False}
JAMBA |= {"num_experts": 2, "num_experts_per_tok": 1, "mamba_d_state": 4, "mamba_dt_rank": 4}
XGLM = {"vocab_size": 60, "d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 64}
DISTILBERT = {"vocab_size": 60, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
T5 = {"vocab_size": 60, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}

OWN_CODE = "does not take its attention function from the registry"
RECURRENT = "is a recurrent network without attention"


def works(settings, model="", config=""):
    return Family("works", settings, model, config)


def masked(name, settings):
    return Family("works (both directions)", settings, f"{name}ForMaskedLM", f"{name}Config")


def refused(settings, message, model="", config=""):
    return Family("refused", settings, model, config, message)


FAMILIES = {
    "GPT2": works(GPT2, "GPT2LMHeadModel"),
    "GPTBigCode": works(GPT2),
    "GPTNeoX": works(SIZES),
    "GPTJ": works(GPT2 | {"rotary_dim": 4}),
    "CodeGen": works(GPT2 | {"rotary_dim": 4}),
    "OPT": works(SIZES | {"ffn_dim": 64, "word_embed_proj_dim": 32, "init_std": 0.3}),
    "BioGpt": works(SIZES),
    "Phi": works(SIZES),
    "Persimmon": works(SIZES),
    "Llama": works(GROUPED),
    "Llama4": works(
        OWN_WIDTH | EXPERTS | {"attention_chunk_size": 6, "intermediate_size_mlp": 64},
        config="Llama4TextConfig",
    ),
    "Mistral": works(GROUPED | WINDOW),
    "Mixtral": works(GROUPED | EXPERTS),
    "Qwen2": works(GROUPED),
    "Qwen3": works(OWN_WIDTH),
    "Phi3": works(GROUPED),
    "Cohere": works(GROUPED),
    "Cohere2": works(OWN_WIDTH | WINDOW),
    "Gemma": works(OWN_WIDTH),
    "Gemma2": works(
        OWN_WIDTH | WINDOW | {"attn_logit_softcapping": 1.0, "query_pre_attn_scalar": 8}
    ),
    "Gemma3": works(OWN_WIDTH | WINDOW, config="Gemma3TextConfig"),
    "GptOss": works(OWN_WIDTH | WINDOW | EXPERTS),
    "StableLm": works(GROUPED),
    "Olmo2": works(GROUPED),
    "Starcoder2": works(GROUPED),
    "Granite": works(GROUPED),
    "SmolLM3": works(GROUPED),
    "Nemotron": works(GROUPED),
    "Glm": works(OWN_WIDTH),
    "DeepseekV2": works(SIZES | LATENT),
    "BertLMHead": works(SIZES | {"is_decoder": True}, "BertLMHeadModel", "BertConfig"),
    "Bert": masked("Bert", SIZES),
    "Roberta": masked("Roberta", SIZES),
    "DistilBert": masked("DistilBert", DISTILBERT | {"initializer_range": 0.3}),
    "Albert": masked("Albert", SIZES | {"embedding_size": 16}),
    "Electra": masked("Electra", SIZES | {"embedding_size": 16}),
    "ModernBert": masked(
        "ModernBert", SIZES | {"local_attention": 6, "cls_token_id": 1, "sep_token_id": 2}
    ),
    "GPTNeo": refused(NEO, OWN_CODE),
    "OpenAIGPT": refused(GPT2, OWN_CODE, "OpenAIGPTLMHeadModel"),
    "Falcon": refused(SIZES, OWN_CODE),
    "Bloom": refused({"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 60}, OWN_CODE),
    "Mpt": refused({"d_model": 32, "n_layers": 2, "n_heads": 4, "vocab_size": 60}, OWN_CODE),
    "XGLM": refused(XGLM | {"max_position_embeddings": 64}, OWN_CODE),
    "DebertaV2": refused(SIZES, OWN_CODE, "DebertaV2ForMaskedLM"),
    "XLNet": refused(
        {"vocab_size": 60, "d_model": 32, "n_layer": 2, "n_head": 4}, OWN_CODE, "XLNetLMHeadModel"
    ),
    "Mamba": refused({"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2}, RECURRENT),
    "Rwkv": refused({"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2}, RECURRENT),
    "Jamba": refused(JAMBA, "attends in 1 of its 2 layers only"),
    "Bart": refused(BART, "has an encoder and a decoder", "BartForConditionalGeneration"),
    "T5": refused(T5, "has an encoder and a decoder", "T5ForConditionalGeneration"),
}


def make(name: str) -> transformers.PreTrainedModel:
    """Make a family's model, with sinks that are not nothing, in evaluation mode."""
    family = FAMILIES[name]
    torch.manual_seed(1)
    config = getattr(transformers, family.config or f"{name}Config")(**family.settings)
    model = getattr(transformers, family.model or f"{name}ForCausalLM")(config).eval()
    for key, parameter in model.named_parameters():
        if key.endswith("sinks"):
            torch.nn.init.normal_(parameter)
    return model


LENGTH = 20
#: Of head h of H, query i and key j: a·s + b, written out as in the papers.
CAUSAL = {
    "none": ({"form": "none"}, lambda s, i, j, h, H: s),
    "linear mix": (
        {"form": "linear", "slopes": "mix"},
        lambda s, i, j, h, H: s + 2 ** (-8 * (h + 1) / H) * (j - i),
    ),
    "exponential": (
        {"form": "exponential", "decay": 0.3, "weight": 0.37},
        lambda s, i, j, h, H: 0.63 * s + 0.37 * math.exp(-0.3 * (i - j)),
    ),
    "window": (
        {"form": "window", "width": 3},
        lambda s, i, j, h, H: s if i - j < 3 else s - math.inf,
    ),
}


def outputs(model, ids):
    """Return the logits in float64."""
    with torch.no_grad():
        return model(input_ids=ids).logits.double()


def text(seed=2):
    """Return a random text, (1, LENGTH)."""
    return torch.randint(3, 60, (1, LENGTH), generator=torch.Generator().manual_seed(seed))
