"""Random networks of several families for a small vocabulary (word_entropy_truth)."""

import torch
import word_entropy_truth as truth
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
)

from recency import attention
from recency.networks import architectures
from small_networks import MIX, NONE

LONGEST = 4
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
LLAMA = SIZES | {"intermediate_size": 64, "num_key_value_heads": 2}
NEOX = SIZES | {"intermediate_size": 64}
PRIMACY = {"form": "primacy_recency"}
CUES = {"form": "cue_based"}
LSTM = {"family": "recurrent", "layers": 2, "embedding": 16, "width": 16}
PAIR = ["word_entropy", "word_entropy_reduction"]


def network_of(name):
    """Return a random network, its logits made less equal."""
    torch.manual_seed(3)
    about = {"vocab_size": len(truth.ENTRIES), "bos_token_id": 0, "eos_token_id": 0}
    if name in ("gpt2", "gpt2+window"):
        made = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=32, **about))
        if name != "gpt2":
            attention.attach(made.eval(), attention.bias("window", width=3))
    elif name == "llama":
        made = LlamaForCausalLM(LlamaConfig(max_position_embeddings=32, **LLAMA, **about))
    elif name == "mistral":
        window = {"sliding_window": 4, "max_position_embeddings": 32}
        made = MistralForCausalLM(MistralConfig(**LLAMA, **window, **about))
    elif name == "gpt_neo":
        shape = {
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
        }
        made = GPTNeoForCausalLM(
            GPTNeoConfig(max_position_embeddings=32, window_size=4, **shape, **about)
        )
    elif name in ("lstm", "fofe"):
        memory = {"lstm": {"form": "lstm"}, "fofe": {"form": "fofe", "decay": 0.7}}[name]
        made = architectures.new(LSTM | {"memory": memory}, NONE, len(truth.ENTRIES), 1)
    else:
        made = GPTNeoXForCausalLM(GPTNeoXConfig(max_position_embeddings=32, **NEOX, **about))
        if name != "neox":
            attention.attach(made.eval(), {"alibi": MIX, "primacy": PRIMACY, "cues": CUES}[name])
    with torch.no_grad():
        made.get_output_embeddings().weight *= 1.0 if name in ("lstm", "fofe") else 12.0
    return made.eval()
