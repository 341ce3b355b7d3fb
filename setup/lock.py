"""Print envs/requirements.lock: the installed versions of all direct and indirect dependencies.

Run by `make lock` in the environment whose versions are to be kept. CUDA's libraries and triton are
left out: torch pins them itself, and its CPU build has none of them.
"""

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

#: The packages of this repository, each with its pyproject.toml.
OURS = {name: f"packages/{name}" for name in ("crosslmm", "readingtimes")} | {"recency": "."}
CUDA = re.compile(r"^(nvidia-|cuda-|triton$)")


def direct(root: Path) -> list[Requirement]:
    """Return the requirements of all packages: to run, in extras, to develop and to build.

    The extra `corpora` is not set up: its packages are as large as all others but PyTorch.
    """
    lines = []
    for folder in OURS.values():
        table = tomllib.loads((root / folder / "pyproject.toml").read_text())
        project = table["project"]
        lines += [*project["dependencies"], *table["build-system"]["requires"]]
        extras = {n: each for n, each in project["optional-dependencies"].items() if n != "corpora"}
        for more in (extras, table.get("dependency-groups", {})):
            lines += [line for lines in more.values() for line in lines]
    return [each for each in map(Requirement, lines) if each.name not in OURS]


def closure(requirements: list[Requirement]) -> dict[str, str]:
    """Return name → installed version of the requirements and, recursively, of theirs."""
    versions: dict[str, str] = {}
    seen = set()
    left = list(requirements)
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if CUDA.match(name) or (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                found = distribution(name)
            except PackageNotFoundError:
                sys.exit(f"lock.py: {requirement} is needed: pip install it first")
            if not requirement.specifier.contains(found.version, prereleases=True):
                sys.exit(f"lock.py: {requirement} is needed, {found.version} is installed")
            versions[name] = found.version.split("+")[0]
            for need in map(Requirement, found.requires or []):
                if need.marker is None or need.marker.evaluate({"extra": extra}):
                    left.append(need)
    return versions


def main() -> None:
    """Print the lock, sorted by name."""
    print("# Made by `make lock` from pyproject.toml; every version that setup.sh installs.")
    for name, version in sorted(closure(direct(Path())).items()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
