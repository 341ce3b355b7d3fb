"""What a training keeps on its way: whole models, named in training.csv, taken as LMs or refused."""

import csv
import shutil

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from readingtimes import files
from recency.errors import InputError
from recency.networks import architectures, checkpoints, stored_steps, train, training
from recency.networks.stream import TokenStream
from training_job import ARCHITECTURE, MIX, RECIPE, Killed

KEEPS = RECIPE | {
    "steps": 24,
    "checkpoints": [2, 8, 24],
    "validation": {"tokens": 400, "every": 20},
}


def named(job):
    return stored_steps.listed(job["out"].parent / "training.csv")


@pytest.fixture
def kept_job(job):
    job["recipe"] = KEEPS
    train.main(**job)
    return job


def test_each_is_the_network_after_so_many_steps(kept_job):
    """By steps that are done here, one by one; the folder opens as any model, bias and all."""
    stream = TokenStream(kept_job["tokens"], kept_job["info"], 16, "shuffled", 1, 400)
    model = architectures.new(ARCHITECTURE, MIX, stream.vocabulary, 1)
    run, lm = training.Training(model, stream, KEEPS), kept_job["out"].parent
    ids = torch.arange(10)[None]
    for step in range(1, 9):
        run.step(step)
        if step in KEEPS["checkpoints"]:
            opened = checkpoints.load(stored_steps.folder(lm, step))
            assert opened.config.bias == MIX
            with torch.no_grad():
                assert torch.equal(opened(ids).logits, model.eval()(ids).logits)
    assert (stored_steps.folder(lm, 2) / "tokenizer.json").read_bytes() == (
        lm / "tokenizer.json"
    ).read_bytes()
    last = load_file(stored_steps.folder(lm, 24) / stored_steps.WEIGHTS)
    for name, weights in load_file(lm / stored_steps.WEIGHTS).items():
        np.testing.assert_array_equal(last[name], weights)


def test_training_csv_names_them_and_has_their_validation_loss(kept_job):
    lm = kept_job["out"].parent
    assert named(kept_job) == {
        step: files.sha256(stored_steps.folder(lm, step) / stored_steps.WEIGHTS)
        for step in (2, 8, 24)
    }
    with (lm / "training.csv").open() as table:
        taken = [int(row["step"]) for row in csv.DictReader(table) if row["validation_nats"]]
    assert taken == [2, 8, 20, 24]


def killed_after(job, step, monkeypatch):
    """Train until a step has been done, its state saved."""
    whole_step, look = training.Training.step, train.LOOK_EVERY

    def dying_step(run, number, *rest):
        if number > step:
            raise Killed
        return whole_step(run, number)

    monkeypatch.setattr(train, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(train, "TIME_TO_SAVE", 1e9)
    monkeypatch.setattr(training.Training, "step", dying_step)
    with pytest.raises(Killed):
        train.main(**job)
    monkeypatch.setattr(training.Training, "step", whole_step)
    monkeypatch.setattr(train, "LOOK_EVERY", look)


@pytest.mark.merge
@pytest.mark.parametrize("step", [2, 5, 8])
def test_a_killed_training_keeps_the_same(kept_job, tmp_path, monkeypatch, step):
    expected = named(kept_job)
    kept_job["out"] = tmp_path / "again" / "config.json"
    killed_after(kept_job, step, monkeypatch)
    kept_job["out"].with_name("training.csv").unlink()  # as Snakemake does of a job that died
    train.main(**kept_job)
    assert named(kept_job) == expected


def test_a_training_does_not_go_on_without_what_it_kept(kept_job, tmp_path, monkeypatch):
    kept_job["out"] = tmp_path / "again" / "config.json"
    killed_after(kept_job, 5, monkeypatch)
    shutil.rmtree(stored_steps.folder(tmp_path / "again", 2))
    with pytest.raises(
        InputError, match=r"step2 is not as the training kept it.*\.again\.state\.pt"
    ):
        train.main(**kept_job)


def test_what_another_recipe_kept_is_gone(kept_job):
    """A training anew leaves nothing of the one before, and none of it can be taken for its own."""
    lm = kept_job["out"].parent
    train.main(**kept_job | {"recipe": KEEPS | {"checkpoints": [3]}})
    assert [path.name for path in (lm / "checkpoints").iterdir()] == ["step3"]
    assert list(named(kept_job)) == [3]


def test_lost_outputs_come_back_with_what_was_kept(kept_job, monkeypatch):
    before, lm = named(kept_job), kept_job["out"].parent
    (lm / "training.csv").unlink()
    monkeypatch.setattr(training.Training, "step", None)  # no step is done
    train.main(**kept_job)
    assert named(kept_job) == before


def test_a_kept_step_is_taken_as_an_lm(kept_job, tmp_path):
    lm, out = kept_job["out"].parent, tmp_path / "early" / "config.json"
    asked = {"losses": lm / "training.csv", "out": out, "lm": "early", "of": "test"}
    stored_steps.copy_checkpoint(**asked, step=8)
    opened = checkpoints.load(out.parent)
    assert opened.config.bias == MIX and (out.parent / "tokenizer.json").is_file()
    source = stored_steps.folder(lm, 8) / stored_steps.WEIGHTS
    assert (out.parent / stored_steps.WEIGHTS).read_bytes() == source.read_bytes()

    with pytest.raises(
        InputError, match=r"lms → early: .* of test kept no step 9 \(it kept 2, 8, 24\)"
    ):
        stored_steps.copy_checkpoint(**asked, step=9)
    shutil.copyfile(stored_steps.folder(lm, 2) / stored_steps.WEIGHTS, tmp_path / "other")
    (tmp_path / "other").replace(source)
    with pytest.raises(
        InputError, match=r"step8/model\.safetensors is not as the training kept it"
    ):
        stored_steps.copy_checkpoint(**asked, step=8)
    source.unlink()
    with pytest.raises(
        InputError, match=r"step8/model\.safetensors is gone; put it back, or delete"
    ):
        stored_steps.copy_checkpoint(**asked, step=8)


def test_a_list_of_losses_without_checkpoints_has_none(tmp_path):
    (tmp_path / "training.csv").write_text("step,tokens,loss_nats,validation_nats\n1,9,2.0,\n")
    with pytest.raises(InputError, match=r"kept no step 1 \(it kept none\)"):
        stored_steps.copy_checkpoint(
            tmp_path / "training.csv", tmp_path / "x.json", lm="a", of="b", step=1
        )
