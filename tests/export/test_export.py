"""Exported checkpoints: opened by plain transformers in a process that has no recency."""

import json

import numpy as np
import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    OPTConfig,
    OPTForCausalLM,
    PreTrainedTokenizerFast,
)

import recency
from peers import peer
from recency import history
from recency.attention.biases import build
from recency.errors import InputError
from recency.export import modelling, write
from recency.networks import architectures
from recency.scoring.lm_spec import LMSpec
from small_networks import TEXTS, TINY, byte_tokenizer
from strangers import Strangers

ABOUT = {"label": "ALiBi-1-TI", "study": "open", "applied": "training"}
BIASES = {
    "linear": {"form": "linear", "slopes": "mix"},
    "learned": {"form": "learned_linear"},
    "dVM": {"form": "exponential", "decay": 8.0, "weight": 0.4},
    "dVM-last": {"form": "exponential", "decay": 8.0, "weight": 0.4, "layers": "last"},
    "window": {"form": "window", "width": 3},
    "logistic": {"form": "logistic", "steepness": 0.4, "midpoint": 12},
    "power_law": {"form": "power_law", "decay": 0.5, "buffer": 5},
    "logarithmic": {"form": "logarithmic"},
    "forgetting": {"form": "forgetting"},
    "surprisal_gated": {"form": "surprisal_gated", "layer": 1, "layers": "last"},
    "cue_based": {"form": "cue_based"},
    "primacy": {"form": "primacy_recency"},
    "temperature": {"form": "temperature", "temperature": 1.5},
    "identity": {"form": "identity", "weight": 0.37},
}
#: What a stranger's Python does with the folder: no recency on its path.
STRANGER = """
import json, sys
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
assert not any("recency" in name for name in sys.modules)
torch.set_num_threads(1)
folder, text = sys.argv[1:3]
network = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).eval()
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
one, two = (tokenizer(each, return_tensors="pt").input_ids for each in (text, text[:20]))
padded = torch.nn.functional.pad(two, (one.shape[1] - two.shape[1], 0))
mask = torch.ones(2, one.shape[1], dtype=torch.long)
mask[1, : -two.shape[1]] = 0
with torch.no_grad():
    logits = network(one).logits[0]
    alone = network(two).logits[0]
    left = network(torch.cat([one, padded]), attention_mask=mask,
                   position_ids=(mask.cumsum(1) - 1).clamp(min=0)).logits[1, -two.shape[1]:]
    written = network.generate(two, max_new_tokens=8, do_sample=False)[0].tolist()
    again = two
    for _ in range(8):
        again = torch.cat([again, network(again, use_cache=False).logits[:, -1:].argmax(-1)], 1)
refused = ""
try:
    network.set_attn_implementation("eager")
    network(one)
except ValueError as error:
    refused = str(error)
print(json.dumps({"logits": logits.tolist(), "padding": (left - alone).abs().max().item(),
                  "written": written, "by hand": again[0].tolist(), "refused": refused}))
"""


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """Return a function that runs a program on an exported folder, where recency is not loaded."""
    process = Strangers(tmp_path_factory.mktemp("home"))
    yield lambda folder, program=STRANGER, text=TEXTS[0]: process.run(program, str(folder), text)
    process.close()


def save(network, folder):
    """Save a network with steps in its weights, and its tokenizer, as a trained LM."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    network.save_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_tokenizer(), bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )
    tokenizer.save_pretrained(folder)
    return folder


def trained(folder, bias, family="gpt_neox"):
    shape = TINY | {"family": family}
    vocabulary = byte_tokenizer().get_vocab_size()
    return save(architectures.new(shape, bias, vocabulary, 1), folder)


def logits_of(model, text):
    ids = torch.tensor([model.tokenizer.encode(text).ids])
    with torch.no_grad():
        return model.network(input_ids=ids, use_cache=False).logits[0].numpy()


RECURRENT = {
    "lsrc": {},
    "rnn": {},
    "gru": {},
    "fofe": {"half_lives": [1, 9], "learned": True, "window": 2},
    "srnn": {"context": "word"},
    "state_space": {"selective": True},
}
READER = """
import json, sys
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, text = sys.argv[1:3]
network = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).eval()
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
with torch.no_grad():
    logits = network(tokenizer(text, return_tensors="pt").input_ids).logits[0]
