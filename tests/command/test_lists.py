"""`recency biases`, `models`, `corpora` and `targets`: each entry has a line."""

import pytest

from project import ROOT, load
from recency import plugins
from recency.command import lists
from recency.command.main import main
from recency.config import BIASES, bias_parameters, forms
from recency.workflow import lint


def printed(capsys, *arguments):
    assert main([*arguments]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out.splitlines()


@pytest.fixture
def checkout(monkeypatch):
    monkeypatch.chdir(ROOT)


def first_words(lines):
    return [line.split()[0] for line in lines]


def test_biases_have_their_docstrings_and_parameters(capsys):
    lines = printed(capsys, "biases")
    heads = [line for line in lines[:-1] if not line.startswith(" ")]
    for form, head in zip(forms(), heads, strict=True):
        module = plugins.load(BIASES, form, "bias", "PARAMETERS")
        assert head == f"{form}: {module.__doc__.splitlines()[0]}"
    parameters = [name.strip().partition("=")[0] for name in lines if name.startswith(" ")]
    assert parameters == [name for form in forms() for name in bias_parameters(form)]
    assert "    slopes=mix  m_h, as for `linear`" in lines
    assert any(line.startswith("    width=…  W") for line in lines)


def test_extensions_are_all_plugins_of_every_kind(capsys):
    lines = printed(capsys, "extensions")
    named = [line.split()[0] for line in lines if line.startswith(" ")]
    names = {kind: plugins.names(of.package) for kind, of in plugins.KINDS.items()}
    names["lint"] = list(lint.rules())  # a module has several
    assert named == [name for of_kind in names.values() for name in of_kind]
    assert [line for line in lines if line.startswith(" ") and len(line.split()) < 3] == []
    assert any(line.split()[:3] == ["entropy", "Entropy", "of"] for line in lines)


@pytest.mark.merge
def test_models(checkout, capsys):
    lines = printed(capsys, "models")
    assert first_words(lines) == list(load()["lms"])
    of = dict(line.split(maxsplit=1) for line in lines)
    assert of["Pythia"] == "pythia-2-4-256 trained on pile"
    assert of["dVM-I"] == "Pythia with exponential (decay=82.86, weight=0.37) at inference only"
    assert of["ALiBi-mix-TI"] == "pythia-2-4-256 trained on pile with linear (slopes=mix)"
    assert of["gpt2"] == f"checkpoint {load()['lms']['gpt2']['checkpoint']}"
    lines = printed(capsys, "models", "--configfile", "config/demo.yaml", "tests/config.tiny.yaml")
    assert first_words(lines) == list(load("config/demo.yaml", "tests/config.tiny.yaml")["lms"])


@pytest.mark.merge
def test_corpora(checkout, monkeypatch, capsys):
    config = load("config/open.yaml")
    lines = printed(capsys, "corpora", "--configfile", "config/open.yaml")
    tables = ("datasets", "corpora", "lexicons", "dependencies")
    tables += ("glue_tasks", "minimal_pairs", "treebanks", "word_pairs")
    assert first_words(lines) == [name for table in tables for name in config[table]]
    (line,) = [line for line in lines if line.startswith("natural_stories ") and "SPR" in line]
    assert line.split(maxsplit=5)[1:] == [
        "responses",
        "en",
        "self_paced",
        "SPR",
        "Natural Stories; Futrell et al. (2021); CC BY-NC-SA 4.0; run with a public copy",
    ]
    datasets = printed(capsys, "datasets", "--configfile", "config/open.yaml")
    assert first_words(datasets) == list(config["datasets"])
    (line,) = [line for line in lines if line.startswith("babylm-10M ")]
    assert line.split()[1:5] == ["text", "en", "10M", "words"]
    assert "BabyLM strict-small; Warstadt et al. (2023); by source" in line
    monkeypatch.chdir(ROOT / "docs")  # a folder within the checkout; overlays are named from there
    assert printed(capsys, "corpora", "--configfile", "../config/open.yaml") == lines


@pytest.mark.merge
def test_corpora_are_selected_by_language_and_task(checkout, capsys):
    german = printed(capsys, "corpora", "--language", "de")
    assert "potec" in first_words(german)
    assert {line.split()[2] for line in german if " responses " in line} == {"de"}
    assert printed(capsys, "corpora", "--language", "German") == german
    maze = printed(capsys, "datasets", "--task", "maze", "--language", "en")
    assert {"maze", "maze_pos"} <= set(first_words(maze))
    assert "potec" not in first_words(maze)


@pytest.mark.merge
@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--language", "xx"], "--language: no corpus is in 'xx'"),
        (["--task", "mase"], "--task: no corpus has the task 'mase'; did you mean 'maze'?"),
        (
            ["--language", "de", "--task", "mouse_tracking"],
            "no corpus in 'de' has the task 'mouse_tracking'",
        ),
    ],
)
def test_a_selection_without_corpora_is_refused(checkout, capsys, arguments, message):
    assert main(["corpora", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_every_dataset_states_what_is_listed(checkout):
    for name, entry in load()["datasets"].items():
        lacking = {"licence", "cite", "task", "run_with"} - entry.keys()
        assert not lacking, f"datasets → {name}: {lacking}"


def test_the_page_of_corpora_is_up_to_date(checkout, capsys):
    page = "\n".join(printed(capsys, "datasets", "--markdown")) + "\n"
    assert (ROOT / "docs" / "corpora_list.md").read_text(encoding="utf-8") == page, (
        "recency datasets --markdown > docs/corpora_list.md"
    )
    assert all(f"| `{name}` |" in page for name in load()["datasets"])


def test_targets_without_snakemake(checkout, monkeypatch, capsys):
    monkeypatch.setattr(lists.importlib.util, "find_spec", lambda name: None)
    config, lines = load(), printed(capsys, "targets")
    of = dict(line.split(maxsplit=1) for line in lines)
    for name, entry in config["experiments"].items():
        assert of[name] == entry["title"]
    for name, entry in config["targets"].items():
        assert of[name] == entry["label"]
    assert of["search_dVM"] == "Decay and weight of dVM on GPT-2"
    assert of["check_<dataset>"].startswith("quality report of reading times")


@pytest.mark.parametrize("name", ["models", "corpora", "targets"])
def test_elsewhere_one_line_says_what_is_needed(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([name]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    assert shown.err.startswith(f"recency {name}: ") and "checkout of the workflow" in shown.err


@pytest.mark.merge
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "--configfile over.yaml: the file cannot be read (No such file"),
        ("lms: [", "over.yaml, line 2: "),
        ("lms:", "lms: None is not of type 'object'"),
        ("lms: {mine: {bias: ALiBi-mx}}", "'ALiBi-mx'; did you mean"),
    ],
)
def test_a_wrong_overlay_is_refused_in_one_line(text, message, checkout, tmp_path, capsys):
    over = tmp_path / "over.yaml"
    if text:
        over.write_text(text)
    assert main(["models", "--configfile", str(over)]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    assert message.replace("over.yaml", str(over)) in shown.err
