"""The logit lens: what the states inside a network predict (nostalgebraist 2020).

p_l = softmax(W norm(x_l)): the states x_l that enter or leave a layer go through the network's own
final norm and output layer, as if no layer came after them.
"""

from torch import nn
from transformers import PreTrainedModel


def final_norm(model: PreTrainedModel) -> nn.Module | None:
    """Return the norm between the last layer and the output layer; None where there is none."""
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
