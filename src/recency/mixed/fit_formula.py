"""Fit a specified model: by the search, by lme4, or by Laplace's approximation."""

import numpy as np

from recency.errors import InputError
from recency.mixed import design as designs
from recency.mixed import families, lme4, shifted
from recency.mixed.deviance import NoResiduals
from recency.mixed.estimability import empty_cells, separation
from recency.mixed.expressions import Uncovered
from recency.mixed.factors import NotSearchable
from recency.mixed.fitting import (
    Result,
    check_levels,
    confirm_by_lme4,
    fit_by_lme4,
    read_fit,
    unconfirmed,
)
from recency.mixed.lme4 import Refused
from recency.mixed.model_request import ModelRequest, Prepared, prepare, without_response
from recency.mixed.scaled_search import ScaledSearch, search_scaled
from recency.mixed.source import Source, frame_in_r


def fit(model: ModelRequest, notes: list[str]) -> tuple[str, Source]:
    """Return the name of the engine that fitted, and the fit with its source; see `lmer`."""
    if model.family in families.GENERALISED:
        return "lme4", Source(model, None, _generalised(model, notes))
    prepared: Prepared | None = None
    uncovered = ""
    try:
        prepared = prepare(model)
        notes = [*notes, *designs.levels_notes(prepared.formula, model.rows)]
        notes += empty_cells(prepared.design, model.rows)
    except Uncovered as reason:
        if model.engine == "search":
            raise InputError(f'{reason}; engine="lme4" has R read it') from None
        if model.family not in (families.GAUSSIAN, families.LOGNORMAL):
            raise InputError(f"{reason}; family {model.family!r} needs a formula that is") from None
        uncovered = str(reason)
    if model.family not in families.LINEAR:
        from recency.mixed.fit_density import fit_density

        return "laplace", fit_density(model, prepared, notes)
    shift, more = _shift(prepared) if model.family == families.SHIFTED else (0.0, "")
    by = "search" if model.engine == "search" else "lme4"
    try:
        if by == "search":
            result = _without_r(model, prepared, shift, notes)
        else:
            result = _with_r(model, prepared, shift, notes, uncovered)
    except lme4.Unavailable as error:
        if model.engine != "auto" or model.reml or prepared is None:
            raise InputError(f'{error}; engine="search" needs no R') from None
        by = "search"
        result = _without_r(model, prepared, shift, [*notes, f"not confirmed by lme4: {error}"])
    if result.summary is None:
        raise InputError(f"formula {model.text!r} was not fitted: {result.note}")
    result.note = "; ".join(filter(None, [result.note, more]))
    if prepared is not None and not prepared.names(result.summary):
        prepared = None  # R's names differ, so R's own predict() is used
    if model.family != families.GAUSSIAN:  # add the Jacobian of the response's logarithm
        logs = prepared.logs(shift) if prepared else lme4.fitted_of(result.model)[1]
        result.summary.loglik -= float(logs.sum())
    by = "search, confirmed by lme4" if by == "lme4" and result.optimum is not None else by
    return by, Source(model, prepared, result, shift)


def search_of(prepared: Prepared, shift: float = 0.0) -> ScaledSearch:
    """Search theta of a linear mixed model."""
    return search_working(prepared, prepared.working(shift))


def search_working(prepared: Prepared, z: np.ndarray) -> ScaledSearch:
    """Search theta for a response (n,) on the linear predictor's scale, minus the offset."""
    with np.errstate(all="ignore"):  # a model without residuals raises its own error
        return search_scaled(
            prepared.design.formula, prepared.columns, z, prepared.groups, prepared.weights
        )


def _shift(prepared: Prepared) -> tuple[float, str]:
    """Estimate the shift by profile likelihood; return it and a note on it."""

    def loglik(z: np.ndarray) -> float:
        z = z if prepared.offset is None else z - prepared.offset
        return -search_working(prepared, z).deviance / 2

    try:
        return shifted.profile_shift(loglik, prepared.y)
    except (NotSearchable, np.linalg.LinAlgError) as reason:
        raise InputError(f"formula {prepared.formula}: the shift was not found: {reason}") from None


def _without_r(model: ModelRequest, prepared: Prepared, shift: float, notes: list[str]) -> Result:
    """Fit without R."""
    if model.reml:
        raise InputError('only lme4 fits reml=True; leave engine="search" out')
    try:
        check_levels(prepared.design.formula, prepared.groups, len(prepared.y))
        return unconfirmed(search_of(prepared, shift), notes)
    except Refused as reason:
        raise InputError(f"formula {model.text!r}: {reason}") from None
    except NotSearchable as reason:
        raise InputError(
            f'formula {model.text!r}: {reason}; engine="lme4" fits it, which needs R'
        ) from None
    except NoResiduals as reason:
        return Result(None, False, str(reason))
    except np.linalg.LinAlgError as reason:
        return Result(None, False, f"its likelihood has no finite value ({reason})")


def _with_r(
    model: ModelRequest, prepared: Prepared | None, shift: float, notes: list[str], uncovered: str
) -> Result:
    """Fit with lme4, confirmed at the theta that was searched, or by its own optimiser."""
    frame = frame_in_r(model.rows, prepared and prepared.formula, model.contrasts)
    try:
        text = model.text_in_r(shift)
        in_r, messages = lme4.set_up(text, frame, model.reml, model.weights)
        notes = [*notes, *messages]
        if model.engine == "auto":
            try:
                if prepared is None or model.reml:
                    raise NotSearchable(uncovered or "the search does not support REML")
                return confirm_by_lme4(in_r, search_of(prepared, shift), notes)
            except NoResiduals as reason:
                return Result(None, False, str(reason))
            except (NotSearchable, np.linalg.LinAlgError) as reason:
                notes.append(f"lme4's optimiser was used: {reason}")
        return fit_by_lme4(in_r, notes)
    except Refused as reason:
        raise InputError(f"formula {model.text!r}: lme4: {reason}") from None


def _generalised(model: ModelRequest, notes: list[str]) -> Result:
    """Fit with lme4's glmer()."""
    notes = [*notes, *_estimable(model)]
    try:
        frame = frame_in_r(model.rows, None, model.contrasts)
        fit, messages = lme4.generalised(model.text_in_r(), frame, model.family, model.weights)
        result = read_fit(fit, messages, notes)
    except Refused as reason:
        raise InputError(f"formula {model.text!r}: lme4: {reason}") from None
    if not result.summary.random:
        raise InputError(f"formula {model.text!r} has no random term such as '(1 | subject)'")
    return result


def _estimable(model: ModelRequest) -> list[str]:
    """Return notes on effects that cannot be estimated, if the formula can be read here."""
    try:
        prepared = without_response(model)
    except Uncovered:
        return []
    notes = empty_cells(prepared.design, model.rows)
    event = _events(model)
    if event is not None and event.any() and not event.all():
        columns = list(prepared.design.formula.fixed)
        X = np.column_stack([prepared.columns[name] for name in columns])
        notes += filter(None, [separation(X, columns, event)])
    return notes


def _events(model: ModelRequest) -> np.ndarray | None:
    """Return whether the event of a binomial response happens (n,), if it has two values."""
    if model.family != families.BINOMIAL or model.response.strip("`") not in model.rows:
        return None
    values = model.rows[model.response.strip("`")]
    if designs.is_number(values):
        numbers = values.to_numpy(np.float64)
        return numbers > 0.5 if np.isin(numbers, (0, 1)).all() else None
    return designs.categorical(values).codes > 0
