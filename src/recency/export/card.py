"""The card of an exported language model: description, code to open it, training, results."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from recency import history, plugins
from recency.export.modelling import FILE
from recency.figures import bases
from recency.figures.intervals import clusters

BIASES = "recency.attention.biases"
MEMORIES = "recency.networks.memories"


def text(
    lm: str,
    about: Mapping,
    network,
    training: str | Path | None = None,
    perplexity: Iterable[str | Path] = (),
    delta_loglik: Iterable[str | Path] = (),
) -> str:
    """Return the card as Markdown, with the Hub's metadata first.

    `about` has label, study, applied (of the bias), and optionally checkpoint, corpus (label,
    licence, cite), recipe, seed, licence, cite, `lossy` (settings of context erasure), `ranked`
    (name of the LM as a mean over seeds), and `datasets` (name → label). The tables are
    training.csv, and perplexity.csv and delta_loglik.csv of experiments with this LM.
    """
    bias = getattr(network.config, "bias", None)
    memory = getattr(network.config, "memory", None)
    licence = [f"license: {about['licence']}"] if about.get("licence") else []
    metadata = ["library_name: transformers", "pipeline_tag: text-generation", *licence]
    metadata.append("tags: [recency, psycholinguistics, surprisal]")
    labels = about.get("datasets", {})
    parts = [
        "\n".join(["---", *metadata, "---"]),
        f"# {about['label']}",
        _what(about, bias, memory),
        _lossy(lm, about),
        _note_changes(about, network.config),
        _opening_code(lm, bias or memory, "memory" if memory else "bias"),
        _training(about, network, training),
        _perplexities(lm, labels, perplexity),
        _fits(about.get("ranked", lm), labels, delta_loglik),
        _rights(about),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _what(about: Mapping, bias: Mapping | None, memory: Mapping | None) -> str:
    """Describe the LM, and give the equation of its bias or its memory."""
    what = f"A language model of the study *{about['study']}*, trained with recency."
    parameters = memory or bias
    if not parameters:
        return f"{what} Its attention has no bias."
    settings = "".join(f", {key} {value}" for key, value in parameters.items() if key != "form")
    if memory:
        summary = plugins.docstring(MEMORIES, memory["form"]).splitlines()[0]
        return f"{what} It has no attention: a state is carried from word to word. {summary}\n\nForm `{memory['form']}`{settings}."
    when = {"inference": "applied to a trained network"}.get(
        about["applied"], "in training and inference"
    )
    return (
        f"{what} A bias changes each scaled attention score s = q·k/√d to a·s + b, by query position i "
        f"and key position j, {when}: {plugins.docstring(BIASES, bias['form']).splitlines()[0]}\n\n"
        f"Form `{bias['form']}`{settings}."
    )


def _lossy(lm: str, about: Mapping) -> str:
    """Note that the study's surprisal is of lossy contexts, which are not part of the network."""
    if not about.get("lossy"):
        return ""
    return (
        "**Surprisal in the study is of lossy contexts**: words of context are randomly erased, which "
        "is not part of the network. `recency.surprisal(texts, "
        f'recency.load("{lm}"), lossy={json.dumps(about["lossy"])})` computes it.'
    )


def _note_changes(about: Mapping, config) -> str:
    """Note changes of the code during training, since the card describes the present code."""
    changes = history.changes_of_code(getattr(config, history.KEY, None), about.get("step"))
    if not changes:
        return ""
    return f"**Its code changed while it was trained**, so that this may not apply to all steps. {' '.join(changes)}"


def _opening_code(lm: str, settings: Mapping | None, what: str) -> str:
    """Return the code that opens the LM, whose bias or memory (`what`) has these `settings`."""
    trust = ", trust_remote_code=True" if settings else ""
    code = (
        "## Usage\n\n```python\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        f'network = AutoModelForCausalLM.from_pretrained("{lm}"{trust})\n'
        f'tokenizer = AutoTokenizer.from_pretrained("{lm}"{trust})\n```'
    )
    if not settings:
        return code
    return (
        f"{code}\n\nThe code of the {what} is in `{FILE}` and needs only torch and transformers (5 or "
        "later). Without it transformers refuses the folder, so that the network never runs without "
        f'its {what}. recency opens it with its own code: `recency.load("{lm}")`.'
    )


