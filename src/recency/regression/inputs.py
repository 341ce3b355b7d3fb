"""The input files of a regression, and the data read from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from crosslmm.formula import Formula
from recency.regression import categories
from recency.regression.coding import Coding, coding_of
from recency.regression.designs import (
    column_names,
    formula_of,
    with_one_base,
    with_response,
)
from recency.regression.predictors import Rows, read_rows
from recency.regression.texts import Texts, read_texts

ROLES = ("words", "fit", "exploratory", "unigram", "surprisal")
"""The files of which each regression has at most one."""


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
        Surprisal of the LMs that the formula names, and of `second_lm`, by LM name.
    second_lm
        A second LM, whose terms the full model has as well.
    """

    words: str | PathLike
    fit: str | PathLike
    exploratory: str | PathLike | None = None
    unigram: str | PathLike | None = None
    surprisal: str | PathLike | None = None
    others: Mapping[str, str | PathLike] = field(default_factory=dict)
    second_lm: str | None = None

    @classmethod
    def of_job(cls, given: dict[str, Any], threads: int) -> "Inputs":
        """Take the input files out of a job's arguments.

        The param `named` lists the LMs (`lm`) of the files `others`. `second` is the file of a
        second LM, and the param `second_lm` its name.
        """
        named = (entry["lm"] for entry in given.pop("named"))
        others = dict(zip(named, given.pop("others", ()), strict=True))
        second_lm = given.pop("second_lm", None)
        if second_lm is not None:
            others[second_lm] = given.pop("second")
        return cls(
            **{role: given.pop(role, None) for role in ROLES}, others=others, second_lm=second_lm
        )

    def texts(self, design: Mapping[str, Any]) -> Texts:
        """Read the words' predictors, with the surprisal variant of a design or a fit's record."""
        spillover = design.get("spillover", "item")
        files = self.words, self.unigram, self.surprisal
        return read_texts(*files, design["surprisal"], True, self.others, spillover)


@dataclass
class Data:
    """The data of a regression: its design with one base, and the rows of two partitions."""

    design: Mapping[str, Any]
    columns: Mapping[str, Any]
    """columns of words and responses, by table"""
    formula: Formula
    texts: Texts
    coding: Coding
    fit: Rows
    exploratory: Rows | None


def read_data(inputs: Inputs, design: Mapping[str, Any], model: str) -> Data:
    """Read the data of a model (`full` or `base`) of a design."""
    there = column_names(inputs.words, inputs.fit)
    design = with_response(with_one_base(design, inputs.surprisal is not None))
    formula, whole = (formula_of(design, kind, there, inputs.second_lm) for kind in (model, "full"))
    texts = inputs.texts(design)
    coding = coding_of(formula, whole, texts, inputs.fit)
    names = categories.names(formula, texts, coding)
    asked = (texts, names, design["response"], formula.response, coding)
    rows = read_rows(inputs.fit, *asked)
    held_out = None if inputs.exploratory is None else read_rows(inputs.exploratory, *asked)
    return Data(design, there, formula, texts, coding, rows, held_out)
