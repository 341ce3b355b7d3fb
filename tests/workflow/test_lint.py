"""The linter: doubtful science in valid configs warns by the name of a rule, and sound science does not."""

import copy
import functools
import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml

from crosslmm.factors import Levels
from crosslmm.fitting import fit_least_squares, fit_model
from crosslmm.formula import parse
from doubtful_configs import DEMO, DOUBTFUL, DOUBTFUL_OPEN, DOUBTFUL_PAPER, MINE, OPEN, SOUND
from loaded import study_of
from project import ROOT, SCHEMA, SOURCES, assert_is_refused, load, merged, plan_once
from recency.evaluations.reading_times.delta_loglik import compare
from recency.evaluations.report import doubts
from recency.workflow import lint
from recency.workflow.config import checks
from recency.workflow.plan import costs, products

EVERY = [(DEMO, *case) for case in DOUBTFUL] + [(OPEN, *case) for case in DOUBTFUL_OPEN]
EVERY += [((), *case) for case in DOUBTFUL_PAPER]


loaded = functools.cache(load)


def config_of(overlay, names=DEMO):
    """Return the config of overlays and one in YAML, with keys of experiments that it sets to null removed."""
    config = dict(loaded(*names))
    if names == DEMO:
        merged(config, yaml.safe_load(MINE))
    merged(config, yaml.safe_load(overlay) or {})
    for experiment in config["experiments"].values():
        for key in [key for key, value in experiment.items() if value is None]:
            del experiment[key]
    return config


def warned(overlay, names=DEMO):
    """Return the rules that warn of a config with an overlay."""
    doubts = lint.check(lint.Plan(config_of(overlay, names), root=ROOT))
    assert not any(doubt.finding.problem.startswith(lint.FAILED) for doubt in doubts)
    return {doubt.rule for doubt in doubts if not doubt.is_accepted}


@pytest.mark.parametrize(("names", "overlay", "rule"), EVERY)
def test_doubtful_science_is_warned_of(names, overlay, rule):
    assert rule in warned(overlay, names)


@pytest.mark.parametrize("overlay", SOUND)
def test_sound_science_is_not(overlay):
    assert warned(overlay) == set()


@pytest.mark.merge
@pytest.mark.parametrize(("names", "overlay", "rule"), EVERY)
def test_the_doubtful_configs_are_valid(names, overlay, rule):
    checks.check(config_of(overlay, names), SCHEMA)


def test_every_rule_has_a_doubtful_config():
    assert {rule for *_, rule in EVERY} == set(lint.rules())
    assert len(EVERY) >= 90


