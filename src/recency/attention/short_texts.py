"""Short random texts by which a network is tested, and distances of its outputs."""

import contextlib
from collections.abc import Iterator

import torch
from transformers import PreTrainedModel

#: Tokens of the text, and the largest number of tokens if a window is too long for these.
TOKENS, MOST_TOKENS = 12, 64
#: Largest relative distance of two outputs that is attributed to rounding.
ROUNDING = {torch.float16: 0.02, torch.bfloat16: 0.1}
ROUNDING_OTHERS = 1e-4


def draw_texts(model: PreTrainedModel, length: int = TOKENS) -> torch.Tensor:
    """Return two random texts, (2, length or less), that differ only in their second half."""
    config = model.config.get_text_config()
    # RoBERTa counts two positions that it does not have.
    room = (getattr(config, "max_position_embeddings", None) or MOST_TOKENS) - 2
    length = max(2, min(length, MOST_TOKENS, room))
    special = []  # tokens that some models do not treat as text, such as padding
    for name, value in config.to_dict().items():
        if name.endswith("token_id"):
            special += value if isinstance(value, list) else [value]
    words = [token for token in range(min(config.vocab_size, 5000)) if token not in special]
    generator = torch.Generator().manual_seed(1)
    chosen = torch.randint(len(words), (2, length), generator=generator)
    chosen[1, : length // 2] = chosen[0, : length // 2]
    return torch.tensor(words)[chosen].to(model.device)


@contextlib.contextmanager
def evaluation_mode(model: PreTrainedModel) -> Iterator[None]:
    """Run a network without dropout, gradients or autocast, and restore its state."""
    before = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad(), torch.autocast(model.device.type, enabled=False):
            yield
    finally:
        for module, training in before.items():
            module.training = training


def distance(one: torch.Tensor, other: torch.Tensor) -> float:
    """Return the norm of the difference of two outputs relative to the second's norm."""
    return ((one - other).norm() / other.norm().clamp(min=1e-30)).item()
