"""Rule structural_probe: dependency trees decoded from each layer of an LM.

For each layer a matrix B is trained so that ‖B(h_i - h_j)‖² is the number of edges between words i
and j (Hewitt & Manning 2019); the tree is read back as the minimum spanning tree of such distances.

Training of the structural probe: squared distances under B that approximate tree distances.

Hewitt & Manning (2019), equation 1 and section 3.2; details that the paper omits (the optimiser
restarts at each lower rate, the minimum decrease that counts) follow their code.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from readingtimes.files import atomic
from readingtimes.progress import progress
from recency.errors import InputError
from recency.evaluations import job_state
from recency.evaluations.probe.treebank import Trees, adjacent, by_length, score
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
    banks = {name: Trees.of(table) for name, table in tables.items()}
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
    neighbours = score(adjacent(banks["test"]), banks["test"])
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
    """Train the probe of one layer, choose B on dev and score it on test: see `treebank.score`."""
    middle, number = scaled(states["train"], banks["train"].begin)
    data = {}
    for part in SPLITS:
        centred = states[part] - middle
        centred /= number
        data[part] = Sentences.of(centred, banks[part], device)
    width = states["train"].shape[1]
    keys = ("epochs", "batch", "learning_rate", "patience")
    fitted, loss, epochs = train(
        data["train"],
        data["dev"],
        rank=min(settings["rank"] or width, width),
        seed=[settings["seed"], layer],
        report=lambda epoch, rate, dev: print(
            f"{name}: epoch {epoch}, learning rate {rate:g}, loss on dev {dev:.4f}", file=sys.stderr
        ),
        **{key: settings[key] for key in keys},
    )
    table = score(predictor(fitted, data["test"]), banks["test"])
    blanks = [np.nan] * (len(table) - 1)
    return table.assign(dev_loss=[loss, *blanks], epochs=[epochs, *blanks])


DECAY = 0.1  # factor of the learning rate after an epoch without a lower loss on dev
LEAST_FALL = 1e-4  # minimum decrease of the loss on dev
START = 0.05  # B is initialised uniformly between minus and plus this value


@dataclass
class Batch:
    """A padded batch of sentences."""

    states: torch.Tensor  # float32 (words, width)
    place: torch.Tensor  # (s, n), index of each word in `states`; padding has the first word's
    real: torch.Tensor  # bool (s, n): False for padding
    gold: torch.Tensor  # float32 (s, n, n); arbitrary for padding


@dataclass
class Sentences:
    """A layer's states of one split, and its trees; all lengths and distances are in words."""

    states: torch.Tensor  # float32 (words, width)
    gold: torch.Tensor  # int16 (Σ length²,), sentence after sentence
    begin: np.ndarray  # (sentences + 1,), index of the first word
    square: np.ndarray  # (sentences,), index of a sentence's first distance

    @classmethod
    def of(
        cls, states: np.ndarray, trees: Trees, device: str | torch.device = "cpu"
    ) -> "Sentences":
        """Put states (words, width) and the distances of `trees` on a device."""
        gold = np.concatenate([matrix.ravel() for matrix in trees.distances])
        square = np.append(0, np.cumsum(trees.lengths.astype(np.int64) ** 2))[:-1]
        states = torch.from_numpy(np.ascontiguousarray(states, np.float32)).to(device)
        return cls(states, torch.from_numpy(gold).to(device), trees.begin, square)

    def batch(self, chosen: np.ndarray) -> Batch:
        """Return sentences `chosen` (s,) as a batch, padded to the longest with n words."""
        lengths = self.begin[chosen + 1] - self.begin[chosen]
        places = np.arange(int(lengths.max()))
        real = places < lengths[:, None]
        words = (self.begin[chosen][:, None] + places)[real]
        index = np.where(real, np.cumsum(real).reshape(real.shape) - 1, 0)
        inside = places[:, None] * lengths[:, None, None] + places
        pairs = np.where(
            real[:, :, None] & real[:, None], self.square[chosen][:, None, None] + inside, 0
        )
        words, index, pairs, real = (
            torch.from_numpy(array).to(self.states.device) for array in (words, index, pairs, real)
        )
        return Batch(self.states[words], index, real, self.gold[pairs].float())