def test_the_page_of_the_rules_is_up_to_date():
    spec = importlib.util.spec_from_file_location("lint_page", ROOT / "setup" / "lint_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    assert text == f"{module.page()}\n", "python setup/lint_page.py > docs/lint.md"


def test_rules_state_why_and_a_reference_in_one_line():
    for name, rule in lint.rules().items():
        assert 20 < len(rule.why) < 160 and "\n" not in rule.why and rule.reference, name
        assert 10 < len(rule.warns) < 90 and rule.warns[0].isupper(), name


def test_rules_import_no_heavy_library():
    code = "import sys; from recency.workflow import lint; from recency import plugins; "
    code += "[plugins.load(lint.PACKAGE, rule.module) for rule in lint.rules().values()]; "
    code += "print({'torch', 'pandas', 'rpy2', 'scipy', 'transformers'} & sys.modules.keys())"
    variables = os.environ | {"PYTHONPATH": SOURCES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


#: Overlays of config.yaml → the rules of which a plan of their `run` warns.
SHIPPED = {
    (): set(),
    DEMO: set(),
    OPEN: {"single_training"},
    ("config/pretrained.yaml",): set(),
    ("config/readers.yaml",): set(),
    ("config/thesis-families.yaml",): set(),
    ("config/languages.yaml",): {"single_training"},
    ("config/ptb.yaml",): set(),
    ("config/ptb.yaml", "config/ptb-quick.yaml"): set(),
    ("config/ptb.yaml", "config/ptb-four.yaml"): set(),
    ("config/ptb.yaml", "config/ptb-small.yaml"): set(),
    ("config/ltcb.yaml",): set(),
    ("config/open.yaml", "config/masked-released.yaml"): set(),
    ("config/open.yaml", "config/babylm.yaml"): {"single_training"},
}


def test_every_shipped_config_is_listed():
    listed = {name for names in SHIPPED for name in names}
    assert listed == {f"config/{path.name}" for path in ROOT.glob("config/*.yaml")} - {
        "config/config.yaml"
    }


@pytest.mark.parametrize("names", SHIPPED)
def test_shipped_configs_warn_of_what_is_intended(names):
    doubts = lint.check(lint.Plan(loaded(*names), root=ROOT))
    assert {doubt.rule for doubt in doubts if not doubt.is_accepted} == SHIPPED[names]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), {"misaligned_times": {"curves", "theories"}, "single_training": {"controls", "curves", "effective_context", "maze", "maze_foils", "no_part_of_speech", "part_of_speech", "theories"}}),
        (OPEN, {"single_training": {"controls", "effective_context", "items", "maze", "maze_foils", "open", "theories"}, "text_in_training": {"mlm_pile"}}),
    ],
)  # fmt: skip
def test_all_experiments_of_the_studies(names, expected):
    """The papers' own weaknesses are accepted in their entries; those of further experiments are said."""
    config = load(*names)
    doubts = lint.check(lint.Plan(config, config["experiments"], ROOT))
    told = {}
    for doubt in doubts:
        if not doubt.is_accepted:
            told.setdefault(doubt.rule, set()).add(doubt.finding.entry)
    assert told == expected


FORMULA = "designs: {mine: {formula: 'time_ms ~ length + position + unigram + surprisal + previous_surprisal + (1 | subject) + (1 | sentence)'%s}}"


def test_a_warning_names_place_problem_way_out_and_rule():
    (line,) = lint.lines(lint.check(lint.Plan(config_of(FORMULA % ""), root=ROOT)))
    assert line == (
        "designs → mine → formula: surprisal, previous_surprisal of interest without a slope by subject; "
        "write (1 + surprisal + previous_surprisal | subject) [random_slopes]"
    )


@pytest.mark.parametrize(
    "accept", [FORMULA % ", accept: [random_slopes]", FORMULA % "" + "\naccept: [random_slopes]"]
)
def test_accept_silences_in_the_entry_and_at_the_top_level(accept):
    config = config_of(accept)
    checks.check(config, SCHEMA)
    doubts = lint.check(lint.Plan(config, root=ROOT))
    assert lint.lines(doubts) == []
    start = "designs → mine → formula: surprisal, previous_surprisal of interest without a slope by subject"
    assert f"{start} [random_slopes]" in lint.lines(doubts, accepted=True)


def test_another_entry_s_accept_silences_nothing():
    overlay = FORMULA % "" + "\nexperiments: {mine: {accept: [single_training, twins]}}"
    assert warned(overlay) == {"random_slopes"}


@pytest.mark.merge
@pytest.mark.parametrize(
    ("overlay", "reason"),
    [
        ("accept: [random_slope]", "accept: no check or rule is called 'random_slope'; did you mean 'random_slopes'?"),
        ("designs: {spr: {accept: [random_slope]}}", "designs → spr → accept: no check or rule is called 'random_slope'; did you mean 'random_slopes'?"),
        ("designs: {spr: {accept: [twins]}}", "designs → spr → accept: no check or rule is called 'twins'"),
        ("experiments: {exp1: {accept: [twin]}}", "did you mean 'twins'?"),
        ("datasets: {natural_stories: {accept: [few_unit]}}", "did you mean 'few_units'?"),
        ("lms: {Pythia: {accept: [idle]}}", "lms → Pythia → accept: no check or rule is called 'idle'"),
        ("scales: {paper: {accept: [unseen_begin]}}", "did you mean 'unseen_begin_token'?"),
        ("accept: [shifted]", "accept: no check or rule is called 'shifted'"),
        ("accept: [twins, twins]", "accept: 'twins' stands twice"),
    ],
)  # fmt: skip
def test_unknown_names_in_accept_are_refused(overlay, reason):
    assert_is_refused(overlay, reason)


