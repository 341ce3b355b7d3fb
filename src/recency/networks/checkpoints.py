"""Open checkpoints with all of their weights, from safetensors, without running their code.

Where transformers would draw random weights, read a pickle or ask the user, this module raises an
error.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from pickle import UnpicklingError

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    PreTrainedConfig,
    PreTrainedModel,
)

from recency.attention.biased import attach, verify
from recency.errors import REFUSALS, InputError, first_line
from recency.networks import (
    config_values,
    dequantised,
    footprint,
    gguf_files,
    precisions,
    self_test,
    sizes,
    stored_tensors,
    weight_files,
)
from recency.networks.architectures import BIASED
from recency.networks.encoder_decoders import EncoderDecoderLM
from recency.networks.hub import locate
from recency.networks.roberta import RecencyRobertaForMaskedLM
from recency.networks.tested import Record
from recency.networks.weight_files import PICKLES, SAFE

#: Classes of networks that may have been trained with a bias.
BIASED_CLASSES = (*BIASED.values(), RecencyRobertaForMaskedLM)
_PICKLE = "; a pickle that you trust (pytorch_model.bin) is opened with `allow_pickle: true`"
_FAILURES = (
    OSError, ValueError, KeyError, RuntimeError, ImportError, AttributeError, EOFError, TypeError,
    ArithmeticError, SafetensorError, UnpicklingError, StrictDataclassError,
)  # fmt: skip


def load(
    source: str | Path,
    bias: dict | None = None,
    masked: bool | None = False,
    allow_pickle: bool = False,
    *,
    precision: str = "float32",
    sha256: str | Mapping[str, str] | None = None,
    device_map: str | Mapping | None = None,
) -> PreTrainedModel:
    """Open a checkpoint in evaluation mode: one of this project, a folder, or a Hub name.

    A Hub name may have a revision and a folder, and both kinds may name a GGUF file, whose weights
    are dequantised (`recency.networks.hub.locate`; `recency.networks.dequantised` keeps small ones). `masked` selects the kind of LM; None takes it
    from the config. `bias` is applied at inference ("-I" models), and verified on the loaded
    weights. `precision` is one of `recency.networks.precisions.PRECISIONS`; `sha256` is the
    checksum of the single weight file, or maps files to checksums; `device_map` is "auto" or a map
    for accelerate. Raises a one-line InputError unless transformers itself has the network's code,
    and the checkpoint has exactly the network's weights, in safetensors (or, with `allow_pickle`,
    in a pickle that is read for tensors only), which fit into memory, and it passes a test of its
    outputs (`recency.networks.self_test`), once per checkpoint.
    """
    precisions.check(source, precision, device_map)
    if sha256 is not None:
        weight_files.verify(source, sha256, allow_pickle)
    if precision == "float32" and device_map is None:
        model = _open_in_full(source, masked, allow_pickle)
    else:
        model = _open(source, masked, allow_pickle, precision, device_map)
    trained = isinstance(model, BIASED_CLASSES) and model.config.bias
    if bias is not None and bias["form"] != "none":
        if trained:
            raise InputError(f"{source} was trained with a bias ({model.config.bias}) already")
        attach(model.base_model.network if model.config.is_encoder_decoder else model, bias)
    elif trained:
        verify(model)
    return model.eval()


def _open_in_full(source: str | Path, masked: bool | None, allow_pickle: bool) -> PreTrainedModel:
    """Open a checkpoint in float32: the copy of a GGUF file, or the file, which is then copied."""
    copy = dequantised.Copy(source, "network")
    if folder := copy.find():
        with suppress(InputError):  # then the file itself is opened
            return _open(folder, masked)
    model = _open(source, masked, allow_pickle)
    numbers = sum(weight.numel() for weight in model.parameters())
    if isinstance(model, PreTrainedModel) and numbers <= dequantised.LIMIT:
        copy.store(model.save_pretrained)
    return model


def _open(
    source: str | Path,
    masked: bool | None,
    allow_pickle: bool = False,
    precision: str = "float32",
    device_map: str | Mapping | None = None,
) -> PreTrainedModel:
    """Open a checkpoint without a bias at inference, as `load` does, and test it."""
    name, within = locate(source)
    config = configuration(source)
    if other := getattr(config, "transformers_weights", None):
        raise InputError(
            f"checkpoint {str(source)!r}: config.json names {other!r} (`transformers_weights`) as its "
            f"weights; name that file {weight_files.SAFE[0]}, and leave the setting out"
        )
    gguf = gguf_files.read(source) if "gguf_file" in within else None
    stored = gguf.stored if gguf else ""
    masked = is_masked(config) if masked is None else masked
    network = _class_of(source, config, masked)
    options = precisions.settings(source, config, precision, device_map, bool(gguf))
    if not stored:
        _check_files(source, allow_pickle)
    tensors = gguf_files.tensors_with_effect(gguf) if gguf else _tensors(source)
    sizes.check(source, config.to_dict())
    footprint.check(
        source, network, config, precision, device_map is not None, gguf and gguf.numbers
    )
    # Otherwise transformers has the Hub convert a pickle, and takes conversions uploaded by others.
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
    try:
        model, loading = network.from_pretrained(
            name,
            **within,
            **options,
            config=config,
            trust_remote_code=False,
            use_safetensors=None if allow_pickle or stored else True,
            weights_only=True,
            output_loading_info=True,
        )
    except REFUSALS:
        raise
    except _FAILURES as error:
        raise InputError(
            f"checkpoint {str(source)!r} cannot be opened as {network.__name__}: {first_line(error)}"
            + ("" if allow_pickle or stored or not isinstance(error, OSError) else _PICKLE)
        ) from error
    if getattr(model, "_hf_peft_config_loaded", False):  # Hub names, with PEFT installed
        raise InputError(_adapter_message(source))
    tensors = tensors or ({} if gguf else _tensors(source))  # of the Hub: they are here by now
    if getattr(config, "quantization_config", None) is not None:
        tensors = {}
    loading["unexpected_keys"] = stored_tensors.left_over(
        model,
        tensors,
        loading["unexpected_keys"],
        partial(gguf_files.used, model, gguf) if gguf else tuple,
        gguf.more_layers if gguf else getattr(config, "num_nextn_predict_layers", None) or 0,
    )
    _check_weights(source, config, network.__name__, loading)
    stored_tensors.require_floats(source, model, tensors)
    if precision != "float32" or device_map is not None:
        precisions.check_opened(source, model, precision)
    if stored:
        model.config.dequantised = f"GGUF: {stored}"
        _forget_quantisation(model)
    if config.is_encoder_decoder:
        model = EncoderDecoderLM(model)
    _test(source, model, not masked, tensors, (precision, allow_pickle))
    return model


def _forget_quantisation(model: PreTrainedModel) -> None:
    """Remove what states that a network is quantised: its weights are full ones, as of any other."""
    for owner, names in (
        (model, ("hf_quantizer", "is_quantized", "quantization_method")),
        (model.config, ("quantization_config",)),
    ):
        for name in names:
            if name in vars(owner):
                delattr(owner, name)


def configuration(source: str | Path) -> PreTrainedConfig:
    """Read a checkpoint's config; raise InputError if transformers has no such config."""
    name, within = locate(source)
    if "gguf_file" in within:
        gguf_files.read(source)
    elif Path(name, "adapter_config.json").is_file():
        raise InputError(_adapter_message(source))
    else:
        config_values.check_file(source, Path(name) / "config.json")
    try:
        config = AutoConfig.from_pretrained(name, **within, trust_remote_code=False)
    except OSError as error:
        if (Path(name) / "config.json").is_file():
            raise InputError(
                f"checkpoint {str(source)!r}: its config.json cannot be read, or was cut: {first_line(error)}"
            ) from error
        raise InputError(
            f"checkpoint {str(source)!r} is no folder with a network and could not be downloaded from "
            f"the Hub ({first_line(error)}); without internet, save it into a folder on a "
            "machine that has it (`save_pretrained` of the model and of its tokenizer) and name "
            "that folder in `checkpoint:`"
        ) from error
    except _FAILURES as error:
        if "custom code" in str(error):
            raise InputError(_custom_code_message(source)) from error
        raise InputError(
            f"checkpoint {str(source)!r}: its config.json cannot be read: {first_line(error)}"
        ) from error
    config_values.check(source, within.get("gguf_file", "config.json"), config.to_dict())
    if "gguf_file" in within:
        rope = getattr(config, "rope_parameters", None)
        gguf_files.require_scaling_read(source, gguf_files.read(source), rope)
    return config


