"""Convert a corpus's text to one stream of tokens, which training reads through a memory map."""

import json
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO

import numpy as np

from readingtimes.files import atomic, sha256
from readingtimes.progress import progress
from recency.errors import InputError

END_OF_DOCUMENT = "<|endoftext|>"
#: Seconds between two states of an unfinished job.
SAVE_EVERY = 30.0
# Characters that `PRETOKEN` classifies: ASCII, Latin-1 and Latin Extended, general punctuation, euro and
# trade mark, all unchanged by NFC.
LETTERS = "A-Za-zªµºÀ-ÖØ-öø-ɏ"
NUMBERS = "0-9²³¹¼½¾"
VISIBLE = "!-~¡-ɏ‐-‧‰-⁞€™"
KNOWN = re.compile(f"[\x00-\x7f{VISIBLE}]*")
# GPT-2's pretokens, within which tokens are merged.
PRETOKEN = re.compile(
    rf"'(?:[sdmt]|re|ve|ll)| ?[{LETTERS}]+| ?[{NUMBERS}]+| ?[^\s{LETTERS}{NUMBERS}]+|\s+(?!\S)|\s+",
    re.ASCII,
)
# A safe boundary of pretokens in any text: after a line break between two visible characters.
SAFE = re.compile(rf"(?<=[{VISIBLE}]\n)(?=[{VISIBLE}])")


class Encoder:
    """A tokenizer that returns tokens as bytes of `dtype`, with a cache of pretokens.

    Texts of known characters are split here, ten times faster than by the library; other texts and
    tokenizers use the library. The tokens are the same.
    """

    def __init__(self, path: str | Path, remembered: int = 500_000):
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(path))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        # The string <|endoftext|> within a text is ordinary text.
        self.tokenizer.encode_special_tokens = True
        self.vocabulary = max(self.tokenizer.get_vocab(with_added_tokens=True).values()) + 1
        self.dtype = np.dtype("<u2" if self.vocabulary <= 65_535 else "<u4")
        self.blanks = _runs_of_blanks(json.loads(self.tokenizer.to_str()))
        self.memory = _Memory(self.through_library, remembered)

    def through_library(self, text: str) -> bytes:
        """Encode a document by the library."""
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return np.array(ids, self.dtype).tobytes()

    def encode(self, text: str) -> bytes:
        """Encode a document; no special token is added."""
        if self.blanks is None:
            return self.through_library(text)
        if KNOWN.fullmatch(text):
            return self._known(text)
        return b"".join(
            self._known(piece) if KNOWN.fullmatch(piece) else self.through_library(piece)
            for piece in pieces(text)
        )

    def _known(self, text: str) -> bytes:
        token = self.memory.__getitem__
        if not self.blanks:
            return b"".join(map(token, PRETOKEN.findall(text)))
        # Runs of blanks that are added tokens are extracted before the rest is split.
        parts = []
        for number, part in enumerate(re.split(self.blanks, text)):
            parts.append(
                token(part) if number % 2 else b"".join(map(token, PRETOKEN.findall(part)))
            )
        return b"".join(parts)


class _Memory(dict):
    """Cache of the tokens of up to `size` pretokens."""

    def __init__(self, encode, size: int):
        super().__init__()
        self.encode, self.size = encode, size

    def __missing__(self, pretoken: str) -> bytes:
        tokens = self.encode(pretoken)
        if len(self) < self.size:
            self[pretoken] = tokens
        return tokens


