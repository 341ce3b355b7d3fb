"""Real corpora, each damaged fifty times at random: refused in a line, or no other response changes."""

import gzip
import os
import random
from pathlib import Path

import pytest
from test_damaged_corpora import check

import read_everything
from damaged import damage
from project import load
from readingtimes import parsers
from readingtimes.contracts import check_responses
from recency.errors import REFUSALS
from recency.reading import words as reading_words

pytestmark = pytest.mark.long

#: dataset → the role that is damaged, the fields' separator, a measure, and responses that a line has.
CORPORA = {
    "ucl_eye_tracking": ("times", "\t", "FP", 1),
    "natural_stories": ("times", "\t", "SPR", 1),
    "provo": ("fixations", "\t", "FP", 1),
    "geco": ("times", "\t", "TFT", 14),
    "dundee": ("fixations", " ", "FP", 1),
    "zuco": ("times", "\t", "TFT", 1),
}
#: What stands for files that their users place.
PLACED = {
    "EnglishMaterial.xlsx": "geco/EnglishMaterial_corrected.csv.gz",
    "MonolingualReadingData.xlsx": "geco/geco_en_monolingual_TRT_by_subject.tsv.gz",
}


@pytest.mark.parametrize("name", CORPORA)
def test_fifty_damages(name, shared_data, tmp_path, capsys):
    role, separator, measure, in_line = CORPORA[name]
    entry = load()["datasets"][name]
    mirror = Path(os.environ.get("RECENCY_TEST_MIRROR", shared_data.parent / "mirror"))
    files = {}
    for part in ("words", "responses"):
        for each, file in entry[part].items():
            files[part, each] = read_everything.where(file, [shared_data, mirror])
            if placed := PLACED.get(Path(file.get("local", "")).name):
                files[part, each] = shared_data / placed
    if None in files.values():
        pytest.skip(f"{name} is not here: {[key for key, path in files.items() if path is None]}")
    role = role if ("responses", role) in files else next(r for p, r in files if p == "responses")
    source = files["responses", role]
    data = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    target = tmp_path / source.name.removesuffix(".gz")
    parser = parsers.parser(entry["parser"])
    options = entry.get("options", {})

    def outcome(content):
        target.write_bytes(content)
        found = {part: {} for part in ("words", "responses")}
        for (part, each), path in files.items():
            found[part][each] = target if path == source else path
        try:
            taken = parsers.accepted(parser, parser.words, options)
            words = reading_words.read(parser, entry["parser"], found["words"], taken)
            taken = parsers.accepted(parser, parser.responses, options)
            times = parser.responses(found["responses"], words, measure, **taken)
            times = check_responses(times, words, name)
        except REFUSALS as error:
            return str(error), None, capsys.readouterr().err
        return words, times, capsys.readouterr().err

    draw, before = random.Random(name), outcome(data)
    assert before[1] is not None, before[0]
    refused = 0
    for _ in range(50):
        what, lines, broken = damage(data, draw, separator)
        found = outcome(broken)
        refused += found[1] is None
        if not (what == "shuffled rows" and name == "dundee"):
            lines = lines and lines * in_line
            check(what, lines, before, found, target.name)
    assert 10 < refused < 50
