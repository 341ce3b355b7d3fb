"""The error of a run that a user is meant to read, shown without the trace of Snakemake's own files."""

from snakemake.exceptions import WorkflowError


class ConfigError(WorkflowError):
    """The config, or what it names, is at fault; Snakemake shows the message alone."""

    @property
    def __traceback__(self) -> None:
        """Return none: Snakemake writes the lines of the Snakefile below the message otherwise."""
        return

    @__traceback__.setter
    def __traceback__(self, value: object) -> None:
        pass
