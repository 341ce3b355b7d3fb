"""Checkpoints of the Hugging Face Hub, fetched once into a folder; jobs open that folder.

A revision is resolved to a commit, and each file compared with the checksum that the Hub states for
the commit. The list of the files, `<checkpoint>.hub.json`, is the input of jobs; it has the commit.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import quote

from readingtimes.downloads import download
from readingtimes.downloads.internet import USER_AGENT, Expected, authorization, endpoint
from readingtimes.files import atomic
from recency.errors import InputError, first_line
from recency.networks.hub import MAIN, SUFFIX, locate

OTHERS = ("*.json", "*.txt", "*.model")
"""Files of a checkpoint besides weights: config and tokenizer."""
SAFE, PICKLES = ("model*.safetensors",), ("pytorch_model*.bin",)
_SECONDS = 20.0


def list_files(
    checkpoint: str, allow_pickle: bool = False, commit: str | None = None
) -> dict[str, Any]:
    """Return the files of a checkpoint that are needed, as the Hub states them.

    Parameters
    ----------
    checkpoint : str
        As for `recency.networks.hub.locate`.
    allow_pickle : bool
        Whether weights may be in pytorch_model.bin, where there are no safetensors.
    commit : str, optional
        The commit in place of the revision: that of the first download.

    Returns
    -------
    dict
        checkpoint, commit, and `files`: name → url, bytes, and sha256 or git_blob.
    """
    name, within = locate(checkpoint)
    revision = commit or within.get("revision", MAIN)
    at = f"{endpoint()}/api/models/{name}"
    found = _ask_hub(f"{at}/revision/{quote(revision, safe='')}", checkpoint)["sha"]
    folder = within.get("subfolder", "")
    tree = f"{at}/tree/{found}" + (f"/{quote(folder)}" if folder else "")
    entries = {}
    for entry in _ask_hub(tree, checkpoint):
        inside = entry["path"].removeprefix(f"{folder}/") if folder else entry["path"]
        if entry["type"] == "file" and "/" not in inside:
            entries[inside] = entry
    chosen = _select_needed(entries, checkpoint, within.get("gguf_file"), allow_pickle)
    files = {
        inside: {
            "url": f"{endpoint()}/{name}/resolve/{found}/{quote(entries[inside]['path'])}",
            "bytes": entries[inside]["size"],
            **_checksum(entries[inside]),
        }
        for inside in chosen
    }
    return {"checkpoint": checkpoint, "commit": found, "files": files}


def _checksum(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the checksum that the Hub states: SHA-256 of large files, git's of others."""
    if large := entry.get("lfs"):
        return {"sha256": large["oid"].removeprefix("sha256:")}
    return {"git_blob": entry["oid"]}


def _select_needed(
    names: Iterable[str], checkpoint: str, gguf: str | None, allow_pickle: bool
) -> list[str]:
    """Return the files that transformers opens: config, tokenizer, one kind of weights."""
    names = sorted(names)

    def like(patterns: Iterable[str]) -> list[str]:
        return [name for name in names if any(fnmatchcase(name, p) for p in patterns)]

    if gguf:
        if gguf not in names:
            raise InputError(f"checkpoint {checkpoint!r}: the Hub has no {gguf} there; correct it")
        return [gguf]
    weights = like(SAFE)
    if not weights and (pickles := like(PICKLES)):
        if not allow_pickle:
            raise InputError(
                f"checkpoint {checkpoint!r} has its weights in a pickle ({pickles[0]}), which can run "
                "code when it is read; if you trust it, set `allow_pickle: true`"
            )
        weights = pickles
    if not weights or "config.json" not in names:
        lacking = "weights (model.safetensors)" if "config.json" in names else "config.json"
        raise InputError(f"checkpoint {checkpoint!r}: the Hub has no {lacking} there; correct it")
    return [*[name for name in like(OTHERS) if name not in weights], *weights]


def _ask_hub(url: str, checkpoint: str) -> Any:
    """Return an answer of the Hub; raise InputError without one."""
    request = urllib.request.Request(url, headers={"User-Agent": USER_AGENT})
    for header, value in authorization(url).items():
        request.add_unredirected_header(header, value)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        reason = {
            401: "it is not there, or needs a token (HF_TOKEN)",
            403: "ask its owners for access, and set HF_TOKEN",
            404: "there is no such name or revision",
        }.get(error.code, f"HTTP {error.code} {error.reason}")
    except (OSError, ValueError) as error:
        reason = (
            f"{first_line(error)}; without internet, name a folder with it (`save_pretrained` of "
            "the model and of its tokenizer)"
        )
    raise InputError(f"checkpoint {checkpoint!r} could not be fetched from {endpoint()}: {reason}")


def main(
    out: str | Path,
    *,
    checkpoint: str,
    allow_pickle: bool = False,
    before: str | None = None,
    mirrors: Iterable[str | Path] = (),
    **waiting: float,
) -> None:
    """Fetch a checkpoint into the folder next to the list `out`.

    Parameters
    ----------
    out : path
        The list, ending in `SUFFIX`.
    checkpoint, allow_pickle
        See `listed`.
    before : str, optional
        The commit of the first download, which is fetched again even if the branch has moved on.
    mirrors, waiting
        Of `readingtimes.downloads.download.main`.
    """
    folder = Path(str(out).removesuffix(SUFFIX))
    found = list_files(checkpoint, allow_pickle, before)
    for name, file in found["files"].items():
        path, checks = folder / name, {k: v for k, v in file.items() if k != "url"}
        if not path.is_file() or Expected(size=checks.pop("bytes"), **checks).mismatch(path):
            download.main(out=path, mirrors=mirrors, **file, **waiting)
    for path in folder.iterdir():  # of another commit, or another kind of weights
        if path.is_file() and path.name not in found["files"] and not path.name.endswith(SUFFIX):
            path.unlink()
    for file in found["files"].values():
        del file["url"]  # a mirror's address is no part of the checkpoint's identity
    with atomic(out) as part:
        part.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
