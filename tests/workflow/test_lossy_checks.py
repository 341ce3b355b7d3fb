"""Faults of lossy contexts are met when the config is read, a line each; what jobs get of them."""

import pytest

from project import SCHEMA, assert_is_refused, load, merged
from recency import config as configuration
from recency.workflow.config import checks
from recency.workflow.plan.study import Study

L = "lms: {Lossy: {weights: Pythia, lossy: "
R = "recipes: {cores: {lossy: "
HALF = "erasure: {form: exponential, half_life: 3}"
BUDGET = "erasure: {form: resource_rational, budget: "
E = "lms: {Lossy: {weights: Pythia, lossy: {" + HALF + "}}}\nexperiments: {mine: {title: M, "
E += "lms: [Pythia, Lossy], baseline: Pythia, "
S = "lms: {Seen: {weights: Pythia, "
X = "experiments: {mine: {title: M, lms: [Pythia, Seen], baseline: Pythia, "
FAULTS = {
    L + "{erasure: {form: exponentail, half_life: 3}}}}": "lms → Lossy → lossy → erasure → form: none is called 'exponentail'; did you mean 'exponential'?",
    L + "{erasure: {form: exponential}}}}": "lossy → erasure: give exactly one of `half_life` and `rate`",
    L + "{erasure: {form: exponential, rate: 1, first: 1.2}}}}": "lossy → erasure → first: 1.2 is greater than the maximum of 1",
    L + "{erasure: {form: power_law, exponent: 0}}}}": "lossy → erasure → exponent: 0 is less than or equal to the minimum of 0",
    L + "{erasure: {form: truncation, words: -1}}}}": "lossy → erasure → words: -1 is less than the minimum of 0",
    L + "{erasure: {form: truncation, word: 1}}}}": "lossy → erasure: unknown key 'word'; did you mean 'words'?",
    L + "{" + HALF + ", samples: 4}}}": "lms → Lossy → lossy → samples: 4 is less than the minimum of 8",
    L + "{" + HALF + ", tolerance: 0}}}": "lms → Lossy → lossy → tolerance",
    L + "{" + HALF + ", sample: 64}}}": "lms → Lossy → lossy: unknown key 'sample'; did you mean 'samples'?",
    L + "{" + HALF + ", erased: masked}}}": "lossy → erased: a causal LM has no mask",
    L + "{" + HALF + ", unigram: open}}}": "lossy → unigram: no unigram is called 'open'",
    L + "{" + HALF + ", unigram: openwebtext}}}": "the form 'exponential' does not use frequencies; remove it",
    L + "{" + HALF + "}, bos: false}}": "lossy: a word whose context is erased needs a begin token before it",
    L + "{" + HALF + "}, measures: [entropy]}}": "lossy: its `measures` are defined for the whole context; write `measures: []`",
    L + "{" + HALF + "}, context: [2]}}": "lossy: its `context` are defined for the whole context; write `context: []`",
    L + "{" + BUDGET + "{share: 1}}}}}": "lossy → erasure → budget",
    L + "{" + BUDGET + "{share: 0.5}, features: [length]}}}}": "lossy → erasure → features",
    L + "{" + BUDGET + "{words: 30}}}}}": "budget: 30 retained words exceed contexts of 20 words (`reach`)",
    L + "{reach: 4, " + BUDGET + "{words: 4}}}}}": "budget: 4 retained words exceed contexts of 4 words",
    "lms: {Lossy: {lossy: {}}}": "lms → Lossy → lossy: 'erasure' is missing",
    "lms: {Lossy: {ngram: {corpus: openwebtext, order: 2}, lossy: {" + HALF + "}}}": "`lossy` cannot be combined with `ngram`: an n-gram model is not a network",
    "lms: {Lossy: {weights: Pythia}}": "`applied: inference` and `weights: <name of the unbiased LM>` go together",
    R + "{" + HALF + ", segment: 7}}}": "recipes → cores → lossy → segment: 7 is not a divisor of `sequence_length`",
    R + "{erasure: {form: position, slope: 1, intercept: 0}}}}": "recipes → cores → lossy → erasure: the form 'position' uses the position of words",
    R + "{" + BUDGET + "{share: 0.5}, features: [distance]}}}}": "recipes → cores → lossy → erasure: a budget requires a dataset",
    R + "{" + HALF + "}, order: streams}}": "recipes → cores → lossy: lossy contexts require a causal LM with attention: `order: sequential` or `shuffled`, and `objective: causal`; remove it",
    R + "{" + HALF + "}, objective: masked}}": "recipes → cores → lossy: lossy contexts require a causal LM with attention: `order: sequential` or `shuffled`, and `objective: causal`; remove it",
    R + "{" + HALF + "}}}\nbiases: {new: {form: primacy_recency}}\nlms: {New: {bias: new}}": "lms → New → bias: the form 'primacy_recency' depends on the length of a row",
    E + "minimal_pairs: blimp}}": "minimal_pairs: 'Lossy' has lossy contexts, but this evaluation uses whole ones",
    E + "attention: ucl_spr}}": "experiments → mine → attention: 'Lossy' has lossy contexts",
    S + "reader: {skipped: skip}}}": "lms → Seen → reader → skipped: 'skip' is",
    S + "reader: {skipped: masked}}}": "lms → Seen → reader → skipped: a causal LM has no mask",
    S + "reader: {}, bos: false}}": "lms → Seen → reader: a reader's first word needs a begin token",
    S + "reader: {}, measures: [entropy]}}": "lms → Seen → reader: its `measures` are defined for the whole",
    S + "reader: {}}}\n" + X + "responses: {spr: [ucl_spr.SPR]}}}": "experiments → mine: 'Seen' has contexts of readers, and the dataset 'ucl_spr' has no scanpaths",
    S + "reader: {}}}\n" + X + "minimal_pairs: blimp}}": "mine → minimal_pairs: 'Seen' has a value per reader and word",
    S + "reader: {}}, Mix: {interpolate: [Pythia, Seen]}}": "lms → Mix → interpolate: 'Seen' has contexts of readers",
    "searches: {open: {lm: Lossy}}\n" + E + "responses: {spr: [ucl_spr.SPR]}}}": "searches → open → lm: 'Lossy' has lossy contexts",
}  # fmt: skip


