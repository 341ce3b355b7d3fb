"""Print docs/licences.md: the licence of every package that set-up installs and of every corpus.

.venv/bin/python setup/licences.py >docs/licences.md, after a change of envs/requirements.lock or data/corpora. Of a
package it is what its own metadata say, spelled as SPDX has it; of a corpus what its source states.
"""

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
#: Licence as written in package metadata → SPDX identifier.
SPELLED = {
    "MIT License": "MIT",
    "ISC License": "ISC",
    "PSFL": "PSF-2.0",
    "BSD License": "BSD",
    "BSD 3-Clause License": "BSD-3-Clause",
    "2-clause BSD": "BSD-2-Clause",
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache Software License; BSD License": "Apache-2.0 OR BSD-2-Clause",
    "Apache License, Version 2.0": "Apache-2.0",
    "GPLv2+": "GPL-2.0-or-later",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Copyright (c) 2015, matplotlib project": "BSD-3-Clause",
    "Copyright (c) 2015-2025, Vega-Altair Developers": "BSD-3-Clause",
    "License agreement for matplotlib versions 1.3.0 and later": "matplotlib's, after Python's (PSF)",
    "=========================": "BSD-3-Clause",
    "Public Domain; BSD License; GNU General Public License (GPL)": "public domain, in parts BSD and GPL",
}
#: Packages without a licence in their metadata, from their repositories.
UNTOLD = {
    name: "MIT"
    for name in (
        "conda-inject",
        "snakemake-interface-common",
        "snakemake-interface-logger-plugins",
        "snakemake-interface-report-plugins",
        "snakemake-interface-scheduler-plugins",
        "snakemake-interface-storage-plugins",
    )
}
#: Tools that are not Python packages: name → licence, purpose.
TOOLS = {
    "R": ("GPL-2.0-only OR GPL-3.0-only", "lme4 runs in it"),
    "lme4": ("GPL-2.0-or-later", "mixed models"),
    "KenLM": ("LGPL-2.1-or-later", "n-grams; called as a program"),
}
#: JavaScript in the explorer's pages: name → licence, and the package that includes it.
IN_PAGES = {
    "Vega, Vega-Lite, vega-embed": ("BSD-3-Clause", "vl-convert-python"),
    "D3": ("ISC", "vl-convert-python"),
    "DataTables and its extensions": ("MIT", "itables"),
    "jQuery": ("MIT", "itables"),
    "JSZip": ("MIT OR GPL-3.0-or-later", "itables"),
}
TABLES = ("corpora", "datasets", "dependencies", "lexicons", "minimal_pairs", "treebanks")


def locked() -> list[str]:
    """Return the names in envs/requirements.lock."""
    lines = (ROOT / "envs/requirements.lock").read_text().splitlines()
    return [line.split("==")[0] for line in lines if "==" in line]


def of_package(name: str) -> str | None:
    """Return the licence of an installed package, None if it is not installed."""
    try:
        told = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    first = (told.get("License") or "").strip().split("\n")[0]
    kinds = [c.split(" :: ")[-1] for c in told.get_all("Classifier") or [] if "License ::" in c]
    found = told.get("License-Expression") or (first if len(first) < 60 else "") or "; ".join(kinds)
    return SPELLED.get(found, found) or UNTOLD.get(name, "")


def corpora() -> Iterator[tuple[str, str, str, str, bool]]:
    """Yield table, name, citation and licence of each corpus, and whether users supply it."""
    for path in sorted((ROOT / "data" / "corpora").glob("*.yaml")):
        described = yaml.safe_load(path.read_text(encoding="utf-8"))
        for table in TABLES:
            for name, entry in described.get(table, {}).items():
                is_supplied = "supplied:" in yaml.safe_dump(entry) and "url:" not in yaml.safe_dump(
                    entry
                )
                called = name if table in ("corpora", "datasets") else f"{name}, {table}"
                yield table, called, entry.get("cite", ""), entry.get("licence", ""), is_supplied


def page() -> str:
    """Return the page."""
    by_licence: dict[str, list[str]] = {}
    for name in locked():
        by_licence.setdefault(of_package(name) or "not installed", []).append(name)
    rows = [f"| {licence} | {', '.join(by_licence[licence])} |" for licence in sorted(by_licence)]
    tools = [f"| {name} | {licence} | {what} |" for name, (licence, what) in TOOLS.items()]
    scripts = [
        f"| {name} | {licence} | {package} |" for name, (licence, package) in IN_PAGES.items()
    ]
    data = [
        f"| {name} | {cite} | {licence or 'its owner gives it to you, on terms of theirs'} |"
        for table, name, cite, licence, _ in corpora()
        if table != "datasets"  # in docs/corpora_list.md
    ]
    text = f"""# Licences

This project is MIT; the networks that come with it (`src/recency/networks/embedded`) are CC BY-NC-SA 3.0, from the licences of
their training text. Installed packages and downloaded data have their own licences; `setup/licences.py` wrote this page.

## Packages of Python

| licence | packages |
|---|---|
{chr(10).join(rows)}

codespell, rpy2, R and lme4 are GPL: they are called, and nothing of them is distributed with this project.

## Tools

| tool | licence | for |
|---|---|---|
{chr(10).join(tools)}

## JavaScript in the explorer's pages

`explore_<experiment>` and `recency.explore` copy these libraries into the pages that they write, with their
notices; `envs/requirements.lock` pins the packages that bring them.

| library | licence | from |
|---|---|---|
{chr(10).join(scripts)}

## Texts

None is distributed with this project; what is downloaded stays under `data/downloads/`. The licences of reading times are in
the [list of corpora](corpora_list.md).

| name | cite | licence, as its source states it |
|---|---|---|
{chr(10).join(data)}
"""
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


if __name__ == "__main__":
    print(page(), end="")
