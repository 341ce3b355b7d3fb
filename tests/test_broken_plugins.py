"""A plugin that cannot be read is named, skipped, and refused only where it is used."""

import pytest

import additions
from project import ROOT, TINY, copy_project, load, plan
from recency import config as configuration
from recency import plugins
from recency.command.main import main
from recency.errors import InputError
from recency.evaluations import registry
from recency.workflow.config import checks
from recency.workflow.plan import code

GOOD = '"""A form."""\nPARAMETERS = {}\n'
SPEC = "from recency.evaluations.registry import Evaluation\nEVALUATION = Evaluation()\n"
#: group, name, value, text of the module (None: no module), reason.
BROKEN = {
    "missing module": ("biases", "foo", "{}_no.b", GOOD, "the module is not installed"),
    "syntax": ("biases", "foo", "{}.b", "def (:\n", "b.py: line 1: invalid syntax"),
    "raises": (
        "biases", "foo", "{}.b", "raise RuntimeError('no')\n" + GOOD, r"it raises RuntimeError\('no'\)",
    ),
    "null byte": ("biases", "foo", "{}.b", GOOD + "\x00", "b.py: .*null bytes"),
    "not text": ("biases", "foo", "{}.b", GOOD.encode() + b"# \xff\n", "can't decode byte 0xff"),
    "taken": ("biases", "exponential", "{}.b", GOOD, "already has this name; rename it"),
    "bad name": ("biases", "bad-name", "{}.b", GOOD, "must consist of letters, digits and _"),
    "attribute": ("biases", "foo", "{}.b:Thing", GOOD, "it names more than a module"),
    "no marker": ("biases", "foo", "{}.b", "x = 1\n", "b.py lacks PARAMETERS"),
    "computed": ("biases", "foo", "{}.b", "PARAMETERS = dict()\n", "write it as a literal"),
    "no submodule": ("biases", "foo", "{}.nothere", GOOD, "there is no file .*nothere.py"),
    "exits": ("measures", "foo", "{}.b", "import sys; sys.exit(7)\nMEASURE = {}\n", r"it ends the program"),
    "no setting": ("measures", "foo", "{}.b", "MEASURE = {}\n", "MEASURE: .*missing"),
    "no endpoint": ("likelihoods", "foo", "{}.b", "ENDPOINT = 3\n", "ENDPOINT: "),
    "no links": ("families", "foo", "{}.b", "PREDICTORS = ('location',)\n", "b.py lacks LINKS"),
    "folder without spec": ("evaluations", "foo", "{}", "EVALUATION = undefined\n", "no file .*spec.py"),
}  # fmt: skip


@pytest.fixture
def broken(tmp_path, monkeypatch, request):
    """Install a package with a plugin; return its group and name."""
    group, name, value, text, _ = BROKEN[request.param]
    package = f"package_{tmp_path.name.replace('-', '_').replace('[', '_').replace(']', '_')}"
    folder = tmp_path / package
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "b.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    additions.provide(tmp_path, [f"[recency.{group}]\n{name} = {value.format(package)}\n"])
    monkeypatch.syspath_prepend(str(tmp_path))
    return request.param


every = pytest.mark.parametrize("broken", BROKEN, indirect=True)


def readers(group):
    """Read all plugins of a kind, as configs and commands do."""
    from recency import endpoints
    from recency.regression import designs
    from recency.scoring import measures

    kind = {"measures": measures.declared, "likelihoods": endpoints._likelihoods}
    kind |= {"families": designs.family_names, "evaluations": registry.evaluations.__wrapped__}
    return list(kind.get(group, configuration.forms)())


@every
def test_it_is_set_aside_and_the_others_are_read(broken):
    group, name, _, _, reason = BROKEN[broken]
    package = plugins.KINDS[group].package
    assert len(readers(group)) > 1
    assert name not in plugins.provided(package)
    (problem,) = plugins.unreadable(package).values()
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(problem)
    assert f"entry point '{name}' of group recency.{group}" in problem and "\n" not in problem
    assert plugins.notices() == [f"{problem}; it is skipped"]
    code.set_untracked_aside()


@every
def test_what_uses_it_is_refused(broken):
    group, name, _, _, reason = BROKEN[broken]
    package = plugins.KINDS[group].package
    readers(group)
    if broken == "taken":  # the name is this project's
        assert plugins.load(package, name).__name__.startswith("recency.")
        return
    with pytest.raises(InputError, match=f"{name}.*{reason}") as error:
        plugins.load(package, name)
    assert "\n" not in str(error.value)


@pytest.mark.merge
@every
def test_studies_that_do_not_use_it_are_accepted(broken):
    group, name, *_ = BROKEN[broken]
    config = load("config/demo.yaml")
    checks.check(config, ROOT / "config.schema.yaml")
    if group == "biases" and broken != "taken":
        lm = next(iter(config["biases"]))
        config["biases"][lm] = {"form": name}
        with pytest.raises(
            InputError, match=f"biases → {lm} → form: none is called '{name}': entry point"
        ):
            checks.check(config, ROOT / "config.schema.yaml")


