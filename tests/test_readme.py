"""Examples of README and of the page on additions work as they stand there."""

import importlib.util
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml

from project import load, merged
from recency import config as configuration
from recency.command.main import main
from recency.workflow.config import checks as config_checks
from recency.workflow.config import loading

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()
ADDITIONS = (Path(__file__).resolve().parents[1] / "docs" / "additions.md").read_text()


TITLED = re.compile(r"```text title=\"(.*?)\"\n(.*?)```", re.DOTALL)


def blocks(language, page=README):
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


#: Pages of docs/ that code writes.
GENERATED = (
    r"docs/(config|forms|methods)/|docs/(forms|corpora_list|lint|benchmarks|open-study/README)\.md"
)


def test_readme_and_pages_are_short():
    """A word has a letter; pages that code writes are as long as what they list."""
    assert len(README.split()) <= 900
    root = Path(__file__).resolve().parents[1]
    pages = [
        path.read_text(encoding="utf-8")
        for path in (root / "docs").rglob("*.md")
        if not re.match(GENERATED, path.relative_to(root).as_posix())
    ]
    written = sum(bool(re.search(r"[^\W\d_]", word)) for text in pages for word in text.split())
    assert len(pages) > 40 and written <= 45_000


def test_additions_of_one_line_are_right(tmp_path, monkeypatch):
    config = load("config/open.yaml")
    monkeypatch.chdir(tmp_path)  # where the files of the examples are
    (tmp_path / "data" / "supplied").mkdir(parents=True)
    for name in ("mine.csv", "mine.txt"):
        (tmp_path / "data" / "supplied" / name).touch()
    inline = re.findall(r"`((?:gpt2[\w-]*|p-64|5-gram|corpora): \{.*?\}+)`", ADDITIONS)
    assert len(inline) == 5
    for line in inline:
        entry = yaml.safe_load(line)
        merged(config, entry if "corpora" in entry else {"lms": entry})
    for block in blocks("yaml", ADDITIONS):
        merged(config, yaml.safe_load(block))
    loading.expand_biased(config)
    config_checks.check(config, Path(__file__).resolve().parents[1] / "config.schema.yaml")
    assert configuration.language_model(config, "gpt2-window")["bias"]["width"] == 7
    assert config["lm_groups"]["gpt2-all"] == ["gpt2", "gpt2-dVM-I", "gpt2-ALiBi-1_8-I"]


def test_the_package_in_a_notebook(tmp_path, monkeypatch, capsys):
    """Ten lines, with the embedded network and synthetic reading times."""
    (code,) = blocks("python")
    assert len([line for line in code.splitlines() if line and "import" not in line]) <= 10
    random = np.random.default_rng(1)
    reader, story = np.repeat(np.arange(20), 60), np.tile(np.arange(60) // 10, 20)
    length, surprisal = random.integers(1, 10, 1200), random.gamma(2, 3, 1200)
    rt = 300 + 4 * length + 3 * surprisal + 30 * random.normal(size=20)[reader]
    times = {"reader": reader, "story": story, "length": length, "surprisal": surprisal}
    times["rt"] = rt + random.normal(0, 50, 1200)
    pd.DataFrame(times).to_csv(tmp_path / "times.csv", index=False)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, "README.md", "exec"), names)  # noqa: S102, the README's own lines
    (letter,) = names["words"].query("word == 'letter'").itertuples()
    shown = re.search(r"# letter: ([\d.]+) → ([\d.]+) bits", code).groups()
    assert (f"{letter.surprisal_bits:.1f}", f"{letter.slope_1:.1f}") == shown
    effect = names["fit"].fixed.loc["surprisal"]
    assert abs(effect["estimate"] - 3) < 3 * effect["se"] and "surprisal" in capsys.readouterr().out


def test_the_output_of_the_command(tmp_path, monkeypatch):
    (command, _), ((title, shown),) = blocks("sh")[2].splitlines(), TITLED.findall(README)
    (tmp_path / "story.txt").write_text("The old man went down to the river.")
    monkeypatch.chdir(tmp_path)
    assert title == "words.csv (rounded)" and main(shlex.split(command)[1:]) == 0
    expected = pd.read_csv(io.StringIO(shown))
    pd.testing.assert_frame_equal(pd.read_csv("words.csv").head(3), expected, atol=6e-4)


def test_the_example_of_a_bias(tmp_path):
    (code,) = blocks("python", ADDITIONS)
    (tmp_path / "power.py").write_text(code)
    spec = importlib.util.spec_from_file_location("power", tmp_path / "power.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, b = module.Form(2).dense(4, 4, torch.device("cpu"), torch.float32)
    torch.testing.assert_close(b[0, 0, 3], -0.5 * torch.tensor([4.0, 3.0, 2.0, 1.0]).log())


def test_commands_and_files_exist():
    root = Path(__file__).resolve().parents[1]
    for name in re.findall(
        r"`((?:docs|setup|profiles|tests)/[\w./-]+|CITATION\.cff|config[\w.]*\.yaml)`", README
    ):
        assert (root / name).exists(), name
    for name in re.findall(r"\bmake (\w+)`?", README):
        assert re.search(rf"^{name}:", (root / "Makefile").read_text(), re.MULTILINE), name


def test_claims_about_faults_name_tests_that_there_are():
    """Each row of docs/faults.md does, and it names each file of faults; all pages name files that there are."""
    root = Path(__file__).resolve().parents[1]
    text = (root / "docs" / "faults.md").read_text()
    rows = [row for row in re.findall(r"^\|.*\|$", text, re.MULTILINE) if "---" not in row]
    for row in rows:
        others = ("| fault |", "| killed |", "| case |", "| target |", "| `make ")
        assert "tests/" in row or row.startswith(others), row
    for path in (root / "tests" / "faults").glob("*.py"):
        assert f"`tests/faults/{path.name}`" in text, path.name
    pages = [README, (root / "CONTRIBUTING.md").read_text()]
    pages += [path.read_text() for path in (root / "docs").rglob("*.md")]
    for page in pages:
        for name, _, test in re.findall(r"`((?:packages/\w+/)?tests/[\w/]+\.py)(::(\w+))?`", page):
            assert (root / name).exists(), name
            assert f"def {test}" in (root / name).read_text(), test
