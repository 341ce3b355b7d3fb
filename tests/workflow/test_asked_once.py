"""What Snakemake asks for every job is asked once, of each study apart."""

import inspect

from snakemake import common, rules
from snakemake.output_index import OutputIndex

from recency.workflow.asked_once import ask_once


class Rule:
    """A rule that makes files of one ending, and counts who asks."""

    def __init__(self, ending):
        self.ending, self.asked = ending, 0

    def products(self):
        return []

    def is_producer(self, path):
        self.asked += 1
        return path.endswith(self.ending)


class Index(OutputIndex):
    def __init__(self, *made):
        super().__init__(made)
        self.made = set(made)

    def match(self, path):
        return self.made


def test_the_rules_that_make_a_file_are_looked_for_once():
    ask_once()
    text, table = Rule(".txt"), Rule(".csv")
    index = Index(text, table)
    for _ in range(3):
        assert index.match_producers("a.txt") == {text}
        assert index.match_producers("b.csv") == {table}
        assert index.match_producers("c") == set()
    assert (text.asked, table.asked) == (3, 3)
    other = Index(table)
    assert other.match_producers("a.txt") == set() and index.match_producers("a.txt") == {text}


def test_a_function_s_arguments_are_as_they_were():
    ask_once()

    def function(wildcards, input, *more, threads=1, **rest):
        """Take much."""

    for arguments in (common.get_function_params, rules.get_function_params):
        assert arguments(function) == inspect.signature(function).parameters
        assert arguments(function) is arguments(function)
    asked = {"input": 1, "threads": 2, "attempt": 3}
    assert common.get_input_function_aux_params(lambda wildcards, input: 0, asked) == {"input": 1}
