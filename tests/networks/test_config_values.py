"""Numbers with which a network's outputs are no numbers are refused when it is opened."""

import json

import numpy as np
import pytest
from test_self_test import make, save

import recency
from recency.errors import InputError
from recency.networks import config_values
from small_networks import TEXTS

ROPE = {"rope_type": "default", "rope_theta": 1e4}


def set_config(folder, **settings):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"rope_parameters": ROPE | {"rope_theta": np.nan}}, "rope_parameters.rope_theta: nan"),
        ({"rope_parameters": ROPE | {"rope_theta": -1.0}}, "rope_parameters.rope_theta: -1.0"),
        ({"rope_parameters": ROPE | {"rope_theta": 0}}, "rope_parameters.rope_theta: 0"),
        ({"rope_parameters": ROPE | {"rope_theta": np.inf}}, "rope_parameters.rope_theta: inf"),
        ({"rope_theta": np.nan}, "rope_theta: nan"),
        (
            {"rope_parameters": ROPE | {"rope_type": "linear", "factor": 0.0}},
            "rope_parameters.factor: 0.0",
        ),
        ({"rope_scaling": {"type": "linear", "factor": -2.0}}, "rope_scaling.factor: -2.0"),
        (
            {
                "rope_parameters": ROPE
                | {"rope_type": "longrope", "short_factor": [1.0, 0.0], "long_factor": [1.0, 1.0]}
            },
            r"rope_parameters.short_factor\[1\]: 0.0",
        ),
        ({"rms_norm_eps": -5.0}, "rms_norm_eps: -5.0"),
        ({"rms_norm_eps": np.nan}, "rms_norm_eps: nan"),
        ({"rms_norm_eps": 10.0}, "rms_norm_eps: 10.0"),
        ({"attention_dropout": np.nan}, "attention_dropout: nan"),
    ],
)
def test_a_llama(tmp_path, settings, key):
    """NaN, 0 and -1 as the rotary base gave finite surprisal of no attention at all."""
    folder = save(tmp_path / "lm", make())
    set_config(folder, **settings)
    with pytest.raises(InputError, match=f"lm': config.json has {key}, .*correct it") as error:
        recency.surprisal(TEXTS, folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"rotary_emb_base": np.nan},
        {"rope_parameters": ROPE | {"partial_rotary_factor": 1.5}},
        {"layer_norm_eps": -1e-5},
    ],
)
def test_a_neox(tmp_path, settings):
    folder = save(tmp_path / "lm", make("GPTNeoX"))
    set_config(folder, **settings)
    with pytest.raises(InputError, match="lm': config.json has "):
        recency.surprisal(TEXTS, folder)


@pytest.mark.parametrize(
    "settings",
    [
        {"rope_parameters": ROPE | {"rope_type": "linear", "factor": 8.0}},
        {"rope_scaling": None},
        {"rms_norm_eps": 0.0},
        {"rope_theta": 500000},
    ],
)
def test_values_that_networks_have(tmp_path, settings):
    folder = save(tmp_path / "lm", make())
    set_config(folder, **settings)
    assert np.isfinite(recency.surprisal(TEXTS, folder).surprisal_bits).all()


def test_bounds_may_be_infinite():
    config_values.check("lm", "config.json", {"time_step_limit": [0.0, float("inf")]})
    config_values.check("lm", "config.json", {"mtp_loss_scaling_factor": 0.0, "is_decoder": False})
    with pytest.raises(InputError, match=r"time_step_limit\[0\]: nan"):
        config_values.check("lm", "config.json", {"time_step_limit": [float("nan"), 1.0]})
