"""Faults of memories, recurrent LMs and their training are met when the config is read, a line each."""

import pytest

from project import SCHEMA, assert_is_refused, load
from recency import config as configuration
from recency.workflow.config import checks
from recency.workflow.plan import plan_checks
from recency.workflow.plan.study import Study

M, R, A = "memories: {mine: ", "recipes: {streams: ", "architectures: {recurrent-128: "
L = "lms: {mine: {memory: LSTM, architecture: recurrent-128, recipe: streams, "
FAULTS = {
    M + "{form: fofe, decay: 1}}": "memories → mine → decay: 1 is greater than or equal to the maximum of 1",
    M + "{form: fofe, decay: -0.1}}": "memories → mine → decay: -0.1 is less than the minimum of 0",
    M + "{form: fofe, decai: 0.5}}": "memories → mine: unknown key 'decai'; did you mean 'decay'?",
    M + "{form: foef, decay: 0.5}}": "memories → mine → form: none is called 'foef'; did you mean 'fofe'?",
    M + "{form: fofe}}": "memories → mine: give exactly one of `decay` and `half_lives`",
    M + "{form: fofe, decay: 0.5, half_lives: [1, 9]}}": "one of `decay` and `half_lives`",
    M + "{form: fofe, decay: 0, learned: true}}": "learned: a `decay` of 0 cannot be learned from",
    M + "{form: fofe, decay: 0, window: 0}}": "memories → mine → window: 0 is less than the minimum of 1",
    M + "{form: srnn, context: words}}": "memories → mine → context: 'words' fits none of what it may be",
    M + "{form: srnn, start: separate}}": "mine → start: only `context: word` has a C for each word; remove it",
    M + "{form: lstm, layers: 2}}": "memories → mine: unknown key 'layers'",
    "lms: {LSTM: {memory: LSMT}}": "lms → LSTM → memory: no memory is called 'LSMT'; did you mean 'LSTM'?",
    L + "bias: ALiBi-mix}}": "bias: architectures → recurrent-128 is recurrent and has no attention to bias",
    A + "{width: 9, embedding: 5}}\n" + M + "{form: rnn, input_matrix: false}}\n" + L.replace("LSTM", "mine") + "seed: 1}}": "lms → mine → memory: without an input matrix, a word's vector is added to a state of 9, and architectures → recurrent-128 → embedding is 5; leave `embedding` out",
    R + "{bptt: 7}}": "recipes → streams → bptt: 7 words are neither a multiple nor a divisor of `sequence_length`, 64",
    R + "{order: sequential, reset: never}}": "it requires `order: streams`",
    L + "stride: 64}}": "lms → mine → stride: a recurrent LM reads a text of any length in one pass",
    L + "scoring: {window: 64}}}": "scoring → window: a recurrent LM reads a text of any length",
    "lms: {mine: {architecture: recurrent-128, recipe: streams}}": "`memory:` must name its memory",
    "lms: {mine: {memory: LSTM}}": "memory: architectures → gpt-neox-2-4-128 has attention",
    "lms: {mine: {recipe: streams}}": "streams carry a state, which architectures → gpt-neox-2-4-128 lacks",
    "lms: {LSTM: {recipe: cores}}": "shuffled rows carry no state from one to the next",
    "lms: {mine: {bias: dVM, applied: inference, weights: LSTM}}": "is recurrent and has no attention to bias",
    R + "{order: shuffled}}": "recipes → streams → reset: it requires `order: streams`; remove it",
    R + "{optimizer: sgd}}": "recipes → streams: 'momentum' is missing",
    R + "{momentum: 0.9}}": "recipes → streams → momentum: it requires `optimizer: sgd`; remove it",
    R + "{schedule: halving}}": "recipes → streams → minimum_learning_rate: the schedule `halving` does not take this key; remove it",
    R + "{halving: {further: 3}}}": "recipes → streams → halving: it requires `schedule: halving`; remove it",
    R + "{loss: sums}}": "recipes → streams → loss: 'sums' is not one of",
    R + "{validation: {every: epochs}}}": "validation → every: 'epochs' fits none",
    "recipes: {cores: {validation: {corpus: open_englisch, every: epoch}}}": "exclude each other; give one",
    A + "{heads: 4}}": "architectures → recurrent-128 → heads: a network of family recurrent does not take this key; remove it",
    A + "{tied: true, embedding: 64}}": "tied: input embeddings have 64 dimensions and the output layer 128",
    "architectures: {gpt-neox-2-4-128: {tied: true}}": "tied: a network of family gpt_neox does not take this key; remove it",
    "architectures: {mine: {family: gpt2, layers: 1, width: 8}}": "'heads', 'feed_forward', 'context' is missing",
    "experiments: {memories: {attention: ucl_spr}}": "attention: 'FNN-4' is recurrent and has no attention",
    "experiments: {memories: {sensitivity: {stride: [null, 1]}}}": "memories → compare: `sensitivity` cannot be combined with `compare`; use two experiments",
    "experiments: {m: {title: M, lms: [FNN-4], baseline: FNN-4, responses: {spr: [ucl_spr.SPR]}, sensitivity: {stride: [null, 1]}}}": "stride: 'FNN-4' is recurrent and reads",
    "searches: {open: {lm: LSTM}}": "'LSTM' is recurrent, and takes no attention bias",
    "corpora: {ptb: {files: [README.md]}}": "exclude each other; give one",
    "corpora: {mine: {file: {local: README.md}}}": "corpora → mine: 'reader' is missing: the format of `file`",
    "tokenizers: {open-8192: {end: </s>}}": "tokenizers → open-8192 → end: it requires `kind: words`",
    "tokenizers: {open-8192: {vocabulary: 100}}": "vocabulary: 100 is less than the minimum of 258",
    "tokenizers: {open-8192: {also: [ptb]}}": "tokenizers → open-8192 → also: it requires `kind: words`",
    "tokenizers: {ptb: {also: [ptt]}}": "tokenizers → ptb → also: no corpus is called 'ptt'",
    "corpora: {brown-test: {documents: {of: 20, numbers: [3, 20]}}}": "brown-test → documents → numbers: 20 is not below 20",
    "recipes: {words-made: {vectors: {of: LBK}}}": "recipes → words-made → vectors → of: no lm is called 'LBK'; did you mean 'LBL'",
    "recipes: {words: {vectors: {min_count: 3}}}": "recipes → words → vectors: 'of' is missing",
    "recipes: {words-made: {vectors: {of: LSTM}}}": "lms → LBL-SWordSS → recipe: 'words-made' is initialised with vectors of 'LSTM', whose tokenizer is different",
    "recipes: {words-made: {vectors: {of: LBL-begun}}}": "of 'LBL-begun', which itself is initialised with vectors",
    "recipes: {words-made: {vectors: {of: KN-5}}}": "of 'KN-5', which is not trained here",
    "recipes: {streams: {vectors: {of: LBL}}}": "is initialised with vectors of words, and 'open-8192' is not a tokenizer of `kind: words`",
    "lms: {LSTM-SWordSS: {architecture: recurrent-128}}": "is initialised with vectors of 'LBL', of 64 dimensions, and its architecture has 128",
    "experiments: {rare_words: {rare_words: [rw, rv]}}": "experiments → rare_words → rare_words: no table of word pairs is called 'rv'",
    "lms: {Brown-KN5: {ngram: {text_rule: lower}}}": "experiments → rare_words_begun → lms: 'Brown-KN5' reads words by `text_rule: lower`, and `perplexity` scores the text's words unchanged",
    "experiments: {blimp: {perplexity: {validation: ptb, test: ptp}}}": "perplexity → test: no corpus is called 'ptp'; did you mean 'ptb'?",
}  # fmt: skip


