"""What a formula asks of a data frame, and predictions made from it: by us, or by R."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from recency.errors import InputError
from recency.mixed import design as designs
from recency.mixed import lme4
from recency.mixed.design import Design
from recency.mixed.expressions import variables
from recency.mixed.fitting import Result, figures
from recency.mixed.formula import Formula, parse
from recency.mixed.levels import Levels, joined
from recency.mixed.recorded import fixed_part, random_part
from recency.mixed.summary import FitSummary


@dataclass
class Prepared:
    """The data that a formula asks for: columns and response (n,), grouping variables."""

    formula: Formula
    design: Design
    columns: dict[str, np.ndarray]
    y: np.ndarray
    groups: dict[str, Levels]

    def names(self, summary: FitSummary) -> bool:
        """Say whether a fit's columns and groups have the names that they have here."""
        groups = {
            name for term in self.formula.random for name in (term.group, term.group.strip("`"))
        }
        return set(summary.fixed) <= set(self.columns) and set(summary.random) <= groups


def prepare(text: str, rows: pd.DataFrame) -> Prepared:
    """Read a formula and take what it asks for from rows without missing values.

    Raises Uncovered where the formula is beyond what is read here, InputError where it is wrong.
    """
    formula = parse(text)
    if not formula.random:
        raise InputError(f"formula {text!r} has no random term such as '(1 | subject)'")
    y = designs.response_of(formula, rows)
    if len(y) > 1 and not np.ptp(y) > 0:
        raise InputError(f"{formula.response} has one value, {y[0]:g}, in all rows")
    design = designs.make(formula, rows)
    columns = designs.values_of(design, rows)
    return Prepared(formula, design, columns, y, designs.groups_of(formula, rows))


@dataclass
class Source:
    """What a prediction is made from; R makes it where nothing was prepared."""

    text: str
    rows: pd.DataFrame
    response: list[str]
    prepared: Prepared | None
    result: Result


def frame_of(data: Any) -> pd.DataFrame:
    """Return a data frame of whatever pandas can make one of."""
    if isinstance(data, pd.DataFrame):
        return data
    try:
        return pd.DataFrame(data)
    except (TypeError, ValueError) as error:
        raise InputError(f"data are no data frame, and none can be made of them: {error}") from None


def frame_in_r(rows: pd.DataFrame, formula: Formula | None) -> Any:
    """Make R's data frame: numbers, true and false, all else as factors."""
    grouping = {name.strip("`") for name in formula.groups} if formula else set()
    grouping -= set(_inputs(formula)) if formula else set()
    columns: dict[str, np.ndarray | Levels] = {}
    for name in rows.columns:
        values = rows[name]
        if designs.is_number(values) and name not in grouping:
            columns[name] = designs.numbers(values)
        elif values.dtype == bool:
            columns[name] = values.to_numpy()
        else:
            columns[name] = designs.categorical(values)
    return lme4.data_frame(columns)


def _inputs(formula: Formula) -> list[str]:
    return [name for term in (formula.response, *formula.predictors) for name in variables(term)]


def predict(source: Source, data: pd.DataFrame | None, random: bool, new_levels: str) -> pd.Series:
    """Predict the response; see recency.mixed.model.MixedModel.predict."""
    rows, prepared = source.rows, source.prepared
    if data is not None:
        data = frame_of(data)
        needed = [name for name in source.rows.columns if _needed(source, name, random)]
        rows, lacking = designs.rows_of(data, needed, source.text)
        if lacking:
            where = data[needed].isna().any(axis=1).to_numpy().argmax()
            raise InputError(
                f"{lacking} of {len(data)} rows lack a value, the first at {data.index[where]!r}; "
                "leave them out"
            )
    if random and new_levels == "error":
        _check_levels(source, rows)
    if prepared is None:
        try:
            values = lme4.predict(source.result.model, frame_in_r(rows, None), random)
        except lme4.Refused as reason:
            raise InputError(f"formula {source.text!r}: lme4: {reason}") from None
        return pd.Series(values, rows.index, name="predicted")
    record = figures(source.result)
    columns, groups = prepared.columns, prepared.groups
    if data is not None:
        columns = designs.values_of(prepared.design, rows)
        groups = designs.groups_of(prepared.formula, rows) if random else {}
    values = fixed_part(record, columns, len(rows))
    if random:
        values = values + random_part(record, columns, groups, len(rows))
    return pd.Series(values, rows.index, name="predicted")


def _needed(source: Source, name: str, random: bool) -> bool:
    """Say whether predictions need a column: all but the response's, groups where asked for."""
    if source.prepared is None:
        return name not in source.response
    formula = source.prepared.formula
    predictors = {each for term in formula.predictors for each in variables(term)}
    groups = {group.strip("`") for group in formula.groups} if random else set()
    return name in predictors | groups


def _check_levels(source: Source, rows: pd.DataFrame) -> None:
    """Raise an InputError at the first level of a group that the fit has not seen."""
    for group, modes in source.result.summary.modes.items():
        names = [name.strip("`") for name in group.split(":")]
        if not set(names) <= set(rows.columns):
            continue
        of_data = joined(group, {name: designs.categorical(rows[name]) for name in names})
        for level in of_data.names:
            if level not in modes:
                raise InputError(
                    f"{group} has the level {level!r}, which the fit has not seen; "
                    'new_levels="zero" predicts it without its random effects'
                )