def scaled(states: np.ndarray, begin: np.ndarray) -> tuple[np.ndarray, float]:
    """Return a layer's centre (width,) and the scale by which its states are divided.

    Distances do not depend on the centre, and B could absorb the scale; removing both lets one
    learning rate suit all layers. After scaling, the median neighbours of a sentence differ by 1 in
    each dimension, root mean square; the median is robust to single words that are far from the
    rest.
    """
    some = states[:: max(1, len(states) // 10_000)]
    first = np.setdiff1d(np.arange(1, len(states)), begin)
    first = first[:: max(1, len(first) // 10_000)]
    apart = ((states[first] - states[first - 1]).astype(np.float64) ** 2).mean(1)
    number = float(np.sqrt(np.median(apart))) if len(apart) else 1.0
    return np.median(some, axis=0), number or 1.0


def distances(batch: Batch, probe: torch.Tensor) -> torch.Tensor:
    """Return ‖B(h_i - h_j)‖² (s, n, n) for all pairs of words of a sentence under B (rank, width)."""
    turned = (batch.states @ probe.T)[batch.place]
    length = (turned * turned).sum(-1)
    product = torch.bmm(turned, turned.mT)
    return (length[:, :, None] + length[:, None] - 2 * product).clamp(min=0)


def losses(batch: Batch, probe: torch.Tensor) -> torch.Tensor:
    """Return each sentence's Σ |d_tree - d| over all pairs, divided by its squared length (s,)."""
    pairs = batch.real[:, :, None] & batch.real[:, None]
    off = torch.where(pairs, (batch.gold - distances(batch, probe)).abs(), 0.0)
    return off.sum((1, 2)) / batch.real.sum(1).square()


@torch.no_grad()
def mean_loss(probe: torch.Tensor, data: Sentences, at_once: int = 64) -> float:
    """Return the mean of the sentences' losses."""
    lengths = np.diff(data.begin)
    total = torch.zeros((), dtype=torch.float64, device=probe.device)
    for chosen in by_length(lengths, at_once):
        total += losses(data.batch(chosen), probe).sum()
    return float(total) / len(lengths)


def train(
    data: Sentences,
    dev: Sentences,
    rank: int,
    epochs: int,
    batch: int,
    learning_rate: float,
    patience: int,
    seed: int,
    report: Callable[[int, float, float], None] = lambda epoch, rate, loss: None,
) -> tuple[torch.Tensor, float, int]:
    """Return B (rank, width) with the lowest loss on dev, that loss, and the number of epochs.

    Adam starts at `learning_rate`, which falls tenfold after each epoch without a lower loss on
    dev; training ends after `patience` such epochs in a row or after `epochs`. `report` receives
    each epoch's number, rate and loss on dev.
    """
    random = np.random.default_rng(seed)
    width = data.states.shape[1]
    start = random.uniform(-START, START, (rank, width)).astype(np.float32)
    probe = torch.from_numpy(start).to(data.states.device).requires_grad_()
    optimizer = torch.optim.Adam([probe], lr=learning_rate)
    usable = np.flatnonzero(np.diff(data.begin) > 1)  # one word has no distances
    best, least, waited, epoch = probe.detach().clone(), mean_loss(probe, dev), 0, 0
    for epoch in range(1, epochs + 1):
        order = random.permutation(usable)
        for first in range(0, len(order), batch):
            optimizer.zero_grad(set_to_none=True)
            losses(data.batch(order[first : first + batch]), probe).mean().backward()
            optimizer.step()
        loss = mean_loss(probe, dev)
        report(epoch, learning_rate, loss)
        if not np.isfinite(loss):
            raise InputError(
                f"the probe's loss on dev is {loss} in epoch {epoch}; lower `probe: learning_rate`"
            )
        if loss < least - LEAST_FALL:
            best, least, waited = probe.detach().clone(), loss, 0
            continue
        waited += 1
        if waited == patience:
            break
        learning_rate *= DECAY
        optimizer = torch.optim.Adam([probe], lr=learning_rate)
    return best, least, epoch


def predictor(probe: torch.Tensor, data: Sentences) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from sentence indices (s,) to padded distances, float64 (s, n, n)."""

    @torch.no_grad()
    def predict(chosen: np.ndarray) -> np.ndarray:
        return distances(data.batch(chosen), probe).double().cpu().numpy()

    return predict
