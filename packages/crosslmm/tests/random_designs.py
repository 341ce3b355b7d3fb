"""Random designs of mixed models, changes that leave a model the same, and what must not change.

Used by tests/mixed/test_invariance.py and by benchmarks/fuzz_fits.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from crosslmm import lmer
from crosslmm.formula import factors
from crosslmm.model import MixedModel

LOGLIK = 1e-6
"""Largest difference of log-likelihoods, per row."""
ERRORS = 1e-4
"""Largest difference of estimates and predictions, in standard errors or residual standard
deviations; of a ratio of standard errors or deviations from 1."""
LINEAR = ("gaussian", "lognormal", "shifted_lognormal")
FAMILIES = (*LINEAR, "gamma", "inverse_gaussian", "exgaussian", "binomial", "poisson")
SHARES = (0.62, 0.06, 0.04, 0.06, 0.04, 0.04, 0.08, 0.06)
NEAR_BOUND = 0.01
"""Diagonal elements of L below which a family but a linear one may be singular or not: the
likelihood has no slope there."""
FAST = 6
"""Changes that are tried for a linear model; other families have two."""

FIXED = {
    "x": True,
    "x + z": True,
    "x * z": True,
    "x * c": True,
    "c * b + x": True,
    "c / x": True,
    "x + I(x^2)": True,
    "x * c + z * b": True,
    "(x + z + c)^2": True,
    "poly(x, 2) + z": True,
    "scale(x) + c": True,
    "0 + c + x": True,
    "x + log(p)": True,
    "c": True,
    "1": True,
    "z + z:x": False,
    "0 + x": False,
    "x + I(x * z)": False,
}
"""Fixed effects, and whether the model is the same if a constant is added to x."""
RANDOM = {
    "(1 | g)": True,
    "(1 + x | g)": True,
    "(1 + x | g) + (1 | h)": True,
    "(1 | g) + (1 | h)": True,
    "(1 + x | g) + (1 + z | h)": True,
    "(1 + c | g)": True,
    "(0 + c | g) + (1 | h)": True,
    "(1 | h/g)": True,
    "(1 | g) + (1 | h) + (1 | g:h)": True,
    "(1 | g) + (0 + b | h)": True,
    "(1 + x + z | h)": True,
    "(1 + z || g)": True,
    "(x || g)": False,
    "(0 + x | g) + (1 | h)": False,
    "(1 | g) + (0 + x | g)": False,
}


@dataclass(frozen=True)
class Design:
    """A formula, its data, and the options of `lmer`."""

    seed: int
    formula: str
    data: pd.DataFrame = field(repr=False)
    options: dict[str, str]
    shifts: bool
    """whether adding a constant to x leaves the model the same"""

    @property
    def family(self) -> str:
        """The family of the response."""
        return self.options.get("family", "gaussian")

    @property
    def is_linear(self) -> bool:
        """Whether the search fits the family."""
        return self.family in LINEAR

    @property
    def has_constant(self) -> bool:
        """Whether the fixed effects can express a constant."""
        right = self.formula.partition("~")[2]
        return not right.strip().startswith("0") or right.strip().startswith("0 + c")

    def fit(self, engine: str | None = None) -> MixedModel:
        """Fit the model; a linear one by the search unless an engine is given."""
        engine = engine or ("search" if self.is_linear else "auto")
        return lmer(self.formula, self.data, engine=engine, **self.options)


def draw(seed: int, family: str | None = None) -> Design:
    """Draw a design; the same seed draws the same."""
    random = np.random.default_rng([seed, 65])
    family = family or str(random.choice(FAMILIES, p=SHARES))
    n = int(random.integers(150, 420)) * (2 if family in ("binomial", "poisson") else 1)
    G, H = int(random.integers(7, 16)), int(random.integers(6, 13))
    data = pd.DataFrame(
        {
            "x": random.normal(size=n) if random.random() < 0.7 else random.integers(0, 9, n) * 1.0,
            "z": random.normal(size=n) * 3 + 1,
            "p": random.gamma(3, size=n),
            "c": random.choice(["a", "b", "d"], n),
            "b": random.random(n) < 0.4,
            "g": [f"g{code:02}" for code in random.integers(0, G, n)],
            "h": [f"h{code:02}" for code in random.integers(0, H, n)],
        }
    )
    fixed, term = str(random.choice(list(FIXED))), str(random.choice(list(RANDOM)))
    if family not in LINEAR:  # Laplace's approximation takes seconds for many effects
        fixed = str(random.choice(["x", "x + z", "x * z", "x * c", "x + I(x^2)", "0 + c + x"]))
        term = str(random.choice(["(1 | g)", "(1 + x | g)", "(1 | g) + (1 | h)"]))
    options = {} if family == "gaussian" else {"family": family}
    eta = _predictor(random, data, term)
    data["y"] = _response(random, family, eta)
    if family in ("gaussian", "lognormal") and random.random() < 0.3:
        data["w"] = random.uniform(0.3, 3, n)
        options["weights"] = "w"
    if family in ("gaussian", "poisson") and random.random() < 0.2:
        data["o"] = random.normal(0, 0.3, n)
        options["offset"] = "o"
    return Design(seed, f"y ~ {fixed} + {term}", data, options, FIXED[fixed] and RANDOM[term])


def _predictor(random: np.random.Generator, data: pd.DataFrame, term: str) -> np.ndarray:
    """Draw a linear predictor of mean 0, whose random effects have some variance or none."""
    x, z = (((data[c] - data[c].mean()) / data[c].std()).to_numpy() for c in "xz")
    eta = 0.3 * x - 0.2 * z + 0.2 * (data["c"] == "b") + 0.15 * x * z + 0.1 * data["b"]
    eta = eta.to_numpy()
    for group, share in (("g", 0.5), ("h", 0.4)):
        codes = pd.factorize(data[group])[0]
        sd = share * random.choice([0.0, 1.0, 1.0, 2.0], 3) * (1.0, 0.6, 0.5)
        effects = random.normal(size=(codes.max() + 1, 3)) * sd
        eta = eta + effects[codes, 0] + effects[codes, 1] * x + effects[codes, 2] * z
    return eta - eta.mean()


def _response(random: np.random.Generator, family: str, eta: np.ndarray) -> np.ndarray:
    n = len(eta)
    mean = np.exp(0.4 * eta + 1)
    if family == "gaussian":
        return 5 + eta + random.normal(size=n)
    if family == "lognormal":
        return np.exp(1 + 0.4 * eta + 0.3 * random.normal(size=n))
    if family == "shifted_lognormal":
        return 1.5 + np.exp(1 + 0.4 * eta + 0.3 * random.normal(size=n))
    if family == "gamma":
        return mean * random.gamma(8, 1 / 8, n)
    if family == "inverse_gaussian":
        return random.wald(mean, 12 * mean)
    if family == "exgaussian":
        return 4 + 0.5 * eta + 0.4 * random.normal(size=n) + random.exponential(0.6, n)
    if family == "binomial":
        return (random.random(n) < 1 / (1 + np.exp(-eta))) * 1.0
    return random.poisson(np.exp(0.4 * eta + 0.6)) * 1.0


@dataclass(frozen=True)
class Change:
    """A change of a design's data, and what it does to the figures."""

    name: str
    apply: Callable[[Design], pd.DataFrame]
    column: str = ""
    """the predictor to which a constant is added, whose lower terms change"""
    unit: float = 1.0
    """factor of the response"""
    mean: float = 0.0
    """constant that is added to the response"""
    recodes: bool = False
    """whether the coefficients of categorical columns change"""


