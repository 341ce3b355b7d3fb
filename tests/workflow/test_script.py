"""A rule's files and parameters reach its function by their names, or the job fails."""

import os
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.iocontainers import InputFiles, OutputFiles, Params, Wildcards

from project import ROOT, SOURCES
from recency.workflow.engine.job import arguments


def job(inputs=None, outputs=None, params=None, wildcards=None, unnamed=()):
    """Return what a script has as `snakemake`; `unnamed` are outputs without a name."""
    files = OutputFiles(fromdict=outputs or {})
    named = OutputFiles(toclone=[*unnamed, *files])
    for number, name in enumerate(outputs or {}):
        named._set_name(name, len(unnamed) + number)
    return SimpleNamespace(
        rule="r",
        input=InputFiles(fromdict=inputs or {}),
        output=named,
        params=Params(fromdict=params or {}),
        wildcards=Wildcards(fromdict=wildcards or {}),
        threads=3,
    )


def test_files_params_and_wildcards_are_arguments():
    def main(words, out, out_rows, seed: int, share: float, lm, bias=None, processes=1, code=None):
        pass

    given = arguments(
        main,
        job(
            {"words": "w.parquet"},
            {"rows": "rows.csv"},
            {"bias": {"form": "none"}},
            {"seed": "5", "share": "0.5", "lm": "a", "dataset": "not asked for"},
            ["out.csv"],
        ),
    )
    assert given.pop("code") == {}
    assert given == {
        "words": "w.parquet", "out": "out.csv", "out_rows": "rows.csv", "bias": {"form": "none"},
        "seed": 5, "share": 0.5, "lm": "a", "processes": 3,
    }  # fmt: skip


def test_what_the_function_does_not_take_is_passed_to_it_and_so_fails():
    def main(words, out):
        pass

    given = arguments(main, job({"words": "w"}, {"out": "o"}, {"sede": 1}))
    with pytest.raises(TypeError, match="sede"):
        main(**given)


def test_one_name_of_two_things_is_refused():
    def main(words, out):
        pass

    with pytest.raises(TypeError, match="rule r: two files or params are called words"):
        arguments(main, job({"words": "w"}, {"out": "o"}, {"words": "b"}))


def test_settings_are_several_arguments_and_inputs_together_are_files():
    def main(files, out, width, settings_of=None, **rates):
        pass

    inputs = {"train": "t", "dev": "d"}
    given = arguments(main, job(inputs, {"out": "o"}, {"settings": {"width": 4, "rate": 0.1}}))
    assert given == {"files": inputs, "out": "o", "width": 4, "rate": 0.1}

    def other(settings, train, dev, out):
        pass

    given = arguments(other, job(inputs, {"out": "o"}, {"settings": {"width": 4}}))
    assert given == inputs | {"out": "o", "settings": {"width": 4}}


def test_a_record_takes_its_parts():
    @dataclass
    class Pair:
        one: Any
        other: Any

        @classmethod
        def of_job(cls, given, threads):
            return cls(given.pop("one"), given.pop("other"))

    def main(pair: Pair, out):
        pass

    given = arguments(main, job({"one": "1"}, {}, {"other": 2}, unnamed=["a.svg", "a.csv"]))
    assert given == {"pair": Pair("1", 2), "out": ["a.svg", "a.csv"]}


STUDIES = {
    "": [
        *("exp4", "clark2025", "controls", "robust", "curves", "sensitivity", "maze", "mlm_pile"),
        *(
            "ranks_and_continuations",
            "abusive_words",
            "word_length",
            "part_of_speech",
            "devarda_marelli",
        ),
        *("working_memory", "search_dVM", "export_Pythia", "export_provo", "check_provo"),
    ],
    "config/demo.yaml": ["all", "power"],
    "config/ptb.yaml": ["all"],
    "config/ltcb.yaml": ["all"],
}


@pytest.mark.merge
@pytest.mark.parametrize("configs", STUDIES)
def test_every_job_of_the_studies_has_what_its_function_takes(configs):
    """Planned, not run: an input that a rule has for some experiments alone is optional there."""
    words = [sys.executable, ROOT / "tests" / "jobs_arguments.py", configs, *STUDIES[configs]]
    variables = os.environ | {"PYTHONPATH": SOURCES, "RECENCY_MIRROR": ""}
    run = subprocess.run(
        words, check=False, cwd=ROOT, env=variables, capture_output=True, text=True
    )
    rules = dict(line.split(": ", 1) for line in run.stdout.splitlines() if ": " in line)
    assert run.returncode == 0 and len(rules) > 15, run.stderr[-2000:]
    assert {rule: error for rule, error in rules.items() if error != "fits"} == {}
