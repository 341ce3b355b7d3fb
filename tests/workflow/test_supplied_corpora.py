"""Brown, GECO and Dundee in their authors' layouts, from the files to Table 1."""

import pandas as pd
import pytest

import corpora_as_published
from project import copy_project, snakemake

pytestmark = pytest.mark.merge

TABLE = "results/paper/paper/experiments/clark2025/table_observations.csv"
SUPPLIED = """
experiments:
  clark2025:
    responses: {spr: [brown.SPR], eye_tracking: [geco.FP, geco.GP, dundee.SP, dundee.FP, dundee.GP]}
"""


def test_supplied_corpora_reach_table_1(tmp_path):
    project = copy_project(tmp_path / "project")
    supplied = project / "data/supplied"
    supplied.mkdir(parents=True)
    expected = {
        "Brown": corpora_as_published.brown(supplied, texts=2, readers=4, each=8),
        "GECO": corpora_as_published.geco(supplied, pages=8, readers=3),
        "Dundee": corpora_as_published.dundee(supplied, texts=2, readers=3, each=30),
    }
    (project / "supplied.yaml").write_text(SUPPLIED)
    run = snakemake(project, TABLE, configs=["supplied.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    table = pd.read_csv(project / TABLE).groupby("response").reproduced.sum().drop("Total")
    assert table.to_dict() == {
        f"{corpus} {measure}": count
        for corpus, counts in expected.items()
        for measure, count in counts.items()
    }
