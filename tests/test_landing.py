"""The landing picture and the page of forms are those that the code makes today."""

import importlib.util
import re

import numpy as np
import pandas as pd

from project import ROOT
from recency import plugins

DOCS = ROOT / "docs"


def module(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "setup" / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_every_form_has_a_page_and_is_in_the_index():
    made = module("forms_page").pages()
    for name, text in made.items():
        assert (DOCS / name).read_text() == text, "python setup/forms_page.py"
    index = made.pop("forms.md")
    assert {f"forms/{path.name}" for path in (DOCS / "forms").iterdir()} == made.keys()
    for kind in ("attention.biases", "networks.memories"):
        for name in plugins.names(f"recency.{kind}", "PARAMETERS"):
            assert f"(forms/{name}.md)" in index and made[f"forms/{name}.md"].startswith(
                f"# {name}\n"
            )


def test_pictures_are_of_the_weights():
    """A linear bias of slope m leaves e^(-m k) of a weight k tokens back; a window leaves W tokens."""
    page = module("forms_page")
    last = page.weights("linear")[:, -1].flip(-1)
    slopes = np.array([2.0 ** (-2 * h) for h in range(1, page.HEADS + 1)])
    expected = np.exp(-slopes[:, None] * np.arange(page.TOKENS))
    assert np.allclose(last / last[:, :1], expected, atol=1e-6)
    visible = (page.weights("window")[0] > 0).sum(-1).tolist()
    assert visible == [min(query + 1, 5) for query in range(page.TOKENS)]


def test_pictures_are_of_the_memories():
    """FOFE multiplies a word's influence by α with each further word; a window reads W words."""
    page = module("forms_page")
    last = page.influence("fofe")[0, -1].flip(-1).numpy()
    assert np.allclose(last / last[0], 0.7 ** np.arange(page.TOKENS))
    reads = (page.influence("log_bilinear")[0] > 0).sum(-1).tolist()
    assert reads == [min(word + 1, 5) for word in range(page.TOKENS)]


def test_the_landing_picture_has_the_network_s_surprisals():
    stored = pd.read_csv(DOCS / "memories.csv")
    pd.testing.assert_frame_equal(module("landing").values(), stored, check_dtype=False, atol=2e-3)
    letter = stored[stored.word == "letter"].surprisal_bits.round().astype(int).tolist()
    readme = " ".join((ROOT / "README.md").read_text().split())
    shown = re.search(r"letter \*is expected \(([\d, ]+) bits\)", readme)
    assert [int(number) for number in shown[1].split(", ")] == letter
