"""Experiments with several seeds or settings: their names, their plan, their table and figure."""

import copy
import csv
import re
from pathlib import Path

import pytest
import yaml

from crosslmm.stats.crossed_samples import BY
from project import SCHEMA, TINY, copy_project, load, merged, plan, planned, show
from recency import config as configuration
from recency import grids
from recency.errors import InputError
from recency.evaluations.reading_times import tables_of_tests
from recency.evaluations.sensitivity import grid as sensitivity
from recency.evaluations.training import spec as training
from recency.workflow.config import checks as config_checks
from recency.workflow.plan.study import Study

ROOT = Path(__file__).resolve().parents[2]
GRID = """
run: [grid]
experiments:
  grid:
    title: What the result hangs on
    lms: [Pythia, ALiBi-mix-I, ALiBi-mix-TI]
    baseline: Pythia
    responses: {spr: [simulated_spr.SPR], eye_tracking: [simulated_eye_tracking.FP]}
    seeds: [1, 2]
    sensitivity: {bos: [true, false], stride: [null, 16], surprisal: [plain, corrected], response: [raw, log]}
"""


@pytest.fixture
def config():
    """Return the tiny study, whose seed is 1 and which scores after a beginning of text."""
    return merged(load(*TINY), yaml.safe_load(GRID))


def test_a_grid_is_written_out(config):
    config_checks.check(config, SCHEMA)
    grid = grids.expand(config)["grid"]
    experiment = config["experiments"]["grid"]
    assert experiment["lms"] == list(grid["lms"]) and len(grid["lms"]) == 3 * 8
    assert list(experiment["responses"]) == list(grid["designs"])
    assert len(grid["designs"]) == 2 * 4
    # What is as the study has it keeps its name, and so its files.
    assert {"Pythia", "ALiBi-mix-I", "ALiBi-mix-TI"} < set(grid["lms"])
    assert experiment["baseline"] == "Pythia"
    name = "ALiBi-mix-TI@bos=false,stride=16,seed=2"
    assert grid["lms"][name] == {"lm": "ALiBi-mix-TI", "bos": False, "stride": 16, "seed": 2}
    lm = configuration.language_model(config, name)
    assert (lm["bos"], lm["stride"], lm["seed"]) == (False, 16, 2)
    assert lm["weights"] == "ALiBi-mix-TI@seed=2" and lm["bias"]["slopes"] == "mix"
    assert lm["label"] == "ALiBi-mix-TI, bos no, stride 16, seed 2"
    # A bias is added at inference to the LM of the same seed, however it is scored.
    other = config["lms"]["ALiBi-mix-I@bos=false,seed=2"]
    assert other["weights"] == "Pythia@seed=2" and other["applied"] == "inference"
    assert config["lms"]["Pythia@seed=2"] == {"bias": "none", "seed": 2, "label": "no bias, seed 2"}
    design = config["designs"]["spr@surprisal=corrected,response=log"]
    assert design == config["designs"]["spr"] | {"surprisal": "corrected", "response": "log"}


def test_seeds_alone_pair_the_comparisons(config):
    del config["experiments"]["grid"]["sensitivity"]
    config["experiments"]["grid"]["compare"] = [["ALiBi-mix-TI", "Pythia"]]
    before = copy.deepcopy(config["experiments"]["grid"]["responses"])
    grids.expand(config)
    experiment = config["experiments"]["grid"]
    assert experiment["lms"][:2] == ["Pythia", "Pythia@seed=2"] and len(experiment["lms"]) == 6
    assert experiment["responses"] == before
    pairs = [["ALiBi-mix-TI", "Pythia"], ["ALiBi-mix-TI@seed=2", "Pythia@seed=2"]]
    assert experiment["compare"] == pairs


def test_a_checkpoint_from_elsewhere_has_no_seeds(config):
    config["lms"]["gpt2"] = {"checkpoint": "gpt2", "bos": True}
    config["experiments"]["grid"]["lms"] = ["Pythia", "gpt2"]
    lms = grids.expand(config)["grid"]["lms"]
    assert [lm for lm in lms if lm.startswith("gpt2")] == [
        *("gpt2", "gpt2@stride=16", "gpt2@bos=false", "gpt2@bos=false,stride=16")
    ]
    assert "weights" not in config["lms"]["gpt2@bos=false"]


def test_experiments_without_a_grid_stay(config):
    config["experiments"] = {"simulated": config["experiments"]["simulated"]}
    before = copy.deepcopy(config)
    assert grids.expand(config) == {} and config == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sensitivity": {"boss": [True]}}, "unknown key 'boss'; did you mean 'bos'?"),
        ({"sensitivity": {"response": ["cubed"]}}, "'cubed' is not one of"),
        ({"sensitivity": {"family": ["gaussian", "gama"]}}, "did you mean 'gamma'?"),
        ({"seeds": [1, 1]}, "seeds: 1 stands twice"),
        (
            {"compare": [["ALiBi-mix-TI", "Pythia"]]},
            "`sensitivity` cannot be combined with `compare`; use two experiments",
        ),
    ],
)
def test_mistakes_are_named(config, change, said):
    merged(config["experiments"]["grid"], change)
    with pytest.raises(InputError, match=re.escape(said)):
        config_checks.check(config, SCHEMA)