@pytest.mark.merge
@pytest.mark.parametrize("overlay", FAULTS)
def test_a_fault_is_met_when_the_config_is_read(overlay):
    assert_is_refused(overlay, FAULTS[overlay], "config/open.yaml")


@pytest.mark.parametrize(
    "names",
    [(), ("config/ptb.yaml",)]
    + [("config/ptb.yaml", f"config/ptb-{part}.yaml") for part in ("quick", "four")],
)
def test_what_is_there_is_right(names):
    checks.check(load(*names), SCHEMA)


def test_a_job_gets_its_memory_and_the_module_of_its_form():
    config = load("config/open.yaml")
    study = Study(config, SCHEMA.parent)
    memory = {"form": "fofe", "decay": 0.7}
    assert study.architecture("FOFE-0_7") == config["architectures"]["recurrent-128"] | {
        "memory": memory
    }
    assert "memory" not in study.architecture("Pythia")

    class Wildcards:
        lm = "FOFE-0_7"

    chosen = configuration.chosen(config, Wildcards(), SCHEMA.parent)
    assert chosen[configuration.MEMORIES] == ["fofe"]
    Wildcards.lm = "Pythia"
    assert configuration.chosen(config, Wildcards(), SCHEMA.parent)[configuration.MEMORIES] == []
    assert study.description("LSTM")["network"]["memory"] == {"form": "lstm"}


def test_held_out_text_may_be_another_corpus():
    study = Study(load("config/ptb.yaml"), SCHEMA.parent)
    assert study.files.held_out(study.lms["PTB-WI-4"]) == [
        "<results>/corpora/ptb-valid/tokens/ptb.bin"
    ]
    assert study.files.held_out(study.lms["Pythia"]) == []


def test_a_text_with_other_words_is_met_when_a_run_is_planned(tmp_path):
    config = load("config/ptb.yaml")
    placed = tmp_path / "ptb.train.txt"
    placed.write_text("one two <unk>\nthree\n")
    config["corpora"]["ptb"]["file"] = {"local": str(placed)}
    found = plan_checks.problems(Study(config, SCHEMA.parent))
    (line,) = [each for each in found if "corpora" in each]
    assert line.startswith(f"corpora → ptb: {placed}: 4 words, not the 887,521 of")
    config["corpora"]["ptb"]["options"] = {"sentences": {"words": 4}}
    assert not plan_checks.problems(Study(config, SCHEMA.parent))
