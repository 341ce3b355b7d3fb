"""Readers, texts and words that each corpus is said to have, against another project's counts."""

import csv
import re

import pytest

import readingtimes
from project import ROOT, load

with (ROOT / "data/published/replica_dataset_counts.csv").open(newline="") as table:
    MEASURED = {row["dataset"]: row for row in csv.DictReader(table)}

#: Dataset of the config → variant that the other project measured.
PAIRS = {
    "brown": "brown_spr",
    "bsc": "bsc",
    "celer": "celer",
    "copco": "copco",
    "dundee": "dundee",
    "emtec": "emtec",
    "frank2015": "frank2015_erp",
    "geco": "geco",
    "meco": "meco_en",
    "meco_l2": "meco_l2_w1",
    "meco_l2w2": "meco_l2_w2",
    "natural_stories": "natural_stories",
    "natural_stories_amaze": "natural_stories_maze",
    "onestop": "onestop",
    "potec_merged": "potec",
    "provo": "provo",
    "rastros": "rastros",
    "rsc": "rsc",
    "sb_sat": "sbsat",
    "ucl_eye_tracking": "ucl_et",
    "ucl_spr": "ucl_spr",
}
WAVE_1 = "de=de el=gr en=en es=sp et=ee fi=fi he=he it=it ko=ko nl=du no=no ru=ru tr=tr"
WAVE_2 = (
    "da=da de_potsdam=ge_po de_zurich=ge_zu en=en_uk es=sp_ch eu=ba hi_hyderabad=hi_iiith "
    "hi_kanpur=hi_iitk is=ic no=no pt=bp ru=ru_mo sr=se tr=tr zh_s=ch_s zh_t=ch_t"
)
for prefix, languages in (("l1", WAVE_1), ("l1w2", WAVE_2)):
    for pair in languages.split():
        ours, theirs = pair.split("=")
        PAIRS[f"meco_{prefix}_{ours}"] = f"meco_{'' if prefix == 'l1' else 'l1_w2_'}{theirs}"
DIFFERENCES = re.findall(
    r"^\| `(\w+)` \| (subjects|texts|words) \| ([\d,]+) \| ([\d,]+) \|",
    (ROOT / "docs/corpora.md").read_text(),
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def datasets():
    return load()["datasets"]


def test_counts_are_those_measured_or_their_difference_is_documented(datasets):
    found = []
    for name, theirs in PAIRS.items():
        stated, row = datasets[name]["published_counts"], MEASURED[theirs]
        texts = stated.get("sentences"), stated.get("items")
        measured = int(row["texts_or_items"])
        if any(texts) and measured not in texts:
            found.append((name, "texts", next(filter(None, texts[::-1])), measured))
        for key, column in (("subjects", "participants"), ("words", "words")):
            if key in stated and stated[key] != int(row[column]):
                found.append((name, key, stated[key], int(row[column])))
    assert (len(MEASURED), len(PAIRS)) == (79, 50)
    listed = [(n, key, *(int(x.replace(",", "")) for x in rest)) for n, key, *rest in DIFFERENCES]
    assert sorted(found) == sorted(listed)


def test_the_corpora_of_the_paper_state_readers_and_words(datasets):
    for name in ("brown", "dundee", "geco", "natural_stories", "provo", "ucl_spr"):
        assert {"subjects", "words"} <= datasets[name]["published_counts"].keys()


def test_characters_are_those_measured_elsewhere(shared_data):
    """Words, and characters with blanks, of files that are here; Provo's characters differ, as the page says."""
    page = " ".join((ROOT / "docs/corpora.md").read_text().split())
    counted = {}
    for name, theirs in (
        ("ucl_spr", "ucl_spr"),
        ("ucl_eye_tracking", "ucl_et"),
        ("natural_stories", "natural_stories"),
        ("provo", "provo"),
    ):
        mirrors = [shared_data, shared_data.parent / "mirror"]
        words, _ = readingtimes.load(name, [], mirrors=mirrors)
        row = MEASURED[theirs]
        blanks = len(words) - words.item.nunique()
        counted[name] = (int(words.word.str.len().sum()) + blanks, int(row["characters"]))
        assert len(words) == int(row["words"]), name
    told = "(UCL {:,} and {:,} characters, Natural Stories {:,})"
    equal = ("ucl_spr", "ucl_eye_tracking", "natural_stories")
    assert all(counted[name][0] == counted[name][1] for name in equal)
    assert told.format(*(counted[name][0] for name in equal)) in page
    assert "Provo's characters ({:,} and {:,}; not found)".format(*counted["provo"]) in page