assert not any(name == "recency" for name in sys.modules)
print(json.dumps(logits.tolist()))
"""


@pytest.mark.merge
@pytest.mark.parametrize("form", RECURRENT)
def test_a_recurrent_one_brings_its_memory(tmp_path, form, stranger):
    """`write.main` opens the folder by the code in it and compares; a stranger opens one as well."""
    memory = {"form": form} | RECURRENT[form]
    shape = {"family": "recurrent", "layers": 2, "width": 8, "feed_forward": 8, "memory": memory}
    network = architectures.new(shape, {"form": "none"}, byte_tokenizer().get_vocab_size(), 1)
    source = save(network, tmp_path / "lm")
    write.main(LMSpec("lm", source), tmp_path / "out", about=ABOUT | {"applied": "none"})
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"Form `{form}`" in card and "trust_remote_code=True" in card and "heads" not in card
    if form == "lsrc":  # a form that uses another form's
        done = stranger(tmp_path / "out", READER)
        assert done.returncode == 0, done.stderr[-2000:]
        expected = logits_of(recency.load(source), TEXTS[0])
        np.testing.assert_allclose(json.loads(done.stdout), expected, atol=1e-4)
        assert logits_of(recency.load(tmp_path / "out"), TEXTS[0]) == pytest.approx(expected)


@pytest.mark.merge
@pytest.mark.parametrize(
    "bias, family", [("linear", "gpt_neox"), ("learned", "gpt2"), ("dVM-last", "gpt_neox")]
)
def test_a_stranger_opens_it_with_its_bias(tmp_path, bias, family, stranger):
    source = trained(tmp_path / "lm", BIASES[bias], family)
    write.main(LMSpec("lm", source), tmp_path / "out", about=ABOUT)
    done = stranger(tmp_path / "out")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    expected = logits_of(recency.load(source), TEXTS[0])
    np.testing.assert_allclose(np.array(found["logits"]), expected, atol=2e-4)
    assert found["padding"] < 1e-3 and found["written"] == found["by hand"]
    assert "omits the bias" in found["refused"]
    plain = recency.load(source)
    for module in plain.network.modules():
        if hasattr(module, "recency_bias"):
            module.recency_bias = build({"form": "none"}, module.recency_bias.heads)
    assert np.abs(logits_of(plain, TEXTS[0]) - expected).max() > 0.01  # the bias does something


@pytest.mark.merge
@pytest.mark.parametrize("name", BIASES)
def test_every_form_computes_as_here(tmp_path, name):
    """`write.main` compares the logits itself; the file stands by itself."""
    source = trained(tmp_path / "lm", BIASES[name])
    lossy = {"erasure": {"form": "truncation", "words": 2}}
    about = ABOUT | ({"lossy": lossy} if name == "linear" else {})
    write.main(LMSpec("lm", source), tmp_path / "out", about=about)
    assert ("lossy=" in (tmp_path / "out" / "README.md").read_text()) == (name == "linear")
    code = (tmp_path / "out" / modelling.FILE).read_text()
    assert "import recency" not in code and "from recency" not in code
    assert recency.load(tmp_path / "out").network.config.bias == BIASES[name]
    assert logits_of(recency.load(tmp_path / "out"), TEXTS[1]) == pytest.approx(
        logits_of(recency.load(source), TEXTS[1]), abs=1e-5
    )


@pytest.mark.merge
def test_a_bias_put_on_at_inference_goes_with_it(tmp_path, stranger):
    """Onto a GPT-2 with tied weights, as from the Hub; its own config is kept."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=byte_tokenizer().get_vocab_size(), n_embd=32, n_layer=2, n_head=4,
        n_positions=96, scale_attn_by_inverse_layer_idx=True, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    source = save(GPT2LMHeadModel(config), tmp_path / "gpt2")
    about = ABOUT | {"applied": "inference"}
    write.main(LMSpec("lm", source, bias=BIASES["window"]), tmp_path / "out", about=about)
    done = stranger(tmp_path / "out")
    assert done.returncode == 0, done.stderr[-2000:]
    expected = logits_of(recency.load(source, bias=BIASES["window"]), TEXTS[0])
    found = json.loads(done.stdout.splitlines()[-1])["logits"]
    np.testing.assert_allclose(np.array(found), expected, atol=2e-4)
    assert "applied to a trained network" in (tmp_path / "out" / "README.md").read_text()


