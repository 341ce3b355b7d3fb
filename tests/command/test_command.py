"""The command as a whole: help, version, names that are not there, and how it is started."""

import subprocess
import sys

import pytest

import recency
from project import ROOT, SOURCES
from recency.command.main import main


def started(*arguments, **settings):
    """Run `python -m recency` as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "recency", *arguments],
        env={"PYTHONPATH": SOURCES, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        **settings,
    )


def test_help_lists_every_command(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    listed = capsys.readouterr().out
    for name in ("surprisal", "next-words", "lmer", "biases", "models", "corpora", "targets"):
        assert f"\n    {name}" in listed
    assert main([]) == 0
    assert capsys.readouterr().out == listed


def test_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    version = capsys.readouterr().out.removeprefix("recency ").strip()
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_installed_command_is_this_function():
    assert 'recency = "recency.command.main:main"' in (ROOT / "pyproject.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["surprisl"], "recency: no command is called 'surprisl'; did you mean 'surprisal'?"),
        (["xyz"], "recency: no command is called 'xyz'; known: surprisal, next-words, lmer, "),
        (["surprisal"], "recency surprisal: the following arguments are required: --model; see "),
        (["lmer", "a.csv"], "recency lmer: the following arguments are required: FORMULA; see "),
        (["biases", "--x"], "recency biases: no option is called '--x'; known: -h, --help"),
        (
            ["surprisal", "a.txt", "--model", "m", "--bais=none"],
            "recency surprisal: no option is called '--bais'; did you mean '--bias'?",
        ),
        (["--x"], "recency: the following arguments are required: COMMAND; see recency --help"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(arguments, line, capsys):
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith(line) and shown.err.count("\n") == 1


def test_biases_need_no_pytorch(tmp_path):
    """`python -m recency` starts, and lists the forms where importing PyTorch fails."""
    for name in ("torch", "transformers", "pandas", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('it was imported')")
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; from recency.command import main; "
    code += "sys.exit(main.main(sys.argv[1:]))"
    for arguments in (["biases"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={"PYTHONPATH": SOURCES},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
    done = started("biases")
    assert done.returncode == 0 and done.stdout.startswith("cue_based: ")


def test_an_interrupt_ends_without_a_traceback(monkeypatch, capsys):
    def interrupted(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(recency, "lmer", interrupted, raising=False)
    monkeypatch.setattr("recency.command.table_files.read", interrupted)
    assert main(["lmer", "a.csv", "y ~ x"]) == 130
    assert capsys.readouterr().err == ""
