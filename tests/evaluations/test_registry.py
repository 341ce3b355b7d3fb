"""Evaluations are found by their folders; rules, report, targets and schema follow from them."""

import ast
import importlib
import inspect

import pytest
import yaml

import additions
from project import ROOT, SCHEMA, TINY, copy_project, load, plan, planned
from recency import plugins
from recency.errors import InputError
from recency.evaluations import registry
from recency.figures import comparison
from recency.workflow.config import checks
from recency.workflow.plan import products
from recency.workflow.plan.study import Study


@pytest.fixture(scope="module")
def study():
    return Study(load("config/open.yaml"), ROOT, dry_run=True)


def test_every_evaluation_is_whole():
    assert {"reading_times", "probe", "minimal_pairs"} <= set(registry.evaluations())
    stems = [stem for product in registry.products() for stem in product.stems]
    assert len(stems) == len(set(stems)) >= 18
    for product in registry.products():
        evaluation = registry.evaluations()[product.evaluation]
        assert product.when is None or product.when in evaluation.conditions, product.module
        for stem in product.stems:
            assert product.caption(stem).is_file(), stem
            assert stem.split("_")[0] in ("figure", "table"), stem


#: Attribute or method of a view → the parts that it reads.
PARTS = {
    "lms": {"lms"}, "labels": {"lms"}, "runs": {"lms"}, "of_runs": {"lms"}, "rows": {"lms", "responses", "not_run"},
    "responses": {"responses"}, "response_labels": {"responses"}, "absent": {"responses", "not_run"},
    "baseline": {"baseline"}, "title": {"title"}, "published": {"published"}, "published_rows": {"published"},
}  # fmt: skip


def parts_of_view(function, module):
    """Return the parts of its view that a function, and the functions that get it from there, read."""
    parts = set()
    for node in ast.walk(ast.parse(inspect.getsource(function))):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "view":
            parts |= PARTS[node.attr]
        if isinstance(node, ast.Call) and "view" in [getattr(a, "id", "") for a in node.args]:
            called = eval(ast.unparse(node.func), vars(module))
            deep = called is comparison.read
            parts |= PARTS["rows"] if deep else parts_of_view(called, inspect.getmodule(called))
    return parts


@pytest.mark.parametrize("product", registry.products(), ids=lambda product: product.rule)
def test_what_a_product_says_is_what_its_module_takes(product, study):
    """The rule gives the keywords of the function, and none that it needs is missing."""
    module = importlib.import_module(f"{registry.PACKAGE}.{product.module}")
    main = getattr(module, product.function)
    given = {each.partition("=")[0] for each in (*product.reads, *product.settings)}
    given |= set(product.makes) | ({"published"} if product.published else set())
    known = dict(inspect.signature(main).parameters)
    if known.pop("view", None):
        parts = {"lms", "responses", "baseline", "title", "published", "not_run"}
        assert parts_of_view(main, module) == given & parts
        given -= parts
    needed = {name for name, each in known.items() if each.default is each.empty}
    assert needed <= given <= set(known)
    assert set(products.parameters(study, product)) == {"module", "function"} | {
        each.partition("=")[0] for each in product.settings
    }


def test_targets_take_whatever_is_made():
    for stem in ("figure_attention_by_distance", "table_dependencies", "table_seeds"):
        config = load()
        config["targets"]["figure99"] = {"label": "Mine", "experiment": "exp4", "of": [stem]}
        checks.check(config, SCHEMA)
    config["targets"]["figure99"]["of"] = ["figure_of_nothing"]
    with pytest.raises(InputError, match="targets → figure99 → of"):
        checks.check(config, SCHEMA)


def test_an_experiment_needs_something_to_do():
    config = load()
    config["experiments"]["none"] = {"title": "None", "lms": ["Pythia"], "baseline": "Pythia"}
    with pytest.raises(InputError, match="experiments → none"):
        checks.check(config, SCHEMA)


