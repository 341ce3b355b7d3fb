"""A stand-in for conda, which makes environments of the packages that are installed here, and of no others.

`conda env create` links, of each pinned distribution and of what that requires, the files of this
Python's: other versions are refused, what is not asked for is not there. What comes from conda's own
channels (R, compilers) is this machine's. `write` puts it into a folder as `conda`.
"""

import argparse
import json
import os
import sys
import venv
from importlib import metadata
from pathlib import Path

import yaml
from packaging.requirements import Requirement

#: What an environment may name of conda's channels → programs of this machine.
LOCAL = {
    "python": [], "pip": [], "r-base": ["R", "Rscript"], "r-lme4": [], "cmake": ["cmake"],
    "make": ["make"], "cxx-compiler": ["c++"], "libboost-devel": [], "zlib": [], "bzip2": [], "xz": [],
}  # fmt: skip
ACTIVATE = 'export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"; . "$1/variables"\n'


def write(folder):
    """Write `conda` and `activate` into the folder's bin; return bin."""
    place = Path(folder, "bin")
    place.mkdir(parents=True)
    (place / "conda").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" "$0" "$@"\n')
    (place / "conda").chmod(0o755)
    (place / "activate").write_text(ACTIVATE)
    return place


def required(wanted):
    """Return the distributions of requirements and all that they require; exit where one is not here."""
    found, open_ = {}, [Requirement(each) for each in wanted]
    while open_:
        each = open_.pop()
        try:
            known = metadata.distribution(each.name)
        except metadata.PackageNotFoundError:
            sys.exit(f"PackagesNotFoundError: {each}")
        if not each.specifier.contains(known.version, prereleases=True):
            sys.exit(f"PackagesNotFoundError: {each}; there is {known.version}")
        if known.name not in found:
            found[known.name] = known
            needs = [Requirement(need) for need in known.requires or ()]
            open_ += [n for n in needs if not n.marker or n.marker.evaluate({"extra": ""})]
    return found.values()


def create(prefix, wanted, programs=(), variables=()):
    """Make an environment of distributions, with links to programs."""
    venv.create(prefix, symlinks=True)
    target = Path(prefix, "lib", f"python3.{sys.version_info[1]}", "site-packages")
    for distribution in required(wanted):
        for file in distribution.files:
            if ".." not in file.parts and "__pycache__" not in file.parts:
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                (target / file).symlink_to(distribution.locate_file(file))
    for program in programs:
        Path(prefix, "bin", program).symlink_to(os.path.realpath(f"/usr/bin/{program}"))
    lines = [f"export {name}={value}\n" for name, value in dict(variables).items()]
    Path(prefix, "variables").write_text("".join(lines))


def main(itself, *words):
    """Do what Snakemake asks of conda."""
    if words[:1] == ("info",):
        print(json.dumps({"conda_prefix": str(Path(itself).parents[1]), "platform": "linux-64"}))
    elif words[:1] == ("--version",):
        print("conda 26.1.0")
    elif words[:1] == ("config",):
        print(json.dumps({"get": {"channel_priority": "strict"}}))
    elif words[:2] == ("env", "create"):
        parser = argparse.ArgumentParser()
        parser.add_argument("--file", type=Path)
        parser.add_argument("--prefix", type=Path)
        given, _ = parser.parse_known_args(words[2:])
        asked = yaml.safe_load(given.file.read_text())
        names = [each for each in asked["dependencies"] if isinstance(each, str)]
        (pins,) = (each["pip"] for each in asked["dependencies"] if isinstance(each, dict))
        if unknown := [name for name in names if name.split("=")[0] not in LOCAL]:
            sys.exit(f"PackagesNotFoundError: {unknown}")
        if f"python=3.{sys.version_info[1]}" not in names:
            sys.exit(f"PackagesNotFoundError: {names[0]}")
        programs = [each for name in names for each in LOCAL[name.split("=")[0]]]
        create(given.prefix, ["pip", *pins], programs, asked.get("variables", {}))
    elif words[:1] != ("clean",):  # of what was downloaded: nothing
        sys.exit(f"a stand-in for conda, which does not know {words}")


if __name__ == "__main__":
    main(*sys.argv[1:])
