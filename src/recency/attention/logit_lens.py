"""The logit lens: token predictions from the states inside a network (nostalgebraist 2020).

p_l = softmax(W norm(x_l)): the states x_l that enter or leave a layer go through the network's own
final norm and output layer, skipping the layers in between.
"""

import math

import torch
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

from recency.errors import InputError

#: Config keys of a factor of the logits, with its power: Cohere; Falcon-H1; Granite.
SCALES = (("logit_scale", 1), ("lm_head_multiplier", 1), ("logits_scaling", -1))
#: Config keys of a cap of the logits: Gemma 2, NanoChat; RecurrentGemma; xLSTM.
CAPS = ("final_logit_softcapping", "logits_soft_cap", "output_logit_soft_cap")


def final_norm(model: PreTrainedModel) -> nn.Module | None:
    """Return the norm between the last layer and the output layer; None if there is none."""
    body, width = model.base_model, model.config.get_text_config().hidden_size
    lists = [module for module in body.modules() if isinstance(module, nn.ModuleList)]
    in_layers = {id(module) for layers in lists for module in layers.modules()}
    norms = [
        module
        for name, module in body.named_modules()
        if "norm" in type(module).__name__.lower() and "embed" not in name
        if id(module) not in in_layers
        if getattr(module, "weight", None) is None or module.weight.shape[-1] == width
    ]
    return norms[-1] if norms else None


def logit_scale(config: PreTrainedConfig) -> float:
    """Return the factor that a network multiplies its logits by, usually 1."""
    scale = 1.0
    for name, power in SCALES:
        if isinstance(factor := getattr(config, name, None), int | float):
            scale *= factor**power
    return scale


def logit_cap(config: PreTrainedConfig) -> float | None:
    """Return the cap c of a network whose logits l become c tanh(l / c); usually None."""
    return next((cap for name in CAPS if (cap := getattr(config, name, None))), None)


def logits(model: PreTrainedModel, states: torch.Tensor) -> torch.Tensor:
    """Return the logits (…, vocabulary) of states (…, width) inside a network, at least float32."""
    config, norm = model.config.get_text_config(), final_norm(model)
    states = model.get_output_embeddings()(states if norm is None else norm(states))
    states = states.to(torch.promote_types(states.dtype, torch.float32)) * logit_scale(config)
    cap = logit_cap(config)
    return cap * torch.tanh(states / cap) if cap else states


@torch.no_grad()
def check_lens(model: PreTrainedModel) -> None:
    """Raise InputError unless the lens on the last layer's output gives the network's logits."""
    ids = torch.arange(8, device=model.device)[None] + 1
    entering: list[torch.Tensor] = []
    norm = final_norm(model)
    if norm is not None:
        hook = norm.register_forward_pre_hook(lambda module, given: entering.append(given[0]))
    output = model(input_ids=ids, output_hidden_states=True, use_cache=False)
    if norm is not None:
        hook.remove()
    states = entering[-1] if entering else output.hidden_states[-1]
    expected = output.logits.float()
    error = (logits(model, states).float() - expected).abs().max()
    if not error <= (3e-2 if model.dtype.itemsize < 4 else 1e-4) * expected.abs().max():
        raise InputError(
            f"{type(model).__name__} computes its logits from more than its last states, final "
            "norm and output layer, so states inside it predict no token (no logit lens)"
        )


@torch.no_grad()
def surprisal(model: PreTrainedModel, states: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return the surprisal of each token under the logit lens.

    Parameters
    ----------
    model : PreTrainedModel
        A causal network with an output layer.
    states : Tensor (batch, length, width)
        The input or output of one of its layers.
    ids : Tensor of int (batch, length)
        The tokens.

    Returns
    -------
    Tensor (batch, length)
        Bits, at least float32; 0 for the first token, which has no prediction.
    """
    return surprisal_from_logits(logits(model, states[:, :-1]), ids)


def surprisal_from_logits(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return the surprisal of tokens (batch, length) in bits, from logits of all but the first."""
    nats = logits.logsumexp(-1) - logits.gather(-1, ids[:, 1:, None])[..., 0]
    return torch.nn.functional.pad(nats / math.log(2), (1, 0))
