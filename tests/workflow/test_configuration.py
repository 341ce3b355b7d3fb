"""The config: what is wrong is refused with key, value and the way out; names are resolved."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from project import ROOT, SCHEMA, SOURCES, load, merged
from recency import config as configuration
from recency.errors import InputError
from recency.evaluations import registry
from recency.figures import encoding
from recency.workflow.config import checks as config_checks

STUDIES = [
    (),
    ("config/demo.yaml",),
    ("config/open.yaml",),
    ("config/pretrained.yaml",),
    ("config/demo.yaml", "tests/config.tiny.yaml"),
]


@pytest.mark.parametrize("overlays", STUDIES)
def test_the_studies_are_right(overlays):
    config_checks.check(load(*overlays), SCHEMA)


def test_switches_are_what_the_command_line_makes_of_them():
    """Snakemake hands `--config retrain=true` over as text."""
    config = load() | {"retrain": "true", "check_machine": "false"}
    config_checks.check(config, SCHEMA)
    assert config["retrain"] is True and config["check_machine"] is False
    with pytest.raises(InputError, match="retrain: 'yes' is not of type 'boolean'"):
        config_checks.check(config | {"retrain": "yes"}, SCHEMA)


MISTAKES = {
    "experiments: {exp1: {lms: [Pythia, ALiBi-mixx-TI]}}": (
        "experiments → exp1 → lms: no lm is called 'ALiBi-mixx-TI'; did you mean 'ALiBi-mix-TI'?"
    ),
    "biases: {ALiBi-mix: {slopes: -4}}": "biases → ALiBi-mix → slopes: -4 fits none",
    "biases: {dVM: {alpha: 0.3}}": "biases → dVM: unknown key 'alpha'",
    "lm_groups: {mine: {weights: [Pythia], biases: [dVMM]}}": "no bias is called 'dVMM'; did you mean 'dVM'?",
    "lm_groups: {mine: {weights: [Pythia]}}": "lm_groups → mine: 'biases' is missing",
    "biases: {mine: {form: liner}}": "biases → mine → form: none is called 'liner'; did you mean 'linear'?",
    "biases: {mine: {form: window}}": "biases → mine: 'width' is missing",
    "architectures: {pythia-2-4-256: {heads: -4}}": (
        "architectures → pythia-2-4-256 → heads: -4 is less than the minimum of 1 (number of attention heads per layer)"
    ),
    "biasses: {}": "top level: unknown key 'biasses'; did you mean 'biases'?",
    "designs: {item_amplitudes: {response: log}}": (
        "designs → item_amplitudes → response: amplitudes can be negative and have no logarithm; use `response: raw`"
    ),
    "scale: papper": "scale: no scale is called 'papper'; did you mean 'paper'?",
    "run: [exp22]": "run: no experiment is called 'exp22'; did you mean 'exp2'?",
    "scales: {paper: {corpus: piles}}": "scales → paper → corpus: no corpus is called 'piles'; did you mean 'pile'?",
    "lms: {X: {bias: ALiBi-mix, applied: inference}}": "lms → X: `applied: inference` and `weights: <name of the unbiased LM>` go together",
    "lms: {X: {bias: none, allow_pickle: true}}": "lms → X: `allow_pickle` requires `checkpoint`",
    "lms: {X: {bias: dVM, applied: inference, weights: dVM-TI}}": (
        "lms → X → weights: 'dVM-TI' is itself a biased LM"
    ),
    "lms: {X: {bias: dVM, applied: inference, base: Pythia}}": (
        "lms → X → base: this key is now called `weights`: the LM whose weights are used"
    ),
    "scales: {paper: {measures: [entropi]}}": (
        "scales → paper → measures: no measure is called 'entropi'; did you mean 'entropy'?"
    ),
    "lms: {dVM-TI: {measures: [renyi_two]}}": "lms → dVM-TI → measures: no measure is called 'renyi_two'",
    "lms: {dVM-TI: {context: [-1]}}": "lms → dVM-TI → context → 0: -1 is less than the minimum of 0",
    "scales: {paper: {measures: [pmi], bos: false}}": (
        "lms → dVM-I: pmi and a context of 0 words need a begin token (`bos: true`)"
    ),
    "lm_groups: {all-ALiBi: [Pythia, ALiBi-5-I]}": (
        "lm_groups → all-ALiBi: no lm is called 'ALiBi-5-I'; did you mean 'ALiBi-4-I'?"
    ),
    "lm_groups: {Pythia: [dVM-I]}": "lm_groups → Pythia: an LM has the same name",
    "lms: {'a b': {bias: none}}": "'a b' does not match",
    "experiments: {exp1: {responses: {spr: [ucl_spr.SPRR]}}}": (
        "experiments → exp1 → responses → spr: no measure 'ucl_spr.SPRR'; did you mean 'ucl_spr.SPR'?"
    ),
    "experiments: {exp1: {responses: {sprr: [ucl_spr.SPR]}}}": "no design is called 'sprr'; did you mean 'spr'?",
    "experiments: {exp1: {compare: [[Pythia, dVM-TI]]}}": "'dVM-TI' is not among the experiment's `lms`",
    "datasets: {ucl_spr: {parser: ucl_sprr}}": "datasets → ucl_spr → parser: none is called 'ucl_sprr'",
    "datasets: {ucl_spr: {measures: {SPR: {filters: [edge]}}}}": (
        "datasets → ucl_spr → measures → SPR: no filter is called 'edge'; did you mean 'edges'?"
    ),
    "datasets: {ucl_spr: {words: {stimuli: {local: mine/none.txt}}}}": (
        "datasets → ucl_spr → words → stimuli → local: no file 'mine/none.txt'"
    ),
    "targets: {figure2: {experiment: exp22}}": (
        "targets → figure2 → experiment: no experiment is called 'exp22'; did you mean 'exp2'?"
    ),
    "targets: {figure2: {of: [figure_slope]}}": (
        "targets → figure2 → of → 0: 'figure_slope' is not one of"
    ),
    "targets: {fig2: {label: x, experiment: exp1, of: [figure_slopes]}}": "'fig2' does not match",
    "run: [exp1]\nexperiments: {exp3: {lms: [Pythia, ALiBi-5-TI]}}": (
        "experiments → exp3 → lms: no lm is called 'ALiBi-5-TI'"
    ),
    "biases: {temperature: {temperature: 0}}": "biases → temperature → temperature: 0 is less than",
    "experiments: {exp4: {dependencies: natural_storys}}": (
        "experiments → exp4 → dependencies: no table of dependencies is called 'natural_storys'; "
        "did you mean 'natural_stories'?"
    ),
    "experiments: {exp4: {attention: ucl}}": "experiments → exp4 → attention: no dataset is called",
    "experiments: {mine: {title: t, lms: [Pythia], baseline: Pythia}}": (
        "fits none of what it may be: it needs one of 'abusive_words', 'attention', "
    ),
    "dependencies: {natural_stories: {dataset: mine}}": (
        "dependencies → natural_stories → dataset: no dataset is called 'mine'"
    ),
    "dependencies: {natural_stories: {trees: {local: mine/none.txt}}}": (
        "dependencies → natural_stories → trees → local: no file 'mine/none.txt'"
    ),
    "experiments: {mine: {title: t, lms: [Pythia], baseline: Pythia, minimal_pairs: blimpp}}": (
        "experiments → mine → minimal_pairs: no table of minimal pairs is called 'blimpp'; "
        "did you mean 'blimp'?"
    ),
    "experiments: {sensitivity: {minimal_pairs: blimp}}": "`sensitivity` cannot be combined with `minimal_pairs`; use two experiments",
    "corpora: {wikitext-103: {exclude: [trian]}}": (
        "wikitext103.tsv has no part to exclude called 'trian'; did you mean 'train'?"
    ),
    "corpora: {openwebtext: {sources: data/none.tsv}}": (
        "data/none.tsv cannot be read: No such file or directory"
    ),
    "minimal_pairs: {blimp: {sources: data/none.tsv}}": (
        "data/none.tsv cannot be read: No such file or directory"
    ),
    "minimal_pairs: {mine: {label: x, table: {local: mine/none.tsv}}}": (
        "minimal_pairs → mine → table → local: no file 'mine/none.tsv'"
    ),
    "minimal_pairs: {mine: {label: x, table: {supplied: from me}}}": (
        "minimal_pairs → mine → table: 'url', 'hub', 'local' or 'stand_in' must name the file"
    ),
    "minimal_pairs: {mine: {label: x}}": "minimal_pairs → mine: {'label': 'x'} fits none",
    "experiments: {working_memory: {probe: ewtt}}": (
        "experiments → working_memory → probe: no treebank is called 'ewtt'; did you mean 'ewt'?"
    ),
    "experiments: {working_memory: {attention_maps: {sentence: pot}}}": (
        "experiments → working_memory → attention_maps → sentence: no sentence is called 'pot'; known: kettle"
    ),
    "experiments: {working_memory: {attention_maps: {lms: [GPT-2, Pythia]}}}": (
        "experiments → working_memory → attention_maps → lms: not among the experiment's 'Pythia'"
    ),
    "sentences: {empty: ' '}": "sentences → empty: ' ' does not match",
    "treebanks: {ewt: {test: {local: mine/none.conllu}}}": (
        "treebanks → ewt → test → local: no file 'mine/none.conllu'"
    ),
    "probe: {rank: 0}": "probe → rank: 0 is less than the minimum of 1 (number of rows of the matrix B",
    "recipes: {pythia: {steps: many}}": "recipes → pythia → steps: 'many' is not of type 'integer'",
    "designs: {spr: {engine: lme5}}": "designs → spr → engine: 'lme5' is not one of",
    "searches: {dVM: {form: expnential}}": (
        "searches → dVM → form: none is called 'expnential'; did you mean 'exponential'?"
    ),
    "searches: {dVM: {parameters: {deca: [1, 2]}}}": (
        "searches → dVM → parameters: the form 'exponential' has no parameter 'deca'; "
        "did you mean 'decay'?"
    ),
    "searches: {dVM: {parameters: {weight: [0, 1.5]}}}": (
        "searches → dVM → parameters → weight: 1.5 is greater than the maximum of 1 (α"
    ),
    "searches: {dVM: {parameters: {decay: [9, 2]}}}": "decay: the bounds [9, 2] are not [low, high]",
    "searches: {dVM: {parameters: {decay: 1, weight: 1}}}": "parameters: nothing is searched; give",
    "searches: {x: {lm: gpt2, form: primacy_recency, parameters: {parts: [0, 1]}, "
    "responses: {item_means: [items_provo.FP]}, trials: 1, seed: 1}}": (
        "searches → x → parameters → parts: 0 is not one of ['both', 'primacy', 'recency']"
    ),
    "searches: {x: {lm: gpt2, form: window, parameters: {width: [1.5, 3]}, "
    "responses: {item_means: [items_provo.FP]}, trials: 1, seed: 1}}": (
        "searches → x → parameters → width: 1.5 is not of type 'integer'"
    ),
    "searches: {dVM: {lm: gpt2-dVM}}": "searches → dVM → lm: 'gpt2-dVM' has a bias already",
    "searches: {dVM: {mark: [ALiBi-mix]}}": "mark: 'ALiBi-mix' is of another form, 'linear'",
    "searches: {dVM: {responses: {spr: [ucl_spr.SPR]}}}": (
        "searches → dVM → responses → spr: a search fits least squares at every trial"
    ),
    "searches: {dVM: {responses: {item_means: [provo.FPP]}}}": (
        "searches → dVM → responses → item_means: no measure 'provo.FPP'; did you mean 'provo.FP'?"
    ),
    "experiments: {devarda_marelli: {search: dVMM}}": (
        "experiments → devarda_marelli → search: no search is called 'dVMM'; did you mean 'dVM'?"
    ),
    "experiments: {devarda_marelli: {compare: [[gpt2, gpt2-dVM]]}}": (
        "experiments → devarda_marelli → compare: 'items_brown' has no partition other than the fitted one"
    ),
    "experiments: {devarda_marelli: {responses: {item_means: [ucl_spr.SPR]}}}": (
        "experiments → devarda_marelli → responses: all of 'items_brown' is fitted (`partitioned: "
        "false`), 'ucl_spr' is not"
    ),
    "{datasets: {ucl_eye_tracking: {measures: {skip: {of: FP, event: time_ms == 0, filters: []}}}}, "
    "experiments: {exp1: {responses: {spr: [ucl_eye_tracking.skip]}}}}": (
        "exp1 → responses → spr: 'ucl_eye_tracking.skip' is an event, and the design's family gaussian"
    ),
    "datasets: {ucl_eye_tracking: {measures: {hop: {of: FP, filters: []}}}}": (
        "datasets → ucl_eye_tracking → measures → hop: `of: <measure>` and `event: <condition>` go"
    ),
    "datasets: {ucl_eye_tracking: {measures: {skip: {of: FPP, event: a, filters: []}}}}": (
        "measures → skip → of: no measure is called 'FPP'; did you mean 'FP'?"
    ),
    "smallest_effect: {relative: -0.1}": (
        "smallest_effect → relative: -0.1 is less than the minimum of 0 (share of the baseline LM's"
    ),
    "smallest_effect: {nats_per_1000: 0.5}": (
        "smallest_effect: 'nats_per_1000' and 'relative' exclude each other; give one"
    ),
    "experiments: {exp1: {smallest_effect: {relativ: 0.1}}}": (
        "experiments → exp1 → smallest_effect: unknown key 'relativ'; did you mean 'relative'?"
    ),
}


@pytest.mark.merge
@pytest.mark.parametrize("overlay", MISTAKES)
def test_mistakes_are_named(overlay):
    config = merged(load(), yaml.safe_load(overlay))
    with pytest.raises(InputError, match=re.escape(MISTAKES[overlay])):
        config_checks.check(config, SCHEMA)


def test_all_mistakes_are_listed_at_once():
    config = merged(load(), {"scale": "x", "run": ["y"]})
    with pytest.raises(InputError, match=r"(?s)run: no experiment.*scale: no scale"):
        config_checks.check(config, SCHEMA)


def undescribed(schema, where):
    """List the keys whose meaning the schema does not tell."""
    lacking = []
    for key, value in schema.get("properties", {}).items():
        if "description" not in value and "$ref" not in value:
            lacking.append(f"{where}.{key}")
        lacking += undescribed(value, f"{where}.{key}")
    return lacking


def test_every_key_of_the_schema_is_described():
    schema = yaml.safe_load(SCHEMA.read_text())
    lacking = undescribed(schema, "config")
    for name, table in schema["$defs"].items():
        lacking += undescribed(table, name)
    assert lacking == []


def test_slope_is_that_of_all_heads():
    biases = load()["biases"]
    assert encoding.slope(biases["ALiBi-1_256"]) == 1 / 256
    for name in ("ALiBi-mix", "ALiBi-learned", "none", "dVM"):
        assert encoding.slope(biases[name]) is None


def test_the_temperature_control_is_that_of_dvm():
    biases = load()["biases"]
    for name in ("dVM", "identity"):
        assert biases["temperature"]["temperature"] == 1 / (1 - biases[name]["weight"])


def test_a_language_model_is_resolved():
    lm = configuration.language_model(load(), "ALiBi-1_4-TI")
    assert lm["label"] == "ALiBi-1/4-TI" and lm["applied"] == "training"
    assert lm["bias"] == {"form": "linear", "slopes": 0.25}
    assert (lm["architecture"], lm["corpus"], lm["recipe"]) == ("pythia-2-4-256", "pile", "pythia")


def test_an_inference_only_lm_follows_the_lm_whose_weights_it_has():
    config = merged(load(), {"lms": {"Pythia": {"seed": 99, "bos": False}}})
    lm = configuration.language_model(config, "ALiBi-mix-I")
    assert (lm["seed"], lm["bos"], lm["weights"]) == (99, False, "Pythia")
    assert lm["bias"]["form"] == "linear" and lm["applied"] == "inference"


def test_baseline_has_no_bias():
    lm = configuration.language_model(load(), "Pythia")
    assert lm["applied"] == "none" and lm["bias"] == {"form": "none"}


def test_an_lm_is_unbiased_by_its_form_whatever_the_config_calls_it():
    config = load()
    config["biases"]["plain"] = {"form": "none"}
    config["lms"] |= {
        "a": {"bias": "plain"},
        "b": {},
        "c": {"bias": "dVM", "applied": "inference", "weights": "a"},
    }
    assert [configuration.language_model(config, lm)["applied"] for lm in "abc"] == [
        *("none", "none", "inference")
    ]
    config_checks.check(config, SCHEMA)


def test_training_words_are_the_corpus_own():
    config = load()
    config["corpora"]["x"] = config["corpora"].pop("babylm-100M")
    config["lms"]["y"] = config["lms"].pop("GPT-2-100M") | {"corpus": "x"}
    words = [configuration.training_words(config, lm) for lm in ("GPT-2", "y", "Pythia", "gpt2")]
    assert words == ["10M", "100M", "", ""]


def test_missing_files(tmp_path):
    dataset = {
        "words": {"a": {"url": "https://x.org/a"}},
        "responses": {"b": {"local": str(tmp_path / "b.zip"), "supplied": "B, from its authors"}},
    }
    assert configuration.missing_files(dataset, []) == [
        f"{tmp_path / 'b.zip'}: B, from its authors"
    ]
    (tmp_path / "b.zip").write_text("")
    assert configuration.missing_files(dataset, []) == []
    dataset["responses"]["b"] = {"stand_in": {"path": "c/d.tsv"}, "supplied": "D"}
    assert configuration.missing_files(dataset, [str(tmp_path)]) == ["c/d.tsv: D"]
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "d.tsv.gz").write_text("")
    assert configuration.missing_files(dataset, [str(tmp_path)]) == []
    treebank = {split: {"url": "https://x.org/a"} for split in ("train", "dev")}
    treebank |= {"label": "Mine", "test": {"local": "none.conllu", "supplied": "mine, from me"}}
    roles = registry.data()["probe"].roles
    assert configuration.missing_data(treebank, roles, []) == ["none.conllu: mine, from me"]


def test_measures_are_the_scale_s_unless_the_lm_says_otherwise():
    config = load()
    assert not {"measures", "context"} & configuration.language_model(config, "Pythia").keys()
    config["scales"]["paper"] |= {"measures": ["entropy"], "context": [1, 2]}
    config["lms"]["Pythia"]["measures"] = []
    five = {"ngram": {"corpus": "openwebtext"}, "measures": ["rank"]}
    with pytest.raises(
        InputError,
        match="lms → five: `measures` cannot be combined with `ngram`: an n-gram model is not a network",
    ):
        config_checks.check(merged(load(), {"lms": {"five": five}}), SCHEMA)
    config_checks.check(config, SCHEMA)
    for name, measures in (("Pythia", []), ("dVM-I", []), ("dVM-TI", ["entropy"])):
        lm = configuration.language_model(config, name)
        assert (lm["measures"], lm["context"]) == (measures, [1, 2]), name


@pytest.mark.merge
def test_a_run_starts_without_what_jobs_alone_need(tmp_path):
    """A config is read, checked and made a study of where importing pandas and the like fails."""
    for name in ("matplotlib", "pandas", "pyarrow", "scipy", "torch", "transformers"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(__name__ + ' was imported')")
    text = (ROOT / "Snakefile").read_text()
    imported = re.findall(r"^from recency\.workflow\.\w+ import .+$", text, re.MULTILINE)
    assert len(imported) > 2
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
{chr(10).join(imported)}
from pathlib import Path
from recency.workflow.config import checks, loading
from recency.workflow.plan.study import Study
root = Path({str(ROOT)!r})
config = loading.load(root, "config/demo.yaml")
checks.check(config, root / "config.schema.yaml")
study = Study(config, root, [], True)
assert products.of_run(study) and batches.responses(study)
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
