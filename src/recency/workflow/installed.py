"""Packages that planning needs next to Snakemake, and those of R that jobs need."""

import shutil
import subprocess
from importlib.util import find_spec

from recency.workflow.faults import ConfigError


def require(package: str = "pandas") -> None:
    """Raise ConfigError where Snakemake's Python, another than ./run's, lacks a package."""
    if find_spec(package) is None:
        raise ConfigError(
            f"plans are made with {package}, which this Snakemake's Python has not: install it "
            f"there (pip install {package}), or use ./run, whose set-up has all"
        )


def require_brms() -> None:
    """Raise ConfigError where R on the PATH has no brms, with the commands that install it."""
    from recency.mixed.brms_model import INSTALL

    rscript = shutil.which("Rscript")
    code = 'quit(status = !nzchar(system.file(package = "brms")))'
    if rscript is None or subprocess.run([rscript, "-e", code], check=False).returncode:
        raise ConfigError(
            f"nothing was started: `engine: brms` needs R's package brms, which is not here; {INSTALL}"
        )
