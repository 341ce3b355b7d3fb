"""A total, its draws, and how sure it is: for other subjects or sentences, and for further seeds.

An LM that was trained from S seeds is their mean, and further seeds are drawn too: to each draw is
added what the mean of S others might differ by, t with S - 1 degrees of freedom times the seeds'
standard error. LMs of the same seeds have the same draws of these, so that what a seed has in common
leaves their difference. How seed and cluster go together is counted on both sides, which makes the
intervals a little too wide rather than too narrow. So it is where seeds decide, too: Satterthwaite's
degrees of freedom give narrower intervals, which of two seeds hold the truth in 87 % (docs/how_sure.md).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recency.stats import bootstrap


@dataclass(frozen=True)
class Draws:
    """A total over n observations, or of two the difference, and its draws (replicates,) by cluster.

    `seeds` (all seeds,) is how far each seed is from their mean, over √(S (S - 1)), so that its length
    is the mean's standard error; `noise` (replicates,) what further seeds might add to the mean.
    """

    value: float
    n: int = 0
    drawn: Mapping[str, np.ndarray] = field(default_factory=dict)
    seeds: np.ndarray | float = 0.0
    noise: np.ndarray | float = 0.0
    freedom: int = 0
    """S - 1; of a difference that of the fewer seeds, where both have several"""

    def __add__(self, other: Draws) -> Draws:
        return self._with(other, 1, self.n + other.n)

    def __sub__(self, other: Draws) -> Draws:
        return self._with(other, -1, self.n)

    def _with(self, other: Draws, sign: int, n: int) -> Draws:
        drawn = {name: self.drawn[name] + sign * other.drawn[name] for name in self.drawn}
        seeds, noise = self.seeds + sign * other.seeds, self.noise + sign * other.noise
        freedom = min(filter(None, (self.freedom, other.freedom)), default=0)
        return Draws(self.value + sign * other.value, n, drawn, seeds, noise, freedom)

    def of(self, cluster: str) -> np.ndarray:
        """Return the draws (replicates,) of a cluster, and of seeds."""
        return self.drawn[cluster] + self.noise

    def se(self, cluster: str) -> float:
        """Return the standard error, of the cluster's draws and of seeds."""
        return math.hypot(float(self.drawn[cluster].std(ddof=1)), np.linalg.norm(self.seeds))

    def ends(self, together: Mapping[str, float] | None = None) -> dict[str, float | str]:
        """Return low, high, se and by (of the cluster with the wider interval), and those of each.

        `together` has for each cluster the standard errors that hold for several differences
        together (held_together()); low_all and high_all are their ends. NaN where nothing tells.
        Without clusters the interval is Student's, of the seeds alone.
        """
        found = {"by": "", "se": math.nan}
        found |= dict.fromkeys(("low", "high", "low_all", "high_all"), math.nan)
        if not self.drawn and self.freedom:
            from scipy.stats import t

            se = float(np.linalg.norm(self.seeds))
            reach = float(t.ppf(0.975, self.freedom)) * se
            found |= {"low": self.value - reach, "high": self.value + reach, "se": se, "by": "seed"}
        for cluster in self.drawn:
            low, high = bootstrap.percentiles(self.of(cluster))
            se = self.se(cluster) if math.isfinite(low) else math.nan
            found |= {f"low_{cluster}": low, f"high_{cluster}": high, f"se_{cluster}": se}
            if math.isfinite(low) and not high - low <= found["high"] - found["low"]:
                found |= {"low": low, "high": high, "se": se, "by": cluster}
            reach = together[cluster] * se if together else math.nan
            if math.isfinite(reach) and not reach <= found["high_all"] - self.value:
                found |= {"low_all": self.value - reach, "high_all": self.value + reach}
        return found


def held_together(totals: Sequence[Draws], pairs: Sequence[tuple[int, int]]) -> dict[str, float]:
    """Return for each cluster how many standard errors make all pairs' intervals hold together."""
    several = any(np.any(each.seeds) for each in totals)
    apart = [totals[a] - totals[b] for a, b in pairs] if several else []
    return {
        cluster: bootstrap.largest_t(
            np.column_stack([each.of(cluster) for each in totals]),
            pairs,
            spreads=[each.se(cluster) for each in apart] if several else None,
        )
        for cluster in totals[0].drawn
    }


class FurtherSeeds:
    """What further seeds might add to the means of those that there are, the same for all LMs."""

    def __init__(
        self, seeds_of: Iterable[Iterable[str]], replicates: int, seed: int | Sequence[int]
    ) -> None:
        """`seeds_of` has the names of each LM's seeds."""
        seeds_of = [set(each) for each in seeds_of]
        names = sorted(set().union(*seeds_of))
        self.places = {name: place for place, name in enumerate(names)}
        random = np.random.default_rng([seed, zlib.crc32(b"seeds")])
        self.normal = random.standard_normal((replicates, len(names))) if len(names) > 1 else None
        most = max(map(len, seeds_of), default=1)
        # Of few seeds the spread is hardly known: t, not the normal distribution.
        self.wider = {
            S: np.sqrt((S - 1) / random.chisquare(S - 1, replicates)) for S in range(2, most + 1)
        }

    def mean(
        self, values: Mapping[str, float], drawn: Mapping[str, np.ndarray], n: int = 0
    ) -> Draws:
        """Return the mean of the seeds' values, whose clusters' draws are those of the mean.

        With one seed nothing is known of further ones.
        """
        S, every = len(values), np.array(list(values.values()))
        value = math.fsum(every) / S
        if S < 2:
            return Draws(value, n, drawn)
        apart = np.zeros(len(self.places))
        apart[[self.places[name] for name in values]] = (every - every.mean()) / math.sqrt(
            S * (S - 1)
        )
        return Draws(value, n, drawn, apart, self.normal @ apart * self.wider[S], S - 1)
