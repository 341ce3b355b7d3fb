"""Checked specification of a bias: a form and its parameters, as in the config's `biases:`."""

from collections.abc import Mapping
from typing import Any

from recency import form_parameters
from recency.errors import InputError

BIASES = "recency.attention.biases"
LAYERS = {
    "description": "the layers that have it: all, last, or a list of numbers from 0",
    "anyOf": [
        {"enum": ["all", "last"]},
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
    ],
}


def bias(form: str, **parameters: Any) -> dict[str, Any]:
    """Specify an attention bias: how scores change with distance.

    Parameters
    ----------
    form : str
        A form such as linear (ALiBi), window, power_law, forgetting or cue_based: `recency biases` and
        docs/biases.md list all with their equations.
    **parameters
        Parameters of the form, and `layers`: "all", "last" or a list of numbers from 0.

    Returns
    -------
    dict
        For `recency.load(checkpoint, bias=...)` and `attach`.

    Raises
    ------
    InputError
        If the form or a parameter is unknown, or a value invalid.

    Examples
    --------
    >>> import recency
    >>> recency.attention.bias("linear", slopes="mix")
    {'form': 'linear', 'slopes': 'mix'}
    >>> recency.attention.bias("window", width=5, layers=[0])
    {'form': 'window', 'width': 5, 'layers': [0]}
    >>> recency.attention.bias("linear", slope=0.5)
    Traceback (most recent call last):
    crosslmm.errors.InputError: bias 'linear': no parameter is called 'slope'; did you mean 'slopes'?
    """
    return checked({"form": form, **parameters})


def attach(model: Any, bias: Mapping[str, Any]) -> None:
    """Apply a bias to a model in place, replacing any bias that was applied before.

    The model is run on a short random text; if its outputs are not those of softmax(a·s + b), it is
    refused and left unchanged.

    Parameters
    ----------
    model : Model or PreTrainedModel
        A model from `recency.load`, or a transformers model that uses the registry of attention functions
        (GPT-2, GPT-NeoX, OPT, Llama, Gemma, BERT and most others; docs/surprisal.md has a table).
    bias : mapping
        From `recency.attention.bias`, or a dict of the same form; the form "none" removes a bias.
        Bidirectional models take only forms that are defined for later keys (linear_both, two_slopes,
        one_sided, identity, temperature, none).

    Raises
    ------
    InputError
        If the form does not apply to the model, or the check fails.

    Examples
    --------
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
            f"a bias applies to a model of recency.load or a network of transformers, not to a "
            f"{type(model).__name__}"
        )
    trained_bias = getattr(network.config, "bias", None)
    if isinstance(trained_bias, Mapping):
        raise InputError(
            f"the model was trained with a bias ({dict(trained_bias)}), which cannot be replaced"
        )
    biased.attach(network, checked(bias))


def checked(bias: Mapping[str, Any]) -> dict[str, Any]:
    """Return a bias as a dict; raise InputError unless its form and parameters are valid."""
    if not isinstance(bias, Mapping) or "form" not in bias:
        raise InputError(
            f"a bias is a result of recency.attention.bias(form, ...) or such a dict, not {bias!r}"
        )
    return form_parameters.check(BIASES, "bias", bias, {"layers": LAYERS})
