"""The endpoints by which LMs can be ranked: which log-likelihood ΔLogLik is a difference of.

An endpoint is a likelihood, and the observations that are scored by it. `crossed` is the default:
all observations but the held-out ones, by fits that have seen neither their subject nor their
sentence (recency.regression.crossed). `in_sample` is of the fitted observations. The others score the
exploratory partition by the fit to the partition fit (recency.regression.likelihoods, which has a
function of each name). Names and descriptions elsewhere are derived from these.
"""

from dataclasses import dataclass

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
    """

    name: str
    observations: str
    effects: str
    of: str
    short: str = ""
    mixed: bool = True
    rescaled: bool = False

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


_EXPLORATORY = "of the exploratory partition"
ENDPOINTS = {
    endpoint.name: endpoint
    for endpoint in (
        Endpoint(
            CROSSED,
            "unseen subjects and sentences",
            "crossed bootstrap",
            "of subjects and sentences that the fit has not seen (crossed bootstrap)",
        ),
        Endpoint(
            "conditional",
            "held out",
            "given the random effects",
            f"{_EXPLORATORY}, given the random effects",
            "conditional",
            mixed=False,
        ),
        Endpoint(
            "marginal_subject",
            "held out",
            "by-subject effects integrated out",
            f"{_EXPLORATORY}, by-subject effects integrated out",
            "marginal, subjects",
        ),
        Endpoint(
            "marginal",
            "held out",
            "all random effects integrated out",
            f"{_EXPLORATORY}, random effects integrated out",
            "marginal",
        ),
        Endpoint(
            "fixed_effects",
            "held out",
            "fixed effects alone",
            f"{_EXPLORATORY}, by fixed effects alone",
            "fixed effects",
            rescaled=True,
        ),
        Endpoint(
            "modelblocks",
            "held out",
            "the script of Modelblocks",
            f"{_EXPLORATORY}, as the authors' script computes it",
            "Modelblocks",
            rescaled=True,
        ),
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
