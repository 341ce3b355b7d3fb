"""LMs, unigram models and datasets of different languages are refused when the config is read."""

import pytest
import yaml

from project import SCHEMA, load, merged
from recency import config as configuration
from recency import grids, languages
from recency.errors import InputError
from recency.workflow.config import checks

GERMAN = """
corpora: {deutsch: {files: [README.md], reader: plain, language: de}}
tokenizers: {deutsch: {corpus: deutsch, vocabulary: 300}}
lms:
  de: &de {corpus: deutsch, tokenizer: deutsch}
  de-mix: {<<: *de, bias: ALiBi-mix}
  both: {label: both, languages: {en: Pythia, de: de}}
  both-mix: {label: both mix, languages: {en: ALiBi-mix-TI, de: de-mix}}
unigrams:
  deutsch: {corpus: deutsch}
  both-unigrams: {languages: {en: openwebtext, de: deutsch}}
"""
POOLED = """
scales: {paper: {unigram: both-unigrams}}
experiments:
  two:
    title: Two languages
    lms: [both, both-mix]
    baseline: both
    responses: {eye_tracking: [provo.FP, potec.FP]}
    pooled: {}
"""
SPANISH = "datasets: {provo: {language: es, accept: [language]}}"
PAPER, GERMANS, TWO = "", "german", "pooled"
BEFORE = {PAPER: [], GERMANS: [GERMAN], TWO: [GERMAN, POOLED]}
WRONG = [
    (PAPER, "experiments: {exp1: {responses: {eye_tracking: [potec.FP]}}}",
     ("experiments → exp1 → responses: 'potec' is of de, and the LM 'Pythia' (and 2 more) of en; name an "
     "LM with `languages: {de: …}`, or of a multilingual one state lms → Pythia → language")),
    (GERMANS, "experiments: {two: {title: t, lms: [de], baseline: de, responses: {eye_tracking: [potec.FP]}}}",
     "two → responses → eye_tracking: 'potec' is of de, and the unigram model 'openwebtext' of en"),
    (GERMANS, "experiments: {exp1: {lms: [de], baseline: de}}",
     "exp1 → responses: 'brown' is of en, and the LM 'de' of de"),
    (PAPER, "lms: {both: {languages: {en: Pythia, de: Pythia}}}",
     "lms → both → languages → de: 'Pythia' is of en"),
    (PAPER, "lms: {both: {languages: {en: Pythia, de: nobody}}}", "languages → de: no lm is called 'nobody'"),
    (PAPER, "lms: {both: {languages: {en: both}}}", "languages → en: 'both' has `languages` itself"),
    (PAPER, "lms: {both: {languages: {german: Pythia}}}", "is not an ISO 639 language code such as de or zh"),
    (PAPER, "lms: {both: {languages: {en: Pythia}, bias: dVM}}", "`bias` cannot be combined with `languages`; set it in the LMs that `languages` names"),
    (GERMANS, "lms: {mixed: {languages: {en: ALiBi-mix-TI, de: de}}}",
     "lms → mixed → languages: 'ALiBi-mix-TI' and 'de' have different biases"),
    (PAPER, "unigrams: {u: {languages: {de: openwebtext}}}",
     "unigrams → u → languages → de: 'openwebtext' is of en"),
    (PAPER, "unigrams: {u: {wordfreq: de, order: 2}}", "`order` cannot be combined with `wordfreq`"),
    (PAPER, "unigrams: {openwebtext: {language: de}}", "`language` requires `counts`; a model estimated from a corpus takes the language of the corpus"),
    (PAPER, "datasets: {potec: {tagger: ewt}}",
     "datasets → potec → tagger: 'ewt' is of en, and the dataset of de; name a treebank of its language"),
    (PAPER, "datasets: {potec: {language: german}}", "datasets → potec → language:"),
    (TWO, "experiments: {two: {pooled: {lms: [both]}}}",
     "two → pooled → lms: 'both' is the baseline, which the others are compared with"),
    (TWO, "experiments: {two: {pooled: {lms: [de]}}}", "two → pooled → lms: 'de' is not among"),
    (PAPER, "experiments: {new: {title: t, lms: [Pythia, dVM-I], baseline: Pythia, minimal_pairs: blimp, pooled: {}}}",
     "new → pooled: the experiment has no `responses`"),
    (TWO, SPANISH, "two → responses: 'provo' is of es, and the LM 'both' (and 1 more) of de and en"),
    (TWO, SPANISH, "two → responses → eye_tracking: 'provo' is of es, and the unigram model 'both-unigrams' of de"),
    (GERMANS, "experiments: {exp1: {word_length: {dataset: potec}}}",
     "exp1 → word_length: 'potec' is of de, and the LM 'Pythia' (and 2 more) of en"),
]  # fmt: skip


