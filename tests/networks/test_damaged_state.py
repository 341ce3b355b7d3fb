"""The state of a training that was cut or damaged is named, with the way out."""

from types import SimpleNamespace

import pytest
import torch

from recency.errors import InputError
from recency.networks import training
from training_job import RECIPE

SPECIFICATION = {"recipe": RECIPE, "code": {}}


def saved_state(path):
    """Write the state of an unfinished training of a small network; return the training."""
    model = torch.nn.Linear(2, 2)
    run = SimpleNamespace(model=model, optimizer=torch.optim.AdamW(model.parameters()))
    run.device, run.carried, run.earlier, run.best = "cpu", None, [], None
    training.save(path, SPECIFICATION, run, 3, training.Curve([1.0] * 3))
    return run


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def of_other_sizes(path):
    state = torch.load(path, weights_only=True)
    torch.save(state | {"model": torch.nn.Linear(3, 2).state_dict()}, path)


def without_losses(path):
    state = torch.load(path, weights_only=True)
    del state["losses"]
    torch.save(state, path)


DAMAGES = {
    "cut": cut,
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("a state"),
    "a list": lambda path: torch.save([1], path),
    "other sizes": of_other_sizes,
    "no losses": without_losses,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_is_named_with_the_way_out(tmp_path, damage):
    path = tmp_path / ".lm.state.pt"
    run = saved_state(path)
    assert training.resume(path, SPECIFICATION, run)[0] == 3
    DAMAGES[damage](path)
    with pytest.raises(InputError, match="lm.state.pt, the state .* delete it to train from the"):
        training.resume(path, SPECIFICATION, run)
    path.unlink()
    assert training.resume(path, SPECIFICATION, run)[0] == 0
