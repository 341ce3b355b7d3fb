"""Endpoint, bootstrap, seeds and smallest effect of an experiment: what a config may say of them."""

from types import SimpleNamespace

import pytest
import yaml

from project import ROOT, SCHEMA, load, merged
from recency import endpoints, plugins
from recency.errors import InputError
from recency.workflow.config import checks as config_checks
from recency.workflow.plan import products
from recency.workflow.plan.study import Study

THREE = """
designs:
  three: {base: all, engine: lme4, response: raw, surprisal: plain, of_interest: [surprisal],
          formula: "time_ms ~ surprisal + (1 | subject) + (1 | sentence) + (1 | word)"}
"""


def check(text: str) -> dict:
    config = merged(load(), yaml.safe_load(text))
    config_checks.check(config, SCHEMA)
    return config


def study(text: str) -> Study:
    return Study(check(text), ROOT, [], True)


WRONG = {
    "experiments: {exp2: {endpoint: crossed, bootstrap: given_fits, draws: 10}}": (
        "experiments → exp2 → draws: 10 is less than the minimum of 50"
    ),
    "experiments: {exp2: {endpoint: modelblocks, bootstrap: crossed}}": (
        "experiments → exp2 → bootstrap: `bootstrap: crossed` refits and scores unseen subjects and sentences, which requires `endpoint: crossed`, but the endpoint is"
    ),
    "experiments: {working_memory: {endpoint: crossed}}": (
        "experiments → working_memory → endpoint: crossed; design item_means: `engine: ols`"
    ),
    "experiments: {working_memory: {endpoint: marginal}}": (
        "experiments → working_memory → endpoint: marginal; design item_means: `engine: ols`"
    ),
    "experiments: {working_memory: {bootstrap: crossed, endpoint: null}}": (
        "experiments → working_memory → bootstrap: crossed; design item_means: `engine: ols`"
    ),
    THREE + "experiments: {exp2: {endpoint: crossed, responses: {three: [provo.FP]}}}": (
        "experiments → exp2 → endpoint: crossed; design three: "
    ),
    "experiments: {exp2: {endpoint: likelihood}}": "experiments → exp2 → endpoint: none is called 'likelihood'",
    "lms: {there: {checkpoint: gpt2}}\nexperiments: {exp2: {seeds: [1, 2], lms: [Pythia, there]}}": (
        "experiments → exp2 → seeds: 'there' is a single network from elsewhere"
    ),
}


@pytest.mark.merge
@pytest.mark.parametrize("text", WRONG)
def test_settings_that_do_not_go_together_are_refused_in_one_line(text):
    with pytest.raises(InputError) as raised:
        check(text)
    lines = [line for line in str(raised.value).splitlines()[1:] if "compare" not in line]
    assert len(lines) == 1 and WRONG[text] in lines[0]


def test_the_endpoint_is_crossed_where_every_design_is_covered():
    made = study("experiments: {maze_foils: {bootstrap: given_fits}, exp2: {endpoint: null}}")
    assert made.endpoint("exp1") == "modelblocks"  # a replication
    assert made.endpoint("maze") == "crossed"
    assert made.endpoint("working_memory") == "conditional"  # least squares
    assert made.endpoint("controls") == "crossed"
    assert made.endpoint("maze_foils") == "conditional"
    assert made.endpoint("exp2") == "crossed"


ITEMS = """
designs:
  by_stimulus: {base: all, engine: cross_products, response: raw, surprisal: plain, of_interest: [surprisal],
                formula: "time_ms ~ condition + surprisal + (1 + surprisal | subject) + (1 | stimulus)"}
  across: {base: all, engine: cross_products, response: raw, surprisal: plain, of_interest: [surprisal],
           formula: "time_ms ~ surprisal + (1 + surprisal | subject) + (1 | word)"}
experiments:
  trials: {title: T, lms: [Pythia], baseline: Pythia, responses: {by_stimulus: [mine.SPR]}}
  across: {title: T, lms: [Pythia], baseline: Pythia, responses: {across: [provo.FP]}}
datasets:
  mine:
    label: M
    parser: table
    options: {shape: items, columns: {SPR: rt}}
    words: {table: {local: README.md}}
    responses: {table: {local: README.md}}
    measures: {SPR: {filters: []}}
"""


