"""Shifted times that a config accepts: stated for a dataset, listed in the summary."""

import pytest
from loaded import study_of
from project import ROOT

from recency.errors import InputError
from recency.workflow import checks, loading, products, strict_yaml

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
    assert listed(other) == [LINE.replace("Stories'", "Stories (items)'")]
    words_alone = study(run=["exp4"])
    assert listed(words_alone) == []


def test_the_open_study_has_the_corrected_times():
    of_open = study("config.open.yaml", run=["open", "items", "part_of_speech"])
    for name in ("natural_stories", "natural_stories_pos", "items_natural_stories"):
        assert of_open.offset(name) == 1
        assert of_open.accepted(name) == []
    assert not any("accepted" in note for note in listed(of_open))


def test_parts_of_speech_have_the_corrected_times_in_every_study():
    assert study().offset("natural_stories_pos") == 1
    assert study().accepted("natural_stories_pos") == []


def test_a_parser_that_moves_no_times_has_no_offset():
    assert study().offset("ucl_spr") is None


def test_a_check_of_another_name_is_refused():
    config = strict_yaml.read(ROOT / "config.yaml", "config.yaml")
    loading.merge(config, {"datasets": {"natural_stories": {"accept": ["shiftet"]}}})
    loading.complete(config, ROOT)
    told = "natural_stories → accept → 0: 'shiftet' is not one of"
    with pytest.raises(InputError, match=told):
        checks.check(config, ROOT / "config.schema.yaml")
