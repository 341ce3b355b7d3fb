"""Uploading to a hub: a server of this machine that speaks the Hub's protocol for a small commit."""

import base64
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from recency.errors import InputError
from recency.export import push


class Hub(ThreadingHTTPServer):
    """What a hub was given: the repository, and the files of the commit."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.created, self.files, self.tokens, self.refuse = [], {}, set(), False


class Handler(BaseHTTPRequestHandler):
    @property
    def address(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def log_message(self, *arguments):
        pass

    def answer(self, body, code=200):
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        self.answer({"id": "me/open-lm", "sha": "0" * 40, "siblings": [], "private": True})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.tokens.add(self.headers.get("Authorization"))
        if self.server.refuse:
            self.answer({"error": "no such right"}, 403)
        elif self.path == "/api/repos/create":
            self.server.created.append(json.loads(body))
            self.answer({"url": f"{self.address}/me/open-lm", "id": "me/open-lm"})
        elif "/preupload/" in self.path:
            files = [
                {"path": each["path"], "uploadMode": "regular", "shouldIgnore": False}
                for each in json.loads(body)["files"]
            ]
            self.answer({"files": files})
        elif "/commit/" in self.path:
            for line in filter(None, body.decode().splitlines()):
                entry = json.loads(line)
                if entry["key"] == "file":
                    value = entry["value"]
                    self.server.files[value["path"]] = base64.b64decode(value["content"])
            url = f"{self.address}/me/open-lm/commit/{'1' * 40}"
            self.answer({"commitUrl": url, "commitOid": "1" * 40, "success": True})
        else:
            self.answer({})


@pytest.fixture
def hub(monkeypatch):
    from huggingface_hub import constants, hf_api

    server = Hub()
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(hf_api.constants, "ENDPOINT", address)
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield server
    server.shutdown()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "lm"
    made.mkdir()
    (made / "config.json").write_text("{}")
    (made / "README.md").write_text("# LM\n")
    return made


def test_all_files_are_one_commit(hub, folder, tmp_path):
    push.main(folder, tmp_path / "pushed.json", repository="me/open-lm")
    assert hub.files == {"config.json": b"{}", "README.md": b"# LM\n"}
    assert hub.created == [{"name": "open-lm", "organization": "me", "visibility": "private"}]
    assert hub.tokens == {"Bearer hf_test"}
    found = json.loads((tmp_path / "pushed.json").read_text())
    assert found["repository"] == "me/open-lm" and found["commit"] == "1" * 40


def test_without_a_token_nothing_is_sent(hub, folder, tmp_path, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(InputError, match="HF_TOKEN is not set.*settings/tokens"):
        push.main(folder, tmp_path / "pushed.json", repository="me/open-lm")
    assert not hub.created and not (tmp_path / "pushed.json").exists()


def test_a_refusal_is_one_line(hub, folder, tmp_path):
    hub.refuse = True
    with pytest.raises(InputError, match="^me/open-lm could not be written on the Hub: ") as error:
        push.main(folder, tmp_path / "pushed.json", repository="me/open-lm")
    assert "\n" not in str(error.value) and re.search("403", str(error.value))
