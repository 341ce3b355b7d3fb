"""What Snakemake asks for every job is asked once, of each study apart."""

import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest
import snakemake.api  # noqa: F401  # its modules need one another in this order
from snakemake import common, dag, rules
from snakemake.exceptions import IOFileException, WorkflowError
from snakemake.io import _IOFile
from snakemake.output_index import OutputIndex

from recency.workflow.asked_once import ask_once

ask_once()


class Pattern(_IOFile):
    """A rule's output that counts the files which it is matched with."""

    asked = 0

    def match(self, path):
        self.asked += 1
        return super().match(path)


class Rule:
    """A rule that is nothing but its outputs."""

    snakefile = lineno = None
    is_producer = rules.Rule.is_producer

    def __init__(self, *patterns):
        self.patterns = [Pattern(pattern, rule=None) for pattern in patterns]

    def products(self):
        return self.patterns

    @property
    def asked(self):
        return sum(pattern.asked for pattern in self.patterns)


def test_the_rules_that_make_a_file_are_looked_for_once():
    text, table = Rule("of/{name}.txt"), Rule("of/{name}.csv", "of/{name}.tsv")
    index = OutputIndex([text, table])
    for _ in range(3):
        assert index.match_producers("of/a.txt") == {text}
        assert index.match_producers("of/b.csv") == index.match_producers("of/b.tsv") == {table}
        assert index.match_producers("of/c") == index.match_producers("a.txt") == set()
    assert (text.asked, table.asked) == (1, 2)  # no pattern is tried that ends otherwise
    other = OutputIndex([table])
    assert other.match_producers("of/a.txt") == set() != index.match_producers("of/a.txt")


@pytest.mark.parametrize(
    "path", ["a", "a/", "a/b.txt", "a/bb.txt", "a/b.b.txt", "c/a/b.txt", "ab", ""]
)
def test_they_are_those_that_make_it(path):
    patterns = (
        "a",
        "{x}",
        "a/{x}.txt",
        "a/{x,b+}.txt",
        "{x}/b.{y}",
        "a/{x}.{x}.txt",
        "{x}b",
        "a{x}/b.txt",
    )
    made_by = [Rule(pattern) for pattern in patterns] + [Rule(*patterns)]
    expected = {rule for rule in made_by if rule.is_producer(path)}
    assert OutputIndex(made_by).match_producers(path) == expected


def test_a_pattern_that_cannot_be_read_is_refused_in_snakemake_s_words():
    with pytest.raises(IOFileException, match="unterminated"):
        OutputIndex([Rule("a/{x,[}.txt")]).match_producers("a/b.txt")


class Scripted:
    """A rule that is nothing but its script."""

    basedir = None

    def __init__(self, script):
        self.script = script


def test_a_rule_s_script_is_looked_for_once_where_it_is_one(monkeypatch):
    opened = []

    def get_source(path, cache, folder, wildcards, params):
        opened.append(path.format(wildcards=wildcards))
        return (Path(opened[-1]), None, None, None, None)

    monkeypatch.setattr(dag.script, "get_source", get_source)
    there = SimpleNamespace(exists=lambda path: path.name != "missing.py")
    workflow = SimpleNamespace(sourcecache=there)

    def look(*scripts):
        made = {script: Scripted(script) for script in scripts}
        processor = dag.ScriptProcessor(SimpleNamespace(workflow=workflow))
        for name, script in zip("abcdef", scripts, strict=False):
            wildcards = SimpleNamespace(x=name)
            processor.process_job(
                SimpleNamespace(is_script=True, rule=made[script], wildcards=wildcards, params=None)
            )

    look("one.py", "one.py", "two.py", "one.py", "of_{wildcards.x}.py", "of_{wildcards.x}.py")
    assert opened == ["one.py", "two.py", "of_e.py", "of_f.py"]
    with pytest.raises(WorkflowError, match=r"missing\.py not accessible"):
        look("one.py", "missing.py")


def test_a_function_s_arguments_are_as_they_were():
    def function(wildcards, input, *more, threads=1, **rest):
        """Take much."""

    for arguments in (common.get_function_params, rules.get_function_params):
        assert arguments(function) == inspect.signature(function).parameters
        assert arguments(function) is arguments(function)
    asked = {"input": 1, "threads": 2, "attempt": 3}
    assert common.get_input_function_aux_params(lambda wildcards, input: 0, asked) == {"input": 1}