@pytest.mark.merge
def test_a_grid_plans_each_fit_once(tmp_path):
    folder = copy_project(tmp_path)
    (folder / "grid.yaml").write_text(GRID)
    run = plan(folder, configs=[*TINY, "grid.yaml"])
    assert run.returncode == 0, run.stdout[-3000:]
    jobs = planned(run.stdout)
    # Two seeds of Pythia and of ALiBi-mix-TI; the readers' own LM.
    assert jobs["train"] == 5
    # A job an LM scores both datasets.
    assert jobs["surprisal"] == 3 * 8 + 1
    # A job an LM fits both responses by all designs. The bases, and the two LMs, that another
    # experiment has too take two: one for the designs that it has, one for the others.
    assert jobs["regression"] == 24 + 2 + 2
    assert jobs["figure_sensitivity"] == 1 and "figure_delta_loglik" not in jobs


NAMES = ("lm", "label", "dataset", "measure", "design", "delta_loglik", "n")
OWN = ("loglik", "n_exploratory")


def results(folder, config):
    """Write ΔLogLik in which ALiBi-mix-TI is best but for log times; return what the rule gives."""
    grid = grids.expand(config)["grid"]
    listed = [
        {"dataset": "simulated_spr", "measure": "SPR", "label": "Simulated"}
        | {"design": design, "at": at}
        for at, design in enumerate(d for d in grid["designs"] if d.startswith("spr"))
    ]
    with (folder / "delta_loglik.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*NAMES[:5], "endpoint", *NAMES[5:], *OWN, "converged", "note"])
        for name, lm in grid["lms"].items():
            for row in listed:
                log = grid["designs"][row["design"]]["response"] == "log"
                best = ("Pythia" if log else "ALiBi-mix-TI") == lm["lm"]
                value = 10 + 5 * best + row["at"] + 0.1 * lm["seed"]
                failed = name == "Pythia" and row["design"] == "spr"
                names = (name, lm["lm"], "simulated_spr", "SPR", row["design"])
                table.writerow([*names, "crossed", value, 99, -500 - row["at"], 99, not failed, ""])
    with (folder / "intervals.csv").open("w", newline="") as file:
        table = csv.writer(file)
        columns = ["kind", "n", "delta_loglik", "low", "high", "by"]
        table.writerow([*NAMES[:1], *NAMES[2:5], *columns])
        for name, lm in grid["lms"].items():
            for row in listed:
                table.writerow(
                    [name, "simulated_spr", "SPR", row["design"], "own", 99, 15, 5, 25, BY]
                )
                if lm["lm"] != "Pythia":
                    ends = (99, 5, 2, 8, BY) if lm["lm"] == "ALiBi-mix-TI" else (99, 0, -3, 3, BY)
                    table.writerow([name, "simulated_spr", "SPR", row["design"], "baseline", *ends])
    lms = [
        {"lm": lm, "label": lm, "bias": {"form": form}, "applied": applied}
        for lm, form, applied in (
            ("Pythia", "none", "none"),
            ("ALiBi-mix-I", "linear", "inference"),
            ("ALiBi-mix-TI", "linear", "training"),
        )
    ]
    absent = {"dataset": "gone", "measure": "FP", "label": "Gone"}
    return {"grid": grid, "lms": lms, "responses": [*listed, absent], "title": "Hangs on"} | {
        "baseline": "Pythia"
    }


def test_table_and_figure_of_a_grid(config, tmp_path):
    params = results(tmp_path, config)
    table = [tmp_path / f"table.{ending}" for ending in ("csv", "html", "tex")]
    figure = [tmp_path / f"figure.{ending}" for ending in ("pdf", "svg", "png", "csv")]
    show(
        sensitivity.main,
        delta_loglik=tmp_path / "delta_loglik.csv",
        intervals=tmp_path / "intervals.csv",
        not_run=None,
        figure=figure,
        table=table,
        **params,
    )
    with table[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24 * 4
    cell = {"lm": "ALiBi-mix-TI", "bos": "no", "stride": "half a window", "seed": "2"}
    cell |= {"surprisal": "corrected", "response": "raw"}
    found = [row for row in rows if cell.items() <= row.items()]
    assert len(found) == 1 and float(found[0]["delta_loglik"]) == pytest.approx(15 + 2 + 0.2)
    html = table[1].read_text()
    # Two values of each of five settings: 32 cells.
    assert html.count("<tr") == 2 + 32
    assert "<b>17.2</b><small>2.0 to 8.0</small>" in html and "<small>−3.0 to 3.0</small>" in html
    assert html.count("<b>") == 32  # one LM's differences leave zero out
    assert float(found[0]["low"]) == 2 and float(found[0]["high"]) == 8
    assert "number of 32 cells with the highest value: Pythia 16, ALiBi-mix-TI 16" in html
    assert "†" in html and "In all cells: base all" in html and "Not run: Gone FP" in html
    svg = figure[1].read_text()
    assert "of unseen subjects and sentences" in html and "every draw refitted" in html
    assert "exploratory partition" not in html
    drawn = [lm["lm"] for lm in params["lms"] if f"Simulated SPR {lm['lm']}" in svg]
    assert drawn == ["ALiBi-mix-I", "ALiBi-mix-TI"]  # the baseline is the dashed line
    again = tmp_path / "again.svg"
    show(
        sensitivity.main,
        delta_loglik=tmp_path / "delta_loglik.csv",
        intervals=tmp_path / "intervals.csv",
        not_run=None,
        figure=[again],
        table=[],
        **params,
    )
    assert again.read_text() == svg


def test_responses_are_summed_in_each_cell(config, tmp_path):
    params = results(tmp_path, config)
    with (tmp_path / "delta_loglik.csv").open("a", newline="") as file:
        csv.writer(file).writerow(
            ["Pythia", "Pythia", "other", "FP", "spr", "crossed", 3, 99, -500, 99, True, ""]
        )
    raw = grids.settings_of_designs(params["grid"]["designs"])["spr"]
    with (tmp_path / "intervals.csv").open("a", newline="") as file:
        for lm, kind, value in (("Pythia", "own", 18), ("ALiBi-mix-TI", "own", 23),
                                ("ALiBi-mix-TI", "baseline", 5)):  # fmt: skip
            csv.writer(file).writerow([lm, "all", "all", raw, kind, 198, value, 2, 8, BY])
    params["responses"].insert(0, {"dataset": "other", "measure": "FP", "label": "Other"})
    files = [tmp_path / name for name in ("delta_loglik.csv", "intervals.csv")]
    out = [tmp_path / "f.svg"], [tmp_path / "t.csv", tmp_path / "t.html", tmp_path / "t.tex"]
    show(
        sensitivity.main,
        delta_loglik=files[0],
        intervals=files[1],
        not_run=None,
        figure=out[0],
        table=out[1],
        **params,
    )
    with out[1][0].open(newline="") as file:
        summed = [row for row in csv.DictReader(file) if row["dataset"] == "all"]
    assert [(row["lm"], float(row["delta_loglik"]), row["low"]) for row in summed] == [
        ("Pythia", 18, ""),
        ("ALiBi-mix-TI", 23, "2.0"),
    ]
    assert {row["response"] for row in summed} == {"raw"} and summed[0]["bos"] == "yes"
    assert "Responses that all LMs have, summed" in out[1][1].read_text()
    assert [row["converged"] for row in summed] == ["False", "True"]  # one fit of Pythia did not


def test_table_of_seeds(tmp_path):
    text = (
        "lm,against,dataset,measure,design,seeds,sentences,delta_loglik,sd_seed,sd_sentence,"
        "sd_residual,se_seeds,se_sentences,se,low,high\n"
        "Pythia,,d,SPR,spr,3,90,12.5,2,3,1,1.2,3,3.3,6.0,19.0\n"
        "mix,,d,SPR,spr,3,90,14.0,2,3,1,1.2,3,3.3,-1.5,20.5\n"
        "mix,Pythia,d,SPR,spr,3,90,1.5,,3,,,3,3.0,-4.4,7.4\n"
    )
    (tmp_path / "seeds.csv").write_text(text)
    lms = [
        {"lm": name, "label": name.title(), "bias": {"form": form}, "applied": applied}
        for name, form, applied in (("Pythia", "none", "none"), ("mix", "linear", "training"))
    ]
    out = [tmp_path / f"t.{ending}" for ending in ("csv", "html", "tex")]
    responses = [{"dataset": "d", "measure": "SPR", "label": "UCL"}]
    show(
        tables_of_tests.table_seeds,
        seeds=tmp_path / "seeds.csv",
        out=out,
        lms=lms,
        responses=responses,
    )
    html = out[1].read_text()
    assert "<b>12.5</b><small>6.0 to 19.0</small>" in html
    assert "<b>14.0" not in html and "Mix − Pythia" in html and "class='rule'" in html


def test_a_network_scored_otherwise_has_the_weights_of_its_own_seed():
    """The open study's `mlm`: five masked LMs scored three ways are five trainings a seed."""
    study = Study(load("config/open.yaml"), ROOT, dry_run=True)
    for name, seed in (("MLM-alibi-removed", ""), ("MLM-alibi-removed@seed=2", "@seed=2")):
        assert study.weights(name)[0] == f"<results>/lms/MLM-alibi{seed}/config.json"
        assert study.opening(name)["bias"] is None  # it was trained with its bias
        assert study.lms[name]["bias"]["form"] == "linear_both"
        assert study.lms[name]["scoring"] == {"future": "removed"}
    assert len(study.experiment("mlm")["lms"]) == 17 * 3
    assert len(training.trained(study, "mlm")) == 7 * 3
    masked = training.masked(study, "mlm")
    assert {each["lm"] for each in masked} == set(study.config["lm_groups"]["mlm-as-run"])
    assert [each["variant"] for each in masked] == study.named_lms("mlm", "glue")
