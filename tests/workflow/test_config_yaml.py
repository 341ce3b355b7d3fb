"""Config files as data: what is broken is named by file and line, and nothing in them is run."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import yaml

from project import ROOT, copy_project, plan
from recency.errors import InputError
from recency.workflow.config import loading, strict_yaml

BROKEN = {
    "a: 1\nb: {c: 1, d: 2\ne: 3": "mine.yaml, line 3: ",
    "a:\n\t- 1": "mine.yaml, line 2: found character",
    "a: *b": "mine.yaml, line 1: found undefined alias",
    "a: 1\nb: 2\na: 3": "mine.yaml, line 3: duplicate key 'a', first in line 1; the first would be dropped",
    "lms:\n  x: {bias: a,\n      bias: b}": "line 3: duplicate key 'bias', first in line 2",
    "a: {b: {c: 1, 'c': 2}}": "line 1: duplicate key 'c', first in line 1",
    "a:\n  3: x": "mine.yaml, line 2: the key 3 is not text; write it in quotes",
    "a: {yes: x}": "the key yes is not text; write it in quotes",
    "a: {null: x}": "the key null is not text",
    "a: {? [1, 2] : x}": "this key is not text",
    "a:\n  - .nan": "mine.yaml, line 2: .nan is not a finite number",
    "a: -.INF": "mine.yaml, line 1: -.INF is not a finite number",
    "a: 1.0e+999": "mine.yaml, line 1: 1.0e+999 is not a finite number",
    "a: &x {b: *x}": "mine.yaml, line 1: recursive alias",
    "a: &x [1, [*x]]": "recursive alias",
    "__use_yte__: true\na: 1": "mine.yaml, line 1: __use_yte__ would run code; a config is data",
    "a: {__use_yte__: true}": "__use_yte__ would run code",
    "a: !!python/object/apply:os.system ['true']": "could not determine a constructor",
    "- a": "mine.yaml: not a mapping of keys and values",
    "a: 1\n---\nb: 2": "mine.yaml, line 2: but found another document",
    "a: " + "[" * 60 + "]" * 60: "mine.yaml, line 1: more than 50 levels deep",
    "a: \x07": "mine.yaml: not YAML in UTF-8",
}
LAUGHS = "\n".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]" for n in range(9))
# Deep enough to end the process in libyaml's composer, which recurses.
BROKEN["a: " + "[" * 200_000 + "]" * 200_000] = "mine.yaml, line 1: more than 50 levels deep"
BROKEN["\n".join(" " * n + "k:" for n in range(3000))] = "mine.yaml, line 52: more than 50 levels"
BROKEN["a0: &a0 lol\n" + LAUGHS] = "more than 200,000 values after expansion of aliases"


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_what_is_broken_is_named_by_file_and_line(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        strict_yaml.read(path, "mine.yaml")
    assert BROKEN[text] in str(error.value)
    assert len(str(error.value)) < 300 and "\n" not in str(error.value)


def test_what_cannot_be_read_is_named(tmp_path):
    (tmp_path / "mine.yaml").write_bytes(b"a: \xff")
    with pytest.raises(InputError, match=r"mine.yaml: not UTF-8 \(invalid start byte at byte 3\)"):
        strict_yaml.read(tmp_path / "mine.yaml", "mine.yaml")
    for name in ("none.yaml", "."):
        with pytest.raises(InputError, match="the file cannot be read"):
            strict_yaml.read(tmp_path / name, name)


def test_sound_yaml_is_read_as_yaml_reads_it(tmp_path):
    text = "\ufeffa: &a {x: 1, y: [1.5, null, yes, 2020-01-01, 1_000]}\nb: {<<: *a, x: 2}\nc: {<<: [*a, {z: 1}]}\n"
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    assert strict_yaml.read(path, "mine.yaml") == yaml.safe_load(text)
    path.write_text("# nothing\n")
    assert strict_yaml.read(path, "mine.yaml") == {}
    for name in ("config.yaml", "config/demo.yaml", "config/open.yaml", "config.schema.yaml"):
        read = strict_yaml.read(ROOT / name, name)
        assert read == yaml.safe_load((ROOT / name).read_text())


def test_corpus_files_and_overlays_are_read_so(tmp_path):
    (tmp_path / loading.FOLDER).mkdir(parents=True)
    (tmp_path / "config.yaml").write_text("study: a")
    (tmp_path / "over.yaml").write_text("study: b\nstudy: c")
    with pytest.raises(
        InputError, match="over.yaml, line 2: duplicate key 'study', first in line 1"
    ):
        loading.load(tmp_path, "over.yaml")
    (tmp_path / loading.FOLDER / "mine.yaml").write_text("datasets:\n  a: {}\n  a: {}")
    with pytest.raises(InputError, match=r"data/corpora/mine\.yaml, line 3: duplicate key 'a'"):
        loading.load(tmp_path)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a copy of the project with its run script and these tools."""
    folder = copy_project(tmp_path_factory.mktemp("run") / "project")
    shutil.copy(ROOT / "run", folder)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def run(project, *words):
    if not os.path.exists(f"{sys.prefix}/bin/snakemake"):
        pytest.skip("Snakemake is not installed beside this Python")
    return subprocess.run(
        ["bash", "run", *words], cwd=project, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "words", [["--configfile", "config.open.yaml"], ["--configfile=config.open.yaml"]]
)
def test_run_names_the_new_place_of_an_overlay(project, words):
    done = run(project, "-n", *words)
    assert done.returncode
    assert done.stderr == "error: config.open.yaml: it is config/open.yaml now\n"


