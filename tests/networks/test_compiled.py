"""Compiled networks train as plain ones do, and the first step finds those that do not."""

import pytest

from conftest import needs_compiler
from recency.networks import architectures, training
from recency.networks.stream import TokenStream
from training_job import ARCHITECTURE, MIX, RECIPE


@needs_compiler
@pytest.mark.parametrize("bias", [MIX, {"form": "forgetting"}], ids=lambda bias: bias["form"])
def test_a_compiled_network_trains_as_the_plain_one_and_is_checked(job, monkeypatch, bias):
    def steps(compiled):
        stream = TokenStream(job["tokens"], job["info"], 16, "shuffled", 1)
        model = architectures.new(ARCHITECTURE, bias, stream.vocabulary, 1)
        run = training.Training(model, stream, RECIPE, compiled=compiled)
        return [run.step(number).item() for number in (1, 2, 3)]

    assert steps(True) == pytest.approx(steps(False), rel=1e-4)
    monkeypatch.setattr(training.torch, "compile", lambda network, **settings: _Wrong(network))
    with pytest.raises(RuntimeError, match="differs from the plain one by [1-9].* of its states"):
        steps(True)
    if bias != MIX:  # as a kernel would that has no gradient of what it captures
        monkeypatch.setattr(
            training.torch.autograd, "grad", _forgetful(training.torch.autograd.grad)
        )
        monkeypatch.setattr(training.torch, "compile", lambda network, **settings: network)
        with pytest.raises(RuntimeError, match="differs from the plain one by [1-9].* gradients"):
            steps(True)


def _forgetful(grad):
    """Return a function that halves the gradients that it is asked for first."""
    calls = []

    def halved(*arguments):
        calls.append(arguments)
        return [x / 2 if len(calls) == 1 else x for x in grad(*arguments)]

    return halved


class _Wrong:
    """A network that is compiled wrongly."""

    def __init__(self, network):
        self.network = network

    def __call__(self, input_ids, **settings):
        return self.network(input_ids=input_ids.flip(1), **settings)
