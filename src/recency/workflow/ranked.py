"""LMs that an experiment ranks, one for all training seeds, and their baseline models."""

from functools import cached_property

from recency import endpoints, grids
from recency.figures import bases
from recency.regression import covered_endpoints, designs

INTERVALS = {
    "crossed": "crossed bootstrap: subjects and sentences resampled jointly, every draw refitted",
    "given_fits": "bootstrap given the fits: subjects, or sentences, resampled; the wider interval",
}
"""Methods for intervals, for captions."""


class Ranked:
    """The LMs to rank, and the baseline that they are compared with (part of Study)."""

    def one_for_seeds(self, experiment: str) -> dict[str, str]:
        """Return LM → the LM that represents all seeds of the same settings.

        Under `sensitivity` and `steps` combinations are not merged.
        """
        entry = self.experiment(experiment)
        if experiment not in self.grids or grids.is_varied(entry) or grids.has_steps(entry):
            return {lm: lm for lm in entry["lms"]}
        return {lm: about["lm"] for lm, about in self.grids[experiment]["lms"].items()}

    def ranked_lms(self, experiment: str) -> list[dict]:
        """Return the LMs that an experiment ranks, described, one for all seeds."""
        return [self.described(lm) for lm in dict.fromkeys(self.one_for_seeds(experiment).values())]

    def named_lms(self, experiment: str, key: str) -> list[str]:
        """Return the LMs in `lms` of an experiment's `key`, with all seeds; default all LMs."""
        named, of = self.experiment(experiment)[key].get("lms"), self.one_for_seeds(experiment)
        return [lm for lm in of if not named or of[lm] in named]

    def variants(self, experiment: str, key: str | None = None) -> list[dict]:
        """Return all LMs, or `named_lms`, with the description shared by seeds; `variant` is the LM."""
        of = self.one_for_seeds(experiment)
        named = self.named_lms(experiment, key) if key else of
        return [self.described(of[lm]) | {"variant": lm} for lm in named]

    def ranked_baseline(self, experiment: str) -> str:
        """Return the LM with which `ranked_lms` are compared."""
        return self.one_for_seeds(experiment)[self.experiment(experiment)["baseline"]]

    def ranked_cells(self, experiment: str) -> list[dict]:
        """Return every cell, with lm and label shared by seeds, and `seed` and `variant`."""
        cells, of = self.named_cells(experiment, "label"), self.one_for_seeds(experiment)
        if not self.several_seeds(experiment):
            return cells
        return [
            cell
            | {"lm": of[cell["lm"]], "label": self.described(of[cell["lm"]])["label"]}
            | {"seed": self.lms[cell["lm"]]["seed"], "variant": cell["lm"]}
            for cell in cells
        ]

    def plain_lms(self, experiment: str) -> list[dict]:
        """Return the LMs in the config of an experiment with several settings or steps."""
        grid = self.grids[experiment]["lms"]
        return [self.described(lm) for lm in dict.fromkeys(cell["lm"] for cell in grid.values())]

    def plain_baseline(self, experiment: str) -> str:
        """Return the baseline in the config of such an experiment."""
        return self.grids[experiment]["lms"][self.experiment(experiment)["baseline"]]["lm"]

    def several_seeds(self, experiment: str) -> bool:
        """Return whether an experiment's LMs are means over seeds."""
        of = self.one_for_seeds(experiment)
        return len(set(of.values())) < len(of)

    def seeded_cells(self, experiment: str) -> list[dict]:
        """Return every cell with the seed of its LM, and the LM that represents all seeds."""
        return [
            cell
            | {"seed": self.lms[cell["lm"]]["seed"], "but_for_seed": self.but_for_seed(cell["lm"])}
            for cell in self.named_cells(experiment)
        ]

    def base(self, experiment: str, secondary: bool = False) -> str:
        """Return the kind of baseline model of an experiment: fixed, all, several, or "" for none.

        With `secondary`, that of the designs' second baseline models.
        """
        asked = dict.fromkeys(r["design"] for r in self.all_responses(experiment))
        entries = [self.config["designs"][design] for design in asked]
        if secondary and all(len(designs.bases(design)) == 1 for design in entries):
            return ""
        return bases.of(self._kinds_of_base[design][-1 if secondary else 0] for design in asked)

    def endpoint(self, experiment: str, secondary: bool = False) -> str:
        """Return the endpoint by which an experiment ranks its LMs; see recency.endpoints.

        Default `crossed`, unless the experiment has a bootstrap given the fits or a design that
        `crossed` does not cover. For the second baseline (`secondary`) it is conditional, or in-sample if
        all observations are fitted.
        """
        entry = self.experiment(experiment)
        if secondary and not self.all_fitted(experiment):
            return endpoints.DEFAULT_ALONE
        if stated := entry.get("endpoint"):
            return stated
        asked = {r["design"] for r in self.all_responses(experiment)}
        covered = all(self._crossed_by_default[design] for design in asked)
        if covered and entry.get("bootstrap", endpoints.CROSSED) == endpoints.CROSSED:
            return endpoints.CROSSED
        return endpoints.DEFAULT_ALONE

    @cached_property
    def in_sample(self) -> set[tuple[str, str, str]]:
        """Responses (design, dataset, measure) of experiments that rank by `in_sample`."""
        return {
            (response["design"], response["dataset"], response["measure"])
            for name, entry in self.config["experiments"].items()
            if entry.get("endpoint") == endpoints.IN_SAMPLE
            for response in self.all_responses(name)
        }

    @cached_property
    def _crossed_by_default(self) -> dict[str, bool]:
        """Design → whether the crossed bootstrap covers it, for any data."""
        every = self.config["designs"]
        return {
            name: covered_endpoints.is_crossed_by_default(design) for name, design in every.items()
        }

    @cached_property
    def _kinds_of_base(self) -> dict[str, list[str]]:
        """Design → the kind of each of its baseline models."""
        return {
            name: [designs.kind_of_base({**design, "base": base}) for base in designs.bases(design)]
            for name, design in self.config["designs"].items()
        }

    def endpoint_caption(self, experiment: str) -> dict[str, str]:
        """Return baseline model, endpoint and intervals of an experiment's ΔLogLik, for captions."""
        endpoint = self.endpoint(experiment)
        given_fits = self.experiment(experiment).get("bootstrap") == "given_fits"
        crossed = endpoint == endpoints.CROSSED and not given_fits
        return {
            "first": bases.NAMED.get(self.base(experiment), ""),
            "endpoint": endpoints.ENDPOINTS[endpoint].of,
            "intervals": INTERVALS["crossed" if crossed else "given_fits"],
        }
