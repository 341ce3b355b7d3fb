"""Data that a study goes without.

A dataset that the user must supply and that is missing is skipped and reported; a dry run includes it.
One that the config names in `leave_out` is skipped and reported in every run.
"""

from functools import cached_property, partial

from recency import config as configuration
from recency.evaluations import registry

#: The table whose entries a dataset's `tagger` names.
TAGGED_BY = "treebanks"


class Absent:
    """The part of a Study that lists missing data, with reasons."""

    @cached_property
    def absent(self) -> dict[str, str]:
        """Missing and left-out datasets of all experiments and searches → reason."""
        datasets = configuration.datasets_read(self.config, self.config["experiments"])
        for table in registry.fitted_tables():
            for name in self.config.get(table, {}):
                asked = configuration.responses(self.config, name, table)
                datasets |= {response["dataset"] for response in asked}
        entries, asked = self.config["datasets"], {}
        for name in sorted(datasets):
            needed = dict.fromkeys([name, configuration.owner_of_words(self.config, name)])
            if unwanted := needed.keys() & set(self.config.get("leave_out", [])):
                asked[name] = f"{entries[name]['label']} is left out (leave_out: {min(unwanted)})"
            for file in needed:
                if missing := configuration.missing_files(entries[file], self.mirrors):
                    asked.setdefault(name, f"{entries[name]['label']} is not here: {missing[0]}")
            tagger = self.files.with_words(name).get("tagger")
            if reason := self.absent_data.get((registry.key_of(TAGGED_BY), tagger)):
                asked.setdefault(name, reason)
        return asked

    @cached_property
    def absent_data(self) -> dict[tuple[str, str], str]:
        """Missing data of evaluations other than reading times: (key, name) → reason."""
        return {
            (key, name): f"{entry['label']} ({kind.table.replace('_', ' ')}) is not here: "
            f"{missing[0]}"
            for key, kind in registry.data().items()
            for name, entry in self.config.get(kind.table, {}).items()
            if (missing := configuration.missing_data(entry, kind.roles, self.mirrors))
        }

    @property
    def not_run(self) -> dict[str, str]:
        """Skipped datasets → reason."""
        if not self.dry_run:
            return self.absent
        unwanted = set(self.config.get("leave_out", []))
        owner = partial(configuration.owner_of_words, self.config)
        return {n: why for n, why in self.absent.items() if unwanted & {n, owner(n)}}

    @property
    def no_data(self) -> dict[tuple[str, str], str]:
        """Skipped data other than datasets: (key, name) → reason."""
        return {} if self.dry_run else self.absent_data

    @cached_property
    def asked(self) -> set[str]:
        """Datasets whose words or reading times this run needs."""
        return configuration.datasets_read(self.config, self.config["run"])

    @cached_property
    def data_asked(self) -> list[tuple[str, str]]:
        """Data of this run other than reading times, as (key, name)."""
        named = [
            (key, entry)
            for key in registry.data()
            for name in self.config["run"]
            for entry in registry.named(self.experiment(name), key)
        ]
        taggers = (self.files.with_words(name).get("tagger") for name in sorted(self.asked))
        named += [(registry.key_of(TAGGED_BY), treebank) for treebank in taggers if treebank]
        return list(dict.fromkeys(named))

    def left_out(self) -> list[str]:
        """Return one line per missing item that this run needs."""
        reasons = [self.absent_data.get(item) for item in self.data_asked]
        return [
            *(f"not run: {self.absent[name]}" for name in sorted(self.absent.keys() & self.asked)),
            *(f"not run: {reason}" for reason in reasons if reason),
        ]

    def not_run_rows(self) -> list[dict]:
        """Return the rows of not_run.csv: dataset, measure, reason."""
        responses = (r for name in self.config["run"] for r in self.all_responses(name))
        asked = {(r["dataset"], r["measure"]) for r in responses}
        return [
            {"dataset": name, "measure": measure, "reason": self.not_run[name]}
            for name in self.not_run
            if name in self.asked
            for measure, settings in self.config["datasets"][name]["measures"].items()
            if "of" not in settings or (name, measure) in asked
        ] + [
            {"dataset": row["label"], "measure": row["kind"], "reason": row["reason"]}
            for row in self.for_report()["other_data"]
            if row["reason"]
        ]

    def data_here(self, experiment: str, key: str) -> list[str]:
        """Return the available entries that an experiment names under an evaluation's key."""
        named = registry.named(self.experiment(experiment), key)
        return [name for name in named if (key, name) not in self.no_data]
