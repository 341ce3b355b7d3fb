"""Rule train_cdlm: train a CDLM (recency.scoring.ngram), or extend one by a word of context."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from readingtimes.progress import progress
from recency import history
from recency.errors import InputError
from recency.scoring import ngram
from recency.scoring.mix import END
from recency.scoring.ngram import rewrite


def read_sentences(
    text: str | Path, base: ngram.Base, text_rule: str = "displayed"
) -> list[list[int]]:
    """Return a corpus's lines as word ids, with </s> at the end of each."""
    documents = pd.read_parquet(text, columns=["text"])["text"]
    lines = (line.split() for doc in documents for line in rewrite(doc, text_rule).split("\n"))
    return [base.ids([*words, END]) for words in lines if words]


def perplexity(base: ngram.Base, tensors: dict, contexts: np.ndarray, words: np.ndarray) -> float:
    """Return the perplexity of words after their contexts."""
    import torch

    total = 0.0
    with torch.no_grad():
        for start in range(0, len(words), ngram.AT_ONCE):
            part = slice(start, start + ngram.AT_ONCE)
            total += float(loss(base, tensors, contexts[part], words[part])) * len(words[part])
    return float(np.exp(total / len(words)))


def main(
    text: str | Path,
    validation: str | Path,
    arpa: str | Path,
    out: str | Path,
    span: int = 4,
    grown_from: Sequence[str | Path] = (),
    width: int = 45,
    epochs: int = 10,
    learning_rate: float = 0.1,
    batch: int = 200,
    seed: int = 1,
    threads: int = 1,
    text_rule: str = "displayed",
    passages: str | Path | None = None,
) -> None:
    """Train with AdaGrad until the validation perplexity stops falling; write the best epoch.

    `span` is M. If `grown_from` a CDLM of M - 1, its E and v are fixed and only T is trained; the
    new matrix starts at 0, so that the initial model equals the old one. Otherwise E and v are
    drawn from N(0, 0.1²) by `seed`. `passages` is the file of the text's passages.
    """
    import torch

    from recency import processor

    processor.use(threads)
    history.of_ngrams(text, out, [arpa, *grown_from], passages)
    history.require_unseen(
        validation,
        f"the validation text {Path(validation).parent.name}",
        {Path(out).parent.name: out},
    )
    base = ngram.read_base(arpa)
    matrices = span - base.order - 1
    draw = np.random.default_rng(seed)
    if grown_from:
        (path,) = grown_from
        old = ngram.load(path)
        if old.reach != span - 2 or old.base.words != base.words:
            raise InputError(
                f"{path} has range {old.reach + 1} or another n-gram model; this grows range {span - 1}"
            )
        T = np.concatenate([old.T, np.zeros((1, *old.E.shape[1:] * 2))])
        model = ngram.Model(base, old.E, old.v, T)
    else:
        E, v = (
            draw.normal(0, 0.1, (size, width)) for size in (len(base.words), len(base.words) + 1)
        )
        model = ngram.Model(base, E, v, np.zeros((matrices, width, width)))
    contexts, words = ngram.training_examples(
        base, read_sentences(text, base, text_rule), model.reach
    )
    held = ngram.training_examples(base, read_sentences(validation, base, text_rule), model.reach)
    trained = ["T"] if grown_from else ["E", "v", *["T"] * bool(matrices)]
    tensors = {
        name: torch.tensor(getattr(model, name), dtype=torch.float32) for name in ngram.FIELDS
    }
    optimizer = torch.optim.Adagrad(
        [tensors[name].requires_grad_() for name in trained], lr=learning_rate
    )
    best, kept = perplexity(base, tensors, *held), _copied(tensors)
    print(f"perplexity of the validation text before: {best:.2f}", file=sys.stderr)
    steps = -(-len(words) // batch)
    shown = progress(epochs * steps, f"CDLM of range {span}", "steps")
    for epoch in range(epochs):
        order = draw.permutation(len(words))
        for step in range(steps):
            rows = order[step * batch : (step + 1) * batch]
            optimizer.zero_grad()
            loss(base, tensors, contexts[rows], words[rows]).backward()
            optimizer.step()
            shown.update(epoch * steps + step + 1)
        current = perplexity(base, tensors, *held)
        print(f"epoch {epoch + 1}: {current:.2f}", file=sys.stderr)
        if not np.isfinite(current):
            raise InputError(
                f"epoch {epoch + 1}: the perplexity is no number; lower `learning_rate`"
            )
        if current >= best:
            break
        best, kept = current, _copied(tensors)
    ngram.Model(base, **kept).save(out)


def _copied(tensors: dict) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy().copy() for name, tensor in tensors.items()}


def loss(base: ngram.Base, tensors: dict, contexts: np.ndarray, words: np.ndarray):
    """Return the mean -ln p of words after their contexts, as a differentiable tensor."""
    import torch

    back = torch.from_numpy(contexts[:, ::-1][:, base.order - 1 :].astype(np.int64).copy())
    vectors = tensors["v"][back]
    further = vectors[:, 0]
    if len(tensors["T"]):
        further = further + torch.einsum("bkc,kdc->bd", vectors[:, 1:], tensors["T"])
    fixed = torch.from_numpy(
        base.distributions(contexts[:, -(base.order - 1) :]).astype(np.float32)
    )
    scores = torch.addmm(fixed, further, tensors["E"].T)
    return torch.nn.functional.cross_entropy(scores, torch.from_numpy(words.astype(np.int64)))
