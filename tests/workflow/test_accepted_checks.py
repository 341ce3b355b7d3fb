"""Checks that a config overrides by name: listed in summary, verdict and report."""

import pytest
from snakemake.iocontainers import Wildcards

from loaded import study_of
from project import ROOT
from recency import overrides
from recency.errors import InputError
from recency.workflow.config import checks, loading, strict_yaml
from recency.workflow.plan import batches, products

LINE = (
    "Corpus 'Natural Stories': times may follow a neighbouring word's length (accepted: shifted)."
)


def study(*overlays, **changes):
    """Return the study of config.yaml, overlays and changes (as YAML by table)."""
    config = loading.load(ROOT, *overlays)
    return study_of(loading.merge(config, changes))


def listed(study):
    return products.summary_settings(study)["notes"]


def test_the_paper_accepts_the_alignment_that_it_used():
    paper = study()
    assert paper.offset("natural_stories") == 0
    assert paper.accepted("natural_stories") == ["shifted"]
    assert listed(paper) == [LINE]
    other = study(run=["devarda_marelli"])
    assert listed(other) == [
        "Not trained in this study: gpt2.",
        LINE.replace("Stories'", "Stories (items)'"),
    ]
    words_alone = study(run=["exp4"])
    assert listed(words_alone) == []


def test_the_open_study_has_the_corrected_times():
    of_open = study("config/open.yaml", run=["open", "items", "part_of_speech"])
    for name in ("natural_stories", "natural_stories_pos", "items_natural_stories"):
        assert of_open.offset(name) == 1
        assert of_open.accepted(name) == []
    assert not any("accepted" in note for note in listed(of_open))


def test_parts_of_speech_have_the_corrected_times_in_every_study():
    assert study().offset("natural_stories_pos") == 1
    assert study().accepted("natural_stories_pos") == []


def test_a_parser_that_moves_no_times_has_no_offset():
    assert study().offset("ucl_spr") is None


def test_the_scale_is_told_only_of_lms_that_are_trained():
    entry = {"title": "Mine", "baseline": "small", "responses": {"spr": ["simulated_spr.SPR"]}}
    small = {"small": {"checkpoint": "small-english"}}
    mine = {"mine": entry | {"lms": ["small"]}, "both": entry | {"lms": ["small", "Pythia"]}}
    scale = study("config/demo.yaml").scale
    for run, told in (("mine", False), ("both", True)):
        one = study("config/demo.yaml", lms=small, experiments=mine, run=[run])
        settings = products.summary_settings(one)
        assert (scale["note"] in settings["notes"]) == told
        assert (scale["label"] in settings["study"]) == told
        assert ("Scale" in dict(products.settings(one)["made"])) == told
        assert "Not trained in this study: small." in settings["notes"]
    pretrained = study("config/pretrained.yaml")
    assert listed(pretrained) == ["Not trained in this study: SmolLM2-135M."]


def of_demo(**changes):
    return study("config/demo.yaml", **changes)


def test_every_override_is_listed_of_the_run_and_of_its_verdict():
    accept = sorted(overrides.OF_DATASET)
    changes = {
        "datasets": {"simulated_spr": {"accept": accept}},
        "lms": {"ALiBi-1-TI": {"label": "ALiBi", "accept": ["surprisal"]}},
    }
    accepting = of_demo(**changes)
    expected = [
        f"Corpus 'Simulated': {overrides.OF_DATASET[name]} (accepted: {name})." for name in accept
    ]
    expected += [f"LM 'ALiBi': {overrides.OF_LM['surprisal']} (accepted: surprisal)."]
    assert [note for note in listed(accepting) if "accepted" in note] == sorted(expected)
    wildcards = Wildcards(fromdict={"experiment": "simulated"})
    assert products.verdict_settings(accepting)["accepted"](wildcards) == sorted(expected)
    assert products.verdict_settings(of_demo())["accepted"](wildcards) == []
    assert accepting.accepted("simulated_spr", "ALiBi-1-TI") == [*accept, "surprisal"]
    assert accepting.accepted("simulated_spr", "Pythia") == accept
    assert accepting.accepted("simulated_eye_tracking", "Pythia") == []


def test_a_batch_passes_what_each_of_its_datasets_accepts():
    accepting = of_demo(datasets={"simulated_spr": {"accept": ["language"]}})
    wildcards = Wildcards(fromdict={"lm": "Pythia", "dataset": "simulated_spr"})
    found = [batches.accepted(accepting, batch)(wildcards) for batch in batches.datasets(accepting)]
    assert [["language"], []] in found and [["language"]] in found


def test_a_check_of_another_name_is_refused():
    config = strict_yaml.read(ROOT / "config.yaml", "config.yaml")
    loading.merge(config, {"datasets": {"natural_stories": {"accept": ["shiftet"]}}})
    loading.complete(config, ROOT)
    told = "natural_stories → accept: no check or rule is called 'shiftet'; did you mean 'shifted'"
    with pytest.raises(InputError, match=told):
        checks.check(config, ROOT / "config.schema.yaml")


@pytest.mark.merge
@pytest.mark.parametrize("name", overrides.OF_DATASET)
def test_the_schema_has_the_names_of_all_checks(name):
    config = strict_yaml.read(ROOT / "config.yaml", "config.yaml")
    loading.merge(config, {"datasets": {"natural_stories": {"accept": [name]}}})
    loading.merge(config, {"lms": {"Pythia": {"accept": ["surprisal"]}}})
    loading.complete(config, ROOT)
    checks.check(config, ROOT / "config.schema.yaml")


def test_an_override_of_several_seeds_is_one_line():
    accepts = {name: {"accept": ["surprisal"]} for name in ("no-bias", "mixed")}
    stored = ("config/open.yaml", "docs/open-study/stored.yaml")
    seeds = study(*stored, run=["primary"], lms=accepts)
    accepted = [line for line in listed(seeds) if "(accepted: surprisal)" in line]
    assert [line.split(":")[0] for line in accepted] == ["LM 'mixed slopes'", "LM 'no bias'"]
