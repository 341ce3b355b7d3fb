"""The endpoints by which LMs can be ranked: which log-likelihood ΔLogLik is a difference of.

An endpoint is a likelihood, and the observations that are scored by it. `crossed` is the default:
all observations but the held-out ones, by fits that have seen neither their subject nor their
sentence (recency.regression.crossed). `in_sample` is of the fitted observations. The others score the
exploratory partition by the fit to the partition fit: each is a module of
recency.regression.likelihoods, or of another package (recency.plugins). Names and descriptions
elsewhere are derived from these.
"""

from dataclasses import dataclass

from recency import plugins
from recency.errors import InputError

LIKELIHOODS = "recency.regression.likelihoods"

CROSSED = "crossed"
IN_SAMPLE = "in_sample"
DEFAULT_ALONE = "conditional"
"""The endpoint of models that the crossed bootstrap does not cover."""
DRAWS = 500
"""Of the crossed bootstrap, unless an experiment states another number."""


@dataclass(frozen=True)
class Endpoint:
    """One endpoint.

    Attributes
    ----------
    name
        As the config has it.
    observations
        The observations that are scored, as the title of a table's column.
    effects
        What the likelihood does with the random effects, as such a title.
    of
        Both in a sentence, after "log-likelihood".
    short
        The likelihood in tables of simulated endpoints; "" where these have no such candidate.
    mixed
        Whether linear mixed models alone have it.
    rescaled
        Whether `<name>_rescaled` scales the predictors by the scored observations, as well.
    order
        Its place among the others in tables.
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
        """The key under `loglik` of a fit's record; that of `crossed` is in files of its own."""
        if self.name == IN_SAMPLE:
            return "fit"
        return "exploratory" if self.name == "conditional" else f"exploratory_{self.name}"


def _likelihoods() -> list[Endpoint]:
    """Return the endpoints that modules declare, in order; other packages' come last."""
    declared = []
    for name in plugins.names(LIKELIHOODS):
        if name in (CROSSED, IN_SAMPLE):
            raise InputError(f"{plugins.file(LIKELIHOODS, name)}: {name} is an endpoint; rename it")
        settings = plugins.constant("recency.regression.likelihoods", name, "ENDPOINT")
        try:
            declared.append(Endpoint(name, **settings))
        except TypeError as error:
            raise InputError(f"{plugins.file(LIKELIHOODS, name)}: ENDPOINT: {error}") from None
    return sorted(declared, key=lambda endpoint: endpoint.order)


ENDPOINTS = {
    endpoint.name: endpoint
    for endpoint in (
        Endpoint(
            CROSSED,
            "unseen subjects and sentences",
            "crossed bootstrap",
            "of subjects and sentences that the fit has not seen (crossed bootstrap)",
        ),
        *_likelihoods(),
        Endpoint(
            IN_SAMPLE,
            "in-sample",
            "maximised",
            "of the observations that were fitted",
            mixed=False,
        ),
    )
}
HELD_OUT = tuple(name for name in ENDPOINTS if name not in (CROSSED, IN_SAMPLE))
"""Those that score the exploratory partition, each by a likelihood of the same name."""
