"""A finished run as an RO-Crate: figures, tables, config, inputs with checksums, software versions.

The crate has the form of the profile Workflow Run Crate 0.5: the workflow is the main
entity, and the run is a `CreateAction` that uses the inputs and the config and has the results.
Files under a licence of their own (texts, reading times) are referred to, not contained.
"""

import io
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from recency import lineage
from recency.files import sha256

PROFILES = {
    "process": "https://w3id.org/ro/wfrun/process/0.5",
    "workflow": "https://w3id.org/ro/wfrun/workflow/0.5",
}
R_VERSIONS = """
versions <- c(R = as.character(getRversion()))
for (name in c("lme4", "Matrix", "mgcv", "brms"))
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
    """
    crate = ROCrate()
    crate.name = title
    crate.description = Path(summary).read_text(encoding="utf-8")
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
    settings = io.StringIO(yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))
    folder = os.path.dirname(os.path.abspath(report))
    outputs = [
        crate.add_file(path, os.path.relpath(path, folder), properties={"sha256": sha256(path)})
        for path in dict.fromkeys([report, summary, *results])
    ]
    made = [os.path.relpath(path, folder) for path in [report, summary, *results]]
    records = io.StringIO(lineage.exported(lineage.chain(Path(folder), made)))
    crate.add_file(records, lineage.EXPORTED)
    used = [crate.add_file(settings, "config.yaml")]
    pins = [*sorted(Path(project).glob("envs/*.yaml")), Path(project) / "requirements.lock"]
    used += [crate.add_file(path, f"software/{path.name}") for path in pins]
    used += [_input(crate, path, entry) for path, entry in inputs.items() if os.path.exists(path)]
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


def _input(crate: ROCrate, path: str, entry: Mapping[str, Any]) -> ContextEntity:
    """Add an input by its address, or by its path for a file that the user supplied."""
    properties = {
        "name": os.path.basename(path),
        "contentSize": str(os.path.getsize(path)),
        "sha256": sha256(path),
    }
    if "url" in entry:
        return crate.add_file(entry["url"], properties=properties)
    return _entity(crate, f"#{path}", "CreativeWork", **properties)


def _commit(project: str) -> str:
    """Return the commit of a checkout; "" of an installed package."""
    call = ["git", "-C", project, "rev-parse", "HEAD"]
    try:
        return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
