"""The share of starting jobs: a run without work imports what the whole one did, and is its size."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from project import ROOT

pytestmark = pytest.mark.merge


@pytest.fixture
def study_cost(load_benchmark, monkeypatch):
    """Import the benchmark, with its neighbours in reach."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    module = load_benchmark("study_cost")
    return module


def as_job(script: str, output: Path, **more: str) -> list[str]:
    """Run a script as Snakemake would; return the names that it prints."""
    begin = f"from types import SimpleNamespace as S; snakemake = S(output=[{str(output)!r}])\n"
    run = subprocess.run(
        [sys.executable, "-c", begin + script],
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.split()


def test_a_job_without_work_imports_what_the_whole_one_had(study_cost, tmp_path):
    output, seen = tmp_path / "made" / "a b.csv", {"SEEN": str(tmp_path)}
    output.parent.mkdir()
    (tmp_path / "sitecustomize.py").write_text(study_cost.SEEN)
    work = "def main():\n    import colorsys\nmain()"  # as late as a job may
    as_job(work, output, PYTHONPATH=str(tmp_path), **seen)
    assert not output.exists()
    told = as_job(study_cost.WORKLESS + "\nimport sys; print(*sys.modules)", output, **seen)
    assert "colorsys" in told and output.read_bytes() == b""


def test_a_process_that_is_no_job_notes_nothing(study_cost, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(study_cost.SEEN)
    environment = os.environ | {"SEEN": str(tmp_path / "absent"), "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", "pass"], env=environment, capture_output=True, check=True
    )
    assert run.stderr == b""


def test_words_are_one_token_or_two(study_cost, tmp_path, monkeypatch):
    monkeypatch.setattr(study_cost, "LEXICON", 300)
    lexicon = study_cost.made_lexicon(np.random.default_rng(1))
    assert len(set(lexicon)) == 300
    config = study_cost.loading.load(ROOT)
    config["architectures"]["pythia-2-4-256"] |= {"width": 8, "feed_forward": 8, "context": 16}
    monkeypatch.setattr(study_cost, "VOCABULARY", 4_000)
    study_cost.make_networks(tmp_path, lexicon, ["Pythia", "dVM-I", "dVM-TI"], config)
    made = tmp_path / study_cost.RESULTS / "lms"
    assert {path.name for path in made.iterdir()} == {"Pythia", "dVM-TI"}  # -I is Pythia
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(made / "Pythia" / "tokenizer.json"))
    assert {len(tokenizer.encode(f" {word}").ids) for word in lexicon} == {1}


@pytest.mark.parametrize("without_work", [3, 2])
def test_shares_are_of_runs_with_as_many_jobs(
    study_cost, tmp_path, monkeypatch, capsys, without_work
):
    def lay_out(folder, quick, seed):
        script = folder / "workflow" / "scripts" / "one.py"
        script.parent.mkdir(parents=True)
        script.write_text("work")
        (folder / "src").mkdir()
        return ["Pythia"]

    def run(folder, cores, **more):
        whole = folder.name == "whole"
        text = (folder / "workflow" / "scripts" / "one.py").read_text()
        assert text == ("work" if whole else study_cost.WORKLESS)
        made = folder / study_cost.RESULTS / "benchmarks"
        made.mkdir(parents=True)
        for number in range(3 if whole else without_work):
            (made / f"{number}.tsv").touch()
        return {"wall": 60.0 if whole else 6.0, "cpu": 100.0 if whole else 9.0, "peak": 1.0}

    monkeypatch.setattr(study_cost, "lay_out_study", lay_out)
    monkeypatch.setattr(study_cost, "run", run)
    monkeypatch.setattr(sys, "argv", ["study_cost.py", "--out", str(tmp_path / "out.json")])
    if without_work != 3:
        with pytest.raises(SystemExit, match="3 jobs had work, 2 were run without"):
            study_cost.main()
        return
    study_cost.main()
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads((tmp_path / "out.json").read_text())
    assert printed["metrics"]["startup_share_of_wall"] == 0.1
    assert printed["metrics"]["startup_share"] == 0.09 and printed["metrics"]["jobs"] == 3
