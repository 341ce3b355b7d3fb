"""Attention biases, one file per form: each changes a scaled score s = q·k/√d to a·s + b.

A form's file holds `PARAMETERS`, the JSON schema of its parameters, and a class `Form`. Its
`forward(head, query, key, length)` returns a and b from broadcastable integer tensors: head h (from
0), query position i, key position j, and the number of keys. The causal mask is applied elsewhere:
j > i is never visible in a causal model, and bidirectional models take only forms that are defined
there. A form that also depends on the tokens' content is a `recency.attention.content.ContentBias`.
"""

import torch
from torch import nn

from recency import plugins

Affine = tuple[float | torch.Tensor, float | torch.Tensor]


class Bias(nn.Module):
    """Base class of all forms: `heads` attention heads, and dense tables of a and b."""

    #: Whether a and b depend on the number of keys, so that padding would change them.
    uses_length = False
    #: Whether a and b are defined for j > i as well.
    both_directions = False
    #: Number of visible keys, the token itself included, if limited: blocks beyond are skipped.
    reach: int | None = None
    #: Whether it depends on the width of its layer (`recency.attention.content`).
    uses_width = False

    def __init__(self, heads: int):
        super().__init__()
        self.heads = heads
        self._dense: dict[tuple, Affine] = {}

    @property
    def learned(self) -> bool:
        """Whether training changes the bias."""
        return any(True for _ in self.parameters())

    @property
    def learned_by_position(self) -> bool:
        """Whether training changes the tables of a and b."""
        return self.learned

    def forward(
        self, head: torch.Tensor, query: torch.Tensor, key: torch.Tensor, length: int
    ) -> Affine:
        """Return a and b, each a number or a tensor that broadcasts over head, query and key.

        Elementwise operations only, so that a kernel can evaluate it for one pair of positions.
        """
        raise TypeError(f"{type(self).__module__} defines no forward(head, query, key, length)")

    def dense(
        self,
        queries: int,
        keys: int,
        device: torch.device,
        dtype: torch.dtype,
        causal: bool = True,
    ) -> Affine:
        """Return a and b with b of shape (1, heads, queries, keys); the last query sees all keys.

        For a causal model b is -inf where the key comes after the query. Tables without learned
        parts are cached.
        """
        where = (queries, keys, device, dtype, causal)
        if where in self._dense:
            return self._dense[where]
        head = torch.arange(self.heads, device=device)[:, None, None]
        query = torch.arange(keys - queries, keys, device=device)[:, None]
        key = torch.arange(keys, device=device)
        a, b = self(head, query, key, keys)
        if isinstance(a, torch.Tensor):
            a = a.to(dtype).expand(self.heads, queries, keys)[None]
        b = torch.as_tensor(b, dtype=torch.float32, device=device).expand(self.heads, queries, keys)
        if causal:
            b = b.masked_fill(key > query, float("-inf"))
        b = b.to(dtype)[None]
        if not self.learned_by_position:
            self._dense = {where: (a, b)}  # only the last shape, to save memory
        return a, b


def build(spec: dict, heads: int, width: int | None = None) -> Bias:
    """Build the bias of a config's `biases:` entry.

    It has `heads` attention heads; `width` is the layers' width, for content-dependent forms.
    """
    parameters = {key: value for key, value in spec.items() if key not in ("form", "layers")}
    form = plugins.load("recency.attention.biases", spec["form"]).Form
    if form.uses_width:
        return form(heads, width, **parameters)
    return form(heads, **parameters)
