"""The output layer of a network, for the surprisal of its tokens without a whole matrix of logits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from transformers import PreTrainedModel

from recency.errors import InputError
from recency.scoring.alignment import END, REST, SPACE
from recency.scoring.windows import window_of

#: Rows of the output layer whose logits are held at once on a CPU, for 1,024 positions: 8 MB.
CPU_BLOCK = 2048
#: What configs call a factor of the logits, and its power: Cohere; Falcon-H1; Granite.
SCALES = (("logit_scale", 1), ("lm_head_multiplier", 1), ("logits_scaling", -1))
#: What they call a cap of the logits: Gemma 2, NanoChat; RecurrentGemma; xLSTM.
CAPS = ("final_logit_softcapping", "logits_soft_cap", "output_logit_soft_cap")


class OutputLayer:
    """The output layer with the rows of word-initial tokens first, so that their mass is a slice.

    `bf16` holds the logits in bfloat16; the logit of the token itself is computed apart, exactly,
    and the noise of the others all but cancels in their sum.
    """

    @torch.inference_mode()
    def __init__(self, model: PreTrainedModel, kind: np.ndarray, bf16: bool = False):
        """Sort the rows by `kind` (SPACE, END, REST); rows past its end are padding."""
        linear, config = model.get_output_embeddings(), model.config.get_text_config()
        weight = linear.weight.detach()
        kind = np.append(kind, np.zeros(max(0, len(weight) - len(kind)), np.int8))[: len(weight)]
        rows = [np.flatnonzero(kind == each) for each in (SPACE, END, REST)]
        order = torch.from_numpy(np.concatenate(rows)).to(weight.device)
        self.row = torch.empty_like(order)  # token id → row
        self.row[order] = torch.arange(len(order), device=order.device)
        self.cuts = np.cumsum([0, *map(len, rows)]).tolist()
        self.exact = weight[order].float()
        bias = getattr(linear, "bias", None)
        self.bias = None if bias is None else bias.detach()[order].float()
        self.weight = self.exact.bfloat16() if bf16 else self.exact
        self.cap = next((cap for name in CAPS if (cap := getattr(config, name, None))), None)
        self.scale = 1.0
        for name, power in SCALES:
            if isinstance(factor := getattr(config, name, None), int | float):
                self.scale *= factor**power
        self.buffer = weight.new_empty(0, dtype=torch.float32)
        #: The part of the network whose first output the layer gets; takes what the network takes.
        self.body: Callable = model.base_model
        self._compare(model)

    def _compare(self, model: PreTrainedModel) -> None:
        """Refuse a network that looks ahead, or whose logits are more than its output layer."""
        ids = torch.arange(min(8, window_of(model, 8)), device=self.row.device)[None]
        ids = (ids + len(self.row) // 2) % len(self.row)  # XLM does not look at its padding, 2
        half = model.dtype in (torch.float16, torch.bfloat16)
        expected = model(input_ids=ids, use_cache=False).logits[0].float()
        size = expected.abs().max()
        later = ids.clone()
        later[0, -1] = (later[0, -1] + 1) % len(self.row)
        moved = (expected - model(input_ids=later, use_cache=False).logits[0].float())[:-1].abs()
        if len(moved) and moved.max() > (1e-2 if half else 1e-5) * size:
            raise InputError(
                f"{type(model).__name__} is not causal: a later token changes what it makes of the "
                "earlier ones; open a masked LM with recency.load(…, masked=True)"
            )
        for self.body in (model.base_model, partial(_up_to_output_layer, model)):
            states = self.body(input_ids=ids, use_cache=False)[0][0]
            if states.shape[-1] != self.exact.shape[-1]:
                continue
            logits = self.finish(states.float() @ self.exact.T)[:, self.row]
            if (logits - expected).abs().max() <= (3e-2 if half else 1e-4) * size:
                return
        raise InputError(
            f"{type(model).__name__} changes its logits after its output layer in a way that "
            "is not known here; recency.scoring.output_layer.OutputLayer would have to learn it"
        )

    def finish(self, logits: torch.Tensor, rows: torch.Tensor | slice = slice(None)):
        """Do in place what comes behind the matrix product, for all rows or some: bias, scale, cap."""
        if self.bias is not None:
            logits += self.bias[rows]
        if self.scale != 1.0:
            logits *= self.scale
        if self.cap:
            logits.div_(self.cap).tanh_().mul_(self.cap)
        return logits

    def score(self, states: torch.Tensor, targets: torch.Tensor) -> list[torch.Tensor]:
        """Return log p of `targets` and log masses of SPACE and END, float64, after `states`."""
        rows, states = self.row[targets], states.float()
        chosen = (states.double() * self.exact[rows].double()).sum(-1)
        chosen = self.finish(chosen, rows)
        # Without a maximum to subtract there is one pass less; extremes are done again, with it.
        mass = self.masses(states, lambda logits: logits.exp_().sum(-1).double(), torch.add).log()
        full = torch.tensor(np.diff(self.cuts) > 0, device=mass.device)
        if not (torch.isfinite(mass[full]).all() and mass[full].min() > -69):
            mass = self.masses(states, lambda each: each.double().logsumexp(-1), torch.logaddexp)
            mass[~full] = -torch.inf
        total = mass.logsumexp(0)
        return [chosen - total, mass[0] - total, mass[1] - total]

    def masses(self, states: torch.Tensor, reduce: Callable, add: Callable) -> torch.Tensor:
        """Reduce the logits of SPACE, END and REST to (3, positions), a block of rows at a time.

        A block's logits stay in the processor's cache between the product and the sum; no more of
        them are ever held.
        """
        block = CPU_BLOCK if states.device.type == "cpu" else len(self.exact)
        if self.buffer.numel() < len(states) * block:
            self.buffer = self.exact.new_empty(len(states) * block)
        lower = states.to(self.weight.dtype)
        found = torch.zeros(3, len(states), dtype=torch.float64, device=states.device)
        for kind, (first, last) in enumerate(pairwise(self.cuts)):
            for start in range(first, last, block):
                rows = slice(start, min(start + block, last))
                weight = self.weight[rows]
                logits = self.buffer[: len(states) * len(weight)].view(len(states), -1)
                if weight.dtype == logits.dtype:
                    torch.mm(lower, weight.T, out=logits)
                else:
                    logits.copy_(lower @ weight.T)
                value = reduce(self.finish(logits, rows))
                found[kind] = value if start == first else add(found[kind], value)
        return found


def _up_to_output_layer(model: PreTrainedModel, **inputs) -> list[torch.Tensor]:
    """Return what a network gives its output layer, which then runs on one position of each text.

    For networks whose head transforms what comes out of the base model (BERT's, ModernBERT's).
    """
    given = []

    def keep(module, arguments):
        given.append(arguments[0])
        return (arguments[0][:, :1], *arguments[1:])

    hook = model.get_output_embeddings().register_forward_pre_hook(keep)
    try:
        model(**inputs)
    finally:
        hook.remove()
    return given
