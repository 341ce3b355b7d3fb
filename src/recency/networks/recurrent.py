"""Recurrent language models for transformers: layers of a memory between two embeddings.

O_t = softmax(W H_t). Word ids become vectors u_t, `memories` map these to H_t layer by layer, with
dropout in between, and a final layer relu(F H_t) without memory may follow (the second layer of
Oualil et al. 2016a and of their D-LSRC).
"""

from dataclasses import dataclass

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import ModelOutput

from recency.networks import memories

State = tuple[memories.State, ...]


class RecurrentConfig(PreTrainedConfig):
    """The shape of a recurrent LM, and its `memory`, an entry of the config's `memories:` table."""

    model_type = "recency_recurrent"
    vocab_size: int = 2
    embedding_size: int = 1
    hidden_size: int = 1
    num_hidden_layers: int = 1  # including the layer without memory
    feed_forward: int = 0  # width of the final layer without memory; 0 if there is none
    dropout: float = 0.0
    memory: dict | None = None


@dataclass
class RecurrentOutput(ModelOutput):
    """Outputs of a recurrent LM for a text: (batch, time, …), and the state after it."""

    last_hidden_state: torch.Tensor | None = None
    state: State | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    logits: torch.Tensor | None = None


class RecurrentPreTrainedModel(PreTrainedModel):
    """Base class of the body and the language model."""

    config_class = RecurrentConfig
    base_model_prefix = "model"

    def _init_weights(self, module):
        """Draw nothing: `draw` initialises new networks, and checkpoints have all weights."""


class RecurrentModel(RecurrentPreTrainedModel):
    """The body: from word ids to the states that predict words."""

    def __init__(self, config: RecurrentConfig):
        super().__init__(config)
        width, words = config.hidden_size, config.vocab_size
        self.embedding = nn.Embedding(words, config.embedding_size)
        further = config.feed_forward
        layers = config.num_hidden_layers - bool(further)
        entering = [config.embedding_size] + [width] * (layers - 1)
        self.layers = nn.ModuleList(
            memories.build(config.memory, inputs, width, words) for inputs in entering
        )
        self.dropout = nn.Dropout(config.dropout)
        self.feed_forward = nn.Linear(width, further, bias=False) if further else None
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the input embedding."""
        return self.embedding

    def start(self, batch: int) -> State:
        """Return the state of every layer before `batch` texts."""
        return tuple(layer.start(batch) for layer in self.layers)

    def forward(
        self,
        input_ids: torch.Tensor,
        state: State | None = None,
        resets: torch.Tensor | None = None,
        output_hidden_states: bool = False,
        **unused,
    ) -> RecurrentOutput:
        """Read `input_ids` (batch, time) from `state` on, by default that before a text.

        `resets` (batch, time) is true where a text begins: there the state is set to zero.
        """
        state = self.start(len(input_ids)) if state is None else state
        bounds = _segments(resets)
        hidden = self.embedding(input_ids)
        every, after = [hidden], []
        for layer, carried in zip(self.layers, state, strict=True):
            hidden, last = self._remember(
                layer, self.dropout(hidden), carried, input_ids, resets, bounds
            )
            every.append(hidden)
            after.append(last)
        if self.feed_forward is not None:
            hidden = self.feed_forward(self.dropout(hidden)).relu()
            every.append(hidden)
        hidden = self.dropout(hidden)
        return RecurrentOutput(hidden, tuple(after), tuple(every) if output_hidden_states else None)

    def _remember(self, layer, inputs, state, words, resets, bounds):
        """Run a memory layer from one reset to the next."""
        inputs = inputs.to(state[0].dtype)
        if resets is None:
            return layer(inputs, state, words)
        parts = []
        for begin, end in zip(bounds, [*bounds[1:], words.shape[1]], strict=True):
            state = reset_state(state, resets[:, begin])
            here, state = layer(inputs[:, begin:end], state, words[:, begin:end])
            parts.append(here)
        return torch.cat(parts, 1), state


class RecurrentForCausalLM(RecurrentPreTrainedModel):
    """A recurrent body with an output embedding."""

    _tied_weights_keys = {"lm_head.weight": "model.embedding.weight"}  # noqa: RUF012

    def __init__(self, config: RecurrentConfig):
        super().__init__(config)
        self.model = RecurrentModel(config)
        width = config.feed_forward or config.hidden_size
        self.lm_head = nn.Linear(width, config.vocab_size, bias=False)
        self.post_init()

    def get_output_embeddings(self) -> nn.Linear:
        """Return the output embedding."""
        return self.lm_head

    def forward(self, input_ids: torch.Tensor, **settings) -> RecurrentOutput:
        """Return the logits of the next word after each of `input_ids`, and the state."""
        output = self.model(input_ids, **settings)
        output.logits = self.lm_head(output.last_hidden_state)
        return output


def reset_state(state: memories.State, resets: torch.Tensor) -> memories.State:
    """Return a layer's state, set to zero for the texts where `resets` (batch,) is true."""
    return tuple(
        tensor.masked_fill(resets.view(-1, *[1] * (tensor.dim() - 1)), 0.0) for tensor in state
    )


def _segments(resets: torch.Tensor | None) -> list[int]:
    """Return step 0 and the steps at which some text begins."""
    if resets is None:
        return [0]
    return sorted({0, *resets.any(0).nonzero()[:, 0].tolist()})


AutoConfig.register(RecurrentConfig.model_type, RecurrentConfig)
AutoModelForCausalLM.register(RecurrentConfig, RecurrentForCausalLM)


def new(architecture: dict, vocabulary: int, seed: int) -> RecurrentForCausalLM:
    """Build a network of an `architectures:` entry of family `recurrent`, with its `memory`.

    Its weights depend only on `seed`; embeddings are drawn first, so that LMs of one shape share
    them.
    """
    width = architecture["width"]
    config = RecurrentConfig(
        vocab_size=vocabulary,
        embedding_size=architecture.get("embedding", width),
        hidden_size=width,
        num_hidden_layers=architecture["layers"] + ("feed_forward" in architecture),
        feed_forward=architecture.get("feed_forward", 0),
        dropout=architecture.get("dropout", 0.0),
        tie_word_embeddings=architecture.get("tied", False),
        memory=dict(architecture["memory"]),
    )
    model = RecurrentForCausalLM(config)
    generator = torch.Generator().manual_seed(seed)
    if model.device.type != "meta":
        draw(model, generator)
    return model


@torch.no_grad()
def draw(model: RecurrentForCausalLM, generator: torch.Generator) -> None:
    """Draw fresh weights: matrices as in Glorot & Bengio (2010), memories by their own `draw`."""
    body = model.model
    matrices = [body.embedding, model.lm_head]
    if model.config.tie_word_embeddings:
        matrices = [body.embedding]
    for matrix in [*matrices, *filter(None, [body.feed_forward])]:
        nn.init.xavier_uniform_(matrix.weight, generator=generator)
    for layer in body.layers:
        layer.draw(generator)
