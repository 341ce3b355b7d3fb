"""The tutorial does what it says, command by command, on the tiny study; the notebook is the same."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from project import ROOT, environment, load, merged
from recency.workflow.config import checks as config_checks

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = BLOCK.findall(PAGE)
#: How the tiny study is called where the page has the demo.
TINY = {
    "results/demo/cores": "results/tiny/cores",
    "--configfile config/demo.yaml": "--configfile config/demo.yaml tests/config.tiny.yaml",
}


@pytest.fixture
def notebook():
    """Give setup/notebook.py, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "setup" / "notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_notebook_is_made_of_the_page(notebook):
    kept = (ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8")
    assert kept == notebook.notebook(PAGE), "make notebook"
    cells = json.loads(kept)["cells"]
    ran = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"][1:]
    python = [content.strip() for language, _, content in BLOCKS if language == "python"]
    assert len(python) >= 4 and set(python) < set(ran)
    assert not any("make demo" in cell or "gpt2" in cell for cell in ran)


@pytest.mark.parametrize("colab", [False, True])
def test_the_first_cell_installs_the_project_in_colab_only(notebook, colab, monkeypatch):
    """Shell commands and magics are recorded in place of IPython."""
    ran: list[str] = []
    cell = re.sub(r"^( *)[!%](.+)$", r"\1ran.append('\2')", notebook._FIRST, flags=re.MULTILINE)
    monkeypatch.setenv("PATH", "/bin")
    if colab:
        monkeypatch.setitem(sys.modules, "google.colab", object())
    exec(cell, {"ran": ran})  # noqa: S102
    assert any("git clone" in line for line in ran) == colab == any("make" in line for line in ran)
    assert ran[-1] == ("cd -q /content/recency" if colab else "cd -q ..")
    assert os.environ["PATH"] == f"{os.getcwd()}/.venv/bin:/bin"


def test_what_goes_into_the_config_is_right(tmp_path, monkeypatch):
    config = load("config/demo.yaml")
    for content in (content for language, _, content in BLOCKS if language == "yaml"):
        merged(config, yaml.safe_load(content))
    rows = re.findall(r"`([\w-]+: \{checkpoint: .*?\})`", PAGE)
    assert len(rows) == 2
    for row in rows:
        merged(config, {"lms": yaml.safe_load(row)})
    monkeypatch.chdir(tmp_path)
    Path("tales.csv").write_text("")  # files of one's own must be there
    config_checks.check(config, ROOT / "config.schema.yaml")


@pytest.fixture
def folder(study):
    """Return a project whose study has been run, with its command and tools."""
    shutil.copy(ROOT / "run", study)
    (study / ".venv").symlink_to(sys.prefix)
    if (ROOT / ".tools").exists():
        (study / ".tools").symlink_to((ROOT / ".tools").resolve())
    command = study / "bin" / "recency"
    command.parent.mkdir()
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH=src:packages/crosslmm/src:packages/readingtimes/src exec {sys.executable} -m recency "$@"\n'
    )
    command.chmod(0o755)
    return study


def for_tiny(content):
    for demo, tiny in TINY.items():
        content = content.replace(demo, tiny)
    return content


def run(line, folder):
    variables = environment() | {"MPLBACKEND": "Agg"}
    variables["PATH"] = f"{folder / 'bin'}{os.pathsep}{variables['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", line], check=False, cwd=folder, env=variables, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stdout[-4000:]}"
    return done.stdout


@pytest.mark.merge
@pytest.mark.apart
def test_every_command_runs(folder, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(folder)
    names, printed, ran = {}, {}, 0
    for language, title, content in BLOCKS:
        content = for_tiny(content)
        if language == "python":
            exec(compile(content, "tutorial.md", "exec"), names)  # noqa: S102, the page's own lines
        elif language == "sh" and not title:
            printed[content] = run(content, folder)
            ran += 1
        elif title and language in ("yaml", "text"):
            Path(title).write_text(content, encoding="utf-8")
    assert ran == 8
    assert "surprisal" in Path("words.html").read_text()

    words = pd.read_csv("words.csv")
    assert len(words) == 23 and {"corrected_bits", "entropy_bits"} < set(words)
    assert not words.surprisal_bits.equals(pd.read_csv("words_steep.csv").surprisal_bits)

    (shown,) = [
        yaml.safe_load(c) for language, _, c in BLOCKS if language == "yaml" and "tales:" in c
    ]
    assert yaml.safe_load(Path("tales.yaml").read_text()) == shown
    results = Path("results/tiny/cores")
    assert "tales" in (results / "datasets" / "tales" / "check.html").read_text()

    plan = next(text for line, text in printed.items() if "./run -n" in line)
    assert re.search(r"^train +2$", plan, re.MULTILINE) and "tales" in plan
    made = results / "experiments" / "memory"
    verdict = json.loads((made / "verdict.json").read_text())
    assert verdict["baseline"] == "no bias" and len(verdict["ranking"]) == 4
    beginning = next(text for line, text in printed.items() if line.startswith("head"))
    assert " ".join(beginning.split()).startswith(" ".join(verdict["brief"]))
    assert (made / "figure_delta_loglik.pdf").stat().st_size > 1000
    assert (made / "table_delta_loglik.tex").exists() and (results / "report.html").exists()
    assert "steep at inference" in (made / "explore.html").read_text()
    counts = results / "observations" / "tales.SPR" / "counts.csv"
    assert counts.exists() and list((results / "regression" / "spr").rglob("*.json"))

    assert (
        set(names["over"].lm) == {"steep-I", "steep-TI", "ALiBi-1-TI"} and len(names["over"]) == 3
    )
    assert Path("memory.pdf").stat().st_size > 1000
    assert names["fit"].converged and "surprisal_bits" in names["fit"].fixed.index
