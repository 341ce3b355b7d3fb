"""Masked LMs: RoBERTa as transformers has it, its relatives, the CLAP head and what each weighs."""

import math

import pytest
import torch
from transformers import AutoModelForMaskedLM, RobertaConfig, RobertaForMaskedLM

from project import load
from recency.errors import InputError
from recency.networks import architectures, checkpoints, masked_training, roberta

SHAPE = {
    "family": "roberta",
    "layers": 2,
    "heads": 4,
    "width": 32,
    "feed_forward": 64,
    "context": 40,
}
NONE, OFFSET = {"form": "none"}, {"form": "linear_both"}
CLAP = {"head": "clap", "embedding_norm": False}
#: What the study trained, in small: architecture, bias, whether plain transformers opens it.
STUDY = {
    "baseline": ({}, NONE, True),
    "sinusoidal": ({"positions": "sinusoidal"}, NONE, False),
    "alibi": ({"positions": "none"}, OFFSET, False),
    "learned-clap": (CLAP, NONE, False),
    "zero-clap": (CLAP | {"positions": "none", "embedding_scale": True}, OFFSET, False),
    "learned slopes": ({}, {"form": "two_slopes", "learned": True}, False),
    "rows of length 1, RoBERTa's head": ({"normalised_embeddings": True}, NONE, False),
}


@pytest.fixture
def ids():
    """Two texts, the second with padding behind it."""
    found = torch.randint(5, 100, (2, 20), generator=torch.Generator().manual_seed(1))
    found[:, 0], found[1, 15:] = roberta.BEGIN, roberta.PAD
    return found


@pytest.mark.parametrize("name", STUDY)
def test_saved_is_reopened_and_plain_transformers_opens_roberta_alone(name, ids, tmp_path):
    own, bias, plain = STUDY[name]
    model = architectures.new(SHAPE | own, bias, 100, 1).eval()
    for parameter in model.parameters():  # nothing is as it was drawn
        parameter.data += 0.01 * torch.randn(parameter.shape)
    seen = ids != roberta.PAD
    expected = model(ids, attention_mask=seen).logits
    model.save_pretrained(tmp_path)
    for opened in (
        checkpoints.load(tmp_path, masked=None),
        AutoModelForMaskedLM.from_pretrained(tmp_path),
    ):
        assert torch.equal(opened.eval()(ids, attention_mask=seen).logits, expected)
    if plain:
        by_transformers = RobertaForMaskedLM.from_pretrained(tmp_path, attn_implementation="eager")
        assert type(by_transformers.config) is RobertaConfig
        logits = by_transformers.eval()(ids, attention_mask=seen).logits
        torch.testing.assert_close(logits, expected, atol=1e-5, rtol=0)
    else:
        with pytest.raises(KeyError, match="is no plain RoBERTa, load it with"):
            RobertaForMaskedLM.from_pretrained(tmp_path)


def test_a_bias_goes_on_what_was_trained_without_one_and_on_no_other(tmp_path):
    architectures.new(SHAPE | CLAP, NONE, 100, 1).save_pretrained(tmp_path / "clap")
    assert checkpoints.load(tmp_path / "clap", OFFSET, masked=True)
    architectures.new(SHAPE | CLAP, OFFSET, 100, 1).save_pretrained(tmp_path / "biased")
    with pytest.raises(InputError, match="trained with a bias"):
        checkpoints.load(tmp_path / "biased", OFFSET, masked=True)


def test_padding_changes_nothing_and_positions_are_counted_from_the_first_word(ids):
    for own, bias, _ in STUDY.values():
        model = architectures.new(SHAPE | own, bias, 100, 1).eval()
        padded = model(ids, attention_mask=ids != roberta.PAD).logits[1, :15]
        torch.testing.assert_close(padded, model(ids[1:, :15]).logits[0], atol=1e-5, rtol=1e-4)


def brute_force(model, ids, places, targets):
    """Return the mean cross-entropy of whole logits, by the equations of recency.networks.roberta."""
    states = model.base_model(ids).last_hidden_state
    table = model.base_model.embeddings.word_embeddings.weight
    config, head = model.config, model.lm_head
    if getattr(config, "normalised_embeddings", False):
        lengths = (table**2).sum(-1, keepdim=True)
        table = torch.where(lengths > 0, table / lengths.clamp(min=1e-30).sqrt(), table)
    if getattr(config, "head", "roberta") == "clap":
        logits = head.beta * (states @ table.T)
    else:
        x = states @ head.dense.weight.T + head.dense.bias
        x = x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
        x = x * head.layer_norm.weight + head.layer_norm.bias
        logits = x @ table.T + head.bias
    chosen = torch.log_softmax(logits.flatten(0, 1), -1)[places, targets]
    return -chosen.sum(), logits


