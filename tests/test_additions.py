"""Each kind of addition is one file or folder of the project, or of another installed package."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

import additions
import computed_additions
from project import ROOT, TINY, copy_project, plan, planned, sources
from recency import endpoints, plugins
from recency.scoring import measures
from recency.workflow.plan import code

pytestmark = pytest.mark.merge

WAY_OUT = "install the package that provides it"
COMPUTED = [name for name in vars(computed_additions) if name.startswith("of_")]


def run(project, *names):
    """Run functions of `computed_additions` in a project; return what they returned, or the last line of an error."""
    folders = [sources(project), ROOT / "tests", ROOT / "tests" / "regression"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "computed_additions.py"), *names],
        cwd=project, env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done.stderr


@pytest.fixture(scope="module", params=["folders", "package"])
def project(request, tmp_path_factory):
    """Return a copy of the project that has each addition in the folder of its kind, or in another package."""
    copied = copy_project(tmp_path_factory.mktemp(request.param) / "project")
    (copied / "src" / "sitecustomize.py").unlink()
    return additions.write(copied, packages=request.param == "package")


@pytest.fixture(scope="module")
def computed(project):
    """Return what every addition computed."""
    values = run(project, "listed", *COMPUTED)
    assert isinstance(values, dict), values
    return values


def test_every_kind_is_added(computed):
    assert set(additions.MODULES) | {"evaluations"} == set(plugins.KINDS)
    for group, (name, _) in additions.MODULES.items():
        assert name in computed["listed"][group]
    assert "lengths" in computed["listed"]["evaluations"]


def test_what_each_computes(computed):
    assert computed["of_bias"] == pytest.approx([-0.5 * 3**0.5, -0.5 * 2**0.5, -0.5, 0])
    assert computed["of_export"] == computed["of_bias"]
    assert computed["of_memory"] == [1, 0.5, 0.25]
    assert computed["of_erasure"] == [0.75, 0.5, 0]
    assert computed["of_parser"] == [60]
    assert computed["of_reader"] == [["words 0", "one two"], ["words 1", "three\n"]]
    ours, expected = computed["of_measure"]
    assert ours == pytest.approx(expected, rel=1e-3) and min(ours) > 0
    recorded, written, expected = computed["of_likelihood"]
    assert recorded == pytest.approx(expected) and written == pytest.approx(expected)
    location, scale, error = computed["of_family"]
    assert location == pytest.approx(300, abs=25) and scale == pytest.approx(50, rel=0.1)
    assert error < 1e-12
    p, exact = computed["of_statistic"]
    assert 0.01 < exact < 0.99 and p == pytest.approx(exact, abs=0.01)
    assert computed["of_evaluation"] == "longest\n5\n"
    assert computed["of_config"] == "Spoken lists"
    assert computed["of_lint"] == [
        ["experiments → mine → responses: one measure; add one [one_measure]"],
        ["experiments → mine → responses: one measure [one_measure]"],
    ]
    tracked, counted = computed["of_rule"]
    assert {"lengths.py", "others.lengths.lengths", "recency.evaluations.lengths.lengths"} & {
        *tracked
    }
    assert counted == ["list of words", 7200]


def test_a_run_plans_them(project):
    done = plan(project, "mine", "--forceall", configs=[*TINY, "mine.yaml"])
    assert done.returncode == 0, done.stdout[-3000:]
    jobs = planned(done.stdout)
    assert (jobs["lengths"], jobs["table_lengths"]) == (1, 1)
    assert jobs["train"] >= 2 and jobs["permutation"] == jobs["delta_loglik"] == 1


def test_without_the_package_the_config_is_refused_with_the_way_out(tmp_path):
    copied = additions.write(copy_project(tmp_path / "project"), packages=True)
    (copied / "src" / "sitecustomize.py").unlink()
    (copied / "src" / "others-1.dist-info" / "entry_points.txt").unlink()
    error = run(copied, "of_config")
    for text in (
        "unknown key 'lists'",
        "unknown key 'lengths'",
        "endpoint: none is called 'laplace'",
    ):
        (line,) = (line for line in error.splitlines() if text in line)
        assert WAY_OUT in line, line
    config = yaml.safe_load((copied / "mine.yaml").read_text())
    del config["lists"], config["experiments"]["mine"]["lengths"]
    del config["experiments"]["mine"]["endpoint"]
    (copied / "mine.yaml").write_text(yaml.safe_dump(config))
    error = run(copied, "of_config")
    for text in (
        "biases → root → form: none is called 'root'",
        "memories → leaky → form: none is called 'leaky'",
        "datasets → spoken → parser: none is called 'lists'",
        "corpora → mine → reader: none is called 'paragraphs'",
        "scales → cores → measures: no measure is called 'varentropy'",
        "experiments → mine → test_statistic: none is called 'by_cluster'",
    ):
        (line,) = (line for line in error.splitlines() if text in line)
        assert WAY_OUT in line, line


def others(folder, monkeypatch, group, **modules):
    """Make a package with modules that it provides; each test has its own name for it."""
    name = folder.name.replace("-", "_")
    (folder / name).mkdir(parents=True)
    for module, text in {"__init__": "", **modules}.items():
        (folder / name / f"{module}.py").write_text(text)
    points = [f"{module} = {name}.{module}" for module in modules if module != "helper"]
    additions.provide(folder, [f"[recency.{group}]", *points])
    monkeypatch.syspath_prepend(str(folder))
    return folder / name


@pytest.mark.parametrize(
    ("group", "line", "message"),
    [
        ("readers", "my-reader = {}.reader", "letters, digits and _"),
        ("readers", "reader = {}.reader:read", "it names more than a module"),
        ("likelihoods", "crossed = {}.ends", "crossed is an endpoint"),
        ("measures", "tokens = {}.column", "tokens is a column already"),
        ("measures", "computed = {}.computed", "write it as a literal"),
        ("measures", "wrong = {}.wrong", "MEASURE: .*unexpected keyword argument 'units'"),
        ("measures", "most = {}.most", "MEASURE: tokens 'max' is none of sum, mean"),
        ("measures", "two = {}.two", "MEASURE: source 'attention states' is none of"),
        ("measures", "site = {}.site", "MEASURE: a site needs one of the functions attention"),
    ],
)
def test_what_a_package_may_not_provide(tmp_path, monkeypatch, group, line, message):
    texts = {"reader": additions.READER, "computed": "MEASURE = dict(unit=1)\n"}
    texts |= {"ends": "ENDPOINT = {}\n", "column": 'MEASURE = {"unit": 1, "masked": True}\n'}
    texts["wrong"] = 'MEASURE = {"units": 1, "masked": True}\n'
    texts["most"] = 'MEASURE = {"unit": 1, "masked": False, "tokens": "max"}\n'
    texts["two"] = (
        'MEASURE = {"unit": 1, "masked": False}\n\n\ndef attention(): ...\ndef states(): ...\n'
    )
    texts["site"] = 'MEASURE = {"unit": 1, "masked": False, "site": "layer"}\n'
    folder = others(tmp_path, monkeypatch, group, **texts)
    additions.provide(tmp_path, [f"[recency.{group}]", line.format(folder.name)])
    listed = {
        "readers": lambda: plugins.names("recency.text.readers"),
        "likelihoods": endpoints._likelihoods,
        "measures": measures.declared,
    }
    assert len(listed[group]()) > 1  # this project's
    package = plugins.KINDS[group].package
    (problem,) = plugins.unreadable(package).values()
    assert re.search(message, problem)
    assert f"{problem}; it is skipped" in plugins.notices()


def test_an_edit_of_another_package_s_module_reruns_its_jobs(tmp_path, monkeypatch):
    """The fingerprints of a job cover the modules that it chooses, and those that they import."""
    script = ROOT / "workflow" / "scripts" / "lms" / "train.py"

    def fingerprints(number, helper="ONE = 1\n", chosen="root"):
        text = additions.BIAS.replace('"""\n\nfrom', '"""\n\nfrom . import helper\nfrom', 1)
        folder = others(
            tmp_path / f"package_{number}", monkeypatch, "biases", root=text, helper=helper
        )
        computed = code.fingerprints((script,), {"recency.attention.biases": [chosen, "none"]})
        monkeypatch.undo()
        return {name.replace(folder.name, "package"): digest for name, digest in computed.items()}

    monkeypatch.setattr(code, "_known", {})
    first = fingerprints(1)
    assert {"package", "package.root", "package.helper"} <= first.keys()
    for cached in (code.reached, code._fingerprints_of_chosen):
        cached.cache_clear()
    other = fingerprints(2, helper="ONE = 2\n")
    assert {name for name in first if first[name] != other[name]} == {"package.helper"}
