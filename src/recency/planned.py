"""The planned study, as specs of evaluations see it (implemented by recency.workflow.plan.study)."""

from typing import Any, Protocol


class Files(Protocol):
    """Paths of the files that a config names."""

    def data(self, key: str, name: str, role: str) -> str:
        """Return the path of a role's file of the entry `name` of the table `key`."""


class Planned(Protocol):
    """A config with what follows from it and from the files that are there."""

    config: dict
    lms: dict[str, dict]  # LM → its settings, with defaults
    grids: dict[str, dict[str, Any]]  # experiment with a grid → its keys and LMs

    @property
    def files(self) -> Files:
        """Paths of files."""

    @property
    def not_run(self) -> dict[str, str]:
        """Skipped datasets → reason."""

    @property
    def no_data(self) -> dict[tuple[str, str], str]:
        """Skipped data other than datasets: (key, name) → reason."""

    # An experiment, by its name

    def experiment(self, name: str) -> dict:
        """Return its entry."""

    def base(self, experiment: str, secondary: bool = False) -> str:
        """Return the kind of its baseline model: fixed, all, several, or "" for none."""

    def all_fitted(self, experiment: str) -> bool:
        """Return whether all its observations are fitted, and its LMs compared by AIC."""

    def data_here(self, experiment: str, key: str) -> list[str]:
        """Return the available entries that it names under an evaluation's key."""

    # Its responses and datasets, which are available unless "all"

    def responses(self, experiment: str) -> list[dict]:
        """Return dataset, measure, design and labels of each."""

    def all_responses(self, experiment: str) -> list[dict]:
        """Return the same, with those that are skipped."""

    def datasets_of(self, experiment: str) -> list[str]:
        """Return its datasets."""

    def all_datasets(self, experiment: str) -> list[str]:
        """Return its datasets, with those that are skipped."""

    # Its LMs: with all seeds, or one for all seeds ("ranked")

    def lms_of(self, experiment: str) -> list[dict]:
        """Return them, described."""

    def named_lms(self, experiment: str, key: str) -> list[str]:
        """Return those in `lms` of its `key`, default all."""

    def variants(self, experiment: str, key: str | None = None) -> list[dict]:
        """Return them, or `named_lms`, with the description shared by seeds; `variant` is the LM."""

    def named_cells(self, experiment: str, *keys: str) -> list[dict]:
        """Return lm, dataset, measure and design of every cell, and the given keys of its LM."""

    def several_seeds(self, experiment: str) -> bool:
        """Return whether they are means over seeds."""

    def one_for_seeds(self, experiment: str) -> dict[str, str]:
        """Return LM → the LM that represents all seeds of the same settings."""

    def ranked_lms(self, experiment: str) -> list[dict]:
        """Return those that it ranks, described."""

    def ranked_baseline(self, experiment: str) -> str:
        """Return the LM with which `ranked_lms` are compared."""

    def ranked_cells(self, experiment: str) -> list[dict]:
        """Return every cell, with lm and label shared by seeds, and `seed` and `variant`."""

    def plain_baseline(self, experiment: str) -> str:
        """Return the baseline as the config names it."""

    # An LM or a dataset, by its name

    def description(self, lm: str) -> dict:
        """Return the description of an LM for figures; see recency.figures.comparison.LM."""

    def trained_as(self, lm: str) -> str:
        """Return the LM whose training produced an LM's weights."""

    def weights(self, name: str) -> list[str]:
        """Return the files of an LM's weights: its own, another LM's, or none for external ones."""

    def but_for_seed(self, lm: str) -> str:
        """Return the first LM in the config that differs from this one only in seed and name."""

    def lms_that_are(self, kind: str) -> list[str]:
        """Return the LMs of a kind: `network` (`trained` here, or `kept` at a step), `table`, `ngram` …."""

    def partitioned(self, dataset: str) -> bool:
        """Return whether a dataset's observations are divided into three partitions."""

    def responses_file(self, dataset: str, measure: str) -> str:
        """Return the responses file of a measure, or of an event's measure."""
