"""Rule structural_probe: dependency trees decoded from each layer of an LM.

For each layer a matrix B is trained so that ‖B(h_i - h_j)‖² is the number of edges between words i
and j (Hewitt & Manning 2019); the tree is read back as the minimum spanning tree of such distances.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.evaluations import job_state
from recency.evaluations.probe import trees
from recency.scoring.lm_spec import LMSpec

COLUMNS = ["network", "layer", "relation", "n", "uuas", "spearman", "dev_loss", "epochs"]
SPLITS = ("train", "dev", "test")
TRAINED, UNTRAINED, ADJACENT = "trained", "untrained", "adjacent words"


def main(
    treebank: str | Path,
    lm: LMSpec,
    out: str | Path,
    settings: dict,
    architecture: dict | None = None,
    seed: int = 0,
    memory_gb: float = 4.0,
    code: dict[str, str] | None = None,
) -> None:
    """Write COLUMNS for each network, layer and relation ("all" first), measured on test.

    `settings` are the config's `probe:`; `seed` is the LM's seed, for the weights of an untrained
    network; half of `memory_gb` is for hidden states. Layer 0 is the embeddings, the last is after
    the final norm; the tree of joined neighbours has no layer. spearman, dev_loss and epochs are in
    the rows of all relations. Finished layers are stored next to `out` until all are done, so that
    a killed job resumes.
    """
    from recency.scoring import inner_states
    from recency.scoring.tokenizer import begin_token

    opened = lm.open()
    tables = split(pd.read_parquet(treebank), settings["sentences"], settings["seed"], treebank)
    texts = {name: align(table, opened, name) for name, table in tables.items()}
    for name in SPLITS:
        tables[name], texts[name] = usable(tables[name], texts[name], name)
    banks = {name: trees.Trees.of(table) for name, table in tables.items()}
    start = None if opened.masked else begin_token(opened, lm.bos)
    networks = {TRAINED: opened.network}
    if settings["untrained"]:
        networks[UNTRAINED] = inner_states.untrained(opened.network, architecture, lm.bias, seed)

    state = job_state.path_for(out)
    specification = {
        "settings": settings,
        "lm": [architecture, seed, *job_state.lm_identity(lm)],
        "treebank": job_state.digest(treebank),
        "code": dict(code or {}),
    }
    done = job_state.read(state, specification, "layers")
    every = list(range(inner_states.count_layers(opened.network) + 1))
    shown = progress(len(networks) * len(every), f"structural probe of {lm.name}", "layers")
    shown.update(len(done))
    words = sum(len(table) for table in tables.values())
    layer_gb = words * opened.network.config.hidden_size * 4 / 1e9
    at_once = max(1, int(memory_gb / 2 / layer_gb))
    for name, network in networks.items():
        left = [layer for layer in every if f"{name} {layer}" not in done]
        for group in (left[k : k + at_once] for k in range(0, len(left), at_once)):
            states = {
                part: inner_states.word_states(
                    network, texts[part], group, start, lm.stride, around=opened.around
                )
                for part in SPLITS
            }
            for number, layer in enumerate(group):
                layer_states = {part: states[part][number] for part in SPLITS}
                label = f"{lm.name}, {name}, layer {layer}"
                rows = probe(layer_states, banks, settings, layer, opened.network.device, label)
                done[f"{name} {layer}"] = rows.assign(network=name, layer=layer).to_dict("records")
                job_state.write(state, specification, done)
                shown.update(len(done))
            del states, layer_states  # free memory before the next layers' states
    neighbours = trees.score(trees.adjacent(banks["test"]), banks["test"])
    parts = [neighbours.assign(network=ADJACENT)]
    parts += [pd.DataFrame(done[f"{name} {layer}"]) for name in networks for layer in every]
    table = pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)
    table = table.astype({"layer": "Int64", "epochs": "Int64"})
    with atomic(out) as path:
        table.to_csv(path, index=False, lineterminator="\n")
    state.unlink(missing_ok=True)


def split(table: pd.DataFrame, sentences: int | None, seed: int, path) -> dict[str, pd.DataFrame]:
    """Return split → words, with at most `sentences` randomly drawn training sentences."""
    parts = {name: table[table.split == name] for name in SPLITS}
    for name, part in parts.items():
        if part.groupby("sentence").size().max() < 2 or part.empty:
            raise InputError(f"{path}: {name} has no sentence of two words or more")
    train = parts["train"]
    available = train.sentence.unique()
    if sentences is not None and sentences < len(available):
        chosen = np.random.default_rng(seed).choice(available, sentences, replace=False)
        parts["train"] = train[train.sentence.isin(chosen)]
    return parts


def align(table: pd.DataFrame, opened, name: str) -> list:
    """Return each sentence as the LM's tokens with their words, written as in the text."""
    from recency.scoring import alignment

    return [
        alignment.align(
            list(rows.word),
            opened.tokenizer,
            f"{name}, sentence {sentence}: ",
            kind=opened.kind,
            spaces=list(rows.space_after),
        )
        for sentence, rows in table.groupby("sentence", sort=False)
    ]


def usable(table: pd.DataFrame, texts: list, name: str) -> tuple[pd.DataFrame, list]:
    """Exclude sentences with a word that the tokenizer drops, and print their number."""
    from recency.scoring import inner_states

    whole_ = np.array([not inner_states.lacks_token(text).any() for text in texts])
    if not whole_.any():
        raise InputError(f"{name}: the tokenizer drops a word of every sentence")
    if not whole_.all():
        print(f"{name}: {(~whole_).sum()} sentences have a word without a token", file=sys.stderr)
    sizes = [text.words for text in texts]
    kept = [text for text, good in zip(texts, whole_) if good]
    return table[np.repeat(whole_, sizes)], kept


def probe(states: dict, banks: dict, settings: dict, layer: int, device, name: str) -> pd.DataFrame:
    """Train the probe of one layer, choose B on dev and score it on test: see `trees.score`."""
    from recency.evaluations.probe import train_probe

    middle, number = train_probe.scaled(states["train"], banks["train"].begin)
    data = {}
    for part in SPLITS:
        centred = states[part] - middle
        centred /= number
        data[part] = train_probe.Sentences.of(centred, banks[part], device)
    width = states["train"].shape[1]
    keys = ("epochs", "batch", "learning_rate", "patience")
    fitted, loss, epochs = train_probe.train(
        data["train"],
        data["dev"],
        rank=min(settings["rank"] or width, width),
        seed=[settings["seed"], layer],
        report=lambda epoch, rate, dev: print(
            f"{name}: epoch {epoch}, learning rate {rate:g}, loss on dev {dev:.4f}", file=sys.stderr
        ),
        **{key: settings[key] for key in keys},
    )
    table = trees.score(train_probe.predictor(fitted, data["test"]), banks["test"])
    blanks = [np.nan] * (len(table) - 1)
    return table.assign(dev_loss=[loss, *blanks], epochs=[epochs, *blanks])
