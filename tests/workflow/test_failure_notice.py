"""What a run says once a job failed and it starts no more."""

import pytest
from project import ROOT, snakemake

pytestmark = pytest.mark.merge

SNAKEFILE = """
import sys

sys.path.insert(0, "SRC")
from recency.workflow import failure_notice

failure_notice.REPEAT_AFTER = 0.2

onstart:
    failure_notice.watch(workflow)

rule all:
    input: "bad", "slow/mine", "late"

rule bad:
    output: "bad"
    shell: "timeout 60 bash -c 'until [ -e started ]; do sleep 0.1; done'; exit 1"

rule slow:
    output: "slow/{which}"
    shell: "touch started {output}; timeout 60 bash wait"

rule late:
    input: "slow/mine"
    output: "late"
    shell: "touch {output}"
"""
SAID = "bad failed (see above), so no further jobs are started; these jobs still run: slow mine."


@pytest.mark.parametrize("arguments", [[], ["--keep-going"]], ids=["ends", "keeps going"])
def test_a_run_that_starts_no_more_jobs_says_so_until_it_ends(tmp_path, arguments):
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("SRC", str(ROOT / "src")))
    until_said = f"until [ $(grep -cF '{SAID}' .printed.txt) -ge 2 ]; do sleep 0.1; done"
    (tmp_path / "wait").write_text("sleep 1" if arguments else until_said)
    run = snakemake(tmp_path, "--nolock", *arguments)
    assert run.returncode == 1
    assert (run.stdout.count(SAID) >= 2) == (not arguments), run.stdout
    assert (tmp_path / "late").exists() == bool(arguments)