def test_without_trust_it_is_refused_and_says_how(tmp_path, stranger):
    source = trained(tmp_path / "lm", BIASES["linear"])
    write.main(LMSpec("lm", source), tmp_path / "out", about=ABOUT)
    for kind, words in (
        ("AutoModelForCausalLM", "trust_remote_code=True"),
        ("GPTNeoXForCausalLM", "has an attention bias, load it with recency.load"),
    ):
        program = (
            f"import sys; from transformers import {kind}; {kind}.from_pretrained(sys.argv[1])"
        )
        done = stranger(tmp_path / "out", program)
        assert done.returncode != 0 and words in done.stderr


def test_an_unbiased_one_is_plain(tmp_path, stranger):
    source = trained(tmp_path / "lm", {"form": "none"})
    write.main(LMSpec("lm", source), tmp_path / "out", about=ABOUT | {"applied": "none"})
    assert not (tmp_path / "out" / modelling.FILE).exists()
    program = (
        "import sys; from transformers import AutoModelForCausalLM as A; "
        "print(type(A.from_pretrained(sys.argv[1])).__name__)"
    )
    done = stranger(tmp_path / "out", program)
    assert done.stdout.split()[-1] == "GPTNeoXForCausalLM", done.stderr[-2000:]


def test_another_family_with_a_bias_is_refused(tmp_path):
    torch.manual_seed(0)
    config = OPTConfig(
        vocab_size=byte_tokenizer().get_vocab_size(), hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4, ffn_dim=32, max_position_embeddings=96, word_embed_proj_dim=32,
    )  # fmt: skip
    source = save(OPTForCausalLM(config), tmp_path / "opt")
    write.main(LMSpec("lm", source), tmp_path / "plain", about=ABOUT | {"applied": "none"})
    with pytest.raises(InputError, match=r"supports only gpt_neox, gpt2; export the LM without"):
        write.main(LMSpec("lm", source, bias=BIASES["linear"]), tmp_path / "out", about=ABOUT)
    assert not (tmp_path / "out").exists()


def test_code_that_computes_otherwise_is_never_written(tmp_path, monkeypatch):
    source = trained(tmp_path / "lm", BIASES["linear"])
    whole = modelling.source

    def wrong(*arguments):
        return whole(*arguments).replace("* (key - query)", "* (query - key)")

    monkeypatch.setattr(write, "source", wrong)
    with pytest.raises(InputError, match="the exported network's logits differ"):
        write.main(LMSpec("lm", source), tmp_path / "out", about=ABOUT)
    assert not (tmp_path / "out").exists()


CARD = """import re, sys
text = open(sys.argv[1] + "/README.md").read()
code = re.search(r"```python\\n(.*?)```", text, re.S).group(1)
exec(code.replace('"lm"', repr(sys.argv[1])))
print(type(network).__name__, len(tokenizer))"""