def changes(design: Design) -> list[Change]:
    """Return the changes that leave a design's model the same."""

    def assign(**columns: Callable[[pd.DataFrame], pd.Series]) -> Callable[[Design], pd.DataFrame]:
        return lambda of: of.data.assign(**columns)

    every = [
        Change("rows in another order", lambda d: d.data.sample(frac=1, random_state=d.seed)),
        Change(
            "levels renamed and reordered",
            assign(
                c=lambda d: d["c"].map({"a": "v", "b": "u", "d": "t"}),
                g=lambda d: "s" + (99 - d["g"].str[1:].astype(int)).astype(str),
            ),
            recodes=True,
        ),
        Change("-x", assign(x=lambda d: -d["x"])),
    ]
    for factor in (1e-8, 1e8):
        every.append(Change(f"x * {factor:g}", assign(x=lambda d, k=factor: k * d["x"])))
    if design.shifts:
        for constant in (1e4, -1e8):
            every.append(
                Change(f"x + {constant:g}", assign(x=lambda d, k=constant: d["x"] + k), "x")
            )
    family = design.family
    if family not in ("binomial", "poisson") and (design.has_constant or family == "gaussian"):
        for factor in (1e-8, 1e8):
            scaled = {"y": lambda d, k=factor: k * d["y"]}
            if "offset" in design.options:
                scaled["o"] = lambda d, k=factor: k * d["o"]
            every.append(Change(f"y * {factor:g}", assign(**scaled), unit=factor))
    if family == "gaussian":
        if design.has_constant:
            every.append(Change("y + 1e8", assign(y=lambda d: d["y"] + 1e8), mean=1e8))
        if "weights" in design.options:
            every.append(Change("weights * 1e8", assign(w=lambda d: 1e8 * d["w"])))
    return every


