"""Types and keys of a config, by its schema: each fault on a line that says what would be right."""

import math
import re

import jsonschema

from recency.errors import InputError
from recency.names import near, nearest

LARGEST = 2**53  # of a whole number: beyond, not all of them are exact everywhere
LARGEST_SEED = 2**32 - 1  # that every generator of random numbers takes
DEEPEST, MOST = 50, 200_000  # levels and values of a config
_WHOLE = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
    "integer", lambda checker, value: isinstance(value, int) and not isinstance(value, bool)
)
#: Whole numbers are written so: 4.0 is none.
Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=_WHOLE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


def problems(config: dict, schema: dict, where: str = "") -> list[str]:
    """List the faults of a config by a schema, and values that no schema knows of."""
    found = [f"{where}{problem}" for problem in _values(config)]
    if found:
        return found
    errors = Validator(schema).iter_errors(config)
    return [
        f"{where}{message(e, schema)}" for e in sorted(errors, key=lambda e: [*map(str, e.path)])
    ]


def short(value: object, longest: int = 60) -> str:
    """Return a value as Python writes it, cut."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def message(error: jsonschema.ValidationError, schema: dict) -> str:
    """Say where, what and the way out of one schema error."""
    where = " → ".join(short(each, 40).strip("'") for each in error.path) or "top level"
    if error.validator == "not":  # a key that has another name now
        return f"{where}: {error.schema['description']}"
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", ()))
        unknown = [key for key in error.instance if key not in known]
        if len(unknown) > 3:
            first, more = ", ".join(short(key, 40) for key in unknown[:3]), len(unknown) - 3
            return f"{where}: unknown keys {first} and {more} more"
        return "; ".join(f"{where}: unknown key {nearest(key[:60], known)}" for key in unknown)
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"{where}: {', '.join(map(repr, missing))} is missing"
    description = error.schema.get("description") if isinstance(error.schema, dict) else None
    text = f"{where}: {_said(error)}"
    return f"{text} ({description})" if description and len(text + description) < 290 else text


def _said(error: jsonschema.ValidationError) -> str:
    """Say what is wrong with a value."""
    value, wanted = error.instance, error.validator_value
    if error.validator == "enum":
        close = near(value, [each for each in wanted if isinstance(each, str)])
        way = f"; did you mean {close!r}?" if close else ""
        if len(str(wanted)) < 150:
            return f"{short(value)} is not one of {wanted}{way}"
        return f"{short(value)} is not one of the {len(wanted)} that there are{way}"
    if error.validator == "type":
        return f"{short(value)} is not of type {_types(wanted)}{_as_type(value, wanted)}"
    if error.validator in ("anyOf", "oneOf"):
        return _alternatives(error)
    if error.validator == "uniqueItems":
        again = next(each for n, each in enumerate(value) if each in value[:n])
        return f"{short(again)} stands twice"
    return error.message.replace(repr(value), short(value))


def _types(wanted: str | list[str]) -> str:
    return ", ".join(map(repr, [wanted] if isinstance(wanted, str) else wanted))


def _as_type(value: object, wanted: str | list[str]) -> str:
    """Say how a value is written so that it is of a type."""
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if "integer" in wanted and isinstance(value, float) and value.is_integer():
        return f"; write {int(value)}" if abs(value) < LARGEST else ""
    if {"number", "integer"} & set(wanted) and isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return ""
        if "e" in value.lower() and "." not in value and math.isfinite(number):
            return f"; YAML takes it for text: write {value.lower().replace('e', '.0e', 1)}"
        return "; write it without quotes" if math.isfinite(number) else ""
    if "string" in wanted and not isinstance(value, dict | list | type(None)):
        return "; write it in quotes"
    return ""


def _alternatives(error: jsonschema.ValidationError) -> str:
    """Say that a value fits none, or several, of what it may be."""
    keys = [key for each in error.validator_value for key in each.get("required", [])]
    own = error.instance
    if keys and isinstance(own, dict):
        given = [key for key in dict.fromkeys(keys) if key in own]
        if not error.context and given:
            return f"{' and '.join(map(repr, given))} exclude each other; give one"
        if all(each.validator == "required" for each in error.context):
            listed = ", ".join(map(repr, dict.fromkeys(keys)))
            also = f", beside {given[0]!r}" if given else ""
            return f"{short(own, 40)} fits none of what it may be: it needs one of {listed}{also}"
    reasons = [each.message.replace(repr(own), short(own)) for each in error.context]
    reasons = [each if len(each) < 90 else f"{each[:89]}…" for each in dict.fromkeys(reasons)]
    return f"{short(own)} fits none of what it may be: {'; or '.join(reasons[:3])}"


def _values(config: dict) -> list[str]:
    """List values that cannot be: numbers that are none, signs that cannot be seen, too deep, too many."""
    found: list[str] = []
    seen, waiting = 0, [((), config)]
    while waiting:
        path, value = waiting.pop()
        seen += 1
        if len(path) > DEEPEST or seen > MOST:
            what = f"more than {DEEPEST} levels" if len(path) > DEEPEST else f"over {MOST:,} values"
            raise InputError(f"the config has {what} ({_path(path[:3])}); a list may hold itself")
        if isinstance(value, dict):
            for key, each in value.items():
                if not isinstance(key, str):
                    found.append(
                        f"{_path(path)}: the key {short(key)} is no text; write it in quotes"
                    )
                else:
                    waiting.append(((*path, key), each))
                    found += _text(path, key)
        elif isinstance(value, list | tuple):
            waiting += [((*path, n), each) for n, each in enumerate(value)]
        else:
            found += _scalar(path, value)
    return sorted(found)


def _scalar(path: tuple, value: object) -> list[str]:
    """List what is wrong with a single value, whatever it is for."""
    if isinstance(value, str):
        return _text(path, value)
    if isinstance(value, float) and not math.isfinite(value):
        return [f"{_path(path)}: {value} is no finite number"]
    if isinstance(value, int) and not isinstance(value, bool):
        largest = LARGEST_SEED if path and str(path[-1]).endswith("seed") else LARGEST
        if "seeds" in path or "seed" in path:
            largest = LARGEST_SEED
        if abs(value) > largest:
            written = f"a number of {len(str(abs(value)))} digits" if abs(value) > 10**18 else value
            return [f"{_path(path)}: {written} is larger than {largest}, the largest here"]
    return []


def _text(path: tuple, text: str) -> list[str]:
    """List a text's signs that cannot be seen."""
    if sign := _CONTROL.search(text):
        code = f"U+{ord(sign[0]):04X}"
        return [f"{_path(path)}: {text[:30]!a} has a sign that cannot be seen, {code}"]
    return []


def _path(path: tuple) -> str:
    return (
        " → ".join(ascii(each)[1:-1][:40] if isinstance(each, str) else str(each) for each in path)
        or "top level"
    )