def test_findings_of_several_entries_share_a_line():
    found = [lint.Finding(name, "lms", "is odd", "change it") for name in "abc"]
    doubts = [lint.Doubt("odd", "experiments", finding, False) for finding in found]
    doubts.append(lint.Doubt("odd", "experiments", lint.Finding("d", "", "is odd", "go"), True))
    assert lint.lines(doubts) == ["experiments → a → lms (and 2 more): is odd; change it [odd]"]
    assert lint.lines(doubts, accepted=True) == ["experiments → d: is odd [odd]"]


def test_a_rule_that_fails_stops_no_run(monkeypatch):
    def load(package, name):
        raise SyntaxError("invalid syntax")

    monkeypatch.setattr(lint.plugins, "load", load)
    (line,) = lint.lines(lint.check(lint.Plan(config_of("{}"), root=ROOT), ["twins"]))
    expected = "experiments: the rule could not be applied (SyntaxError: invalid syntax); "
    assert line.startswith(expected) and line.endswith(" [twins]")


def test_summary_and_report_list_findings_and_accepted_ones():
    study = study_of(copy.deepcopy(config_of(FORMULA % "")))
    for settings in (products.summary_settings(study), products.settings(study)):
        listed = settings["doubts"]
        assert [line.rpartition(" ")[2] for line in listed["warnings"]] == ["[random_slopes]"]
        (accepted,) = listed["accepted"]
        assert accepted.startswith("experiments → mine → seeds: ") and "single_training" in accepted
        assert [rule["rule"] for rule in listed["noted"]] == ["dependent_predictors", "few_units"]
    expected = ["<results>/experiments/mine/delta_loglik.csv"]
    assert products.report_inputs(study)["delta_loglik"] == expected


def test_accepted_rules_change_no_parameter_of_a_job():
    study = study_of(copy.deepcopy(config_of(FORMULA % ", accept: [random_slopes]")))
    assert "accept" not in study.config["designs"]["mine"]
    data = {"datasets": {"simulated_spr": {"accept": ["units", "few_units"]}}}
    study = study_of(merged(load(*DEMO), data | {"lms": {"Pythia": {"accept": ["idle_bias"]}}}))
    assert study.accepted("simulated_spr", "Pythia") == ["units"]
    assert "few_units" not in " ".join(products.accepted_checks(study, ["simulated"]))


def test_an_lm_that_is_listed_twice_is_evaluated_once():
    study = study_of(config_of("experiments: {mine: {lms: [Pythia, dVM-I, dVM-I]}}"))
    assert study.experiment("mine")["lms"] == ["Pythia", "dVM-I"]
    assert "twins" in {doubt.rule for doubt in study.doubts_of(["mine"])}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([], ["exp1", "exp2", "exp3", "exp4"]),
        (["all"], ["exp1", "exp2", "exp3", "exp4"]),
        (["results/paper/paper/summary.txt"], ["exp1", "exp2", "exp3", "exp4"]),
        (["theories", "figure3"], ["theories", "exp2"]),
        (["check_natural_stories"], []),
    ],
)
def test_the_experiments_of_a_run_s_targets_are_checked(asked, expected):
    assert costs.experiments(asked, load()) == expected


def fit(path, model, subjects, sentences=50, note="", engine="cross_products"):
    """Write the record of a fit, and return its path."""
    record = {
        "model": model,
        "engine": engine,
        "note": note,
        "n": {"fit": 90, "exploratory": 40, "subjects": subjects, "sentences": sentences},
        "loglik": {"exploratory": -5.0, "fit": -9.0},
        "converged": True,
    }
    path.write_text(json.dumps(record))
    return path


def note_of(folder, *counts, **settings):
    """Return the note of ΔLogLik of two fits to so many subjects and sentences."""
    files = [fit(folder / f"{m}.json", m, *counts, **settings) for m in ("full", "base")]
    return compare(*files)["note"]


