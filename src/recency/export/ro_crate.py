"""A finished run as an RO-Crate: figures, tables, config, inputs with checksums, software versions.

The crate has the form of the profile Workflow Run Crate 0.5: the workflow is the main
entity, and the run is a `CreateAction` that uses the inputs and the config and has the results.
Files under a licence of their own (texts, reading times) are referred to, not contained. Results
that hold texts, times or readers are left out unless they are asked for: recency.export.shareable.
"""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from readingtimes.files import sha256
from recency import lineage
from recency.export import shareable

PROFILES = {
    "process": "https://w3id.org/ro/wfrun/process/0.5",
    "workflow": "https://w3id.org/ro/wfrun/workflow/0.5",
}
R_VERSIONS = """
versions <- c(R = as.character(getRversion()))
for (name in c("lme4", "Matrix"))
    if (nzchar(system.file(package = name))) versions[name] <- as.character(packageVersion(name))
writeLines(paste(names(versions), versions))
"""


def main(
    *,
    results: Sequence[str],
    report: str,
    summary: str,
    out: str,
    title: str,
    config: Mapping[str, Any],
    inputs: Mapping[str, Mapping[str, Any]],
    corpora: Sequence[Mapping[str, str]],
    project: str,
    system_r: bool = False,
    words: Sequence[str] = (),
    responses: Sequence[str] = (),
    texts_and_times: bool = False,
) -> None:
    """Write the crate of a run as a zip file.

    Parameters
    ----------
    results, report, summary
        The run's figures and tables, its report and its summary.
    out
        The zip file.
    title
        Of the study.
    config
        The complete config of the run.
    inputs
        File → its config entry (url, sha256, …), for files that were downloaded or supplied.
        Files that the run did not use are absent and are left out.
    corpora
        label, cite and licence of each dataset and corpus of the run.
    project
        The project's folder: its Snakefile, and the pinned versions of conda environments and of
        packages, are in the crate.
    system_r
        Whether jobs ran the R of this PATH, whose version is then recorded with those of its
        packages; with conda, the environments' files have them.
    words, responses
        Contracts of the run's datasets, which results are compared with.
    texts_and_times
        Whether the crate also has the pages and tables with texts, times and readers.
    """
    private = shareable.Private.read(words, responses)
    paths = list(dict.fromkeys([report, summary, *results]))
    left_out = {} if texts_and_times else _left_out(paths, private)
    crate = ROCrate()
    crate.name = title
    crate.description = _description(summary, left_out, os.path.dirname(report))
    licence = config.get("export", {}).get("licence")
    crate.license = licence or "not stated; texts and times are under their own, see citation"
    crate.root_dataset["conformsTo"] = [
        _entity(crate, url, "CreativeWork") for url in PROFILES.values()
    ]
    crate.root_dataset["citation"] = [
        _entity(crate, f"#corpus-{n}", "CreativeWork", name=corpus["label"], citation=corpus["cite"], license=corpus["licence"])
        for n, corpus in enumerate(corpora)
    ]  # fmt: skip
    workflow = crate.add_workflow(
        Path(project) / "Snakefile", "Snakefile", main=True, lang="snakemake"
    )
    workflow["version"] = _commit(project) or metadata.version("recency")
    workflow["softwareRequirements"] = [
        _entity(crate, f"#{name}", "SoftwareApplication", name=name, version=version)
        for name, version in sorted(
            [(package.metadata["Name"], package.version) for package in metadata.distributions()]
            + (_r_versions() if system_r else [])
        )
    ]
    stated = dict(config) if texts_and_times else private.redacted(dict(config))
    settings = io.StringIO(yaml.safe_dump(stated, sort_keys=False, allow_unicode=True))
    folder = os.path.dirname(os.path.abspath(report))
    made = {path: os.path.relpath(path, folder) for path in paths if path not in left_out}
    outputs = [
        crate.add_file(path, name, properties={"sha256": sha256(path)})
        for path, name in made.items()
    ]
    records = lineage.exported(lineage.chain(Path(folder), made.values()))
    named = (lambda text: text) if texts_and_times else private.without_readers
    crate.add_file(io.StringIO(named(records)), lineage.EXPORTED)
    used = [crate.add_file(settings, "config.yaml")]
    pins = [
        *sorted(Path(project, "envs").glob("*.yaml")),
        Path(project, "envs", "requirements.lock"),
    ]
    used += [crate.add_file(path, f"software/{path.name}") for path in pins if path.exists()]
    used += [
        _input(crate, path, entry, named) for path, entry in inputs.items() if os.path.exists(path)
    ]
    run = _entity(crate, "#run", "CreateAction", name=f"{title}: a run of the workflow")
    run["instrument"], run["object"], run["result"] = workflow, used, outputs
    crate.root_dataset.append_to("mentions", run)
    crate.write_zip(out)


def _r_versions() -> list[tuple[str, str]]:
    """Return the versions of R and of its packages for regressions; none without Rscript."""
    if (program := shutil.which("Rscript")) is None:
        return []
    printed = subprocess.run(
        [program, "-e", R_VERSIONS], capture_output=True, text=True, check=True
    )
    return [(name, version) for name, version in map(str.split, printed.stdout.splitlines())]


def _entity(crate: ROCrate, identifier: str, kind: str, /, **properties: Any) -> ContextEntity:
    """Add an entity that is no file."""
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **properties}))


def _left_out(paths: Sequence[str], private: shareable.Private) -> dict[str, str]:
    """Return path → reason of the results that may not be shared, and print them."""
    reasons = {path: private.reason(Path(path)) for path in paths}
    left_out = {path: reason for path, reason in reasons.items() if reason}
    for path, reason in left_out.items():
        print(f"left out of the crate: {path} ({reason}; {shareable.OPTION})", file=sys.stderr)
    return left_out


def _description(summary: str, left_out: Mapping[str, str], folder: str) -> str:
    """Return the run's summary, and the names of the results that are left out."""
    text = "" if summary in left_out else Path(summary).read_text(encoding="utf-8")
    if not left_out:
        return text
    names = ", ".join(os.path.relpath(path, folder) for path in left_out)
    note = f"Left out, as they may hold texts, times or readers: {names}; {shareable.OPTION}."
    return f"{text.rstrip()}\n\n{note}\n".lstrip()


def _input(
    crate: ROCrate, path: str, entry: Mapping[str, Any], named: Callable[[str], str]
) -> ContextEntity:
    """Add an input by its address, or by its path for a file that the user supplied."""
    properties = {
        "name": named(os.path.basename(path)),
        "contentSize": str(os.path.getsize(path)),
        "sha256": sha256(path),
    }
    if "url" in entry:
        return crate.add_file(entry["url"], properties=properties)
    identifier = named(shareable.without_folders(path))
    return _entity(crate, f"#{identifier}", "CreativeWork", **properties)


def _commit(project: str) -> str:
    """Return the commit of a checkout; "" of an installed package."""
    call = ["git", "-C", project, "rev-parse", "HEAD"]
    try:
        return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
