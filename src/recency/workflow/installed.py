"""Packages that planning needs next to Snakemake; imported before any module that needs them."""

from importlib.util import find_spec

from recency.workflow.faults import ConfigError


def require(package: str = "pandas") -> None:
    """Raise ConfigError where Snakemake's Python, another than ./run's, lacks a package."""
    if find_spec(package) is None:
        raise ConfigError(
            f"plans are made with {package}, which this Snakemake's Python has not: install it "
            f"there (pip install {package}), or use ./run, whose set-up has all"
        )