@pytest.mark.parametrize("name", STUDY)
def test_loss_and_gradient_are_those_of_whole_logits(name):
    """Of masked places alone, the last layer only there; against autograd in float64."""
    own, bias, _ = STUDY[name]
    model = architectures.new(SHAPE | own, bias, 100, 1).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, dtype=torch.float64)
        model.base_model.embeddings.word_embeddings.weight[[1, 7]] = 0.0  # zero rows
    ids = torch.randint(5, 100, (3, 11), generator=torch.Generator().manual_seed(2))
    places, targets = torch.tensor([0, 4, 10, 22, 23, 32]), torch.tensor([7, 99, 0, 50, 50, 6])
    recipe = {"weight_decay": 0.0, "betas": [0.9, 0.98], "epsilon": 1e-6, "precision": "fp32"}
    run = masked_training.MaskedTraining(model, None, recipe)
    found = run.loss_sum(ids, None, places, targets)
    names, weights = zip(*((n, p) for n, p in model.named_parameters() if p.requires_grad))
    gradients = torch.autograd.grad(found, weights)
    expected, logits = brute_force(model, ids, places, targets)
    torch.testing.assert_close(model(ids).logits, logits)
    torch.testing.assert_close(found, expected)
    for of, ours, theirs in zip(names, gradients, torch.autograd.grad(expected, weights)):
        assert ours.isfinite().all()
        if of.endswith("word_embeddings.weight"):  # a zero row has no direction, of any gradient
            ours, theirs = (
                each[[n for n in range(100) if n not in (1, 7)]] for each in (ours, theirs)
            )
        torch.testing.assert_close(ours, theirs, msg=lambda text, of=of: f"{of}: {text}")


def test_rows_of_zeros_stay_and_have_a_finite_gradient():
    weight = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    rows = roberta.unit_rows(weight)
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0.0, 0.0]]
    rows.sum().backward()
    assert weight.grad.isfinite().all() and weight.grad.abs().max() <= 1


def test_sinusoids_are_fairseqs():
    found = roberta.sinusoids(torch.tensor([[2, 3, 1]]), 8)[0]
    for place, row in zip((2, 3), found.tolist()):
        for k in range(4):
            angle = place * 10_000 ** (-k / 3)
            assert row[k] == pytest.approx(math.sin(angle), abs=1e-6)
            assert row[4 + k] == pytest.approx(math.cos(angle), abs=1e-6)
    assert not found[2].any()  # padding


def test_parameters_of_roberta_base_and_what_clap_saves():
    config = load()["architectures"]

    def count(name, bias=NONE):
        with torch.device("meta"):
            model = architectures.new(config[name], bias, 50_265, 1)
        return architectures.parameter_count(model)

    d, layers, entries = 768, 12, 50_265
    a_layer = 4 * d * (d + 1) + d * 3072 + 3072 + 3072 * d + d + 4 * d
    head = d * d + 3 * d + entries
    encoder = entries * d + 2 * d + layers * a_layer
    segment = d  # of transformers' own class, zero and not trained
    assert count("roberta-base") == encoder + 2050 * d + head + segment
    assert count("roberta-none", OFFSET) == encoder + head
    assert count("roberta-none", OFFSET) - count("roberta-none-clap", OFFSET) == head - 1
    assert count("roberta-zero-clap-as-run", OFFSET) == encoder - 2 * d + 1


def test_networks_of_one_shape_begin_with_the_weights_that_they_share():
    made = [architectures.new(SHAPE | own, bias, 100, 3) for own, bias, _ in STUDY.values()]
    first = dict(made[0].named_parameters())
    for other in made[1:]:
        shared = {name: p for name, p in other.named_parameters() if name in first}
        assert len(shared) > 30 and all(torch.equal(p, first[name]) for name, p in shared.items())
    table = first["roberta.embeddings.word_embeddings.weight"]
    assert table.std().item() == pytest.approx(0.02, rel=0.05) and not table[roberta.PAD].any()
    again = architectures.new(SHAPE, NONE, 100, 4).base_model.embeddings.word_embeddings.weight
    assert not torch.equal(again, table)


def test_no_positions_need_a_bias():
    with pytest.raises(InputError, match="the network cannot know the order"):
        architectures.new(SHAPE | {"positions": "none"}, NONE, 100, 1)


#: The study's table of what was run (specs of its released configs), as config.yaml has it.
AS_RUN = {
    "MLM-baseline": ("learned", "none", "roberta", 0.1, 0.1, True, False, False),
    "MLM-sinusoidal": ("sinusoidal", "none", "roberta", 0.1, 0.1, True, False, False),
    "MLM-alibi": ("none", "ALiBi-offset", "roberta", 0.1, 0.1, True, False, False),
    "MLM-learned-clap": ("learned", "none", "clap", 0, 0.1, False, True, False),
    "MLM-zero-clap": ("none", "ALiBi-offset", "clap", 0, 0.1, False, True, True),
}


def test_the_config_has_the_rows_as_they_were_run_and_a_clean_two_by_two():
    config = load()
    assert config["lm_groups"]["mlm-as-run"] == list(AS_RUN)

    def network(lm):
        with torch.device("meta"):
            shape = config["architectures"][config["lms"][lm]["architecture"]]
            bias = config["biases"][config["lms"][lm]["bias"]]
            return architectures.new(shape, bias, 300, 1)

    for lm, row in AS_RUN.items():
        made = network(lm).config
        found = (
            getattr(made, "positions", "learned"), config["lms"][lm]["bias"],
            getattr(made, "head", "roberta"), made.hidden_dropout_prob,
            made.attention_probs_dropout_prob, getattr(made, "embedding_norm", True),
            getattr(made, "normalised_embeddings", False), getattr(made, "embedding_scale", False),
        )  # fmt: skip
        assert found == row, lm
    cells = {}
    for lm in config["lm_groups"]["mlm-2x2"]:
        made = network(lm).config
        kind = getattr(made, "positions", "learned"), getattr(made, "head", "roberta")
        cells[kind] = {
            key: getattr(made, key, default)
            for key, default in (("embedding_norm", True), ("embedding_scale", False),
                                 ("hidden_dropout_prob", None), ("attention_probs_dropout_prob", None))
        }  # fmt: skip
    assert set(cells) == {(p, h) for p in ("learned", "none") for h in ("roberta", "clap")}
    assert len({tuple(each.items()) for each in cells.values()}) == 1
