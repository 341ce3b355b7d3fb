"""Which datasets and responses are one job: the same for whoever asks, and none for its own sake."""

import itertools
import re

import pytest

from project import ROOT, TINY, load
from recency import config as configuration
from recency.workflow.plan import batches
from recency.workflow.plan.study import Study

STUDIES = {"paper": [], "open": ["config/open.yaml"], "tiny": TINY}


def study_of(name, absent=(), **changes):
    study = Study(load(*STUDIES[name]) | changes, ROOT, [], True)
    study.absent = dict.fromkeys(absent, "is not here")
    return study


@pytest.mark.parametrize("name", STUDIES)
def test_whoever_asks_for_one_member_asks_for_all(name):
    study = study_of(name)
    asked = {
        experiment: {
            tuple(response[key] for key in batches.KEYS)
            for response in configuration.responses(study.config, experiment)
        }
        for experiment in study.config["experiments"]
    }
    for batch in batches.responses(study)[:-1]:
        for experiment, wanted in asked.items():
            if {*study.experiment(experiment)["lms"], "none"} & set(batch.lms):
                assert len(wanted & set(batch.members)) in (0, len(batch.members))
        designs = [study.config["designs"][design] for design, _, _ in batch.members]
        assert len({str(design["base"]) for design in designs}) == 1
        assert {design["engine"] for design in designs} <= set(batches.QUICK)
    for batch in batches.datasets(study)[:-1]:
        for experiment, wanted in asked.items():
            if set(study.experiment(experiment)["lms"]) & set(batch.lms):
                named = {dataset for _, dataset, _ in wanted}
                assert len(named & set(batch.members)) in (0, len(batch.members))


@pytest.mark.parametrize("name", STUDIES)
def test_every_member_is_in_one_batch_of_an_lm_or_alone(name):
    study = study_of(name)
    scored = [(lm, m) for batch in batches.datasets(study)[:-1] for lm in batch.lms for m in batch.members]  # fmt: skip
    assert len(scored) == len(set(scored))
    single, scored = re.compile(rf"({batches.scored_alone(study)})/.+"), set(scored)
    for each in itertools.product(study.lms_that_are("network"), study.config["datasets"]):
        assert (single.fullmatch("{}/{}.parquet".format(*each)) is not None) == (each not in scored)
    fitted = [(lm, *m) for batch in batches.responses(study)[:-1] for lm in batch.lms for m in batch.members]  # fmt: skip
    assert len(fitted) == len(set(fitted))
    single, fitted = re.compile(rf"({batches.fitted_alone(study)})/.+"), set(fitted)
    measures = {name: entry["measures"] for name, entry in study.config["datasets"].items()}
    designs, lms = ["spr", "eye_tracking", *study.config["designs"]][:6], [*study.config["lms"]][:9]
    for design, (dataset, names) in itertools.product(designs, measures.items()):
        for measure, lm in itertools.product(names, [*lms, "none"]):
            alone = single.fullmatch(f"{design}/{dataset}.{measure}/{lm}.full") is not None
            assert alone == ((lm, design, dataset, measure) not in fitted)


def test_another_lm_s_experiments_split_no_batch():
    study = study_of("paper")
    own = study.config["experiments"]["exp1"]
    before = batches.datasets(study), batches.responses(study)
    study.config["lms"]["other"] = study.config["lms"]["Pythia"]
    study.config["experiments"]["apart"] = own | {
        "lms": ["other"], "baseline": "other", "responses": {"spr": ["ucl_spr.SPR"]}
    }  # fmt: skip
    for batch in (*before[0], *before[1]):
        after = [*batches.datasets(study), *batches.responses(study)]
        assert any(set(batch.lms) - {"none"} <= set(each.lms) and batch.members == each.members for each in after)  # fmt: skip


def test_what_a_run_selects_changes_no_batch():
    """Asked for exp1, then exp2, then exp1: the same jobs."""
    every = batches.responses(study_of("paper"))
    assert len(every[0].members) == 13 and len(batches.datasets(study_of("paper"))[0].members) == 7
    for run in (["exp1"], ["exp2"], ["devarda_marelli"]):
        assert batches.responses(study_of("paper", run=run)) == every
        assert batches.datasets(study_of("paper", run=run)) == batches.datasets(study_of("paper"))


def test_what_is_not_here_holds_nothing_else_up():
    study = study_of("paper", absent=["dundee", "geco"])
    for batch in batches.responses(study)[:-1]:
        named = {dataset for _, dataset, _ in batch.members}
        assert len(named) == 1 or not named & {"dundee", "geco"}
    single = re.compile(rf"({batches.scored_alone(study)})/.+")
    assert all(single.fullmatch(f"Pythia/{name}.parquet") for name in ("dundee", "geco"))


def test_slow_engines_are_a_job_each():
    config = load()
    config["designs"]["spr"]["engine"] = "lme4"
    study = Study(config, ROOT, [], True)
    fitted = {each[0] for batch in batches.responses(study)[:-1] for each in batch.members}
    assert "spr" not in fitted and "eye_tracking" in fitted


def test_fits_run_side_by_side_where_lms_leave_cores():
    study = study_of("tiny")
    simulated = ("spr", "simulated_spr", "SPR")
    batch = next(each for each in batches.responses(study) if simulated in each.members)
    jobs = len(study.experiment("simulated")["lms"]) + 1
    assert batches.processes(study, batch, jobs) == 1 == batches.processes(study, batch, None)
    assert batches.processes(study, batch, 2 * jobs) == 2
    assert batches.processes(study, batch, 100) == len(batch.members) == 2
