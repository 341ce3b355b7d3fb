"""Results that were edited by hand reach no regression, and are made again once they are deleted."""

import pandas as pd
import pytest
from project import TINY, snakemake

from recency import checksums

RESULTS = "results/tiny/cores"


def contracts(study):
    folders = ("datasets/*/*", "observations/*/*", "surprisal/*/*")
    return [path for folder in folders for path in study.glob(f"{RESULTS}/{folder}.parquet")]


def test_all_contract_files_have_their_checksum(finished):
    found = contracts(finished)
    assert len(found) > 10
    assert {path.name: checksums.problem(path) for path in found} == {
        path.name: "" for path in found
    }


@pytest.mark.merge
def test_a_shifted_column_is_refused_and_made_again(study):
    path = study / f"{RESULTS}/surprisal/ALiBi-mix-TI/simulated_spr.parquet"
    before = path.read_bytes()
    frame = pd.read_parquet(path)
    frame.assign(surprisal_bits=frame.surprisal_bits.shift(fill_value=0)).to_parquet(path)
    run = snakemake(study, configs=TINY)
    assert run.returncode == 1
    assert f"{path.relative_to(study)}: it has no checksum of the workflow" in run.stdout
    path.unlink()
    run = snakemake(study, str(path.relative_to(study)), configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    assert path.read_bytes() == before
