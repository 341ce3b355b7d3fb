"""What a bias is described by, checked: a form and its parameters (the config's `biases:` entry)."""

from collections.abc import Mapping
from typing import Any

from recency import form_parameters
from recency.errors import InputError

BIASES = "recency.attention.biases"
LAYERS = {
    "description": "which layers have it: all, last, or a list of numbers from 0",
    "anyOf": [
        {"enum": ["all", "last"]},
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
    ],
}


def bias(form: str, **parameters: Any) -> dict[str, Any]:
    """Describe a bias of attention: how scores change with distance.

    `form` is one of those that `recency extensions` lists, such as linear (ALiBi), window, power_law,
    forgetting or cue_based; its module in recency.attention.biases gives its equation and its
    `parameters`. `layers` may be "all", "last" or a list of numbers from 0. Returns
    a dict for `recency.load(checkpoint, bias=...)` and `attach`. Raises InputError for a form, a
    parameter or a value that there is not.

    >>> import recency
    >>> recency.attention.bias("linear", slopes="mix")
    {'form': 'linear', 'slopes': 'mix'}
    >>> recency.attention.bias("window", width=5, layers=[0])
    {'form': 'window', 'width': 5, 'layers': [0]}
    >>> recency.attention.bias("linear", slope=0.5)
    Traceback (most recent call last):
    recency.errors.InputError: bias 'linear': no parameter is called 'slope'; did you mean 'slopes'?
    """
    return checked({"form": form, **parameters})


def attach(model: Any, bias: Mapping[str, Any]) -> None:
    """Put a bias on a model in place; it takes the place of one that was put on before.

    `model` is what `recency.load` gives, or any model of transformers that gets its attention
    function from the registry of transformers (GPT-2, GPT-NeoX, OPT, Llama, Gemma, BERT and most
    others; docs/surprisal.md has a table). It is run on a short random text, and is refused, and left
    as it was, if its outputs are not those of softmax(a·s + b). `bias` is what `recency.attention.bias` gives, or a dict like it;
    the form "none" takes a bias off again. Models that see both directions take only forms that say
    what they do to later keys (linear_both, two_slopes, one_sided, identity, temperature, none). Raises InputError.

    >>> import recency
    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> config = GPT2Config(vocab_size=100, n_embd=16, n_layer=2, n_head=4, n_positions=32)
    >>> network = GPT2LMHeadModel(config)
    >>> recency.attention.attach(network, recency.attention.bias("linear", slopes=0.25))
    """
    from recency.attention import biased

    network = getattr(model, "network", model)
    if not hasattr(network, "config") or not hasattr(network, "named_modules"):
        raise InputError(
            f"a bias goes on what recency.load gives or a network of transformers, not on a "
            f"{type(model).__name__}"
        )
    own = getattr(network.config, "bias", None)
    if isinstance(own, Mapping):
        raise InputError(f"the model was trained with a bias ({dict(own)}), which stays")
    biased.attach(network, checked(bias))


def checked(bias: Mapping[str, Any]) -> dict[str, Any]:
    """Return a bias as a dict, its form and parameters known; raise InputError otherwise."""
    if not isinstance(bias, Mapping) or "form" not in bias:
        raise InputError(
            f"a bias is what recency.attention.bias(form, ...) gives, or a dict like it, not {bias!r}"
        )
    return form_parameters.check(BIASES, "bias", bias, {"layers": LAYERS})
