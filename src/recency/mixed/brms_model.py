"""A mixed model's formula, family and priors as brms takes them, without R.

Columns are called x1, x2 …, grouping variables g1, g2 …, since brms takes no name such as
`log(x)` or `x[a]`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recency.errors import InputError
from recency.mixed import families
from recency.mixed.formula import INTERCEPT, Formula, factors
from recency.names import nearest

#: Family of a design → brms's, its scale parameter, and d log sigma / d log of that parameter.
FAMILIES = {
    families.GAUSSIAN: ("gaussian", "sigma", 1.0),
    families.LOGNORMAL: ("lognormal", "sigma", 1.0),
    families.SHIFTED: ("shifted_lognormal", "sigma", 1.0),
    families.BINOMIAL: ("bernoulli", None, 1.0),
    "exgaussian": ("exgaussian", "sigma", 1.0),
    "gamma": ("gamma", "shape", -0.5),
    "inverse_gaussian": ("inverse.gaussian", "shape", -0.5),
}
PRIOR_KEYS = ("prior", "class", "coef", "group", "dpar")
DEFAULTS = {"chains": 4, "iterations": 2000, "seed": 1, "cores": 1}
"""Of `sampling:`; half of the iterations are warm-up unless it says otherwise."""
INSTALL = (
    "install R's brms with a C++ compiler: `sudo apt-get install r-cran-brms r-cran-rstan r-cran-bh "
    'g++`, `conda install -c conda-forge r-brms cxx-compiler`, or, in R, install.packages("brms")'
)
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_PRIOR = re.compile(rf"[a-z_]+\((?:{_NUMBER}(?:, *{_NUMBER})*)?\)")


@dataclass(frozen=True)
class Call:
    """What brm() is called with; `terms` and `groups` are names here → names there."""

    formula: str
    scale: str | None
    family: str
    link: str
    priors: list[dict[str, str]]
    sampling: dict[str, int]
    terms: Mapping[str, str]
    groups: Mapping[str, str]
    columns: tuple[str, ...]
    """the columns of the model's formulas, as these have them"""

    def term(self, name: str) -> str:
        """Return a column of the formula by its name in brms: x2:x1, Intercept."""
        if name == "Intercept":
            return INTERCEPT
        back = {other: own for own, other in self.terms.items()}
        wanted = frozenset(back[part] for part in name.split(":"))
        return next(c for c in self.columns if frozenset(factors(c)) == wanted)


def sampling_of(design: Mapping[str, Any]) -> dict[str, int]:
    """Return chains, iterations, warmup, seed and cores of a design."""
    found = {**DEFAULTS, **design.get("sampling", {})}
    return {"warmup": found["iterations"] // 2, **found}


def call(formula: Formula, design: Mapping[str, Any]) -> Call:
    """Translate a model of a design.

    Parameters
    ----------
    formula
        The model's, its categorical predictors written as indicators.
    design
        With family, link, shift, priors and sampling, each perhaps absent.

    Raises
    ------
    InputError
        Where brms has no such family.
    """
    family = design.get("family", families.GAUSSIAN)
    check_family(family)
    if family == families.SHIFTED and "shift" in design:
        family = families.LOGNORMAL  # of what is left after the shift
    name, scale, _ = FAMILIES[family]
    parts = [formula, *([formula.scale] if formula.scale else [])]
    random = [term for part in parts for term in part.random]
    columns = [c for part in parts for c in part.fixed] + [c for t in random for c in t.columns]
    terms = {n: f"x{i}" for i, n in enumerate(formula.predictors, 1)}
    groups = {n: f"g{i}" for i, n in enumerate(dict.fromkeys(t.group for t in random), 1)}
    link = design.get("link", (*families.links(family), "identity")[0])
    if family == families.BINOMIAL:
        link = "logit"
    written = [_written(part, terms, groups) for part in parts]
    return Call(
        formula=f"y ~ {written[0]}",
        scale=f"{scale} ~ {written[1]}" if formula.scale else None,
        family=name,
        link=link,
        priors=_priors(design.get("priors", ()), formula, terms, groups),
        sampling=sampling_of(design),
        terms=terms,
        groups=groups,
        columns=tuple(dict.fromkeys(columns)),
    )


def check_family(family: str) -> None:
    """Raise an InputError where brms has no such family."""
    if family not in FAMILIES:
        raise InputError(f"design: `engine: brms` has no family {nearest(family, FAMILIES)}")


def check_priors(priors: Iterable[Mapping[str, str]], formula: Formula) -> None:
    """Raise an InputError where a prior cannot be read, or is of a term or group that is not there."""
    parts = [formula, *([formula.scale] if formula.scale else [])]
    random = [term for part in parts for term in part.random]
    columns = {c for part in parts for c in part.fixed} | {c for t in random for c in t.columns}
    for number, prior in enumerate(priors, 1):
        where = f"design: priors → {number}"
        if not _PRIOR.fullmatch(prior["prior"]):
            raise InputError(
                f"{where}: {prior['prior']!r} is no prior such as 'normal(0, 10)': a distribution of "
                "Stan's with numbers"
            )
        for key, known in (("coef", columns - {INTERCEPT}), ("group", {t.group for t in random})):
            if key in prior and prior[key] not in known:
                raise InputError(
                    f"{where} → {key}: the formula has no {nearest(prior[key], sorted(known))}"
                )


def _written(part: Formula, terms: Mapping[str, str], groups: Mapping[str, str]) -> str:
    """Write the right side of a formula in brms's names."""

    def sum_of(columns: Sequence[str]) -> str:
        found = [_column(c, terms) for c in columns if c != INTERCEPT]
        return " + ".join(["1" if INTERCEPT in columns else "0", *found])

    random = [
        f"({sum_of(t.columns)} {'|' if t.correlated else '||'} {groups[t.group]})"
        for t in part.random
    ]
    return " + ".join([sum_of(part.fixed), *random])


def _column(name: str, terms: Mapping[str, str]) -> str:
    """Write a column as R names it: factors in the order in which they first appear."""
    return ":".join(sorted((terms[factor] for factor in factors(name)), key=lambda x: int(x[1:])))


def _priors(
    priors: Iterable[Mapping[str, str]],
    formula: Formula,
    terms: Mapping[str, str],
    groups: Mapping[str, str],
) -> list[dict[str, str]]:
    """Return the priors of a model in brms's names; those of terms that it lacks are left out."""
    found = []
    for prior in priors:
        written = dict.fromkeys(PRIOR_KEYS, "") | {"class": "b"} | dict(prior)
        scale = formula.scale if written["dpar"] else None
        part = scale if scale is not None else formula
        in_group = [t for t in part.random if not written["group"] or t.group == written["group"]]
        there = part.fixed if written["class"] == "b" else [c for t in in_group for c in t.columns]
        if (written["coef"] and written["coef"] not in there) or (
            written["group"] and not in_group
        ):
            continue
        if written["class"] in ("sd", "cor") and not part.random:
            continue
        if written["coef"]:
            written["coef"] = _column(written["coef"], terms)
        if written["group"]:
            written["group"] = groups[written["group"]]
        found.append(written)
    return found
