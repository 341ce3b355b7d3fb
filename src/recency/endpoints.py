"""Endpoints by which LMs can be ranked: the log-likelihood whose difference is ΔLogLik.

An endpoint is a likelihood and the observations that it scores. The default, `crossed`, scores all but
the held-out observations by fits that have seen neither their subject nor their sentence
(recency.regression.crossed). `in_sample` scores the fitted observations. The others score the
exploratory partition by the fit to the partition `fit`; each is a module of
recency.regression.likelihoods, or of another package (recency.plugins). Names and descriptions
elsewhere are derived from these.
"""

from dataclasses import dataclass

from recency import plugins

LIKELIHOODS = "recency.regression.likelihoods"

CROSSED = "crossed"
IN_SAMPLE = "in_sample"
DEFAULT_ALONE = "conditional"
"""Endpoint of models that the crossed bootstrap does not cover."""
DRAWS = 500
"""Default number of draws of the crossed bootstrap."""
UNIT = "unit"
"""Attribute of the crossed bootstrap's scores: what their units are, such as `sentence`."""
STIMULUS = "stimulus"
"""What units are in an experiment's items: each with all its conditions."""
BY_ITEMS = "crossed_items"
"""Value of `by` of intervals for which these are resampled; crosslmm.stats.crossed_samples has the others."""
WITHOUT_GROUP = "without_group"
"""Attribute of the crossed bootstrap's scores: their total without each of some groups of draws."""


def of_units(text: str, of_items: bool) -> str:
    """Return what is said of sentences for responses to an experiment's items."""
    return text.replace("sentences", "items") if of_items else text


@dataclass(frozen=True)
class Endpoint:
    """An endpoint.

    Attributes
    ----------
    name
        Name in the config.
    observations
        The scored observations, for the title of a column.
    effects
        Treatment of the random effects, for the title of a column.
    of
        Both in a sentence, after "log-likelihood".
    short
        The likelihood in tables of simulated endpoints; "" where these have no such candidate.
    mixed
        Whether it is defined for linear mixed models only.
    rescaled
        Whether the variant `<name>_rescaled`, with predictors scaled by the scored observations, exists.
    order
        Position in tables.
    """

    name: str
    observations: str
    effects: str
    of: str
    short: str = ""
    mixed: bool = True
    rescaled: bool = False
    order: int = 100

    @property
    def title(self) -> str:
        """The title of a table's column."""
        return f"{self.observations}, {self.effects}"

    @property
    def key(self) -> str:
        """The key under `loglik` of a fit's record; `crossed` has separate files."""
        if self.name == IN_SAMPLE:
            return "fit"
        return "exploratory" if self.name == "conditional" else f"exploratory_{self.name}"


def _likelihoods() -> list[Endpoint]:
    """Return the endpoints that modules declare, in order; other packages' come last."""
    declared = []
    for name in plugins.names(LIKELIHOODS):
        if name in (CROSSED, IN_SAMPLE):
            reason = f"{plugins.file(LIKELIHOODS, name)}: {name} is an endpoint; rename it"
            plugins.set_aside(LIKELIHOODS, name, reason)
            continue
        settings = plugins.constant("recency.regression.likelihoods", name, "ENDPOINT")
        try:
            declared.append(Endpoint(name, **settings))
        except (TypeError, ValueError) as error:
            reason = f"{plugins.file(LIKELIHOODS, name)}: ENDPOINT: {error}"
            plugins.set_aside(LIKELIHOODS, name, reason)
    return sorted(declared, key=lambda endpoint: endpoint.order)


ENDPOINTS = {
    endpoint.name: endpoint
    for endpoint in (
        Endpoint(
            CROSSED,
            "unseen subjects and sentences",
            "crossed bootstrap",
            "of unseen subjects and sentences (crossed bootstrap)",
        ),
        *_likelihoods(),
        Endpoint(
            IN_SAMPLE,
            "in-sample",
            "maximised",
            "of the fitted observations",
            mixed=False,
        ),
    )
}
HELD_OUT = tuple(name for name in ENDPOINTS if name not in (CROSSED, IN_SAMPLE))
"""Endpoints that score the exploratory partition, by a likelihood of the same name."""
