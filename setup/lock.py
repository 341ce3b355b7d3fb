"""Print requirements.lock: pyproject's direct dependencies and all that they need, as installed.

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

CUDA = re.compile(r"^(nvidia-|cuda-|triton$)")


def direct(pyproject: Path) -> list[Requirement]:
    """Return the requirements that pyproject.toml names, the development ones too."""
    table = tomllib.loads(pyproject.read_text())
    lines = table["project"]["dependencies"] + table["dependency-groups"]["dev"]
    return [Requirement(line) for line in lines]


def closure(requirements: list[Requirement]) -> dict[str, str]:
    """Return name → installed public version of the requirements and, in turn, of theirs."""
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
    for name, version in sorted(closure(direct(Path("pyproject.toml"))).items()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
