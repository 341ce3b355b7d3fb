"""Text of any script in figures: a font that has it, else the key, else a notice; never silent boxes."""

import pandas as pd
import pytest

from recency.figures import comparison, fonts, style

ARABIC, TURKISH, CHINESE = "دراسة القراءة", "Türkçe İğ", "北京语料"


@pytest.fixture
def no_other_font(monkeypatch):
    """Have DejaVu Sans alone, whatever is installed."""
    fonts._fitting.cache_clear()
    monkeypatch.setattr(fonts, "_installed_families", tuple)
    monkeypatch.setattr(fonts, "_keys", {})
    yield
    fonts._fitting.cache_clear()


def drawn(tmp_path, labels, title="", names=("f.svg", "f.csv")):
    """Draw bars with these labels; return the texts of the figure as they were drawn."""
    drawings = []

    def draw():
        figure = style.figure(2)
        axes = figure.add_subplot()
        axes.barh(range(len(labels)), 1)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_title(title)
        drawings.append(figure)
        return figure

    style.write([tmp_path / name for name in names], pd.DataFrame({"a": [1]}), draw)
    axes = drawings[0].axes[0]
    return [text.get_text() for text in axes.get_yticklabels()], axes.title


@pytest.mark.filterwarnings("error")
def test_scripts_of_the_first_font_stay_as_they_are(tmp_path, no_other_font, capsys):
    labels, _ = drawn(tmp_path, [ARABIC, TURKISH, "Ελληνικά", "Русский", "עברית"])
    assert labels == [ARABIC, TURKISH, "Ελληνικά", "Русский", "עברית"]
    assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("error")
def test_a_label_that_no_font_has_gives_way_to_its_key(tmp_path, no_other_font, capsys):
    lms = [{"lm": "gpt2", "label": CHINESE, "bias": {"form": "none"}, "applied": "none"}]
    responses = [{"dataset": "beijing", "measure": "FP", "label": f"{CHINESE}2"}]
    comparison.records(lms, responses)
    labels, title = drawn(tmp_path, [CHINESE, f"{CHINESE}2 FP", "English"], f"of {CHINESE}")
    assert labels == ["gpt2", "beijing FP", "English"] and title.get_text() == "of gpt2"
    assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("error")
def test_what_has_no_key_is_told(tmp_path, no_other_font, capsys):
    labels, _ = drawn(tmp_path, ["学", "a"])
    assert labels == ["学", "a"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("figure: no installed font has '学' (CJK)") and "Noto Sans CJK" in line


def test_an_installed_font_that_has_the_characters_is_taken(tmp_path, monkeypatch):
    # STIX has a letter that DejaVu Sans lacks, and stands for a font of another script.
    lacking = next(
        chr(code) for code in sorted(fonts._characters("STIXGeneral")) if fonts.missing(chr(code))
    )
    fonts._fitting.cache_clear()
    monkeypatch.setattr(fonts, "_installed_families", lambda: ("STIXGeneral",))
    assert fonts.fitting(f"a{lacking}") == "STIXGeneral"
    _labels, title = drawn(tmp_path, ["a"], lacking)
    assert title.get_text() == lacking and title.get_fontfamily() == ["DejaVu Sans", "STIXGeneral"]
    fonts._fitting.cache_clear()


def test_plain_figures_have_the_same_bytes(tmp_path, no_other_font):
    drawn(tmp_path, ["a", "b"], names=("one.svg", "f.csv"))
    drawn(tmp_path, ["a", "b"], names=("two.svg", "f.csv"))
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_letters_of_arabic_are_joined():
    from matplotlib.text import Text

    def width(text):
        figure = style.figure(2)
        artist = figure.add_artist(Text(0.1, 0.1, text))
        return artist.get_window_extent(figure.canvas.get_renderer()).width

    assert width("شمس") != pytest.approx(width("ش\u200cم\u200cس"), abs=0.5)
