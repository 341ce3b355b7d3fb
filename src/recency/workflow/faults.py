"""Errors of a run that are shown to the user without a traceback."""

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