def config_of(before, overlay="{}"):
    """Return the complete config with overlays over it."""
    config = load()
    for text in (*BEFORE[before], overlay):
        config = merged(config, yaml.safe_load(text))
    return config


@pytest.mark.parametrize("before, overlay, reason", WRONG, ids=[case[2][:60] for case in WRONG])
def test_languages_that_do_not_go_together_are_refused(before, overlay, reason):
    with pytest.raises(InputError) as error:
        checks.check(config_of(before, overlay), SCHEMA)
    lines = str(error.value).splitlines()[1:]
    assert any(reason in line for line in lines), lines
    assert all(len(line) < 300 for line in lines)


@pytest.mark.parametrize(
    "overlay",
    [
        "{}",
        "{lms: {both: {accept: [surprisal]}}}",
        "lms: {Pythia: {language: [en, de]}}\nexperiments: {two: {lms: [Pythia, both-mix], baseline: Pythia}}",
        "lms: {Pythia: {language: any}}\nexperiments: {two: {lms: [Pythia, both-mix], baseline: Pythia}}",
        "experiments: {two: {lms: [gpt2, both-mix], baseline: gpt2}}",  # a checkpoint: unknown
        "datasets: {potec: {accept: [language]}}\nexperiments: {two: {lms: [Pythia, both-mix], baseline: Pythia}}",
    ],
)
def test_languages_that_go_together_pass(overlay):
    checks.check(config_of(TWO, overlay), SCHEMA)


def test_an_lm_for_each_language_scores_a_dataset_by_that_of_its_language():
    config = config_of(TWO)
    assert languages.member(config, "lms", "both", "potec") == "de"
    assert languages.member(config, "lms", "both", "provo") == "Pythia"
    assert languages.member(config, "unigrams", "both-unigrams", "potec") == "deutsch"
    assert languages.member(config, "lms", "Pythia", "potec") == "Pythia"
    assert languages.members(config) == {"Pythia", "de", "ALiBi-mix-TI", "de-mix"}


def test_it_is_described_by_the_bias_of_its_lms():
    config = config_of(TWO)
    settings = configuration.language_model(config, "both-mix")
    described = configuration.described("both-mix", settings)
    assert described["label"] == "both mix" and described["applied"] == "training"
    assert described["bias"]["form"] == "linear"
    assert described["network"]["languages"] == {"en": "ALiBi-mix-TI", "de": "de-mix"}
    assert configuration.kind_of(config["lms"]["both"]) == "by_language"
    assert not configuration.is_trained(config["lms"]["both"])


def test_seeds_are_those_of_its_lms():
    seed = configuration.language_model(config_of(TWO), "Pythia")["seed"]
    config = config_of(TWO, f"experiments: {{two: {{seeds: [{seed}, {seed + 1}]}}}}")
    lms = grids.expand(config)["two"]["lms"]
    other = f"seed={seed + 1}"
    assert list(lms) == ["both", f"both@{other}", "both-mix", f"both-mix@{other}"]
    assert grids.baselines(lms, "both")[f"both-mix@{other}"] == f"both@{other}"
    members = config["lms"][f"both@{other}"]["languages"]
    assert members == {"en": f"Pythia@{other}", "de": f"de@{other}"}


@pytest.mark.parametrize(
    "lm, codes",
    [
        ("Pythia", {"en"}),
        ("dVM-I", {"en"}),
        ("de", {"de"}),
        ("both", {"en", "de"}),
        ("gpt2", None),
        ("ngrams", {"de"}),
        ("mix", {"de"}),
        ("of-file", None),
    ],
)
def test_an_lm_has_the_language_of_its_text(lm, codes):
    more = """
lms:
  ngrams: {ngram: {corpus: deutsch}}
  mix: {interpolate: [de, ngrams], shares: [0.5, 0.5]}
  of-file: {ngram: {file: {local: README.md}}}
"""
    assert languages.of_lm(config_of(GERMANS, more), lm) == (codes and frozenset(codes))