def _training(about: Mapping, network, training: str | Path | None) -> str:
    """Describe the LM's architecture and training."""
    config, rows = network.config, {}
    heads = getattr(config, "num_attention_heads", 0)
    heads = f"{heads} heads, " if heads else ""
    rows["network"] = (
        f"{config.model_type.removeprefix('recency_')}, {config.num_hidden_layers} layers, "
        f"{heads}width {config.hidden_size}, "
        f"{sum(parameter.numel() for parameter in network.parameters()):,} parameters"
    )
    if about.get("checkpoint"):
        rows["made from"] = about["checkpoint"]
    if corpus := about.get("corpus"):
        rows["text"] = corpus["label"]
    if training:
        losses = pd.read_csv(training)
        losses = losses[losses.step <= about.get("step", math.inf)]
        last = losses.iloc[-1]
        rows["tokens"] = f"{int(last.tokens):,}, in {int(last.step):,} steps"
        held_out = losses.validation_nats.dropna()
        rows["last loss"] = f"{last.loss_nats:.3f} nats a token" + (
            f"; {held_out.iloc[-1]:.3f} on held-out text" if len(held_out) else ""
        )
    record = getattr(config, history.KEY, None) or {}
    if again := [", ".join(modules) for modules in record.get("retrained", [])]:
        rows["trained again"] = f"by `retrain: true`, after a change of {'; '.join(again)}"
    if about.get("recipe"):
        rows["recipe"] = f"`{json.dumps(about['recipe'], sort_keys=True)}`"
        rows["seed"] = str(about["seed"])
    return "## Training\n\n" + _table(["", ""], rows.items())


def _perplexities(lm: str, labels: Mapping, tables: Iterable[str | Path]) -> str:
    """Return a table of perplexities of the reading-time corpora's texts."""
    rows = {}
    for table in map(pd.read_csv, tables):
        for row in table[(table.lm == lm) & (table.dataset != "all")].itertuples():
            label = labels.get(row.dataset, row.dataset)
            rows[label] = (label, f"{row.tokens:,}", f"{row.perplexity:.1f}")
    if not rows:
        return ""
    return "## Perplexity of the reading-time corpora\n\n" + _table(
        ["text", "tokens", "perplexity per token"], rows.values()
    )


def _fits(lm: str, labels: Mapping, tables: Iterable[str | Path]) -> str:
    """Return a table of ΔLogLik with its interval."""
    rows = {}
    for table in map(pd.read_csv, tables):
        for row in table[(table.lm == lm) & table.delta_loglik.notna()].to_dict("records"):
            has_interval = not pd.isna(row["low"])
            interval = f"{row['low']:.1f} to {row['high']:.1f}" if has_interval else ""
            by = clusters(row["by"])
            interval += f", by {by}" if has_interval else ""
            label = f"{labels.get(row['dataset'], row['dataset'])}, {row['measure']}"
            figures = f"{row['n']:,}", f"{row['delta_loglik']:.1f}"
            of = (bases.SHORT.get(row["base"], ""), str(row["seeds"]))
            rows[label, row["design"]] = (label, row["design"], *of, *figures, interval)
    if not rows:
        return ""
    return (
        "## Fit to reading times\n\nΔLogLik in nats relative to a baseline model without surprisal "
        "(base: all, without its by-subject slopes too; base: fixed, with them), for observations that "
        "neither model was fitted to, with a 95 % interval. For several training seeds it is the "
        "mean.\n\n"
        + _table(
            ["response", "design", "base", "trainings", "observations", "ΔLogLik", "interval"],
            rows.values(),
        )
    )


def _rights(about: Mapping) -> str:
    """Return licences and citations."""
    corpus, lines = about.get("corpus") or {}, []
    if about.get("licence"):
        lines.append(f"The weights: {about['licence']}.")
    if corpus.get("licence"):
        lines.append(f"The training text: {corpus['licence']}.")
    cited = list(filter(None, [corpus.get("cite"), about.get("cite")]))
    if cited:
        lines.append(f"Citation: {'; '.join(cited)}; and recency (CITATION.cff).")
    return "## Licence and citation\n\n" + " ".join(lines) if lines else ""


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = list(head)
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    cells = ([str(cell).replace("|", "\\|") for cell in row] for row in rows)
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in cells)])
