"""Checkpoints of the Hub: fetched once by a rule, compared with the Hub's checksums, opened offline."""

import hashlib
import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml

import job_server
from checkpoints import checkpoint
from hub_server import serving
from project import ROOT, TINY, command, environment, load, snakemake
from readingtimes.downloads import download, stated
from recency import lineage
from recency.errors import REFUSALS
from recency.networks import hub as names
from recency.networks import hub_download as hub
from recency.scoring.lm_spec import LMSpec
from recency.workflow.config import checks as config_checks
from recency.workflow.config import loading
from recency.workflow.engine import results_folder, start
from recency.workflow.plan import batches, costs
from recency.workflow.plan.study import Study
from small_networks import TEXTS

COMMITS = {"main": "a" * 40, "step1": "b" * 40}


@pytest.fixture
def server(tmp_path, monkeypatch):
    folders = {}
    for name, commit in COMMITS.items():
        folders["owner/name", commit] = tmp_path / "repository" / name
        for part in ("", "small"):
            folder = folders["owner/name", commit] / part
            folder.mkdir(parents=True)
            texts = {"config.json": name + part, "tokenizer.json": "{}", "README.md": "read me"}
            texts |= {"flax_model.msgpack": "not needed", "model.safetensors": f"weights {name}"}
            for file, text in texts.items():
                (folder / file).write_text(text)
    folder = folders["owner/name", "c" * 40] = tmp_path / "repository" / "pickle"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "pytorch_model.bin").write_text("pickle")
    revisions = {"owner/name": {**COMMITS, "old": "c" * 40}}
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    stated.of.cache_clear()
    stated._unreachable.clear()
    with serving(revisions, folders) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def fetch(tmp_path, name, **settings):
    out = tmp_path / "hub" / f"{names.key(name)}{names.SUFFIX}"
    out.parent.mkdir(parents=True, exist_ok=True)
    hub.main(out, checkpoint=name, tries=1, wait=0.001, **settings)
    return out


def test_what_is_needed_is_fetched_and_opened_by_its_folder(server, tmp_path):
    for name, text in {
        "owner/name": "main",
        "owner/name@step1": "step1",
        "owner/name/small@step1": "step1small",
    }.items():
        manifest = fetch(tmp_path, name)
        record = names.files(manifest)
        assert record["commit"] == COMMITS[name.partition("@")[2] or "main"]
        assert list(record["files"]) == ["config.json", "tokenizer.json", "model.safetensors"]
        weights = record["files"]["model.safetensors"]
        folder = Path(names.fetched(manifest))
        assert (
            weights["sha256"]
            == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
        )
        assert (
            folder / "config.json"
        ).read_text() == text and server.url not in manifest.read_text()
        given = {"model": [str(manifest)], "lm": {"name": "x", "checkpoint": name}}
        assert LMSpec.of_job(given, 1).model == str(folder)
    # Repeated, nothing is downloaded.
    server.asked.clear()
    fetch(tmp_path, "owner/name")
    assert not [path for _, path, _ in server.asked if "/resolve/" in path]


def test_a_branch_stays_at_the_commit_of_its_first_download(server, tmp_path):
    before = names.files(fetch(tmp_path, "owner/name"))
    server.revisions["owner/name"]["main"] = COMMITS["step1"]
    shutil.rmtree(tmp_path / "hub")
    assert names.files(fetch(tmp_path, "owner/name", before=before["commit"])) == before
    assert names.files(fetch(tmp_path, "owner/name"))["commit"] == COMMITS["step1"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("owner/name@none", "there is no such name or revision"),
        ("owner/nothing", "there is no such name or revision"),
        ("owner/name@old", r"weights in a pickle \(pytorch_model.bin\).*allow_pickle: true"),
        ("owner/name/x.gguf", "the Hub has no x.gguf there"),
    ],
)
def test_what_is_not_there_is_one_line(server, tmp_path, name, message):
    with pytest.raises(REFUSALS, match=message) as error:
        fetch(tmp_path, name)
    assert "\n" not in str(error.value)


def test_a_pickle_is_fetched_where_it_is_allowed(server, tmp_path):
    record = names.files(fetch(tmp_path, "owner/name@old", allow_pickle=True))
    assert list(record["files"]) == ["config.json", "pytorch_model.bin"]


