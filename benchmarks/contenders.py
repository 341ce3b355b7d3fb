"""Who takes the training steps that benchmarks/train.py times: this project and its peers.

All start from the same weights and read the same tokens. torch and transformers are imported late,
after the benchmark has set their environment.
"""

import tempfile
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAPER = yaml.safe_load((ROOT / "config.yaml").read_text())["architectures"]["pythia-2-4-256"]
#: Entries of its tokenizer; a network's own are these to the next multiple of 128.
VOCABULARY = 50_277
MIX = {"form": "linear", "slopes": "mix"}
RECIPE = {
    "steps": 1_000_000,
    "learning_rate": 1e-4,
    "minimum_learning_rate": 1e-4,
    "warmup_steps": 0,
    "schedule": "as_run",
    "betas": [0.9, 0.95],
    "epsilon": 1e-8,
    "weight_decay": 0.1,
    "clip": 1.0,
}


class Stream:
    """Random rows, the same for all; what lm.stream.TokenStream is to a training."""

    seed = 1

    def __init__(self, length: int, vocabulary: int):
        self.length, self.vocabulary = length, vocabulary

    def batch(self, first: int, count: int):
        """Return inputs and targets of rows `first` … `first` + count - 1."""
        import torch

        rows = [
            torch.randint(
                self.vocabulary, (self.length + 1,), generator=torch.Generator().manual_seed(n)
            )
            for n in range(first, first + count)
        ]
        rows = torch.stack(rows)
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


class Ours:
    """The step of this project."""

    def __init__(self, bias: dict, recipe: dict, device: str):
        from recency.networks import architectures, training

        model = architectures.new(PAPER, bias, VOCABULARY, 1)
        stream = Stream(recipe["sequence_length"], VOCABULARY)
        self.run = training.Training(model, stream, recipe, device)
        self.done = 0

    def steps(self, count: int) -> float:
        """Do `count` steps; return the last one's loss in nats."""
        for _ in range(count):
            self.done += 1
            loss = self.run.step(self.done)
        return float(loss)


def plain_network(recipe: dict, device: str):
    """Return plain GPT-NeoX without rotary embedding, our weights, and ALiBi as a mask."""
    import torch
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    from recency.networks import architectures

    source = architectures.new(PAPER, MIX, VOCABULARY, 1)
    settings = {k: v for k, v in source.config.to_dict().items() if k not in ("bias", "model_type")}
    config = GPTNeoXConfig(**settings | {"hidden_act": "gelu_pytorch_tanh"})
    model = GPTNeoXForCausalLM(config)
    model.load_state_dict(source.state_dict())
    length = recipe["sequence_length"]
    bias = source.base_model.layers[0].attention.recency_bias
    _, mask = bias.dense(length, length, torch.device("cpu"), torch.float32)
    return model.to(device), mask.to(device)


class Loop:
    """A plain loop: fused AdamW, and all logits of a micro-batch and cross_entropy.

    With `torch_loss` PyTorch's linear_cross_entropy takes the place of the latter two.
    """

    def __init__(self, recipe: dict, device: str, torch_loss: bool = False):
        import torch

        from recency.networks import training

        self.recipe, self.device, self.done = recipe, device, 0
        self.model, self.mask = plain_network(recipe, device)
        self.optimizer = training.optimizer(self.model, recipe)
        self.stream = Stream(recipe["sequence_length"], VOCABULARY)
        network = self.model.base_model if torch_loss else self.model
        self.forward = torch.compile(network) if device != "cpu" else network
        self.loss = self.torch_loss if torch_loss else self.loss_of_logits
        self.model.train()

    def loss_of_logits(self, inputs, targets, mask):
        """Return the mean loss by cross_entropy."""
        from torch.nn import functional

        logits = self.forward(inputs, attention_mask=mask, use_cache=False).logits
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def torch_loss(self, inputs, targets, mask):
        """Return the mean loss by linear_cross_entropy, its chunks the fastest on a CPU."""
        from torch.nn import LinearCrossEntropyOptions, functional

        hidden = self.forward(inputs, attention_mask=mask, use_cache=False).last_hidden_state
        hidden = hidden.to(mask.dtype).flatten(0, 1)
        weight = self.model.get_output_embeddings().weight.to(hidden.dtype)
        chunk = 256 if self.device == "cpu" else None
        options = LinearCrossEntropyOptions(batch_chunk_size=chunk)
        return functional.linear_cross_entropy(hidden, weight, targets.flatten(), options=options)

    def steps(self, count: int) -> float:
        """Do `count` steps; return the last one's loss in nats."""
        import torch

        recipe, bf16 = self.recipe, self.recipe["precision"] == "bf16"
        for _ in range(count):
            for group in self.optimizer.param_groups:
                group["lr"] = recipe["learning_rate"]
            first, total = self.done * recipe["batch_sequences"], 0.0
            parts = recipe["batch_sequences"] // recipe["micro_batch"]
            for part in range(parts):
                at = first + part * recipe["micro_batch"]
                inputs, targets = self.stream.batch(at, recipe["micro_batch"])
                inputs, targets = inputs.to(self.device), targets.to(self.device)
                with torch.autocast(self.device, torch.bfloat16, enabled=bf16):
                    mask = self.mask.to(torch.bfloat16) if bf16 else self.mask
                    loss = self.loss(inputs, targets, mask)
                (loss / parts).backward()
                total += loss.detach() / parts
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), recipe["clip"])
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.done += 1
        return float(total)


