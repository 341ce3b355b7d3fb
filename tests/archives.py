"""Everything that an archive or a folder holds, as text: nested zips, Parquet, packed columns of pages."""

import base64
import io
import json
import re
import zipfile
import zlib
from pathlib import Path

import pyarrow.parquet as pq

from recency.evaluations.explore.view_data import unpacked

_PACKED = re.compile(r'\{"n": ?\d+, ?"step": ?[^,]+, ?"data": ?"[^"]*"\}')
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")


def opened(path):
    """Yield name and text of each member of a file or folder, opened to the last."""
    path = Path(path)
    files = [f for f in sorted(path.rglob("*")) if f.is_file()] if path.is_dir() else [path]
    for file in files:
        yield from _member(str(file.relative_to(path.parent)), file.read_bytes())


def _member(name, content):
    yield name, name
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield name, archive.comment.decode("latin-1")
            for inside in archive.namelist():
                yield from _member(f"{name}/{inside}", archive.read(inside))
    elif content[:4] == b"PAR1":
        table = pq.read_table(io.BytesIO(content))
        yield name, str(pq.read_metadata(io.BytesIO(content)).metadata)
        yield name, table.to_pandas().to_csv()
    elif content[:5] == b"%PDF-":
        for stream in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
            yield from _inflated(name, stream)
        yield name, content.decode("latin-1")
    else:
        text = content.decode("utf-8", errors="replace")
        yield name, text
        for column in _PACKED.findall(text):
            yield name, " ".join(f"{value:.6g}" for value in unpacked(json.loads(column)))
        for found in _BASE64.findall(text):
            try:
                inner = base64.b64decode(found, validate=True)
            except ValueError:
                continue
            yield from _inflated(name, inner)
            yield name, inner.decode("utf-8", errors="replace")


def _inflated(name, content):
    try:
        inner = zlib.decompress(content)
    except zlib.error:
        return
    yield name, inner.decode("utf-8", errors="replace")


def holding(path, wanted):
    """Return wanted string → the members of an archive that hold it."""
    found = {}
    for name, text in opened(path):
        for each in wanted:
            if each.lower() in text.lower():
                found.setdefault(each, set()).add(name)
    return found
