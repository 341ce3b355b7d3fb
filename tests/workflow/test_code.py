"""What a rule's result depends on in code: the closure of its script, and what a change of it reruns."""

import ast

import pytest

from loaded import closure, recorded, scripts, study_of, untracked
from project import ROOT, TINY, load, plan, planned
from recency.workflow.plan import batches, code

pytestmark = pytest.mark.apart

MADE = {
    "script.py": '"""Make it."""\nfrom recency.fits.linear import fit\nfit()\n',
    "recency/__init__.py": "",
    "recency/plugins.py": "def load(): ...\n",
    "recency/heap.py": "def freed(): ...\n",
    "recency/unused.py": "ONE = 1\n",
    "recency/late.py": "ONE = 1\n",
    "recency/only_b.py": "ONE = 1\n",
    "recency/fits/__init__.py": "",
    "recency/fits/last.R": "# lme4\nx <- 1\n",
    "recency/fits/linear.py": (
        "import recency.deep.below\nfrom recency import kinds, heap\n"
        'SOURCE = "last.R"\n\ndef fit():\n    """Fit."""\n    from recency.late import ONE\n'
        "    return ONE + 1\n"
    ),
    "recency/deep/__init__.py": "",
    "recency/deep/below.py": "ONE = 1\n",
    "recency/kinds/__init__.py": (
        "from recency import plugins\n\ndef kind(name):\n"
        '    return plugins.load("recency.kinds", name, "kind", "ONE")\n'
    ),
    "recency/kinds/a.py": "ONE = 1\n",
    "recency/kinds/b.py": "from recency import only_b\nONE = only_b.ONE\n",
    "recency/kinds/inner/__init__.py": "",
    "recency/kinds/inner/c.py": "ONE = 1\n",
}
FOUND = {
    "script.py",
    "recency.plugins",
    "recency.late",
    "recency.fits",
    "recency.fits.linear",
    "recency.fits.last.R",
    "recency.deep",
    "recency.deep.below",
    "recency.kinds",
    "recency.kinds.a",
}


@pytest.fixture
def made(tmp_path_factory, monkeypatch):
    """Return a function that writes a package, which then is the one that is looked into, and its script."""

    def make(**files):
        folder = tmp_path_factory.mktemp("made")  # what was read is remembered by its path
        for name, text in (MADE | files).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.setattr(code, "ROOT", folder / "recency")
        monkeypatch.setattr(code, "_known", {})
        return folder / "script.py"

    return make


@pytest.fixture
def found(made):
    """Return a function that writes a package and returns what its script depends on."""
    return lambda chosen=("a",), **files: code.fingerprints(
        (made(**files),), {"recency.kinds": chosen}
    )


def test_the_closure_is_found(found):
    assert found().keys() == FOUND
    assert found(chosen=("b",)).keys() == FOUND - {"recency.kinds.a"} | {
        "recency.kinds.b",
        "recency.only_b",
    }
    assert found(chosen=("a", "b")).keys() == FOUND | {"recency.kinds.b", "recency.only_b"}
    assert found(chosen=("a", "inner.c")).keys() == FOUND | {
        "recency.kinds.inner",
        "recency.kinds.inner.c",
    }


def test_of_a_package_that_nothing_is_said_of_all_modules_count(found, tmp_path):
    found()
    script = code.ROOT.parent / "script.py"
    others = {"recency.kinds.b", "recency.only_b", "recency.kinds.inner", "recency.kinds.inner.c"}
    assert code.fingerprints((script,)).keys() == FOUND | others


def test_what_was_found_serves_the_same_code_elsewhere_and_no_other(made, tmp_path, monkeypatch):
    memory, at_end, followed, follow = tmp_path / "code.json", [], [], code._closure
    monkeypatch.setattr(code.atexit, "register", at_end.append)
    monkeypatch.setattr(code, "_closure", lambda start: followed.append(start) or follow(start))

    def run(**files):
        script = made(**files)
        code.remember(memory)
        found = code.fingerprints((script,), {"recency.kinds": ("a",)})
        at_end.pop()()
        asked, followed[:] = len(followed), []
        return asked > 0, found

    first, second, third = run(), run(), run(**{"recency/late.py": "ONE = 2\n"})
    assert first[0] and second == (False, first[1])
    assert third[0] and third[1].keys() == first[1].keys() and third[1] != first[1]
    assert run(**{"recency/late.py": "ONE = 2\n"}) == (False, third[1])
    memory.write_text("half of it")
    assert run() == first


