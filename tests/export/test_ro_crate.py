"""A run as an RO-Crate: what it was made from, what it made, by which software."""

import hashlib
import json
import zipfile
from importlib import metadata
from pathlib import Path

import yaml
from rocrate.rocrate import ROCrate

from project import ROOT
from recency import lineage
from recency.export import ro_crate
from recency.workflow.engine import results_folder


def test_a_crate_has_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = {
        "results/report.html": "report",
        "results/summary.txt": "An LM predicts best.",
        "results/experiments/mine/figure.svg": "<svg/>",
        "data/downloads/times.csv": "1,2\n",
        "data/supplied/text.txt": "a text\n",
    }
    for path, text in made.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    results_folder.open_root("results", "mine", "cores")
    figure = lineage.Record(
        file="experiments/mine/figure.svg",
        rule="figure",
        role="figure",
        identity={"experiment": "mine"},
        settings="",
        sha256=lineage.digest("results/experiments/mine/figure.svg"),
        bytes=6,
        outside={
            str(tmp_path / "data/supplied/text.txt"): "digest of the text",
            "../jane/times.csv": "digest of the times",
        },
    )
    lineage.store(figure, Path("results"))
    ro_crate.main(
        results=["results/experiments/mine/figure.svg"],
        report="results/report.html",
        summary="results/summary.txt",
        out="results/rocrate.zip",
        title="mine",
        config={"study": "mine", "export": {"licence": "cc-by-4.0"}},
        inputs={
            "data/downloads/times.csv": {"url": "https://example.org/times.csv"},
            "data/supplied/text.txt": {"local": "text.txt"},
            "data/downloads/unused.csv": {"url": "https://example.org/unused.csv"},
        },
        corpora=[{"label": "Times", "cite": "Reader (2020)", "licence": "CC BY 4.0"}],
        project=str(ROOT),
        system_r=True,
        texts_and_times=True,
    )
    with zipfile.ZipFile("results/rocrate.zip") as archive:
        assert archive.read("experiments/mine/figure.svg") == b"<svg/>"
        assert yaml.safe_load(archive.read("config.yaml"))["study"] == "mine"
        assert archive.read("Snakefile") == (ROOT / "Snakefile").read_bytes()
        chain = json.loads(archive.read("lineage.json"))["files"]
        graph = json.loads(archive.read("ro-crate-metadata.json"))["@graph"]
        contained = set(archive.namelist())
    assert not [name for name in contained if "times" in name or "text.txt" in name]
    assert list(chain) == ["experiments/mine/figure.svg"]
    assert chain["experiments/mine/figure.svg"]["outside"] == {
        "text.txt": "digest of the text",
        "times.csv": "digest of the times",
    }
    entities = {each["@id"]: each for each in graph}
    root = entities["./"]
    assert (root["name"], root["license"]) == ("mine", "cc-by-4.0")
    assert root["description"] == "An LM predicts best."
    run = entities["#run"]
    used = [each["@id"] for each in run["object"]]
    assert {"config.yaml", "software/requirements.lock", "software/stats.yaml"} < set(used)
    assert used[-2:] == ["https://example.org/times.csv", "#data/supplied/text.txt"]
    checksum = hashlib.sha256(b"1,2\n").hexdigest()
    assert entities["https://example.org/times.csv"]["sha256"] == checksum
    results = {each["@id"] for each in run["result"]}
    assert results == {"report.html", "summary.txt", "experiments/mine/figure.svg"}
    assert run["instrument"] == {"@id": "Snakefile"}
    assert entities["#numpy"]["version"] == metadata.version("numpy")
    assert {"#R", "#lme4"} <= entities.keys()
    assert entities["#corpus-0"]["citation"] == "Reader (2020)"
    # A reader of crates opens it.
    crate = ROCrate("results/rocrate.zip")
    assert crate.mainEntity.id == "Snakefile" and len(crate.data_entities) > 15