def _runs_of_blanks(facts: dict) -> str | None:
    """Return a pattern of the runs of blanks that are added tokens, "" if there are none.

    None if the tokenizer does not split texts as GPT-2's does (byte-level BPE, with or without NFC) or
    has other added tokens, so that `PRETOKEN` does not apply.
    """
    parting = facts.get("pre_tokenizer") or {}
    if (
        parting.get("type") != "ByteLevel"
        or not parting.get("use_regex", True)
        or parting.get("add_prefix_space", True)
        or (facts.get("normalizer") or {"type": "NFC"})["type"] != "NFC"
        or facts["model"]["type"] != "BPE"
        or facts["model"].get("dropout")
    ):
        return None
    added = [token for token in facts.get("added_tokens", []) if not token["special"]]
    for token in added:
        bound = token["lstrip"] or token["rstrip"] or token["single_word"]
        if bound or not re.fullmatch(" {2,}", token["content"]):
            return None
    longest_first = sorted((token["content"] for token in added), key=len, reverse=True)
    return f"({'|'.join(longest_first)})" if added else ""


def pieces(text: str, length: int = 1) -> list[str]:
    """Split a text at `SAFE` boundaries into pieces of at least `length` characters, except the last."""
    parts = []
    start = 0
    while match := SAFE.search(text, start + length):
        parts.append(text[start : match.start()])
        start = match.start()
    parts.append(text[start:])
    return parts


def main(
    text: str | Path,
    tokenizer: str | Path,
    out_tokens: str | Path,
    out_info: str | Path,
    separators: bool = True,
    threads: int = 1,
    end_of_document: str | None = None,
    code: Mapping[str, str] | None = None,
) -> None:
    """Write the tokens of all documents in order, and their description as JSON next to them.

    Tokens are uint16, little-endian (uint32 above 65,535 entries). With `separators`, the token
    `end_of_document` (default the tokenizer's, `end_of`) follows each document. `threads` is the number
    of processes, each with one row group of the text in memory.

    A killed job resumes: the tokens are in a hidden file next to `out_tokens` until all are there, and
    are used for the same text, tokenizer, settings and `code` (module → fingerprint).
    """
    text = Path(text)
    encoder = Encoder(tokenizer)
    end_of_document = end_of_document or end_of(encoder.tokenizer)
    end = encoder.tokenizer.token_to_id(end_of_document)
    if separators and end is None:
        raise InputError(
            f"{tokenizer} has no token {end_of_document} to separate documents: name the one it "
            "has with `end_of_document`, or set `separators: false`"
        )
    separator = np.array([end] if separators else [], encoder.dtype).tobytes()
    groups = _row_groups(text)
    line = progress(max(groups, 1), f"tokens of {text.parent.name}", "row groups")
    identity = [sha256(text), sha256(tokenizer), metadata.version("tokenizers"), dict(code or {})]
    part = Part(Path(out_tokens), [*identity, separator.hex()])
    with atomic(out_tokens) as temporary, atomic(out_info) as info:
        with part.open() as sink:
            parts = _in_order(text, tokenizer, separator, groups, threads, part.groups)
            for tokens, number in parts:
                sink.write(tokens)
                part.add(sink, len(tokens), number)
                line.update(
                    part.groups, f"{part.size / encoder.dtype.itemsize / 1e6:,.1f} M tokens"
                )
        size, documents = part.size, part.documents
        count = documents if separators else 0
        tokens = size // encoder.dtype.itemsize
        if tokens == count:
            part.path.unlink()
            raise InputError(f"{text} has no text: nothing to train on")
        facts = {
            "tokens": tokens,
            "documents": documents,
            "dtype": encoder.dtype.name,
            "vocabulary": encoder.vocabulary,
            "end_of_document": end,
            "separators": count,
        }
        info.write_text(json.dumps(facts, indent=1) + "\n")
        part.path.replace(temporary)
    part.state.unlink(missing_ok=True)
    print(facts, file=sys.stderr)