@pytest.mark.merge
@pytest.mark.parametrize("overlay", FAULTS)
def test_a_fault_is_met_when_the_config_is_read(overlay):
    assert_is_refused(overlay, FAULTS[overlay], "config/open.yaml")


def study_of(lossy, recipe=None):
    overlay = {"lms": {"Lossy": {"weights": "Pythia", "lossy": lossy}}}
    if recipe:
        overlay["recipes"] = {"cores": {"lossy": recipe}}
    config = merged(load("config/open.yaml"), overlay)
    checks.check(config, SCHEMA)
    return Study(config, SCHEMA.parent)


def test_a_job_gets_its_erasure_its_seed_and_its_frequencies():
    study = study_of({"erasure": {"form": "frequency", "slope": -1, "intercept": 4}})
    opened = study.opening("Lossy")
    assert opened["lossy"]["seed"] == study.scale["seed"] and "unigram" not in opened["lossy"]
    unigram = study.scale["unigram"]
    expected = [f"<results>/surprisal/{unigram}/provo.parquet"]
    assert study.erasure_frequencies("Lossy", ["provo"]) == expected
    assert study.erasure_frequencies("Pythia", ["provo"]) == []
    assert "lossy" not in study.opening("Pythia")
    by_distance = {"form": "resource_rational", "features": ["distance"], "budget": {"share": 0.5}}
    assert study_of({"erasure": by_distance}).erasure_frequencies("Lossy", ["provo"]) == []
    assert study_of({"erasure": by_distance | {"features": ["distance", "frequency"]}}
                    ).erasure_frequencies("Lossy", ["provo"]) == expected  # fmt: skip


def test_a_job_depends_on_the_forms_that_it_chooses():
    class Wildcards:
        lm = "Lossy"

    half = {"erasure": {"form": "exponential", "half_life": 3}}
    study = study_of(half, recipe={"erasure": {"form": "power_law", "exponent": 1}})
    chosen = configuration.chosen(study.config, Wildcards(), SCHEMA.parent)
    assert chosen[configuration.ERASURES] == ["exponential", "power_law"]


def test_lossy_null_reads_the_weights_of_a_lossy_lm_plainly():
    overlay = {
        "lms": {
            "Lossy": {"lossy": {"erasure": {"form": "truncation", "words": 2}}},
            "Plain": {"weights": "Lossy", "lossy": None},
            "Same": {"weights": "Lossy", "scoring": {"precision": "fp32"}},
        }
    }
    config = merged(load("config/open.yaml"), overlay)
    checks.check(config, SCHEMA)
    study = Study(config, SCHEMA.parent)
    assert "lossy" not in study.opening("Plain")
    assert study.opening("Same")["lossy"] == study.opening("Lossy")["lossy"]
