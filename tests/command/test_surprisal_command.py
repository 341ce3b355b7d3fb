"""`recency surprisal`: files, lines and standard input in; CSV, TSV and Parquet out; as the function."""

import inspect
import io
import os
import pty
import shutil
import subprocess
import sys
import termios

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

import recency
from checkpoints import checkpoint
from project import SOURCES
from recency.command import surprisal
from recency.command.main import main
from recency.scoring import texts
from recency.scoring.results import UNITS

TEXT = "The cat sat\non the mat"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(checkpoint(tmp_path_factory.mktemp("model"), [TEXT]))


@pytest.fixture
def story(tmp_path, monkeypatch):
    """Make a folder with a text the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "story.txt").write_text(TEXT)
    return "story.txt"


def standard_input(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def printed(capsys, *arguments):
    """Return the table that a call prints, and that nothing else is shown."""
    assert main(["surprisal", *arguments]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return pd.read_csv(io.StringIO(shown.out), dtype={"item": "str"})


def same(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-5)


def test_a_file_gives_what_the_function_gives(story, model, capsys):
    found = printed(capsys, story, "--model", model)
    assert set(found["item"]) == {story} and found["position"].tolist() == [1, 2, 3, 4, 5, 6]
    same(found.assign(item="1"), recency.surprisal(TEXT, model))


def test_lines_are_texts_of_their_own(story, model, tmp_path, capsys):
    (tmp_path / "more.txt").write_bytes(b"\xef\xbb\xbfThe mat\r\n\r\nsat\r\n")
    found = printed(capsys, story, "more.txt", "--lines", "--model", model)
    assert list(dict.fromkeys(found["item"])) == [
        "story.txt:1",
        "story.txt:2",
        "more.txt:1",
        "more.txt:3",
    ]
    expected = recency.surprisal([*TEXT.split("\n"), "The mat", "sat"], model)
    same(found.drop(columns="item"), expected.drop(columns="item"))


@pytest.mark.parametrize("named", [["-"], []])
def test_standard_input(named, model, capsys, monkeypatch):
    standard_input(monkeypatch, TEXT.encode())
    found = printed(capsys, *named, "--model", model)
    assert set(found["item"]) == {"stdin"}
    same(found.assign(item="1"), recency.surprisal(TEXT, model))
    standard_input(monkeypatch, TEXT.encode())
    found = printed(capsys, *named, "--model", model, "--lines")
    same(found, recency.surprisal(TEXT.split("\n"), model))


@pytest.mark.merge
def test_a_table_in_a_pipe_loses_no_character(tmp_path, model, monkeypatch):
    """`na?ve` and `??` instead of words, where Python takes another encoding for a pipe."""
    text = "na\u00efve \u4f60\u597d cat"
    (tmp_path / "story.txt").write_text(text, encoding="utf-8")
    variables = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": SOURCES}
    command = [sys.executable, "-m", "recency", "surprisal", "story.txt", "--model", model]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, check=True)
    found = pd.read_csv(io.BytesIO(done.stdout), encoding="utf-8")
    assert found["word"].tolist() == text.split()


def test_settings_and_bias(story, model, capsys):
    found = printed(
        capsys, story, "--model", model, "--no-bos", "--unit", "nats", "--stride", "3",
        "--window", "4", "--bias", "linear:slopes=[0.5,2]:layers=[1]", "--first-word", "rest",
    )  # fmt: skip
    bias = recency.attention.bias("linear", slopes=[0.5, 2], layers=[1])
    settings = {"bos": False, "unit": "nats", "stride": 3, "window": 4, "first_word": "rest"}
    expected = recency.surprisal(TEXT, model, bias=bias, **settings)
    same(found.assign(item="1"), expected)
    plain = recency.surprisal(TEXT, model, **settings)
    assert (plain["surprisal_nats"] - found["surprisal_nats"]).abs().max() > 0.01


def test_measures_and_short_contexts(story, model, capsys):
    found = printed(
        capsys, story, "--model", model, "--measure", "surprisal, entropy,rank", "--context", "1,2"
    )
    expected = recency.surprisal(TEXT, model, measures=["entropy", "rank"], context=[1, 2])
    assert list(expected)[-3:] == ["rank", "surprisal_context_1_bits", "surprisal_context_2_bits"]
    same(found.assign(item="1"), expected)


def test_lossy_contexts(story, model, capsys):
    erasure = "exponential:half_life=1.5:samples=64:seed=3"
    found = printed(capsys, story, "--model", model, "--lossy", erasure)
    lossy = {"erasure": {"form": "exponential", "half_life": 1.5}, "samples": 64, "seed": 3}
    same(found.assign(item="1"), recency.surprisal(TEXT, model, lossy=lossy))


def test_word_entropy(story, model, capsys):
    given = ["--measure", "word_entropy", "--word-entropy", "sampling:samples=8:longest=3"]
    found = printed(capsys, story, "--model", model, *given)
    settings = {"samples": 8, "longest": 3}
    expected = recency.surprisal(TEXT, model, measures=["word_entropy"], word_entropy=settings)
    assert list(expected)[-2:] == ["word_entropy_bits", "word_entropy_se_bits"]
    same(found.assign(item="1"), expected)


@pytest.mark.parametrize("lines", [[], ["--lines"]])
def test_tokens_have_their_characters_in_the_file(lines, story, model, capsys):
    found = printed(capsys, story, "--model", model, "--tokens", "--measure", "entropy", *lines)
    texts = TEXT.split("\n") if lines else [TEXT]
    expected = recency.surprisal(texts, model, rows="tokens", measures="entropy")
    same(found.drop(columns="item"), expected.drop(columns="item"))
    for (item, _), part in found.groupby(["item", "position"]):
        text = texts[int(item.partition(":")[2] or 1) - 1]
        assert text[part["start"].min() : part["end"].max()].strip() == part["word"].iloc[0]


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("words.csv", pd.read_csv),
        ("words.tsv", lambda path: pd.read_csv(path, sep="\t")),
        ("made/words.parquet", pd.read_parquet),
    ],
)
def test_outputs(name, read, story, model, capsys):
    assert main(["surprisal", story, "--model", model, "--out", name]) == 0
    assert capsys.readouterr().out == ""
    same(read(name).assign(item="1"), recency.surprisal(TEXT, model))


def test_a_pickle_is_read_on_request(story, model, tmp_path, capsys):
    folder = tmp_path / "pickled"
    shutil.copytree(model, folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert main(["surprisal", story, "--model", str(folder)]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and "allow_pickle" in shown.err
    found = printed(capsys, story, "--model", str(folder), "--allow-pickle")
    same(found.assign(item="1"), recency.surprisal(TEXT, model))


def test_an_ngram_model(story, capsys):
    with open("one.arpa", "w") as file:
        file.write(
            "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\n-0.5\t</s>\n\n\\end\\\n"
        )
    found = printed(capsys, story, "--model", "one.arpa", "--unit", "log10")
    assert found["surprisal_log10"].tolist() == [1.0] * 6


@pytest.mark.parametrize(
    ("text", "bias"),
    [
        ("linear", {"form": "linear"}),
        ("linear:slopes=mix", {"form": "linear", "slopes": "mix"}),
        ("window:width=5:layers=last", {"form": "window", "width": 5, "layers": "last"}),
        ("linear:slopes=[1,0.5]", {"form": "linear", "slopes": [1, 0.5]}),
    ],
)
def test_how_a_bias_is_written(text, bias):
    assert surprisal.parse_bias(text) == bias


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bias", "alibi"], "no form of bias is called 'alibi'; did you mean 'linear'?"),
        (["--bias", "dVM"], "no form of bias is called 'dVM'; did you mean 'exponential'?"),
        (["--bias", "linaer"], "no form of bias is called 'linaer'; did you mean 'linear'?"),
        (["--bias", "linear:slopes"], "'slopes' must be parameter=value"),
        (["--bias", "linear:slopes=1:slopes=2"], "each parameter once"),
        (["--bias", "linear:form=window"], "'form=window' must be parameter=value"),
        (["--bias", "linear:slopes=NaN"], "slopes is not finite"),
        (["--bias", "linear:slopes=1e999"], "slopes is not finite"),
        (["--bias", "window"], "width is missing"),
        (["--out", "words.xlsx"], "words.xlsx must end in .csv, .tsv or .parquet"),
        (["--measure", "entropi"], "no measure is called 'entropi'; did you mean 'entropy'?"),
        (["--word-entropy", "sampling:sample=3"], "no setting is called 'sample'"),
        (["--word-entropy", "beam:beam"], "'beam' must be parameter=value"),
        (["--word-entropy", "beam:beam=3"], "settings for a measure that is not in `measures`"),
        (["--measure", "entropy,,rank"], "no measure is called ''"),
        (["--context", "1,two"], "context: 'two' is no number of words"),
        (["--lossy", "exponential:half_life"], "'half_life' must be parameter=value"),
        (["--lossy", "trunc:words=1"], "did you mean 'truncation'"),
        (["--lossy", "truncation:words=1:samples=2"], "samples is 2, and is a whole number from 8"),
        (["--context", "-1"], "context: '-1' is no number of words"),
        (["--measure", "pmi", "--no-bos"], "need a begin token"),
        (["--unit", "bit"], "invalid choice: 'bit'"),
        (["--stride", "999"], "a stride of 999 tokens is not within the window"),
        (["absent.txt"], "absent.txt: No such file or directory"),
        (["."], ".: Is a directory"),
        (["empty.txt"], "empty.txt has no words"),
        (["latin.txt"], "latin.txt, line 2: byte 0xe9 is not UTF-8"),
        (["story.txt"], "story.txt is named twice"),
        (["--model", "absent"], "checkpoint 'absent'"),
    ],
)
def test_input_at_fault_is_one_line(
    arguments, message, story, model, tmp_path, capsys, monkeypatch
):
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "latin.txt").write_bytes(b"the\ncaf\xe9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # it would try for 20 s
    assert main(["surprisal", story, "--model", model, *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    assert shown.err.startswith("recency surprisal: ") and message in shown.err


def test_weights_may_have_a_reduced_precision(story, model, capsys):
    rounded = printed(capsys, story, "--model", model, "--weights", "bf16").surprisal_bits
    expected = recency.surprisal(TEXT, recency.load(model, precision="bf16")).surprisal_bits
    np.testing.assert_allclose(rounded, expected, rtol=1e-5)
    assert (rounded - recency.surprisal(TEXT, model).surprisal_bits).abs().max() > 1e-4


def test_options_are_those_of_the_function(story, monkeypatch):
    """What the parser hands on, recency.surprisal has; and the choices are those that it knows."""
    got = {}
    monkeypatch.setattr(surprisal, "run", lambda **arguments: got.update(arguments))
    given = ["--bos", "--unit", "bits", "--stride", "1", "--window", "2", "--leading-space"]
    given += ["--correction", "oh_schuler", "--first-word", "null", "--precision", "bf16"]
    given += ["--metric", "original", "--future", "seen", "--measure", "rank", "--context", "1"]
    given += ["--tokens", "--ngram-lm", "two.arpa", "--tuned-lens", "lens.safetensors"]
    given += ["--lossy", "truncation:words=2"]
    given += ["--word-entropy", "beam"]
    assert main(["surprisal", story, "--model", "m", *given]) == 0
    own = {"files", "model", "bias", "allow_pickle", "weights", "lines", "out"}
    assert set(got) - own <= set(inspect.signature(recency.surprisal).parameters)
    got.clear()
    assert main(["surprisal", story, "--model", "m"]) == 0
    assert set(got) == own
    for option, choices in {"--unit": UNITS, "--correction": texts.VARIANTS}.items():
        for choice in choices:
            assert main(["surprisal", story, "--model", "m", option, choice]) == 0


@pytest.mark.merge
def test_a_terminal_has_a_progress_bar_and_a_pipe_none(story, model):
    """As a process: the bar is on standard error, the table alone on standard output."""
    command = [sys.executable, "-m", "recency", "surprisal", "--model", model]
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    piped = subprocess.run(
        command, input=TEXT.encode(), capture_output=True, check=True, env=environment
    )
    assert piped.stderr == b"" and piped.stdout.count(b"\n") == 7
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    done = subprocess.Popen(
        [*command, story], stdout=subprocess.PIPE, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the terminal was closed
            break
        shown += piece
        if not piece:
            break
    assert done.stdout.read() == piped.stdout.replace(b"stdin", b"story.txt")
    assert done.wait() == 0 and b" windows" in shown


def test_a_terminal_gets_aligned_columns(story, model, capsys, monkeypatch):
    """A pipe and a file have full precision."""
    table = printed(capsys, story, "--model", model)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(["surprisal", story, "--model", model]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == list(table) and len({len(line) for line in lines}) == 1
    shown = [line.split()[-4] for line in lines]
    assert shown == [f"{bits:.3f}" for bits in table.surprisal_bits]


def test_units_between_marks(story, model, tmp_path, capsys):
    (tmp_path / "marked.txt").write_text("The |cat sat|\non the| mat\n\nThe| mat\n")
    found = printed(capsys, "marked.txt", "--model", model, "--units", "|")
    units = ["The ", "cat sat", "\non the", " mat\n\nThe", " mat"]
    expected = recency.surprisal("".join(units), model, units=units)
    assert set(found["item"]) == {"marked.txt"} and found.unit.tolist() == units
    same(found.assign(item="1"), expected)
    lines = printed(capsys, "marked.txt", "--model", model, "--units", "|", "--lines")
    assert list(dict.fromkeys(lines["item"])) == ["marked.txt:1", "marked.txt:2", "marked.txt:4"]
    last = lines.iloc[-2:]["surprisal_bits"].to_numpy()
    np.testing.assert_allclose(last, recency.surprisal("The mat", model)["surprisal_bits"], 1e-5)
    assert main(["surprisal", "marked.txt", "--model", model, "--units", " "]) == 2
    assert "--units ' ': name a mark" in capsys.readouterr().err


def test_a_prefix_and_the_next_words(story, model, tmp_path, capsys):
    found = printed(capsys, story, "--model", model, "--prefix", "on the")
    same(found.assign(item="1"), recency.surprisal(TEXT, model, prefix="on the"))
    given = [story, "--lines", "--model", model]
    contexts = TEXT.split("\n")
    assert main(["next-words", *given, "--n", "4", "--no-bos", "--out", "next.csv"]) == 0
    table = pd.read_csv("next.csv")
    assert list(table.columns) == ["item", "word", "probability", "tokens"]
    assert table["item"].tolist() == ["story.txt:1"] * 4 + ["story.txt:2"] * 4
    lists = [recency.next_words(model, context, 4, bos=False) for context in contexts]
    same(table.drop(columns="item"), pd.concat(lists, ignore_index=True))
    assert main(["next-words", *given, "--word", "mat"]) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    expected = [recency.cloze(model, context, "mat") for context in contexts]
    np.testing.assert_allclose(table["probability"], expected, rtol=1e-5)
    assert main(["next-words", *given, "--word", "mat", "--tokenizations", "3"]) == 0
    assert float(capsys.readouterr().out.split(",")[-1]) > expected[-1]
    assert main(["next-words", *given, "--tokenizations", "3"]) == 2
    assert "recency next-words: --tokenizations are those of one word" in capsys.readouterr().err
    assert main(["next-words", *given, "--n", "0"]) == 2
    assert "recency next-words: n: 0 is no whole number" in capsys.readouterr().err
