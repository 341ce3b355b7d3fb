"""Checks of packages: for planning, next to Snakemake, and R packages for jobs."""

import shutil
import subprocess
from importlib.util import find_spec

from recency.workflow.faults import ConfigError


def require(package: str = "pandas") -> None:
    """Raise ConfigError if Snakemake's Python, unlike that of ./run, lacks a package."""
    if find_spec(package) is None:
        raise ConfigError(
            f"planning requires {package}, which this Snakemake's Python lacks: install it "
            f"there (pip install {package}), or use ./run, whose set-up includes it"
        )


def require_brms() -> None:
    """Raise ConfigError, with installation commands, if R on the PATH has no brms."""
    from recency.mixed.brms_model import INSTALL

    rscript = shutil.which("Rscript")
    code = 'quit(status = !nzchar(system.file(package = "brms")))'
    if rscript is None or subprocess.run([rscript, "-e", code], check=False).returncode:
        raise ConfigError(
            f"nothing was started: `engine: brms` needs R's package brms, which is not here; {INSTALL}"
        )
