"""One file of a URL may serve several datasets, with a stand-in for each: none is read for another."""

import pandas as pd
import pytest

from project import ROOT, load
from readingtimes import loading
from recency.errors import InputError
from recency.workflow.plan.files import Files

ITEMS = ("items_meco", "items_provo", "items_ucl", "items_ucl_spr", "items_brown", "items_natural_stories")  # fmt: skip


@pytest.mark.parametrize("overlays", [(), ("config/open.yaml",)])
def test_each_dataset_has_the_stand_in_of_its_own(overlays):
    config = load(*overlays)
    files = Files(config, ROOT)
    paths = {name: files.dataset(name, "words")["items"] for name in ITEMS}
    assert len(set(paths.values())) == len(ITEMS)
    for name, path in paths.items():
        assert files.described[path]["stand_in"] == config["datasets"][name]["words"]["items"]["stand_in"]  # fmt: skip
        assert files.dataset(name, "responses")["items"] == path


def test_a_file_of_one_dataset_alone_keeps_the_name_of_its_address():
    config = load()
    files = Files(config, ROOT)
    for role, path in files.dataset("provo", "words").items():
        url = config["datasets"]["provo"]["words"][role].get("url")
        assert url is None or path.endswith(url.partition("://")[2].rstrip("/"))


@pytest.mark.parametrize("key", ["sha256", "stand_in"])
def test_a_file_that_is_two_is_refused(key):
    config = load()
    first = config["datasets"]["items_brown"]["words"]["items"]
    other = {"sha256": "0" * 64, "stand_in": first["stand_in"] | {"sha256": "0" * 64}}[key]
    config["datasets"]["mine"] = config["datasets"]["items_brown"] | {
        part: {"items": first | {key: other}} for part in ("words", "responses")
    }
    with pytest.raises(InputError, match=f"datasets → mine: .* with another {key}"):
        _ = Files(config, ROOT).described


def test_corpora_of_one_release_are_loaded_with_their_own_words(shared_data, tmp_path):
    found = {}
    for name in ("items_natural_stories", "items_provo", "items_meco"):
        words, _ = loading.load(name, mirrors=[shared_data], cache=tmp_path)
        found[name] = words
    table = pd.read_csv(
        shared_data / "devarda_marelli2024" / "provo.tsv.gz", sep="\t", keep_default_na=False
    )
    assert len(found["items_provo"]) == len(table)
    assert len({tuple(words.word[:20]) for words in found.values()}) == 3


def test_a_checksum_that_one_entry_of_a_file_states_is_kept():
    config = load()
    first = config["datasets"]["items_brown"]["words"]["items"]
    bare = {key: value for key, value in first.items() if key != "sha256"}
    config["datasets"]["items_brown"]["words"] = {"items": bare}
    files = Files(config, ROOT)
    path = files.dataset("items_brown", "words")["items"]
    assert files.described[path]["sha256"] == first["sha256"]