@pytest.mark.parametrize("broken", ["syntax", "taken"], indirect=True)
def test_commands_name_it_once(broken, capsys):
    assert main(["biases"]) == 0
    out, err = capsys.readouterr()
    assert "exponential" in out and err.count("entry point") == err.count("\n") == 1
    assert main(["extensions"]) == 0
    out, err = capsys.readouterr()
    assert out.count("cannot be read") == 1 and not err


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import no_such_package_at_all", "No module named 'no_such_package_at_all'"),
        ("if True:\n    import sys\n    sys.exit(7)", "SystemExit: 7"),
        ("undefined_name", "NameError"),
    ],
)
def test_errors_of_a_module_that_is_used_are_one_line(tmp_path, monkeypatch, statement, reason):
    package = f"package_used_{abs(hash(statement))}"
    (tmp_path / f"{package}.py").write_text(f"{GOOD}\n{statement}\n")
    additions.provide(tmp_path, [f"[recency.biases]\nfoo = {package}\n"])
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "foo" in configuration.forms()
    with pytest.raises(InputError, match=f"{package} cannot be imported: .*{reason}") as error:
        plugins.load("recency.attention.biases", "foo")
    assert "\n" not in str(error.value)


EVALUATIONS = {
    "undefined": ({"spec.py": "EVALUATION = undefined_name\n"}, "NameError: name 'undefined_name'"),
    "of another kind": ({"spec.py": "EVALUATION = 3\n"}, "EVALUATION is no Evaluation"),
    "exits": ({"spec.py": "if True:\n    exit(3)\nEVALUATION = 1\n"}, "SystemExit"),
    "schema cut": ({"spec.py": SPEC, "schema.yaml": "experiment: {foo"}, "ParserError"),
    "schema taken": (
        {"spec.py": SPEC, "schema.yaml": "experiment: {minimal_pairs: {type: object}}"},
        "minimal_pairs has minimal_pairs already",
    ),
    "product cut": (
        {"spec.py": SPEC, "figure.py": 'PRODUCTS = {"mine": {"makes": {}}}\n'},
        "KeyError: 'reads'",
    ),
}


@pytest.mark.parametrize("kind", EVALUATIONS)
def test_evaluations(tmp_path, monkeypatch, kind):
    files, reason = EVALUATIONS[kind]
    package = f"package_{kind.replace(' ', '_')}_{abs(hash(str(tmp_path)))}"
    (tmp_path / package).mkdir()
    for name, text in ({"__init__.py": ""} | files).items():
        (tmp_path / package / name).write_text(text)
    additions.provide(tmp_path, [f"[recency.evaluations]\nfoo = {package}\n"])
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.schema.cache_clear()
    found = registry.evaluations.__wrapped__()
    registry.schema.cache_clear()
    assert "foo" not in found and "minimal_pairs" in found
    (problem,) = plugins.unreadable(registry.PACKAGE).values()
    assert reason in problem and "\n" not in problem


def test_code_that_cannot_be_followed(tmp_path, monkeypatch):
    package = f"package_untracked_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{package}.py").write_text(f"import recency\n{GOOD}")
    additions.provide(tmp_path, [f"[recency.biases]\nfoo = {package}\n"])
    monkeypatch.syspath_prepend(str(tmp_path))
    code.set_untracked_aside()
    (problem,) = plugins.unreadable("recency.attention.biases").values()
    assert "the code dependencies cannot be determined" in problem


def test_two_packages_with_one_name(tmp_path, monkeypatch):
    for number in (1, 2):
        (tmp_path / f"package_twin_{number}.py").write_text(GOOD)
    additions.provide(tmp_path, ["[recency.biases]", "foo = package_twin_1"])
    about = tmp_path / "more-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: more\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[recency.biases]\nfoo = package_twin_2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "foo" not in configuration.forms()
    (problem,) = plugins.unreadable("recency.attention.biases").values()
    assert "package_twin_1 and package_twin_2 have one name" in problem


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["syntax", "exits", "folder without spec", "no rules"])
def test_a_run_names_it_once(tmp_path, kind):
    """A run that does not use an evaluation does not include its rules either."""
    project = copy_project(tmp_path / "project")
    (project / "src" / "sitecustomize.py").unlink()
    rules = kind == "no rules"
    group, name, value, text, _ = BROKEN["folder without spec" if rules else kind]
    folder = project / "src" / "package_of_run"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "b.py").write_text(text)
    if rules:
        (folder / "spec.py").write_text(SPEC)
        (folder / "rules.smk").write_text("rule (:\n")
    points = [f"[recency.{group}]\n{name} = {value.format('package_of_run')}\n"]
    additions.provide(project / "src", points)
    done = plan(project, configs=TINY)
    assert done.returncode == 0, done.stdout[-2000:]
    assert done.stdout.count("it is skipped") == (not rules)
