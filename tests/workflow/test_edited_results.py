"""Results that were edited or swapped by hand enter no other result, and are made again once deleted."""

import os
import re
import shutil

import pandas as pd
import pytest

from project import TINY, snakemake
from recency import lineage
from recency.command.main import main

RESULTS = "results/tiny/cores"
FITS = f"{RESULTS}/regression/spr/simulated_spr.SPR"
EXPERIMENT = f"{RESULTS}/experiments/simulated"


def swap(study, first, second):
    """Swap two files or folders, with their times."""
    spare = study / "spare"
    (study / first).rename(spare)
    (study / second).rename(study / first)
    spare.rename(study / second)


def add(study, pattern, amount):
    """Add to a number of a table, and set the times of the file back."""
    path = min(study.glob(pattern))
    before = path.stat()
    is_csv = path.suffix == ".csv"
    frame = pd.read_csv(path) if is_csv else pd.read_parquet(path)
    column = [name for name in frame if frame[name].dtype.kind == "f"][-1]
    frame.loc[0, column] += amount
    frame.to_csv(path, index=False) if is_csv else frame.to_parquet(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def forget(study, *names):
    for name in names:
        path = study / RESULTS / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def add_to_a_score_of_the_bootstrap(study):
    add(study, f"{RESULTS}/crossed/*/spr/*/*full.parquet", 10.0)
    forget(study, "experiments")


def add_to_a_cell_of_a_table(study):
    add(study, f"{EXPERIMENT}/delta_loglik.csv", 500.0)
    forget(study, "experiments/simulated/verdict.json", "report.html", "summary.txt")


def add_to_a_surprisal(study):
    add(study, f"{RESULTS}/surprisal/Pythia/simulated_spr.parquet", 9.0)
    forget(study, "regression", "experiments")


def swap_fits(study):
    swap(study, f"{FITS}/Pythia.full.json", f"{FITS}/ALiBi-mix-TI.full.json")
    forget(study, "experiments")


def swap_surprisals(study):
    names = (f"{RESULTS}/surprisal/{lm}/simulated_spr.parquet" for lm in ("Pythia", "ALiBi-mix-TI"))
    swap(study, *names)
    forget(study, "regression", "crossed", "experiments")


def swap_surprisals_with_their_records(study):
    for folder in ("surprisal", "lineage/surprisal"):
        swap(study, *(f"{RESULTS}/{folder}/{lm}" for lm in ("Pythia", "ALiBi-mix-TI")))
    forget(study, "regression", "crossed", "experiments")


def swap_weights(study):
    swap(study, *(f"{RESULTS}/lms/{lm}/model.safetensors" for lm in ("Pythia", "ALiBi-mix-TI")))
    forget(study, "surprisal", "regression", "crossed", "experiments")


def swap_configs_of_networks(study):
    swap(study, *(f"{RESULTS}/lms/{lm}/config.json" for lm in ("Pythia", "ALiBi-mix-TI")))
    forget(study, "surprisal", "regression", "crossed", "experiments")


def edit_the_special_tokens(study):
    path = study / RESULTS / "lms/Pythia/tokenizer_config.json"
    path.write_text(path.read_text().replace("bos_token", "cls_token"))
    forget(study, "surprisal", "regression", "crossed", "experiments")


def edit_the_ngrams(study):
    path = study / RESULTS / "unigrams/simulated.arpa"
    path.write_text(path.read_text().replace("-2.", "-3.", 1))
    forget(study, "surprisal", "regression", "crossed", "experiments")


ATTACKS = {
    add_to_a_score_of_the_bootstrap: "crossed/",
    add_to_a_cell_of_a_table: "experiments/simulated/delta_loglik.csv",
    add_to_a_surprisal: "surprisal/Pythia/simulated_spr.parquet",
    swap_fits: "regression/spr/simulated_spr.SPR/",
    swap_surprisals: "surprisal/",
    swap_surprisals_with_their_records: "surprisal/",
    swap_weights: "lms/",
    swap_configs_of_networks: "lms/",
    edit_the_special_tokens: "lms/Pythia/tokenizer_config.json",
    edit_the_ngrams: "unigrams/simulated.arpa",
}
SAMPLE = add_to_a_score_of_the_bootstrap


@pytest.mark.parametrize(
    "attack", [pytest.param(a, marks=() if a is SAMPLE else pytest.mark.merge) for a in ATTACKS]
)
def test_no_result_is_made_from_it(study, attack):
    attack(study)
    run = snakemake(study, configs=TINY)
    assert run.returncode == 1, run.stdout[-3000:]
    name = re.escape(f"{RESULTS}/{ATTACKS[attack]}")
    assert re.search(rf"{name}\S*: .* rm {name}", run.stdout), run.stdout[-3000:]
    assert not (study / EXPERIMENT / "verdict.json").exists()


@pytest.mark.merge
def test_it_is_made_again(study):
    path = study / RESULTS / "surprisal/ALiBi-mix-TI/simulated_spr.parquet"
    before = path.read_bytes()
    add(study, str(path.relative_to(study)), 1.0)
    path.unlink()
    run = snakemake(study, str(path.relative_to(study)), configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    assert path.read_bytes() == before


@pytest.mark.merge
def test_results_without_records_are_refused_or_adopted(study):
    forget(study, "lineage")
    run = snakemake(study, configs=TINY)
    assert run.returncode == 1 and "records of format none" in run.stdout
    forget(study, "experiments")
    run = snakemake(study, "--config", "adopt=true", configs=TINY)
    assert run.returncode == 0, run.stdout[-3000:]
    adopted = {record.adopted for record in lineage.records(study / RESULTS).values()}
    assert adopted == {True, False}


def test_every_result_has_a_record(finished):
    results = finished / RESULTS
    of_runs = {"lineage", "logs", "benchmarks", ".kept"}
    files = {
        path.relative_to(results).as_posix()
        for path in results.rglob("*")
        if path.is_file() and not of_runs & set(path.relative_to(results).parts)
    }
    assert files > set(lineage.records(results))
    without = files - set(lineage.records(results))
    side_files = ("passages-", "generation_config", "status.", "timings", "simulated.arpa.history", ".")  # fmt: skip
    assert [name for name in without if not name.rpartition("/")[2].startswith(side_files)] == []


def test_verify_prints_the_chain_from_report_to_text(finished, monkeypatch, capsys):
    monkeypatch.chdir(finished)
    assert main(["verify"]) == 0
    lines = capsys.readouterr().out.splitlines()
    kinds = [line.split()[0] for line in lines[1:-1]]
    order = ("report_page", "verdict", "delta_loglik", "regression", "observations", "responses")
    assert [kind for kind in kinds if kind in order] == list(order)
    assert kinds.index("surprisal") < kinds.index("train") < kinds.index("simulate_text")
    assert main(["verify", f"{EXPERIMENT}/delta_loglik.csv"]) == 0
    assert "lms/Pythia/model.safetensors" in capsys.readouterr().out


def test_verify_names_the_first_break(study, monkeypatch, capsys):
    monkeypatch.chdir(study)
    swap_fits(study)
    assert main(["verify"]) == 2
    error = capsys.readouterr().err
    assert (
        "the chain breaks at results/tiny/cores/regression/spr" in error and "(and 1 more)" in error
    )
    assert main(["verify", f"{RESULTS}/lms/Pythia/config.json"]) == 0
    assert main(["verify", "README.md"]) == 2
    capsys.readouterr()
    assert main(["verify", f"{RESULTS}/lms"]) == 0
    monkeypatch.chdir(study / "results")
    assert main(["verify", "tiny/cores/lms/Pythia"]) == 0
    assert "lms/Pythia/model.safetensors" in capsys.readouterr().out


def test_verify_names_files_whose_records_are_gone(study, monkeypatch, capsys):
    monkeypatch.chdir(study)
    records = study / RESULTS / "lineage"
    (records / "experiments/simulated/table_delta_loglik.csv.json").unlink()
    assert main(["verify"]) == 0
    assert "without a record, and read by nothing above: experiments/" in capsys.readouterr().out
    (records / "surprisal/Pythia/simulated_spr.parquet.json").unlink()
    assert main(["verify"]) == 2
    assert "surprisal/Pythia/simulated_spr.parquet: the workflow has no" in capsys.readouterr().err


@pytest.mark.merge
def test_an_edited_input_with_its_time_set_back_and_a_checkpoint_of_the_user(study):
    net, over = study / "net", study / "over.yaml"
    shutil.copytree(study / RESULTS / "lms/Pythia", net)
    over.write_text(
        "lms: {ext: {label: ext, checkpoint: net}}\nexperiments: {own: {title: own, lms: [Pythia, ext], "
        "baseline: Pythia, responses: {spr: [simulated_spr.SPR]}}}\n"
    )
    configs, surprisal = [*TINY, "over.yaml"], f"{RESULTS}/surprisal/ext/simulated_spr.parquet"
    run = snakemake(study, surprisal, configs=configs)
    assert run.returncode == 0, run.stdout[-3000:]
    before = pd.read_parquet(study / surprisal)
    weights = net / "model.safetensors"
    times = weights.stat()
    shutil.copy(study / RESULTS / "lms/ALiBi-mix-TI/model.safetensors", weights)
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    run = snakemake(study, f"{FITS}/ext.full.json", configs=configs)
    assert run.returncode == 1 and "net/model.safetensors has changed" in run.stdout
    os.utime(weights)
    run = snakemake(study, surprisal, configs=configs)
    assert run.returncode == 0, run.stdout[-3000:]
    assert not pd.read_parquet(study / surprisal).equals(before)
