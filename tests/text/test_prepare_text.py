"""Tables of text to train on, and how a corpus is put together from them."""

import functools
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from test_corpora import babylm_zip, written

from project import TINY, copy_project, load, snakemake
from readingtimes.downloads import download
from recency import sources
from recency.errors import InputError
from recency.text import prepare as prepare_text
from recency.text import readers

OPEN_ENGLISH = Path(__file__).resolve().parents[2] / "data" / "sources" / "open_english.tsv"
# blimp.tsv has minimal pairs, not text.
TABLES = sorted(set(OPEN_ENGLISH.parent.glob("*.tsv")) - {OPEN_ENGLISH.with_name("blimp.tsv")})
LARGE = ("openwebtext", "babylm-10M", "babylm-100M", "wikitext-103")


def table(path, *rows):
    """Write a table of sources of (part, reader)."""
    lines = ["\t".join(sources.COLUMNS)]
    lines += [f"https://example.org/{n}\t\t\tCC0\t{p}\t{r}" for n, (p, r) in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_tables_of_the_project():
    assert len(TABLES) == 5
    for path in TABLES:
        rows = sources.read(path)
        assert len({source.url for source in rows}) == len(rows)
        assert {source.reader for source in rows} <= set(readers.readers())
        assert all(re.fullmatch("[0-9a-f]{64}", source.sha256 or "0" * 64) for source in rows)
    kept = sources.read(OPEN_ENGLISH, exclude=["brown"])
    assert "brown" not in {source.part for source in kept} and len(kept) == 87


def test_tables_that_are_wrong(tmp_path):
    path = table(tmp_path / "t.tsv", ("brown", "plain"))
    with pytest.raises(InputError, match="no part to exclude called 'browm'"):
        sources.read(path, ["browm"])
    path.write_text(path.read_text().replace("\tCC0", "x\tCC0"))
    with pytest.raises(InputError, match="line 2: bytes is 'x'"):
        sources.read(path)
    path.write_text("url\tpart\n")
    with pytest.raises(InputError, match="columns must be url, sha256"):
        sources.read(path)
    pairs = OPEN_ENGLISH.with_name("blimp.tsv")
    assert {source.reader for source in sources.read(pairs)} == {""}
    with pytest.raises(InputError, match="blimp.tsv has no columns part and reader"):
        prepare_text.main([tmp_path / "a.txt"], tmp_path / "out", sources=[pairs])
    with pytest.raises(InputError, match="none.tsv cannot be read: No such file"):
        sources.read(tmp_path / "none.tsv")
    with pytest.raises(
        InputError, match="no reader of text is called 'plian'; did you mean 'plain'"
    ):
        readers.reader("plian")


def test_prepare_text(tmp_path):
    path = table(tmp_path / "t.tsv", ("a", "plain"), ("a", "plain"), ("b", "plain"))
    files = [written(tmp_path / f"{n}.txt", f"text {n}\n")[0] for n in range(3)]
    out = tmp_path / "text.parquet"
    prepare_text.main(files, out, sources=[path])
    first = out.read_bytes()
    assert pq.read_table(out).to_pydict() == {
        "document": ["a/0", "a/1", "b/2"],
        "text": ["text 0\n", "text 1\n", "text 2\n"],
    }
    prepare_text.main(files, out, sources=[path])
    assert out.read_bytes() == first
    for given_files in (files, files[2:]):
        prepare_text.main(given_files, out, sources=[path], exclude=["a"])
        assert pq.read_table(out)["document"].to_pylist() == ["b/2"]
    prepare_text.main(
        files, out, reader="plain", options={"plain": {"documents": "line"}}, row_group=8
    )
    assert pq.read_table(out)["document"].to_pylist() == ["0-1", "1-1", "2-1"]
    assert pq.read_metadata(out).num_row_groups == 3
    for wrong, message in [
        ({"files": files[:2], "sources": [path]}, "has 3 files, 3 of them not excluded, but 2"),
        ({"files": files}, "needs `sources`.*or a `reader`"),
        ({"files": [], "reader": "plain"}, "no file"),
        ({"files": files, "reader": "plain", "exclude": ["a"]}, "needs a table"),
        ({"files": files, "reader": "plain", "options": {"novels": {}}}, "options for novels"),
    ]:
        with pytest.raises(InputError, match=message):
            prepare_text.main(out=tmp_path / "no.parquet", **wrong)
    assert not (tmp_path / "no.parquet").exists()


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Serve small files in the large corpora's formats, under the paths of their own URLs."""
    root = tmp_path / "hub"
    root.mkdir()
    entries = {name: load()["corpora"][name] for name in LARGE}
    for entry in entries.values():
        for source in sources.read(OPEN_ENGLISH.parents[2] / entry["sources"]):
            path = root / urlsplit(source.url).path.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            if source.reader == "babylm":
                texts = {"cbt": "A tale .\n", "wikipedia": "= = = A = = =\nB\n= = = C = = =\nD\n"}
                more = texts | {"cbt": "A longer tale ."}
                babylm_zip(path, babylm_10M=texts, babylm_100M=more)
            else:
                text = [f"page of {path.stem}"] if source.reader == "parquet" else [
                    "", f" = {path.stem} = \n", "", " An article . \n", "", " = = E = = \n", ""
                ]  # fmt: skip
                pq.write_table(pa.table({"text": text}), path)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    handler = functools.partial(Quiet, directory=str(root))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", entries
    server.shutdown()
    server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Keep quiet."""


@pytest.mark.parametrize("name", LARGE)
def test_large_corpora_from_their_addresses_to_text(hub, tmp_path, name):
    """Each file of a table is fetched by its URL's path and read as the config says."""
    address, entries = hub
    entry = entries[name]
    table = OPEN_ENGLISH.parents[2] / entry["sources"]
    files = []
    for source in sources.read(table, entry.get("exclude", [])):
        path = urlsplit(source.url).path
        files.append(tmp_path / "downloads" / path.lstrip("/"))
        download.main(f"{address}{path}", files[-1], wait=0.001, timeout=5)
    out = tmp_path / "text.parquet"
    prepare_text.main(
        files, out, [table], exclude=entry.get("exclude", []), options=entry.get("options")
    )
    texts = pq.read_table(out).to_pydict()
    assert len(set(texts["document"])) == len(texts["document"])
    found = dict(zip(texts["document"], texts["text"], strict=True))
    if name == "openwebtext":
        assert len(found) == 80 and found["openwebtext/train-00079-of-00080-0"].startswith("page")
    elif name == "wikitext-103":
        assert list(found) == [f"train/train-0000{n}-of-00002-00001" for n in (0, 1)]
        assert found["train/train-00000-of-00002-00001"].endswith(" An article . \n\n = = E = =")
    else:
        tale = "A tale .\n" if name == "babylm-10M" else "A longer tale ."
        assert list(found.values()) == [tale, "= = = A = = =\nB", "= = = C = = =\nD\n"]


@pytest.mark.merge
def test_a_table_of_one_s_own_becomes_tokens(tmp_path):
    """By the workflow, from a mirror: its files are downloads of their own, and parts are left out."""
    folder = copy_project(tmp_path / "study")
    table(folder / "mine.tsv", ("a", "plain"), ("b", "plain"))
    for n, text in enumerate(("left out\n", "kept text\n")):
        path = folder / "mirror" / "example.org" / str(n)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text * 9)
    mine = {"label": "my texts", "licence": "CC0", "sources": "mine.tsv", "exclude": ["a"]}
    over = {"corpora": {"mine": mine}, "tokenizers": {"my": {"corpus": "mine", "vocabulary": 260}}}
    (folder / "over.yaml").write_text(yaml.safe_dump(over))
    made = "results/tiny/cores/corpora/mine"
    tokens, configs = f"{made}/tokens/my.json", [*TINY, "over.yaml"]
    run = snakemake(folder, tokens, configs=configs, RECENCY_MIRROR="mirror")
    assert run.returncode == 0, run.stdout[-3000:]
    texts = pd.read_parquet(folder / made / "text.parquet")
    assert texts.to_dict("list") == {"document": ["b/1"], "text": ["kept text\n" * 9]}
    kept = [path.name for path in (folder / "data" / "downloads" / "example.org").iterdir()]
    assert kept == ["1"]


def test_documents_are_parted_by_their_numbers(tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join("abcdefg"))
    told = {"reader": "plain", "options": {"plain": {"documents": "line"}}}
    found = {}
    for name, numbers in (("train", [0, 2]), ("test", [1])):
        share = {"of": 3, "numbers": numbers}
        prepare_text.main([tmp_path / "lines.txt"], tmp_path / name, documents=share, **told)
        found[name] = "".join(pd.read_parquet(tmp_path / name)["text"])
    assert found == {"train": "acdfg", "test": "be"}
