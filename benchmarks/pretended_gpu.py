"""Forward passes and losses of training on a GPU that PyTorch only pretends (FakeTensorMode).

python benchmarks/pretended_gpu.py

It needs no GPU but a CUDA build of PyTorch, which is told that it has one with bf16; graphs are traced and not compiled
(`aot_eager`), and weights and texts are made on the pretended device, since fake tensors can't be moved or pinned. That
shows wrong shapes, types and devices, without a bias and with mixed slopes, in both precisions. Backward passes and
kernels can't be checked so: autograd's engine and Triton's compiler ask the driver.
"""

import functools

import checkout
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

checkout.use()

from contenders import MIX, PAPER, RECIPE, VOCABULARY, Stream

from recency.attention import biased
from recency.networks import architectures, training


def main() -> None:
    """Run both LMs in both precisions."""
    if torch.version.cuda is None:
        raise SystemExit("it needs a CUDA build of PyTorch; a GPU is not needed")
    torch.compile = functools.partial(torch.compile, backend="aot_eager")
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda *_, **__: True

    for bias in ({"form": "none"}, MIX):
        for precision in ("bf16", "fp32"):
            recipe = RECIPE | {"precision": precision, "sequence_length": 2048}
            recipe |= {"batch_sequences": 8, "micro_batch": 4}
            model = architectures.new(PAPER, bias, VOCABULARY, 1)
            if bias["form"] == "none":
                biased.attach(model, bias)  # as a training does, which verifies it by real numbers
            with FakeTensorMode(allow_non_fake_inputs=True):
                for module in model.modules():
                    for kept, kind in (
                        (module._parameters, torch.nn.Parameter),
                        (module._buffers, torch.Tensor),
                    ):
                        for name, tensor in kept.items():
                            if tensor is not None:
                                there = torch.empty(tensor.shape, dtype=tensor.dtype, device="cuda")
                                kept[name] = kind(there) if kind is torch.nn.Parameter else there
                model.to = lambda *_, model=model, **__: model
                run = training.Training(
                    model, Stream(2048, VOCABULARY), recipe, "cuda", compiled=False
                )
                shape = (recipe["micro_batch"], recipe["sequence_length"])
                rows = [torch.zeros(shape, dtype=torch.int64, device="cuda") for _ in range(2)]
                loss = run.loss_sum(*rows)
                assert (
                    loss.device.type == "cuda" and loss.shape == () and loss.dtype == torch.float32
                )
                print(
                    f"{bias['form']}, {precision}: loss {loss.dtype} on {loss.device}", flush=True
                )


if __name__ == "__main__":
    main()
