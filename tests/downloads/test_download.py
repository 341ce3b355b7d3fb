"""Downloads: where a file comes from, what a bad server or a wrong file leads to."""

import gzip
import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from readingtimes.downloads import download, internet
from recency import sources
from recency.errors import REFUSALS

CONTENT = bytes(i * 7 % 251 for i in range(300_000))
SHA = hashlib.sha256(CONTENT).hexdigest()
BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """A server that misbehaves as the path says."""

    def log_message(self, *_):
        """Keep quiet."""

    def do_GET(self):
        """Answer by the path's last part."""
        how = self.path.split("?")[0].split("/")[-1]
        seen = self.server.seen.setdefault(how, [])
        asked = self.headers.get("Range")
        seen.append(asked)
        body = CONTENT
        if how == "creeps_to_begin":
            return self.creep(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 500)
        if how == "creeps":
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n"
            self.wfile.write(head.encode())
            return self.creep(body[:500])
        if how == "creeps_without_length":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            return self.creep(body[:500])
        if how == "missing" or (how == "flaky" and len(seen) == 1) or how == "broken":
            return self.send_error(404 if how == "missing" else 500)
        if how == "wrong":
            body = b"<html>sign in</html>"
        if how in ("endless", "huge"):
            length = f"Content-Length: {9 * 10**17}\r\n" if how == "huge" else ""
            self.wfile.write(f"HTTP/1.1 200 OK\r\n{length}\r\n".encode())
            return self.send_zeros()
        if how in ("to_no_address", "to_no_host"):
            self.send_response(302)
            to = "http://[::1/a" if how == "to_no_address" else "http://a..b/c"
            self.send_header("Location", to)
            return self.end_headers()
        if how == "moved":
            self.send_response(302)
            self.send_header("Location", "/good")
            return self.end_headers()
        first, last = 0, len(body) - 1
        if asked and how not in ("ignores", "ignores_drops"):
            start, end = asked.removeprefix("bytes=").split("-")
            first, last = int(start), min(int(end or last), last)
            if first >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.send_response(206)
            total = f"{len(body)}"
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        else:
            self.send_response(200)
        body = body[first : last + 1]
        length = len(body)
        if how == "long":
            length += 1000
        if how == "short":
            length -= 1000
        if how == "changes":
            self.send_header("ETag", f'"{len(seen)}"')
            if len(seen) == 1:
                body = bytes(len(body))
        self.send_header("Content-Length", str(length))
        self.end_headers()
        drops = {"drops": 3, "ignores_drops": 2, "changes": 1, "dies": 99}.get(how, 0)
        if len(seen) <= drops:
            body = body[:0] if how == "dies" else body[: len(body) // 2]
        self.wfile.write(body[:length])

    def send_zeros(self):
        """Send zeros until the other side closes."""
        for number in range(500):
            self.server.sent[self.path] = 100_000 * number
            try:
                self.wfile.write(bytes(100_000))
            except OSError:
                return

    def creep(self, data):
        """Send a byte at a time, each before any timeout."""
        for byte in data:
            try:
                self.wfile.write(bytes([byte]))
            except OSError:
                return
            time.sleep(0.05)


@pytest.fixture
def server(monkeypatch):
    """Serve on a free port of this machine; `seen` lists the ranges asked for by path."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen, server.sent = {}, {}
    server.url = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def fetch(server, how, out, **options):
    """Download with short waits."""
    download.main(server.url + how, out, wait=0.001, timeout=5, **options)
    return out.read_bytes()


def leftovers(out):
    """Files beside the output, itself included."""
    return sorted(path.name for path in out.parent.iterdir())


@pytest.mark.parametrize("how", ["good", "moved", "flaky", "drops", "ignores_drops", "long"])
def test_whole_file_whatever_the_server(server, tmp_path, how):
    out = tmp_path / "file"
    checksums = {"sha256": SHA, "git_blob": BLOB, "md5": MD5}
    assert fetch(server, how, out, **checksums, bytes=len(CONTENT)) == CONTENT
    assert leftovers(out) == ["file"]


def test_dropped_connection_is_resumed_where_it_was(server, tmp_path):
    fetch(server, "drops", tmp_path / "file")
    assert server.seen["drops"] == [None, "bytes=150000-", "bytes=225000-", "bytes=262500-"]


def test_length_that_the_server_overstates_is_found_out_without_a_checksum(server, tmp_path):
    assert fetch(server, "long", tmp_path / "file") == CONTENT
    assert server.seen["long"] == [None, "bytes=300000-"]


def test_length_that_the_server_understates_is_a_wrong_file(server, tmp_path):
    with pytest.raises(REFUSALS, match="expected sha256"):
        fetch(server, "short", tmp_path / "file", sha256=SHA)
    assert leftovers(tmp_path / "file") == []


def test_killed_job_goes_on_from_its_part(server, tmp_path):
    out = tmp_path / "file"
    with pytest.raises(REFUSALS, match="3 times in a row"):
        fetch(server, "dies", out, tries=3)
    (tmp_path / "other").mkdir()
    url = server.url + "good"
    (tmp_path / "file.part").write_bytes(CONTENT[:1000])
    (tmp_path / "file.part.json").write_text(f'{{"url": "{url}", "byte_range": null}}')
    assert fetch(server, "good", out, sha256=SHA) == CONTENT
    assert server.seen["good"] == ["bytes=1000-"]


def test_a_full_disk_ends_a_download_at_once(server, tmp_path):
    part, url = tmp_path / "file.part", server.url + "good"
    part.symlink_to("/dev/full")
    part.with_name("file.part.json").write_text(f'{{"url": "{url}", "byte_range": null}}')
    with pytest.raises(
        REFUSALS, match=r"file\.part was not written: the disk is full.*MB are free"
    ):
        fetch(server, "good", tmp_path / "file")
    assert server.seen["good"] == [None]
    part.unlink()
    assert fetch(server, "good", tmp_path / "file", sha256=SHA) == CONTENT


def test_part_of_another_url_is_not_used(server, tmp_path):
    (tmp_path / "file.part").write_bytes(b"x" * 1000)
    (tmp_path / "file.part.json").write_text('{"url": "http://other/", "byte_range": null}')
    assert fetch(server, "good", tmp_path / "file") == CONTENT
    assert server.seen["good"] == [None]


def test_file_that_changed_between_pieces_is_got_again(server, tmp_path):
    assert fetch(server, "changes", tmp_path / "file", sha256=SHA) == CONTENT
    assert server.seen["changes"] == [None, "bytes=150000-", None]


def test_part_that_is_wrong_is_got_again(server, tmp_path):
    url = server.url + "good"
    for wrong in (bytes(1000), bytes(len(CONTENT)), bytes(len(CONTENT) + 5)):
        (tmp_path / "file.part").write_bytes(wrong)
        (tmp_path / "file.part.json").write_text(f'{{"url": "{url}", "byte_range": null}}')
        assert fetch(server, "good", tmp_path / "file", sha256=SHA, bytes=len(CONTENT)) == CONTENT


@pytest.mark.parametrize("how", ["good", "ignores", "drops", "ignores_drops"])
@pytest.mark.parametrize("first", [0, 1000])
def test_byte_range(server, tmp_path, how, first):
    last = 99_999
    part = CONTENT[first : last + 1]
    sha = hashlib.sha256(part).hexdigest()
    out = tmp_path / "file"
    assert fetch(server, how, out, byte_range=[first, last], sha256=sha) == part
    assert leftovers(out) == ["file"]


def test_wrong_content_is_not_kept(server, tmp_path):
    for check in ({"sha256": SHA}, {"git_blob": BLOB}, {"md5": MD5}, {"bytes": len(CONTENT)}):
        with pytest.raises(REFUSALS) as error:
            fetch(server, "wrong", tmp_path / "file", **check)
        message = str(error.value)
        assert server.url + "wrong" in message and "expected" in message and "got" in message
        assert "mirror" in message and "local" in message
        assert not (tmp_path / "file").exists()


def test_missing_says_the_way_out_at_once(server, tmp_path):
    with pytest.raises(REFUSALS, match=r"404.*<mirror>/127.0.0.1/missing"):
        fetch(server, "missing", tmp_path / "file")
    assert len(server.seen["missing"]) == 1


def test_broken_server_is_tried_again_then_given_up(server, tmp_path):
    with pytest.raises(REFUSALS, match="500.*4 times in a row"):
        fetch(server, "broken", tmp_path / "file", tries=4)
    assert len(server.seen["broken"]) == 4


def test_no_server_and_no_http(tmp_path):
    with pytest.raises(REFUSALS, match="2 times in a row"):
        download.main("http://127.0.0.1:9/a", tmp_path / "a", tries=2, wait=0.001)
    with pytest.raises(REFUSALS, match="only http"):
        download.main("ftp://example.org/a", tmp_path / "a")


URL = "https://example.org/data/a%20b.txt?download=true"


@pytest.mark.parametrize("name", ["a%20b.txt", "a b.txt", "a%20b.txt.gz", "a b.txt.gz"])
def test_mirrors(tmp_path, name):
    path = tmp_path / "second" / "example.org" / "data" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(CONTENT) if name.endswith(".gz") else CONTENT)
    out = tmp_path / "out" / "file"
    mirrors = [tmp_path / "absent", tmp_path / "second"]
    download.main(URL, out, sha256=SHA, git_blob=BLOB, bytes=len(CONTENT), mirrors=mirrors)
    assert out.read_bytes() == CONTENT
    out.unlink()
    download.main(URL, out, byte_range=(10, 99), mirrors=mirrors)
    assert out.read_bytes() == CONTENT[10:100]
    out.unlink()
    path.write_bytes(gzip.compress(b"no") if name.endswith(".gz") else b"no")
    with pytest.raises(REFUSALS, match="is not the file that is needed"):
        download.main(URL, out, sha256=SHA, mirrors=mirrors)
    assert leftovers(out) == []


def test_mirror_may_hold_just_the_range_and_gzipped_originals_stay_so(tmp_path):
    path = tmp_path / "m" / "example.org" / "part.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(CONTENT[10:100]))
    url = "https://example.org/part"
    download.main(url, tmp_path / "part", byte_range=[10, 99], mirrors=[tmp_path / "m"])
    assert (tmp_path / "part").read_bytes() == CONTENT[10:100]
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    download.main(f"{url}.gz", tmp_path / "part.gz", sha256=sha, mirrors=[tmp_path / "m"])
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(REFUSALS, match="damaged"):
        download.main(url, tmp_path / "part", mirrors=[tmp_path / "m"])


def test_local_comes_first_and_is_checked(tmp_path):
    local = tmp_path / "mine.txt.gz"
    local.write_bytes(gzip.compress(CONTENT))
    out = tmp_path / "out.txt"
    download.main(URL, out, sha256=SHA, local=local, mirrors=[tmp_path])
    assert out.read_bytes() == CONTENT
    with pytest.raises(REFUSALS, match="expected sha256 00, got"):
        download.main(URL, out, sha256="00", local=local)
    with pytest.raises(REFUSALS, match="is not a file"):
        download.main(URL, out, local=tmp_path / "absent")
    # Of a file to place, the stand-in serves until it is there.
    stand_in = {"path": "mine.txt"}
    download.main(None, out, local=tmp_path / "absent", mirrors=[tmp_path], stand_in=stand_in)
    assert out.read_bytes() == CONTENT
    with pytest.raises(REFUSALS, match="put it at .*absent"):
        download.main(None, out, local=tmp_path / "absent", stand_in=stand_in)


def test_stand_in_is_used_after_the_mirrors_and_said(tmp_path, capsys):
    mirror = tmp_path / "m"
    (mirror / "ucl").mkdir(parents=True)
    (mirror / "ucl" / "rebuilt.txt.gz").write_bytes(gzip.compress(CONTENT))
    stand_in = {"path": "ucl/rebuilt.txt", "sha256": SHA}
    out = tmp_path / "out"
    download.main(URL, out, git_blob="00", mirrors=[mirror], stand_in=stand_in)
    assert out.read_bytes() == CONTENT
    assert "stand-in" in capsys.readouterr().out
    (mirror / "example.org" / "data").mkdir(parents=True)
    (mirror / "example.org" / "data" / "a b.txt").write_bytes(b"original")
    download.main(URL, out, mirrors=[mirror], stand_in=stand_in)
    assert out.read_bytes() == b"original"
    with pytest.raises(REFUSALS, match="rebuilt.txt.gz is not the file"):
        download.main(None, out, mirrors=[mirror], stand_in={**stand_in, "sha256": "00"})


@pytest.mark.parametrize("path", ["..", "a/../../b", "%2e%2e/b", "a/%2E%2e%2f%2e%2e/b", "a\\b"])
def test_nothing_outside_a_mirror_is_read(tmp_path, path):
    (tmp_path / "m" / "example.org").mkdir(parents=True)
    (tmp_path / "b").write_bytes(b"secret")
    (tmp_path / "m" / "b").write_bytes(b"secret")
    for asked in (
        {"url": f"https://example.org/{path}"},
        {"url": None, "stand_in": {"path": path}},
    ):
        with pytest.raises(REFUSALS, match="leads out of its folder"):
            download.main(**asked, out=tmp_path / "out", mirrors=[tmp_path / "m"])
    with pytest.raises(REFUSALS, match="leads out of its folder"):
        download.main(None, tmp_path / "out", stand_in={"path": "/etc/passwd"})
    assert not (tmp_path / "out").exists()


def test_a_copy_that_unpacks_without_end_is_stopped(tmp_path):
    bomb = tmp_path / "m" / "example.org" / "data" / "a b.txt.gz"
    bomb.parent.mkdir(parents=True)
    bomb.write_bytes(gzip.compress(bytes(30 << 20)))  # 30 MB of zeros in 30 kB
    out = tmp_path / "out"
    for known in ({}, {"bytes": 20}, {"byte_range": (0, 9)}):
        with pytest.raises(REFUSALS, match="unpacks to more than"):
            download.main(URL, out, mirrors=[tmp_path / "m"], **known)
        assert leftovers(out) == ["m"]
    download.main(URL, out, bytes=30 << 20, mirrors=[tmp_path / "m"])
    assert out.stat().st_size == 30 << 20


def test_a_download_without_end_is_stopped(server, tmp_path, monkeypatch):
    """4 GB, or as many bytes as the config states."""
    monkeypatch.setattr(internet, "MOST", 2_000_000)
    with pytest.raises(REFUSALS, match="does not end after 2,000,000 .* set its `bytes`"):
        fetch(server, "endless", tmp_path / "out")
    assert leftovers(tmp_path / "out") == ["out.part.json"]
    with pytest.raises(REFUSALS, match="expected sha256"):
        fetch(server, "endless", tmp_path / "out", sha256=SHA, bytes=5_000_000)
    assert fetch(server, "endless", tmp_path / "out", bytes=5_000_000) == bytes(5_000_000)
    assert server.sent["/endless"] < 20_000_000


def test_a_file_that_does_not_fit_the_disk_is_not_begun(server, tmp_path):
    with pytest.raises(REFUSALS, match="has 900,000,000,000,000,000 bytes more to download, and"):
        fetch(server, "huge", tmp_path / "out")
    with pytest.raises(REFUSALS, match="expected 1,000 bytes, got 1,001"):
        fetch(server, "huge", tmp_path / "out", bytes=1000)


@pytest.mark.parametrize("how", ["to_no_address", "to_no_host"])
def test_a_redirection_to_a_malformed_address(server, tmp_path, how):
    with pytest.raises(REFUSALS, match=f"{how} leads to no address .*correct the URL"):
        fetch(server, how, tmp_path / "out", tries=1)


def test_file_to_be_placed_says_which_whence_whither(tmp_path):
    placed = "Dundee corpus (Kennedy, Hill & Pynte 2003), from its authors"
    stand_in = {"path": "dundee/words.csv"}
    options = {"mirrors": ["lab"], "stand_in": stand_in, "supplied": placed}
    with pytest.raises(REFUSALS) as error:
        download.main(None, tmp_path / "words.csv", **options)
    for part in ("words.csv", placed, "local:", "lab/dundee/words.csv"):
        assert part in str(error.value)
    (tmp_path / "dundee").mkdir()
    (tmp_path / "dundee" / "words.csv").write_bytes(b"a,b\n")
    download.main(None, tmp_path / "words.csv", **{**options, "mirrors": [tmp_path]})
    assert (tmp_path / "words.csv").read_bytes() == b"a,b\n"


def test_real_mirror_gives_the_bytes_of_the_table(mirror, tmp_path):
    root = download.Path(__file__).resolve().parents[2]
    rows = sources.read(root / "data" / "sources" / "open_english.tsv")
    assert len(rows) == 88
    for source in rows[::10]:
        options = {"sha256": source.sha256, "bytes": source.bytes, "mirrors": [mirror]}
        download.main(source.url, tmp_path / "file", **options)


@pytest.mark.parametrize("how", ["creeps", "creeps_without_length", "creeps_to_begin"])
def test_a_server_that_sends_a_byte_at_a_time(server, tmp_path, how):
    """Each byte comes before the timeout; without a least pace this went on for 25 seconds here."""
    out, began = tmp_path / "file", time.monotonic()
    with pytest.raises(REFUSALS, match="fewer than 10,000 in the last 0.5 s; try again later"):
        fetch(server, how, out, patience=0.5)
    assert time.monotonic() - began < 5
    assert not out.exists()
