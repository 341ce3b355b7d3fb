"""Hidden states of a network as one vector a word: the mean over the tokens that the word has."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.attention.biased import attach
from recency.errors import InputError
from recency.networks import architectures
from recency.scoring import forward
from recency.scoring.alignment import Text
from recency.scoring.masked import Frame, pieces, room
from recency.scoring.windows import Window, batches, sees_length, window_of, windows


def layers_of(model: PreTrainedModel) -> int:
    """Return how many layers a network has; its states are one more, with the embeddings."""
    return model.config.num_hidden_layers


def without_token(text: Text) -> np.ndarray:
    """Say of each word of a text whether no token has a character of it."""
    bare = np.ones(text.words, bool)
    for word, last in zip(text.word, text.last):
        bare[word : last + 1] = False
    return bare


@torch.inference_mode()
def of_words(
    model: PreTrainedModel,
    texts: list[Text],
    layers: list[int],
    bos: int | None,
    stride: int | None = None,
    tokens_at_once: int | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
    around: Frame | None = None,
) -> np.ndarray:
    """Return float32 (layers, words, width): the words of all texts, at each of `layers`.

    Layer 0 is what enters the first layer (embeddings, with learned positions where there are any),
    l what leaves layer l; the last is behind the final norm, as in transformers' `hidden_states`.
    A token counts with every word that it has a character of, so that no word is left without.
    Each text is read by itself, behind the token `bos` (or None), in windows as
    surprisal is; with what a masked LM puts `around` it, in pieces end to end.
    """
    if around is None:
        size = window_of(model)
        stride = size // 2 if stride is None else stride
        if not 1 <= stride <= size:
            raise InputError(f"a stride of {stride} tokens is not within the window of {size}")
        cut = [
            w for number, t in enumerate(texts) for w in windows(t.ids, number, size, stride, bos)
        ]
    else:
        cut = [w for number, text in enumerate(texts) for w in _framed(model, text, number, around)]
    behind = len(around.after) if around else 0  # inputs that are no tokens of the text
    words = np.cumsum([0, *(text.words for text in texts)])
    tokens = np.cumsum([0, *(len(text.ids) for text in texts)])
    first = np.concatenate([text.word + at for text, at in zip(texts, words)])
    reach = np.concatenate([text.last - text.word + 1 for text in texts])
    total = torch.zeros(len(layers), words[-1], model.config.hidden_size)
    count = np.zeros(words[-1], np.int64)
    padded = around is None and not sees_length(model)
    at_once = tokens_at_once or forward.tokens_at_once(model)
    done, cut_up = 0, batches(cut, at_once, padded)
    for batch, output in forward.run(model, cut_up, output_hidden_states=True):
        rows, columns, places = [], [], []
        for row, each in enumerate(batch):
            own = each.start + np.arange(len(each.ids)) - 1  # the window's tokens within the text
            place = np.arange(len(own))
            new = (place >= each.fresh) & (own >= 0) & (place < len(own) - behind)
            new = np.flatnonzero(new)
            rows.append(np.full(len(new), row))
            columns.append(new)
            places.append(tokens[each.text] + own[new])
        places = np.concatenate(places)
        # A token that reaches into further words is listed once for each.
        times = reach[places]
        within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        word = np.repeat(first[places], times) + within
        rows, columns = (np.repeat(np.concatenate(each), times) for each in (rows, columns))
        count += np.bincount(word, minlength=len(count))
        for number, layer in enumerate(layers):
            found = output.hidden_states[layer][rows, columns].float().cpu()
            if found.shape[1] != total.shape[2]:
                raise InputError(
                    f"{type(model).__name__}: the states of layer {layer} are {found.shape[1]} wide, "
                    f"others {total.shape[2]}; states are compared where all are of one width"
                )
            total[number].index_add_(0, torch.from_numpy(word), found)
        done += len(batch)
        report(done, len(cut))
    total /= torch.from_numpy(count)[:, None]
    return total.numpy()


def _framed(model: PreTrainedModel, text: Text, number: int, around: Frame) -> Iterator[Window]:
    """Yield a text's pieces with what a masked LM puts around each."""
    size, before = room(model, around), len(around.before)
    for begin, new in pieces(len(text.ids), size):
        ids = [*around.before, *text.ids[begin : begin + size].tolist(), *around.after]
        yield Window(number, ids, begin - before + 1, before + new - begin)


def untrained(
    model: PreTrainedModel, architecture: dict | None, bias: dict | None, seed: int
) -> PreTrainedModel:
    """Return a network of the same shape with fresh weights, on the same device.

    With `architecture`, the config's entry, it is what the training of a network made here began
    with; of a checkpoint from elsewhere, what its family draws. `bias` is put on at inference.
    """
    if architecture is not None:
        own = getattr(model.config, "bias", None) or {"form": "none"}
        fresh = architectures.new(architecture, own, model.config.vocab_size, seed)
    else:
        torch.manual_seed(seed)
        fresh = type(model)(model.config)
    if bias is not None and bias["form"] != "none":
        attach(fresh, bias)
    return fresh.to(model.device).eval()