class ByTrainer:
    """transformers' Trainer with its default attention; `clock` tells the seconds."""

    clock = staticmethod(time.perf_counter)

    def __init__(self, recipe: dict, device: str):
        import torch
        from transformers import Trainer, TrainerCallback, TrainingArguments, trainer

        from recency.networks import training

        trainer.is_datasets_available = lambda: False  # ours is another package of that name
        self.recipe, self.done, self.folder = recipe, 0, tempfile.TemporaryDirectory()
        model, mask = plain_network(recipe, device)
        optimizer = training.optimizer(model, recipe)
        for group in optimizer.param_groups:
            group["lr"] = recipe["learning_rate"]
        constant = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
        bf16 = recipe["precision"] == "bf16"
        mask = mask.to(torch.bfloat16) if bf16 else mask
        losses = self.losses = []
        contender = self

        class Listening(Trainer):
            def training_step(self, *arguments, **settings):
                loss = super().training_step(*arguments, **settings)
                losses.append(loss.detach())
                return loss

        class Watch(TrainerCallback):
            """When the first step of a run began and its last one ended."""

            def on_step_begin(self, arguments, state, control, **settings):
                if state.global_step == 0:
                    self.begun = contender.clock()

            def on_step_end(self, arguments, state, control, **settings):
                if device != "cpu":
                    torch.cuda.synchronize()
                self.ended = contender.clock()

        def collate(rows):
            inputs = torch.stack(rows)  # Trainer's models shift the labels themselves
            return {
                "input_ids": inputs[:, :-1].contiguous(),
                "shift_labels": inputs[:, 1:].contiguous(),
                "labels": inputs[:, 1:].contiguous(),
                "attention_mask": mask.expand(len(rows), -1, -1, -1),
            }

        self.watch, self.make = (
            Watch(),
            lambda rows, steps: Listening(
                model,
                TrainingArguments(
                    self.folder.name,
                    per_device_train_batch_size=recipe["micro_batch"],
                    gradient_accumulation_steps=recipe["batch_sequences"] // recipe["micro_batch"],
                    max_steps=steps,
                    max_grad_norm=recipe["clip"],
                    bf16=bf16,
                    use_cpu=device == "cpu",
                    logging_strategy="no",
                    save_strategy="no",
                    report_to=[],
                    disable_tqdm=True,
                    remove_unused_columns=False,
                    dataloader_pin_memory=False,
                    train_sampling_strategy="sequential",
                ),
                data_collator=collate,
                train_dataset=rows,
                optimizers=(optimizer, constant),
                callbacks=[self.watch],
            ),
        )

    def steps(self, count: int) -> float:
        """Do `count` steps; `seconds` is what they took without Trainer's own start."""
        import torch

        stream = Stream(self.recipe["sequence_length"], VOCABULARY)
        per_step = self.recipe["batch_sequences"]
        inputs, targets = stream.batch(self.done * per_step, count * per_step)
        rows = list(torch.cat([inputs, targets[:, -1:]], 1))
        self.losses.clear()
        self.make(rows, count).train()
        self.seconds = self.watch.ended - self.watch.begun
        self.done += count
        parts = per_step // self.recipe["micro_batch"]
        # With accumulation Trainer's training_step returns each part's loss already divided.
        return float(torch.stack(self.losses[-parts:]).sum())


def contenders(precision: str, device: str, sizes: tuple) -> dict:
    """Return name → function that makes it."""
    length, sequences, at_once, _, _ = sizes
    recipe = RECIPE | {
        "precision": precision,
        "sequence_length": length,
        "batch_sequences": sequences,
        "micro_batch": at_once,
    }
    made = {
        "ours": lambda: Ours(MIX, recipe, device),
        "no_bias": lambda: Ours({"form": "none"}, recipe, device),
        "loop": lambda: Loop(recipe, device),
        "lce": lambda: Loop(recipe, device, torch_loss=True),
        "trainer": lambda: ByTrainer(recipe, device),
    }
    missing = absent()
    return {name: make for name, make in made.items() if name not in missing}


def absent() -> dict[str, str]:
    """Return the contenders that can't run here → why."""
    import importlib.util

    from torch import nn

    reasons = {}
    if importlib.util.find_spec("accelerate") is None:
        reasons["trainer"] = "accelerate is not installed"
    if not hasattr(nn, "LinearCrossEntropyOptions"):
        reasons["lce"] = "this PyTorch has no linear_cross_entropy"
    return reasons
