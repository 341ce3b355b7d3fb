"""What a job that failed leaves behind does not pass for what is done."""

import pytest
from project import ROOT, snakemake

SNAKEFILE = """
import os
import sys

sys.path.insert(0, "SRC")
from recency.workflow import records

records.keep_those_of_done_jobs()
if workflow.is_main_process:
    with open("main", "w") as file:
        file.write(str(os.getpid()))

rule all:
    input: "c"

rule a:
    output: "a"
    params: config["first"]
    shell: "echo {params} > {output}"

rule b:
    input: "a"
    output: "b"
    params: config["second"]
    shell: "cat {input} > {output}; echo {params} >> {output}; test ! -e fail || ENDING"

rule c:
    input: "b"
    output: "c"
    shell: "cat {input} > {output}"
"""


@pytest.mark.parametrize("ending", ["exit 1", "{{ kill -9 $(cat main); sleep 1; }}"])
@pytest.mark.parametrize("changed", ["first", "second"])
def test_what_follows_from_a_job_that_failed_is_made_anew(tmp_path, changed, ending):
    """Its input or its parameters had changed; its outputs of before are gone."""
    text = SNAKEFILE.replace("ENDING", ending).replace("SRC", str(ROOT / "src"))
    (tmp_path / "Snakefile").write_text(text)

    def run(**config):
        config = {"first": 1, "second": 1} | config
        words = ["--config", *(f"{name}={value}" for name, value in config.items())]
        words += ["--nolock", "--rerun-incomplete", "--rerun-triggers", "mtime", "params", "input"]
        return snakemake(tmp_path, *words)

    assert run().returncode == 0 and (tmp_path / "c").read_text() == "1\n1\n"
    (tmp_path / "fail").touch()
    assert run(**{changed: 2}).returncode
    (tmp_path / "fail").unlink()
    done = run(**{changed: 2})
    assert done.returncode == 0, done.stdout
    expected = "2\n1\n" if changed == "first" else "1\n2\n"
    assert (tmp_path / "c").read_text() == expected, done.stdout
    assert "Nothing to be done" in run(**{changed: 2}).stdout
