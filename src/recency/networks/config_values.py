"""Refuse numbers in a network's config with which its outputs would not be numbers.

transformers computes with a rotary base of NaN, 0 or -1, or a scaling factor of 0, without a word.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from recency.errors import InputError

#: Settings that are a base, a factor or a divisor.
_POSITIVE = re.compile(
    r"^((.*_)?theta|freq_base(_swa)?|rotary_emb_base|rope_local_base_freq"
    r"|((low_freq|high_freq|short|long|attention|attn)_)?factor"
    r"|beta_(fast|slow)|query_pre_attn_scalar|logits_scaling"
    r"|original_(max_position_embeddings|context_length))$"
)
#: Numbers that keep a norm from dividing by 0.
_EPSILON = re.compile(r"(^|_)eps(ilon)?$")
#: Shares of a head's width.
_SHARE = re.compile(r"^(rotary_pct|partial_rotary_factor)$")
#: Settings that may be infinite: bounds.
_BOUND = re.compile(r"(^|_)(limit|min|max|clamp|clip)$")
#: Largest epsilon.
LARGEST_EPSILON = 0.1


def check(source: str | Path, where: str, settings: Mapping) -> None:
    """Raise InputError for a setting that is NaN, or outside the range of its kind.

    Parameters
    ----------
    source
        The checkpoint, for messages.
    where
        The file with the settings, for messages.
    settings
        Name → value; mappings and lists are searched.

    Raises
    ------
    InputError
        Names the file, the setting and its value.
    """
    for path, value in _numbers(settings):
        name = path.rpartition(".")[2].partition("[")[0]
        if problem := _problem(name, value):
            raise InputError(
                f"checkpoint {str(source)!r}: {where} has {path}: {value}, {problem}; correct it, or "
                "download the file again"
            )


def check_file(source: str | Path, path: Path) -> None:
    """Check the numbers of a JSON file (`check`); a file that cannot be read is left to others."""
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    if isinstance(settings, dict):
        check(source, path.name, settings)


def _problem(name: str, value: float) -> str:
    """Describe what is wrong with a value; "" if nothing is."""
    if math.isnan(value) or (math.isinf(value) and not _BOUND.search(name)):
        return "which is no finite number"
    if _SHARE.search(name):
        return "" if 0 <= value <= 1 else "and a share is from 0 to 1"
    if _POSITIVE.search(name) and value <= 0:
        return "which must be above 0"
    if _EPSILON.search(name) and not 0 <= value <= LARGEST_EPSILON:
        return f"and an epsilon is from 0 to {LARGEST_EPSILON}"
    return ""


def _numbers(settings: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the path and value of every number."""
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            yield from _numbers(value, f"{path}.{key}".lstrip("."))
    elif isinstance(settings, list | tuple):
        for number, value in enumerate(settings):
            yield from _numbers(value, f"{path}[{number}]")
    elif isinstance(settings, int | float) and not isinstance(settings, bool):
        yield path, settings