class Part:
    """The tokens of an unfinished job in a hidden file, and a file that says how many are whole."""

    def __init__(self, out: Path, identity: list):
        self.path = out.with_name(f".{out.name}.part")
        self.state = out.with_name(f".{out.name}.state.json")
        self.identity = json.loads(json.dumps(identity))
        self.groups = self.size = self.documents = 0
        self.saved = time.monotonic()

    def open(self) -> BinaryIO:
        """Open the file behind its last whole row group, at the start if it is of another job."""
        try:
            state = json.loads(self.state.read_text())
            is_whole = self.path.stat().st_size >= state["size"]
            if is_whole and state["identity"] == self.identity:
                self.groups, self.size, self.documents = (
                    state[key] for key in ("groups", "size", "documents")
                )
                print(f"{self.groups} row groups were already done", file=sys.stderr)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        sink = open(self.path, "r+b" if self.size else "wb")  # noqa: SIM115, closed by the caller
        sink.truncate(self.size)
        sink.seek(self.size)
        return sink

    def add(self, sink: BinaryIO, size: int, documents: int) -> None:
        """Count a row group that was written, and note from time to time that all are on disk."""
        self.groups += 1
        self.size += size
        self.documents += documents
        if time.monotonic() - self.saved >= SAVE_EVERY:
            sink.flush()
            os.fsync(sink.fileno())
            keys = ("identity", "groups", "size", "documents")
            with atomic(self.state) as path:
                path.write_text(json.dumps({key: getattr(self, key) for key in keys}))
            self.saved = time.monotonic()


def end_of(tokenizer) -> str:
    """Return the end-of-document token: <|endoftext|>, the only special token, or </s> with a <mask>."""
    if tokenizer.token_to_id(END_OF_DOCUMENT) is None:
        added = tokenizer.get_added_tokens_decoder().values()
        special = [token.content for token in added if token.special]
        if len(special) == 1:
            return special[0]
        if {"<mask>", "</s>"} <= set(special):
            return "</s>"
    return END_OF_DOCUMENT


def _row_groups(text: Path) -> int:
    import pyarrow.parquet as pq

    return pq.read_metadata(text).num_row_groups


def documents(text: Path, groups: Iterable[int]) -> Iterator[list[str]]:
    """Yield the documents of each row group as a list."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(text) as file:
        for group in groups:
            table = file.read_row_group(group, columns=["text"], use_threads=False)
            yield table.column("text").to_pylist()


def _encode_groups(
    text: Path, tokenizer: str | Path, separator: bytes, groups: Iterable[int]
) -> Iterator[tuple[bytes, int]]:
    """Yield the tokens and the number of documents of each row group."""
    encoder = Encoder(tokenizer)
    for texts in documents(text, groups):
        parts = []
        for document in texts:
            parts += (encoder.encode(document), separator)
        yield b"".join(parts), len(texts)


def _in_order(
    text: Path, tokenizer: str | Path, separator: bytes, groups: int, processes: int, first: int = 0
) -> Iterator[tuple[bytes, int]]:
    """Yield each row group's tokens in order from the `first`; process k of n encodes every n-th.

    A process waits until its last result is taken, which bounds memory.
    """
    processes = min(processes, groups - first)
    if processes <= 1:
        yield from _encode_groups(text, tokenizer, separator, range(first, groups))
        return
    workers = []
    for k in range(processes):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        mine = range(first + k, groups, processes)
        worker = multiprocessing.Process(
            target=_serve, args=(theirs, text, tokenizer, separator, mine), daemon=True
        )
        worker.start()
        theirs.close()
        workers.append((worker, ours))
    try:
        for group in range(first, groups):
            worker, ours = workers[(group - first) % processes]
            try:
                number = ours.recv()
                yield ours.recv_bytes(), number
            except EOFError:
                worker.join()
                raise RuntimeError(
                    f"a process that tokenised {text} ended with code {worker.exitcode} (killed if "
                    "negative: too little memory?)"
                ) from None
    finally:
        for worker, ours in workers:
            ours.close()
            worker.terminate()
            worker.join()


def _serve(sink: Connection, text: Path, tokenizer: str | Path, separator: bytes, groups) -> None:
    for tokens, number in _encode_groups(text, tokenizer, separator, groups):
        sink.send(number)
        sink.send_bytes(tokens)
