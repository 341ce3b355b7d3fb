"""The files that a regression is made from, and its data read from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from recency.mixed.additive import Additive
from recency.mixed.formula import Formula
from recency.regression import categories
from recency.regression.coding import Coding, coding_of
from recency.regression.deconvolution import profiled
from recency.regression.designs import (
    columns_there,
    formula_of,
    with_one_base,
    with_response,
)
from recency.regression.predictors import Rows, read_rows
from recency.regression.texts import Texts, read_texts

ROLES = ("words", "fit", "exploratory", "unigram", "surprisal", "onsets")
"""The files that each regression has one of, or none."""


@dataclass(frozen=True)
class Inputs:
    """The files of one regression.

    Attributes
    ----------
    words
        The dataset's words (contract 1).
    fit, exploratory
        Observations of these partitions (contract 2); `exploratory` is None where all are fitted.
    unigram, surprisal
        Surprisal of the unigram model and of the LM (contract 3); None where there is none.
    others
        Surprisal of the LMs that the formula names, and of `beside`, by name.
    beside
        Another LM whose terms the full model has as well.
    onsets
        When each word came up (recency.reading.onsets), for formulas with a kernel.
    """

    words: str | PathLike
    fit: str | PathLike
    exploratory: str | PathLike | None = None
    unigram: str | PathLike | None = None
    surprisal: str | PathLike | None = None
    others: Mapping[str, str | PathLike] = field(default_factory=dict)
    beside: str | None = None
    onsets: str | PathLike | None = None

    @classmethod
    def of_job(cls, given: dict[str, Any], threads: int) -> "Inputs":
        """Take the input files of these names out of a job's arguments.

        The param `named` gives the LMs (`lm`) of the files `others`; `beside` is both the file of
        another LM and, of the param `beside_lm`, its name.
        """
        named = (each["lm"] for each in given.pop("named"))
        others = dict(zip(named, given.pop("others", ()), strict=True))
        beside = given.pop("beside_lm", None)
        if beside is not None:
            others[beside] = given.pop("beside")
        return cls(**{role: given.pop(role, None) for role in ROLES}, others=others, beside=beside)

    def texts(self, design: Mapping[str, Any]) -> Texts:
        """Read the words' predictors in the variant of surprisal of a design, or of a fit's record."""
        spillover = design.get("spillover", "item")
        files = self.words, self.unigram, self.surprisal
        return read_texts(*files, design["surprisal"], True, self.others, spillover, self.onsets)


@dataclass
class Data:
    """What a regression is fitted to: its design with one base, and the rows of two partitions."""

    design: Mapping[str, Any]
    columns: Mapping[str, Any]
    """those of words and responses, by table"""
    formula: Formula | Additive
    texts: Texts
    coding: Coding
    fit: Rows
    exploratory: Rows | None


def read_data(inputs: Inputs, design: Mapping[str, Any], model: str) -> Data:
    """Read what a model (`full`, `base` or `linear`) of a design is fitted to."""
    there = columns_there(inputs.words, inputs.fit)
    design = with_response(with_one_base(design, inputs.surprisal is not None))
    formula, whole = (formula_of(design, kind, there, inputs.beside) for kind in (model, "full"))
    texts = inputs.texts(design)
    coding = coding_of(formula, whole, texts, inputs.fit)
    names = categories.names(formula, texts, coding)
    asked = (texts, names, design["response"], formula.response, coding)
    rows = read_rows(inputs.fit, *asked)
    coding = profiled(formula, texts, rows, coding)
    asked = (*asked[:-1], coding)
    held_out = None if inputs.exploratory is None else read_rows(inputs.exploratory, *asked)
    return Data(design, there, formula, texts, coding, rows, held_out)
