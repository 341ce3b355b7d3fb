"""Parameters of a form (of bias, of erasure), checked against what its module declares."""

from collections.abc import Mapping
from typing import Any

from recency import plugins
from recency.errors import InputError
from recency.names import nearest


def check(
    package: str, kind: str, spec: Mapping[str, Any], also: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a form and its parameters as a dict, checked.

    Parameters
    ----------
    package : str
        The forms' package, such as `recency.attention.biases`.
    kind : str
        What messages call it: bias, erasure.
    spec : mapping
        `form`, and the parameters that its module's `PARAMETERS` declares as JSON Schema.
    also : mapping, optional
        Further parameters of every form; none of them is required.

    Raises
    ------
    InputError
        For an unknown form or parameter, a value that cannot be, and a missing parameter.
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
