"""The study of the released masked LMs is planned, and a run names the files that are missing."""

import pytest

from project import copy_project, plan, planned, snakemake

pytestmark = [pytest.mark.apart, pytest.mark.merge]
CONFIGS = ["config/open.yaml", "config/masked-released.yaml"]


def test_eight_models_are_planned_and_missing_ones_are_named(tmp_path):
    project = copy_project(tmp_path / "project")
    made = plan(project, "masked_released", configs=CONFIGS)
    assert made.returncode == 0, made.stdout[-3000:]
    jobs = planned(made.stdout)
    assert (jobs["fine_tune"], jobs["length_perplexity"]) == (64, 8)
    assert "train" not in jobs
    here = project / "data" / "supplied" / "masked-released" / "alibi"
    here.mkdir(parents=True)
    run = snakemake(project, "masked_released", configs=CONFIGS)
    assert run.returncode != 0
    missing = [line for line in run.stdout.splitlines() if "there is no data/supplied/" in line]
    assert len(missing) == 7 and not any("Released-alibi:" in line for line in missing)
    assert all("download https://drive.google.com/file/d/" in line for line in missing)
