"""The error of a run that is shown to the user without a traceback, and a missing package as one."""

from importlib.util import find_spec

from snakemake.exceptions import WorkflowError


class ConfigError(WorkflowError):
    """Error in the config or its files; Snakemake shows only the message."""

    @property
    def __traceback__(self) -> None:
        """Return None; otherwise Snakemake appends lines of the Snakefile to the message."""
        return

    @__traceback__.setter
    def __traceback__(self, value: object) -> None:
        pass


def require(package: str = "pandas") -> None:
    """Raise ConfigError if Snakemake's Python, unlike that of ./run, lacks a package."""
    if find_spec(package) is None:
        raise ConfigError(
            f"planning requires {package}, which this Snakemake's Python lacks: install it "
            f"there (pip install {package}), or use ./run, whose set-up includes it"
        )
