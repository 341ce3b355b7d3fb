"""Fit a specified model: by the search, by lme4, or by Laplace's approximation."""

import math
from dataclasses import replace

import numpy as np

from crosslmm import design as designs
from crosslmm import families, lme4, shifted
from crosslmm.confirmed import in_r
from crosslmm.deviance import NoResiduals
from crosslmm.errors import InputError
from crosslmm.estimability import empty_cells, separation
from crosslmm.expressions import Uncovered, variables
from crosslmm.factors import NotSearchable
from crosslmm.fitting import (
    Result,
    check_levels,
    dropped_notes,
    fit_glmer,
    fit_in_r,
    read_fit,
    unconfirmed,
)
from crosslmm.internal import Internal
from crosslmm.lme4 import Refused
from crosslmm.model_request import ModelRequest, Prepared, prepare
from crosslmm.scaled_search import Searched, search_internal
from crosslmm.source import Source, columns_in_r, frame_in_r


def fit(model: ModelRequest, notes: list[str]) -> tuple[str, Source]:
    """Return the name of the engine that fitted, and the fit with its source; see `lmer`."""
    is_generalised = model.family in families.GENERALISED
    prepared: Prepared | None = None
    uncovered = ""
    try:
        prepared = prepare(model, with_response=not is_generalised)
        if not is_generalised:
            notes = [*notes, *designs.levels_notes(prepared.formula, model.rows)]
        notes = [*notes, *empty_cells(prepared.design, model.rows)]
    except Uncovered as reason:
        if model.engine == "search":
            raise InputError(f'{reason}; engine="lme4" has R read it') from None
        if model.family not in (families.GAUSSIAN, families.LOGNORMAL, *families.GENERALISED):
            raise InputError(f"{reason}; family {model.family!r} needs a formula that is") from None
        uncovered = str(reason)
    if is_generalised:
        return "lme4", _generalised(model, prepared, notes)
    if model.family not in families.LINEAR:
        from crosslmm.fit_density import fit_density

        return "laplace", fit_density(model, prepared, notes)
    shift, more = _shift(prepared) if model.family == families.SHIFTED else (0.0, "")
    internal = linear_model(prepared, prepared.working(shift)) if prepared else None
    try:
        if model.engine == "search":
            result = _without_r(model, internal, notes)
        else:
            result = _with_r(model, internal, notes, uncovered)
    except lme4.Unavailable as error:
        if model.engine != "auto" or model.reml or internal is None:
            raise InputError(f'{error}; engine="search" needs no R') from None
        result = _without_r(model, internal, [*notes, f"not confirmed by lme4: {error}"])
    if result.summary is None:
        raise InputError(f"formula {model.text!r} was not fitted: {result.note}")
    result.note = "; ".join(filter(None, [result.note, more]))
    if model.family != families.GAUSSIAN:  # add the Jacobian of the response's logarithm
        logs = prepared.logs(shift) if prepared else lme4.fitted_of(result.model)[1]
        result.summary.loglik -= float(logs.sum())
    by = "search, confirmed by lme4" if result.difference is not None else result.by
    return by, Source(model, prepared, result, shift, internal=internal and internal.scale)


def linear_model(prepared: Prepared, z: np.ndarray) -> Internal:
    """Return a linear model of a response (n,), minus the offset, on the internal scale."""
    mean = 0.0
    if prepared.fixed.constant is not None:
        mean = float(z[0] + (z - z[0]).mean())
    unit = float(np.sqrt(np.mean((z - mean) ** 2))) or 1.0
    weights, root = prepared.weights, 1.0
    if weights is not None:
        root = float(np.sqrt(weights.mean()))
        weights = weights / root**2
    scale = prepared.scale(mean=mean, factor=unit, log_unit=math.log(unit), root=root)
    return prepared.internal((z - mean) / unit, scale, weights)


def search_of(prepared: Prepared, shift: float = 0.0) -> Searched:
    """Search theta of a linear mixed model."""
    return search_internal(linear_model(prepared, prepared.working(shift)))


def _shift(prepared: Prepared) -> tuple[float, str]:
    """Estimate the shift by profile likelihood; return it and a note on it."""

    def loglik(z: np.ndarray) -> float:
        model = linear_model(prepared, z if prepared.offset is None else z - prepared.offset)
        return model.scale.log_jacobian(len(z)) - search_internal(model).deviance / 2

    try:
        return shifted.profile_shift(loglik, prepared.y)
    except (NotSearchable, np.linalg.LinAlgError) as reason:
        raise InputError(f"formula {prepared.formula}: the shift was not found: {reason}") from None