def test_products_of_an_experiment(study):
    def made(name):
        return {stem for product in products.of_experiment(study, name) for stem in product.stems}

    assert made("exp4") == {
        "figure_attention_heads", "table_dependencies", "figure_attention_by_distance", "figure_training"
    }  # fmt: skip
    assert "figure_slopes" in made("exp3") and "figure_slopes" not in made("exp1")
    assert made("sensitivity") == {"figure_sensitivity", "table_sensitivity", "figure_training"}
    assert made("items") == {"figure_delta_aic", "table_delta_aic", "figure_training"}
    assert "table_seeds" not in made("open")


FIGURE = '''"""How many observations there are."""

PRODUCTS = {
    "figure_mine": {
        "makes": {"out": ("figure_mine", "Mine")},
        "reads": ["delta_loglik"],
        "settings": ["baseline"],
    }
}


def figure_mine(*, delta_loglik, out, baseline):
    """Draw nothing."""
'''


@pytest.mark.merge
def test_a_new_figure_is_one_file(tmp_path):
    """And its caption; the rule, the experiment's outputs and `targets:` follow."""
    project = copy_project(tmp_path)
    folder = project / "src" / "recency" / "evaluations" / "reading_times"
    (folder / "figure_mine.py").write_text(FIGURE)
    (folder / "figure_mine.rst").write_text("Mine.\n")
    target = {"label": "Figure 9", "experiment": "simulated", "of": ["figure_mine"]}
    (project / "mine.yaml").write_text(yaml.safe_dump({"targets": {"figure9": target}}))
    for name in ("simulated", "figure9"):
        run = plan(project, name, configs=[*TINY, "mine.yaml"])
        assert run.returncode == 0, run.stdout[-3000:]
        assert planned(run.stdout)["figure_mine"] == 1


def test_modules_by_name_are_found_without_importing_them():
    assert "linear" in plugins.names("recency.attention.biases", "PARAMETERS")
    assert plugins.constant("recency.attention.biases", "none", "PARAMETERS") == {}
    with pytest.raises(InputError, match="no form is called 'linaer'; did you mean 'linear'"):
        plugins.load("recency.attention.biases", "linaer", "form", "PARAMETERS")
    with pytest.raises(InputError, match="no evaluation is called"):
        plugins.load("recency.evaluations", "probe.nothing", "evaluation", "main")


RULE = """
rule lengths:
    input:
        lambda wildcards: files.data("lengths", wildcards.list, "words"),
    output:
        "<results>/lengths/{list}.csv",
    shell:
        "awk '{{print length}}' {input} > {output}"
"""
MINE = {
    "lists": {"mine": {"label": "Mine", "words": {"local": "words.txt"}}},
    "experiments": {
        "mine": {"title": "Mine", "lms": ["Pythia"], "baseline": "Pythia", "lengths": "mine"}
    },
}


@pytest.mark.merge
def test_a_new_evaluation_is_a_folder_a_rule_file_and_the_config(tmp_path):
    project = copy_project(tmp_path)
    folder = project / "src" / "recency" / "evaluations" / "lengths"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "spec.py").write_text(additions.SPEC)
    (folder / "schema.yaml").write_text(additions.SCHEMA)
    (folder / "figure.py").write_text(
        FIGURE.replace('["delta_loglik"]', '["lengths"]').replace("delta_loglik,", "lengths,")
    )
    (folder / "figure_mine.rst").write_text("Mine.\n")
    (project / "rules" / "lengths.smk").write_text(RULE)
    (project / "words.txt").write_text("one\nthree\n")
    (project / "mine.yaml").write_text(yaml.safe_dump(MINE))
    run = plan(project, "mine", configs=[*TINY, "mine.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    jobs = planned(run.stdout)
    assert (jobs["lengths"], jobs["figure_mine"]) == (1, 1) and "train" not in jobs
    MINE["experiments"]["mine"]["lengths"] = "mne"
    (project / "mine.yaml").write_text(yaml.safe_dump(MINE))
    run = plan(project, "mine", configs=[*TINY, "mine.yaml"])
    assert "no list of words is called 'mne'; did you mean 'mine'?" in run.stdout
