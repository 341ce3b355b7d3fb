"""A malformed address is refused wherever one is read."""

import pytest

from project import SCHEMA, load
from readingtimes.downloads import addresses, download
from recency import sources
from recency.errors import REFUSALS
from recency.workflow.config import checks

BAD = [
    "http://[::1/a.csv",
    "https://[fe80::1%25/a",
    "http://host:port/a",
    "http:///a.csv",
    "http://a..b/c",
    "http://example.org/a b.csv",
    "http://example.org/a\nb",
]


@pytest.mark.parametrize("url", BAD)
def test_a_malformed_address(tmp_path, url):
    table = tmp_path / "sources.tsv"
    table.write_text("url\tsha256\tbytes\tlicence\n" + url.replace("\n", " ") + "\t\t\tfree\n")
    for call in (
        lambda: download.main(url, tmp_path / "out", tries=1),
        lambda: addresses.leads_out(url),
        lambda: sources.read(table),
    ):
        with pytest.raises(REFUSALS, match="is no address .*correct the URL") as error:
            call()
        assert "\n" not in str(error.value)


def test_addresses_of_version_6_and_other_scripts():
    assert addresses.split_url("http://[::1]:8080/a.csv").port == 8080
    assert addresses.split_url("https://bücher.example/ä.csv").hostname == "bücher.example"


def test_a_config(tmp_path):
    config = load("config/demo.yaml")
    name = next(iter(config["datasets"]))
    config["datasets"][name]["words"] = {"table": {"url": "http://[::1/words.csv"}}
    match = f"datasets → {name} → words → table → url: 'http://.*is no address .*correct the URL"
    with pytest.raises(REFUSALS, match=match):
        checks.check(config, SCHEMA)