def test_the_card_s_lines_work_and_its_tables_are_the_run_s(tmp_path, stranger):
    source = trained(tmp_path / "lm", BIASES["linear"])
    (tmp_path / "training.csv").write_text(
        "step,tokens,loss_nats,validation_nats\n1,100,5.0,\n2,200,4.0,4.25\n"
    )
    (tmp_path / "perplexity.csv").write_text(
        "lm,label,dataset,tokens,bits_per_token,perplexity\n"
        "lm,x,ucl,4000,5.0,32.0\nlm,x,all,4000,5.0,32.0\nother,y,ucl,4000,6.0,64.0\n"
    )
    (tmp_path / "delta.csv").write_text(
        "lm,label,dataset,measure,design,base,endpoint,n,seeds,delta_loglik,low,high,by\n"
        "lm,x,ucl,SPR,spr,all,crossed,1234,3,70.25,40.0,100.0,crossed\n"
        "other,y,ucl,SPR,spr,all,crossed,1234,1,1.0,0,1,crossed\n"
    )
    about = ABOUT | {
        "corpus": {"label": "open English text", "licence": "by part", "cite": "Someone (2001)"},
        "recipe": {"steps": 2}, "seed": 1, "licence": "cc-by-4.0", "datasets": {"ucl": "UCL"},
    }  # fmt: skip
    write.main(
        LMSpec("lm", source), tmp_path / "out", about=about, training=tmp_path / "training.csv",
        perplexity=[tmp_path / "perplexity.csv"], delta_loglik=[tmp_path / "delta.csv"],
    )  # fmt: skip
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers\n") and "license: cc-by-4.0" in card
    for line in (
        "| tokens | 200, in 2 steps |",
        "| last loss | 4.000 nats a token; 4.250 on held-out text |",
        "| UCL | 4,000 | 32.0 |",
        "| UCL, SPR | spr | base: all | 3 | 1,234 | 70.2 | 40.0 to 100.0, by subject and sentence |",
        "The training text: by part. Citation: Someone (2001)",
    ):
        assert line in card
    write.main(
        LMSpec("lm@seed=2", source), tmp_path / "of_seed_2", about=about | {"ranked": "lm"},
        delta_loglik=[tmp_path / "delta.csv"],
    )  # fmt: skip
    assert "| base: all | 3 | 1,234 | 70.2 |" in (tmp_path / "of_seed_2" / "README.md").read_text()
    assert "64.0" not in card and "| other" not in card
    done = stranger(tmp_path / "out", CARD)
    assert done.stdout.split()[-2] == "BiasedGPTNeoXForCausalLM", done.stderr[-2000:]


def test_a_card_says_that_the_code_changed_in_training(tmp_path):
    """Of an exported network, whose config.json has the history, too; of a step before it not."""
    source = trained(tmp_path / "lm", BIASES["linear"])
    name = "recency.attention.biases.linear"
    change = {"step": 2, "begun_by": {name: "1", "a": "0"}, "goes_on_by": {name: "2", "a": "0"}}
    told = {"texts": [], "resumed": [change], "retrained": [["recency.networks.loss"]]}
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps(config | {history.KEY: told}))
    for step, said in ((None, True), (2, False), (3, True)):
        about = ABOUT | ({"step": step} if step else {})
        write.main(LMSpec("lm", source), tmp_path / "out", about=about)
        card = (tmp_path / "out" / "README.md").read_text()
        assert (f"From step 3 on it was trained by changed code ({name})" in card) == said
        assert "after a change of recency.networks.loss" in card
    assert history.read(tmp_path / "out") == told


@pytest.mark.merge
@peer("minicons")
def test_minicons_scores_it(tmp_path):
    from minicons import scorer

    source = trained(tmp_path / "lm", BIASES["linear"])
    write.main(LMSpec("lm", source), tmp_path / "out", about=ABOUT)
    theirs = scorer.IncrementalLMScorer(str(tmp_path / "out"), "cpu", trust_remote_code=True)
    tokens = theirs.token_score([TEXTS[0]], surprisal=True, base_two=True, bos_token=True)[0]
    total = sum(value for _, value in tokens)
    own = recency.surprisal([TEXTS[0]], recency.load(source)).surprisal_bits.sum()
    assert total == pytest.approx(own, abs=1e-2)


@pytest.mark.merge
@peer("lm_eval")
def test_lm_evaluation_harness_opens_it(tmp_path):
    from lm_eval.api.instance import Instance
    from lm_eval.models import huggingface as models

    source = trained(tmp_path / "lm", BIASES["linear"])
    write.main(LMSpec("lm", source), tmp_path / "out", about=ABOUT)
    harness = models.HFLM(
        pretrained=str(tmp_path / "out"), trust_remote_code=True, device="cpu", dtype="float32"
    )
    start, rest = TEXTS[0][:17], TEXTS[0][17:]  # "The unforgettable", " cat saw …"
    request = Instance("loglikelihood", {}, (start, rest), 0)
    (found,) = harness.loglikelihood([request], disable_tqdm=True)
    model = recency.load(source)
    ids = model.tokenizer.encode(TEXTS[0]).ids
    first = len(model.tokenizer.encode(start).ids)
    log = torch.tensor(logits_of(model, TEXTS[0])).double().log_softmax(-1)
    expected = sum(log[at - 1, ids[at]].item() for at in range(first, len(ids)))
    assert found[0] == pytest.approx(expected, abs=1e-3)
