"""Downloads of the project's own studies: revisions that cannot move, checksums, sizes."""

import re

import pytest

from project import ROOT, load
from recency import sources
from recency.workflow.plan.study import Study

#: The others add no file of an address.
CONFIGS = ([], ["config/pretrained.yaml"])
COMMIT = re.compile(r"[0-9a-f]{40}")
#: Addresses whose path names a revision: of the Hub and of GitHub.
REVISIONS = (
    r"huggingface\.co/.+?/resolve/([^/]+)/",
    r"//github\.com/[^/]+/[^/]+/raw/([^/]+)/",
    r"//raw\.githubusercontent\.com/[^/]+/[^/]+/([^/]+)/",
)
#: Without a checksum of publisher or ours: compared with the first download.
FIRST = {
    "https://files.osf.io/v1/resources/94wue/providers/osfstorage/6253cb37840dd726e75c831a",
    "https://files.osf.io/v1/resources/gj2uk/providers/osfstorage/678e045672fc74248add6338/?zip=",
    "https://files.de-1.osf.io/v1/resources/ud8s5/providers/osfstorage/61e1317cc99ebd02df017c4f/?zip=",
    "https://osf.io/download/a32be/",
}


@pytest.fixture(scope="module")
def downloads():
    """Return URL → entry of every file, and the names of the Hub's checkpoints, of all configs."""
    entries, checkpoints = {}, set()
    for names in CONFIGS:
        files = Study(load(*names), ROOT, [], True).files
        entries |= {entry["url"]: entry for entry in files.described.values() if "url" in entry}
        checkpoints |= {entry["checkpoint"] for entry in files.of_hub.values()}
    return entries, checkpoints


def test_every_revision_is_a_commit(downloads):
    entries, checkpoints = downloads
    assert len(entries) > 250 and len(checkpoints) >= 4
    revisions = {
        url: re.search(p, url)[1] for url in entries for p in REVISIONS if re.search(p, url)
    }
    revisions |= {name: name.partition("@")[2] for name in checkpoints}
    assert len(revisions) > 200
    assert {name: r for name, r in revisions.items() if not COMMIT.fullmatch(r)} == {}


def test_every_file_has_a_checksum_or_is_named_here(downloads):
    without = {
        url
        for url, entry in downloads[0].items()
        if not {"sha256", "git_blob", "md5"} & entry.keys() and "huggingface.co" not in url
    }
    assert without == FIRST


def test_babylm_s_archive_is_that_of_its_pointer():
    (row,) = sources.read(ROOT / "data" / "sources" / "babylm.tsv")
    assert row.bytes == 253170132 and row.sha256.startswith("1337771192c6")
