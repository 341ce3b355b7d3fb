"""Translate a mixed model's formula, family and priors for brms, without R.

Columns are named x1, x2 …, grouping variables g1, g2 …, since brms does not accept names such as
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
"""Default values of `sampling:`; half of the iterations are warm-up by default."""
INSTALL = (
    "install R's brms with a C++ compiler: `sudo apt-get install r-cran-brms r-cran-rstan r-cran-bh "
    'g++`, `conda install -c conda-forge r-brms cxx-compiler`, or, in R, install.packages("brms")'
)
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_PRIOR = re.compile(rf"[a-z_]+\((?:{_NUMBER}(?:, *{_NUMBER})*)?\)")


@dataclass(frozen=True)
class Call:
    """The arguments of brm(); `terms` and `groups` map names to those in brms."""

    formula: str
    scale: str | None
    family: str
    link: str
    priors: list[dict[str, str]]
    sampling: dict[str, int]
    terms: Mapping[str, str]
    groups: Mapping[str, str]
    columns: tuple[str, ...]
    """the columns in the model's formulas"""

    def term(self, name: str) -> str:
        """Return a column of the formula by its name in brms: x2:x1, Intercept."""
        if name == "Intercept":
            return INTERCEPT
        back = {other: here for here, other in self.terms.items()}
        wanted = frozenset(back[part] for part in name.split(":"))
        return next(c for c in self.columns if frozenset(factors(c)) == wanted)


def sampling_of(design: Mapping[str, Any]) -> dict[str, int]:
    """Return a design's chains, iterations, warmup, seed and cores."""
    settings = {**DEFAULTS, **design.get("sampling", {})}
    return {"warmup": settings["iterations"] // 2, **settings}


def call(formula: Formula, design: Mapping[str, Any]) -> Call:
    """Translate a design's model for brms.

    Parameters
    ----------
    formula
        The model's formula, with indicators for categorical predictors.
    design
        With family, link, shift, priors and sampling, each optional.

    Raises
    ------
    InputError
        If brms has no such family.
    """
    family = design.get("family", families.GAUSSIAN)
    check_family(family)
    if family == families.SHIFTED and "shift" in design:
        family = families.LOGNORMAL  # the shift is subtracted before the fit
    name, scale, _ = FAMILIES[family]
    parts = [formula, *([formula.scale] if formula.scale else [])]
    random = [term for part in parts for term in part.random]
    columns = [c for part in parts for c in part.fixed] + [c for t in random for c in t.columns]
    terms = {n: f"x{i}" for i, n in enumerate(formula.predictors, 1)}
    groups = {n: f"g{i}" for i, n in enumerate(dict.fromkeys(t.group for t in random), 1)}
    link = design.get("link", (*families.links(family), "identity")[0])
    if family == families.BINOMIAL:
        link = "logit"
    written = [_write(part, terms, groups) for part in parts]
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
    """Raise an InputError if brms has no such family."""
    if family not in FAMILIES:
        raise InputError(f"design: `engine: brms` has no family {nearest(family, FAMILIES)}")


def check_priors(priors: Iterable[Mapping[str, str]], formula: Formula) -> None:
    """Raise an InputError for an unreadable prior, or one of an unknown term or group."""
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
        for key, allowed in (("coef", columns - {INTERCEPT}), ("group", {t.group for t in random})):
            if key in prior and prior[key] not in allowed:
                raise InputError(
                    f"{where} → {key}: the formula has no {nearest(prior[key], sorted(allowed))}"
                )


def _write(part: Formula, terms: Mapping[str, str], groups: Mapping[str, str]) -> str:
    """Write the right side of a formula with brms's names."""

    def sum_of(columns: Sequence[str]) -> str:
        written_terms = [_column(c, terms) for c in columns if c != INTERCEPT]
        return " + ".join(["1" if INTERCEPT in columns else "0", *written_terms])

    random = [
        f"({sum_of(t.columns)} {'|' if t.correlated else '||'} {groups[t.group]})"
        for t in part.random
    ]
    return " + ".join([sum_of(part.fixed), *random])


def _column(name: str, terms: Mapping[str, str]) -> str:
    """Write a column as R names it, with factors in the order of first appearance."""
    return ":".join(sorted((terms[factor] for factor in factors(name)), key=lambda x: int(x[1:])))


def _priors(
    priors: Iterable[Mapping[str, str]],
    formula: Formula,
    terms: Mapping[str, str],
    groups: Mapping[str, str],
) -> list[dict[str, str]]:
    """Return the priors of a model with brms's names, without those of terms that it lacks."""
    translated = []
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
        translated.append(written)
    return translated
