"""Stored methods sections: remade from their runs' files they are the same, and each number is in a file or the config."""

import json
import re

import pytest

from loaded import study_of
from project import ROOT
from recency.evaluations.report import methods
from recency.workflow.config import loading
from recency.workflow.plan import methods as plan

FOLDER = ROOT / "docs" / "methods"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.json"))
#: A number: no part of a name, a version or an equation.
NUMBER = re.compile(r"(?<![\w.\-^/(])(\d[\d,]*(?:\.\d+)?)(?![\w^(]|\.\d|-\w)")
#: The level of intervals.
CONSTANT = {"95"}


def stored(name):
    """Return a section, the parts of its run's files, and its study."""
    content = json.loads((FOLDER / f"{name}.json").read_text())
    study = study_of(loading.load(ROOT, *content["configfile"]))
    return (FOLDER / f"{name}.md").read_text(), content, study


def remade(folder, content, study):
    """Write a section from the stored files and the config of today; return it."""
    fits = []
    for number, record in enumerate(content["fits"]):
        fits.append(folder / f"{number}.json")
        fits[-1].write_text(json.dumps(record))
    counts = []
    for response, text in content["counts"].items():
        (folder / response).mkdir()
        counts.append(folder / response / "counts.csv")
        counts[-1].write_text(text)
    (folder / "verdict.json").write_text(json.dumps(content["verdict"]))
    settings = plan.settings(study)
    of = type("Wildcards", (), {"experiment": content["experiment"]})
    methods.main(
        fits=fits,
        counts=counts,
        verdict=folder / "verdict.json",
        out=[folder / f"methods{ending}" for ending in (".md", ".tex", ".bib", ".qmd", ".R")],
        cells=settings["cells"](of),
        about=settings["about"](of),
    )
    return (folder / "methods.md").read_text()


def without_versions(text):
    return re.sub(r"\d+\.\d+\.\d+(?:\+\w+)?", "VERSION", text)


def numbers(values):
    """Yield the numbers of nested values and of the texts among them."""
    if isinstance(values, dict):
        values = [*values.keys(), *values.values()]
    if isinstance(values, list | tuple):
        for each in values:
            yield from numbers(each)
    elif isinstance(values, str):
        yield from (
            float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", values)
        )
    elif isinstance(values, int | float) and not isinstance(values, bool):
        yield float(values)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_stored_section_is_that_of_its_run(name, tmp_path):
    text, content, study = stored(name)
    assert without_versions(text) == without_versions(remade(tmp_path, content, study))


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_number_is_of_a_file_or_of_the_config(name):
    text, content, study = stored(name)
    told = text.partition("## Software")[0]
    told = re.sub(
        r"\([A-Z][^()]*\d{4}[a-z]?(?:; [^()]*)?\)|`[^`]*`|\(\d\)", "", told
    )  # citations, formulas, lists
    counts = " ".join(content["counts"].values())
    known = {*map(float, re.findall(r"\d+", counts)), *numbers(study.config)}
    fits = content["fits"]
    known |= {
        *numbers([fit["n"] for fit in fits]),
        float(len(fits)),
        float(len(content["verdict"]["pairs"])),
    }
    known |= {float(sum(bool(fit.get("singular")) for fit in fits)), 0.0}
    known |= {float(sum(any(c["by"] == "lme4" for c in fit["checks"]) for fit in fits))}
    known |= {float(sum(p is not None and p["p"] is not None for p in content["verdict"]["pairs"]))}
    effect = content["verdict"]["smallest_effect"]
    known |= {round(effect["nats"], 1), *(100 * value for value in effect["stated"].values())}
    known |= {float(len(study.experiment(content["experiment"])["lms"])), *map(float, CONSTANT)}
    shown = {float(n.replace(",", "")) for n in NUMBER.findall(told)}
    tokens = {float(m.replace(",", "")) for m in re.findall(r"([\d,]+) tokens", told)}
    assert len(shown) > 20 and shown - known - tokens == set()


def test_examples_are_a_simulated_and_a_real_study():
    assert {"demo", "open"} <= set(EXAMPLES)
