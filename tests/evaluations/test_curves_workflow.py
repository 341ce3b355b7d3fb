"""An experiment with steps, by Snakemake: trained, kept, scored, fitted, drawn; and refused where it must."""

import json
import shutil

import pandas as pd
import pytest
import yaml

from project import TINY, plan, snakemake
from recency.networks import checkpoints

pytestmark = pytest.mark.merge

RESULTS = "results/tiny/cores"
KEPT = {
    "recipes": {"demo": {"checkpoints": [5, 20]}},
    "run": ["along"],
    "lms": {"early": {"checkpoint_of": "ALiBi-mix-TI", "step": 5}},
    "experiments": {
        "along": {
            "title": "Along the training",
            "lms": ["Pythia", "ALiBi-mix-TI"],
            "baseline": "Pythia",
            "steps": [5, 40],
            "responses": {"spr": ["simulated_spr.SPR"]},
        }
    },
}


def test_learning_curves_from_trainings_to_the_report(study):
    (study / "kept.yaml").write_text(yaml.safe_dump(KEPT))
    configs = [*TINY, "kept.yaml"]
    run = snakemake(study, "--nocolor", configs=configs)
    assert run.returncode == 0, run.stdout[-4000:]
    results = study / RESULTS
    rows = pd.read_csv(results / "experiments/along/curves.csv", keep_default_na=False)
    fits = rows[(rows.quantity == "delta_loglik") & (rows.dataset == "simulated_spr")]
    assert sorted(zip(fits.lm, fits.step)) == sorted(
        (lm, step) for lm in KEPT["experiments"]["along"]["lms"] for step in (5, 40)
    )
    where = results / "regression/spr/simulated_spr.SPR"

    def loglik(name):
        return json.loads((where / f"{name}.json").read_text())["loglik"]["exploratory"]

    for row in fits.itertuples():
        name = row.lm if row.step == 40 else f"{row.lm}@step={row.step}"
        expected = loglik(f"{name}.full") - loglik("none.base")
        assert abs(float(row.value) - expected) < 1e-6 * abs(loglik("none.base"))
    assert set(rows.quantity) == {"delta_loglik", "perplexity"}
    perplexity = rows[(rows.quantity == "perplexity") & (rows.lm == "Pythia")]
    assert perplexity[perplexity.dataset == "all"].value.astype(float).is_monotonic_decreasing
    summary = (results / "summary.txt").read_text()
    assert "Along the training" in summary and "no bias fits best at" in summary
    assert "fits best at" in (results / "report.html").read_text()

    # What was kept is the network that was trained, at another time.
    lms = results / "lms"
    own, kept = lms / "ALiBi-mix-TI@step=5", lms / "ALiBi-mix-TI/checkpoints/step5"
    assert checkpoints.load(own).config.bias == checkpoints.load(lms / "ALiBi-mix-TI").config.bias
    kept_weights = (kept / "model.safetensors").read_bytes()
    assert (own / "model.safetensors").read_bytes() == kept_weights
    run = plan(study, configs=configs)
    assert "Nothing to be done" in run.stdout, run.stdout[-3000:]

    # By hand it is the same LM; gone, or asked for at a step that was not kept, it is refused.
    early = f"{RESULTS}/lms/early/config.json"
    assert snakemake(study, "--nocolor", early, configs=configs).returncode == 0
    assert (lms / "early/model.safetensors").read_bytes() == kept_weights
    assert "Nothing to be done" in plan(study, configs=configs).stdout
    shutil.rmtree(lms / "early")
    shutil.rmtree(kept)
    run = snakemake(study, "--nocolor", early, configs=configs)
    assert run.returncode != 0 and "checkpoints/step5/model.safetensors is gone" in run.stdout
    KEPT["recipes"]["demo"]["checkpoints"], KEPT["lms"]["early"]["step"] = [5, 6, 20], 6
    (study / "kept.yaml").write_text(yaml.safe_dump(KEPT))
    arguments = (
        "--nocolor",
        early,
        "--rerun-triggers",
        "mtime",
    )  # the change of recipe is not seen
    run = snakemake(study, *arguments, configs=configs)
    assert run.returncode != 0
    assert "the training of ALiBi-mix-TI kept no step 6 (it kept 5, 20)" in run.stdout