def _adapter_message(source: str | Path) -> str:
    """Return the message that refuses an adapter."""
    return (
        f"checkpoint {str(source)!r} is an adapter (PEFT); merge it into its model "
        "(`merge_and_unload`), save that with `save_pretrained`, and name that folder"
    )


def is_masked(config: PreTrainedConfig) -> bool:
    """Return whether a config is of a masked LM; bidirectional models are not causal ones."""
    names = config.architectures or []
    if getattr(config, "is_encoder_decoder", False):
        return False
    causal, masked = (
        type(config) in kind._model_mapping for kind in (AutoModelForCausalLM, AutoModelForMaskedLM)
    )
    if any(name.endswith("ForMaskedLM") for name in names) or not masked:
        return masked
    if getattr(config, "causal", None) is False:  # XLM and Flaubert have one class for both kinds
        return True
    named_causal = any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in names)
    return not causal or (getattr(config, "is_decoder", True) is False and not named_causal)


def _class_of(source: str | Path, config: PreTrainedConfig, masked: bool) -> type[PreTrainedModel]:
    """Return transformers' class for a config; raise InputError if it has no such LM."""
    what = f"checkpoint {str(source)!r} ({' or '.join(config.architectures or ['unnamed'])})"
    kind, auto = "causal", AutoModelForCausalLM
    if masked:
        kind, auto = "masked", AutoModelForMaskedLM
    if getattr(config, "is_encoder_decoder", False):
        if masked:
            raise InputError(
                f"{what} is an encoder-decoder, whose decoder is scored like a causal LM; leave "
                "`masked` out"
            )
        kind, auto = "encoder-decoder", AutoModelForSeq2SeqLM
    classes = auto._model_mapping
    if type(config) not in classes:
        if getattr(config, "auto_map", None):
            raise InputError(_custom_code_message(source))
        raise InputError(f"{what}: transformers has no {kind} LM of the type {config.model_type!r}")
    network = classes[type(config)]
    network = network[0] if isinstance(network, tuple) else network
    stated = [name.lower() for name in config.architectures or []]
    native = (network.__name__.lower(), network.__name__.split("For")[0].lower() + "model")
    if getattr(config, "auto_map", None) and stated and not set(stated) & set(native):
        raise InputError(_custom_code_message(source))
    both = type(config) in AutoModelForMaskedLM._model_mapping
    if kind == "causal" and both and getattr(config, "is_decoder", True) is False:
        raise InputError(
            f"{what} is bidirectional (`is_decoder` is false), so that {network.__name__} would "
            "not be causal; a masked LM's folder names its …ForMaskedLM in config.json, or give "
            "recency.load(…, masked=True)"
        )
    return network