@pytest.mark.parametrize("file", MADE)
def test_a_statement_changes_its_module_alone(found, file):
    before = found()
    line = "y <- 1\n" if file.endswith(".R") else "CHANGED = 1\n"
    after = found(**{file: MADE[file] + line})
    name = file.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
    name = "script.py" if file == "script.py" else name
    changed = {each for each in before if before[each] != after[each]}
    assert after.keys() == before.keys() and changed == FOUND & {name}


SOURCE = '''"""Text."""

from math import inf, pi

class A:
    """Text."""

    one = 1  # of them

    def f(self, x, y=2):
        """Text."""
        z = [x, y, "a" "b"]
        return (x + y) * pi if x else inf, z
'''
SAME = {
    "a docstring": ('"""Text."""', '"""Another text: of\n\n    lines."""'),
    "no docstring": ('        """Text."""\n        z', "        z"),
    "a comment": ("# of them", "# or none"),
    "quotes": ('"a" "b"', "'ab'"),
    "line breaks": ('[x, y, "a" "b"]', '[\n    x,\n    y,\n    "a"\n    "b",\n  ]'),
    "parentheses": ("(x + y) * pi if x else inf, z", "(((x + y) * pi if x else inf), z)"),
    "blank lines": ("class A", "\n\n\nclass A"),
}
OTHER = {
    "a number": ("one = 1", "one = 2"),
    "its type": ("one = 1", "one = 1.0"),
    "a truth value": ("one = 1", "one = True"),
    "a default": ("y=2", "y=3"),
    "an operator": ("x + y", "x - y"),
    "order": ("[x, y,", "[y, x,"),
    "a name": ("self, x,", "self, w,"),
    "an import": ("inf, pi", "inf, e as pi"),
    "a decorator": ("    def f", "    @staticmethod\n    def f"),
    "grouping": ("(x + y) * pi", "x + y * pi"),
    "a text that is no docstring": ("    one = 1", '    one = 1\n    "Text."'),
    "a branch": ("x else inf", "y else inf"),
}


def of(folder, text, name="a.py"):
    """Return the fingerprint of a text in a file of its own."""
    path = folder / str(len(list(folder.iterdir()))) / name
    path.parent.mkdir()
    path.write_text(text)
    return code.fingerprint(path)


@pytest.mark.parametrize("what", SAME)
def test_what_computes_the_same_is_the_same(tmp_path, what):
    assert SAME[what][0] in SOURCE
    assert of(tmp_path, SOURCE.replace(*SAME[what])) == of(tmp_path, SOURCE)


@pytest.mark.parametrize("what", OTHER)
def test_what_computes_something_else_differs(tmp_path, what):
    assert OTHER[what][0] in SOURCE
    assert of(tmp_path, SOURCE.replace(*OTHER[what])) != of(tmp_path, SOURCE)


def test_comments_of_r_do_not_count(tmp_path):
    text = "# a\nx <- 1\nf <- function(y) {\n  # b\n  y + x\n}\n"
    assert of(tmp_path, text.replace("# b", "# c").replace("  y", "\ty"), "a.R") == of(
        tmp_path, text, "a.R"
    )
    assert of(tmp_path, text.replace("y + x", "y - x"), "a.R") != of(tmp_path, text, "a.R")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("from . import below", "imports are absolute"),
        ("import recency", "names no module"),
        ("from recency import lmer", "name the module"),
        ("from recency.plugins import load", "call plugins.load"),
        ("from recency import plugins\nplugins.load(name, 'a', 'b', 'c')", "written out"),
    ],
)
def test_names_that_cannot_be_followed_are_errors(found, line, why):
    with pytest.raises(ValueError, match=rf"below\.py:\d.*cannot be determined.*{why}"):
        found(**{"recency/deep/below.py": line + "\n"})


def test_a_file_beside_that_is_not_there_is_an_error(found):
    with pytest.raises(FileNotFoundError, match=r"none\.R"):
        found(**{"recency/late.py": 'SOURCE = "none.R"\n'})


@pytest.mark.merge
def test_every_rule_s_closure_is_found():
    for rule, (script, main) in scripts().items():
        starts = code.starts_of(script, main)
        names = code.fingerprints(starts).keys()
        assert not names & code.EXEMPT.keys(), rule
        assert {code.name_of(path) for path in starts} - code.EXEMPT.keys() <= names, rule
    assert len(scripts()) > 50


