"""Export a trained LM for publication: weights in bfloat16, tokenizer and a model card.

    python setup/embed.py results/…/lms/LM src/recency/networks/embedded/small-english

The networks in src/recency/networks/embedded are those of `recency.embedded`.
"""

import json
import shutil
import sys
from pathlib import Path

import pandas as pd
import torch
from safetensors.torch import load_file, save_file

CARD = """\
# {name}

A small causal language model of English: GPT-NeoX with {layers} layers, {heads} heads and width
{width}, {bias}, a byte-level BPE of
{vocabulary:,} entries, and a context of 512 tokens. Weights are in bfloat16.

**Training.** 41 M tokens (2.7 passes through 10.8 M words) of open English text: novels, the Brown
corpus, MASC, child-directed speech (CHILDES), speeches, Switchboard, WikiText-2. Perplexity of
held-out text: {perplexity:.1f} per token. Made by `config/open.yaml` at `scale=night` ({lm}), as
one of the networks of the preregistered open study.

**Use.** Examples, tests and teaching. Its surprisal is far less accurate than that of GPT-2. It
repeats the biases of its sources.

**Licence.** CC BY-NC-SA 3.0, the strictest of the texts' licences (CHILDES: CC BY-NC-SA 3.0;
WikiText-2: CC BY-SA; Brown: non-commercial use; MASC and Switchboard: open; the rest is in the
public domain).
"""


def main(source: Path, out: Path) -> None:
    """Export one network."""
    out.mkdir(parents=True, exist_ok=True)
    weights = load_file(source / "model.safetensors")
    rounded = {key: tensor.to(torch.bfloat16) for key, tensor in weights.items()}
    save_file(rounded, out / "model.safetensors", metadata={"format": "pt"})
    (out / "model.safetensors").chmod(0o644)
    config = json.loads((source / "config.json").read_text())
    config.pop("training_history", None)
    config["dtype"] = "bfloat16"
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    for file in ("tokenizer_config.json", "generation_config.json"):
        shutil.copyfile(source / file, out / file)
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    compact = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (out / "tokenizer.json").write_text(compact, encoding="utf-8")
    slopes = (config.get("bias") or {}).get("slopes")
    bias = f"ALiBi (slopes: {slopes}) in training and at inference"
    card = CARD.format(
        name=out.name,
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        width=config["hidden_size"],
        bias="rotary positions" if slopes is None else bias,
        vocabulary=config["vocab_size"],
        perplexity=pd.read_csv(source / "training.csv").iloc[-1]["validation_perplexity"],
        lm=source.name,
    )
    (out / "README.md").write_text(card)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
