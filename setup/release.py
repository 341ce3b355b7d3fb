"""Check that the records of a release agree, and write those that follow from CITATION.cff.

    python setup/release.py [--write] [TAG]

Prints one line for each disagreement, and has status 1 if there is any. With a TAG such as v0.1.0
the version must be the tag's, and what only a release needs must be there. `--write` writes
codemeta.json and .zenodo.json from CITATION.cff.
"""

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
OWNER = "OWNER"
"""Stands for the account on GitHub until one is chosen."""


def read(name: str) -> str:
    """Return the text of a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def person(author: dict) -> dict:
    """Return an author of CITATION.cff as schema.org has them."""
    if "name" in author:
        return {"@type": "Organization", "name": author["name"]}
    return {
        "@type": "Person",
        "givenName": author["given-names"],
        "familyName": author["family-names"],
    }


def codemeta(citation: dict) -> dict:
    """Return codemeta.json."""
    repository = citation["repository-code"]
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "identifier": "recency",
        "name": citation["title"],
        "version": citation["version"],
        "description": citation["abstract"],
        "license": f"https://spdx.org/licenses/{citation['license']}",
        "author": [person(author) for author in citation["authors"]],
        "keywords": citation["keywords"],
        "programmingLanguage": ["Python", "R"],
        "operatingSystem": ["Linux", "macOS"],
        "codeRepository": repository,
        "issueTracker": f"{repository}/issues",
        "url": citation["url"],
        "referencePublication": [
            {
                "@type": "CreativeWork",
                "name": study["title"],
                "author": [person(author) for author in study["authors"]],
                **({"datePublished": str(study["year"])} if "year" in study else {}),
                **({"url": study["url"]} if "url" in study else {}),
            }
            for study in citation["references"]
        ],
    }


def zenodo(citation: dict) -> dict:
    """Return .zenodo.json."""
    return {
        "title": citation["title"],
        "version": citation["version"],
        "upload_type": "software",
        "description": citation["abstract"],
        "license": citation["license"],
        "creators": [{"name": author["name"]} for author in citation["authors"]],
        "keywords": citation["keywords"],
        "references": [reference(study) for study in citation["references"]],
    }


def reference(study: dict) -> str:
    """Return a reference of CITATION.cff as a line of text."""
    authors = ", ".join(
        a.get("name") or f"{a['given-names']} {a['family-names']}" for a in study["authors"]
    )
    year = f" ({study['year']})" if "year" in study else ""
    return f"{authors}{year}. {study['title']}. {study.get('url', '')}".rstrip()


def problems(tag: str = "") -> list[str]:
    """Return the disagreements between the records, a line for each."""
    citation = yaml.safe_load(read("CITATION.cff"))
    project = tomllib.loads(read("pyproject.toml"))["project"]
    recipe = yaml.safe_load(read("packaging/recipe.yaml"))
    version = re.search(r'^__version__ = "(.+)"$', read("src/recency/__init__.py"), re.MULTILINE)[1]
    pairs = {
        "CITATION.cff: version": (citation["version"], version),
        "CITATION.cff: license": (citation["license"], project["license"].split(" AND ")[0]),
        "CITATION.cff: keywords": (citation["keywords"], project["keywords"]),
        "CITATION.cff: authors": (citation["authors"], project["authors"]),
        "CITATION.cff: repository-code": (citation["repository-code"], project["urls"]["Homepage"]),
        "CITATION.cff: url": (citation["url"], project["urls"]["Documentation"]),
        "codemeta.json": (json.loads(read("codemeta.json")), codemeta(citation)),
        ".zenodo.json": (json.loads(read(".zenodo.json")), zenodo(citation)),
        "recipe: version": (recipe["context"]["version"], version),
        "r/DESCRIPTION: version": (
            re.search(r"^Version: (.+)$", read("r/DESCRIPTION"), re.MULTILINE)[1],
            version,
        ),
        "recipe: name": (recipe["package"]["name"], project["name"]),
        "recipe: python_min": (
            f">={recipe['context']['python_min']}",
            project["requires-python"].partition(",")[0],
        ),
        "recipe: requirements of the run": (
            [line.replace(" ", "") for line in recipe["requirements"]["run"][1:]],
            project["dependencies"],
        ),
        "recipe: summary": (recipe["about"]["summary"], project["description"]),
        "recipe: license": (recipe["about"]["license"], project["license"]),
        "recipe: homepage": (recipe["about"]["homepage"], project["urls"]["Homepage"]),
        "recipe: documentation": (
            recipe["about"]["documentation"],
            project["urls"]["Documentation"],
        ),
    }
    lines = [
        f"{where} is {one}, not {other}" for where, (one, other) in pairs.items() if one != other
    ]
    if tag:
        if tag != f"v{version}":
            lines.append(
                f"the tag is {tag}, not v{version}: src/recency/__init__.py has the version"
            )
        if f"## [{version}]" not in read("CHANGELOG.md"):
            lines.append(f"CHANGELOG.md has no heading [{version}]")
        if f"/{OWNER}/" in project["urls"]["Homepage"]:
            lines.append(
                f"{OWNER} stands for the account on GitHub: `git grep -l {OWNER}` names the files"
            )
    return lines


def main() -> int:
    """Print the disagreements; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="codemeta.json and .zenodo.json")
    parser.add_argument("tag", nargs="?", default="", help="the tag to release, such as v0.1.0")
    options = parser.parse_args()
    if options.write:
        citation = yaml.safe_load(read("CITATION.cff"))
        for name, record in (("codemeta.json", codemeta), (".zenodo.json", zenodo)):
            text = json.dumps(record(citation), indent=2, ensure_ascii=False)
            (ROOT / name).write_text(f"{text}\n", encoding="utf-8")
    lines = problems(options.tag)
    print("\n".join(lines), end="\n" if lines else "")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
