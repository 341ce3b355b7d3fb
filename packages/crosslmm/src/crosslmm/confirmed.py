"""Models on the internal scale in R: lme4's figures at a given theta, or at its own optimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crosslmm import lme4
from crosslmm.formula import column
from crosslmm.internal import Figures, Internal
from crosslmm.levels import Levels, joined
from crosslmm.summary import FitSummary

RESPONSE, WEIGHTS, OFFSET = ".y", ".w", ".o"
FIXED, RANDOM = ".x", ".z"


@dataclass
class InR:
    """A model of which R has the formula and the data frame."""

    model: Internal
    text: str
    frame: Any
    weights: str | None
    of_terms: dict[frozenset[str], int]
    """the number of each random term by its columns in R"""

    def set_up(self, reml: bool = False) -> tuple[Any, list[str]]:
        """Set up lme4's modular model; return it and its messages."""
        return lme4.set_up(self.text, self.frame, reml, self.weights)

    def generalised(self, family: str) -> tuple[Any, list[str]]:
        """Run glmer(); return the merMod object and its messages."""
        return lme4.generalised(self.text, self.frame, family, self.weights)

    def theta(self, in_r: Any, Ls: list[np.ndarray]) -> np.ndarray:
        """Return theta in lme4's order from L (k, k) of each random term."""
        parts = []
        for _, columns in lme4.terms(in_r):
            L = Ls[self.of_terms[frozenset(columns)]]
            parts.append(L.T[np.triu_indices(len(L))])
        return np.concatenate(parts)

    def figures(self, fit: Any, is_relative: bool = True) -> Figures:
        """Read a merMod object."""
        return self.figures_of(lme4.summary_of(fit), lme4.terms_of_fit(fit), is_relative)

    def figures_of(
        self, summary: FitSummary, terms: list[tuple[str, list[str]]], is_relative: bool
    ) -> Figures:
        """Arrange lme4's summary by this model's columns and terms."""
        model = self.model
        Ls: list[np.ndarray] = [np.zeros((0, 0))] * len(self.of_terms)
        modes = list(Ls)
        start = 0
        for group, columns in terms:
            term, k = self.of_terms[frozenset(columns)], len(columns)
            end = start + k * (k + 1) // 2
            L = np.zeros((k, k))
            L.T[np.triu_indices(k)] = summary.theta[start:end]
            Ls[term], start = L, end
            places = [summary.random[group]["columns"].index(c) for c in columns]
            names = joined(model.scale.groups[term], model.groups).names
            by_level = summary.modes[group]
            modes[term] = np.array([by_level[name] for name in names])[:, places]
        places = [int(name.removeprefix(FIXED)) for name in summary.fixed]
        given = model.scale.fixed.kept
        return Figures(
            beta=np.array(list(summary.fixed.values())),
            covariance=summary.covariance,
            sigma=summary.sigma,
            loglik=summary.loglik,
            Ls=Ls,
            modes=modes,
            singular=summary.singular,
            converged=summary.converged,
            kept=tuple(given[place] for place in places),
            is_relative=is_relative,
            messages=summary.messages,
        )


def in_r(model: Internal) -> InR:
    """Build R's formula and data frame, with short names for the columns."""
    n = len(model.y)
    frame: dict[str, np.ndarray | Levels] = {}
    left = RESPONSE
    if model.response is None:
        frame[RESPONSE] = model.y
    else:
        left, more = model.response
        frame |= more
    fixed = []
    for number, name in enumerate(model.formula.fixed):
        fixed.append(f"{FIXED}{number}")
        frame[fixed[-1]] = column(name, model.predictors, n)
    terms, of_terms = [], {}
    for term in model.formula.random:
        group = term.group.replace("`", "")
        if group not in frame:
            frame[group] = joined(term.group, model.groups)
        parts = [term.columns] if term.correlated else [(single,) for single in term.columns]
        for part in parts:
            number = len(of_terms)
            names = [f"{RANDOM}{number}.{c}" for c in range(len(part))]
            frame |= {
                name: column(label, model.predictors, n)
                for name, label in zip(names, part, strict=True)
            }
            of_terms[frozenset(names)] = number
            terms.append(f"(0 + {' + '.join(names)} | `{group}`)")
    if model.weights is not None:
        frame[WEIGHTS] = model.weights
    if model.offset is not None:
        frame[OFFSET] = model.offset
        terms.append(f"offset({OFFSET})")
    text = f"{left} ~ " + " + ".join(["0", *fixed, *terms])
    weights = WEIGHTS if model.weights is not None else None
    return InR(model, text, lme4.data_frame(frame), weights, of_terms)