def test_few_subjects_and_sentences_of_the_data_are_noted(tmp_path):
    assert note_of(tmp_path, 8, 8) == ""
    assert note_of(tmp_path, 7) == "7 subjects, fewer than 8"
    assert note_of(tmp_path, 20, 3) == "3 sentences, fewer than 8"
    assert note_of(tmp_path, 1, engine="ols") == ""  # of means over subjects


LME4 = "fixed-effect model matrix is rank deficient so dropping 1 column / coefficient"


def test_the_notes_of_fits_are_those_of_the_rules():
    """Fits that drop a dependent predictor say so in the words that the rule knows."""
    random = np.random.default_rng(1)
    subject = np.repeat(np.arange(8), 20)
    x = random.normal(size=160)
    y = 300 + 5 * x + random.normal(size=8)[subject] + random.normal(size=160)
    data, groups = {"x": x, "z": 2 * x}, {"subject": Levels(subject, list("abcdefgh"))}
    model = parse("y ~ x + z + (1 | subject)")
    searched = fit_model(model, data, y, groups, "cross_products", confirm=False)
    _, least_squares = fit_least_squares(parse("y ~ x + z"), data, y)
    marks = lint.rules()["dependent_predictors"].noted
    for note in (searched.note, *least_squares, LME4):
        assert any(mark in note for mark in marks), note


def test_what_fits_note_is_listed_by_its_rule(tmp_path):
    path = tmp_path / "delta_loglik.csv"
    dropped = "fixed effects that depend on others were dropped: x"
    rows = [
        ("A", "mine", "SPR", "spr", f"full: {dropped}; 7 subjects, fewer than 8"),
        ("B", "mine", "SPR", "spr", f"seed 1: full: odd; {dropped}"),
        ("C", "mine", "GP", "eyes", f"full: {LME4}; base: {LME4}"),
        ("A", "mine", "FP", "eyes", "base: singular fit"),
        ("A", "few", "SPR", "spr@response=log", "3 sentences, fewer than 8"),
    ]
    pd.DataFrame(rows, columns=doubts.COLUMNS).to_csv(path, index=False)
    rules = lint.noted(config_of("{}"))
    assert [rule["rule"] for rule in rules] == ["dependent_predictors", "few_units"]
    found = doubts.lines({"warnings": ["a [b]"], "noted": rules}, [path])
    assert found == (
        [
            "a [b]",
            f"mine.SPR, design spr (2 LMs): {dropped} [dependent_predictors]",
            "mine.SPR, design spr (1 LM): 7 subjects, fewer than 8 [few_units]",
            f"mine.GP, design eyes (1 LM): {LME4} [dependent_predictors]",
            "few.SPR, design spr@response=log (1 LM): 3 sentences, fewer than 8 [few_units]",
        ],
        [],
    )
    accept = "accept: [dependent_predictors]"
    config = config_of(
        f"{{designs: {{spr: {{{accept}}}, eyes: {{{accept}}}}}, accept: [few_units]}}"
    )
    config["datasets"] = {**config["datasets"], "mine": {}, "few": {}}
    assert doubts.lines({"noted": lint.noted(config)}, [path]) == ([], found[0][1:])
    assert doubts.lines({}, [path]) == ([], [])
    assert doubts.section([], []) == "" and doubts.headings([], []) == []
    assert "<summary>2 doubtful settings, 1 accepted</summary>" in doubts.section(["a", "b"], ["<"])
    assert "<li>&lt;</li>" in doubts.section([], ["<"])


@pytest.mark.merge
def test_the_plan_warns_of_its_own_targets():
    done = plan_once("theories")
    start = "doubtful: experiments → theories → "
    assert (
        done.returncode == 0 and f"{start}responses: natural_stories has `offset: 0`" in done.stdout
    )
    assert f"{start}seeds: " in done.stdout and done.stdout.count("doubtful: ") == 2
    done = plan_once("check_ucl_spr")
    assert done.returncode == 0 and "doubtful: " not in done.stdout
