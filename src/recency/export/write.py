"""Rule export: write a language model as a folder that transformers opens, including its bias."""

import importlib.util
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from recency import history
from recency.errors import InputError
from recency.export import card
from recency.export.modelling import FILE, recurrent_source, source
from recency.scoring.lm_spec import LMSpec


def main(
    lm: LMSpec,
    out: str | Path,
    *,
    about: Mapping,
    training: str | Path | None = None,
    perplexity: Iterable[str | Path] = (),
    delta_loglik: Iterable[str | Path] = (),
) -> None:
    """Write an LM, with its training or inference-only bias, to the folder `out`.

    Transformers opens an unbiased LM directly. A biased or recurrent one has its code (FILE), which
    AutoModelForCausalLM runs with trust_remote_code=True and otherwise refuses. The folder is
    opened in this way before the job ends, and must reproduce the logits of the original network.
    The card (README.md) describes the LM (`about`, see recency.export.card) and its results: its
    losses (`training`, training.csv), and the tables of experiments that include it.
    """
    from recency.networks import checkpoints
    from recency.scoring import tokenizer as tokenizers

    if checkpoints.is_masked(checkpoints.configuration(lm.model)):
        raise InputError(
            "a masked LM cannot be exported with its own code; its folder in results/…/lms/ opens with "
            "recency.load, and with transformers' RobertaForMaskedLM if it has no bias"
        )
    if (precision := lm.weights.get("precision", "float32")) != "float32":
        raise InputError(
            f"{lm.name} has `precision: {precision}`, and an exported folder has full weights; export an LM "
            "of the same checkpoint without it"
        )
    checked = {"allow_pickle": lm.allow_pickle, "sha256": lm.weights.get("sha256")}
    network = checkpoints.load(lm.model, lm.bias, **checked)
    exported = _with_code(network, lm.bias)
    out = Path(out)
    part = out.with_name(f".{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    exported.save_pretrained(part)
    history.copy_passages(Path(lm.model), part)
    _write_tokenizer(*tokenizers.load(lm.model, lm.tokenizer), part)
    if bias := getattr(exported.config, "bias", None):
        code = source(bias["form"], type(exported.config), type(exported))
        (part / FILE).write_text(code, encoding="utf-8")
    if memory := getattr(exported.config, "memory", None):
        (part / FILE).write_text(recurrent_source(memory["form"]), encoding="utf-8")
    _compare(network, exported, part)
    text = card.text(lm.name, about, exported, training, perplexity, delta_loglik)
    (part / "README.md").write_text(text, encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    part.rename(out)


def _with_code(network, bias: Mapping | None):
    """Return a network whose config names its bias or memory, and the classes that implement it."""
    from recency.networks.architectures import BIASED
    from recency.networks.recurrent import RecurrentForCausalLM

    if isinstance(network, RecurrentForCausalLM):
        return _name_classes(network)
    plain = {kind.__mro__[1]: kind for kind in BIASED}
    kind = type(network.config)
    if bias is not None and bias["form"] != "none":
        if kind not in plain:
            supported = ", ".join(model_class.model_type for model_class in plain)
            raise InputError(
                f"{type(network).__name__} with a bias cannot be exported, since the exported code "
                f"supports only {supported}; export the LM without its bias"
            )
        settings = network.config.to_dict()
        settings = {key: settings[key] for key in settings if key not in ("model_type", "bias")}
        biased = BIASED[plain[kind]](plain[kind](bias=dict(bias), **settings))
        biased.load_state_dict(network.state_dict())
        biased.tie_weights()
        network = biased.eval()
    return _name_classes(network) if type(network.config) in BIASED else network


def _name_classes(network):
    """Return a network whose config names its included classes."""
    module = FILE.removesuffix(".py")
    network.config.auto_map = {
        "AutoConfig": f"{module}.{type(network.config).__name__}",
        "AutoModelForCausalLM": f"{module}.{type(network).__name__}",
    }
    return network


def _write_tokenizer(tokenizer, begin: str | None, folder: Path) -> None:
    """Write the tokenizer for transformers; its begin token also ends texts."""
    from transformers import PreTrainedTokenizerFast

    named = {} if begin is None else {"bos_token": begin, "eos_token": begin}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))


def _compare(network, exported, folder: Path) -> None:
    """Raise an error unless the folder, opened with its own code, reproduces the network's logits."""
    import torch

    opened = type(exported)
    if (folder / FILE).exists():
        name = f"recency_exported_{abs(hash(str(folder)))}"
        spec = importlib.util.spec_from_file_location(name, folder / FILE)
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        opened = getattr(module, opened.__name__)
    again = opened.from_pretrained(folder, dtype=torch.float32).eval()
    length = min(64, getattr(network.config, "max_position_embeddings", 64))
    ids = torch.randint(
        network.config.vocab_size, (2, length), generator=torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        expected = network.cpu()(input_ids=ids, use_cache=False).logits
        logits = again(input_ids=ids, use_cache=False).logits
    off = (logits - expected).abs().max().item()
    if not off <= 1e-4 * expected.abs().max().clamp(min=1).item():
        raise InputError(
            f"{folder}: the exported network's logits differ from the original ones by up to "
            f"{off:.2g}; this is a bug in this version of transformers or in recency"
        )
