"""Datasets that the config names by their name in pymovements."""

import copy
import sys

import pytest
import yaml

from project import ROOT, SCHEMA
from recency.errors import InputError
from recency.workflow.config import checks, loading

DEFINITIONS = {
    "measures.yaml": """
name: Corpus1
long_name: A corpus of reading measures
resources:
  - content: gaze
    source: {url: "https://x.org/gaze.zip", filename: gaze.zip, md5: 00000000000000000000000000000000}
    load_kwargs: {schema_overrides: {time: !polars.Int64 }}
  - content: precomputed_reading_measures
    source: {url: "https://x.org/rm.zip", filename: rm.zip, md5: 0123456789abcdef0123456789abcdef}
    filename_pattern: '(?:all/)?{text_id}/P{subject_id:d}.csv'
    filename_pattern_schema_overrides: {subject_id: !int }
    load_kwargs: {read_csv_kwargs: {separator: "\\t", null_values: "."}}
""",
    "events.yaml": """
name: Corpus2
resources:
  - content: precomputed_events
    source: {url: "https://x.org/fixations.csv", filename: fixations.csv}
    filename_pattern: fixations.csv
    load_kwargs: {trial_columns: [book, page]}
""",
    "gaze.yaml": """
name: Corpus3
resources: [{content: gaze, source: {url: "https://x.org/g.csv", filename: g.csv}}]
""",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Stand in for the installed package: a folder of definitions."""
    folder = tmp_path / "pymovements" / "datasets"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise ImportError('it is not to be imported')")
    for name, text in DEFINITIONS.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


@pytest.fixture
def absent(monkeypatch):
    """Have no package, whether or not it is installed."""
    monkeypatch.setattr(loading, "folder", lambda: None)


def load(tmp_path, text):
    """Load config.yaml with an overlay, and check it; return its datasets."""
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(text)
    config = loading.load(ROOT, overlay)
    checks.check(config, SCHEMA)
    return config["datasets"]


def test_one_line_gives_what_the_corpus_file_has(tmp_path, absent):
    ready = loading.load(ROOT)["datasets"]
    found = load(tmp_path, "datasets: {x: {pymovements: OneStop}}")
    assert found["x"] == ready["onestop"]
    found = load(tmp_path, "datasets: {onestop: {pymovements: OneStop}}")
    assert found["onestop"] == ready["onestop"]
    found = load(tmp_path, "datasets: {x: {pymovements: MECOL1W1, language: de}}")
    assert found["x"] == ready["meco_l1_de"]


def test_keys_of_the_line_are_laid_over(tmp_path, absent):
    more = "label: Mine, options: {columns: {word: token}, unit: s}, measures: {FP: {filters: []}}"
    found = load(tmp_path, f"datasets: {{x: {{pymovements: RaCCooNS, {more}}}}}")["x"]
    assert (found["label"], found["measures"]) == ("Mine", {"FP": {"filters": []}})
    assert found["options"]["columns"]["word"] == "token"
    assert found["options"]["columns"]["FP"] == "RTfirstpass" and found["options"]["unit"] == "s"
    assert loading.load(ROOT)["datasets"]["raccoons"]["options"]["columns"]["word"] == "word"


def test_a_definition_of_the_package_becomes_an_entry(tmp_path, package):
    found = load(tmp_path, "datasets: {x: {pymovements: Corpus1, language: fi}}")["x"]
    file = {"url": "https://x.org/rm.zip", "md5": "0123456789abcdef0123456789abcdef"}
    assert found["words"] == found["responses"] == {"data": file}
    assert (found["parser"], found["language"]) == ("table", "fi")
    assert found["cite"] == "A corpus of reading measures" and "licence" in found
    assert found["options"]["members"] == "{text_id}/P{subject_id}.csv"
    assert found["options"]["separator"] == "\t" and found["options"]["missing"] == ["."]
    columns = {"item": "text_id", "subject": "subject_id", "FP": "FPRT", "GP": "RPD_inc"}
    assert columns.items() <= found["options"]["columns"].items()
    found = load(tmp_path, "datasets: {x: {pymovements: Corpus2}}")["x"]
    assert found["parser"] == "fixations" and "members" not in found["options"]
    assert found["options"]["columns"]["item"] == ["book", "page"]
    assert "pymovements" not in sys.modules


FAULTS = {
    "{x: {pymovements: Corpus4}}": "no dataset is called 'Corpus4'; did you mean 'Corpus",
    "{x: {pymovements: Corpus3}}": "neither reading measures nor fixations.*it has: gaze",
    "{x: {pymovements: 3}}": "3 is not the name of a dataset",
    "{x: {pymovements: MECOL1W1}}": "several languages or samples.*meco_l1_nl, meco_l1_et",
    "{x: {pymovements: MECOL1W2, language: de}}": "meco_l1w2_de_potsdam, meco_l1w2_de_zurich",
    "{x: {pymovements: MECOL1W1, language: fr}}": "MECOL1W1 has no 'fr'; it has: de, el, en",
    "{onestop: {pymovements: EMTeC}}": "has a dataset onestop as pymovements' OneStop; give yours",
    "{provo: {pymovements: Provo}}": "has a dataset provo of its own; give yours another name",
    "{x: {pymovements: OneStop, measures: {FDD: {filters: []}}}}": (
        "datasets → x → measures → FDD: OneStop has no measure 'FDD'; did you mean 'FFD'"
    ),
    "{x: {pymovements: BSC, measures: {RB: {filters: []}}}}": (
        "the parser fixations has no measure 'RB'"
    ),
    "{x: {pymovements: BSC, options: {columns: {durations: dur}}}}": (
        "options → columns: fixations have no 'durations'; did you mean 'duration'"
    ),
}


@pytest.mark.parametrize("text", FAULTS)
def test_what_cannot_be_is_refused_in_a_line(text, tmp_path, package):
    with pytest.raises(InputError, match=FAULTS[text]) as error:
        load(tmp_path, f"datasets: {text}")
    assert len([line for line in str(error.value).splitlines() if "datasets →" in line]) == 1


def test_without_the_package_the_line_says_how_to_install_it(tmp_path, absent):
    with pytest.raises(InputError) as error:
        load(tmp_path, "datasets: {x: {pymovements: Onestopp}}")
    message = str(error.value)
    assert "pip install 'recency[corpora]'" in message and "did you mean 'OneStop'?" in message
    assert "\n" not in message


def test_the_definitions_of_the_installed_package():
    folder = loading.folder()
    if folder is None:
        pytest.skip("pymovements is not installed: pip install 'recency[corpora]'")
    known = loading.definitions(folder)
    ready = loading.load(ROOT)["datasets"]
    stated = {each["pymovements"] for each in ready.values() if "pymovements" in each}
    assert stated <= known.keys()
    for name, entry in ready.items():
        files = [*entry["words"].values(), *entry["responses"].values()]
        for md5 in (file["md5"] for file in files if isinstance(file, dict) and "md5" in file):
            assert md5 in str(known[entry["pymovements"]]), name


def test_a_complete_config_stays_as_it_is(tmp_path, absent):
    config = yaml.safe_load("datasets: {x: {pymovements: OneStop}}")
    loading.complete(config, ROOT)
    first = copy.deepcopy(config["datasets"])
    loading.complete(config, ROOT)
    assert config["datasets"] == first