@pytest.mark.parametrize(
    "options", ["shape: items, columns: {", "columns: {stimulus: nr, condition: c, "]
)
def test_stimuli_of_items_are_crossed_with_readers_by_default(options):
    made = study(ITEMS.replace("shape: items, columns: {", options))
    assert made.endpoint("trials") == "crossed" and made.reason_unasked("trials") == ""
    caption = made.endpoint_caption("trials")
    assert "unseen subjects and items" in caption["endpoint"]
    assert "subjects and items resampled" in caption["intervals"]
    assert "sentences" in made.endpoint_caption("controls")["endpoint"]


def test_another_endpoint_has_its_reason():
    made = study(ITEMS)
    assert made.endpoint("across") == "conditional"
    assert "nested in levels of word" in made.reason_unasked("across")
    unasked = products.verdict_settings(made)["unasked"]
    assert unasked(SimpleNamespace(experiment="across")) == made.reason_unasked("across")
    asked = study(ITEMS.replace("responses: {across", "endpoint: conditional, responses: {across"))
    assert asked.reason_unasked("across") == ""


@pytest.mark.merge
@pytest.mark.parametrize("value", [0.5, 0, "0.5", [0.1]])
@pytest.mark.parametrize("within", [(), ("experiments", "exp1")])
def test_a_smallest_effect_without_a_unit_is_refused_in_one_line(within, value):
    overlay = {"smallest_effect": value}
    for key in reversed(within):
        overlay = {key: overlay}
    where = " → ".join([*within, "smallest_effect"])
    with pytest.raises(InputError) as raised:
        config_checks.check(merged(load(), overlay), SCHEMA)
    assert str(raised.value).splitlines()[1:] == [
        (
            f"  {where}: the smallest effect of interest needs a unit: {{nats_per_1000: 0.5}} for nats "
            "per 1,000 observations, {ms_per_bit: 0.5} for what such a slope adds, or {relative: 0.1} for "
            "a share of the baseline LM's ΔLogLik"
        )
    ]


def test_an_experiment_overrides_the_smallest_effect_of_the_study():
    overlay = {
        "smallest_effect": {"relative": None, "nats_per_1000": 0.5},
        "experiments": {"exp1": {"smallest_effect": {"relative": 0.2}}},
    }
    config = merged(load(), overlay)
    config_checks.check(config, SCHEMA)
    setting = products.verdict_settings(Study(config, ROOT, [], True))["smallest_effect"]
    assert setting(SimpleNamespace(experiment="exp1")) == {"relative": 0.2}


def test_a_smallest_effect_in_ms_needs_slopes_in_ms():
    overlay = {"experiments": {"exp1": {"smallest_effect": {"ms_per_bit": 0.5}}}}
    config = merged(load(), overlay)
    config_checks.check(config, SCHEMA)
    files = products.verdict_files(Study(config, ROOT, [], True), "exp1")
    assert files["effects"] == "<results>/experiments/exp1/table_effects.csv"
    assert "effects" not in products.verdict_files(Study(config, ROOT, [], True), "exp2")
    logs = merged(load(), overlay | {"designs": {"spr": {"response": "log"}}})
    with pytest.raises(InputError, match="smallest_effect: ms_per_bit needs .* design spr lacks"):
        config_checks.check(logs, SCHEMA)
    stated = {"smallest_effect": {"relative": None, "ms_per_bit": 0.5}}
    with pytest.raises(InputError, match="smallest_effect: state ms_per_bit in an experiment"):
        config_checks.check(merged(load(), stated), SCHEMA)


def test_each_endpoint_is_declared_once_computed_and_documented():
    for name in endpoints.HELD_OUT:
        module = plugins.load(endpoints.LIKELIHOODS, name)
        assert callable(module.parts) and endpoints.ENDPOINTS[name].title
    table = (ROOT / "docs" / "regression.md").read_text()
    assert [name for name in endpoints.ENDPOINTS if f"| `{name}`" not in table] == []
