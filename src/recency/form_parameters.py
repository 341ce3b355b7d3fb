"""Check the parameters of a form (of bias, of erasure) by its module's declaration."""

from collections.abc import Mapping
from typing import Any

from readingtimes.names import nearest
from recency import plugins
from recency.errors import InputError


def check(
    package: str, kind: str, spec: Mapping[str, Any], also: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Check a form and its parameters, and return them as a dict.

    Parameters
    ----------
    package : str
        The forms' package, such as `recency.attention.biases`.
    kind : str
        Noun for messages: bias, erasure.
    spec : mapping
        `form`, and the parameters that its module's `PARAMETERS` declares as JSON Schema.
    also : mapping, optional
        Optional parameters of every form.

    Raises
    ------
    InputError
        For an unknown form or parameter, an invalid value, or a missing parameter.
    """
    from jsonschema import Draft202012Validator

    form, also = spec["form"], also or {}
    if form not in plugins.names(package):
        raise InputError(f"no form of {kind} is called {plugins.unknown(package, form)}")
    parameters = plugins.constant(package, form, "PARAMETERS") | also
    for name, value in spec.items():
        if name == "form":
            continue
        if name not in parameters:
            raise InputError(f"{kind} {form!r}: no parameter is called {nearest(name, parameters)}")
        if not Draft202012Validator(parameters[name]).is_valid(value):
            raise InputError(
                f"{kind} {form!r}: {name} cannot be {value!r} ({parameters[name]['description']})"
            )
    for name, schema in parameters.items():
        if "default" not in schema and name not in spec and name not in also:
            raise InputError(f"{kind} {form!r}: {name} is missing ({schema['description']})")
    return dict(spec)
