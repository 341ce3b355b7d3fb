"""Size and checksum of files as their server states them, before they are downloaded."""

import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from threading import Lock
from urllib.parse import urljoin

from readingtimes.downloads.addresses import split_url
from readingtimes.downloads.internet import USER_AGENT, authorization

SECONDS = 5.0
"""Longest wait for an answer."""
_HOPS, _THREADS = 5, 16
_unreachable: set[str] = set()
_lock = Lock()


@dataclass(frozen=True)
class Stated:
    """Size in bytes, and the checksum that the Hugging Face Hub states; None where unknown."""

    size: int | None = None
    sha256: str | None = None
    git_blob: str | None = None


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the Hub states checksums in the answer that redirects."""

    def redirect_request(self, *_args: object) -> None:
        return None


@cache
def of(url: str) -> Stated:
    """Return what the server of an address states; nothing for one that does not answer."""
    for _ in range(_HOPS):
        host = split_url(url).netloc
        if host in _unreachable:
            return Stated()
        request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": USER_AGENT})
        request.add_header("Accept-Encoding", "identity")
        for header, value in authorization(url).items():
            request.add_unredirected_header(header, value)
        try:
            with _opener().open(request, timeout=SECONDS) as answer:
                return _read(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                if not (300 <= error.code < 400 and error.headers.get("Location")):
                    return Stated()
                if error.headers.get("X-Linked-Size"):
                    return _read(error.headers)
                url = urljoin(url, error.headers["Location"])
        except (OSError, ValueError):
            with _lock:
                _unreachable.add(host)
            return Stated()
    return Stated()


@cache
def _opener() -> urllib.request.OpenerDirector:
    """Return the opener of all requests: reading the system's certificates for each takes 15 ms."""
    encrypted = urllib.request.HTTPSHandler(context=ssl.create_default_context())
    return urllib.request.build_opener(_Stay, encrypted)


def sizes(urls: Iterable[str]) -> dict[str, int | None]:
    """Return the size of the file of each address, asked for in parallel; None where unknown."""
    urls = list(urls)
    with ThreadPoolExecutor(_THREADS) as threads:
        return {url: stated.size for url, stated in zip(urls, threads.map(of, urls), strict=True)}


def _read(headers) -> Stated:
    """Return size and checksum from the headers of an answer."""
    length = headers.get("X-Linked-Size") or headers.get("Content-Length") or ""
    size = int(length) if length.isdigit() else None
    if not headers.get("X-Repo-Commit"):  # no Hub: an ETag is then no checksum
        return Stated(size)
    tag = (headers.get("X-Linked-Etag") or headers.get("ETag") or "").removeprefix("W/").strip('"')
    return Stated(
        size,
        sha256=tag if re.fullmatch("[0-9a-f]{64}", tag) else None,
        git_blob=tag if re.fullmatch("[0-9a-f]{40}", tag) else None,
    )
