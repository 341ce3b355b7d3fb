"""A server of this machine that answers as the Hugging Face Hub does: API, redirects, checksums."""

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit


def blob(content):
    """Return git's id of a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub(BaseHTTPRequestHandler):
    """Repositories: name → revision → commit, and (name, commit) → folder; large: .safetensors."""

    def log_message(self, *_):
        """Keep quiet."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization")))
        path = unquote(urlsplit(self.path).path)
        for name, revisions in self.server.revisions.items():
            if path.startswith(f"/api/models/{name}/revision/"):
                revision = path.rpartition("/revision/")[2]
                commit = revisions.get(revision, revision)
                return self.answer(
                    {"sha": commit} if (name, commit) in self.server.folders else None
                )
            if path.startswith(f"/api/models/{name}/tree/"):
                commit, _, inside = path.rpartition("/tree/")[2].partition("/")
                return self.answer(self.tree(self.server.folders[name, commit], inside))
            if path.startswith(f"/{name}/resolve/"):
                commit, _, inside = path.rpartition("/resolve/")[2].partition("/")
                return self.file(self.server.folders[name, commit] / inside, commit)
        if path.startswith("/large/"):
            return self.content(Path(path.removeprefix("/large")).read_bytes())
        return self.answer(None)

    def answer(self, value):
        content = json.dumps(value).encode()
        self.send_response(404 if value is None else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def tree(self, folder, inside):
        entries = []
        for path in sorted((folder / inside).iterdir()):
            entry = {"path": path.relative_to(folder).as_posix(), "type": "directory"}
            if path.is_file():
                content = path.read_bytes()
                entry |= {"type": "file", "size": len(content), "oid": blob(content)}
                if path.suffix == ".safetensors":
                    entry["lfs"] = {"oid": hashlib.sha256(content).hexdigest()}
            entries.append(entry)
        return entries

    def file(self, path, commit):
        content = path.read_bytes()
        content = self.server.damage(path, content)
        if path.suffix != ".safetensors":
            return self.content(content, {"ETag": f'"{blob(content)}"', "X-Repo-Commit": commit})
        self.send_response(302)
        self.send_header("X-Linked-Etag", f'"{hashlib.sha256(path.read_bytes()).hexdigest()}"')
        self.send_header("X-Linked-Size", str(len(content)))
        self.send_header("X-Repo-Commit", commit)
        self.send_header("Location", f"/large{path}")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    def content(self, content, headers=None):
        name = Path(self.path).name
        size = self.server.sizes.get(name, len(content)) if self.command == "HEAD" else len(content)
        self.send_response(200)
        for header, value in (headers or {}).items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


@contextmanager
def serving(revisions, folders):
    """Yield a server; its `asked` lists method, path and Authorization of each request."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.revisions, server.folders, server.asked = revisions, folders, []
    server.sizes = {}  # by file name, as stated before a download
    server.damage = lambda path, content: content
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