def test_run_names_a_broken_overlay_and_runs_nothing_of_it(project):
    made = project / "made"
    code = f"open({str(made)!r}, 'w')"
    for text, said in {
        "lms:\n  x: ]": "error: over.yaml, line 2: ",
        "lms: {}\nlms: {}": "error: over.yaml, line 2: duplicate key 'lms', first in line 1",
        f"__use_yte__: true\n__definitions__:\n  - {json.dumps(code)}": "__use_yte__ would run code",
    }.items():
        (project / "over.yaml").write_text(text)
        for words in (["--configfile", "over.yaml"], ["--configfile=over.yaml"]):
            done = run(project, "-n", *words)
            assert done.returncode == 1 and said in done.stderr, done.stderr
            assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 1
    assert not made.exists()


@pytest.mark.merge
def test_snakemake_shows_the_fault_alone(project):
    """Keys that stand twice, faults and absent sources, without `./run`: no trace, no line of code."""
    (project / "twice.yaml").write_text("lms: {x: {bias: none}}\nlms: {y: {bias: none}}")
    (project / "sources.yaml").write_text("corpora: {x: {sources: nope.tsv}}")
    for name, said in {
        "twice.yaml": "twice.yaml, line 2: duplicate key 'lms', first in line 1",
        "sources.yaml": "corpora → x → sources: ",
    }.items():
        done = plan(project, configs=[name])
        assert done.returncode != 0 and said in done.stdout, done.stdout
        assert "Traceback" not in done.stdout and ", in " not in done.stdout
        assert "ConfigError" in done.stdout


@pytest.mark.merge
def test_targets_and_tables_are_looked_at_when_a_run_is_planned(project):
    (project / "mine.csv").write_text("item,sentence,position,word,subject,rt\na,1,1,The,s1,310\n")
    (project / "over.yaml").write_text(
        """
targets: {figure2: {experiment: exp4}}
datasets:
  mine:
    label: Mine
    parser: table
    options: {columns: {SPR: rt_ms, cloze: clze}}
    words: {t: &t {local: mine.csv}}
    responses: {t: *t}
    measures: {SPR: {filters: []}, FP: {filters: []}}
"""
    )
    done = plan(project, configs=["over.yaml"])
    lines = [line.strip() for line in done.stdout.splitlines()]
    for said in (
        "targets → figure2 → of: the experiment exp4 makes no 'figure_delta_loglik'",
        "datasets → mine → options → columns → SPR: the table has no column 'rt_ms'; did you mean 'rt'?",
        "datasets → mine → options → columns → cloze: the table has no column 'clze'",
        "datasets → mine → options → columns: the measure FP has no column; write `FP: <col",
    ):
        assert any(line.startswith(said) for line in lines), (said, done.stdout)