def _check_files(source: str | Path, allow_pickle: bool) -> None:
    """Raise InputError for a folder without weights, or with a pickle unless that is allowed."""
    folder = Path(source)
    if not folder.is_dir() or any((folder / name).is_file() for name in SAFE):
        return
    pickles = [name for name in PICKLES if (folder / name).is_file()]
    if not pickles:
        if files := sorted(folder.glob("*.gguf")):
            raise InputError(
                f"checkpoint {str(source)!r} has its weights in GGUF; name the file ({files[0]}), or the "
                "checkpoint that it was made from"
            )
        raise InputError(
            f"checkpoint {str(source)!r} has no weights ({SAFE[0]}); save them with "
            "`save_pretrained` of the model"
        )
    if not allow_pickle:
        raise InputError(
            f"checkpoint {str(source)!r} has its weights in a pickle ({pickles[0]}), which can run "
            "code when it is read; save the model again (`save_pretrained` writes safetensors), or, "
            "if you trust it, set `allow_pickle: true`"
        )


def _tensors(source: str | Path) -> dict[str, stored_tensors.Stored]:
    """Return the tensors in a checkpoint's safetensors files on this machine."""
    return stored_tensors.read(source, weight_files.safetensors(source))


def _test(source, model: PreTrainedModel, causal: bool, tensors: dict, settings: tuple) -> None:
    """Test a network's outputs, unless this checkpoint passed before."""
    files = {tensor.file for tensor in tensors.values()}
    files |= {file for name in ("config.json",) if (file := weight_files.local(source, name))}
    kind = type(model).__name__
    record = Record(files if tensors else (), (kind, causal, model.dtype, model.device, *settings))
    if not record.passed():
        self_test.test(model, causal, source)
        record.store()


def _check_weights(source, config: PreTrainedConfig, network: str, report: dict) -> None:
    """Raise InputError for missing weights, which would be random, and for superfluous ones."""
    what = f"checkpoint {str(source)!r} ({' or '.join(config.architectures or ['unnamed'])})"
    advice = "name a folder that `save_pretrained` of the whole language model wrote"
    if str(source).partition("@")[0].endswith(".gguf"):
        advice = "download the file again, or name the checkpoint that it was made from"
    lacking = sorted(report["missing_keys"])
    lacking += sorted(str(entry[0]) for entry in report["mismatched_keys"])
    if lacking:
        raise InputError(
            f"{what} lacks {_some(lacking)} of {network}, which would be random; {advice}"
        )
    if beyond := report["unexpected_keys"]:
        layers = getattr(config.get_text_config(), "num_hidden_layers", None)
        stated = f", or its config states too few layers ({layers})" if layers else ""
        raise InputError(
            f"{what} has {_some(beyond)}, which {network} has no place for: another head, or "
            f"another network{stated}; {advice}"
        )
    if report["error_msgs"]:
        raise InputError(
            f"{what} cannot be opened as {network}: {first_line(report['error_msgs'][0])}"
        )


def _custom_code_message(source: str | Path) -> str:
    """Return the message that refuses a checkpoint with custom code."""
    return (
        f"checkpoint {str(source)!r} has custom code (`auto_map` in config.json), which is "
        "never run, and transformers has none for it; use a network that transformers knows"
    )


def _some(names: list[str]) -> str:
    """Name the first of some weights, and the number of the others."""
    rest = len(names) - 1
    return f"the weight{'s' if rest else ''} {names[0]}" + (f" and {rest:,} more" if rest else "")