def _without_r(model: ModelRequest, internal: Internal, notes: list[str]) -> Result:
    """Fit without R."""
    if model.reml:
        raise InputError('only lme4 fits reml=True; leave engine="search" out')
    try:
        check_levels(internal.scale.formula, internal.groups, len(internal.y))
        return unconfirmed(search_internal(internal), notes)
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
    model: ModelRequest, internal: Internal | None, notes: list[str], uncovered: str
) -> Result:
    """Fit with lme4, confirmed at the theta that was searched, or by its own optimiser."""
    try:
        if internal is None:
            frame = frame_in_r(model.rows, model.contrasts)
            in_r_, messages = lme4.set_up(model.text_in_r(), frame, model.reml, model.weights)
            fit, more = lme4.optimise(in_r_)
            reason = [f"lme4's optimiser was used: {uncovered}"] if model.engine == "auto" else []
            return read_fit(fit, [*messages, *more], [*notes, *reason])
        of_r, searched = in_r(internal), None
        notes = [*notes, *dropped_notes(internal.scale.fixed, internal.scale.fixed.kept)]
        if model.engine == "auto":
            try:
                if model.reml:
                    raise NotSearchable("the search does not support REML")
                searched = search_internal(internal)
            except NoResiduals as reason:
                return Result(None, False, str(reason))
            except (NotSearchable, np.linalg.LinAlgError) as reason:
                notes.append(f"lme4's optimiser was used: {reason}")
        return fit_in_r(of_r, searched, notes, model.reml)
    except Refused as reason:
        raise InputError(f"formula {model.text!r}: lme4: {reason}") from None


def _generalised(model: ModelRequest, prepared: Prepared | None, notes: list[str]) -> Source:
    """Fit with lme4's glmer()."""
    try:
        if prepared is None:
            frame = frame_in_r(model.rows, model.contrasts)
            fit, messages = lme4.generalised(model.text_in_r(), frame, model.family, model.weights)
            result = read_fit(fit, messages, notes)
            if not result.summary.random:
                raise InputError(
                    f"formula {model.text!r} has no random term such as '(1 | subject)'"
                )
            return Source(model, None, result)
        internal = generalised_model(model, prepared)
        notes = [
            *notes,
            *dropped_notes(internal.scale.fixed, internal.scale.fixed.kept),
            *_separation(model, prepared),
        ]
        result = fit_glmer(in_r(internal), model.family, notes)
        return Source(model, prepared, result, internal=internal.scale)
    except Refused as reason:
        raise InputError(f"formula {model.text!r}: lme4: {reason}") from None


def generalised_model(model: ModelRequest, prepared: Prepared) -> Internal:
    """Return a generalised model on the internal scale; R reads its response."""
    offset, mean = prepared.offset, 0.0
    if offset is not None and prepared.fixed.constant is not None:
        mean = -float(offset.mean())
        offset = offset + mean
    n = len(model.rows)
    internal = prepared.internal(np.zeros(n), prepared.scale(mean=mean), prepared.weights)
    names = variables(model.response)
    columns, _ = columns_in_r(model.rows[names])
    return replace(internal, response=(model.response, columns), offset=offset)


def _separation(model: ModelRequest, prepared: Prepared) -> list[str]:
    """Return a note on events that the fixed effects predict without error."""
    event = _events(model)
    if event is None or not event.any() or event.all():
        return []
    columns = list(prepared.fixed.names)
    X = np.column_stack(prepared.fixed.values(prepared.leaves, len(event)))
    return [*filter(None, [separation(X, columns, event)])]


def _events(model: ModelRequest) -> np.ndarray | None:
    """Return whether the event of a binomial response happens (n,), if it has two values."""
    if model.family != families.BINOMIAL or model.response.strip("`") not in model.rows:
        return None
    values = model.rows[model.response.strip("`")]
    if designs.is_number(values):
        numbers = values.to_numpy(np.float64)
        return numbers > 0.5 if np.isin(numbers, (0, 1)).all() else None
    return designs.categorical(values).codes > 0
