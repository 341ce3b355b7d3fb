"""Checks of packages: for planning, next to Snakemake, and R packages for jobs."""

from importlib.util import find_spec

from recency.workflow.faults import ConfigError


def require(package: str = "pandas") -> None:
    """Raise ConfigError if Snakemake's Python, unlike that of ./run, lacks a package."""
    if find_spec(package) is None:
        raise ConfigError(
            f"planning requires {package}, which this Snakemake's Python lacks: install it "
            f"there (pip install {package}), or use ./run, whose set-up includes it"
        )