def test_exempt_modules_lead_to_no_other():
    """What is in no closure must not be the way to a module that then would be in none."""
    for name, reason in code.EXEMPT.items():
        assert len(reason) > 20
        imported, packages, beside = code._reads(code.file_of(name))
        if name != code.PACKAGE:  # it names the public functions, late
            assert imported <= code.EXEMPT.keys() and not packages and not beside, name


# The finished study


@pytest.mark.merge
def test_jobs_load_nothing_but_what_is_tracked(finished):
    """Every job of a real run: what it imported is in the closure that Snakemake compares."""
    assert untracked(finished) == []
    jobs, study = recorded(finished), study_of(load(*TINY))
    assert len({job["rule"] for job in jobs}) > 25
    for job in jobs:
        assert job["code"] == closure(study, job["rule"], job["wildcards"]), job["rule"]


def edit(path):
    """Add a statement to a file of Python or R."""
    line = "CHANGED <- 1" if path.suffix == ".R" else "CHANGED = 1"
    path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")


def changed(study):
    """Return the outputs whose jobs have other parameters than when they were made."""
    run = plan(study, "--summary", configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    rows = [line.split("\t") for line in run.stdout.splitlines() if line.startswith("results/")]
    assert rows
    return {row[0] for row in rows if "params changed" in row}


def outputs(study, module=None):
    """Return the outputs of all jobs, or of those that depend on a module."""
    jobs = [job for job in recorded(study) if module is None or module in job["code"]]
    return {output for job in jobs for output in job["outputs"]}


@pytest.mark.merge
def test_an_edit_of_everything_reruns_every_rule(study):
    for package in ("src/recency", "packages/crosslmm/src", "packages/readingtimes/src"):
        for path in (study / package).rglob("*.*"):
            if path.suffix in (".py", ".R"):
                edit(path)
    run = plan(study, configs=TINY)
    rules = {batches.kind_of(job["rule"]) for job in recorded(study)}
    assert planned(run.stdout).keys() - {"all", "total"} == rules
    assert changed(study) == outputs(study)


#: Files that are edited together, each with a rule that it reruns and one that it does not.
EDITS = (
    {
        "src/recency/networks/loss.py": ("train", "surprisal"),
        "packages/readingtimes/src/readingtimes/parsers/table.py": ("words", "observations"),
        "packages/crosslmm/src/crosslmm/lme4.R": ("regression", "delta_loglik"),
        "src/recency/figures/style.py": ("check_dataset", "regression"),
    },
    {
        "src/recency/attention/biases/exponential.py": ("surprisal", "train"),
        "src/recency/text/tokens.py": ("tokenize_text", "train"),
        "packages/crosslmm/src/crosslmm/stats/bootstrap.py": ("delta_loglik", "regression"),
        "src/recency/evaluations/reading_times/permutation.py": ("permutation", "regression"),
    },
)


@pytest.mark.merge
@pytest.mark.parametrize("files", EDITS)
def test_an_edit_reruns_exactly_what_depends_on_the_file(study, files):
    expected = set()
    for file, (rule, other) in files.items():
        edit(study / file)
        mine = outputs(study, code.name_of(ROOT / file))
        made = (job["rule"] for job in recorded(study) if mine & set(job["outputs"]))
        rules = set(map(batches.kind_of, made))
        assert rule in rules and other not in rules, file
        expected |= mine
    assert changed(study) == expected


@pytest.mark.merge
def test_other_text_for_people_and_other_layout_rerun_nothing(study):
    """Every module written anew from its syntax tree, with another docstring: nothing to be done.

    Those of biases stay: a methods section states their equation.
    """
    for top in (
        "src/recency",
        "packages/crosslmm/src",
        "packages/readingtimes/src",
        "workflow/scripts",
    ):
        for path in (study / top).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            if ast.get_docstring(tree) is not None and path.parent.name != "biases":
                tree.body[0].value.value = "Something else."
            path.write_text(f"# A comment.\n{ast.unparse(tree)}\n", encoding="utf-8")
    run = plan(study, configs=TINY)
    assert "Nothing to be done" in run.stdout, run.stdout[-3000:]


@pytest.mark.merge
def test_plugins_that_the_study_does_not_choose_rerun_nothing(study):
    for file in ("attention/biases/window.py", "text/readers/novels.py"):
        edit(study / "src" / "recency" / file)
    edit(study / "packages/readingtimes/src/readingtimes/parsers/geco.py")
    run = plan(study, configs=TINY)
    assert "Nothing to be done" in run.stdout, run.stdout[-3000:]