def test_a_damaged_file_is_one_line(server, tmp_path):
    server.damage = lambda path, content: content[::-1] if path.name == "config.json" else content
    with pytest.raises(
        REFUSALS, match="config.json is not the file that is needed: expected git blob"
    ):
        fetch(tmp_path, "owner/name")


def test_a_file_that_is_gone_is_one_line(server, tmp_path):
    manifest = fetch(tmp_path, "owner/name")
    path = manifest.parent / "name@main" / "model.safetensors"
    path.write_text("cut")
    with pytest.raises(REFUSALS, match=r"model.safetensors: another size .*rm '.*hub.json'"):
        names.fetched(manifest)
    path.unlink()
    with pytest.raises(REFUSALS, match="model.safetensors: missing"):
        names.fetched(manifest)


def test_a_token_goes_to_the_hub_alone(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    fetch(tmp_path, "owner/name")
    sent = {path.split("/")[1]: token for _, path, token in server.asked}
    assert sent == {"api": "Bearer hf_test", "owner": "Bearer hf_test", "large": None}


# Sizes and checksums of other files


def test_the_hub_states_size_and_checksum_of_any_file(server, tmp_path, capsys):
    weights = server.folders["owner/name", COMMITS["main"]] / "model.safetensors"
    at = f"{server.url}/owner/name/resolve/{COMMITS['main']}"
    url, config = f"{at}/model.safetensors", f"{at}/config.json"
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    assert stated.of(url) == stated.Stated(len(weights.read_bytes()), sha256=digest)
    assert stated.sizes([url, config, f"{server.url}/none"]) == {
        url: 12, config: 4, f"{server.url}/none": None,
    }  # fmt: skip
    download.main(url, tmp_path / "weights")
    assert "compared with the checksum that the Hub states" in capsys.readouterr().err
    other = hashlib.sha256(b"another").hexdigest()
    with pytest.raises(REFUSALS, match=f"expected sha256 {other}, got"):
        download.main(url, tmp_path / "again", sha256=other, tries=1)


def test_the_first_download_s_checksum_is_compared_where_none_is_published(
    server, tmp_path, capsys
):
    url = f"{server.url}/large{server.folders['owner/name', COMMITS['main']]}/config.json"
    download.main(url, tmp_path / "a")
    assert "this download's is recorded, and later ones" in capsys.readouterr().err
    first = hashlib.sha256((tmp_path / "a").read_bytes()).hexdigest()
    download.main(url, tmp_path / "b", first=first)
    assert "compared with the first download" in capsys.readouterr().err
    (server.folders["owner/name", COMMITS["main"]] / "config.json").write_text("changed")
    with pytest.raises(REFUSALS, match=f"{first}, that of the first download, got") as error:
        download.main(url, tmp_path / "c", first=first, tries=1)
    assert "\n" not in str(error.value)


def configured(server):
    config = load(*TINY)
    config["lms"]["of_hub"] = {"checkpoint": "owner/name", "label": "Hub"}
    config["lms"]["gated"] = {
        "checkpoint": "owner/name@step1",
        "applied": "inference",
        "bias": "gated",
    }
    config["biases"]["gated"] = {"form": "surprisal_gated", "checkpoint": "owner/name"}
    config["corpora"]["pages"] = {"sources": "pages.tsv", "label": "Pages"}
    return config


def test_the_plan_knows_every_size(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    at = f"{server.url}/owner/name/resolve/{COMMITS['main']}"
    rows = [f"{at}/config.json\t\t\tfree\tp\tplain", f"{at}/model.safetensors\t\t\tfree\tp\tplain"]
    rows.append(f"{server.url}/stated\t\t7000\tfree\tp\tplain")
    rows.append(f"{server.url}/none\t\t\tfree\tp\tplain")
    header = "url\tsha256\tbytes\tlicence\tpart\treader"
    Path("pages.tsv").write_text("\n".join([header, *rows, ""]))
    study = Study(configured(server), ROOT)
    files = study.files
    assert [files.size(path) for path in study.files.of_corpus("pages")] == [4, 12, 7000, None]
    of_hub = batches.network(study, "of_hub")
    assert of_hub == ["<resources>/downloads/hub/owner/name@main.hub.json"]
    assert files.size(of_hub[0]) == sum(map(len, ("main", "{}", "weights main")))
    gated = batches.network(study, "gated")
    assert gated == ["<resources>/downloads/hub/owner/name@step1.hub.json", *of_hub]
    assert set(files.of_hub) >= set(gated)


HUB_FILES = """
corpora:
  pages:
    label: Pages
    files:
      - {hub: owner/name, revision: step1, path: config.json}
      - {hub: owner/name, revision: step1, path: model.safetensors}
      - README.md
    reader: plain
datasets:
  simulated_spr:
    predictors:
      norms: {table: {hub: owner/name, revision: step1, path: "a b.csv"}, keys: {type: word}, columns: {norm: n}}
"""


def test_files_of_datasets_on_the_hub(server, tmp_path, monkeypatch, capsys):
    """Named by dataset, revision and path; fetched and compared as other files are."""
    folder = server.folders["owner/name", COMMITS["step1"]]
    (folder / "a b.csv").write_text("word,n\nthe,1\n")
    (folder / "config.json").write_text("a page")
    server.revisions["datasets/owner/name"] = {"step1": COMMITS["step1"]}
    for revision in ("step1", COMMITS["step1"]):
        server.folders["datasets/owner/name", revision] = folder
    config = loading.merge(load(*TINY), yaml.safe_load(HUB_FILES))
    loading.complete(config, ROOT)
    at = f"{server.url}/datasets/owner/name/resolve/step1"
    assert config["datasets"]["simulated_spr"]["predictors"]["norms"]["table"] == {
        "url": f"{at}/a%20b.csv"
    }
    monkeypatch.chdir(ROOT)
    config_checks.check(config, ROOT / "config.schema.yaml")
    files = Study(config, ROOT).files
    own, *downloaded = files.of_corpus("pages")
    below = f"<resources>/downloads/{at.partition('://')[2]}"
    assert own == "README.md"
    assert downloaded == [f"{below}/config.json", f"{below}/model.safetensors"]
    assert [files.size(path) for path in downloaded] == [6, 13]
    for path in downloaded:
        download.main(out=tmp_path / Path(path).name, **files.described[path])
    assert (tmp_path / "config.json").read_text() == "a page"
    assert capsys.readouterr().err.count("compared with the checksum that the Hub states") == 2


@pytest.mark.parametrize(
    "file, message",
    [
        (
            "hub: owner/name, path: a",
            "corpora → pages → files → 0: `hub: owner/name` needs `revision`",
        ),
        (
            "hub: owner/name, revision: 1.0, path: a",
            "needs `revision`, a commit of the dataset, as a",
        ),
        ("hub: owner/name, revision: main", "needs `path`, a file in the dataset"),
        ("hub: name, revision: main, path: a", "'name' is no dataset on the Hub; write owner/name"),
        ("hub: o/n, revision: main, path: a, url: 'https://x.org/a'", "name two files; leave one"),
        ("hub: o/n, revision: main, path: ../a", "leads out of its folder"),
        ("local: a", "'url' is missing"),
    ],
)
def test_faulty_files_of_datasets_on_the_hub(file, message):
    corpora = f"corpora: {{pages: {{label: P, files: [{{{file}}}], reader: plain}}}}"
    config = loading.merge(load(*TINY), yaml.safe_load(corpora))
    with pytest.raises(REFUSALS) as error:
        loading.complete(config, ROOT)
        config_checks.check(config, ROOT / "config.schema.yaml")
    assert message in str(error.value)


def test_the_commit_is_in_the_identity_of_results(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results_folder.open_root("results", "mine", "cores")
    manifest = fetch(tmp_path, "owner/name")
    Path("results/surprisal.csv").write_text("1\n")

    class Part(list):
        def items(self):
            return []

    class Job:
        rule, params, wildcards, output = (
            "surprisal",
            Part(),
            Part(),
            Part(["results/surprisal.csv"]),
        )

    lineage.write(Job, {str(manifest): "0"})
    record = lineage.read(Path("results"), "surprisal.csv")
    assert record.identity["revision"] == f"owner/name@{COMMITS['main']}"


# A study whose jobs have no network


def unshared():
    """Return a command without a network; skip where the system permits none."""
    for words in (["unshare", "-rn"], ["unshare", "-n"]):
        try:
            if subprocess.run([*words, "true"], check=False, capture_output=True).returncode == 0:
                return words
        except OSError:
            break
    pytest.skip("unshare -n is not permitted here")


@pytest.mark.merge
def test_jobs_need_no_network_after_the_downloads(study, tmp_path, monkeypatch):
    without_network = unshared()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    repository = tmp_path / "repository"
    checkpoint(repository, TEXTS)
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "page.txt").write_text("A page of text. " * 50)
    names_ = {"owner/tiny": {"main": "d" * 40}, "owner/texts": {"main": "e" * 40}}
    folders = {("owner/tiny", "d" * 40): repository, ("owner/texts", "e" * 40): texts}
    with serving(names_, folders) as server:
        table = f"{server.url}/owner/texts/resolve/{'e' * 40}/page.txt\t\t\tfree\tp\tplain\n"
        (study / "pages.tsv").write_text("url\tsha256\tbytes\tlicence\tpart\treader\n" + table)
        (study / "hub.yaml").write_text(
            "lms: {of_hub: {checkpoint: owner/tiny, label: Hub, bias: none}}\n"
            "corpora: {pages: {sources: pages.tsv, label: Pages}}\n"
        )
        targets = [
            f"results/tiny/cores/surprisal/of_hub/simulated_{d}.parquet"
            for d in ("spr", "eye_tracking")
        ]
        targets.append("results/tiny/cores/corpora/pages/text.parquet")
        here = {"HF_ENDPOINT": server.url, "HF_HOME": str(tmp_path / "no-cache")}
        configs = [*TINY, "hub.yaml"]
        server.sizes["page.txt"] = 10**15
        run = snakemake(study, targets[-1], configs=configs, **here)
        assert run.returncode and "1,000,000 GB of free disk, for downloads" in run.stdout
        assert not [how for how, path, _ in server.asked if how == "GET" and "resolve" in path]
        server.sizes.clear()
        run = snakemake(
            study, "--until", "download", "hub_checkpoint", "--", *targets, configs=configs, **here
        )
        assert run.returncode == 0, run.stdout[-3000:]
        fetched = study / "data/downloads/hub/owner/tiny@main"
        assert (fetched / "model.safetensors").exists()
        asked = len(server.asked)
        alone = {k: v for k, v in environment().items() if k != job_server.NAME}
        run = subprocess.run(
            [*without_network, *command(*targets, configs=configs)],
            cwd=study,
            env=alone | here,
            check=False,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr[-3000:]
        assert len(server.asked) == asked
    scored = pd.read_parquet(study / targets[0])
    assert scored.surprisal_bits.notna().all()
    record = json.loads(
        (
            study / "results/tiny/cores/lineage" / "surprisal/of_hub/simulated_spr.parquet.json"
        ).read_text()
    )
    assert record["identity"]["revision"] == f"owner/tiny@{'d' * 40}"


@pytest.mark.parametrize("is_main", [True, False])
def test_jobs_of_this_workflow_cannot_use_the_hub(tmp_path, monkeypatch, is_main):
    for name in (names.FOLDER, "HF_HUB_OFFLINE"):
        monkeypatch.setenv(name, "before")
    workflow = SimpleNamespace(modifier=SimpleNamespace(is_main_snakefile=lambda: is_main))
    study = SimpleNamespace(resolve=lambda path: path.replace("<resources>", "elsewhere"))
    start.keep_jobs_offline(study, workflow)
    assert os.environ[names.FOLDER] == "elsewhere/downloads/hub"
    assert os.environ["HF_HUB_OFFLINE"] == ("1" if is_main else "before")


def test_a_plan_counts_the_files_of_unknown_size():
    downloads = Counter(download=4)
    cost = costs.Cost(all=downloads, left=downloads, bytes=28 * 10**9, unsized=1)
    assert "28 GB to fetch and 1 file of unknown size" in cost.line(1)
    cost = costs.Cost(all=downloads, left=downloads, unsized=2)
    assert "4 downloads, 2 files of unknown size; " in cost.line(1)


def test_a_gguf_file_is_opened_by_its_path(server, tmp_path):
    (server.folders["owner/name", COMMITS["main"]] / "small" / "x.gguf").write_text("GGUF")
    manifest = fetch(tmp_path, "owner/name/small/x.gguf")
    path = Path(names.fetched(manifest))
    assert path.name == "x.gguf" and path.read_text() == "GGUF"
    assert names.locate(path) == (str(path.parent), {"gguf_file": "x.gguf"})