def problems(design: Design, some: int | None = None) -> Iterator[str]:
    """Yield what is wrong with the fits of a design and of its changes.

    `some` is the number of changes, drawn by the design's seed; by default `FAST` of a linear
    model's, and two of another's.
    """
    base = design.fit()
    yield from state_problems(base, "as drawn")
    every = changes(design)
    count = some or (FAST if design.is_linear else 2)
    random = np.random.default_rng([design.seed, 66])
    for index in sorted(random.permutation(len(every))[:count]):
        change = every[index]
        changed = replace(design, data=change.apply(design))
        engine = "auto" if design.is_linear and random.random() < 0.3 else None
        label = f"{change.name}{' by lme4' if engine else ''}"
        try:
            fit = changed.fit(engine)
        except Exception as error:  # noqa: BLE001, any error is a finding
            yield f"{label}: {type(error).__name__}: {error}"
            continue
        yield from differences(design, base, fit, change, label)
    if design.is_linear and design.family != "shifted_lognormal":
        lme4s = design.fit("lme4")
        apart = (base.loglik - lme4s.loglik) / base.nobs
        if apart < -LOGLIK:
            yield f"lme4 ends {-apart * base.nobs:.2g} log-likelihood units above the search"
        at_optimum = lme4s.checks.loc["gradient", "value"] < 1e-5
        # Without a constant, the means are fitted by the effects of one group or of the other.
        if at_optimum and apart > LOGLIK and design.has_constant:
            yield f"lme4 ends {apart * base.nobs:.2g} below the search, and seems at its optimum"
        if lme4s.checks.loc["deviance", "value"] > 1e-8:
            yield f"the deviances differ by {lme4s.checks.loc['deviance', 'value']:.2g}"


def state_problems(fit: MixedModel, label: str) -> Iterator[str]:
    """Yield failed checks of a fit."""
    for name, check in fit.checks.iterrows():
        if not check.passed:
            yield f"{label}: check {name!r} by {check.by} is {check.value:.2g}"
    if not len(fit.checks):
        yield f"{label}: nothing was checked"


def differences(
    design: Design, base: MixedModel, fit: MixedModel, change: Change, label: str
) -> Iterator[str]:
    """Yield the figures that differ between a design's fit and that of a change of it."""
    yield from state_problems(fit, label)
    n, unit = base.nobs, change.unit
    apart = abs(fit.loglik + n * np.log(unit) - base.loglik)
    if not apart <= LOGLIK * n:
        yield f"{label}: log-likelihood {base.loglik:.6f} becomes {fit.loglik + n * np.log(unit):.6f}"
    sd = float(base.residuals.std())
    for random in (True, False):
        before = base.predict(random=random)
        after = (fit.predict(random=random).loc[before.index] - change.mean) / unit
        largest = float(np.abs(after - before).max()) / sd
        if not largest <= ERRORS:
            yield f"{label}: predictions (random={random}) differ by {largest:.2g} residual sds"
    terms = same_terms(base, change)
    if terms:
        t = base.fixed.loc[terms, "t"].abs()
        largest = float((fit.fixed.loc[terms, "t"].abs() - t).abs().max())
        if not largest <= ERRORS * max(1.0, float(t.max())):
            yield f"{label}: t of {', '.join(terms)} differs by {largest:.2g}"
    if base.singular != fit.singular and (
        design.is_linear or max(least_diagonal(base), least_diagonal(fit)) > NEAR_BOUND
    ):
        yield f"{label}: singular is {base.singular}, then {fit.singular}"


def least_diagonal(fit: MixedModel) -> float:
    """Return the smallest diagonal element of L on the internal scale."""
    return min(np.diagonal(L).min() for L in fit._source.result.figures.Ls)


def same_terms(fit: MixedModel, change: Change) -> list[str]:
    """Return the fixed effects whose t value must stay the same, but for its sign."""
    parts = {name: _parts(name) for name in fit.fixed.index}
    numeric = [name for name, of in parts.items() if of and of <= {"x", "z", "x^2", "log(p)"}]
    alone = [
        name
        for name in numeric
        if not any(parts[name] < of for n, of in parts.items() if n != name)
    ]
    if change.column:
        return [name for name in alone if change.column in parts[name]]
    if change.recodes:
        return alone
    moves = change.mean or (change.unit != 1 and fit.family != "gaussian")
    return numeric if moves else list(parts)


def _parts(name: str) -> set[str]:
    """Return the factors of a column, none for the intercept; x belongs to x^2."""
    parts = {"x^2" if factor == "I(x^2)" else factor for factor in factors(name)}
    return parts | {"x"} if "x^2" in parts else parts
